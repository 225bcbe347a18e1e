//! Units as types: sizes, rates and durations that parse only with their unit.
//!
//! A bare number is refused with a hint, because `--block-size 8` has meant eight bytes to one
//! program and eight mebibytes to another. Sizes print in binary units (MiB), link rates in
//! decimal bits (Mbit/s), as the field writes them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};

const SIZE_UNITS: [(&str, u64); 9] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

const RATE_UNITS: [(&str, u64); 12] = [
    ("bit", 1),
    ("kbit", 1_000),
    ("mbit", 1_000_000),
    ("gbit", 1_000_000_000),
    ("b", 8),
    ("kib", 8 << 10),
    ("mib", 8 << 20),
    ("gib", 8 << 30),
    ("kb", 8_000),
    ("mb", 8_000_000),
    ("gb", 8_000_000_000),
    ("tb", 8_000_000_000_000),
];

const DURATION_UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
    ("w", 604_800_000_000_000),
];

/// A number of bytes. Parses `8MiB`, `500KB`, `0B`; prints in binary units.
///
/// ```
/// use haulage::units::ByteSize;
/// assert_eq!("8MiB".parse::<ByteSize>().unwrap().bytes(), 8 << 20);
/// assert!("8".parse::<ByteSize>().unwrap_err().to_string().contains("8MiB"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct ByteSize(u64);

impl ByteSize {
    /// A size of `bytes` bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// A size of `kib` kibibytes.
    pub const fn kib(kib: u64) -> Self {
        Self(kib << 10)
    }

    /// A size of `mib` mebibytes.
    pub const fn mib(mib: u64) -> Self {
        Self(mib << 20)
    }

    /// The size in bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl FromStr for ByteSize {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (number, unit) = split_unit(text);
        let scale = SIZE_UNITS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(unit))
            .or_else(|| SIZE_UNITS.iter().find(|(name, _)| short_binary(name, unit)));
        parse_scaled(number, scale.map(|(_, scale)| *scale))
            .map(Self)
            .ok_or_else(|| bad_unit("size", text, number, &["KiB", "MiB"]))
    }
}

/// `8M` is read as `8MiB`, as dd, rclone and AzCopy read it.
fn short_binary(name: &str, unit: &str) -> bool {
    unit.len() == 1 && name.len() == 3 && name[..1].eq_ignore_ascii_case(unit)
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale) =
            SIZE_UNITS[..5].iter().rev().find(|(_, scale)| self.0 >= *scale).unwrap_or(&SIZE_UNITS[0]);
        if self.0.is_multiple_of(*scale) {
            write!(f, "{} {unit}", self.0 / scale)
        } else {
            write!(f, "{:.1} {unit}", self.0 as f64 / *scale as f64)
        }
    }
}

/// A rate on a link, held in bits per second. Parses `20mbit`, `1Gbit/s`, `100MiB/s`; prints in
/// decimal bits.
///
/// ```
/// use haulage::units::ByteRate;
/// assert_eq!("20mbit".parse::<ByteRate>().unwrap().bytes_per_second(), 2.5e6);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct ByteRate(u64);

impl ByteRate {
    /// A rate of `bits` bits per second.
    pub const fn bits_per_second(bits: u64) -> Self {
        Self(bits)
    }

    /// The rate at which `bytes` passed in `elapsed`; zero where no time passed.
    pub fn over(bytes: u64, elapsed: Duration) -> Self {
        let seconds = elapsed.as_secs_f64();
        if seconds <= 0.0 {
            return Self(0);
        }
        Self((bytes as f64 * 8.0 / seconds) as u64)
    }

    /// The rate in bits per second.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The rate in bytes per second.
    pub fn bytes_per_second(self) -> f64 {
        self.0 as f64 / 8.0
    }

    /// The rate as a bound on what a job may use.
    ///
    /// # Errors
    /// `Usage` below 8 kbit/s, at which nothing comes to an end.
    pub fn as_cap(self) -> Result<Self> {
        if self.0 >= Self::LEAST_CAP {
            return Ok(self);
        }
        Err(Error::new(
            ErrorKind::Usage,
            "parse",
            format!("cap {self}"),
            "at this rate nothing comes to an end",
        )
        .hint("write 8kbit or more; leave out the cap for no bound"))
    }

    /// Bits a second that a cap allows at least.
    const LEAST_CAP: u64 = 8_000;

    /// The time that `size` takes at this rate; `None` at rate zero.
    pub fn time_for(self, size: ByteSize) -> Option<Duration> {
        let seconds = size.bytes() as f64 / self.bytes_per_second();
        // At a bit a second the largest sizes take longer than any duration.
        (self.0 > 0).then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    }
}

impl FromStr for ByteRate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (number, unit) = split_unit(text);
        let unit = unit.to_ascii_lowercase();
        let unit = unit.strip_suffix("/s").unwrap_or(&unit);
        let scale = RATE_UNITS.iter().find(|(name, _)| *name == unit);
        parse_scaled(number, scale.map(|(_, scale)| *scale))
            .map(Self)
            .ok_or_else(|| bad_unit("rate", text, number, &["mbit", "MiB/s"]))
    }
}

