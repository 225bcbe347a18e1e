//! Names from a listing as paths: none leaves the destination, whatever links are in it.

#![no_main]

use std::os::unix::fs::symlink;
use std::path::{Component, Path};
use std::sync::LazyLock;

use haulage::fuzz::local;
use haulage_emulator::fuzz as emulator;
use libfuzzer_sys::fuzz_target;

/// A destination with links within and out of it.
static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder");
    let root = folder.path().join("root");
    std::fs::create_dir_all(root.join("a/b")).expect("folders");
    std::fs::create_dir(folder.path().join("out")).expect("a folder");
    for (to, link) in
        [("a", "in"), ("../out", "up"), ("/", "top"), ("../../out", "a/up"), ("no", "gone"), ("to", "to")]
    {
        symlink(to, root.join(link)).expect("a link");
    }
    folder
});

fuzz_target!(|name: &str| {
    let root = FOLDER.path().join("root");
    if local::is_name(name) {
        let path = Path::new(name);
        assert!(path.components().count() > 0);
        assert!(path.components().all(|part| matches!(part, Component::Normal(_))), "{name:?}");
    }
    if let Ok(path) = local::place_of(&root, name) {
        // No link on the way: the folder is where its name says.
        assert_eq!(path, root.canonicalize().expect("the root").join(name), "{name:?}");
    }
    for file in emulator::files(name) {
        assert!(file.components().all(|part| matches!(part, Component::Normal(_))), "{file:?}");
        assert!(
            file.iter().all(|part| part.len() <= 255 && !part.to_string_lossy().starts_with('.')),
            "{file:?}"
        );
        let hashed = file.to_string_lossy().starts_with("%~");
        assert!(hashed || emulator::name_of_file(&file).as_deref() == Some(name), "{file:?}");
    }
    if let Some(blob) = emulator::name_of_file(Path::new(name)) {
        assert!(emulator::files(&blob).iter().any(|file| file == Path::new(name)));
    }
});
