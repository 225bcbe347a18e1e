//! When a source changed last, as movers write it into metadata.
//!
//! Two forms are written, so that others find them: rclone's `mtime` and AzCopy's `modtime`. What rewrites a time later
//! writes its own form only, so the first that can be read counts, in the order of [`FORMS`].

use http::header::{HeaderMap, HeaderName};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::error::Asked;
use super::meta::META;
use crate::error::Result;
use crate::store::headers::set;

/// A date, with a fraction of a second where there is one.
const MTIME: HeaderName = HeaderName::from_static("x-ms-meta-mtime");
/// Nanoseconds since 1970, where `--preserve-posix-properties` is given.
const MODTIME: HeaderName = HeaderName::from_static("x-ms-meta-modtime");
/// The same, written by earlier versions.
const OURS: HeaderName = HeaderName::from_static("x-ms-meta-haulage_mtime_ns");

/// A form of time, and how it is read.
type Form = (HeaderName, fn(&str) -> Option<i128>);

static FORMS: [Form; 3] = [(MTIME, of_date), (MODTIME, of_nanoseconds), (OURS, of_nanoseconds)];

/// The place among the forms of what a piece of metadata is called; `None` for other metadata.
pub(super) fn form(name: &str) -> Option<usize> {
    FORMS.iter().position(|(header, _)| header.as_str()[META.len()..].eq_ignore_ascii_case(name))
}

/// What pieces of metadata, in any order, tell of the time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found(Option<(usize, i128)>);

impl Found {
    /// Looks at the text of a form.
    pub(super) fn look(&mut self, form: usize, text: &str) {
        let counts = self.0.is_none_or(|(before, _)| form < before);
        if let Some(ns) = FORMS[form].1(text).filter(|_| counts) {
            self.0 = Some((form, ns));
        }
    }

    /// In nanoseconds since 1970.
    pub(super) fn ns(self) -> Option<i128> {
        self.0.map(|(_, ns)| ns)
    }
}

/// The time that headers tell, in nanoseconds since 1970.
pub(super) fn read(headers: &HeaderMap) -> Option<i128> {
    let mut found = Found::default();
    for (form, (name, _)) in FORMS.iter().enumerate() {
        if let Some(text) = headers.get(name).and_then(|value| value.to_str().ok()) {
            found.look(form, text);
        }
    }
    found.ns()
}

/// Writes a time as rclone and AzCopy do. A date has no more than four digits for the year.
pub(super) fn write(headers: &mut HeaderMap, ns: i128, asked: Asked<'_>) -> Result<()> {
    if let Some(date) = date(ns) {
        set(headers, MTIME, &date, asked)?;
    }
    set(headers, MODTIME, &ns.to_string(), asked)
}

fn date(ns: i128) -> Option<String> {
    OffsetDateTime::from_unix_timestamp_nanos(ns).ok()?.format(&Rfc3339).ok()
}

fn of_date(text: &str) -> Option<i128> {
    OffsetDateTime::parse(text, &Rfc3339).ok().map(OffsetDateTime::unix_timestamp_nanos)
}

fn of_nanoseconds(text: &str) -> Option<i128> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn told(pairs: &[(&'static str, &'static str)]) -> Option<i128> {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        read(&pairs.iter().map(pair).collect())
    }

    #[test]
    fn times_of_others_are_read() {
        for (text, ns) in [
            ("2023-11-14T22:13:20.123456789Z", Some(1_700_000_000_123_456_789)),
            ("2023-11-14T22:13:20.120000000Z", Some(1_700_000_000_120_000_000)),
            ("2023-11-14T23:13:20+01:00", Some(1_700_000_000_000_000_000)),
            ("1969-12-31T23:59:59.999999999Z", Some(-1)),
            ("1700000000", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(told(&[("x-ms-meta-mtime", text)]), ns, "{text}");
        }
        for (text, ns) in
            [("1700000000123456789", Some(1_700_000_000_123_456_789)), ("-1", Some(-1)), ("2023-11-14", None)]
        {
            assert_eq!(told(&[("x-ms-meta-modtime", text)]), ns, "{text}");
            assert_eq!(told(&[("x-ms-meta-haulage_mtime_ns", text)]), ns, "{text}");
        }
    }

    #[test]
    fn the_first_form_that_can_be_read_counts() {
        let (date, ns, ours) = ("x-ms-meta-mtime", "x-ms-meta-modtime", "x-ms-meta-haulage_mtime_ns");
        assert_eq!(told(&[(ours, "3"), (ns, "2"), (date, "1970-01-01T00:00:01Z")]), Some(1_000_000_000));
        assert_eq!(told(&[(date, "?"), (ns, "2"), (ours, "3")]), Some(2));
        assert_eq!(told(&[(date, "?"), (ns, "?"), (ours, "3")]), Some(3));
        let mut found = Found::default();
        for (name, text) in
            [("Haulage_MTime_Ns", "3"), ("modtime", "2"), ("MTIME", "?"), ("haulage_mtime_ns", "4")]
        {
            found.look(form(name).unwrap(), text);
        }
        assert_eq!(found.ns(), Some(2));
        assert_eq!((form("mtimes"), form("")), (None, None));
    }

    #[test]
    fn years_that_no_date_has_are_written_as_a_number() {
        assert_eq!(date(i128::MAX), None);
        assert_eq!(date(253_402_300_800_000_000_000), None);
        assert_eq!(date(0).as_deref(), Some("1970-01-01T00:00:00Z"));
    }

    proptest! {
        #[test]
        fn dates_survive_a_round_trip(ns in any::<i64>()) {
            prop_assert_eq!(of_date(&date(ns.into()).unwrap()), Some(ns.into()));
        }
    }
}
