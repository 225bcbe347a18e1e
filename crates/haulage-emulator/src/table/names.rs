//! The names of a table's properties, each kept once, with what every answer says of it.

use std::collections::HashMap;
use std::sync::Arc;

/// A property's name.
#[derive(Debug)]
pub(crate) struct Name {
    pub(crate) text: Arc<str>,
    /// `,"Name":`
    pub(crate) member: Box<[u8]>,
    /// `,"Name@odata.type":"Edm.`
    pub(crate) annotation: Box<[u8]>,
}

/// All of a table.
#[derive(Debug, Default)]
pub(crate) struct Names {
    numbers: HashMap<Arc<str>, usize>,
    all: Vec<Name>,
}

impl Names {
    /// The number of a name, a new one where it has none yet.
    pub(crate) fn number(&mut self, name: &str) -> usize {
        if let Some(number) = self.find(name) {
            return number;
        }
        let text: Arc<str> = name.into();
        let number = self.all.len();
        self.numbers.insert(Arc::clone(&text), number);
        // Names are identifiers: JSON has nothing to escape in them.
        let member = format!(",\"{name}\":").into_bytes().into();
        let annotation = format!(",\"{name}@odata.type\":\"Edm.").into_bytes().into();
        self.all.push(Name { text, member, annotation });
        number
    }

    /// The number of a name that some entity had.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    pub(crate) fn get(&self, number: usize) -> Option<&Name> {
        self.all.get(number)
    }
}
