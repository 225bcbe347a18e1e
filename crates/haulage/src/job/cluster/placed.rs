//! Whether what a node says of its disk holds on this machine too: all write to one file system, or the files are not there.

use std::fs::File;
use std::path::Path;

use crate::error::{Error, ErrorKind};
use crate::event::{Failure, ObjectRecord, Outcome};

/// Files of a node's first shard that are looked for: whoever takes finished files away takes hardly all of them.
const LOOKED_FOR: usize = 32;

/// Whether files that a node has written are seen here; `None` where it wrote none.
pub(super) fn shares_files(objects: &[ObjectRecord]) -> Option<bool> {
    let files = objects.iter().filter_map(written);
    let mut seen = files.take(LOOKED_FOR).map(is_here).peekable();
    seen.peek()?;
    Some(seen.any(|here| here))
}

/// The file that is there now as a node says.
fn written(object: &ObjectRecord) -> Option<&Path> {
    let path = Path::new(&*object.destination);
    // A name that is not shown as it is cannot be looked for.
    let is_file = path.is_absolute() && !object.destination.contains(char::REPLACEMENT_CHARACTER);
    (is_file && matches!(object.outcome, Outcome::Copied | Outcome::Skipped)).then_some(path)
}

fn is_here(path: &Path) -> bool {
    // File systems of a network ask anew what is in a folder once that is opened.
    let _opened = path.parent().map(File::open);
    path.symlink_metadata().is_ok()
}

/// Fails an object that a node says is at its destination, where this machine sees none of its files.
pub(super) fn not_seen_here(object: &mut ObjectRecord, node: &str) {
    if written(object).is_none() {
        return;
    }
    let cause = format!("node {node} has written it to a disk of its own: this machine does not see it");
    let error = Error::new(ErrorKind::Io, "write", &*object.destination, cause)
        .hint("mount the same file system on all nodes, or leave out those that lack it");
    object.outcome = Outcome::Failed;
    object.failure = Some(Failure::from(&error));
}

/// Says which node it was, where another might have fared better: each has its own credentials, disks and way to the service.
pub(super) fn name_node(object: &mut ObjectRecord, node: &str) {
    use ErrorKind::{Connection, Io, NoSpace, NotFound, Permission, Unsupported, Usage};
    let Some(failure) = &mut object.failure else { return };
    let of_node =
        matches!(failure.kind, Connection | Io | NoSpace | NotFound | Permission | Unsupported | Usage);
    if of_node && !failure.cause.contains(node) {
        failure.cause = format!("{} (on node {node})", failure.cause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(path: &Path) -> ObjectRecord {
        let destination = path.display().to_string().as_str().into();
        ObjectRecord { destination, outcome: Outcome::Copied, ..ObjectRecord::unmoved(0) }
    }

    #[test]
    fn a_node_shares_a_folder_if_any_of_its_files_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let (there, taken) = (folder.path().join("there"), folder.path().join("taken"));
        std::fs::write(&there, "x").unwrap();
        assert_eq!(shares_files(&[]), None);
        assert_eq!(shares_files(&[copied(&taken), copied(&there)]), Some(true));
        assert_eq!(shares_files(&[copied(&taken)]), Some(false));
        let failed = ObjectRecord { outcome: Outcome::Failed, ..copied(&taken) };
        assert_eq!(shares_files(&[failed]), None);
        assert_eq!(shares_files(&[copied(Path::new("az://c/a")), copied(Path::new("/a\u{fffd}"))]), None);
    }

    #[test]
    fn what_is_not_seen_here_has_failed_and_the_node_is_named() {
        let mut object = copied(Path::new("/no/such/file"));
        not_seen_here(&mut object, "n1");
        name_node(&mut object, "n1");
        let failure = object.failure.as_ref().unwrap();
        assert_eq!((object.outcome, failure.kind), (Outcome::Failed, ErrorKind::Io));
        assert_eq!(failure.cause.matches("n1").count(), 1, "{}", failure.cause);
        let error = Error::new(ErrorKind::Permission, "write", "x", "no credential found");
        object.failure = Some(Failure::from(&error));
        name_node(&mut object, "n1");
        assert_eq!(object.failure.unwrap().cause, "no credential found (on node n1)");
    }
}
