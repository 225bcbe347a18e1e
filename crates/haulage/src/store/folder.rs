//! Markers: empty objects that stand for a folder and hold no data. Accounts with a hierarchical namespace show each of their folders as
//! one, and consoles, Hadoop and Spark write them where there are no folders. The answers of a store to a list and to a look tell them
//! from objects: a list has them apart, and a look at one finds no object.

use std::fmt;

use super::ListPage;
use crate::error::{Error, ErrorKind};

/// How the name of a marker ends that older versions of Hadoop, and Amazon EMR, put beside a folder.
const BESIDE: &str = "_$folder$";

/// Whether an empty object of this name is a marker, whatever else is known of it: consoles and S3A end its name with a `/`.
pub(crate) fn marks_by_name(key: &str) -> bool {
    key.ends_with('/') || key.strip_suffix(BESIDE).is_some_and(|folder| !folder.is_empty())
}

/// The name of a marker beside the folder of this name, where no other stands for it.
pub(super) fn beside(folder: &str) -> String {
    format!("{folder}{BESIDE}")
}

/// The folder that a marker stands for, with the `/` at its end.
pub(crate) fn folder_of(marker: &str) -> String {
    match marker.strip_suffix(BESIDE).filter(|folder| !folder.is_empty()) {
        Some(folder) => format!("{folder}/"),
        None if marker.ends_with('/') => marker.to_owned(),
        None => format!("{marker}/"),
    }
}

/// Puts those apart from the objects of a page that are markers by their names. What has bytes is an object.
pub(super) fn part(page: &mut ListPage) {
    let ListPage { objects, markers, .. } = page;
    markers.extend(objects.extract_if(.., |one| one.size == 0 && marks_by_name(&one.key)));
}

/// Beneath the error that says so: what is there is a folder.
#[derive(Debug)]
struct IsFolder;

impl fmt::Display for IsFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it has the marker of a folder")
    }
}

impl std::error::Error for IsFolder {}

/// Whether a look has found no object, but a folder.
pub(crate) fn is_folder(error: &Error) -> bool {
    std::error::Error::source(error).is_some_and(|beneath| beneath.is::<IsFolder>())
}

/// Why there is no object under the name of a folder that has a marker.
pub(super) fn no_object(operation: &'static str, name: String) -> Error {
    let hint = format!("list what is in it with: haul ls {name}/");
    Error::new(ErrorKind::NotFound, operation, name, "this is a folder, not an object")
        .hint(hint)
        .source(IsFolder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::ObjectMeta;

    #[test]
    fn what_is_empty_and_named_so_is_no_object() {
        let object =
            |(key, size): (&str, u64)| ObjectMeta { key: key.to_owned(), size, ..ObjectMeta::default() };
        let found = [
            ("a/", 0),
            ("a", 0),
            ("a/f", 1),
            ("b/", 1),
            ("c_$folder$", 0),
            ("d_$folder$", 1),
            ("_$folder$", 0),
        ];
        let mut page = ListPage { objects: found.map(object).into(), ..ListPage::default() };
        part(&mut page);
        let keys = |found: &[ObjectMeta]| found.iter().map(|one| one.key.clone()).collect::<Vec<_>>();
        assert_eq!(keys(&page.objects), ["a", "a/f", "b/", "d_$folder$", "_$folder$"]);
        assert_eq!(keys(&page.markers), ["a/", "c_$folder$"]);
        assert_eq!(["a/", "a", "c_$folder$"].map(folder_of), ["a/", "a/", "c/"]);
        assert_eq!(folder_of(&beside("a/b")), "a/b/");
        assert!(is_folder(&no_object("read", "az://c/a".to_owned())));
    }
}
