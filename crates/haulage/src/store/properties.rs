//! What an object takes along to another service besides its bytes, their type and their time.

use std::sync::Arc;

use super::{Posix, Tags};

/// Headers and metadata that somebody has given an object. Files have none.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Properties {
    /// `Cache-Control`.
    pub cache_control: Option<String>,
    /// `Content-Disposition`.
    pub content_disposition: Option<String>,
    /// `Content-Encoding`: how the bytes are packed. They are moved as they are.
    pub content_encoding: Option<String>,
    /// `Content-Language`.
    pub content_language: Option<String>,
    /// `Expires`, which S3 alone keeps.
    pub expires: Option<String>,
    /// Names in lower case and values, in the order of names, without those of which other attributes tell.
    pub metadata: Vec<(String, String)>,
    /// Tags by which the service finds it.
    pub tags: Tags,
    /// Access tier or storage class, as the service calls it; `None` for the usual one, which nobody has chosen.
    pub tier: Option<String>,
}

impl Properties {
    /// To be kept with an object; `None` where there are none, as for most.
    pub(crate) fn kept(mut self) -> Option<Arc<Self>> {
        // Headers and lists give them in no order of their own.
        self.metadata.sort_unstable();
        (self != Self::default()).then(|| Arc::new(self))
    }

    /// All that somebody wrote.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &String> {
        let Self {
            cache_control,
            content_disposition,
            content_encoding,
            content_language,
            expires,
            metadata,
            tags,
            tier,
        } = self;
        let headers = [cache_control, content_disposition, content_encoding, content_language, expires, tier];
        let pairs = metadata.iter().chain(tags.known());
        headers.into_iter().flatten().chain(pairs.flat_map(|(name, value)| [name, value]))
    }

    /// What of them a file has no place for, in words; what it may have of metadata, and the tier, left out.
    pub(crate) fn of_no_file(&self) -> Vec<&'static str> {
        let is_named = |(name, _): &(String, String)| !Posix::is_named(name);
        [
            ("metadata", self.metadata.iter().any(is_named)),
            ("tags", matches!(self.tags, Tags::Unread) || !self.tags.known().is_empty()),
            ("Content-Encoding", self.content_encoding.is_some()),
            ("Content-Language", self.content_language.is_some()),
            ("Content-Disposition", self.content_disposition.is_some()),
            ("Cache-Control", self.cache_control.is_some()),
            ("Expires", self.expires.is_some()),
        ]
        .into_iter()
        .filter_map(|(what, is_there)| is_there.then_some(what))
        .collect()
    }

    /// Whether both say the same, but for tags, of which an answer says at most how many there are.
    pub(crate) fn same_but_for_tags(one: Option<&Self>, other: Option<&Self>) -> bool {
        let plain = |it: Option<&Self>| Self { tags: Tags::None, ..it.cloned().unwrap_or_default() };
        plain(one) == plain(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_no_place_for_what_is_not_its_own() {
        let pair = |name: &str| (name.to_owned(), "1".to_owned());
        let of_file = ["mode", "uid", "posix_group", "atime"].map(pair).to_vec();
        let own = Properties { metadata: of_file, tier: Some("Cool".to_owned()), ..Properties::default() };
        assert_eq!(own.of_no_file(), [""; 0]);
        let given = Properties {
            metadata: vec![pair("mode"), pair("project")],
            tags: Tags::Unread,
            content_encoding: Some("gzip".to_owned()),
            ..Properties::default()
        };
        assert_eq!(given.of_no_file(), ["metadata", "tags", "Content-Encoding"]);
    }
}
