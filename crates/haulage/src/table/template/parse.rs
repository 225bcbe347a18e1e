//! Reads a template from text.

use std::ops::RangeInclusive;

use super::format::Format;
use super::{Field, Part, Template};
use crate::error::{Error, ErrorKind, Result};

impl Template {
    /// Reads a template.
    pub(in crate::table) fn parse(text: &str) -> Result<Self> {
        let refuse = |cause: String| Error::new(ErrorKind::Usage, "read the key template", text, cause);
        let (mut parts, mut literal, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find(['{', '}']) {
            literal.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(behind) = rest.strip_prefix("{{").or_else(|| rest.strip_prefix("}}")) {
                literal.push_str(&rest[..1]);
                rest = behind;
                continue;
            }
            if rest.starts_with('}') {
                return Err(refuse("there is a } without its {".to_owned()).hint("write }} for a brace"));
            }
            let Some((written, behind)) = Written::read(rest) else {
                return Err(refuse(format!("`{rest}` does not begin with a field"))
                    .hint("write {column}, {column:format}, or {{ for a brace"));
            };
            let Some(format) = written.format.map_or(Some(Format::Plain), Format::read) else {
                return Err(refuse(format!("`{}` is not a format", written.format.unwrap_or_default()))
                    .hint("formats are 0N, signedN, hashN, reversed, iso, year, month, day, hour"));
            };
            if !literal.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut literal)));
            }
            parts.push(Part::Field(Field { column: written.column, format, optional: written.optional }));
            rest = behind;
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Text(literal));
        }
        Ok(Self { parts })
    }
}

/// A field as it is written.
struct Written<'a> {
    column: String,
    optional: bool,
    format: Option<&'a str>,
}

impl<'a> Written<'a> {
    /// The field that a text begins with, and what stands behind it.
    fn read(text: &'a str) -> Option<(Self, &'a str)> {
        let text = text.strip_prefix('{')?;
        let (column, text) = match text.strip_prefix('"') {
            Some(text) => quoted(text)?,
            None => {
                let (name, text) = text.split_at(text.find(['{', '}', ':', '?', '"'])?);
                (name.to_owned(), text)
            }
        };
        if column.is_empty() {
            return None;
        }
        let (optional, text) = text.strip_prefix('?').map_or((false, text), |text| (true, text));
        let (format, text) = match text.strip_prefix(':') {
            Some(text) => {
                let (format, text) = text.split_at(text.find(['{', '}', ':'])?);
                (Some(format), text)
            }
            None => (None, text),
        };
        Some((Self { column, optional, format }, text.strip_prefix('}')?))
    }
}

/// A name up to the quote that ends it, with `""` for a quote in it, and what stands behind.
fn quoted(mut text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    loop {
        let (before, behind) = text.split_once('"')?;
        name.push_str(before);
        match behind.strip_prefix('"') {
            Some(behind) => {
                name.push('"');
                text = behind;
            }
            None => return Some((name, behind)),
        }
    }
}

impl Format {
    fn read(text: &str) -> Option<Self> {
        Some(match text {
            "reversed" => Self::Reversed,
            "iso" => Self::Iso { characters: 28 },
            "hour" => Self::Iso { characters: 13 },
            "day" => Self::Iso { characters: 10 },
            "month" => Self::Iso { characters: 7 },
            "year" => Self::Iso { characters: 4 },
            _ => {
                if let Some(count) = text.strip_prefix("signed") {
                    Self::Signed { digits: number(count, 1..=18)? }
                } else if let Some(count) = text.strip_prefix("hash") {
                    Self::Hash { buckets: number(count, 2..=65_536)? }
                } else {
                    Self::Padded { digits: number(text.strip_prefix('0')?, 1..=38)? }
                }
            }
        })
    }
}

/// A number within bounds, without zeros in front.
fn number(text: &str, bounds: RangeInclusive<u32>) -> Option<u32> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|number| plain && bounds.contains(number))
}
