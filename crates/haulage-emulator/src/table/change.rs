//! One change of one entity: by itself, or with others in a transaction.

use super::entity::{Entity, check_key, check_properties, check_size};
use super::error::{
    ENTITY_EXISTS, INVALID_INPUT, MISSING_CONDITION, PROPERTIES_NEED_VALUE, RESOURCE_NOT_FOUND,
    UPDATE_CONDITION,
};
use super::format::body_is_atom;
use super::names::Names;
use super::operation::Operation;
use super::request::{Call, Resource};
use super::row::{Builder, Row};
use super::tables::Rows;
use super::value::{Stored, Value};
use super::{atom, json_in, key, ticks};
use crate::wire::error::Answer;

/// What is to be done with the entity that has these keys.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) partition: String,
    pub(super) row: String,
    /// Both keys in their stored form.
    pub(super) key: Vec<u8>,
    what: What,
}

#[derive(Debug)]
enum What {
    Insert(Vec<(String, Value)>),
    Replace(Vec<(String, Value)>, Condition),
    Merge(Vec<(String, Value)>, Condition),
    Delete(Condition),
}

/// What must be true of an entity that is to be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    /// Nothing: it need not be there.
    None,
    /// It is there.
    There,
    /// It was last changed then.
    Unchanged(u64),
}

impl Condition {
    fn of(call: &Call<'_>) -> Answer<Self> {
        let Some(tag) = call.header("if-match") else { return Ok(Self::None) };
        if tag == "*" {
            return Ok(Self::There);
        }
        let time = || {
            let quoted = tag.strip_prefix("W/\"datetime'")?.strip_suffix("'\"")?;
            ticks::parse(&percent_encoding::percent_decode_str(quoted).decode_utf8().ok()?)
        };
        time().map(Self::Unchanged).ok_or_else(|| {
            INVALID_INPUT.saying(format!(
                "The etag value '{tag}' specified in one of the request headers is not valid."
            ))
        })
    }

    fn check(self, there: Option<&Row>) -> Answer<()> {
        match (self, there) {
            (Self::None, _) | (Self::There, Some(_)) => Ok(()),
            (_, None) => Err((&RESOURCE_NOT_FOUND).into()),
            (Self::Unchanged(time), Some(row)) if row.time() == time => Ok(()),
            (Self::Unchanged(_), Some(_)) => Err((&UPDATE_CONDITION).into()),
        }
    }
}

/// What was there before, to put it back.
pub(super) struct Before {
    key: Vec<u8>,
    row: Option<Row>,
}

impl Before {
    pub(super) fn restore(self, rows: &mut Rows) {
        match self.row {
            Some(row) => drop(rows.put(row)),
            None => drop(rows.remove(&self.key)),
        }
    }
}

impl Change {
    /// Reads the change that a request asks for.
    pub(super) fn of(call: &Call<'_>, body: &[u8]) -> Answer<Self> {
        let condition = Condition::of(call)?;
        let mut entity = Entity::default();
        if call.operation != Operation::DeleteEntity {
            entity = match body_is_atom(&call.parts.headers) {
                _ if body.is_empty() && call.operation != Operation::InsertEntity => entity,
                true => atom::entity(body)?,
                false => json_in::entity(body)?,
            };
            check_properties(&entity.properties)?;
        }
        let properties = entity.properties;
        let (partition, row, what) = match &call.resource {
            Resource::Entity { partition, row, .. } => {
                let what = match call.operation {
                    Operation::UpdateEntity => What::Replace(properties, condition),
                    Operation::MergeEntity => What::Merge(properties, condition),
                    _ if condition == Condition::None => {
                        return Err(MISSING_CONDITION.detail("HeaderName", "If-Match"));
                    }
                    _ => What::Delete(condition),
                };
                (partition.clone(), row.clone(), what)
            }
            _ => {
                let need = || &PROPERTIES_NEED_VALUE;
                let partition = entity.partition.ok_or_else(need)?;
                (partition, entity.row.ok_or_else(need)?, What::Insert(properties))
            }
        };
        check_key("PartitionKey", &partition)?;
        check_key("RowKey", &row)?;
        let key = key::encode(&partition, &row);
        Ok(Self { partition, row, key, what })
    }

    /// Whether it writes an entity that need not have been there: leave to update is not enough for that.
    pub(super) fn may_insert(call: &Call<'_>) -> bool {
        let updates = matches!(call.operation, Operation::UpdateEntity | Operation::MergeEntity);
        updates && call.header("if-match").is_none()
    }

    pub(super) fn inserts(&self) -> bool {
        matches!(self.what, What::Insert(_))
    }

    pub(super) fn deletes(&self) -> bool {
        matches!(self.what, What::Delete(_))
    }

    /// Does it, and says what was there before.
    pub(super) fn apply(&self, rows: &mut Rows, time: u64) -> Answer<Before> {
        let there = rows.get(&self.key);
        let row = match &self.what {
            What::Delete(condition) => {
                condition.check(there)?;
                None
            }
            What::Insert(_) if there.is_some() => return Err((&ENTITY_EXISTS).into()),
            What::Insert(properties) => Some(self.build(&mut rows.names, properties, time)?),
            What::Replace(properties, condition) => {
                condition.check(there)?;
                Some(self.build(&mut rows.names, properties, time)?)
            }
            What::Merge(properties, condition) => {
                condition.check(there)?;
                match there {
                    Some(_) => Some(self.merge(rows, properties, time)?),
                    None => Some(self.build(&mut rows.names, properties, time)?),
                }
            }
        };
        let before = match row {
            Some(row) => rows.put(row),
            None => rows.remove(&self.key),
        };
        Ok(Before { key: self.key.clone(), row: before })
    }

    fn build(&self, names: &mut Names, properties: &[(String, Value)], time: u64) -> Answer<Row> {
        let all = properties.iter().map(|(name, value)| (&**name, value.stored()));
        check_size(&self.partition, &self.row, all)?;
        let mut row = Builder::new(&self.key, time);
        for (name, value) in properties {
            row.push_named(names, name, value.stored());
        }
        Ok(row.finish())
    }

    /// What is there with these properties in place of its own of the same names.
    fn merge(&self, rows: &mut Rows, properties: &[(String, Value)], time: u64) -> Answer<Row> {
        let numbers: Vec<usize> = properties.iter().map(|(name, _)| rows.names.number(name)).collect();
        let mut row = Builder::new(&self.key, time);
        let mut all: Vec<(usize, Stored<'_>)> = Vec::new();
        if let Some(there) = rows.get(&self.key) {
            all.extend(there.properties().filter(|(number, _)| !numbers.contains(number)));
        }
        all.extend(numbers.iter().copied().zip(properties.iter().map(|(_, value)| value.stored())));
        let named = |number| rows.names.get(number).map_or("", |name| &name.text);
        check_size(&self.partition, &self.row, all.iter().map(|(number, value)| (named(*number), *value)))?;
        for (number, value) in all {
            row.push(number, value);
        }
        Ok(row.finish())
    }
}
