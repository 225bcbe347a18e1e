//! An entity as a request carries it, whichever form it has, and what the service demands of it.

use super::error::{
    ENTITY_TOO_LARGE, OUT_OF_RANGE, PROPERTY_NAME_INVALID, PROPERTY_NAME_TOO_LONG, PROPERTY_TOO_LARGE,
    TOO_MANY_PROPERTIES,
};
use super::ticks;
use super::value::{Stored, Value, utf16_len};
use crate::wire::error::Answer;

/// Properties beside PartitionKey, RowKey and Timestamp.
const MOST_PROPERTIES: usize = 252;
const LONGEST_NAME: usize = 255;
/// In UTF-16 code units: 1 KiB.
const LONGEST_KEY: usize = 512;
const LARGEST_VALUE: usize = 64 * 1024;
const LARGEST: usize = 1024 * 1024;

/// What a body says. Properties without a value are not there.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Entity {
    pub(crate) partition: Option<String>,
    pub(crate) row: Option<String>,
    pub(crate) properties: Vec<(String, Value)>,
}

/// Refuses a key that the service would.
pub(crate) fn check_key(name: &str, key: &str) -> Answer<()> {
    let forbidden = |c: char| matches!(c, '/' | '\\' | '#' | '?') || c.is_control();
    if key.contains(forbidden) || utf16_len(key) > LONGEST_KEY {
        let shown: String = key.chars().take(100).collect();
        return Err(
            OUT_OF_RANGE.saying(format!("The '{name}' parameter of value '{shown}' is out of range."))
        );
    }
    Ok(())
}

/// Refuses names and values that the service would.
pub(crate) fn check_properties(properties: &[(String, Value)]) -> Answer<()> {
    if properties.len() > MOST_PROPERTIES {
        return Err((&TOO_MANY_PROPERTIES).into());
    }
    for (name, value) in properties {
        if utf16_len(name) > LONGEST_NAME {
            return Err((&PROPERTY_NAME_TOO_LONG).into());
        }
        if !is_identifier(name) {
            return Err((&PROPERTY_NAME_INVALID).into());
        }
        let too_large = match value {
            Value::String(text) => 2 * utf16_len(text) > LARGEST_VALUE,
            Value::Binary(bytes) => bytes.len() > LARGEST_VALUE,
            _ => false,
        };
        if too_large {
            return Err((&PROPERTY_TOO_LARGE).into());
        }
        if let Value::DateTime(time) = value
            && *time < ticks::FIRST
        {
            return Err(OUT_OF_RANGE.saying(format!(
                "The '{name}' parameter of value '{}' is out of range.",
                ticks::text(*time, ticks::Digits::Needed)
            )));
        }
    }
    Ok(())
}

/// Whether a name is an identifier as C# has them.
fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    let starts = letters.next().is_some_and(|c| c == '_' || c.is_alphabetic());
    starts
        && letters.all(|c| {
            c == '_' || c.is_alphanumeric() || !c.is_ascii() && !c.is_whitespace() && !c.is_control()
        })
}

/// Refuses an entity that has grown too large.
pub(crate) fn check_size<'a>(
    partition: &str,
    row: &str,
    properties: impl Iterator<Item = (&'a str, Stored<'a>)>,
) -> Answer<()> {
    let (mut count, mut size) = (0, 4 + 2 * (utf16_len(partition) + utf16_len(row)));
    for (name, value) in properties {
        count += 1;
        size += 8 + 2 * utf16_len(name) + value.size();
    }
    if count > MOST_PROPERTIES {
        return Err((&TOO_MANY_PROPERTIES).into());
    }
    if size > LARGEST { Err((&ENTITY_TOO_LARGE).into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_without_forbidden_characters_pass() {
        for good in ["", "a b", "'\"%&", "naïve", "\u{10FFFF}", &"k".repeat(512)] {
            assert!(check_key("RowKey", good).is_ok(), "{good}");
        }
        for bad in ["a/b", "a\\b", "a#", "?", "\t", "\u{7f}", "\u{9f}", &"k".repeat(513)] {
            assert_eq!(check_key("RowKey", bad).unwrap_err().kind.code, "OutOfRangeInput", "{bad}");
        }
    }

    #[test]
    fn properties_have_bounds() {
        let check = |name: &str, value| {
            let checked = check_properties(&[(name.to_owned(), value)]);
            checked.map_err(|error| error.kind.code)
        };
        assert_eq!(check("Größe_2", Value::Int32(1)), Ok(()));
        assert_eq!(check("2x", Value::Int32(1)), Err("PropertyNameInvalid"));
        assert_eq!(check("a-b", Value::Int32(1)), Err("PropertyNameInvalid"));
        assert_eq!(check(&"x".repeat(255), Value::Int32(1)), Ok(()));
        assert_eq!(check(&"x".repeat(256), Value::Int32(1)), Err("PropertyNameTooLong"));
        assert_eq!(check("a", Value::String("x".repeat(32_768))), Ok(()));
        assert_eq!(check("a", Value::String("x".repeat(32_769))), Err("PropertyValueTooLarge"));
        assert_eq!(check("a", Value::Binary(vec![0; 65_537])), Err("PropertyValueTooLarge"));
        assert_eq!(check("a", Value::DateTime(0)), Err("OutOfRangeInput"));
    }
}
