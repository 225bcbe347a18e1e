//! Syncs by many nodes: nodes copy what differs, and in the end the coordinator deletes, or says why it does not.

use std::path::Path;
use std::time::{Duration, SystemTime};

use haulage::event::{ObjectRecord, Outcome, Summary};
use haulage::job::{Compare, Coordinator, Deleting, MaxDelete, Node, Phase, Work};
use haulage::{CopyOptions, ErrorKind};

use super::nodes::*;

const DELETE: Option<Deleting> = Some(Deleting { max: None, allow_empty: false });

/// A tree that lies at the destination already, and then changes: a file is new, one has changed, and ten are gone.
async fn changed(s3: bool) -> Ground {
    let files = small_files(100);
    let ground = Ground::new(s3, &named(&files)).await;
    let (_, first) = run(&ground, ground.sync(DELETE), ground.options(), &[None, None]).await;
    assert_eq!((first.objects_done, first.objects_deleted, first.exit_code), (100, 0, 0), "{first:?}");
    for (name, _) in &files[90..] {
        std::fs::remove_file(ground.tree().join(name)).unwrap();
    }
    std::fs::write(ground.tree().join("new.nc"), b"new").unwrap();
    std::fs::write(ground.tree().join(&files[0].0), b"other content").unwrap();
    ground
}

fn count(objects: &[ObjectRecord], outcome: Outcome) -> usize {
    objects.iter().filter(|object| object.outcome == outcome).count()
}

