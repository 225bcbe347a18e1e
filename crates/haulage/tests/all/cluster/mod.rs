//! One job by many nodes: what the coordinator deals out, nodes move; what nodes leave, others finish.

use std::time::Duration;

use haulage::error::ErrorKind;
use haulage::event::{Outcome, Proof};
use haulage::job::{Coordinator, Node, Phase, Portion, Work};
use haulage::receipt::ReceiptLine;
use haulage::store::{AccessKeys, BlockRange};
use haulage::units::ByteRate;
use haulage::{CopyOptions, Error};

mod nodes;
mod syncs;

use self::nodes::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_is_shared_out_and_is_whole() {
    for s3 in [false, true] {
        let files = small_files(300);
        let ground = Ground::new(s3, &named(&files)).await;
        let receipt = ground.folder.path().join("receipt.jsonl");
        let options = CopyOptions { receipt: Some(receipt.clone()), ..ground.options() };
        let (objects, summary) = run(&ground, ground.up(), options, &[None, None, None]).await;
        assert_eq!((summary.objects_done, summary.exit_code), (300, 0), "{summary:?}");
        assert_eq!(objects.len(), 300);
        assert!(
            objects.iter().all(|object| object.proof == Proof::Crc64 && object.outcome == Outcome::Copied)
        );
        let ids: std::collections::BTreeSet<_> = objects.iter().map(|object| object.object_id).collect();
        assert_eq!(ids.len(), 300, "each has a number of its own");
        assert!(summary.bytes_wire > summary.bytes_done && summary.requests >= 300, "{summary:?}");
        assert_eq!(ground.down().await, contents(&ground.tree()));
        let lines = std::fs::read_to_string(receipt).unwrap();
        let listed = lines.lines().map(|line| serde_json::from_str(line).unwrap());
        assert_eq!(listed.filter(|line| matches!(line, ReceiptLine::Object(_))).count(), 300);
        let (_, again) = run(&ground, ground.up(), ground.options(), &[None, None]).await;
        assert_eq!((again.objects_done, again.objects_skipped), (0, 300), "{again:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_object_is_staged_by_all_and_committed_once() {
    for s3 in [false, true] {
        let ground = Ground::new(s3, &[("large.nc", 256 * MIB + 77), ("small.nc", 5)]).await;
        let (objects, summary) = run(&ground, ground.up(), ground.options(), &[None, None, None]).await;
        assert_eq!((summary.objects_done, summary.exit_code), (2, 0), "{summary:?}");
        assert_eq!((summary.bytes_done, summary.bytes_resumed), (256 * MIB as u64 + 82, 0));
        let large = objects.iter().find(|object| object.size_bytes > 5).unwrap();
        assert_eq!((large.outcome, large.proof), (Outcome::Copied, Proof::Crc64));
        let data = std::fs::read(ground.tree().join("large.nc")).unwrap();
        assert_eq!(large.crc64, Some(haulage::checksum::Crc64::of(&data)));
        assert_eq!(ground.down().await, contents(&ground.tree()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_lost_nodes_leave_others_finish() {
    for (s3, always) in [(false, true), (true, false)] {
        let mut files = small_files(200);
        files.push(("large.nc".to_owned(), 256 * MIB));
        let ground = Ground::new(s3, &named(&files)).await;
        let mut options = ground.options();
        if always {
            options.overwrite = haulage::job::Overwrite::Always;
        }
        let (objects, summary) = run(&ground, ground.up(), options, &[None, Some(1), Some(0), None]).await;
        assert_eq!((objects.len(), summary.objects_failed, summary.exit_code), (201, 0, 0), "{summary:?}");
        assert!(summary.warnings.iter().any(|warning| warning.contains("gone")), "{:?}", summary.warnings);
        assert_eq!(ground.down().await, contents(&ground.tree()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_node_was_lost_after_it_is_found_by_the_next() {
    for (s3, always) in [(false, true), (true, false)] {
        let ground = Ground::new(s3, &[("large.nc", 256 * MIB)]).await;
        let mut options = ground.options();
        if always {
            options.overwrite = haulage::job::Overwrite::Always;
        }
        let (handle, coordinator) = Coordinator::start(ground.up(), options, false).unwrap();
        let node = |name| Node::start(coordinator.spec(), name, Some(ground.session()), None).unwrap();
        let (first, second) = (node("first"), node("second"));
        let mut lost = 0;
        while coordinator.phase() == Phase::Deal {
            let Some(dealt) = coordinator.next(2).unwrap() else {
                tokio::time::sleep(Duration::from_millis(5)).await;
                continue;
            };
            // It carries no payload and is not the beginning: all stretches are staged.
            let commits = dealt.bytes == 0 && lost == 0 && handle.progress().bytes_total > 0 && dealt.id > 1;
            let result = if lost > 0 { &second } else { &first }.run(&dealt.shard, false).await.unwrap();
            match commits {
                true => {
                    lost += 1;
                    coordinator.lost(dealt.id);
                }
                false => coordinator.came(&result).unwrap(),
            }
        }
        assert_eq!(lost, 1, "the commit was lost");
        for node in [&first, &second] {
            coordinator.ended(&node.end().await.unwrap(), None).unwrap();
        }
        coordinator.finish();
        let summary = handle.wait().await.unwrap();
        assert_eq!((summary.exit_code, summary.objects_failed), (0, 0), "{summary:?}");
        assert_eq!(ground.down().await, contents(&ground.tree()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shard_that_costs_three_nodes_is_given_up_by_name() {
    let ground = Ground::new(false, &[("one.nc", 1000)]).await;
    let (handle, coordinator) = Coordinator::start(ground.up(), ground.options(), false).unwrap();
    for _ in 0..3 {
        let dealt = loop {
            if let Some(dealt) = coordinator.next(1).unwrap() {
                break dealt;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        coordinator.lost(dealt.id);
    }
    while coordinator.phase() == Phase::Deal {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    coordinator.finish();
    let summary = handle.wait().await.unwrap();
    assert_eq!((summary.objects_failed, summary.exit_code), (1, 1));
    let failure = &summary.failures[0];
    assert_eq!(failure.kind, ErrorKind::NodeLost);
    assert!(failure.object.ends_with("one.nc") && failure.cause.contains("3 nodes"), "{failure:?}");
    let hint = "check the nodes' logs, memory and network";
    assert_eq!(failure.hint.as_deref(), Some(hint));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_appears_at_once_over_nodes() {
    for s3 in [false, true] {
        let files = small_files(60);
        let ground = Ground::new(s3, &named(&files)).await;
        let options = CopyOptions { atomic: true, ..ground.options() };
        let (objects, summary) = run(&ground, ground.up(), options, &[None, None, None]).await;
        assert_eq!((objects.len(), summary.objects_done), (60, 60), "{summary:?}");
        assert_eq!(ground.down().await, contents(&ground.tree()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_collection_nothing_is_committed_where_one_has_failed() {
    let mut files = small_files(20);
    files.push(("hidden.nc".to_owned(), 10));
    let ground = Ground::new(false, &named(&files)).await;
    let options = CopyOptions { atomic: true, ..ground.options() };
    let (handle, coordinator) = Coordinator::start(ground.up(), options, false).unwrap();
    let node = Node::start(coordinator.spec(), "one", None, None).unwrap();
    let mut first = true;
    while coordinator.phase() == Phase::Deal {
        let Some(dealt) = coordinator.next(1).unwrap() else {
            tokio::time::sleep(Duration::from_millis(5)).await;
            continue;
        };
        if std::mem::take(&mut first) {
            std::fs::remove_file(ground.tree().join("hidden.nc")).unwrap();
        }
        coordinator.came(&node.run(&dealt.shard, false).await.unwrap()).unwrap();
    }
    coordinator.ended(&node.end().await.unwrap(), None).unwrap();
    coordinator.finish();
    let summary = handle.wait().await.unwrap();
    assert_eq!((summary.objects_done, summary.objects_failed), (0, 21), "{summary:?}");
    let hint = "fix what failed and run the same command again; staged data is not sent again";
    assert!(summary.failures.iter().any(|failure| failure.hint.as_deref() == Some(hint)));
    let opener = haulage::store::StoreOpener::new(ground.store()).unwrap();
    let place = opener.open(&ground.url("one/t/d0/f0.nc")).unwrap();
    assert!(
        place.store.head(&place.key, &haulage::store::Trace::detached()).await.is_err(),
        "nobody sees it"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cap_holds_for_all_together() {
    let files: Vec<(String, usize)> = (0..40).map(|number| (format!("f{number}.nc"), MIB)).collect();
    let ground = Ground::new(false, &named(&files)).await;
    let mut options = ground.options();
    options.store.cap = Some(ByteRate::bits_per_second(160_000_000));
    let began = std::time::Instant::now();
    let (_, summary) = run(&ground, ground.up(), options, &[None, None, None, None]).await;
    let bits = summary.bytes_wire as f64 * 8.0 / began.elapsed().as_secs_f64();
    assert!(bits < 165e6, "{:.0} Mbit/s", bits / 1e6);
    assert_eq!(summary.objects_done, 40);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destination_that_becomes_a_folder_meanwhile_stays_the_same_place() {
    let files = small_files(100);
    let ground = Ground::new(false, &named(&files)).await;
    let to = ground.folder.path().join("new");
    let work = Work::Copy {
        sources: vec![ground.tree().display().to_string()],
        destination: to.display().to_string(),
    };
    let (_, summary) = run(&ground, work, ground.options(), &[None, None, None]).await;
    assert_eq!(summary.objects_done, 100);
    assert_eq!(contents(&to), contents(&ground.tree()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_stopped_ends_and_another_goes_on() {
    let files = small_files(50);
    let ground = Ground::new(false, &named(&files)).await;
    let (handle, coordinator) = Coordinator::start(ground.up(), ground.options(), false).unwrap();
    handle.cancel();
    while coordinator.phase() == Phase::Deal {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!((coordinator.phase(), coordinator.next(1).unwrap().is_none()), (Phase::Stop, true));
    coordinator.finish();
    assert_eq!(handle.wait().await.unwrap().exit_code, 130);
    let (_, summary) = run(&ground, ground.up(), ground.options(), &[None]).await;
    assert_eq!((summary.objects_done, summary.exit_code), (50, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ends_the_work_of_all_nodes_is_said() {
    let ground = Ground::new(false, &[("one.nc", 1000)]).await;
    let (handle, coordinator) = Coordinator::start(ground.up(), ground.options(), false).unwrap();
    coordinator.fail(
        &Error::new(ErrorKind::Connection, "run", "tcp://there", "the scheduler was lost").hint("start it"),
    );
    coordinator.finish();
    let error = handle.wait().await.unwrap_err();
    assert_eq!((error.kind(), error.hint_text()), (ErrorKind::Connection, Some("start it")));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_has_moved_is_named_when_nodes_end_early() {
    let files = small_files(30);
    let ground = Ground::new(false, &named(&files)).await;
    let receipt = ground.folder.path().join("receipt.jsonl");
    let options = CopyOptions { receipt: Some(receipt.clone()), ..ground.options() };
    let (handle, coordinator) = Coordinator::start(ground.up(), options, false).unwrap();
    while !handle.progress().listed {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    coordinator.finish();
    let error = handle.wait().await.unwrap_err();
    let hint = "run the same command again; what has arrived is not sent again";
    assert_eq!((error.kind(), error.hint_text()), (ErrorKind::NodeLost, Some(hint)));
    let lines = std::fs::read_to_string(receipt).unwrap();
    assert!(lines.contains(r#""failed":30"#), "{lines}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_collection_nothing_is_committed_where_a_source_is_missing() {
    let files = small_files(10);
    let ground = Ground::new(false, &named(&files)).await;
    let options = CopyOptions { atomic: true, ..ground.options() };
    let sources = ["d0", "none", "d1"].map(|name| ground.tree().join(name).display().to_string());
    let work = Work::Copy { sources: sources.to_vec(), destination: ground.url("one/t/") };
    let (_, summary) = run(&ground, work, options, &[None, None]).await;
    assert_eq!(summary.objects_done, 0, "{summary:?}");
    assert!(summary.objects_failed > 1 && summary.exit_code != 0, "{summary:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_named_with_a_dot_is_one() {
    let ground = Ground::new(false, &[("a.nc", 10)]).await;
    let to = ground.folder.path().join("new");
    let sources = vec![ground.tree().join("a.nc").display().to_string()];
    let work = Work::Copy { sources, destination: format!("{}/.", to.display()) };
    let (_, summary) = run(&ground, work, ground.options(), &[None]).await;
    assert_eq!((summary.objects_done, to.join("a.nc").is_file()), (1, true), "{summary:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_node_says_is_not_believed() {
    let ground = Ground::new(false, &[("one.nc", 1000)]).await;
    let (_handle, coordinator) = Coordinator::start(ground.up(), ground.options(), false).unwrap();
    for garbled in [b"".as_slice(), b"{}", b"\xff"] {
        let said = [coordinator.came(garbled), coordinator.beat(garbled), coordinator.ended(garbled, None)];
        for error in said.into_iter().map(Result::unwrap_err) {
            let hint = "install the same version of haulage on all of them";
            assert_eq!((error.kind(), error.hint_text()), (ErrorKind::Protocol, Some(hint)));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_only_one_process_can_do_is_refused() {
    let ground = Ground::new(false, &[("one.nc", 1000)]).await;
    let refused = |work: Work, options: CopyOptions| Coordinator::start(work, options, false).unwrap_err();
    let to = |source: &str| Work::Copy { sources: vec![source.to_owned()], destination: ground.url("one/") };
    let memory = refused(to("mem://here/"), ground.options());
    assert_eq!((memory.kind(), memory.hint_text()), (ErrorKind::Unsupported, Some("copy without nodes")));
    let stream = refused(to("-"), ground.options());
    assert_eq!(stream.hint_text(), Some("copy it without nodes"));
    let mut options = ground.options();
    options.store.keys = Some(AccessKeys { id: "me".into(), secret: "secret".into(), token: None });
    let hint = "set them in the environment of each node, or use a managed identity";
    assert_eq!(refused(ground.up(), options).hint_text(), Some(hint));
    let mut options = ground.options();
    options.store.proxy = "http://me:secret@proxy:3128".parse().unwrap();
    let error = refused(ground.up(), options);
    assert_eq!(error.hint_text(), Some("set HTTPS_PROXY in the environment of each node instead"));
    assert!(!error.to_string().contains("secret"));
    let options = CopyOptions { profile: Some("office".into()), ..ground.options() };
    assert_eq!(
        refused(ground.up(), options).hint_text(),
        Some("leave it out: each node follows its own link")
    );
    let unchecked = haulage::checksum::ChecksumMode::None;
    let options = CopyOptions { atomic: true, checksum: unchecked, ..ground.options() };
    assert_eq!(refused(ground.up(), options).hint_text(), Some("leave out --checksum none"));
    let options = CopyOptions { source_etag: Some("one".into()), ..ground.options() };
    assert_eq!(refused(to("one.nc"), options).hint_text(), Some("leave it out"));
    let options = CopyOptions { dry_run: true, ..ground.options() };
    assert_eq!(refused(ground.up(), options).hint_text(), Some("leave out the nodes"));
    let options = CopyOptions { backup: Some(ground.url("one/old/")), ..ground.options() };
    assert_eq!(refused(ground.sync(None), options).hint_text(), Some("leave out the nodes"));
    let portion = Portion::Stretch(BlockRange { offset: 0, len: 1 });
    let options = CopyOptions { portion, source_etag: Some("one".into()), ..ground.options() };
    assert_eq!(refused(to("one.nc"), options).hint_text(), Some("copy the whole object"));
    let verify = Work::Verify { source: "a".into(), destination: "b".into(), stored: false, deep: false };
    assert_eq!(refused(verify, ground.options()).kind(), ErrorKind::Unsupported);
}
