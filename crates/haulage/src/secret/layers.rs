//! What a text says once its escapes and encodings are undone.

use std::borrow::Cow;

/// Shorter runs encode nothing that is looked for.
const RUN: usize = 16;

/// Passes over a text whose escapes stand for parts of other escapes. One undoes any depth of one kind.
const PASSES: usize = 8;

/// No digit.
const NONE: u8 = u8::MAX;

/// What the digits of Base64 stand for, in both alphabets.
pub(super) const SEXTETS: [u8; 256] = {
    let mut values = digits(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
    values[b'-' as usize] = 62;
    values[b'_' as usize] = 63;
    values
};

/// What hexadecimal digits stand for.
pub(super) const NIBBLES: [u8; 256] = {
    let mut values = digits(b"0123456789abcdef");
    let mut at = 0;
    while at < 6 {
        values[b'A' as usize + at] = 10 + at as u8;
        at += 1;
    }
    values
};

const fn digits(alphabet: &[u8]) -> [u8; 256] {
    let mut values = [NONE; 256];
    let mut at = 0;
    while at < alphabet.len() {
        values[alphabet[at] as usize] = at as u8;
        at += 1;
    }
    values
}

/// Whether a text is a hit, with its escapes undone and without what parts its words, or any text that is encoded
/// in it, or in that, as deep as `depth`.
pub(super) fn any(text: &[u8], depth: u32, is_hit: &dyn Fn(&[u8]) -> bool) -> bool {
    let text = unescaped(text);
    if is_hit(&text) || as_pluses(&text).is_some_and(|text| is_hit(&text)) {
        return true;
    }
    // The digits of long numbers stand in lines or in pairs.
    let joined = without(&text, |at| SEXTETS[usize::from(text[at])] == NONE);
    let is_x = |at: usize| text.get(at).is_some_and(|byte| byte | 0x20 == b'x');
    let pairs = without(&text, |at| match text[at] {
        b'0' => is_x(at + 1),
        b'x' | b'X' => at > 0 && text[at - 1] == b'0',
        byte => !byte.is_ascii_alphanumeric(),
    });
    let texts = |other| [Some(&*text), other].into_iter().flatten();
    let is_within = |run: &[u8], values: &'static [u8; 256], bits: u32| {
        (0..bits.min(4)).any(|skip| {
            let bytes = || decoded(&run[skip as usize..], values, bits);
            is_legible(bytes()) && any(&bytes().collect::<Vec<u8>>(), depth - 1, is_hit)
        })
    };
    [&joined, &pairs].into_iter().flatten().any(|text| is_hit(text))
        || (depth > 0
            && (texts(joined.as_deref())
                .flat_map(|text| runs(text, &SEXTETS))
                .any(|run| is_within(run, &SEXTETS, 6))
                || texts(pairs.as_deref())
                    .flat_map(|text| runs(text, &NIBBLES))
                    .any(|run| is_within(run, &NIBBLES, 4))))
}

/// The text with a plus for each space, which some read as a space.
fn as_pluses(text: &[u8]) -> Option<Vec<u8>> {
    let with_plus = || text.iter().map(|byte| if *byte == b' ' { b'+' } else { *byte }).collect();
    memchr::memchr(b' ', text).map(|_| with_plus())
}

/// The text without some bytes; `None` where it has none of them.
fn without(text: &[u8], is_none: impl Fn(usize) -> bool) -> Option<Vec<u8>> {
    let at = (0..text.len()).find(|at| is_none(*at))?;
    let rest = (at..text.len()).filter(|at| !is_none(*at)).map(|at| text[at]);
    Some(text[..at].iter().copied().chain(rest).collect())
}

/// Whether there is text in it. What is decoded and was not encoded is none.
fn is_legible(mut bytes: impl Iterator<Item = u8>) -> bool {
    let mut run = 0;
    bytes.any(|byte| {
        let is_text = matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
        run = if is_text { run + 1 } else { 0 };
        run == RUN
    })
}

/// What may be encoded.
fn runs<'a>(text: &'a [u8], values: &'static [u8; 256]) -> impl Iterator<Item = &'a [u8]> {
    text.split(|byte| values[usize::from(*byte)] == NONE).filter(|run| run.len() >= RUN)
}

