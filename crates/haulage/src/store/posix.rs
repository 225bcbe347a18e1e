//! What a file is besides its bytes: its permissions, its owner and when it was read last.
//!
//! In metadata these stand as rclone writes them (`mode`, `uid`, `gid`, `atime`), and for Azure also as AzCopy does. Whoever may write
//! metadata may write anything there, so what cannot be meant is left out, and whatever is read is a number or a time.

use std::str::FromStr;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::error::{Error, ErrorKind, Result};

/// What of a file is kept, besides its bytes and the time of its last change, which always are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Preserve {
    /// Who may read, write and run it.
    pub mode: bool,
    /// To whom it belongs, by numbers.
    pub owner: bool,
    /// When it was read last.
    pub times: bool,
    /// The set-user-id, set-group-id and sticky bits. Without [`Self::mode`] it means nothing.
    pub special: bool,
}

impl Preserve {
    /// Mode, owner and times.
    pub const POSIX: Self = Self { mode: true, owner: true, times: true, special: false };

    /// Whether anything is kept.
    pub fn any(self) -> bool {
        self.mode || self.owner || self.times
    }
}

impl FromStr for Preserve {
    type Err = Error;

    /// Words with commas between them: `mode`, `owner` (or `ownership`), `times` (or `timestamps`), `special`; `posix` is the first
    /// three, `all` all four.
    fn from_str(text: &str) -> Result<Self> {
        let mut preserve = Self::default();
        for word in text.split(',') {
            match word.trim() {
                "mode" => preserve.mode = true,
                "owner" | "ownership" => preserve.owner = true,
                "times" | "timestamps" => preserve.times = true,
                "special" => preserve.special = true,
                "posix" => preserve = Self { special: preserve.special, ..Self::POSIX },
                "all" => preserve = Self { special: true, ..Self::POSIX },
                word => {
                    return Err(Error::new(
                        ErrorKind::Usage,
                        "parse",
                        word,
                        "nothing of a file that can be kept",
                    )
                    .hint("write mode, owner, times or special, separated by commas; or posix, or all"));
                }
            }
        }
        if preserve.special && !preserve.mode {
            return Err(Error::new(ErrorKind::Usage, "parse", text, "special bits are part of the mode")
                .hint("write mode,special"));
        }
        Ok(preserve)
    }
}

/// Who may read, write and run a file.
const PERMISSIONS: u32 = 0o777;
/// Set-user-id, set-group-id, sticky.
const SPECIAL: u32 = 0o7000;
/// The kind of a file within its mode, and what it is for a file with bytes of its own.
const KIND: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;

/// What is known, or to be kept, of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Posix {
    /// Kind and permissions, as `stat` says them.
    pub mode: Option<u32>,
    /// Number of the user to whom it belongs.
    pub uid: Option<u32>,
    /// Number of the group.
    pub gid: Option<u32>,
    /// When it was read last, in nanoseconds since 1970.
    pub atime_ns: Option<i128>,
}

/// A name that rclone gives a piece of metadata, and the one that AzCopy gives it.
const MODE: (&str, &str) = ("mode", "permissions");
const UID: (&str, &str) = ("uid", "posix_owner");
const GID: (&str, &str) = ("gid", "posix_group");
const ATIME: (&str, &str) = ("atime", "posix_atime");

impl Posix {
    /// Whether metadata of this name tells of a file.
    pub(super) fn is_named(name: &str) -> bool {
        [MODE, UID, GID, ATIME].iter().any(|names| name == names.0 || name == names.1)
    }

