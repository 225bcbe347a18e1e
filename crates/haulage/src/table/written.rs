//! One row as the service writes it, in JSON: properties in their order, and the types that stand beside them.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use super::column::Value;
use super::kind::Kind;
use super::page::{PARTITION_KEY, ROW_KEY, Rows, TIMESTAMP, shown, without_position};
use super::time;

/// A row has at most 255 properties; more are no row of this service.
pub(super) const PROPERTIES_MAX: usize = 1_024;

/// A property as it is written.
#[derive(Debug)]
pub(super) enum Cell<'de> {
    Null,
    Boolean(bool),
    Whole(i64),
    Double(f64),
    Text(Cow<'de, str>),
}

/// One row as it is written.
#[derive(Debug, Default)]
pub(super) struct Row<'de> {
    cells: Vec<(Cow<'de, str>, Cell<'de>)>,
    /// Types that stand beside the values: `name@odata.type`.
    types: Vec<(Cow<'de, str>, Kind)>,
}

pub(super) struct RowSeed<'a, 'de>(pub(super) &'a mut Row<'de>);

impl<'de> DeserializeSeed<'de> for RowSeed<'_, 'de> {
    type Value = Row<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Row<'de>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RowSeed<'_, 'de> {
    type Value = Row<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Row<'de>, A::Error> {
        let mut row = std::mem::take(self.0);
        row.cells.clear();
        row.types.clear();
        while let Some(Name(key)) = map.next_key::<Name<'de>>()? {
            if row.cells.len() + row.types.len() > 2 * PROPERTIES_MAX {
                return Err(A::Error::custom("a row has more properties than any can have"));
            }
            if let Some(name) = key.strip_suffix("@odata.type") {
                let Name(kind) = map.next_value::<Name<'de>>()?;
                let kind = Kind::of_edm(&kind).ok_or_else(|| {
                    A::Error::custom(format!("`{}` is no type of this service", shown(&kind)))
                })?;
                row.types.push((name.to_owned().into(), kind));
            } else if key.starts_with("odata.") || key.contains("@odata.") {
                map.next_value::<IgnoredAny>()?;
            } else {
                let cell = map.next_value::<Cell<'de>>()?;
                row.cells.push((key, cell));
            }
        }
        Ok(row)
    }
}

/// Text that is borrowed where it has no escapes.
struct Name<'de>(Cow<'de, str>);

impl<'de> serde::Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;
        impl<'de> Visitor<'de> for NameVisitor {
            type Value = Name<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(NameVisitor)
    }
}

impl<'de> serde::Deserialize<'de> for Cell<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CellVisitor;
        impl<'de> Visitor<'de> for CellVisitor {
            type Value = Cell<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value that is no list and no object")
            }
            fn visit_unit<E>(self) -> Result<Cell<'de>, E> {
                Ok(Cell::Null)
            }
            fn visit_bool<E>(self, value: bool) -> Result<Cell<'de>, E> {
                Ok(Cell::Boolean(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Cell<'de>, E> {
                Ok(Cell::Whole(value))
            }
            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Cell<'de>, E> {
                match i64::try_from(value) {
                    Ok(value) => Ok(Cell::Whole(value)),
                    // No type of whole numbers holds more; and JavaScript writes doubles below 1e21 without a point.
                    Err(_) => as_double(value)
                        .map(Cell::Double)
                        .ok_or_else(|| E::custom(format!("{value} does not fit in a signed 64-bit integer"))),
                }
            }
            fn visit_f64<E>(self, value: f64) -> Result<Cell<'de>, E> {
                Ok(Cell::Double(value))
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Cell<'de>, E> {
                Ok(Cell::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Cell<'de>, E> {
                Ok(Cell::Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_any(CellVisitor)
    }
}

/// The double that such a number was written from; `None` where it is none, and would be rounded.
fn as_double(value: u64) -> Option<f64> {
    is_double(value.to_string().as_bytes()).then_some(value as f64)
}

