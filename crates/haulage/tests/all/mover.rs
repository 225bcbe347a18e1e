//! Whole jobs between stores that need no network.

use std::path::Path;

use haulage::access::{Removal, RemoveOptions};
use haulage::event::{Event, Outcome, Summary};
use haulage::job::{Overwrite, Setting, Work};
use haulage::store::StoreOptions;
use haulage::units::ByteSize;
use haulage::{CopyOptions, ErrorKind, Job};

fn small_blocks() -> CopyOptions {
    CopyOptions { block_size: Setting::Fixed(ByteSize::kib(64)), ..CopyOptions::default() }
}

async fn copy(source: &str, destination: &str, options: CopyOptions) -> Summary {
    let work = Work::Copy { sources: vec![source.into()], destination: destination.into() };
    Job::new(work, options).start().unwrap().wait().await.unwrap()
}

async fn verify(source: &str, destination: &str) -> Summary {
    let work =
        Work::Verify { source: source.into(), destination: destination.into(), stored: false, deep: false };
    Job::new(work, small_blocks()).start().unwrap().wait().await.unwrap()
}

fn tree(root: &Path) {
    let mut random = fastrand::Rng::with_seed(7);
    for (name, len) in
        [("a.nc", 1_000_000), ("empty", 0), ("deep/er/#?%+: ü", 70_000), (".dot", 3), ("deep/x", 65_536)]
    {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let bytes: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(len).collect();
        std::fs::write(path, bytes).unwrap();
    }
}

fn path(dir: &tempfile::TempDir, name: &str) -> String {
    dir.path().join(name).display().to_string()
}

#[tokio::test]
async fn a_tree_goes_and_comes_back_and_a_second_run_has_nothing_to_do() {
    let dir = tempfile::tempdir().unwrap();
    tree(&dir.path().join("src"));
    let (source, back) = (path(&dir, "src"), path(&dir, "back"));

    let up = copy(&source, "mem://tree/in", small_blocks()).await;
    assert_eq!((up.exit_code, up.objects_done, up.bytes_done), (0, 5, 1_135_539));
    let again = copy(&source, "mem://tree/in", small_blocks()).await;
    assert_eq!((again.exit_code, again.objects_done, again.objects_skipped), (0, 0, 5));

    let down = copy("mem://tree/in", &back, small_blocks()).await;
    assert_eq!((down.exit_code, down.objects_done, down.objects_unproven), (0, 5, 0));
    let again = copy("mem://tree/in", &back, small_blocks()).await;
    assert_eq!((again.objects_done, again.objects_skipped), (0, 5), "the source's time came along");
    for (left, right) in [(&source, &back), (&source, &"mem://tree/in".to_owned())] {
        let verified = verify(left, right).await;
        assert_eq!((verified.exit_code, verified.objects_done, verified.objects_extra), (0, 5, 0));
    }
}

#[tokio::test]
async fn one_flipped_byte_is_found_and_named() {
    let dir = tempfile::tempdir().unwrap();
    tree(&dir.path().join("src"));
    let (source, back) = (path(&dir, "src"), path(&dir, "back"));
    copy(&source, &back, small_blocks()).await;
    let victim = dir.path().join("back/a.nc");
    let mut bytes = std::fs::read(&victim).unwrap();
    bytes[500_000] ^= 1;
    std::fs::write(&victim, bytes).unwrap();
    std::fs::write(dir.path().join("back/more"), "x").unwrap();
    std::fs::remove_file(dir.path().join("back/.dot")).unwrap();

    let found = verify(&source, &back).await;
    assert_eq!((found.exit_code, found.objects_differ, found.objects_missing), (5, 1, 1));
    assert_eq!((found.objects_failed, found.objects_extra, found.retries), (0, 1, 0));
    let names: Vec<&str> = found.failures.iter().map(|failure| failure.object.as_str()).collect();
    assert!(names.iter().any(|name| name.ends_with("src/a.nc")), "{names:?}");
    assert!(names.iter().any(|name| name.ends_with("src/.dot")), "{names:?}");
}