    /// What metadata tells. rclone's names count before AzCopy's. What cannot be meant is named in `odd`.
    pub(crate) fn told(metadata: &[(String, String)], odd: &mut Vec<String>) -> Self {
        let mut find = |(rclone, azcopy): (&str, &str), radix| {
            let find = |wanted: &str| metadata.iter().find(|(name, _)| name == wanted);
            let (name, text, radix) = match (find(rclone), find(azcopy)) {
                (Some((name, text)), _) => (name, text, radix),
                (None, Some((name, text))) => (name, text, 10),
                (None, None) => return None,
            };
            // A sign is no part of such a number.
            let plain = text.bytes().all(|byte| byte.is_ascii_digit());
            let number = plain.then(|| u32::from_str_radix(text, radix).ok()).flatten();
            if number.is_none() {
                odd.push(name.clone());
            }
            number.map(|number| (name.clone(), number))
        };
        let (mode, uid, gid) = (find(MODE, 8), find(UID, 10), find(GID, 10));
        // The last number of all says "leave it as it is".
        let mut id = |found: Option<(String, u32)>| match found {
            Some((name, u32::MAX)) => {
                odd.push(name);
                None
            }
            found => found.map(|(_, id)| id),
        };
        let (uid, gid) = (id(uid), id(gid));
        let mode = mode.and_then(|(name, mode)| {
            let file = matches!(mode & KIND, 0 | REGULAR) && mode <= KIND | SPECIAL | PERMISSIONS;
            if !file {
                odd.push(name);
            }
            file.then_some(mode)
        });
        Self { mode, uid, gid, atime_ns: atime(metadata, odd) }
    }

    /// The part of it that is to be kept; `None` where that is nothing.
    pub(crate) fn only(self, preserve: Preserve) -> Option<Self> {
        let bits = PERMISSIONS | if preserve.special { SPECIAL } else { 0 };
        let only = Self {
            mode: self.mode.filter(|_| preserve.mode).map(|mode| mode & (KIND | bits)),
            uid: self.uid.filter(|_| preserve.owner),
            gid: self.gid.filter(|_| preserve.owner),
            atime_ns: self.atime_ns.filter(|_| preserve.times),
        };
        (only != Self::default()).then_some(only)
    }

    /// Permissions alone, with the special bits that are in them.
    pub(crate) fn permissions(self) -> Option<u32> {
        self.mode.map(|mode| mode & (PERMISSIONS | SPECIAL))
    }

    /// As metadata, under rclone's names.
    pub(crate) fn as_rclone(self) -> impl Iterator<Item = (&'static str, String)> {
        let entries = [
            (MODE.0, self.mode.map(|mode| format!("{mode:o}"))),
            (UID.0, self.uid.map(|uid| uid.to_string())),
            (GID.0, self.gid.map(|gid| gid.to_string())),
            (ATIME.0, self.atime_ns.and_then(date)),
        ];
        entries.into_iter().filter_map(|(name, text)| Some((name, text?)))
    }

    /// The same under AzCopy's.
    pub(super) fn as_azcopy(self) -> impl Iterator<Item = (&'static str, String)> {
        let entries = [
            (MODE.1, self.mode.map(|mode| mode.to_string())),
            (UID.1, self.uid.map(|uid| uid.to_string())),
            (GID.1, self.gid.map(|gid| gid.to_string())),
            (ATIME.1, self.atime_ns.map(|ns| ns.to_string())),
        ];
        entries.into_iter().filter_map(|(name, text)| Some((name, text?)))
    }
}

fn date(ns: i128) -> Option<String> {
    OffsetDateTime::from_unix_timestamp_nanos(ns).ok()?.format(&Rfc3339).ok()
}

