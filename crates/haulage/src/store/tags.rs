//! Tags by which services find objects: index tags of Azure, object tags of S3. Both write them in one form.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::answer::{Broken, Step, walk};

/// What is known of the tags of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Tags {
    /// There are none.
    #[default]
    None,
    /// Nobody has said whether there are any.
    Unknown,
    /// There are some, which a request of its own tells.
    Unread,
    /// These, in the order of names.
    Known(Vec<(String, String)>),
}

impl Tags {
    /// What an answer says that counts them.
    pub(super) fn counted(count: Option<&str>) -> Self {
        match count.and_then(|text| text.parse::<u32>().ok()) {
            None | Some(0) => Self::None,
            Some(_) => Self::Unread,
        }
    }

    /// Those that are known.
    pub(crate) fn known(&self) -> &[(String, String)] {
        match self {
            Self::Known(tags) => tags,
            Self::None | Self::Unknown | Self::Unread => &[],
        }
    }
}

/// What to do where tags stand in the way.
pub(super) const TAGS_HINT: &str = "leave them behind: --no-tags";

/// No service keeps more for an object; one that says so is not believed.
const TAGS_MAX: usize = 50;

/// Left as they are where tags are written like a query.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Tags as the headers of both services carry them.
pub(super) fn query(tags: &[(String, String)]) -> String {
    let encoded = |text| utf8_percent_encode(text, PLAIN);
    let pairs = tags.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// Reads the document that tells the tags of an object.
pub(super) fn read(document: &[u8], root: &str) -> Result<Vec<(String, String)>, Broken> {
    let mut tags = Vec::new();
    let (mut name, mut value) = (None, None);
    walk(document, root, |step| {
        match step {
            Step::Begin("Tag", _) => (name, value) = (None, None),
            Step::Leaf("Key", _, text) => name = Some(text.plain()?.into_owned()),
            Step::Leaf("Value", _, text) => value = Some(text.plain()?.into_owned()),
            Step::End("Tag") => match (name.take(), value.take()) {
                _ if tags.len() == TAGS_MAX => {
                    return Err(Broken(format!("the answer holds more than {TAGS_MAX} tags")));
                }
                (Some(name), Some(value)) => tags.push((name, value)),
                _ => return Err(Broken("the answer holds a tag without its name or value".to_owned())),
            },
            Step::Leaf("Tag", ..) => {
                return Err(Broken("the answer holds a tag without its name or value".to_owned()));
            }
            Step::Leaf(..) | Step::Begin(..) | Step::End(..) => {}
        }
        Ok(())
    })?;
    tags.sort_unstable();
    if tags.windows(2).any(|two| two[0].0 == two[1].0) {
        return Err(Broken("the answer gives a tag twice".to_owned()));
    }
    Ok(tags)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn tags_are_read_and_written() {
        let document =
            b"<?xml version=\"1.0\"?><Tags><TagSet><Tag><Key>project</Key><Value>a &amp; b</Value></Tag>\
            <Tag><Key>empty</Key><Value/></Tag></TagSet></Tags>";
        let tags = read(document, "Tags").unwrap();
        assert_eq!(tags, [pair("empty", ""), pair("project", "a & b")]);
        assert_eq!(query(&tags), "empty=&project=a%20%26%20b");
        assert_eq!(read(b"<Tagging><TagSet/></Tagging>", "Tagging").unwrap(), []);
        assert_eq!(read(b"<Tagging></Tagging>", "Tagging").unwrap(), []);
    }

    #[test]
    fn what_is_no_list_of_tags_is_not_believed() {
        let many = "<Tag><Key>k</Key><Value>v</Value></Tag>".repeat(TAGS_MAX + 1);
        for document in [
            "<Tags><TagSet><Tag><Key>k</Key></Tag></TagSet></Tags>",
            "<Tags><TagSet><Tag/></TagSet></Tags>",
            "<Tags><TagSet><Tag><Key>k</Key><Value>1</Value></Tag><Tag><Key>k</Key><Value>2</Value></Tag></TagSet></Tags>",
            "<Tags><TagSet>",
            "<Error/>",
            &format!("<Tags><TagSet>{many}</TagSet></Tags>"),
        ] {
            assert!(read(document.as_bytes(), "Tags").is_err(), "{document}");
        }
    }

    #[test]
    fn a_count_says_whether_there_are_any() {
        assert_eq!(Tags::counted(Some("3")), Tags::Unread);
        for count in [None, Some("0"), Some("many"), Some("-1")] {
            assert_eq!(Tags::counted(count), Tags::None);
        }
    }
}