#[tokio::test]
async fn names_that_would_leave_the_destination_stay_out() {
    let dir = tempfile::tempdir().unwrap();
    tree(&dir.path().join("src"));
    let good = path(&dir, "src/a.nc");
    let pairs =
        vec![(good.clone(), "mem://evil/../../escape".to_owned()), (good, "mem://evil/fine".to_owned())];
    Job::new(Work::CopyPairs(pairs), small_blocks()).start().unwrap().wait().await.unwrap();

    let down = copy("mem://evil/", &path(&dir, "a/b/c/back"), small_blocks()).await;
    assert_eq!((down.exit_code, down.objects_done, down.objects_failed), (1, 1, 1));
    assert!(!dir.path().join("a/escape").exists() && !dir.path().join("escape").exists());
    assert_eq!(down.failures[0].kind, ErrorKind::Unsupported);
}

#[tokio::test]
async fn never_means_never() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a"), "new").unwrap();
    std::fs::write(dir.path().join("b"), "old").unwrap();
    let options = CopyOptions { overwrite: Overwrite::Never, ..CopyOptions::default() };
    let summary = copy(&path(&dir, "a"), &path(&dir, "b"), options).await;
    assert_eq!((summary.objects_skipped, summary.exit_code), (1, 0));
    assert_eq!(std::fs::read(dir.path().join("b")).unwrap(), b"old");
}

#[tokio::test]
async fn two_sources_with_one_destination_do_not_overwrite_each_other() {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["x", "y"] {
        std::fs::create_dir(dir.path().join(folder)).unwrap();
        std::fs::write(dir.path().join(folder).join("same"), folder).unwrap();
    }
    let work =
        Work::Copy { sources: vec![path(&dir, "x"), path(&dir, "y")], destination: path(&dir, "out/") };
    let summary = Job::new(work, CopyOptions::default()).start().unwrap().wait().await.unwrap();
    assert_eq!((summary.objects_done, summary.objects_failed, summary.exit_code), (1, 1, 1));
    assert_eq!(std::fs::read(dir.path().join("out/same")).unwrap(), b"x");
}

#[tokio::test]
async fn a_missing_source_stops_the_job() {
    let work = Work::Copy { sources: vec!["/no/such/file".into()], destination: "mem://none/".into() };
    let error = Job::new(work, CopyOptions::default()).start().unwrap().wait().await.unwrap_err();
    assert_eq!((error.kind(), error.object_name()), (ErrorKind::NotFound, "/no/such/file"));
}

#[tokio::test]
async fn what_would_remove_more_than_one_object_is_asked_for_by_name() {
    for url in ["mem://removal/", "mem://removal/prefix/"] {
        let found = Removal::find(&[url.into()], &RemoveOptions::default(), &StoreOptions::default()).await;
        let error = found.err().expect("refused");
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert_eq!(error.hint_text(), Some("add --recursive to remove everything below it"));
    }
}

#[tokio::test]
async fn events_tell_the_story_and_end_with_the_summary() {
    let dir = tempfile::tempdir().unwrap();
    tree(&dir.path().join("src"));
    let record = dir.path().join("attempts.parquet");
    let options = CopyOptions { record: Some(record.clone()), ..small_blocks() };
    let work = Work::Copy { sources: vec![path(&dir, "src")], destination: "mem://events/".into() };
    let mut job = Job::new(work, options).listen().start().unwrap();
    let mut events = Vec::new();
    while let Some(event) = job.next_event().await {
        events.push(event);
    }
    let summary = job.wait().await.unwrap();
    assert!(matches!(events.first(), Some(Event::JobStarted(_))));
    assert!(matches!(events.last(), Some(Event::Summary(last)) if last.requests == summary.requests));
    let copied = events
        .iter()
        .filter(|event| matches!(event, Event::Object(object) if object.outcome == Outcome::Copied));
    assert_eq!(copied.count(), 5);
    let attempts: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Attempt(attempt) => Some(attempt),
            _ => None,
        })
        .collect();
    assert_eq!(attempts.len() as u64, summary.requests);
    for attempt in attempts {
        let phases = attempt.phases;
        assert!(phases.queued_ns <= phases.slot_ns && phases.slot_ns.unwrap() <= attempt.ended_ns);
        assert_eq!(attempt.fate, "ok");
    }
    assert!(std::fs::metadata(record).unwrap().len() > 1000);
}

