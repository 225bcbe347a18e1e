//! A walk over the elements of a document.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use quick_xml::escape::unescape;

use super::Broken;

/// Elements lie no deeper in each other in anything that the service writes.
const DEPTH_MAX: usize = 16;

/// Calls `on` for every element: once for a leaf, and where others that lie in it begin and end.
///
/// The service writes XML of the plainest kind, so a cut at every `<` and `>` does: a tenth of the time of a parser
/// of all of XML, of which a list of a million names needs a gigabyte. What is not of that kind is refused.
/// The marks are found in one pass ([`Marks`]): a search for each of them, a few bytes on, cost a third of the whole list.
pub(in crate::store) fn walk<'a>(
    page: &'a [u8],
    root: &str,
    mut on: impl FnMut(Step<'a>) -> Result<(), Broken>,
) -> Result<(), Broken> {
    let wrong = |why: &str| Broken(format!("the answer is no {root}: {why}"));
    let page = std::str::from_utf8(page).map_err(|_| wrong("not UTF-8"))?;
    let page = page.trim_start_matches('\u{feff}').trim_start();
    let bytes = page.as_bytes();
    let mut marks = Marks::of(bytes);
    let mut open: Vec<&'a str> = Vec::with_capacity(8);
    // Where the last tag ends, where the next begins if that is known, and whether there was one.
    let (mut end, mut ahead, mut rooted) = (0, None, false);
    let middle = || wrong("it ends in the middle");
    while let Some(from) = ahead.take().or_else(|| marks.next_tag()) {
        let to = marks.next().filter(|to| bytes[*to] == b'>').ok_or_else(middle)?;
        let tag = &page[from + 1..to];
        // Text stands between the beginning of an element and its end, and nowhere else.
        if !bytes[end..from].iter().all(u8::is_ascii_whitespace) {
            return Err(wrong("text between elements"));
        }
        end = to + 1;
        match tag.as_bytes().first() {
            Some(b'/') => {
                let name = &tag[1..];
                if open.pop() != Some(name) {
                    return Err(wrong("an end without its beginning"));
                }
                on(Step::End(name))?;
            }
            Some(b'?') => {}
            None | Some(b'!') => return Err(wrong("not the plain XML of the service")),
            Some(_) => {
                let empty = tag.ends_with('/');
                let (name, attributes) = named(tag.strip_suffix('/').unwrap_or(tag));
                if open.is_empty() && (name != root || std::mem::replace(&mut rooted, true)) {
                    return Err(wrong("it begins with another element"));
                }
                if open.len() == DEPTH_MAX {
                    return Err(wrong("elements lie too deep in each other"));
                }
                if empty {
                    on(Step::Leaf(name, attributes, Text("")))?;
                    continue;
                }
                let next = marks.next_tag().ok_or_else(middle)?;
                if bytes.get(next + 1) == Some(&b'/') {
                    let to = marks.next().filter(|to| bytes[*to] == b'>').ok_or_else(middle)?;
                    if &page[next + 2..to] != name {
                        return Err(wrong("an end without its beginning"));
                    }
                    on(Step::Leaf(name, attributes, Text(&page[end..next])))?;
                    end = to + 1;
                } else {
                    on(Step::Begin(name, attributes))?;
                    open.push(name);
                    ahead = Some(next);
                }
            }
        }
    }
    if open.is_empty() && rooted && page[end..].trim().is_empty() {
        Ok(())
    } else {
        Err(wrong("it ends in the middle"))
    }
}

/// Name and attributes of a tag. What ends like neither an attribute nor a space is a name: nearly all.
#[inline]
fn named(tag: &str) -> (&str, &str) {
    match tag.as_bytes().last() {
        Some(b'"' | b'\'' | b' ' | b'\t' | b'\r' | b'\n') => {
            let space = tag.find(|c: char| c.is_ascii_whitespace());
            space.map_or((tag, ""), |at| (&tag[..at], &tag[at + 1..]))
        }
        _ => (tag, ""),
    }
}

/// Where `<` and `>` stand. They are a few bytes apart, so that eight bytes at once are enough.
struct Marks<'a> {
    bytes: &'a [u8],
    words: std::slice::ChunksExact<'a, u8>,
    /// What is after the last whole word.
    rest: &'a [u8],
    /// The end of the word that is looked at.
    end: usize,
    /// The highest bit of each byte of it that is a mark still to be given.
    left: u64,
}

