//! XML out, with the escapes the service uses, and the two documents that come in.

use std::fmt;
use std::mem;

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;

/// How every document begins.
pub(crate) const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>";
/// Where a tag stands in the body of Set Blob Tags.
const TAG: &str = "/Tags/TagSet/Tag";

/// Text made safe for an element or an attribute.
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find(|c: char| "<>&\"'".contains(c) || c.is_ascii_control()) {
            f.write_str(&rest[..at])?;
            match rest.as_bytes()[at] {
                b'<' => f.write_str("&lt;")?,
                b'>' => f.write_str("&gt;")?,
                b'&' => f.write_str("&amp;")?,
                b'"' => f.write_str("&quot;")?,
                b'\'' => f.write_str("&apos;")?,
                // Parsers normalise bare line ends and tabs away, which would change a name.
                control => write!(f, "&#x{control:X};")?,
            }
            rest = &rest[at + 1..];
        }
        f.write_str(rest)
    }
}

/// An element that is closed at once when empty, as the service writes it.
pub(crate) struct Element<'a>(pub(crate) &'a str, pub(crate) &'a str);

impl fmt::Display for Element<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(name, text) = self;
        if text.is_empty() {
            write!(f, "<{name} />")
        } else {
            write!(f, "<{name}>{}</{name}>", Escaped(text))
        }
    }
}

/// A blob's name in a list. Characters that XML cannot carry at all make the service send the
/// whole name percent-encoded and say so.
pub(crate) struct Name<'a>(pub(crate) &'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.chars().all(allowed) {
            return write!(f, "<Name>{}</Name>", Escaped(self.0));
        }
        let encoded = percent_encoding::utf8_percent_encode(self.0, percent_encoding::NON_ALPHANUMERIC);
        write!(f, "<Name Encoded=\"true\">{encoded}</Name>")
    }
}

/// XML 1.0's characters.
fn allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{FFFD}' | '\u{10000}'..)
}

/// Which of a blob's block lists an entry of Put Block List looks in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Search {
    Committed,
    Uncommitted,
    Latest,
}

/// Reads the body of Put Block List; `None` where it is not one.
pub(crate) fn parse_block_list(body: &[u8]) -> Option<Vec<(Search, String)>> {
    let mut reader = Reader::from_str(std::str::from_utf8(body).ok()?.trim_start_matches('\u{FEFF}'));
    let mut entries = Vec::new();
    let mut open: Option<(Search, String)> = None;
    let mut depth = 0;
    let mut seen_root = false;
    loop {
        match reader.read_event().ok()? {
            Event::Start(tag) => match (depth, tag.local_name().as_ref()) {
                (0, "BlockList") if !seen_root => (depth, seen_root) = (1, true),
                (1, name) => {
                    open = Some((search(name)?, String::new()));
                    depth = 2;
                }
                _ => return None,
            },
            Event::Text(text) => match &mut open {
                Some((_, id)) => id.push_str(text.trim()),
                None if text.trim().is_empty() => {}
                None => return None,
            },
            // Base64 holds no character that needs one of XML's escapes, but a client may use them.
            Event::GeneralRef(reference) => {
                let id = &mut open.as_mut()?.1;
                id.push(reference.resolve_char_ref().ok().flatten()?);
            }
            Event::End(_) => {
                depth -= 1;
                entries.extend(open.take());
            }
            Event::Empty(tag) if depth == 0 && tag.local_name().as_ref() == "BlockList" => seen_root = true,
            Event::Empty(_) | Event::CData(_) | Event::DocType(_) => return None,
            Event::Eof => return (seen_root && depth == 0).then_some(entries),
            Event::Decl(_) | Event::Comment(_) | Event::PI(_) => {}
        }
    }
}