#[tokio::test]
async fn a_cancelled_job_leaves_what_the_next_goes_on_from_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::File::create(dir.path().join("big")).unwrap().set_len(64 << 20).unwrap();
    let work = || Work::Copy { sources: vec![path(&dir, "big")], destination: path(&dir, "out/") };
    let mut job = Job::new(work(), small_blocks()).listen().start().unwrap();
    let mut blocks = 0;
    while blocks < 5 {
        blocks += u32::from(
            matches!(job.next_event().await, Some(Event::Attempt(attempt)) if attempt.api == "Read"),
        );
    }
    job.cancel();
    let summary = job.wait().await.unwrap();
    assert_eq!((summary.exit_code, summary.objects_done), (130, 0));
    let mut left: Vec<_> =
        std::fs::read_dir(dir.path().join("out")).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert!(left.iter().all(|name| name.to_string_lossy().ends_with(".partial")), "{left:?}");
    // What has arrived, which ranges of it, and that nothing was flushed yet.
    assert_eq!(left.len(), 3, "{left:?}");
    let summary = Job::new(work(), small_blocks()).start().unwrap().wait().await.unwrap();
    assert!(summary.bytes_resumed > 0);
    assert_eq!(std::fs::read(dir.path().join("out/big")).unwrap(), vec![0; 64 << 20]);
    assert_eq!(std::fs::read_dir(dir.path().join("out")).unwrap().count(), 1);
}

#[tokio::test]
async fn a_thousand_files_in_blocks_do_not_use_up_the_threads() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("src");
    std::fs::create_dir(&source).unwrap();
    for n in 0..1000 {
        std::fs::write(source.join(n.to_string()), [n as u8; 3000]).unwrap();
    }
    let options = CopyOptions {
        block_size: Setting::Fixed(ByteSize::kib(1)),
        single_put_max: Setting::Fixed(ByteSize::kib(1)),
        ..CopyOptions::default()
    };
    let (source, back) = (path(&dir, "src"), path(&dir, "back"));
    let work = copy(&source, &back, options);
    let summary = tokio::time::timeout(std::time::Duration::from_secs(60), work).await.expect("it hangs");
    assert_eq!((summary.exit_code, summary.objects_done), (0, 1000));
}

#[tokio::test]
async fn a_blob_that_is_named_like_its_folder_is_not_lost() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("x");
    std::fs::write(&file, "12345").unwrap();
    let pairs = vec![(file.display().to_string(), "mem://marker/dir/".to_owned() + "x")];
    Job::new(Work::CopyPairs(pairs), small_blocks()).start().unwrap().wait().await.unwrap();
    let store = haulage::store::MemoryStore::named("marker");
    let bytes = haulage::store::Payload::Bytes("12345".into());
    let put = haulage::store::PutOptions::default();
    haulage::store::Store::put(&store, "dir/", bytes, &put, &haulage::store::Trace::detached())
        .await
        .unwrap();

    let down = copy("mem://marker/dir/", &path(&dir, "back"), small_blocks()).await;
    assert_eq!((down.objects_done, down.objects_failed, down.exit_code), (1, 1, 1));
}

#[tokio::test]
async fn a_full_disk_stops_the_job_also_while_others_are_half_way() {
    // A folder in memory with room for one of the two files.
    let dir = tempfile::tempdir().unwrap();
    let (source, small) = (dir.path().join("src"), dir.path().join("small"));
    std::fs::create_dir(&source).unwrap();
    std::fs::create_dir(&small).unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=12m", "tmpfs"])
        .arg(&small)
        .status();
    assert!(mounted.unwrap().success(), "this test mounts a small file system and needs to be root");
    for n in 0..8 {
        std::fs::write(source.join(n.to_string()), vec![n; 3 << 20]).unwrap();
    }
    let (source, full) = (path(&dir, "src"), path(&dir, "small"));
    let work = copy(&source, &full, small_blocks());
    let ended = tokio::time::timeout(std::time::Duration::from_secs(60), work).await;
    std::process::Command::new("umount").arg("-l").arg(&small).status().unwrap();
    let summary = ended.expect("it hangs");
    assert_eq!(summary.objects_done + summary.objects_failed, 8);
    assert!(summary.objects_failed >= 4 && summary.exit_code == 1, "{summary:?}");
    assert!(summary.failures.iter().all(|failure| failure.kind == ErrorKind::NoSpace), "{summary:?}");
}