fn said(summary: &Summary, words: &str) -> bool {
    summary.warnings.iter().any(|warning| warning.contains(words))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_differs_is_copied_and_what_is_gone_is_deleted() {
    for (s3, fates) in [(false, [None, None, None]), (true, [None, Some(0), None])] {
        let ground = changed(s3).await;
        let (objects, summary) = run(&ground, ground.sync(DELETE), ground.options(), &fates).await;
        assert_eq!((summary.objects_done, summary.objects_skipped, summary.objects_deleted), (2, 89, 10));
        assert_eq!((summary.exit_code, count(&objects, Outcome::Deleted)), (0, 10), "{summary:?}");
        let mut ids: Vec<_> = objects.iter().map(|object| object.object_id).collect();
        ids.sort_unstable();
        assert_eq!(ids, (0..101).collect::<Vec<_>>(), "each has a number of its own");
        assert_eq!(ground.down().await, contents(&ground.tree()));
        let (_, again) = run(&ground, ground.sync(DELETE), ground.options(), &[None]).await;
        assert_eq!((again.objects_done, again.objects_deleted, again.objects_skipped), (0, 0, 91));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_deleted_unless_that_is_wanted() {
    let ground = changed(false).await;
    let (_, summary) = run(&ground, ground.sync(None), ground.options(), &[None, None]).await;
    assert_eq!((summary.objects_done, summary.objects_deleted, summary.exit_code), (2, 0, 0), "{summary:?}");
    assert_eq!(ground.down().await.len(), 101);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_down_is_deleted_on_the_disk() {
    let ground = changed(true).await;
    let there = ground.folder.path().join("there");
    std::fs::create_dir_all(there.join("gone/below")).unwrap();
    std::fs::write(there.join("gone/below/a.nc"), b"a").unwrap();
    std::os::unix::fs::symlink(ground.tree(), there.join("link")).unwrap();
    let destination = there.display().to_string();
    let work = Work::Sync { source: ground.url("one/t/"), destination, delete: DELETE };
    let (_, summary) = run(&ground, work, ground.options(), &[None, None]).await;
    assert_eq!(
        (summary.objects_done, summary.objects_deleted, summary.exit_code),
        (100, 1, 0),
        "{summary:?}"
    );
    assert!(!there.join("gone").exists() && there.join("link").exists());
    std::fs::remove_file(there.join("link")).unwrap();
    assert_eq!(contents(&there), ground.down().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_deleted_where_an_object_failed() {
    let ground = changed(false).await;
    let (handle, coordinator) = Coordinator::start(ground.sync(DELETE), ground.options(), false).unwrap();
    let node = Node::start(coordinator.spec(), "one", Some(ground.session()), None).unwrap();
    while coordinator.phase() == Phase::Deal {
        let Some(dealt) = coordinator.next(1).unwrap() else {
            tokio::time::sleep(Duration::from_millis(5)).await;
            continue;
        };
        // Gone after it was listed.
        let _ = std::fs::remove_file(ground.tree().join("new.nc"));
        coordinator.came(&node.run(&dealt.shard, false).await.unwrap()).unwrap();
    }
    coordinator.ended(&node.end().await.unwrap(), None).unwrap();
    coordinator.finish();
    let summary = handle.wait().await.unwrap();
    assert_eq!((summary.objects_failed, summary.objects_deleted, summary.objects_extra), (1, 0, 10));
    assert_ne!(summary.exit_code, 0);
    assert!(said(&summary, "nothing was deleted, because not everything was copied"), "{summary:?}");
    assert_eq!(ground.down().await.len(), 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_deleted_where_it_would_be_too_much() {
    let ground = changed(false).await;
    let most = |max| ground.sync(Some(Deleting { max: Some(max), allow_empty: false }));
    let (_, summary) = run(&ground, most(MaxDelete::Count(9)), ground.options(), &[None]).await;
    assert_eq!((summary.objects_deleted, summary.objects_extra), (0, 10), "{summary:?}");
    assert_eq!(summary.failures[0].kind, ErrorKind::Usage);
    assert!(
        summary.failures[0].cause.contains("--max-delete allows 9") && said(&summary, "was copied before")
    );
    assert_eq!(ground.down().await.len(), 101);
    let (_, summary) = run(&ground, most(MaxDelete::Percent(10.0)), ground.options(), &[None]).await;
    assert_eq!((summary.objects_deleted, summary.exit_code), (10, 0), "{summary:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_deleted_where_the_nodes_end_early_or_the_job_is_stopped() {
    let ground = changed(false).await;
    let (handle, coordinator) = Coordinator::start(ground.sync(DELETE), ground.options(), false).unwrap();
    while !handle.progress().listed {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    coordinator.finish();
    let summary = handle.wait().await.unwrap();
    assert_eq!((summary.objects_failed, summary.objects_deleted), (2, 0), "{summary:?}");
    assert!(said(&summary, "nothing was deleted, because not everything was copied"), "{summary:?}");

    let (handle, coordinator) = Coordinator::start(ground.sync(DELETE), ground.options(), false).unwrap();
    handle.cancel();
    while coordinator.phase() == Phase::Deal {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    coordinator.finish();
    let summary = handle.wait().await.unwrap();
    assert_eq!((summary.exit_code, summary.objects_deleted), (130, 0), "{summary:?}");
    assert_eq!(ground.down().await.len(), 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_is_empty_deletes_nothing_unless_that_is_allowed() {
    let ground = changed(true).await;
    let nothing = |allow_empty| Work::Sync {
        source: ground.url("one/none/"),
        destination: ground.url("one/t/"),
        delete: Some(Deleting { max: None, allow_empty }),
    };
    let (handle, coordinator) = Coordinator::start(nothing(false), ground.options(), false).unwrap();
    while coordinator.phase() == Phase::Deal {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    coordinator.finish();
    assert_eq!(handle.wait().await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(ground.down().await.len(), 100);
    let (_, summary) = run(&ground, nothing(true), ground.options(), &[None]).await;
    assert_eq!((summary.objects_deleted, summary.exit_code), (100, 0), "{summary:?}");
}

/// Changes a file so that neither its size nor its time tells.
fn change_unseen(path: &Path) {
    let modified = std::fs::metadata(path).unwrap().modified().unwrap();
    let mut data = std::fs::read(path).unwrap();
    data[0] ^= 1;
    std::fs::write(path, data).unwrap();
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_modified(modified).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_compare_as_the_user_wants_it() {
    // One is so large that several nodes stage it, and so the coordinator looks at it.
    for (s3, large) in [(false, 256 * MIB), (true, MIB)] {
        let mut files = small_files(20);
        files.push(("large.nc".to_owned(), large));
        let ground = Ground::new(s3, &named(&files)).await;
        let receipt = Some(ground.folder.path().join("receipt.jsonl"));
        let by = |compare| CopyOptions { compare, receipt: receipt.clone(), ..ground.options() };
        let moved = async |compare| {
            let (_, summary) = run(&ground, ground.sync(DELETE), by(compare), &[None, None]).await;
            assert_eq!(summary.exit_code, 0, "{summary:?}");
            summary.objects_done
        };
        assert_eq!(moved(Compare::Auto).await, 21);
        assert_eq!(moved(Compare::Receipt).await, 0);
        change_unseen(&ground.tree().join("large.nc"));
        change_unseen(&ground.tree().join(&files[3].0));
        assert_eq!((moved(Compare::Time).await, moved(Compare::Size).await), (0, 0));
        assert_eq!(moved(Compare::Checksum).await, 2);
        assert_eq!(ground.down().await, contents(&ground.tree()));
        let path = ground.tree().join(&files[4].0);
        std::fs::File::options().write(true).open(path).unwrap().set_modified(SystemTime::now()).unwrap();
        assert_eq!((moved(Compare::Size).await, moved(Compare::Checksum).await), (0, 0));
        // The receipt vouches for what was compared since it was touched, whatever its time.
        assert_eq!((moved(Compare::Receipt).await, moved(Compare::Time).await), (0, 1));
    }
}
