//! What the engine says, as text: pure functions from values to lines.

mod emulator;
mod failures;
mod object;
mod plan;
mod progress;
mod summary;

pub use emulator::{emulator_lines, packet_lines, s3_variables, served_lines};
pub use failures::{every_failure, failure_lines};
pub use object::{ObjectLine, list_line, planned_line, prefix_line, stat_lines, verify_line};
pub use plan::plan_lines;
pub use progress::{bar_lines, plain_line, slow_line};
pub use summary::{chosen_line, interrupted_line, out_of_time_line, summary_lines, warning_lines};

use std::borrow::Cow;
use std::time::Duration;

use haulage::units::format_duration;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A name as a terminal may show it: characters that move the cursor, turn the direction of writing or cannot be seen are
/// escaped, so that a name stays on its line and looks like no other.
pub fn printable(name: &str) -> Cow<'_, str> {
    // A million names are nearly all plain ASCII, which needs no decoding.
    let plain = name.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if plain || !name.chars().any(is_hidden) {
        return Cow::Borrowed(name);
    }
    let escape = |c: char| if is_hidden(c) { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(name.chars().map(escape).collect())
}

/// Controls, marks of direction, and what takes no room: zero-width spaces and joiners, soft hyphens, tags.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// A URL without its query, which may be a signature.
pub fn public_url(url: &str) -> &str {
    match url.split_once('?') {
        Some((address, _)) if url.contains("://") => address,
        _ => url,
    }
}

/// A count with its noun: `1 object`, `6,000,000 objects`.
pub fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", thousands(number))
}

/// A number with its thousands set apart.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Nanoseconds as a person reads them.
pub fn duration_ns(ns: u64) -> String {
    format_duration(Duration::from_nanos(ns))
}

/// A time in nanoseconds since 1970 as ISO 8601 in UTC, to the second.
pub fn timestamp(unix_ns: i128) -> String {
    // By hand: the general formatter took a fifth of what listing a name costs.
    let seconds = i64::try_from(unix_ns.div_euclid(1_000_000_000)).unwrap_or_default();
    let time = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let mut text = *b"0000-00-00T00:00:00Z";
    let (year, month, day) = time.to_calendar_date();
    let (hour, minute, second) = time.to_hms();
    let mut put = |at: usize, number: u32| {
        text[at] = b'0' + (number / 10 % 10) as u8;
        text[at + 1] = b'0' + (number % 10) as u8;
    };
    put(0, year.unsigned_abs() / 100);
    put(2, year.unsigned_abs());
    put(5, u8::from(month).into());
    put(8, day.into());
    put(11, hour.into());
    put(14, minute.into());
    put(17, second.into());
    String::from_utf8_lossy(&text).into_owned()
}

/// The same with all the digits there are.
pub fn timestamp_exact(unix_ns: i128) -> String {
    let time = OffsetDateTime::from_unix_timestamp_nanos(unix_ns).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    time.format(&Rfc3339).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_the_line_or_move_the_cursor() {
        assert_eq!(printable("température.nc"), "température.nc");
        assert_eq!(printable("a\nb\t\x1b[1A"), "a\\nb\\t\\u{1b}[1A");
        assert_eq!(printable("tas\u{202e}cn.exe\u{200b}"), "tas\\u{202e}cn.exe\\u{200b}");
    }

    #[test]
    fn signatures_are_not_shown() {
        assert_eq!(public_url("https://h/c/a.nc?sig=secret"), "https://h/c/a.nc");
        assert_eq!(public_url("what?.txt"), "what?.txt");
    }

    #[test]
    fn numbers_and_times_read_well() {
        assert_eq!(count(1, "object"), "1 object");
        assert_eq!(count(6_000_000, "object"), "6,000,000 objects");
        assert_eq!(thousands(123), "123");
        assert_eq!(timestamp(1_700_000_000_123_456_789), "2023-11-14T22:13:20Z");
        assert_eq!(timestamp_exact(1_700_000_000_123_456_789), "2023-11-14T22:13:20.123456789Z");
        assert_eq!(timestamp(-1), "1969-12-31T23:59:59Z");
        assert_eq!(timestamp(15_032_385_535 * 1_000_000_000), "2446-05-10T22:38:55Z");
    }
}
