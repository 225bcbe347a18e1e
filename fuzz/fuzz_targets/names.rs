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
    for root in [&root, Path::new("relative"), Path::new("")] {
        if let Ok(path) = local::path_of(root, name) {
            let below = path.strip_prefix(root).expect("below the root");
            assert!(below.components().count() > 0);
            assert!(below.components().all(|part| matches!(part, Component::Normal(_))), "{name:?}");
            assert_eq!(below.to_str(), Some(name));
        }
    }
    if let Ok(path) = local::place_of(&root, name) {
        let there = path.ancestors().skip(1).find_map(|folder| folder.canonicalize().ok()).expect("the root");
        assert!(there.starts_with(&root), "{name:?} leads to {}", there.display());
        let hidden = path.ancestors().skip(1).take_while(|folder| *folder != root);
        let dangling = |folder: &Path| folder.is_symlink() && !folder.exists();
        assert!(!hidden.into_iter().any(dangling), "{name:?} goes through a link to nothing");
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