impl<'a> Marks<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let words = bytes.chunks_exact(8);
        Self { bytes, rest: words.remainder(), words, end: 0, left: 0 }
    }

    /// The next `<`. Text may hold `>` as it is.
    #[inline(always)]
    fn next_tag(&mut self) -> Option<usize> {
        loop {
            let at = self.next()?;
            if self.bytes[at] == b'<' {
                return Some(at);
            }
        }
    }
}

impl Iterator for Marks<'_> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.left == 0 {
            let mut word = [0; 8];
            match self.words.next() {
                Some(whole) => word.copy_from_slice(whole),
                None => {
                    let rest = std::mem::take(&mut self.rest);
                    if rest.is_empty() {
                        return None;
                    }
                    word[..rest.len()].copy_from_slice(rest);
                }
            }
            self.end += 8;
            self.left = marked(u64::from_le_bytes(word));
        }
        let at = self.left.trailing_zeros() as usize / 8;
        self.left &= self.left - 1;
        Some(self.end - 8 + at)
    }
}

/// The highest bit of each byte that is `<` or `>`, which differ in one bit.
fn marked(word: u64) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let others = (word | 0x0202_0202_0202_0202) ^ 0x3e3e_3e3e_3e3e_3e3e;
    // No carry leaves its byte, so that this is exact.
    !(((others & LOW) + LOW) | others | LOW)
}

pub(in crate::store) enum Step<'a> {
    /// An element without others in it: name, attributes and text.
    Leaf(&'a str, &'a str, Text<'a>),
    /// An element with others in it begins: name and attributes.
    Begin(&'a str, &'a str),
    /// It ends.
    End(&'a str),
}

/// Text as it stands in the page.
#[derive(Clone, Copy)]
pub(in crate::store) struct Text<'a>(pub(in crate::store) &'a str);

impl<'a> Text<'a> {
    /// What it says. Most of what a page holds is skipped and need not be read for escapes.
    pub(in crate::store) fn plain(self) -> Result<Cow<'a, str>, Broken> {
        if memchr::memchr(b'&', self.0.as_bytes()).is_none() {
            return Ok(Cow::Borrowed(self.0));
        }
        unescape(self.0).map_err(|error| Broken(format!("a text in the answer cannot be read: {error}")))
    }

    /// The same; `None` where there is none.
    pub(in crate::store) fn some(self) -> Result<Option<String>, Broken> {
        if self.0.is_empty() { Ok(None) } else { self.plain().map(|text| Some(text.into_owned())) }
    }

    /// A name. One with characters that XML cannot hold comes percent-encoded, and its attributes say so.
    pub(in crate::store) fn name(self, attributes: &str) -> Result<String, Broken> {
        let encoded = !attributes.is_empty() && attributes.contains("Encoded=\"true\"");
        let text = self.plain()?;
        if !encoded {
            return Ok(text.into_owned());
        }
        let plain = percent_decode_str(&text).decode_utf8();
        plain.map(Cow::into_owned).map_err(|_| Broken("the list holds a name that is not UTF-8".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_wherever_they_stand() {
        let mut state = 1_u64;
        for len in 0..200 {
            let bytes: Vec<u8> = (0..len)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    // All bytes, the marks and their neighbours often.
                    let byte = (state >> 56) as u8;
                    if state & 1 << 40 == 0 { 0x3b + byte % 5 } else { byte | (byte & 1) << 7 }
                })
                .collect();
            let expected: Vec<usize> = memchr::memchr2_iter(b'<', b'>', &bytes).collect();
            assert_eq!(Marks::of(&bytes).collect::<Vec<_>>(), expected, "{bytes:?}");
        }
    }

    #[test]
    fn a_tag_has_a_name_and_attributes() {
        for (tag, name, attributes) in [
            ("Name", "Name", ""),
            ("Name Encoded=\"true\"", "Name", "Encoded=\"true\""),
            ("Name\tEncoded='true' ", "Name", "Encoded='true' "),
            ("Name ", "Name", ""),
            ("", "", ""),
        ] {
            assert_eq!(named(tag), (name, attributes), "{tag}");
        }
    }
}
