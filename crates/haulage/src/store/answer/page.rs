//! What a page of a list must be like, and what follows from one to the next.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::{Broken, TEXT_MAX};
use crate::store::{ListPage, ListRequest};

/// Names have at most 1,024 characters, of four bytes each.
const NAME_MAX: usize = 4096;

/// All metadata of an object together.
const METADATA_MAX: usize = 8 << 10;

/// Judges a page of a list: it holds what was asked for and nothing else.
pub(in crate::store) fn judge_page(page: &ListPage, request: &ListRequest) -> Result<(), Broken> {
    let prefix = request.prefix.as_str();
    let keys = page.entries().map(|entry| entry.key.as_str());
    for key in keys.clone().chain(page.prefixes.iter().map(String::as_str)) {
        if key.is_empty() {
            return Err(Broken::new("the list holds an object without a name"));
        }
        if key.len() > NAME_MAX {
            return Err(Broken::new(format!("the list holds a name of {} bytes", key.len())));
        }
        if !key.starts_with(prefix) {
            return Err(Broken::new(format!(
                "the list holds `{key}`, which is not below what was asked for"
            )));
        }
    }
    let texts = page.entries().flat_map(|entry| [Some(&entry.etag), entry.content_type.as_ref()]);
    if texts.flatten().any(|text| text.len() > TEXT_MAX) {
        return Err(Broken::new("the list holds a property of more than 4 KiB"));
    }
    let properties = page.entries().flat_map(|entry| &entry.properties);
    if properties.flat_map(|one| one.texts()).any(|text| text.len() > METADATA_MAX) {
        return Err(Broken::new("the list holds metadata of more than 8 KiB"));
    }
    // A name is cut at the first `/` after the prefix, and there only.
    let cut =
        |name: &str| memchr::memchr(b'/', &name.as_bytes()[prefix.len()..]).map(|at| prefix.len() + at + 1);
    let folded = |folder: &String| request.hierarchical && cut(folder) == Some(folder.len());
    if !page.prefixes.iter().all(folded) {
        return Err(Broken::new("the list holds a folder that is none"));
    }
    if request.hierarchical && keys.clone().any(|key| cut(key).is_some()) {
        return Err(Broken::new("the list of one folder holds an object of another"));
    }
    // What is uncommitted may stand beside the blob that it is to replace.
    if !request.leftovers {
        once(keys)?;
        once(page.prefixes.iter().map(String::as_str))?;
    }
    Ok(())
}

/// Refuses a name that comes twice. Names in order, as nearly all stores give them, need no set to tell.
fn once<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Result<(), Broken> {
    if names.clone().zip(names.clone().skip(1)).all(|(name, next)| name < next) {
        return Ok(());
    }
    let mut seen = HashSet::new();
    match names.into_iter().find(|name| !seen.insert(*name)) {
        Some(name) => Err(Broken::new(format!("the list holds `{name}` twice"))),
        None => Ok(()),
    }
}

/// Containers that an account has at most: their names are all held at once.
const CONTAINERS_MAX: usize = 1_000_000;

/// Judges how many containers an account is said to have so far.
pub(in crate::store) fn judge_count(containers: usize) -> Result<(), Broken> {
    match containers > CONTAINERS_MAX {
        true => Err(Broken::new(format!("the account has more than {CONTAINERS_MAX} containers"))),
        false => Ok(()),
    }
}

/// Empty pages in a row after which a list is taken to have no end. A service may skip what was deleted.
const EMPTY_MAX: u32 = 10_000;

/// Pages whose names come before those of the page before, after which a list is taken to have no end. In byte order there
/// is none, but some services have an order of their own.
const BACK_MAX: u32 = 1_000;

/// Sees that a list that comes in pages gets on.
#[derive(Debug, Default)]
pub(in crate::store) struct Markers {
    seen: HashSet<u64>,
    empty: u32,
    /// The last name of the page before.
    last: String,
    back: u32,
}