/// Whether a whole number, in digits, equals a double exactly, or is a double's shortest decimal form.
fn is_double(digits: &[u8]) -> bool {
    let Some(double) = std::str::from_utf8(digits).ok().and_then(|text| text.parse::<f64>().ok()) else {
        return false;
    };
    // Above 2^53 doubles are whole, and all their digits are written.
    format!("{double:.0}").as_bytes() == digits || format!("{double}").as_bytes() == digits
}

/// Whole numbers from here on do not fit into 64 bits, and are read as doubles.
const WIDE: f64 = 18_446_744_073_709_551_616.0;

/// A whole number on a line that was read as a double and rounded.
fn rounded(line: &[u8]) -> Option<&str> {
    let (mut at, mut in_text) = (0, false);
    while at < line.len() {
        match line[at] {
            b'\\' if in_text => at += 1,
            b'"' => in_text = !in_text,
            b'-' | b'0'..=b'9' if !in_text => {
                let number = &line[at..];
                let of_number = |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                let number = &number[..number.iter().take_while(|byte| of_number(byte)).count()];
                let digits = number.strip_prefix(b"-").unwrap_or(number);
                let wide = digits.len() > 18 && digits.iter().all(u8::is_ascii_digit);
                if wide
                    && std::str::from_utf8(number).is_ok_and(|text| text.parse::<i64>().is_err())
                    && !is_double(digits)
                {
                    return std::str::from_utf8(number).ok();
                }
                at += number.len() - 1;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

impl<'de> Row<'de> {
    /// Reads a row that stands alone, as on a line.
    pub(super) fn parse(json: &'de [u8]) -> Result<Self, String> {
        let mut reader = serde_json::Deserializer::from_slice(json);
        let mut row = Row::default();
        let read = RowSeed(&mut row).deserialize(&mut reader).and_then(|row| reader.end().map(|()| row));
        let row = read.map_err(|error| without_position(&error))?;
        let wide = |cell: &Cell<'_>| matches!(cell, Cell::Double(value) if *value <= i64::MIN as f64 || *value >= WIDE);
        match row.cells.iter().any(|(_, cell)| wide(cell)).then(|| rounded(json)).flatten() {
            Some(number) => Err(format!("{} does not fit in a signed 64-bit integer", shown(number))),
            None => Ok(row),
        }
    }

    /// Types its values, and hands them over in the order in which they are written.
    pub(super) fn values(&self) -> Result<Vec<(&str, Typed<'_>)>, String> {
        let mut cursor = self.types.iter().peekable();
        let mut values = Vec::with_capacity(self.cells.len());
        for (name, cell) in &self.cells {
            let kind = match cursor.peek() {
                // Types stand before their values, in the same order.
                Some((typed, kind)) if typed == name => {
                    cursor.next();
                    Some(*kind)
                }
                _ => self.types.iter().find(|(typed, _)| typed == name).map(|(_, kind)| *kind),
            };
            let wrong = || format!("the value of `{}` is not of its type", shown(name));
            // The service leaves out the type of the time that it has set; who else has such a property may mean something else.
            let own = (name == TIMESTAMP && kind.is_none()).then(|| typed(cell, Some(Kind::Time))).flatten();
            if let Some(value) = own.or_else(|| typed(cell, kind)).ok_or_else(wrong)? {
                values.push((&**name, value));
            }
        }
        Ok(values)
    }

    /// Adds it to the rows of a page, each of which has both keys.
    pub(super) fn give(&self, rows: &mut Rows) -> Result<(), String> {
        let values = self.values()?;
        for key in [PARTITION_KEY, ROW_KEY] {
            let found = values.iter().find(|(name, _)| *name == key).map(|(_, value)| value.value());
            match found {
                Some(Value::Text(_)) => {}
                Some(_) => return Err(format!("the {key} of a row is no text")),
                None => return Err(format!("a row has no {key}")),
            }
        }
        rows.push(values.iter().map(|(name, value)| (*name, value.value())))
    }
}

/// A value of a type, which may have been decoded from text.
#[derive(Debug)]
pub(super) enum Typed<'a> {
    Held(Value<'a>),
    Text(String),
    Guid(String),
    FarTime(String),
    Binary(Vec<u8>),
}

impl Typed<'_> {
    pub(super) fn value(&self) -> Value<'_> {
        match self {
            Self::Held(value) => value.clone(),
            Self::Text(text) => Value::Text(text),
            Self::Guid(text) => Value::Guid(text),
            Self::FarTime(text) => Value::FarTime(text),
            Self::Binary(bytes) => Value::Binary(bytes),
        }
    }
}

/// The value of a cell, where nothing is no value; `None` where it is not of its type.
fn typed<'a>(cell: &'a Cell<'_>, kind: Option<Kind>) -> Option<Option<Typed<'a>>> {
    let held = |value| Some(Some(Typed::Held(value)));
    match (cell, kind) {
        (Cell::Null, _) => Some(None),
        (Cell::Text(text), None | Some(Kind::Text)) => held(Value::Text(text)),
        (Cell::Boolean(value), None | Some(Kind::Boolean)) => held(Value::Boolean(*value)),
        (Cell::Whole(value), Some(Kind::Double)) => held(Value::Double(*value as f64)),
        (Cell::Whole(value), Some(Kind::Int64)) => held(Value::Int64(*value)),
        (Cell::Whole(value), None | Some(Kind::Int32)) => held(match i32::try_from(*value) {
            Ok(value) => Value::Int32(value),
            // Who writes without types has no other way for larger ones.
            Err(_) if kind.is_none() => Value::Int64(*value),
            Err(_) => return None,
        }),
        (Cell::Double(value), None | Some(Kind::Double)) => held(Value::Double(*value)),
        (Cell::Text(text), Some(Kind::Int64)) => held(Value::Int64(text.parse().ok()?)),
        (Cell::Text(text), Some(Kind::Double)) => held(Value::Double(match &**text {
            "NaN" => f64::NAN,
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            number => number.parse().ok()?,
        })),
        (Cell::Text(text), Some(Kind::Time | Kind::FarTime)) => match time::parse(text)? {
            Ok(ns) => held(Value::Time(ns)),
            Err(far) => Some(Some(Typed::FarTime(far))),
        },
        (Cell::Text(text), Some(Kind::Guid)) => held(Value::Guid(text)),
        (Cell::Text(text), Some(Kind::Binary)) => {
            Some(Some(Typed::Binary(BASE64_STANDARD.decode(&**text).ok()?)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_is_held_or_refused_and_never_rounded() {
        let read = |number: &str| {
            let json = format!(r#"{{"n":{number}}}"#);
            let row = Row::parse(json.as_bytes())?;
            Ok::<_, String>(match row.cells[0].1 {
                Cell::Whole(value) => value.to_string(),
                Cell::Double(value) => format!("{value:e}"),
                _ => unreachable!("{row:?}"),
            })
        };
        assert_eq!(read("9223372036854775807").unwrap(), "9223372036854775807");
        // As JavaScript and as others write the same double.
        for number in ["18446744073709549568", "18446744073709550000"] {
            assert_eq!(read(number).unwrap(), "1.844674407370955e19", "{number}");
        }
        assert_eq!(read("9223372036854775808").unwrap(), "9.223372036854776e18");
        assert_eq!(read("-9223372036854775808").unwrap(), "-9223372036854775808");
        for (number, double) in [
            ("18446744073709551616", "1.8446744073709552e19"),
            ("-100000000000000000000", "-1e20"),
            ("-18446744073709551616", "-1.8446744073709552e19"),
            ("1e300", "1e300"),
            ("-12345678901234567890.5", "-1.2345678901234567e19"),
        ] {
            assert_eq!(read(number).unwrap(), double, "{number}");
        }
        for number in [
            "18446744073709551615",
            "12345678901234567890",
            "9223372036854775809",
            "-9223372036854775809",
            "18446744073709551617",
            "123456789012345678901234567890",
        ] {
            assert_eq!(
                read(number).unwrap_err(),
                format!("{number} does not fit in a signed 64-bit integer")
            );
        }
        // Digits in text are none.
        let text = br#"{"t":"\"18446744073709551617","n":1e20}"#;
        Row::parse(text).unwrap();
    }
}
