//! What looks like a file and is a stream: pipes, devices, and files that the system makes up while they are read.

use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

/// File systems whose files state no size, or a wrong one: proc, sysfs, cgroup, cgroup2, debugfs, tracefs.
const MADE_UP: [u64; 6] = [0x9fa0, 0x6265_6572, 0x0027_e0eb, 0x6367_7270, 0x6462_6720, 0x7472_6163];

/// Whether what a path leads to is read as a stream.
pub(crate) fn reads_as_stream(path: &Path) -> bool {
    let Ok(found) = std::fs::metadata(path) else { return false };
    let kind = found.file_type();
    let made_up = || rustix::fs::statfs(path).is_ok_and(|on| MADE_UP.contains(&(on.f_type as u64)));
    kind.is_fifo() || kind.is_char_device() || kind.is_block_device() || (kind.is_file() && made_up())
}

/// Folders whose entries are what this process, or whoever called it, has opened.
const OPENED: [&str; 2] = ["/dev/fd", "/proc/self/fd"];

/// The same by a name of their own; `/dev/stdin` and `/dev/stdout` are `-`.
const ERRORS: &str = "/dev/stderr";

/// Whether what a path leads to is written as a stream. A disk is not: nobody means to replace all that is on it.
pub(crate) fn writes_as_stream(path: &Path) -> bool {
    let opened = path.parent().is_some_and(|folder| OPENED.iter().any(|name| Path::new(name) == folder))
        || path == Path::new(ERRORS);
    std::fs::metadata(path).is_ok_and(|found| {
        let kind = found.file_type();
        kind.is_fifo() || kind.is_char_device() || (opened && kind.is_file())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_and_files_of_the_system_are_streams() {
        for path in ["/dev/null", "/dev/zero", "/proc/self/status", "/proc/self/maps"] {
            assert!(reads_as_stream(Path::new(path)), "{path}");
        }
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("empty"), "").unwrap();
        for path in [dir.path(), &dir.path().join("empty"), Path::new("/no/such"), Path::new("/proc")] {
            assert!(!reads_as_stream(path) && !writes_as_stream(path), "{}", path.display());
        }
        assert!(
            writes_as_stream(Path::new("/dev/null")) && !writes_as_stream(Path::new("/proc/self/status"))
        );
    }
}
