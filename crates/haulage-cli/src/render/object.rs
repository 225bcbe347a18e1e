//! One object on one line, and all that is known of it on several.

use haulage::checksum::{Crc64, Md5};
use haulage::event::{ObjectRecord, Outcome};
use haulage::store::ObjectMeta;
use haulage::units::ByteSize;
use serde::Serialize;

use super::{printable, timestamp, timestamp_exact};

/// Wide enough for `1023.9 MiB`.
const SIZE_WIDTH: usize = 10;
/// Wide enough for 999 TB to the byte, and for a time.
const EXACT_WIDTH: usize = 15;
const TIME_WIDTH: usize = 20;

/// An object as a line for programs. Times are ISO 8601 in UTC with all their digits.
#[derive(Debug, Serialize)]
pub struct ObjectLine<'a> {
    key: &'a str,
    size_bytes: u64,
    modified: String,
    etag: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_modified: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    crc64: Option<Crc64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    md5: Option<Md5>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<&'a str>,
}

impl<'a> From<&'a ObjectMeta> for ObjectLine<'a> {
    fn from(meta: &'a ObjectMeta) -> Self {
        Self {
            key: &meta.key,
            size_bytes: meta.size,
            modified: timestamp_exact(meta.modified_ns),
            etag: &meta.etag,
            source_modified: meta.source_modified_ns.map(timestamp_exact),
            crc64: meta.crc64,
            md5: meta.md5,
            content_type: meta.content_type.as_deref(),
        }
    }
}

/// Size, time and name in columns.
pub fn list_line(meta: &ObjectMeta, exact: bool) -> String {
    // As text, because the width does not reach through the display of a size.
    let (size, width) = match exact {
        true => (meta.size.to_string(), EXACT_WIDTH),
        false => (ByteSize::new(meta.size).to_string(), SIZE_WIDTH),
    };
    let (time, key) = (timestamp(meta.modified_ns), printable(&meta.key));
    // Put together by hand, for there may be millions.
    let mut line = String::with_capacity(width + TIME_WIDTH + key.len() + 4);
    line.extend(std::iter::repeat_n(' ', width.saturating_sub(size.len())));
    for part in [&size, "  ", &time, "  ", &key] {
        line.push_str(part);
    }
    line
}

/// A folder in the columns of [`list_line`].
pub fn prefix_line(prefix: &str, exact: bool) -> String {
    let width = if exact { EXACT_WIDTH } else { SIZE_WIDTH };
    format!("{:>width$}  {:TIME_WIDTH$}  {}", "folder", "", printable(prefix))
}

/// All that is known of an object.
pub fn stat_lines(meta: &ObjectMeta) -> Vec<String> {
    let size = ByteSize::new(meta.size);
    let mut lines = Vec::new();
    let mut add = |name: &str, value: Option<String>| {
        lines.extend(value.map(|value| format!("{name:16}{}", printable(&value))));
    };
    add("name", Some(meta.key.clone()));
    add("size", Some(if meta.size < 1024 { size.to_string() } else { format!("{} B ({size})", meta.size) }));
    // A service that states no time has none, and not that of 1970.
    add("modified", (meta.modified_ns != 0).then(|| timestamp_exact(meta.modified_ns)));
    add("source modified", meta.source_modified_ns.map(timestamp_exact));
    add("etag", Some(meta.etag.clone()));
    add("crc64", meta.crc64.map(|crc64| crc64.to_string()));
    add("md5", meta.md5.map(|md5| md5.to_string()));
    add("content type", meta.content_type.clone());
    lines
}

/// What a comparison found wrong with an object; `None` where nothing is.
pub fn verify_line(record: &ObjectRecord) -> Option<String> {
    if record.outcome == Outcome::Extra {
        return Some(format!("extra: {}", printable(&record.destination)));
    }
    let word = match record.outcome {
        Outcome::Missing => "missing",
        Outcome::Differs => "differs",
        Outcome::Failed => "failed",
        _ => return None,
    };
    let name = printable(&record.source);
    match &record.failure {
        Some(failure) if record.outcome != Outcome::Missing => {
            Some(format!("{word}: {name} ({})", printable(&failure.cause)))
        }
        _ => Some(format!("{word}: {name}")),
    }
}

