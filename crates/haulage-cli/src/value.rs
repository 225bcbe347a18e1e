//! Parsers of option values: the engine's own, so that the command, Python and plan files agree.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use haulage::checksum::ChecksumMode;
use haulage::job::{MethodChoice, Overwrite, ServerSide, Setting};
use haulage::store::Addressing;
use haulage::units::{ByteSize, parse_duration};
use haulage::{Error, ErrorKind};

/// `auto` or a size with its unit.
pub fn size_setting(text: &str) -> Result<Setting<ByteSize>, Error> {
    setting(text, |text| size(text).map_err(|error| error_or_auto(error, text)))
}

/// `auto` or a number of requests.
pub fn concurrency(text: &str) -> Result<Setting<usize>, Error> {
    setting(text, |text| match text.parse() {
        Ok(requests) if requests > 0 => Ok(requests),
        _ => Err(Error::new(ErrorKind::Usage, "parse", text, "not a number of requests")
            .hint("write auto or a number such as 32")),
    })
}

/// A size with its unit.
pub fn size(text: &str) -> Result<ByteSize, Error> {
    let size = ByteSize::from_str(text)?;
    if size.bytes() == 0 {
        return Err(Error::new(ErrorKind::Usage, "parse", text, "size must be greater than zero")
            .hint("write a size such as 8MiB"));
    }
    Ok(size)
}

/// A duration with its unit.
pub fn duration(text: &str) -> Result<Duration, Error> {
    let duration = parse_duration(text)?;
    if duration.is_zero() {
        return Err(Error::new(ErrorKind::Usage, "parse", text, "duration must be greater than zero")
            .hint("write a duration such as 30s"));
    }
    Ok(duration)
}

/// The same in seconds.
pub fn seconds(text: &str) -> Result<f64, Error> {
    duration(text).map(|duration| duration.as_secs_f64())
}

/// A size with its unit, in bytes.
pub fn bytes(text: &str) -> Result<u64, Error> {
    size(text).map(ByteSize::bytes)
}

/// A whole number in this range.
pub fn whole(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<u64, Error> + Clone + Send + Sync + 'static {
    move |text| {
        text.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
            let end = if *range.end() == u64::MAX { String::new() } else { format!(" to {}", range.end()) };
            not_valid(text).hint(format!("write a whole number from {}{end}", range.start()))
        })
    }
}

/// A number that is good enough; the hint says which are.
pub fn number(
    hint: &'static str,
    good: fn(f64) -> bool,
) -> impl Fn(&str) -> Result<f64, Error> + Clone + Send + Sync + 'static {
    move |text| text.parse().ok().filter(|&number| good(number)).ok_or_else(|| not_valid(text).hint(hint))
}

/// One of several numbers of nodes.
pub fn node_count(text: &str) -> Result<u64, Error> {
    whole(1..=u64::MAX)(text.trim()).map_err(|error| error.hint("write --nodes 1,2,4"))
}

fn not_valid(text: &str) -> Error {
    Error::new(ErrorKind::Usage, "parse", text, "not a valid value")
}

/// What is said if an option comes where a value should be.
pub const NO_VALUE: &str = "needs a value";

/// Any bytes, for names of files are passed on as they are; but no option in place of a value.
pub fn text() -> impl TypedValueParser<Value = OsString> {
    OsStringValueParser::new().try_map(|given| match is_option(&given.to_string_lossy()) {
        true => Err(Error::new(ErrorKind::Usage, "parse", "value", NO_VALUE)),
        false => Ok(given),
    })
}

fn is_option(text: &str) -> bool {
    let name = text.split('=').next().unwrap_or_default().strip_prefix("--").unwrap_or_default();
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    is_name || ["-q", "-v", "-vv", "-h"].contains(&text)
}

/// How long ago, with its unit; zero is now.
pub fn age(text: &str) -> Result<Duration, Error> {
    parse_duration(text)
}

/// How long something may take, with its unit.
pub fn limit(text: &str) -> Result<Duration, Error> {
    let limit = parse_duration(text)?;
    if limit.is_zero() {
        return Err(Error::new(ErrorKind::Usage, "parse", text, "nothing can be done in no time")
            .hint("write a duration such as 2h"));
    }
    Ok(limit)
}

/// An address to listen on.
pub fn listen(text: &str) -> Result<SocketAddr, Error> {
    address(text, "write 127.0.0.1:10000, or port 0 for any free one")
}

/// Where metrics are served.
pub fn metrics(text: &str) -> Result<SocketAddr, Error> {
    address(text, "write one such as 127.0.0.1:9400")
}

/// An address of this machine, without a port.
pub fn ip(text: &str) -> Result<IpAddr, Error> {
    let wrong = |_| Error::new(ErrorKind::Usage, "parse", text, "not an address");
    text.parse()
        .map_err(wrong)
        .map_err(|error| error.hint("write an address of this machine, such as 10.1.0.7"))
}

fn address(text: &str, hint: &str) -> Result<SocketAddr, Error> {
    let numbers = text.replacen("localhost:", "127.0.0.1:", 1);
    let cause = "not an address and a port";
    numbers.parse().map_err(|_| Error::new(ErrorKind::Usage, "parse", text, cause).hint(hint))
}

