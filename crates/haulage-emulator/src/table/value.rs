//! A property's value, as it is read from a request and as it is stored.

use super::ticks;

/// A value of one of the service's types.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    String(String),
    Boolean(bool),
    Int32(i32),
    Int64(i64),
    Double(f64),
    /// Hundreds of nanoseconds since the year 1.
    DateTime(u64),
    Guid([u8; 16]),
    Binary(Vec<u8>),
}

/// The same where it lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stored<'a> {
    String(&'a str),
    Boolean(bool),
    Int32(i32),
    Int64(i64),
    Double(f64),
    DateTime(u64),
    Guid(&'a [u8; 16]),
    Binary(&'a [u8]),
}

const STRING: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const INT32: u8 = 3;
const INT64: u8 = 4;
const DOUBLE: u8 = 5;
const DATE_TIME: u8 = 6;
const GUID: u8 = 7;
const BINARY: u8 = 8;

impl Value {
    pub(crate) fn stored(&self) -> Stored<'_> {
        match self {
            Self::String(text) => Stored::String(text),
            Self::Boolean(value) => Stored::Boolean(*value),
            Self::Int32(value) => Stored::Int32(*value),
            Self::Int64(value) => Stored::Int64(*value),
            Self::Double(value) => Stored::Double(*value),
            Self::DateTime(ticks) => Stored::DateTime(*ticks),
            Self::Guid(bytes) => Stored::Guid(bytes),
            Self::Binary(bytes) => Stored::Binary(bytes),
        }
    }
}

impl<'a> Stored<'a> {
    /// The bytes that the service counts for it.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::String(text) => 4 + 2 * utf16_len(text),
            Self::Boolean(_) => 1,
            Self::Int32(_) => 4,
            Self::Int64(_) | Self::Double(_) | Self::DateTime(_) => 8,
            Self::Guid(_) => 16,
            Self::Binary(bytes) => 4 + bytes.len(),
        }
    }

    /// The name of its type, without `Edm.`.
    pub(crate) fn edm(self) -> &'static str {
        match self {
            Self::String(_) => "String",
            Self::Boolean(_) => "Boolean",
            Self::Int32(_) => "Int32",
            Self::Int64(_) => "Int64",
            Self::Double(_) => "Double",
            Self::DateTime(_) => "DateTime",
            Self::Guid(_) => "Guid",
            Self::Binary(_) => "Binary",
        }
    }

    pub(crate) fn push(self, out: &mut Vec<u8>) {
        match self {
            Self::String(text) => {
                out.push(STRING);
                push_varint(out, text.len());
                out.extend_from_slice(text.as_bytes());
            }
            Self::Boolean(value) => out.push(if value { TRUE } else { FALSE }),
            Self::Int32(value) => {
                out.push(INT32);
                out.extend_from_slice(&value.to_le_bytes());
            }
            Self::Int64(value) => {
                out.push(INT64);
                out.extend_from_slice(&value.to_le_bytes());
            }
            Self::Double(value) => {
                out.push(DOUBLE);
                out.extend_from_slice(&value.to_le_bytes());
            }
            Self::DateTime(ticks) => {
                out.push(DATE_TIME);
                out.extend_from_slice(&ticks.to_le_bytes());
            }
            Self::Guid(bytes) => {
                out.push(GUID);
                out.extend_from_slice(bytes);
            }
            Self::Binary(bytes) => {
                out.push(BINARY);
                push_varint(out, bytes.len());
                out.extend_from_slice(bytes);
            }
        }
    }

    /// Reads the next value; `None` where there is none.
    pub(crate) fn take(from: &mut &'a [u8]) -> Option<Self> {
        let (tag, rest) = from.split_first()?;
        *from = rest;
        Some(match *tag {
            STRING => Self::String(std::str::from_utf8(take_sized(from)?).ok()?),
            FALSE => Self::Boolean(false),
            TRUE => Self::Boolean(true),
            INT32 => Self::Int32(i32::from_le_bytes(*take_array(from)?)),
            INT64 => Self::Int64(i64::from_le_bytes(*take_array(from)?)),
            DOUBLE => Self::Double(f64::from_le_bytes(*take_array(from)?)),
            DATE_TIME => Self::DateTime(u64::from_le_bytes(*take_array(from)?)),
            GUID => Self::Guid(take_array(from)?),
            BINARY => Self::Binary(take_sized(from)?),
            _ => return None,
        })
    }
}