fn atime(metadata: &[(String, String)], odd: &mut Vec<String>) -> Option<i128> {
    let find = |wanted: &str| metadata.iter().find(|(name, _)| name == wanted);
    let (name, ns) = match (find(ATIME.0), find(ATIME.1)) {
        (Some((name, text)), _) => {
            (name, OffsetDateTime::parse(text, &Rfc3339).ok().map(OffsetDateTime::unix_timestamp_nanos))
        }
        (None, Some((name, text))) => (name, text.parse::<i64>().ok().map(i128::from)),
        (None, None) => return None,
    };
    if ns.is_none() {
        odd.push(name.clone());
    }
    ns
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(pairs: &[(&str, &str)]) -> (Posix, Vec<String>) {
        let metadata: Vec<_> =
            pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let mut odd = Vec::new();
        (Posix::told(&metadata, &mut odd), odd)
    }

    const ALL: Preserve = Preserve { special: true, ..Preserve::POSIX };

    #[test]
    fn what_is_to_be_kept_is_named_in_words() {
        let parse =
            |text: &str| text.parse::<Preserve>().map_err(|error| error.hint_text().map(str::to_owned));
        assert_eq!(parse("all"), Ok(ALL));
        assert_eq!(parse("posix"), Ok(Preserve::POSIX));
        assert_eq!(parse("ownership,timestamps, mode"), Ok(Preserve::POSIX));
        assert_eq!(parse("mode,special"), Ok(Preserve { mode: true, special: true, ..Preserve::default() }));
        assert_eq!(parse("special"), Err(Some("write mode,special".to_owned())));
        for text in ["", "mode,", "xattr", "Mode"] {
            assert!(parse(text).unwrap_err().unwrap().starts_with("write mode, owner"), "{text}");
        }
    }

    #[test]
    fn what_others_write_is_read() {
        let at = Some(1_700_000_000_123_456_789);
        let expected = Posix { mode: Some(0o100_664), uid: Some(500), gid: Some(0), atime_ns: at };
        let rclone = [
            ("mode", "0100664"),
            ("uid", "500"),
            ("gid", "0"),
            ("atime", "2023-11-14T23:13:20.123456789+01:00"),
        ];
        assert_eq!(told(&rclone), (expected, vec![]));
        let azcopy = [
            ("permissions", "33204"),
            ("posix_owner", "500"),
            ("posix_group", "0"),
            ("posix_atime", "1700000000123456789"),
        ];
        assert_eq!(told(&azcopy), (expected, vec![]));
        assert_eq!(told(&[("mode", "644"), ("permissions", "1")]).0.mode, Some(0o644));
        assert_eq!(told(&[("author", "root")]), Default::default());
    }

    #[test]
    fn what_cannot_be_meant_is_left_out_and_named() {
        for (name, text) in [
            ("mode", "fast"),
            ("mode", "-1"),
            ("mode", "+644"),
            ("mode", "0o644"),
            ("mode", ""),
            ("mode", "888"),
            ("mode", "0120777"),
            ("mode", "0040755"),
            ("mode", "1000000"),
            ("mode", "777777777777777"),
            ("permissions", "-1"),
            ("permissions", "41471"),
            ("uid", "-1"),
            ("uid", "4294967295"),
            ("uid", "4294967296"),
            ("uid", "root"),
            ("posix_owner", "4294967295"),
            ("gid", "1; rm -rf /"),
            ("gid", "../../etc"),
            ("posix_group", "4294967295"),
            ("atime", "yesterday"),
            ("atime", "1700000000"),
            ("posix_atime", "1e9"),
            ("posix_atime", "99999999999999999999"),
        ] {
            assert_eq!(told(&[(name, text)]), (Posix::default(), vec![name.to_owned()]), "{name}={text}");
        }
    }

    #[test]
    fn only_what_is_asked_for_is_kept() {
        let all = Posix { mode: Some(0o106_755), uid: Some(1), gid: Some(2), atime_ns: Some(3) };
        assert_eq!(all.only(Preserve::default()), None);
        assert_eq!(all.only(ALL), Some(all));
        let mode = Preserve { mode: true, ..Preserve::default() };
        let plain = Posix { mode: Some(0o100_755), ..Posix::default() };
        assert_eq!(all.only(mode), Some(plain));
        assert_eq!(plain.permissions(), Some(0o755));
        assert_eq!(all.only(Preserve { special: true, ..mode }).unwrap().permissions(), Some(0o6755));
        let owner = Preserve { owner: true, ..Preserve::default() };
        assert_eq!(all.only(owner), Some(Posix { uid: Some(1), gid: Some(2), ..Posix::default() }));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            bits in 0_u32..0o10000, uid in 0..u32::MAX, gid in 0..u32::MAX, ns in any::<i64>(), rclone in any::<bool>(),
        ) {
            let posix =
                Posix { mode: Some(REGULAR | bits), uid: Some(uid), gid: Some(gid), atime_ns: Some(ns.into()) };
            let entries: Vec<_> = match rclone {
                true => posix.as_rclone().collect(),
                false => posix.as_azcopy().collect(),
            };
            let metadata: Vec<_> =
                entries.into_iter().map(|(name, text)| (name.to_owned(), text)).collect();
            prop_assert_eq!(Posix::told(&metadata, &mut Vec::new()), posix);
        }

        #[test]
        fn nothing_that_is_written_there_does_harm(name in "mode|uid|gid|atime|permissions|posix_atime", text in ".*") {
            let posix = Posix::told(&[(name, text)], &mut Vec::new());
            prop_assert!(posix.permissions().is_none_or(|mode| mode <= 0o7777));
            prop_assert!(posix.uid != Some(u32::MAX) && posix.gid != Some(u32::MAX));
        }
    }
}
