//! Entities that come in as JSON.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};

use super::entity::Entity;
use super::error::{DUPLICATE_PROPERTIES, INVALID_INPUT};
use super::value::{Value, parse_guid, parse_time};
use crate::wire::error::{Answer, ServiceError};

/// A value without its type.
enum Plain<'a> {
    Null,
    Boolean(bool),
    Whole(i64),
    Number(f64),
    Text(Cow<'a, str>),
}

/// All members of an object, in their order.
struct Members<'a>(Vec<(Cow<'a, str>, Plain<'a>)>);

/// The name of a new table.
pub(crate) fn table_name(body: &[u8]) -> Option<String> {
    let members = serde_json::from_slice::<Members<'_>>(body).ok()?.0;
    members.into_iter().find_map(|(name, value)| match value {
        Plain::Text(text) if name == "TableName" => Some(text.into_owned()),
        _ => None,
    })
}

/// Reads an entity.
pub(crate) fn entity(body: &[u8]) -> Answer<Entity> {
    let members: Members<'_> = serde_json::from_slice(body)
        .map_err(|error| INVALID_INPUT.saying(format!("The body is no entity: {error}")))?;
    let (annotations, values): (Vec<_>, Vec<_>) =
        members.0.into_iter().partition(|(name, _)| name.contains('@'));
    let mut entity = Entity::default();
    for (name, value) in values {
        if name.starts_with("odata.") {
            continue;
        }
        let of_this = |of: &str| of.strip_suffix("@odata.type") == Some(&*name);
        let kind = annotations.iter().find(|(of, _)| of_this(of));
        let kind = match kind {
            Some((_, Plain::Text(kind))) => Some(&**kind),
            Some(_) => return Err((&INVALID_INPUT).into()),
            None => None,
        };
        let Some(value) = typed(&name, value, kind)? else { continue };
        match (&*name, value) {
            ("PartitionKey", Value::String(key)) => set_once(&mut entity.partition, key)?,
            ("RowKey", Value::String(key)) => set_once(&mut entity.row, key)?,
            ("PartitionKey" | "RowKey", _) => return Err(bad(&name, "String")),
            // The service sets it.
            ("Timestamp", _) => {}
            (_, value) => entity.properties.push((name.into_owned(), value)),
        }
    }
    refuse_duplicates(&entity)?;
    Ok(entity)
}

fn set_once(place: &mut Option<String>, key: String) -> Answer<()> {
    if place.replace(key).is_some() { Err((&DUPLICATE_PROPERTIES).into()) } else { Ok(()) }
}

/// Refuses a name that stands there twice.
pub(super) fn refuse_duplicates(entity: &Entity) -> Answer<()> {
    let mut names: Vec<&str> = entity.properties.iter().map(|(name, _)| &**name).collect();
    names.sort_unstable();
    if names.windows(2).any(|two| two[0] == two[1]) { Err((&DUPLICATE_PROPERTIES).into()) } else { Ok(()) }
}

fn bad(name: &str, kind: &str) -> ServiceError {
    INVALID_INPUT.saying(format!("The property '{name}' has no value of type Edm.{kind}."))
}

/// A value of the type that its annotation names, or of the one that its form stands for. `None` is no value.
fn typed(name: &str, value: Plain<'_>, kind: Option<&str>) -> Answer<Option<Value>> {
    let kind = kind.map(|kind| kind.strip_prefix("Edm.").unwrap_or(kind));
    Ok(Some(match (value, kind) {
        (Plain::Null, _) => return Ok(None),
        (Plain::Text(text), Some(kind)) => from_text(&text, kind).ok_or_else(|| bad(name, kind))?,
        (Plain::Text(text), None) => Value::String(text.into_owned()),
        (Plain::Boolean(value), None | Some("Boolean")) => Value::Boolean(value),
        (Plain::Whole(value), None) => match i32::try_from(value) {
            Ok(value) => Value::Int32(value),
            Err(_) => Value::Double(value as f64),
        },
        (Plain::Whole(value), Some("Int32")) => {
            Value::Int32(value.try_into().map_err(|_| bad(name, "Int32"))?)
        }
        (Plain::Whole(value), Some("Int64")) => Value::Int64(value),
        (Plain::Whole(value), Some("Double")) => Value::Double(value as f64),
        (Plain::Number(value), None | Some("Double")) => Value::Double(value),
        (_, kind) => return Err(bad(name, kind.unwrap_or("String"))),
    }))
}