/// What a dry run says of an object; `None` where nothing would be done with it.
pub fn planned_line(record: &ObjectRecord) -> Option<String> {
    let name = if record.destination.is_empty() { &record.source } else { &record.destination };
    let name = printable(name);
    let why = record.reason.map(|why| format!(" ({why})")).unwrap_or_default();
    match record.outcome {
        Outcome::WouldCopy => Some(format!("would copy: {name}{why}")),
        Outcome::WouldDelete => Some(format!("would delete: {name}{why}")),
        Outcome::WouldBackUp => Some(format!("would back up: {} to {name}", printable(&record.source))),
        Outcome::Extra => Some(format!("would not delete: {name}{why}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haulage::Error;
    use haulage::ErrorKind;
    use haulage::event::{Failure, Method, Proof};

    fn sample() -> ObjectMeta {
        ObjectMeta {
            key: "tas/a.nc".to_owned(),
            size: 8 << 20,
            etag: "0x8D".to_owned(),
            modified_ns: 1_700_000_000_500_000_000,
            source_modified_ns: Some(1_600_000_000_000_000_000),
            crc64: Some(Crc64::from_u64(0xab)),
            ..ObjectMeta::default()
        }
    }

    #[test]
    fn columns_align() {
        assert_eq!(list_line(&sample(), false), "     8 MiB  2023-11-14T22:13:20Z  tas/a.nc");
        assert_eq!(list_line(&sample(), true), "        8388608  2023-11-14T22:13:20Z  tas/a.nc");
        assert_eq!(prefix_line("tas/", false), "    folder                        tas/");
        assert_eq!(prefix_line("tas/", true).find("tas/"), list_line(&sample(), true).find("tas/"));
    }

    #[test]
    fn stat_shows_what_is_known_and_nothing_else() {
        assert_eq!(
            stat_lines(&sample()),
            [
                "name            tas/a.nc",
                "size            8388608 B (8 MiB)",
                "modified        2023-11-14T22:13:20.5Z",
                "source modified 2020-09-13T12:26:40Z",
                "etag            0x8D",
                "crc64           00000000000000ab",
            ]
        );
        let line = serde_json::to_value(ObjectLine::from(&sample())).unwrap();
        assert_eq!(line["size_bytes"], 8 << 20);
        assert_eq!(line["crc64"], "00000000000000ab");
        assert!(line.get("md5").is_none());
    }

    #[test]
    fn what_differs_is_named_with_its_checksums() {
        let record = |outcome| ObjectRecord {
            object_id: 0,
            source: "a.nc".into(),
            destination: "az://c/a.nc".into(),
            name: "a.nc".into(),
            size_bytes: 1,
            outcome,
            method: Method::None,
            by_service: false,
            proof: Proof::None,
            crc64: None,
            md5: None,
            etag: None,
            attempts: 1,
            started_ns: 0,
            ended_ns: 0,
            reason: None,
            failure: Some(Failure::from(&Error::new(ErrorKind::Io, "compare", "a.nc", "a != b"))),
            source_etag: None,
            parts: Vec::new(),
        };
        let line = |outcome| verify_line(&record(outcome));
        assert_eq!(line(Outcome::Equal), None);
        assert_eq!(line(Outcome::Differs).unwrap(), "differs: a.nc (a != b)");
        assert_eq!(line(Outcome::Missing).unwrap(), "missing: a.nc");
        assert_eq!(line(Outcome::Failed).unwrap(), "failed: a.nc (a != b)");
        let extra = ObjectRecord { outcome: Outcome::Extra, ..record(Outcome::Extra) };
        assert_eq!(verify_line(&extra).unwrap(), "extra: az://c/a.nc");
    }
}