impl fmt::Display for ByteRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale) = match self.0 {
            0..1_000 => ("bit/s", 1.0),
            1_000..1_000_000 => ("kbit/s", 1e3),
            1_000_000..1_000_000_000 => ("Mbit/s", 1e6),
            _ => ("Gbit/s", 1e9),
        };
        let value = self.0 as f64 / scale;
        if value >= 100.0 || value.fract() == 0.0 {
            write!(f, "{value:.0} {unit}")
        } else {
            write!(f, "{value:.1} {unit}")
        }
    }
}

impl<'de> serde::Deserialize<'de> for ByteSize {
    /// From text with a unit, such as `"8MiB"`.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Parses a duration with its unit: `60ms`, `1.5s`, `30m`, `2h`, `7d`, `4w`.
pub fn parse_duration(text: &str) -> Result<Duration> {
    let (number, unit) = split_unit(text);
    let scale = DURATION_UNITS.iter().find(|(name, _)| *name == unit);
    parse_scaled(number, scale.map(|(_, scale)| *scale)).map(Duration::from_nanos).ok_or_else(|| match unit {
        "" => bad_unit("duration", text, number, &["s", "m"]),
        // Who writes `3months` has never meant three minutes.
        _ => Error::new(ErrorKind::Usage, "parse", text, "not a duration with a unit")
            .hint("the units are ms, s, m (minutes), h, d and w: write 30m or 7d"),
    })
}

/// Prints a duration as a person reads it: `290 us`, `340 ms`, `8.6 s`, `3 m 20 s`, `2 h 5 m`.
pub fn format_duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    match seconds {
        s if s < 1e-3 => format!("{:.0} us", s * 1e6),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 60.0 => format!("{s:.1} s"),
        s if s < 3600.0 => format!("{} m {} s", s as u64 / 60, s as u64 % 60),
        s => format!("{} h {} m", s as u64 / 3600, s as u64 % 3600 / 60),
    }
}

/// Splits `"1.5 MiB"` into `("1.5", "MiB")`.
fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

/// `number` times `scale`, refused when it is no number or does not fit.
fn parse_scaled(number: &str, scale: Option<u64>) -> Option<u64> {
    let scale = scale?;
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(scale);
    }
    let value = number.parse::<f64>().ok()? * scale as f64;
    (value < u64::MAX as f64).then_some(value.round() as u64)
}

fn bad_unit(what: &'static str, text: &str, number: &str, units: &[&str]) -> Error {
    // A hint with a zero in it would be refused as well.
    let number = if number.parse::<f64>().is_ok_and(|number| number > 0.0) { number } else { "8" };
    let examples: Vec<String> = units.iter().map(|unit| format!("{number}{unit}")).collect();
    Error::new(ErrorKind::Usage, "parse", text, format!("not a {what} with a unit"))
        .hint(format!("write {}", examples.join(" or ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_parse_with_their_unit() {
        for (text, bytes) in [
            ("0B", 0),
            ("8MiB", 8 << 20),
            ("8 MiB", 8 << 20),
            ("8m", 8 << 20),
            ("1.5GiB", 3 << 29),
            ("500KB", 500_000),
            ("2tib", 2 << 40),
        ] {
            assert_eq!(text.parse::<ByteSize>().unwrap().bytes(), bytes, "{text}");
        }
    }

    #[test]
    fn bare_numbers_are_refused_with_a_hint() {
        let error = "8".parse::<ByteSize>().unwrap_err();
        assert_eq!(error.hint_text(), Some("write 8KiB or 8MiB"));
        let error = parse_duration("30").unwrap_err();
        assert_eq!(error.hint_text(), Some("write 30s or 30m"));
        let error = parse_duration("3months").unwrap_err();
        assert_eq!(error.hint_text(), Some("the units are ms, s, m (minutes), h, d and w: write 30m or 7d"));
        assert!("20".parse::<ByteRate>().is_err());
        assert!("".parse::<ByteSize>().is_err());
        assert!("99999999999999TiB".parse::<ByteSize>().is_err());
        assert!("-1MiB".parse::<ByteSize>().is_err());
    }

    #[test]
    fn values_print_as_people_read_them() {
        assert_eq!(ByteSize::new(1536).to_string(), "1.5 KiB");
        assert_eq!(ByteSize::mib(8).to_string(), "8 MiB");
        assert_eq!(ByteRate::bits_per_second(2_300_000).to_string(), "2.3 Mbit/s");
        assert_eq!(ByteRate::over(2_500_000, Duration::from_secs(1)).to_string(), "20 Mbit/s");
        assert_eq!(format_duration(Duration::from_micros(290)), "290 us");
        assert_eq!(format_duration(Duration::from_millis(340)), "340 ms");
        assert_eq!(format_duration(Duration::from_secs(200)), "3 m 20 s");
    }

    #[test]
    fn the_largest_size_takes_its_time_at_the_lowest_rate() {
        let time = |bits| ByteRate::bits_per_second(bits).time_for(ByteSize::new(u64::MAX));
        assert_eq!((time(0), time(1)), (None, Some(Duration::MAX)));
    }

    proptest! {
        #[test]
        fn whole_sizes_survive_a_round_trip(mib in 0u64..1 << 30) {
            let size = ByteSize::mib(mib);
            if mib < 1024 {
                prop_assert_eq!(size.to_string().parse::<ByteSize>().unwrap(), size);
            }
            prop_assert_eq!(format!("{mib}MiB").parse::<ByteSize>().unwrap(), size);
        }
    }
}