/// Reads the body of Set Blob Tags as keys and values; `None` where it is not one.
pub(crate) fn parse_tags(body: &[u8]) -> Option<Vec<(String, String)>> {
    let mut reader = Reader::from_str(std::str::from_utf8(body).ok()?.trim_start_matches('\u{FEFF}'));
    reader.config_mut().expand_empty_elements = true;
    let mut tags = Vec::new();
    let (mut key, mut value) = (None, None);
    let (mut path, mut text) = (String::new(), String::new());
    let mut seen_root = false;
    loop {
        match reader.read_event().ok()? {
            Event::Start(element) => {
                path.push('/');
                path.push_str(element.local_name().as_ref());
                text.clear();
            }
            Event::Text(part) if path.starts_with(TAG) => text.push_str(&part),
            Event::Text(part) if part.trim().is_empty() => {}
            Event::GeneralRef(part) if path.starts_with(TAG) => match part.resolve_char_ref().ok()? {
                Some(c) => text.push(c),
                None => text.push_str(resolve_predefined_entity(&part)?),
            },
            Event::End(_) => {
                match path.strip_prefix(TAG) {
                    Some("/Key") => key = Some(mem::take(&mut text)),
                    Some("/Value") => value = Some(mem::take(&mut text)),
                    Some("") => tags.push((key.take()?, value.take()?)),
                    None if path == "/Tags" => seen_root = true,
                    None if path == "/Tags/TagSet" => {}
                    _ => return None,
                }
                path.truncate(path.rfind('/')?);
            }
            Event::Eof => return (seen_root && path.is_empty()).then_some(tags),
            Event::Decl(_) | Event::Comment(_) | Event::PI(_) => {}
            _ => return None,
        }
    }
}

fn search(name: &str) -> Option<Search> {
    Some(match name {
        "Committed" => Search::Committed,
        "Uncommitted" => Search::Uncommitted,
        "Latest" => Search::Latest,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_escaped_or_encoded() {
        assert_eq!(Name("a<b>&'\".nc").to_string(), "<Name>a&lt;b&gt;&amp;&apos;&quot;.nc</Name>");
        assert_eq!(Name("a\u{1}b").to_string(), "<Name Encoded=\"true\">a%01b</Name>");
        assert_eq!(Element("Prefix", "").to_string(), "<Prefix />");
    }

    #[test]
    fn block_lists_are_read_as_clients_write_them() {
        let text = "<?xml version='1.0' encoding='utf-8'?>\n<BlockList>\n <Latest>QQ==</Latest>\
                    <Committed>Qg==</Committed><Uncommitted>Qw==</Uncommitted></BlockList>";
        let ids = parse_block_list(text.as_bytes()).unwrap();
        assert_eq!(ids[0], (Search::Latest, "QQ==".to_owned()));
        assert_eq!((ids[1].0, ids[2].0), (Search::Committed, Search::Uncommitted));
        assert_eq!(parse_block_list(b"<BlockList/>").unwrap(), []);
        for bad in [
            "",
            "<BlockList>",
            "<Other/>",
            "<BlockList><Odd>QQ==</Odd></BlockList>",
            "<BlockList>x</BlockList>",
        ] {
            assert_eq!(parse_block_list(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn tags_are_read_as_clients_write_them() {
        let text = "<?xml version='1.0' encoding='utf-8'?>\n<Tags><TagSet>\n <Tag><Key>a b</Key><Value> x=&#49; </Value></Tag>\
                    <Tag><Value /><Key>c&amp;d</Key></Tag></TagSet></Tags>";
        let tag = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(parse_tags(text.as_bytes()).unwrap(), [tag("a b", " x=1 "), tag("c&d", "")]);
        for none in ["<Tags><TagSet/></Tags>", "<Tags />"] {
            assert_eq!(parse_tags(none.as_bytes()).unwrap(), [], "{none}");
        }
        for bad in [
            "",
            "<Tags>",
            "<Other/>",
            "<Tags><Tag><Key>a</Key><Value>b</Value></Tag></Tags>",
            "<Tags><TagSet><Tag><Key>a</Key></Tag></TagSet></Tags>",
            "<Tags><TagSet>x</TagSet></Tags>",
        ] {
            assert_eq!(parse_tags(bad.as_bytes()), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_input_is_read_or_refused_but_never_panics(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = (parse_block_list(&body), parse_tags(&body));
        }

        #[test]
        fn escaped_text_reads_back(text in "[ -~éß☃\t\n\r]{0,40}") {
            let document = format!("<a>{}</a>", Escaped(&text));
            let mut reader = Reader::from_str(&document);
            let mut back = String::new();
            loop {
                match reader.read_event().unwrap() {
                    Event::Text(part) => back.push_str(&part),
                    Event::GeneralRef(part) => back.push(match part.resolve_char_ref().unwrap() {
                        Some(c) => c,
                        None => quick_xml::escape::resolve_predefined_entity(&part)
                            .unwrap().chars().next().unwrap(),
                    }),
                    Event::Eof => break,
                    _ => {}
                }
            }
            prop_assert_eq!(back, text);
        }
    }
}
