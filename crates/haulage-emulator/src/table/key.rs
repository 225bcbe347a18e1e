//! PartitionKey and RowKey as one string of bytes that sorts as the service sorts entities.
//!
//! The service compares keys ordinally, by UTF-16 code units. Bytes of UTF-8 sort the same, but for the characters
//! beyond U+FFFF: their first byte is 0xF0 and more, while those that sort after them in UTF-16, from U+E000 on,
//! begin with 0xEE and 0xEF. So these two bytes are stored as 0xFE and 0xFF, which UTF-8 has no use for. A zero,
//! which no key may hold, ends the PartitionKey.

use std::borrow::Cow;
use std::cmp::Ordering;

/// The end of a PartitionKey.
const END: u8 = 0;

fn lift(byte: u8) -> u8 {
    if matches!(byte, 0xEE | 0xEF) { byte + 0x10 } else { byte }
}

fn push(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().map(lift));
}

/// The stored form of both keys.
pub(crate) fn encode(partition: &str, row: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(partition.len() + row.len() + 1);
    push(&mut key, partition);
    key.push(END);
    push(&mut key, row);
    key
}

/// The first stored form after all entities of the partition that begins as `partition` does.
pub(crate) fn after_partition(key: &[u8]) -> Vec<u8> {
    let mut end = split(key).0.to_vec();
    end.push(END + 1);
    end
}

/// Both keys, still in their stored form.
pub(crate) fn split(key: &[u8]) -> (&[u8], &[u8]) {
    let at = key.iter().position(|byte| *byte == END).unwrap_or(key.len());
    (&key[..at], key.get(at + 1..).unwrap_or_default())
}

/// A key as text.
pub(crate) fn decode(stored: &[u8]) -> Cow<'_, str> {
    if stored.iter().any(|byte| *byte >= 0xFE) {
        let bytes = stored.iter().map(|byte| if *byte >= 0xFE { byte - 0x10 } else { *byte }).collect();
        return Cow::Owned(String::from_utf8(bytes).unwrap_or_default());
    }
    Cow::Borrowed(std::str::from_utf8(stored).unwrap_or_default())
}

/// Compares text as the service does.
pub(crate) fn compare(a: &str, b: &str) -> Ordering {
    let differs = a.bytes().zip(b.bytes()).find(|(a, b)| a != b);
    differs.map_or(a.len().cmp(&b.len()), |(a, b)| lift(a).cmp(&lift(b)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keys_sort_as_utf16(a in "[^\0]{0,4}", b in "[^\0]{0,4}", c in "[^\0]{0,4}", d in "[^\0]{0,4}") {
            let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
            let expected = (units(&a), units(&c)).cmp(&(units(&b), units(&d)));
            prop_assert_eq!(encode(&a, &c).cmp(&encode(&b, &d)), expected);
            prop_assert_eq!(compare(&a, &b), units(&a).cmp(&units(&b)));
        }

        #[test]
        fn keys_read_back(partition in "[^\0]{0,6}", row in "[^\0]{0,6}") {
            let key = encode(&partition, &row);
            let (p, r) = split(&key);
            prop_assert_eq!((decode(p), decode(r)), (partition.into(), row.into()));
        }
    }

    #[test]
    fn a_partition_ends_before_the_next() {
        let key = encode("a", "\u{10FFFF}");
        assert!(key < after_partition(&key));
        assert!(after_partition(&key) < encode("a ", ""));
    }
}