impl Markers {
    /// Takes the first and the last name of this page, if it holds any, and the marker of the next.
    pub(in crate::store) fn advance(
        &mut self,
        names: Option<(&str, &str)>,
        marker: &str,
    ) -> Result<(), Broken> {
        if marker.len() > TEXT_MAX {
            return Err(Broken::new(format!("the marker of the next page has {} bytes", marker.len())));
        }
        self.empty = if names.is_none() { self.empty + 1 } else { 0 };
        if self.empty > EMPTY_MAX {
            return Err(Broken::new(format!("{EMPTY_MAX} pages in a row hold nothing")));
        }
        if !self.note(("marker", marker)) || names.is_some_and(|(first, _)| !self.note(("first", first))) {
            return Err(Broken::new("the list begins again at a page that it gave before"));
        }
        if let Some((_, last)) = names {
            self.back += u32::from(last <= self.last.as_str());
            last.clone_into(&mut self.last);
        }
        if self.back > BACK_MAX {
            return Err(Broken::new(format!(
                "{BACK_MAX} pages hold names that come before those of other pages"
            )));
        }
        Ok(())
    }

    /// Whether this is seen for the first time.
    fn note(&mut self, seen: (&str, &str)) -> bool {
        let mut hasher = DefaultHasher::new();
        seen.hash(&mut hasher);
        self.seen.insert(hasher.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::ObjectMeta;

    #[test]
    fn a_list_holds_what_was_asked_for() {
        let page = |keys: &[&str], prefixes: &[&str]| ListPage {
            objects: keys
                .iter()
                .map(|key| ObjectMeta { key: (*key).into(), ..ObjectMeta::default() })
                .collect(),
            prefixes: prefixes.iter().map(|prefix| (*prefix).into()).collect(),
            ..ListPage::default()
        };
        let asked = |prefix: &str, hierarchical| ListRequest {
            prefix: prefix.into(),
            hierarchical,
            ..ListRequest::default()
        };
        let (flat, folder) = (asked("", false), asked("p/", true));
        judge_page(&page(&["p/a", "p/"], &["p/b/", "p//"]), &folder).unwrap();
        judge_page(&page(&["b", "a", "a/b"], &[]), &flat).unwrap();
        for (keys, prefixes) in [
            (&["q/victim"][..], &[][..]),
            (&[""], &[]),
            (&["p"], &[]),
            (&[], &["q/"]),
            (&[], &["p/b"]),
            (&[], &["p/"]),
            (&[], &["p/b/c/"]),
            (&[], &["p/b//"]),
            (&["p/b/c"], &[]),
            (&["p/a", "p/a"], &[]),
            (&["p/b", "p/a", "p/b"], &[]),
            (&[], &["p/b/", "p/b/"]),
        ] {
            assert!(judge_page(&page(keys, prefixes), &folder).is_err(), "{keys:?} {prefixes:?}");
        }
        assert!(judge_page(&page(&[], &["b/"]), &flat).is_err());
        judge_page(&page(&["a", "a"], &[]), &ListRequest { leftovers: true, ..flat }).unwrap();
    }

    #[test]
    fn an_account_has_an_end() {
        judge_count(CONTAINERS_MAX).unwrap();
        assert!(judge_count(CONTAINERS_MAX + 1).is_err());
    }

    #[test]
    fn a_list_gets_on() {
        let mut markers = Markers::default();
        for (first, marker) in [(Some("a"), "b"), (Some("b"), "c"), (None, "d"), (None, "e")] {
            markers.advance(first.map(|first| (first, "z")), marker).unwrap();
        }
        assert!(markers.advance(Some(("f", "z")), "b").is_err());
        assert!(markers.advance(Some(("a", "z")), "g").is_err());
        assert!(markers.advance(Some(("h", "z")), &"i".repeat(TEXT_MAX + 1)).is_err());
        let mut markers = Markers::default();
        let turning = (0..).find(|number: &u32| {
            let (first, marker) = (number.to_string(), format!("m{number}"));
            markers.advance(Some((&first, "z")), &marker).is_err()
        });
        assert_eq!(turning, Some(BACK_MAX + 1));
        let mut markers = Markers::default();
        let stuck = (0..=EMPTY_MAX).find(|number| markers.advance(None, &number.to_string()).is_err());
        assert_eq!(stuck, Some(EMPTY_MAX));
    }
}
