//! What the checks found, for the table in the docs: a line of JSON for each, in the folder that `HAUL_CONFORMANCE` names.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use serde_json::json;

/// What a check says of a store that keeps the promise in its own way; nothing where it is as everywhere.
pub(crate) trait Noted {
    fn note(self) -> &'static str;
}

impl Noted for () {
    fn note(self) -> &'static str {
        ""
    }
}

impl Noted for &'static str {
    fn note(self) -> &'static str {
        self
    }
}

/// The cell of one check on one store. Dropped before it has passed, it has failed.
pub(crate) struct Record {
    store: &'static str,
    check: &'static str,
    passed: bool,
}

impl Record {
    pub(crate) fn new(store: &'static str, check: &'static str) -> Self {
        Self { store, check, passed: false }
    }

    pub(crate) fn passed(mut self, note: &str) {
        self.passed = true;
        self.write(note).unwrap();
    }

    fn write(&self, note: &str) -> io::Result<()> {
        let Some(folder) = std::env::var_os("HAUL_CONFORMANCE") else { return Ok(()) };
        let line = json!({ "store": self.store, "check": self.check, "passed": self.passed, "note": note });
        fs::create_dir_all(&folder)?;
        let file = Path::new(&folder).join(format!("{}.jsonl", std::process::id()));
        // One write a line: the checks run side by side.
        OpenOptions::new().create(true).append(true).open(file)?.write_all(format!("{line}\n").as_bytes())
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if !self.passed {
            // The test fails anyway.
            let _ = self.write("");
        }
    }
}
