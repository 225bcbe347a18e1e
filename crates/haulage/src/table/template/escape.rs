//! What no key may hold, and how it is written instead.

/// Text without the characters that no key may hold; [`unescape`] restores it.
#[cfg(test)]
pub(super) fn escape(text: &str) -> String {
    match first(text) {
        Some(at) => rewritten(text, at),
        None => text.to_owned(),
    }
}

/// The same, without a copy where there is nothing to escape.
pub(super) fn escaped(text: String) -> String {
    match first(&text) {
        Some(at) => rewritten(&text, at),
        None => text,
    }
}

/// The text that [`escape`] was given. What is escaped in the key but is not UTF-8 stays as it is, for `escape` did not write it.
#[cfg(test)]
pub(super) fn unescape(key: &str) -> String {
    let mut text = String::with_capacity(key.len());
    let mut rest = key;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        // One run, for a character may have several bytes.
        let mut bytes = Vec::new();
        while let Some(byte) = escape_at(rest.as_bytes(), 3 * bytes.len()) {
            bytes.push(byte);
        }
        // A sign alone stands for itself.
        let (run, behind) = rest.split_at((3 * bytes.len()).max(1));
        match String::from_utf8(bytes) {
            Ok(decoded) if !decoded.is_empty() => text.push_str(&decoded),
            _ => text.push_str(run),
        }
        rest = behind;
    }
    text + rest
}

/// Where the first character stands that has to be escaped.
fn first(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    (0..bytes.len()).find(|at| bytes_at(bytes, *at) > 0)
}

fn rewritten(text: &str, first: usize) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let bytes = text.as_bytes();
    let mut key = String::with_capacity(bytes.len() + 16);
    let (mut kept, mut at) = (0, first);
    while at < bytes.len() {
        let count = bytes_at(bytes, at);
        if count == 0 {
            at += 1;
            continue;
        }
        key.push_str(&text[kept..at]);
        for byte in &bytes[at..at + count] {
            key.push('%');
            key.push(char::from(DIGITS[usize::from(byte >> 4)]));
            key.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
        at += count;
        kept = at;
    }
    key.push_str(&text[kept..]);
    key
}

/// How many bytes the character here has, if it has to be escaped, else 0; also for the further bytes of a character.
fn bytes_at(bytes: &[u8], at: usize) -> usize {
    match bytes[at] {
        b'/' | b'\\' | b'#' | b'?' | 0..=0x1f | 0x7f => 1,
        b'%' if escape_at(bytes, at).is_some() => 1,
        // U+0080 to U+009F.
        0xc2 if matches!(bytes.get(at + 1), Some(0x80..=0x9f)) => 2,
        _ => 0,
    }
}

/// The byte that is escaped here.
fn escape_at(bytes: &[u8], at: usize) -> Option<u8> {
    let &[b'%', high, low] = bytes.get(at..at + 3)? else { return None };
    let digit = |byte| char::from(byte).to_digit(16);
    u8::try_from(16 * digit(high)? + digit(low)?).ok()
}
