//! Times as the service writes and reads them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use time::format_description::BorrowedFormatItem;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{OffsetDateTime, PrimitiveDateTime};

/// A moment to the second, the resolution of every time on this wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct Stamp(u64);

impl Stamp {
    pub(crate) fn now() -> Self {
        SystemTime::now().into()
    }

    /// As HTTP headers and lists have it: `Sun, 06 Nov 1994 08:49:37 GMT`.
    pub(crate) fn http(self) -> String {
        httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(self.0))
    }

    /// As S3's documents have it: `2026-01-02T03:04:05.000Z`.
    pub(crate) fn iso8601(self) -> String {
        let text = iso8601(UNIX_EPOCH + Duration::from_secs(self.0));
        text.replace('Z', ".000Z")
    }

    /// How far apart two moments are.
    pub(crate) fn seconds_from(self, other: Self) -> u64 {
        self.0.abs_diff(other.0)
    }

    /// Reads an HTTP date; `None` where it is not one.
    pub(crate) fn parse_http(text: &str) -> Option<Self> {
        httpdate::parse_http_date(text).ok().map(Self::from)
    }
}

impl From<SystemTime> for Stamp {
    fn from(time: SystemTime) -> Self {
        // The year 9999 is the last that HTTP dates can write; httpdate panics after it.
        const LAST: u64 = 253_402_300_799;
        Self(time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs().min(LAST)))
    }
}

/// `2026-01-02T03:04:05Z`, as a shared access signature carries its times.
pub(crate) fn iso8601(time: SystemTime) -> String {
    let whole = UNIX_EPOCH + Duration::from_secs(Stamp::from(time).0);
    OffsetDateTime::from(whole).format(&Rfc3339).unwrap_or_default()
}

/// `20260102T030405Z`, as S3's signatures carry their times.
pub(crate) fn basic(time: SystemTime) -> String {
    iso8601(time).replace(['-', ':'], "")
}

/// Reads that form; `None` where it is another.
pub(crate) fn parse_basic(text: &str) -> Option<SystemTime> {
    const FORM: &[BorrowedFormatItem<'_>] = format_description!("[year][month][day]T[hour][minute][second]Z");
    let plain = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let time = PrimitiveDateTime::parse(text, FORM).ok().filter(|_| plain)?;
    Some(SystemTime::from(time.assume_utc())).filter(|time| *time >= UNIX_EPOCH)
}

/// Reads the forms in which a signature may carry a time: to the day, the minute or the second.
pub(crate) fn parse_iso8601(text: &str) -> Option<SystemTime> {
    let padded = match text.len() {
        10 => format!("{text}T00:00:00Z"),
        17 => format!("{}:00Z", text.strip_suffix('Z')?),
        _ => text.to_owned(),
    };
    OffsetDateTime::parse(&padded, &Rfc3339).ok().map(SystemTime::from)
}

/// Hundreds of nanoseconds since the year 1, in which the service counts its ETags.
pub(crate) fn ticks(time: SystemTime) -> u64 {
    const YEAR_1_TO_1970: u64 = 621_355_968_000_000_000;
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    YEAR_1_TO_1970 + (since.as_nanos() / 100) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signature_times_are_read_in_all_their_forms() {
        let midnight = UNIX_EPOCH + Duration::from_secs(1_767_312_000);
        for text in ["2026-01-02", "2026-01-02T00:00Z", "2026-01-02T00:00:00Z", "2026-01-02T00:00:00.000Z"] {
            assert_eq!(parse_iso8601(text), Some(midnight), "{text}");
        }
        assert_eq!(parse_iso8601("tomorrow"), None);
        assert_eq!(iso8601(midnight), "2026-01-02T00:00:00Z");
    }

    #[test]
    fn basic_times_read_back() {
        let time = UNIX_EPOCH + Duration::from_secs(1_767_323_045);
        assert_eq!(basic(time), "20260102T030405Z");
        assert_eq!(parse_basic("20260102T030405Z"), Some(time));
        for bad in ["", "20260102", "2026-01-02T03:04", "20260132T030405Z", "+2026102T030405Z"] {
            assert_eq!(parse_basic(bad), None, "{bad}");
        }
        assert_eq!(Stamp::from(time).iso8601(), "2026-01-02T03:04:05.000Z");
    }

    #[test]
    fn etags_begin_as_the_services_do() {
        assert!(format!("{:X}", ticks(SystemTime::now())).starts_with("8D"));
    }
}