/// What digits of so many bits each stand for.
fn decoded(digits: &[u8], values: &'static [u8; 256], bits: u32) -> impl Iterator<Item = u8> {
    let (mut value, mut filled) = (0_u32, 0);
    digits.iter().filter_map(move |digit| {
        value = value << bits | u32::from(values[usize::from(*digit)]);
        filled += bits;
        let whole = filled >= 8;
        filled -= if whole { 8 } else { 0 };
        whole.then_some((value >> filled) as u8)
    })
}

/// The text without the escapes of URLs, XML and JSON, also where they escape each other.
pub(super) fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    let mut text = Cow::Borrowed(text);
    for _ in 0..PASSES {
        let Some(plain) = unescaped_once(&text) else { break };
        text = Cow::Owned(plain);
    }
    text
}

/// `None` where there is no escape.
fn unescaped_once(text: &[u8]) -> Option<Vec<u8>> {
    let mut plain: Option<Vec<u8>> = None;
    let (mut from, mut end) = (0, 0);
    while let Some(at) = memchr::memchr3(b'%', b'&', b'\\', &text[from..]).map(|at| from + at) {
        let rest = &text[at..];
        let escape = match rest[0] {
            b'%' => of_url(rest),
            b'&' => of_xml(rest),
            _ => of_json(rest),
        };
        let Some((byte, len)) = escape else {
            from = at + 1;
            continue;
        };
        let plain = plain.get_or_insert_with(|| Vec::with_capacity(text.len()));
        plain.extend_from_slice(&text[end..at]);
        plain.push(byte);
        (from, end) = (at + len, at + len);
    }
    plain.as_mut()?.extend_from_slice(&text[end..]);
    plain
}

/// `%2B`, `%252B`, `%25252B`, `%u002B`: what it stands for, and how long it is.
fn of_url(text: &[u8]) -> Option<(u8, usize)> {
    let mut at = 1;
    while text[at..].starts_with(b"25") {
        at += 2;
    }
    let long = text[at..].strip_prefix(b"u00").and_then(of_hex).map(|byte| (byte, at + 5));
    let short = || of_hex(&text[at..]).map(|byte| (byte, at + 2));
    long.or_else(short).or((at > 1).then_some((b'%', at)))
}

/// `&#43;`, `&#x2B;`, `&amp;#43;`.
fn of_xml(text: &[u8]) -> Option<(u8, usize)> {
    let mut at = 1;
    while text[at..].starts_with(b"amp;") {
        at += 4;
    }
    let number = text[at..].strip_prefix(b"#").and_then(|number| {
        let hex = matches!(number.first(), Some(b'x' | b'X'));
        let (base, before) = if hex { (16, 2) } else { (10, 1) };
        let digits = number[before - 1..].iter().map_while(|byte| char::from(*byte).to_digit(base));
        let (value, count) = digits.fold((0_u32, 0), |(value, count), digit| {
            (value.saturating_mul(base).saturating_add(digit), count + 1)
        });
        let len = at + before + count;
        let byte = u8::try_from(value).ok().filter(|_| count > 0)?;
        Some((byte, len + usize::from(text.get(len) == Some(&b';'))))
    });
    let named = || {
        let names: [(&[u8], u8); 3] = [(b"plus;", b'+'), (b"sol;", b'/'), (b"equals;", b'=')];
        let found = names.iter().find(|(name, _)| text[at..].starts_with(name));
        found.map(|(name, byte)| (*byte, at + name.len()))
    };
    number.or_else(named).or((at > 1).then_some((b'&', at)))
}

/// `\u002B`, `\\u002B`, `\x2B`, `\/`.
fn of_json(text: &[u8]) -> Option<(u8, usize)> {
    let at = text.iter().position(|byte| *byte != b'\\').unwrap_or(text.len());
    let rest = &text[at..];
    let long = || rest.strip_prefix(b"u00").and_then(of_hex).map(|byte| (byte, at + 5));
    let short = || rest.strip_prefix(b"x").and_then(of_hex).map(|byte| (byte, at + 3));
    let slash = || rest.starts_with(b"/").then_some((b'/', at + 1));
    long().or_else(short).or_else(slash).or((at > 1).then_some((b'\\', at)))
}

fn of_hex(text: &[u8]) -> Option<u8> {
    let digit =
        |at: usize| text.get(at).map(|byte| NIBBLES[usize::from(*byte)]).filter(|value| *value != NONE);
    Some(digit(0)? << 4 | digit(1)?)
}
