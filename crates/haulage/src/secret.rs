//! The secrets that this process knows, and their removal from every text that leaves the engine.
//!
//! By value, not by the look of the text around them: services echo what they were sent, in error messages, in
//! headers and in names, plain or encoded. Whoever takes a secret in hand calls [`remember`]; every text that may
//! be shown, recorded or sent elsewhere passes [`redact`].

mod layers;
mod macs;
mod needle;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use self::macs::Macs;
use self::needle::{Needles, SHORTEST};

/// What stands for a secret.
const REDACTED: &str = "REDACTED";

/// How often a secret may be encoded again and still be found.
const WRAPPED: u32 = 2;

/// Longer texts are cut: nobody reads them, and to look for secrets in all that they may encode takes time.
const TEXT_MAX: usize = 64 << 10;

/// A text that ends before its end.
const CUT: &str = "...";

static KNOWN: RwLock<Known> = RwLock::new(Known { secrets: Vec::new(), needles: None });
static MACS: Mutex<Option<Macs>> = Mutex::new(None);

struct Known {
    secrets: Vec<String>,
    needles: Option<Arc<Needles>>,
}

/// Remembers a key, a token or the signature of a SAS, for as long as the process lives.
pub(crate) fn remember(secret: &str) {
    let secret = secret.trim();
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    if secret.len() < SHORTEST || known.secrets.iter().any(|other| other == secret) {
        return;
    }
    known.secrets.push(secret.to_owned());
    known.needles = Some(Arc::new(Needles::new(&known.secrets)));
}

/// Remembers the signature of one request, until some thousand others have been made.
pub(crate) fn remember_mac(mac: [u8; 32]) {
    macs().get_or_insert_default().add(mac);
}

/// The text without any secret that this process knows.
pub(crate) fn redact(text: &str) -> Cow<'_, str> {
    let names = names();
    let needles = names.0.as_deref();
    if needles.is_none() && macs().is_none() {
        return within_bounds(text);
    }
    without(text, |layer| {
        needles.is_some_and(|needles| needles.are_in(layer))
            || macs().as_ref().is_some_and(|macs| macs.are_in(layer))
    })
}

/// [`redact`] for texts that are owned.
pub(crate) fn redacted(text: String) -> String {
    match redact(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(clean) => clean,
    }
}

/// [`redacted`] for the ids that services give to requests, one for each row of a record. Nearly all are UUIDs, whose
/// few readings are looked at without a copy.
pub(crate) fn redacted_id(id: String) -> String {
    match digits(&id) {
        Some(digits) if !hides_in_digits(id.as_bytes(), &digits) => id,
        _ => redacted(id),
    }
}

/// The digits of a UUID: groups of 8, 4, 4, 4 and 12.
fn digits(id: &str) -> Option<[u8; 32]> {
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    let (bytes, mut digits, mut filled) = (id.as_bytes(), [0; 32], 0);
    if bytes.len() != 36 {
        return None;
    }
    for (at, byte) in bytes.iter().enumerate() {
        if DASHES.contains(&at) {
            if *byte != b'-' {
                return None;
            }
        } else if byte.is_ascii_hexdigit() {
            digits[filled] = *byte;
            filled += 1;
        } else {
            return None;
        }
    }
    Some(digits)
}

/// Whether a UUID holds a secret, or may: as it stands, as its digits, or as what they stand for. Read as Base64 it is never text,
/// since its dashes part it: each reading of four digits has three of them where no legible byte comes of them, and what lies
/// between them is at most twelve bytes.
fn hides_in_digits(id: &[u8], digits: &[u8; 32]) -> bool {
    let value = |byte: u8| layers::NIBBLES[usize::from(byte)];
    let is_text = digits.chunks_exact(2).all(|pair| {
        let byte = value(pair[0]) << 4 | value(pair[1]);
        matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r')
    });
    if is_text || names().0.is_some_and(|needles| needles.are_in(id) || needles.are_in(digits)) {
        return true;
    }
    macs().as_ref().is_some_and(|macs| macs.are_in_digits(digits))
}

/// The name of an object without keys, tokens and the signature of a SAS. Lists that repeat the signature of their own
/// request are not believed ([`Signature`]), so that nobody looks for those in a million names.
pub(crate) fn redact_name(name: &str) -> Cow<'_, str> {
    match names().redact(name) {
        Some(clean) => Cow::Owned(clean),
        None => Cow::Borrowed(name),
    }
}

/// What is known now, to be asked for many names.
pub(crate) fn names() -> Names {
    Names(KNOWN.read().unwrap_or_else(PoisonError::into_inner).needles.clone())
}

/// The secrets that names may hold.
pub(crate) struct Names(Option<Arc<Needles>>);

impl Names {
    /// The name without secrets; `None` where it holds none, as nearly all. For those it takes some nanoseconds: every
    /// encoding is looked for as it is written (of tokens, those that are encoded once), and only what has escapes is
    /// decoded.
    pub(crate) fn redact(&self, name: &str) -> Option<String> {
        let needles = self.0.as_deref()?;
        let bytes = name.as_bytes();
        if !needles.are_in(bytes) && memchr::memchr3(b'%', b'&', b'\\', bytes).is_none() {
            return None;
        }
        match without(name, |layer| needles.are_in(layer)) {
            Cow::Borrowed(_) => None,
            Cow::Owned(clean) => Some(clean),
        }
    }
}

/// The signature that one request was sent with, to be looked for in its answer: whole, or sixteen characters of it.
pub(crate) struct Signature(Needles);

impl Signature {
    pub(crate) fn new(signature: &str) -> Self {
        Self(Needles::new(&[signature]))
    }

    /// Whether the text holds it as it stands, or once its escapes are undone where it has any.
    pub(crate) fn is_in(&self, text: &[u8]) -> bool {
        self.0.are_in(text)
            || match layers::unescaped(text) {
                Cow::Borrowed(_) => false,
                Cow::Owned(plain) => self.0.are_in(&plain),
            }
    }
}

fn macs() -> MutexGuard<'static, Option<Macs>> {
    MACS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The beginning of a text that is longer than any should be.
fn within_bounds(text: &str) -> Cow<'_, str> {
    if text.len() <= TEXT_MAX {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text[..text.floor_char_boundary(TEXT_MAX)].to_owned() + CUT)
}

/// Replaces what holds a secret: its word, or the whole text where no word holds it as a whole.
fn without(text: &str, is_secret: impl Fn(&[u8]) -> bool) -> Cow<'_, str> {
    let text = within_bounds(text);
    let hides = |text: &str| text.len() >= SHORTEST && layers::any(text.as_bytes(), WRAPPED, &is_secret);
    if !hides(&text) {
        return text;
    }
    let clean = replace_words(&text, hides);
    Cow::Owned(if hides(&clean) { REDACTED.to_owned() } else { clean })
}

/// What secrets, plain or encoded, are written with. What stands between others is a word of the text.
fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || "+/=_.~%-\\#;".contains(c)
}

/// Parts of the text that may be or hold a secret, with their ends.
fn words(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let from = at + text[at..].find(is_part)?;
        at = text[from..].find(|c| !is_part(c)).map_or(text.len(), |len| from + len);
        Some((from, at))
    })
}

fn replace_words(text: &str, hides: impl Fn(&str) -> bool) -> String {
    let mut clean = String::new();
    let mut end = 0;
    for (from, to) in words(text).filter(|(from, to)| hides(&text[*from..*to])) {
        clean.push_str(&text[end..from]);
        clean.push_str(REDACTED);
        end = to;
    }
    clean + &text[end..]
}
