//! Finds secrets in bytes, plain and as they are written in other alphabets.
//!
//! Of the text, only every eighth byte is looked at: a stretch of [`LEAST`] bytes holds eight that begin there. With
//! all eights of all forms in a table, a megabyte takes a fraction of a millisecond.

use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What is looked up at once.
const GRAM: usize = 8;

/// Secrets are found by any stretch of this length: the longest that needs only every eighth byte, and all that
/// is certain of the Base64 of the twelve bytes that sixteen characters of a key stand for.
pub(super) const LEAST: usize = 2 * GRAM - 1;

/// Shorter forms would be found in words.
pub(super) const SHORTEST: usize = 8;

/// Longer secrets, which are tokens, are looked for in fewer forms: these would need megabytes.
const LONG: usize = 256;

/// Makes small letters of large ones, in eight bytes at once. What else becomes the same does not matter.
const FOLD: u64 = 0x2020_2020_2020_2020;

/// Spreads the eights over the table.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Secrets in all their forms.
pub(super) struct Needles {
    forms: Vec<Vec<u8>>,
    places: Vec<Place>,
    /// The first place of each slot, from 1; 0 where there is none.
    slots: Vec<u32>,
    /// One bit for each eight that there may be. It fits into the nearest cache and answers nearly all.
    filter: Vec<u64>,
    /// What is too short to be found by stretches is found as a whole.
    whole: Option<AhoCorasick>,
}

/// Where eight bytes stand in the forms.
struct Place {
    gram: u64,
    form: u32,
    at: u32,
    /// The next place of the same slot.
    next: u32,
}

impl Needles {
    pub(super) fn new<S: AsRef<str>>(secrets: &[S]) -> Self {
        let (mut long, mut short) = (Vec::new(), Vec::new());
        for secret in secrets.iter().map(AsRef::as_ref) {
            let forms = forms(secret);
            let is_long = forms.first().is_some_and(|plain| plain.len() >= LEAST);
            let (kept, least) = if is_long { (&mut long, LEAST) } else { (&mut short, SHORTEST) };
            kept.extend(forms.into_iter().filter(|form| form.len() >= least));
        }
        for form in &mut long {
            form.make_ascii_lowercase();
        }
        long.sort_unstable();
        long.dedup();
        let grams: usize = long.iter().map(|form| (form.len() + 1).saturating_sub(GRAM)).sum();
        // Sixteen bits for each eight, so that few others find theirs set.
        let size = grams.next_power_of_two().max(64);
        let mut needles = Self {
            places: Vec::with_capacity(grams),
            slots: vec![0; size],
            filter: vec![0; size / 4],
            // Only sizes beyond all memory cannot be built.
            whole: (!short.is_empty())
                .then(|| AhoCorasick::builder().ascii_case_insensitive(true).build(&short).ok())
                .flatten(),
            forms: Vec::new(),
        };
        for (form, text) in (0..).zip(&long) {
            for (at, window) in (0..).zip(text.windows(GRAM)) {
                needles.add(gram(window), form, at);
            }
        }
        needles.forms = long;
        needles
    }

    fn add(&mut self, gram: u64, form: u32, at: u32) {
        let bit = self.bit(gram);
        let slot = bit % self.slots.len();
        self.filter[bit / 64] |= 1 << (bit % 64);
        self.places.push(Place { gram, form, at, next: self.slots[slot] });
        self.slots[slot] = u32::try_from(self.places.len()).unwrap_or_default();
    }

    /// Where the filter keeps the eight bytes.
    fn bit(&self, gram: u64) -> usize {
        let spread = gram.wrapping_mul(SPREAD) >> 32;
        usize::try_from(spread).unwrap_or_default() & (self.filter.len() * 64 - 1)
    }

    /// Whether the text holds enough of a secret.
    pub(super) fn are_in(&self, text: &[u8]) -> bool {
        let found = |(number, window): (usize, &[u8])| {
            let gram = gram(window);
            let bit = self.bit(gram);
            self.filter[bit / 64] & 1 << (bit % 64) != 0 && self.stretches(text, number * GRAM, gram)
        };
        text.chunks_exact(GRAM).enumerate().any(found)
            || self.whole.as_ref().is_some_and(|whole| whole.is_match(text))
    }

    /// Whether what begins at `from` with these eight bytes is part of a stretch that is long enough.
    fn stretches(&self, text: &[u8], from: usize, gram: u64) -> bool {
        let mut next = self.slots[self.bit(gram) % self.slots.len()];
        while let Some(place) = (next as usize).checked_sub(1).map(|at| &self.places[at]) {
            next = place.next;
            if place.gram == gram {
                let (form, at) = (&self.forms[place.form as usize], place.at as usize);
                let same = |(a, b): &(&u8, &u8)| **a | 0x20 == **b | 0x20;
                let before = form[..at].iter().rev().zip(text[..from].iter().rev()).take_while(same).count();
                let onward = form[at..].iter().zip(&text[from..]).take_while(same).count();
                if before + onward >= LEAST {
                    return true;
                }
            }
        }
        false
    }
}

fn gram(window: &[u8]) -> u64 {
    window.try_into().map_or(0, u64::from_le_bytes) | FOLD
}

/// A secret as it may be written: as it stands, in Base64 at any place of a longer text, in hexadecimal digits, and
/// in these once more. What has more than one spelling is undone in the text instead (`super::layers`).
fn forms(secret: &str) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    let again = if secret.len() > LONG { 1 } else { 2 };
    let plain = percent_decode_str(secret).decode_utf8_lossy();
    let escaped = utf8_percent_encode(&plain, NON_ALPHANUMERIC).to_string();
    let bare = |text: &str| text.trim_end_matches('=').as_bytes().to_vec();
    encodings(bare(&plain), again, &mut forms);
    for other in [bare(secret), escaped.into_bytes()] {
        if other != forms[0] {
            encodings(other, 1, &mut forms);
        }
    }
    // What the text of a key stands for; as it is, it is in no text.
    if let Ok(bytes) = BASE64_STANDARD.decode(plain.as_bytes()) {
        forms.extend(encoded(&bytes));
    }
    let in_urls = |form: &Vec<u8>| {
        let digits = form.iter().map(|byte| match byte {
            b'+' => b'-',
            b'/' => b'_',
            other => *other,
        });
        digits.collect()
    };
    let other: Vec<Vec<u8>> =
        forms.iter().filter(|form| form.iter().any(|byte| b"+/".contains(byte))).map(in_urls).collect();
    forms.extend(other);
    forms
}

/// The text and its encodings, and theirs.
fn encodings(text: Vec<u8>, again: u32, into: &mut Vec<Vec<u8>>) {
    let within = if again > 0 { encoded(&text) } else { Vec::new() };
    into.push(text);
    for form in within {
        encodings(form, again - 1, into);
    }
}

/// What every text that holds these bytes holds in Base64 or in hexadecimal digits.
fn encoded(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![hex(bytes).into_bytes()];
    for before in 0..3 {
        let mut text = vec![0; before];
        text.extend_from_slice(bytes);
        let form = BASE64_STANDARD_NO_PAD.encode(&text).into_bytes();
        // The first and the last digit stand for bits of their neighbours as well.
        let to = text.len() * 8 / 6;
        let from = (before * 8).div_ceil(6).min(to);
        forms.push(form[from..to].to_vec());
    }
    forms
}

pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}
