//! Whether a folder lies below the root, links and all.
//!
//! Names are checked by `path_of`: none of them has `..` in it. But a link in the destination, there before or put there
//! by somebody, may lead out of it, and a name from a listing must not follow.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::error::{Error, ErrorKind, Result};

/// The folder that was looked at last: listings come folder by folder. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Below(Arc<Mutex<Option<PathBuf>>>);

impl Below {
    /// Refuses to write where a link on the way from `root` to the folder of `path` leads out of `root`.
    pub(super) fn check(&self, root: &Path, path: &Path) -> Result<()> {
        let folder = path.parent().unwrap_or(root);
        let Ok(relative) = folder.strip_prefix(root) else { return Ok(()) };
        if relative.as_os_str().is_empty() || self.lock().as_deref() == Some(folder) {
            return Ok(());
        }
        if leads_out(root, relative) {
            let cause = "a symbolic link on the way leads out of the destination";
            return Err(Error::new(ErrorKind::Unsupported, "write", path.display().to_string(), cause)
                .hint("replace the link by a folder, or copy to where it leads"));
        }
        *self.lock() = Some(folder.to_path_buf());
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the folder, or as much of it as is there, lies elsewhere.
fn leads_out(root: &Path, relative: &Path) -> bool {
    let root_shown = if root.as_os_str().is_empty() { Path::new(".") } else { root };
    let Ok(root) = rustix::fs::openat(CWD, root_shown, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())
    else {
        // It is not there: nothing below it is.
        return false;
    };
    for folder in relative.ancestors().filter(|folder| !folder.as_os_str().is_empty()) {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        match rustix::fs::openat2(&root, folder, flags, Mode::empty(), ResolveFlags::BENEATH) {
            Ok(_) => return false,
            // Not there, or a link to what is not: making it would follow the link.
            Err(Errno::NOENT) if !is_link(root_shown, folder) => {}
            Err(Errno::NOSYS) => return any_link(root_shown, relative),
            Err(Errno::XDEV | Errno::LOOP | Errno::NOENT) => return true,
            // Whatever else is wrong, writing will say it better.
            Err(_) => return false,
        }
    }
    false
}

fn is_link(root: &Path, relative: &Path) -> bool {
    std::fs::symlink_metadata(root.join(relative)).is_ok_and(|found| found.is_symlink())
}

/// On a kernel that cannot say, every link is one too many.
fn any_link(root: &Path, relative: &Path) -> bool {
    relative.ancestors().filter(|folder| !folder.as_os_str().is_empty()).any(|folder| is_link(root, folder))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_may_lead_anywhere_below_but_not_out() {
        let dir = tempfile::tempdir().unwrap();
        let (root, outside) = (dir.path().join("root"), dir.path().join("outside"));
        std::fs::create_dir_all(root.join("real/deep")).unwrap();
        std::fs::create_dir(&outside).unwrap();
        symlink("real", root.join("within")).unwrap();
        symlink(&outside, root.join("out")).unwrap();
        symlink("../outside", root.join("real/up")).unwrap();
        symlink(outside.join("not-there"), root.join("dangling")).unwrap();
        symlink("round", root.join("round")).unwrap();
        let check = |key: &str| Below::default().check(&root, &root.join(key));
        for key in
            ["file", "real/file", "real/deep/file", "within/deep/file", "new/folder/file", "real/new/file"]
        {
            check(key).unwrap();
        }
        for key in
            ["out/file", "out/new/file", "real/up/file", "within/up/file", "dangling/file", "round/file"]
        {
            assert_eq!(check(key).unwrap_err().kind(), ErrorKind::Unsupported, "{key}");
        }
        assert!(!any_link(&root, Path::new("real/deep")));
        assert!(any_link(&root, Path::new("within/deep")));
    }
}
