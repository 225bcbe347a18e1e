//! The secrets that this process knows, and their removal from every text that leaves the engine.
//!
//! By value, not by the look of the text around them: services echo what they were sent, in error messages, in
//! headers and in names, plain or encoded. Whoever takes a secret in hand calls [`remember`]; every text that may
//! be shown, recorded or sent elsewhere passes [`redact`].

use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What stands for a secret.
const REDACTED: &str = "REDACTED";

/// Shorter ones would be found in words.
const SHORTEST: usize = 8;

/// Secrets are looked for in pieces of this length, so that one that was cut short is found as well.
const PIECE: usize = 16;

/// Signatures of requests that are remembered: more than are in flight, with those that just ended.
const MACS_KEPT: usize = 4096;

/// Base64 of the 32 bytes of a signature, without its one `=`.
const MAC_BASE64: usize = 43;

/// The same in hexadecimal digits.
const MAC_HEX: usize = 64;

/// How often a signature may be encoded again and still be found.
const WRAPPED: u32 = 2;

static KNOWN: RwLock<Known> = RwLock::new(Known { secrets: Vec::new(), finder: None });
static MACS: Mutex<Option<Macs>> = Mutex::new(None);

struct Known {
    secrets: Vec<String>,
    finder: Option<Arc<AhoCorasick>>,
}

/// The signatures of requests, the oldest first.
#[derive(Default)]
struct Macs {
    found: HashSet<[u8; 32]>,
    order: VecDeque<[u8; 32]>,
}

/// Remembers a key, a token or the signature of a SAS, for as long as the process lives.
pub(crate) fn remember(secret: &str) {
    let secret = secret.trim();
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    if secret.len() < SHORTEST || known.secrets.iter().any(|other| other == secret) {
        return;
    }
    known.secrets.push(secret.to_owned());
    let mut pieces: Vec<String> =
        known.secrets.iter().flat_map(|secret| forms(secret)).flat_map(|form| cut(&form)).collect();
    pieces.sort_unstable();
    pieces.dedup();
    let mut finder = AhoCorasick::builder();
    finder.match_kind(MatchKind::LeftmostFirst).ascii_case_insensitive(true);
    // Only sizes beyond all memory cannot be built.
    known.finder = finder.build(&pieces).ok().map(Arc::new);
}

/// Remembers the signature of one request, until some thousand others have been made.
pub(crate) fn remember_mac(mac: [u8; 32]) {
    let mut macs = macs();
    let macs = macs.get_or_insert_default();
    if macs.order.len() == MACS_KEPT
        && let Some(oldest) = macs.order.pop_front()
    {
        macs.found.remove(&oldest);
    }
    if macs.found.insert(mac) {
        macs.order.push_back(mac);
    }
}

/// The text without any secret that this process knows.
pub(crate) fn redact(text: &str) -> Cow<'_, str> {
    match redact_name(text) {
        Cow::Owned(text) => Cow::Owned(without_macs(&text).unwrap_or(text)),
        Cow::Borrowed(text) => without_macs(text).map_or(Cow::Borrowed(text), Cow::Owned),
    }
}

/// [`redact`] for texts that are owned.
pub(crate) fn redacted(text: String) -> String {
    match redact(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(clean) => clean,
    }
}

/// The name of an object without keys, tokens and the signature of a SAS. Lists that repeat the signature of their own
/// request are not believed ([`repeats`]), so that nobody looks for those in a million names.
pub(crate) fn redact_name(name: &str) -> Cow<'_, str> {
    let finder = KNOWN.read().unwrap_or_else(PoisonError::into_inner).finder.clone();
    match finder.filter(|finder| finder.is_match(name)) {
        Some(finder) => Cow::Owned(without_known(name, &finder)),
        None => Cow::Borrowed(name),
    }
}

/// Whether a document repeats the signature that its request was sent with.
pub(crate) fn repeats(document: &[u8], signature: &str) -> bool {
    let begin = |form: String| form.get(..PIECE).map(str::to_owned);
    let begins: Vec<String> = forms(signature).into_iter().filter_map(begin).collect();
    AhoCorasick::new(&begins).is_ok_and(|finder| finder.is_match(document))
}

