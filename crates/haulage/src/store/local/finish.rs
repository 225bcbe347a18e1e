//! What a file gets besides its bytes, by its descriptor, before it has its final name.
//!
//! First the owner, because a change of owner takes special bits away, then the permissions, then the times.

use std::fs::File;

use rustix::fs::{Gid, Mode, Timespec, Timestamps, Uid};
use rustix::process::{getegid, geteuid, getgroups};

use super::tree::PERMISSIONS;
use crate::store::{Attributes, Posix};

/// The set-user-id, set-group-id and sticky bits.
const SPECIAL: Mode = Mode::SUID.union(Mode::SGID).union(Mode::SVTX);

impl Attributes {
    /// Permissions that a file has at most.
    fn most(&self) -> Mode {
        self.permissions.map_or(PERMISSIONS, |bits| Mode::from_raw_mode(bits as _) & PERMISSIONS)
    }

    /// Those with which a new file begins.
    pub(super) fn at_first(&self) -> Mode {
        self.most() & Mode::from_raw_mode(0o666)
    }
}

/// Gives a file what `attributes` say; `replaced` are the permissions of the file whose name it will take. What could not be given,
/// in words.
///
/// # Errors
/// Where the file system refuses what every file has: a time, and permissions that are those of the file before.
pub(super) fn finish(
    file: &File,
    attributes: &Attributes,
    replaced: Option<Mode>,
) -> rustix::io::Result<Option<String>> {
    let posix = attributes.posix.unwrap_or_default();
    let mut not_kept = Vec::new();
    let owned = give(file, posix);
    not_kept.extend(owned.err());
    match posix.permissions() {
        Some(bits) => {
            let mut mode = Mode::from_raw_mode(bits as _);
            if owned.is_err() {
                // They would be those of another user.
                mode -= SPECIAL;
            }
            if rustix::fs::fchmod(file, mode).is_err() {
                not_kept.push("permissions");
            }
        }
        // A file that few may read stays so when it is replaced, and when it is copied.
        None => {
            let most = attributes.most();
            match replaced {
                Some(mode) => rustix::fs::fchmod(file, mode & most)?,
                None if attributes.permissions.is_some() => {
                    let now = Mode::from_raw_mode(rustix::fs::fstat(file)?.st_mode) & PERMISSIONS;
                    if !most.contains(now) {
                        rustix::fs::fchmod(file, now & most)?;
                    }
                }
                None => {}
            }
        }
    }
    let times = (attributes.source_modified_ns, posix.atime_ns);
    if times != (None, None) {
        let times = Timestamps { last_modification: time(times.0), last_access: time(times.1) };
        rustix::fs::futimens(file, &times)?;
    }
    Ok((!not_kept.is_empty()).then(|| format!("not restored: {}", not_kept.join(", "))))
}

/// Gives the file to its owner, as far as this process may: root gives to everybody, others keep what they write and choose among
/// their own groups.
fn give(file: &File, Posix { uid, gid, .. }: Posix) -> Result<(), &'static str> {
    if (uid, gid) == (None, None) {
        return Ok(());
    }
    let (mut to_user, mut to_group) = (uid, gid);
    let user = geteuid();
    if !user.is_root() {
        to_user = uid.filter(|uid| *uid == user.as_raw());
        let mine = |gid: u32| {
            gid == getegid().as_raw()
                || getgroups().is_ok_and(|groups| groups.iter().any(|group| group.as_raw() == gid))
        };
        to_group = gid.filter(|gid| mine(*gid));
    }
    // Not on every file system, and not to users of whom this namespace does not know.
    let given = rustix::fs::fchown(file, to_user.map(Uid::from_raw), to_group.map(Gid::from_raw)).is_ok();
    match (given && to_user == uid, given && to_group == gid) {
        (true, true) => Ok(()),
        (false, true) => Err("owner"),
        (true, false) => Err("group"),
        (false, false) => Err("owner and group"),
    }
}

/// A time in nanoseconds since 1970, or none to be set. File systems keep what they can hold of it.
fn time(ns: Option<i128>) -> Timespec {
    let Some(ns) = ns else { return Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT } };
    let seconds = ns.div_euclid(1_000_000_000).clamp(i64::MIN.into(), i64::MAX.into());
    Timespec { tv_sec: seconds as i64, tv_nsec: ns.rem_euclid(1_000_000_000) as _ }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    fn given(posix: Posix, replaced: Option<Mode>) -> (std::fs::Metadata, Option<String>) {
        let file = tempfile::tempfile().unwrap();
        let attributes = Attributes {
            posix: Some(posix),
            source_modified_ns: Some(5_000_000_001),
            ..Attributes::default()
        };
        let not_kept = finish(&file, &attributes, replaced).unwrap();
        (file.metadata().unwrap(), not_kept)
    }

    #[test]
    fn a_file_gets_its_permissions_and_times() {
        let posix = Posix { mode: Some(0o100_741), atime_ns: Some(-1), ..Posix::default() };
        let (found, not_kept) = given(posix, Some(Mode::RUSR));
        assert_eq!((found.mode() & 0o7777, found.mtime(), found.mtime_nsec()), (0o741, 5, 1));
        assert_eq!((found.atime(), found.atime_nsec(), not_kept), (-1, 999_999_999, None));
    }

    #[test]
    fn a_file_that_few_may_read_stays_so_unless_it_is_told() {
        assert_eq!(given(Posix::default(), Some(Mode::RUSR)).0.mode() & 0o7777, 0o400);
    }

    #[test]
    fn a_file_is_given_away_only_by_root_and_else_loses_its_special_bits() {
        let mine = Posix { uid: Some(geteuid().as_raw()), gid: Some(getegid().as_raw()), ..Posix::default() };
        let special = Posix { mode: Some(0o104_755), ..mine };
        let (found, not_kept) = given(special, None);
        assert_eq!((found.uid(), found.gid(), not_kept), (geteuid().as_raw(), getegid().as_raw(), None));
        assert_eq!(found.mode() & 0o7777, 0o4755);
        let others = Posix { uid: Some(12_345), gid: Some(54_321), ..special };
        let (found, not_kept) = given(others, None);
        match not_kept {
            None => assert_eq!((found.uid(), found.gid(), found.mode() & 0o7777), (12_345, 54_321, 0o4755)),
            Some(why) => {
                assert_eq!((why.as_str(), found.mode() & 0o7777), ("not restored: owner and group", 0o755));
                assert_eq!(found.uid(), geteuid().as_raw());
            }
        }
    }
}
