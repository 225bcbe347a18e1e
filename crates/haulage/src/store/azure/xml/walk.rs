//! A walk over the elements of a document.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use quick_xml::escape::unescape;

use crate::store::answer::Broken;

/// Elements lie no deeper in each other in anything that the service writes.
const DEPTH_MAX: usize = 16;

/// Calls `on` for every element that begins and ends; with the text in it at its end.
///
/// The service writes XML of the plainest kind, so a cut at every `<` and `>` does: a tenth of the time of a parser
/// of all of XML, of which a list of a million names needs a gigabyte. What is not of that kind is refused.
/// The marks are found 32 bytes at a time in one pass: a search for each of them, a few bytes on, cost
/// a third of the whole list.
pub(super) fn walk<'a>(
    page: &'a [u8],
    root: &str,
    mut on: impl FnMut(Step<'a>) -> Result<(), Broken>,
) -> Result<(), Broken> {
    let wrong = |why: &str| Broken(format!("the answer is no {root}: {why}"));
    let page = std::str::from_utf8(page).map_err(|_| wrong("not UTF-8"))?;
    let page = page.trim_start_matches('\u{feff}').trim_start();
    let mut marks = memchr::memchr2_iter(b'<', b'>', page.as_bytes());
    let mut open: Vec<&'a str> = Vec::with_capacity(8);
    // Where the last tag ends, whether it began an element, and whether there was one.
    let (mut end, mut began, mut rooted) = (0, false, false);
    while let Some(from) = marks.next() {
        if page.as_bytes()[from] == b'>' {
            // Text may hold it as it is.
            continue;
        }
        let to = marks.next().filter(|to| page.as_bytes()[*to] == b'>');
        let to = to.ok_or_else(|| wrong("it ends in the middle"))?;
        let tag = &page[from + 1..to];
        let between = &page[end..from];
        end = to + 1;
        let first = tag.as_bytes().first();
        // Text stands between the beginning of an element and its end, and nowhere else.
        let is_text = std::mem::take(&mut began) && first == Some(&b'/');
        if !is_text && !between.bytes().all(|byte| byte.is_ascii_whitespace()) {
            return Err(wrong("text between elements"));
        }
        match first {
            Some(b'/') => {
                let name = &tag[1..];
                if open.pop() != Some(name) {
                    return Err(wrong("an end without its beginning"));
                }
                on(Step::End(name, Text(if is_text { between } else { "" })))?;
            }
            Some(b'?') => {}
            None | Some(b'!') => return Err(wrong("not the plain XML of the service")),
            Some(_) => {
                let empty = tag.ends_with('/');
                let tag = tag.strip_suffix('/').unwrap_or(tag);
                let space = tag.as_bytes().iter().position(u8::is_ascii_whitespace);
                let (name, attributes) = space.map_or((tag, ""), |at| (&tag[..at], &tag[at + 1..]));
                let outermost = open.is_empty();
                if outermost && (name != root || std::mem::replace(&mut rooted, true)) {
                    return Err(wrong("it begins with another element"));
                }
                if open.len() == DEPTH_MAX {
                    return Err(wrong("elements lie too deep in each other"));
                }
                on(Step::Begin(name, attributes))?;
                if empty {
                    on(Step::End(name, Text("")))?;
                } else {
                    open.push(name);
                    began = true;
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

pub(super) enum Step<'a> {
    /// Name and attributes.
    Begin(&'a str, &'a str),
    /// Name and, of an element without others in it, its text.
    End(&'a str, Text<'a>),
}

/// Text as it stands in the page.
#[derive(Clone, Copy)]
pub(super) struct Text<'a>(pub(super) &'a str);

impl<'a> Text<'a> {
    /// What it says. Most of what a page holds is skipped and need not be read for escapes.
    pub(super) fn plain(self) -> Result<Cow<'a, str>, Broken> {
        if memchr::memchr(b'&', self.0.as_bytes()).is_none() {
            return Ok(Cow::Borrowed(self.0));
        }
        unescape(self.0).map_err(|error| Broken(format!("a text in the answer cannot be read: {error}")))
    }

    /// A name, which may hold what XML cannot and then comes percent-encoded.
    pub(super) fn name(self, encoded: bool) -> Result<String, Broken> {
        let text = self.plain()?;
        if !encoded {
            return Ok(text.into_owned());
        }
        let plain = percent_decode_str(&text).decode_utf8();
        plain.map(Cow::into_owned).map_err(|_| Broken("the list holds a name that is not UTF-8".to_owned()))
    }
}
