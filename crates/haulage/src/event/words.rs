//! Words of the program that come back from another machine: there are few of them, so each is kept once.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Deserializer};

/// A word as it stands in the program.
pub type Word = &'static str;

/// Other words than these many are not kept: those of the program are a few dozen.
const WORDS_MAX: usize = 1000;

/// Takes in a word.
pub(super) fn word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Word, D::Error> {
    Ok(kept(String::deserialize(deserializer)?))
}

/// The same, where there may be none.
pub(super) fn known_word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Word>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.map(kept))
}

fn kept(word: String) -> Word {
    static WORDS: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    let words = words.get_or_insert_default();
    match words.get(word.as_str()) {
        Some(known) => known,
        None if words.len() < WORDS_MAX => {
            let new: &'static str = word.leak();
            words.insert(new);
            new
        }
        None => "unknown",
    }
}
