//! Keys of an index table: a second table that finds the rows of the first by another column.

use sha2::{Digest as _, Sha256};

use super::is_too_long;

/// The RowKey of an entry: both keys of the row, or their hash where they are too long together.
pub(in crate::table) fn index_row_key(partition: &str, row: &str) -> String {
    let mut key = String::with_capacity(partition.len() + row.len() + 1);
    for letter in partition.chars() {
        match letter {
            '%' => key.push_str("%25"),
            '|' => key.push_str("%7C"),
            letter => key.push(letter),
        }
    }
    key.push('|');
    key.push_str(row);
    if is_too_long(&key) {
        return Sha256::digest(key.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    }
    key
}