/// How large objects travel.
pub fn method() -> impl TypedValueParser<Value = MethodChoice> {
    choice([
        ("auto", "by size", MethodChoice::Auto),
        ("whole", "one request for each object", MethodChoice::Whole),
        ("ranges", "blocks or ranges, several at once", MethodChoice::Ranges),
    ])
}

/// Whether the service copies within itself.
pub fn server_side() -> impl TypedValueParser<Value = ServerSide> {
    choice([
        ("auto", "the service copies by itself where it can", ServerSide::Auto),
        ("never", "every byte passes this machine", ServerSide::Never),
    ])
}

/// Which checksum guards the bytes.
pub fn checksum() -> impl TypedValueParser<Value = ChecksumMode> {
    choice([
        ("crc64", "nearly free", ChecksumMode::Crc64),
        ("md5", "dearer; also the Content-MD5 of what goes in one request", ChecksumMode::Md5),
        ("none", "nothing on the wire; CRC64 is still stored", ChecksumMode::None),
    ])
}

/// When an object at the destination is replaced.
pub fn overwrite() -> impl TypedValueParser<Value = Overwrite> {
    choice([
        ("if-different", "unless size and source time are the same", Overwrite::IfDifferent),
        ("always", "whatever is there", Overwrite::Always),
        ("never", "keep what is there", Overwrite::Never),
    ])
}

/// How URLs name a bucket.
pub fn addressing() -> impl TypedValueParser<Value = Setting<Addressing>> {
    choice([
        ("auto", "in the host at AWS, in the path elsewhere", Setting::Auto),
        ("path", "https://host/bucket/key", Setting::Fixed(Addressing::Path)),
        ("virtual", "https://bucket.host/key", Setting::Fixed(Addressing::Virtual)),
    ])
}

/// Whether symbolic links are followed.
pub fn follow_symlinks() -> impl TypedValueParser<Value = bool> {
    choice([("skip", "leave them out, and say so", false), ("follow", "copy what they lead to", true)])
}

fn setting<T>(text: &str, parse: impl FnOnce(&str) -> Result<T, Error>) -> Result<Setting<T>, Error> {
    if text == "auto" { Ok(Setting::Auto) } else { parse(text).map(Setting::Fixed) }
}

/// A word is more likely a misspelt `auto` than a size without its number.
fn error_or_auto(error: Error, text: &str) -> Error {
    if text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return error.hint("write auto or a size such as 8MiB");
    }
    error
}

/// One of a few words, each with a line for the help and for the shell's completion.
fn choice<T: Copy + Send + Sync + 'static, const N: usize>(
    choices: [(&'static str, &'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    let values = choices.map(|(name, help, _)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(values).try_map(move |text| {
        let found = choices.iter().find(|(name, _, _)| *name == text);
        found
            .map(|(_, _, value)| *value)
            .ok_or_else(|| Error::new(ErrorKind::Usage, "parse", text.as_str(), "not one of the choices"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_auto_or_a_value_with_its_unit() {
        assert_eq!(size_setting("auto").unwrap(), Setting::Auto);
        assert_eq!(size_setting("8MiB").unwrap(), Setting::Fixed(ByteSize::mib(8)));
        assert_eq!(size_setting("8").unwrap_err().hint_text(), Some("write 8KiB or 8MiB"));
        assert_eq!(size_setting("atuo").unwrap_err().hint_text(), Some("write auto or a size such as 8MiB"));
        assert_eq!(concurrency("32").unwrap(), Setting::Fixed(32));
        assert!(concurrency("0").is_err());
    }

    #[test]
    fn numbers_are_within_their_range() {
        assert_eq!(whole(1..=9)("9").unwrap(), 9);
        assert_eq!(whole(1..=9)("10").unwrap_err().hint_text(), Some("write a whole number from 1 to 9"));
        assert_eq!(whole(1..=u64::MAX)("0").unwrap_err().hint_text(), Some("write a whole number from 1"));
        let above_zero = number("write a number greater than 0", |number| number > 0.0);
        assert_eq!(above_zero("0.5").unwrap(), 0.5);
        assert!(above_zero("0").is_err() && above_zero("NaN").is_err());
        assert_eq!((seconds("90ms").unwrap(), bytes("1KiB").unwrap()), (0.09, 1024));
    }

    #[test]
    fn an_option_is_no_value_and_other_text_that_begins_so_is_one() {
        for option in ["--json", "--stall-timeout", "--filter=a", "-q", "-vv"] {
            assert!(is_option(option), "{option}");
        }
        for value in ["-5 lt x", "--SECRETTOK", "--a1", "-{a}", "-x", "--", "-", "", "a"] {
            assert!(!is_option(value), "{value}");
        }
    }

    #[test]
    fn values_that_could_never_work_are_refused() {
        assert!(size("0B").is_err());
        assert!(duration("0s").is_err());
        assert_eq!(duration("90s").unwrap(), Duration::from_secs(90));
    }
}
