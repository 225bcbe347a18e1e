//! A small document that came in, as a tree.

use bytes::Bytes;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;
use quick_xml::{Reader, XmlVersion};

/// The deepest that an element may lie.
const DEEPEST: usize = 16;

/// An element of a document that came in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) name: String,
    attributes: Vec<(String, String)>,
    text: String,
    pub(crate) children: Vec<Node>,
}

impl Node {
    /// Reads a document with this root; `None` where it is not one.
    pub(crate) fn parse(body: &Bytes, root: &str) -> Option<Self> {
        let mut reader = Reader::from_str(std::str::from_utf8(body).ok()?.trim_start_matches('\u{FEFF}'));
        reader.config_mut().expand_empty_elements = true;
        // The document itself is the lowest, so that its root is a child like others.
        let mut open = vec![Self::default()];
        loop {
            match reader.read_event().ok()? {
                Event::Start(tag) if open.len() <= DEEPEST => {
                    let mut node = Self { name: tag.local_name().as_ref().to_owned(), ..Self::default() };
                    for attribute in tag.attributes() {
                        let attribute = attribute.ok()?;
                        let value = attribute.normalized_value(XmlVersion::Implicit1_0).ok()?;
                        node.attributes
                            .push((attribute.key.local_name().as_ref().to_owned(), value.into_owned()));
                    }
                    open.push(node);
                }
                Event::Text(text) => open.last_mut()?.text.push_str(&text),
                Event::CData(text) => open.last_mut()?.text.push_str(&text),
                Event::GeneralRef(reference) => {
                    let text = &mut open.last_mut()?.text;
                    match reference.resolve_char_ref().ok()? {
                        Some(c) => text.push(c),
                        None => text.push_str(resolve_predefined_entity(&reference)?),
                    }
                }
                Event::End(_) => {
                    let closed = open.pop()?;
                    open.last_mut()?.children.push(closed);
                }
                Event::Decl(_) | Event::Comment(_) | Event::PI(_) => {}
                Event::Eof => break,
                _ => return None,
            }
        }
        let [document] = &mut open[..] else { return None };
        let alone = document.children.len() == 1 && document.text.trim().is_empty();
        document.children.pop().filter(|node| alone && node.name == root)
    }

    /// All elements of this name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The first element of this name.
    pub(crate) fn first(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The text of the first element of this name, as it is.
    pub(crate) fn text_of(&self, name: &str) -> Option<&str> {
        self.first(name).map(|child| &*child.text)
    }

    /// Its own text, as it is.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The value of an attribute, whatever its namespace.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }
}
