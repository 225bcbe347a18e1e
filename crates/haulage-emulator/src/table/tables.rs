//! All tables of the account, in memory whatever the store is.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::acl::Policy;
use super::error::{TABLE_EXISTS, TABLE_NOT_FOUND};
use super::filter::Range;
use super::names::Names;
use super::row::Row;
use super::service::Properties;
use crate::wire::error::Answer;

/// What the account holds.
#[derive(Default)]
pub(crate) struct Tables {
    /// By name in lower case: names differ in more than case.
    all: RwLock<BTreeMap<String, Arc<Table>>>,
    properties: RwLock<Properties>,
}

/// A table.
pub(crate) struct Table {
    pub(super) name: String,
    rows: RwLock<Rows>,
    policies: RwLock<Vec<Policy>>,
}

/// Its entities in their order.
#[derive(Default)]
pub(crate) struct Rows {
    sorted: BTreeSet<Row>,
    pub(super) names: Names,
}

impl Tables {
    /// Makes a table.
    pub(super) fn create(&self, name: &str) -> Answer<()> {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        let table = Table { name: name.to_owned(), rows: RwLock::default(), policies: RwLock::default() };
        match all.entry(name.to_ascii_lowercase()) {
            std::collections::btree_map::Entry::Occupied(_) => Err((&TABLE_EXISTS).into()),
            std::collections::btree_map::Entry::Vacant(place) => {
                place.insert(Arc::new(table));
                Ok(())
            }
        }
    }

    /// Takes a table away.
    pub(super) fn remove(&self, name: &str) -> Answer<Arc<Table>> {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        all.remove(&name.to_ascii_lowercase()).ok_or_else(|| (&super::error::RESOURCE_NOT_FOUND).into())
    }

    /// The table of this name.
    pub(super) fn get(&self, name: &str) -> Answer<Arc<Table>> {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.get(&name.to_ascii_lowercase()).cloned().ok_or_else(|| (&TABLE_NOT_FOUND).into())
    }

    /// The names of tables from `first` on, in their order, as long as they are taken.
    pub(super) fn visit_names(&self, first: &str, mut takes: impl FnMut(&str) -> bool) {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        let from = (Bound::Included(first.to_ascii_lowercase()), Bound::Unbounded);
        for table in all.range(from).map(|(_, table)| table) {
            if !takes(&table.name) {
                return;
            }
        }
    }

    /// The service's settings.
    pub(super) fn properties(&self) -> RwLockReadGuard<'_, Properties> {
        self.properties.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn properties_mut(&self) -> RwLockWriteGuard<'_, Properties> {
        self.properties.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Its entities to look at. Never held across an await.
    pub(super) fn read(&self) -> RwLockReadGuard<'_, Rows> {
        self.rows.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its entities to change. Never held across an await.
    pub(super) fn write(&self) -> RwLockWriteGuard<'_, Rows> {
        self.rows.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn policies(&self) -> Vec<Policy> {
        self.policies.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_policies(&self, policies: Vec<Policy>) {
        *self.policies.write().unwrap_or_else(PoisonError::into_inner) = policies;
    }
}

impl Rows {
    pub(super) fn get(&self, key: &[u8]) -> Option<&Row> {
        self.sorted.get(key)
    }

    /// Stores an entity in place of the one that has its keys; gives that back.
    pub(super) fn put(&mut self, row: Row) -> Option<Row> {
        self.sorted.replace(row)
    }

    pub(super) fn remove(&mut self, key: &[u8]) -> Option<Row> {
        self.sorted.take(key)
    }

    /// Entities in their order.
    pub(super) fn range(&self, range: &Range) -> impl Iterator<Item = &Row> {
        (!range.is_empty()).then(|| self.sorted.range::<[u8], _>(range.borrowed())).into_iter().flatten()
    }
}