fn macs() -> MutexGuard<'static, Option<Macs>> {
    MACS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A secret as it may be written: as it stands, escaped for URLs, XML and JSON, and in other alphabets.
fn forms(secret: &str) -> Vec<String> {
    let plain = percent_decode_str(secret).decode_utf8_lossy().into_owned();
    let escaped = |slash: &str, plus: &str, equals: &str| {
        plain.replace('/', slash).replace('+', plus).replace('=', equals)
    };
    let mut forms = vec![
        secret.to_owned(),
        utf8_percent_encode(&plain, NON_ALPHANUMERIC).to_string(),
        escaped("/", "%2B", "%3D"),
        escaped("\\/", "+", "="),
        escaped("&#47;", "&#43;", "&#61;"),
        escaped("&#x2F;", "&#x2B;", "&#x3D;"),
        escaped("_", "-", ""),
        BASE64_STANDARD.encode(&plain),
        BASE64_URL_SAFE_NO_PAD.encode(&plain),
        hex(plain.as_bytes()),
    ];
    if let Ok(bytes) = BASE64_STANDARD.decode(&plain) {
        forms.push(hex(&bytes));
    }
    forms.push(plain);
    forms
}

/// Pieces of which every longer part of the text holds one.
fn cut(form: &str) -> Vec<String> {
    let form = form.trim_end_matches('=');
    let bytes: Vec<char> = form.chars().collect();
    if bytes.len() < SHORTEST {
        return Vec::new();
    }
    if bytes.len() < 2 * PIECE {
        return vec![form.to_owned()];
    }
    bytes.chunks_exact(PIECE).map(|piece| piece.iter().collect()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
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

/// Replaces every word that holds a piece of a known secret.
fn without_known(text: &str, finder: &AhoCorasick) -> String {
    // A piece that no word holds as a whole: then nothing of the text can be told.
    replace_words(text, |word| finder.is_match(word)).unwrap_or_else(|| REDACTED.to_owned())
}

/// Replaces every word that holds the signature of a request; `None` where none does.
fn without_macs(text: &str) -> Option<String> {
    if text.len() < MAC_BASE64 || macs().is_none() {
        return None;
    }
    let clean = replace_words(text, |word| holds_mac(word, WRAPPED));
    // Escapes of XML stand between words.
    let unescaped =
        || text.contains("&#").then(|| unescape(text)).is_some_and(|text| holds_mac(&text, WRAPPED));
    clean.or_else(|| unescaped().then(|| REDACTED.to_owned()))
}

/// The text with the characters of Base64 for which XML and JSON have escapes.
fn unescape(text: &str) -> String {
    let escapes = [
        ("&#43;", "+"),
        ("&#47;", "/"),
        ("&#61;", "="),
        ("&#x2B;", "+"),
        ("&#x2F;", "/"),
        ("&#x3D;", "="),
        ("\\/", "/"),
    ];
    escapes.iter().fold(text.to_owned(), |text, (escaped, c)| text.replace(escaped, c))
}

fn replace_words(text: &str, hides: impl Fn(&str) -> bool) -> Option<String> {
    let mut clean = String::new();
    let mut end = 0;
    for (from, to) in words(text).filter(|(from, to)| hides(&text[*from..*to])) {
        clean.push_str(&text[end..from]);
        clean.push_str(REDACTED);
        end = to;
    }
    (end > 0).then(|| clean + &text[end..])
}

/// Whether a text holds the signature of a request, in Base64 or in hexadecimal digits, or within such text again.
fn holds_mac(text: &str, wrapped: u32) -> bool {
    if text.len() < MAC_BASE64 {
        return false;
    }
    let plain = unescape(&percent_decode_str(text).decode_utf8_lossy()).replace('-', "+").replace('_', "/");
    let plain = plain.as_bytes();
    let is_known = |bytes: Vec<u8>| {
        <[u8; 32]>::try_from(bytes)
            .is_ok_and(|mac| macs().as_ref().is_some_and(|known| known.found.contains(&mac)))
    };
    let of_base64 = |window: &[u8]| BASE64_STANDARD_NO_PAD.decode(window).ok();
    if plain.windows(MAC_BASE64).filter_map(of_base64).any(is_known)
        || plain.windows(MAC_HEX).filter_map(from_hex).any(is_known)
    {
        return true;
    }
    let runs = plain.split(|byte| !(byte.is_ascii_alphanumeric() || b"+/".contains(byte)));
    wrapped > 0
        && runs.filter(|run| run.len() > MAC_BASE64).any(|run| {
            let within = |bytes: Vec<u8>| holds_mac(&String::from_utf8_lossy(&bytes), wrapped - 1);
            (0..4).any(|skip| {
                let part = &run[skip..];
                let (fours, even) = (&part[..part.len() / 4 * 4], &part[..part.len() / 2 * 2]);
                of_base64(fours).or_else(|| of_base64(part)).is_some_and(within)
                    || of_base64(part).is_some_and(within)
                    || from_hex(even).is_some_and(within)
            })
        })
}

fn from_hex(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|value| value as u8);
    digits.chunks_exact(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "tHe+Key/of+an/account/that+nobody/else+may/know+at/all+0123456789ab==";

    #[test]
    fn a_secret_is_found_in_every_form() {
        remember(KEY);
        let plain = KEY.replace('/', "%2f").replace('+', "%2B");
        for form in [KEY.to_owned(), plain, KEY.to_lowercase(), hex(KEY.as_bytes())]
            .into_iter()
            .chain(forms(KEY))
            .chain([KEY[..40].to_owned(), KEY[20..].to_owned()])
        {
            let said = format!("no such thing: <{form}>, says x?sig={form}&sp=r");
            let clean = redact(&said);
            assert!(!clean.contains(&form), "{clean}");
            // What stands beside it stays, unless nobody can say where it ends.
            let apart = clean.starts_with("no such thing: <") && clean.ends_with("&sp=r");
            assert!(apart || form.contains('&'), "{clean}");
        }
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        remember(KEY);
        remember_mac([7; 32]);
        for text in [
            "",
            "az://climate/tas.nc",
            "model/output/of/a/run/with/a/rather/long/name=1/tas_day_x.nc",
            "0x8DE",
        ] {
            assert!(matches!(redact(text), Cow::Borrowed(same) if same == text), "{text}");
        }
        remember("short");
        assert_eq!(redact("a short word"), "a short word");
    }

    #[test]
    fn the_signature_of_a_request_is_found_until_it_is_old() {
        let mac: [u8; 32] = std::array::from_fn(|at| (at * 37 + 200) as u8);
        remember_mac(mac);
        let base64 = BASE64_STANDARD.encode(mac);
        let escaped = utf8_percent_encode(&base64, NON_ALPHANUMERIC).to_string();
        for form in [base64.clone(), escaped, BASE64_URL_SAFE_NO_PAD.encode(mac), hex(&mac)]
            .into_iter()
            .chain(forms(&base64).into_iter().filter(|form| !form.contains('&')))
        {
            let said = format!("the MAC {form} is wrong");
            assert_eq!(redact(&said), "the MAC REDACTED is wrong", "{form}");
            assert!(!redact(&format!("SharedKey acc:{form}")).contains(&form));
            assert!(repeats(said.as_bytes(), &base64), "{form}");
        }
        let escaped = base64.replace('=', "&#61;").replace('+', "&#43;");
        let said = redact(&format!("it was {escaped}.")).into_owned();
        assert!(!said.contains(escaped.trim_end_matches("&#61;")), "{said}");
        assert!(!repeats(b"<Name>tas.nc</Name>", &base64));
        for number in 0..MACS_KEPT as u64 {
            let mut other = [1; 32];
            other[..8].copy_from_slice(&number.to_le_bytes());
            remember_mac(other);
        }
        assert!(redact(&base64).contains(&base64));
    }
}
