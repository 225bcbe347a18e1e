//! How the value of a field is written.

use crc_fast::CrcAlgorithm::Crc32IsoHdlc;

use super::UnmadeKind;
use super::iso::{self, Iso};
use super::value::{KeyValue, push_digits};

const LAST_INTEGER: i128 = i64::MAX as i128;
/// Digits of both the last integer and the last tick.
const REVERSED_DIGITS: usize = 19;

/// A format of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// None: the text that the value has.
    Plain,
    /// `0N`: whole numbers from 0, with zeros in front.
    Padded { digits: u32 },
    /// `signedN`: whole numbers, moved up by 10^N so that negative ones sort too.
    Signed { digits: u32 },
    /// `hashN`: one of `N` buckets.
    Hash { buckets: u32 },
    /// `reversed`: the newest time or the largest number first.
    Reversed,
    /// `iso` and its shorter forms: so many characters of a time.
    Iso { characters: usize },
}

impl Format {
    /// Adds a value to a key, not escaped yet.
    pub(super) fn push(self, value: &KeyValue<'_>, key: &mut String) -> Result<(), UnmadeKind> {
        match self {
            Self::Plain => value.push_text(key)?,
            Self::Padded { digits } => {
                let number = value.whole()?;
                if !(0..10_i128.pow(digits)).contains(&number) {
                    return Err(UnmadeKind::Range);
                }
                push_digits(key, number.unsigned_abs(), digits as usize);
            }
            Self::Signed { digits } => {
                let (number, limit) = (value.whole()?, 10_i128.pow(digits));
                if number.unsigned_abs() >= limit.unsigned_abs() {
                    return Err(UnmadeKind::Range);
                }
                push_digits(key, (limit + number).unsigned_abs(), digits as usize + 1);
            }
            Self::Hash { buckets } => {
                // The text is written where the bucket will stand, which saves a copy.
                let at = key.len();
                value.push_text(key)?;
                let hash = crc_fast::checksum(Crc32IsoHdlc, &key.as_bytes()[at..]);
                key.truncate(at);
                let digits = (buckets - 1).ilog10() + 1;
                push_digits(key, u128::from(hash % u64::from(buckets)), digits as usize);
            }
            Self::Reversed => push_digits(key, reversed(value)?, REVERSED_DIGITS),
            Self::Iso { characters } => Iso::of(value.ticks()?).push(..characters, key),
        }
        Ok(())
    }
}

fn reversed(value: &KeyValue<'_>) -> Result<u128, UnmadeKind> {
    if let KeyValue::Date(_) | KeyValue::Time(_) = value {
        return Ok(u128::from(iso::LAST_TICK - value.ticks()?));
    }
    let number = value.whole()?;
    if (0..=LAST_INTEGER).contains(&number) {
        Ok((LAST_INTEGER - number).unsigned_abs())
    } else {
        Err(UnmadeKind::Range)
    }
}
