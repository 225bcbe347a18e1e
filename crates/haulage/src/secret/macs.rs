//! The signatures of requests that were made last.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use super::layers::{NIBBLES, SEXTETS};

/// More than are in flight, with those that just ended.
pub(super) const KEPT: usize = 4096;

/// As many as make seven of a hundred questions go on to the table.
const FILTER_BITS: u32 = 20;

/// Digits of Base64 that hold eight bytes, and two bits.
const IN_BASE64: u32 = 11;

/// The same in hexadecimal digits.
const IN_HEX: u32 = 16;

/// The signatures, the oldest first, and what they are found by: eight of their bytes, from each third of them on,
/// where digits of Base64 begin. Sixteen characters of a signature hold such eight bytes.
pub(super) struct Macs {
    parts: HashSet<u64, BuildHasherDefault<AsItIs>>,
    order: VecDeque<[u8; 32]>,
    /// A bit for the first [`FILTER_BITS`] bits of each part that is or was among them: near at hand, where the table is
    /// not, and enough to answer nearly all.
    filter: Box<[u64]>,
    /// Signatures that have gone since the filter was made.
    gone: usize,
}

/// Signatures are as random as any hash of them.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0 << 8 | u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

impl Default for Macs {
    fn default() -> Self {
        let filter = vec![0; 1 << (FILTER_BITS - 6)].into_boxed_slice();
        Self { parts: HashSet::default(), order: VecDeque::new(), filter, gone: 0 }
    }
}

impl Macs {
    pub(super) fn add(&mut self, mac: [u8; 32]) {
        if parts(&mac).all(|part| self.parts.contains(&part)) {
            return;
        }
        if self.order.len() == KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            for part in parts(&oldest) {
                self.parts.remove(&part);
            }
            self.gone += 1;
        }
        self.parts.extend(parts(&mac));
        self.order.push_back(mac);
        if self.gone == KEPT {
            self.gone = 0;
            self.filter.fill(0);
            self.order.iter().flat_map(parts).for_each(|part| mark(&mut self.filter, part));
        } else {
            parts(&mac).for_each(|part| mark(&mut self.filter, part));
        }
    }

    fn holds(&self, part: u64) -> bool {
        let (word, bit) = place(part);
        self.filter[word] >> bit & 1 == 1 && self.parts.contains(&part)
    }

    /// Whether hexadecimal digits, and nothing else, hold some of a signature. As Base64 they do not: of its digits one in
    /// four is hexadecimal, so that sixteen in a row never are.
    pub(super) fn are_in_digits(&self, digits: &[u8]) -> bool {
        let mut part = 0_u64;
        digits.iter().zip(1..).any(|(digit, filled)| {
            part = part << 4 | u64::from(NIBBLES[usize::from(*digit)] & 15);
            filled >= IN_HEX && self.holds(part)
        })
    }

    /// Whether the text holds digits of a signature.
    pub(super) fn are_in(&self, text: &[u8]) -> bool {
        let (mut base64, mut in_base64) = (0_u128, 0);
        let (mut hex, mut in_hex) = (0_u64, 0);
        text.iter().any(|byte| {
            let (sextet, nibble) = (SEXTETS[usize::from(*byte)], NIBBLES[usize::from(*byte)]);
            in_base64 = if sextet < 64 { in_base64 + 1 } else { 0 };
            in_hex = if nibble < 16 { in_hex + 1 } else { 0 };
            base64 = base64 << 6 | u128::from(sextet & 63);
            hex = hex << 4 | u64::from(nibble & 15);
            (in_base64 >= IN_BASE64 && self.holds((base64 >> 2) as u64))
                || (in_hex >= IN_HEX && self.holds(hex))
        })
    }
}

/// The word of the filter and the bit in it that stand for a part.
fn place(part: u64) -> (usize, u32) {
    let at = (part >> (u64::BITS - FILTER_BITS)) as usize;
    (at >> 6, (at & 63) as u32)
}

fn mark(filter: &mut [u64], part: u64) {
    let (word, bit) = place(part);
    filter[word] |= 1 << bit;
}

fn parts(mac: &[u8; 32]) -> impl Iterator<Item = u64> {
    mac.windows(8).step_by(3).filter_map(|part| part.try_into().ok().map(u64::from_be_bytes))
}
