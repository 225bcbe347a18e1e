//! Times of the service: text with up to seven digits of a second, and nanoseconds since 1970.

use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime, UtcOffset};

/// Nanoseconds since 1970, where 64 bits hold them; `Err` with the text in the form of the service where they do not.
/// `None` for what is no time.
pub(super) fn parse(text: &str) -> Option<Result<i64, String>> {
    let time = OffsetDateTime::parse(text, &Rfc3339).ok()?.to_offset(UtcOffset::UTC);
    match i64::try_from(time.unix_timestamp_nanos()) {
        Ok(ns) => Some(Ok(ns)),
        Err(_) => Some(Err(write_time(time))),
    }
}

/// A time as the service writes it: no digits of a second where there are none, else seven. What lies between two of its ticks of
/// 100 ns is cut.
pub(super) fn write(ns: i64) -> String {
    let time = OffsetDateTime::UNIX_EPOCH + Duration::nanoseconds(ns);
    write_time(time)
}

/// The same for a time that 64 bits do not hold; `None` outside of the years 1 to 9999.
pub(super) fn write_far(ns: i128) -> Option<String> {
    let time = OffsetDateTime::from_unix_timestamp_nanos(ns).ok()?;
    (1..=9999).contains(&time.year()).then(|| write_time(time))
}

fn write_time(time: OffsetDateTime) -> String {
    let (date, clock) = (time.date(), time.time());
    let (hour, minute, second, ns) = clock.as_hms_nano();
    let date = format!("{:04}-{:02}-{:02}", date.year(), u8::from(date.month()), date.day());
    let ticks = ns / 100;
    if ticks == 0 {
        format!("{date}T{hour:02}:{minute:02}:{second:02}Z")
    } else {
        format!("{date}T{hour:02}:{minute:02}:{second:02}.{ticks:07}Z")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back_as_they_were_written() {
        for text in ["1970-01-01T00:00:00Z", "2024-02-29T23:59:59.1234567Z", "1677-09-22T00:00:00Z"] {
            assert_eq!(write(parse(text).unwrap().unwrap()), text);
        }
        assert_eq!(
            parse("2020-01-01T00:00:00.5+01:00").unwrap().map(write).unwrap(),
            "2019-12-31T23:00:00.5000000Z"
        );
        for text in ["1601-01-01T00:00:00Z", "9999-12-31T23:59:59.9999999Z"] {
            assert_eq!(parse(text), Some(Err(text.to_owned())));
        }
        assert_eq!(parse("yesterday"), None);
    }
}