/// Reads the text of a value of this type; `None` where it is none.
pub(super) fn from_text(text: &str, kind: &str) -> Option<Value> {
    Some(match kind {
        "String" => Value::String(text.to_owned()),
        "Boolean" => match text {
            "true" | "True" | "1" => Value::Boolean(true),
            "false" | "False" | "0" => Value::Boolean(false),
            _ => return None,
        },
        "Int32" => Value::Int32(text.trim().parse().ok()?),
        "Int64" => Value::Int64(text.trim().parse().ok()?),
        "Double" => Value::Double(double(text.trim())?),
        "DateTime" => Value::DateTime(parse_time(text)?),
        "Guid" => Value::Guid(parse_guid(text.trim())?),
        "Binary" => Value::Binary(BASE64_STANDARD.decode(text).ok()?),
        _ => return None,
    })
}

/// A number in digits, or one of the three that have names. Too large a number is none.
pub(super) fn double(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" | "INF" => Some(f64::INFINITY),
        "-Infinity" | "-INF" => Some(f64::NEG_INFINITY),
        _ => text.parse().ok().filter(|value: &f64| value.is_finite()),
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((Text(name), value)) = map.next_entry()? {
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// A name, borrowed where it has no escapes.
struct Text<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Plain::deserialize(deserializer)? {
            Plain::Text(text) => Ok(Self(text)),
            _ => Err(D::Error::custom("a name is no text")),
        }
    }
}

impl<'de> Deserialize<'de> for Plain<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Scalar;
        impl<'de> Visitor<'de> for Scalar {
            type Value = Plain<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a number, true, false or null")
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Plain::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
                Ok(Plain::Boolean(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
                Ok(Plain::Whole(value))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
                Ok(i64::try_from(value).map_or(Plain::Number(value as f64), Plain::Whole))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
                Ok(Plain::Number(value))
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Plain::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Plain::Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_any(Scalar)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Vec<Value>, &'static str> {
        let text = format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"r\",{text}}}");
        let entity = entity(text.as_bytes()).map_err(|error| error.kind.code)?;
        Ok(entity.properties.into_iter().map(|(_, value)| value).collect())
    }

    #[test]
    fn values_have_types() {
        assert_eq!(
            read(r#""A":1,"B":1.0,"C":3000000000,"D":true,"E":"x","F":null"#),
            Ok(vec![
                Value::Int32(1),
                Value::Double(1.0),
                Value::Double(3e9),
                Value::Boolean(true),
                Value::String("x".into()),
            ])
        );
        assert_eq!(read(r#""A":"5","A@odata.type":"Edm.Int64""#), Ok(vec![Value::Int64(5)]));
        assert_eq!(
            read(r#""A@odata.type":"Edm.Double","A":"-Infinity""#),
            Ok(vec![Value::Double(f64::NEG_INFINITY)])
        );
        assert_eq!(read(r#""A@odata.type":"Edm.Binary","A":"AAE=""#), Ok(vec![Value::Binary(vec![0, 1])]));
        for bad in [
            r#""A@odata.type":"Edm.Int64","A":"x""#,
            r#""A@odata.type":"Edm.Int32","A":3000000000"#,
            r#""A@odata.type":"Edm.Guid","A":"x""#,
            r#""A@odata.type":"Edm.Odd","A":"x""#,
            r#""A@odata.type":1,"A":"x""#,
            r#""A":[1]"#,
            r#""A":{}"#,
        ] {
            assert_eq!(read(bad), Err("InvalidInput"), "{bad}");
        }
        assert_eq!(read(r#""A":1,"A":2"#), Err("DuplicatePropertiesSpecified"));
    }

    proptest! {
        #[test]
        fn every_double_is_read_as_it_is(value: f64) {
            prop_assume!(value.is_finite());
            prop_assert_eq!(read(&format!("\"A@odata.type\":\"Edm.Double\",\"A\":{value:?}")), Ok(vec![Value::Double(value)]));
        }

        #[test]
        fn no_body_upsets_it(body: Vec<u8>, text in "[\\[{\":,}\\]a0]{0,40}") {
            let _ = (entity(&body), entity(text.as_bytes()));
        }
    }
}