fn take_array<'a, const N: usize>(from: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (bytes, rest) = from.split_first_chunk()?;
    *from = rest;
    Some(bytes)
}

fn take_sized<'a>(from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = take_varint(from)?;
    let (bytes, rest) = from.split_at_checked(len)?;
    *from = rest;
    Some(bytes)
}

/// Appends a length, seven bits a byte.
pub(crate) fn push_varint(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads it again.
pub(crate) fn take_varint(from: &mut &[u8]) -> Option<usize> {
    let mut value = 0;
    for (index, byte) in from.iter().enumerate().take(9) {
        value |= usize::from(byte & 0x7F) << (7 * index);
        if byte & 0x80 == 0 {
            *from = &from[index + 1..];
            return Some(value);
        }
    }
    None
}

/// How many UTF-16 code units a text has, in which the service counts.
pub(crate) fn utf16_len(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}

/// Reads a GUID in its usual form, of either case, or without hyphens.
pub(crate) fn parse_guid(text: &str) -> Option<[u8; 16]> {
    let hyphens = [8, 13, 18, 23];
    let plain = match text.len() {
        36 if text.is_ascii() && hyphens.iter().all(|at| text.as_bytes()[*at] == b'-') => {
            text.replace('-', "")
        }
        32 => text.to_owned(),
        _ => return None,
    };
    parse_hex(&plain)?.try_into().ok()
}

/// Reads digits of base 16.
pub(crate) fn parse_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}

/// Appends a GUID in its usual form.
pub(crate) fn push_guid(out: &mut Vec<u8>, guid: &[u8; 16]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for (index, byte) in guid.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        out.extend([HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    }
}

/// Reads a time that the service would keep.
pub(crate) fn parse_time(text: &str) -> Option<u64> {
    ticks::parse(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn values() -> impl Strategy<Value = Value> {
        prop_oneof![
            ".{0,200}".prop_map(Value::String),
            any::<bool>().prop_map(Value::Boolean),
            any::<i32>().prop_map(Value::Int32),
            any::<i64>().prop_map(Value::Int64),
            any::<i32>().prop_map(|value| Value::Double(f64::from(value) / 7.0)),
            any::<u64>().prop_map(Value::DateTime),
            any::<[u8; 16]>().prop_map(Value::Guid),
            any::<Vec<u8>>().prop_map(Value::Binary),
        ]
    }

    proptest! {
        #[test]
        fn stored_values_read_back(values in prop::collection::vec(values(), 0..8)) {
            let mut bytes = Vec::new();
            values.iter().for_each(|value| value.stored().push(&mut bytes));
            let mut rest = &bytes[..];
            for value in &values {
                prop_assert_eq!(Stored::take(&mut rest), Some(value.stored()));
            }
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn guids_read_back(guid: [u8; 16]) {
            let mut text = Vec::new();
            push_guid(&mut text, &guid);
            let text = String::from_utf8(text).unwrap();
            prop_assert_eq!(parse_guid(&text), Some(guid));
            prop_assert_eq!(parse_guid(&text.to_uppercase()), Some(guid));
        }

        #[test]
        fn lengths_read_back(value in 0..usize::MAX / 2) {
            let mut bytes = Vec::new();
            push_varint(&mut bytes, value);
            prop_assert_eq!(take_varint(&mut &bytes[..]), Some(value));
        }
    }

    #[test]
    fn what_is_no_guid_is_not_read() {
        for bad in ["", "0", "00000000-0000-0000-0000-00000000000", "0000000000000000000000000000000g"] {
            assert_eq!(parse_guid(bad), None, "{bad}");
        }
    }
}
