//! What a job shares with others: who is told of it, and what it may take.

use std::time::{Duration, Instant};

use haulage::event::{Event, Told};
use haulage::job::{Allowance, JobHandle, Setting, Work};
use haulage::{CopyOptions, Job};
use haulage_emulator::{Emulator, EmulatorConfig};
use tempfile::TempDir;
use tokio::sync::mpsc;

const FILES: usize = 60;

/// A job that is yet to start: so many small files into an endpoint.
async fn job() -> (Job, Emulator, TempDir) {
    let emulator = haulage_emulator::start(EmulatorConfig::default()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    for number in 0..FILES {
        std::fs::write(folder.path().join(format!("{number}.nc")), format!("number {number}")).unwrap();
    }
    let url = format!("{}/shared", emulator.endpoint());
    let store = haulage::store::StoreOpener::new(haulage::store::StoreOptions::default()).unwrap();
    store.open(&url).unwrap().store.create_container(&haulage::store::Trace::detached()).await.unwrap();
    let work = Work::Copy { sources: vec![folder.path().to_str().unwrap().to_owned()], destination: url };
    let options = CopyOptions { node: "node-7".to_owned(), ..CopyOptions::default() };
    (Job::new(work, options), emulator, folder)
}

async fn done(handle: JobHandle) {
    let summary = handle.wait().await.unwrap();
    assert_eq!((summary.objects_done as usize, summary.exit_code), (FILES, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn several_sinks_hear_the_same_and_whose_it_is() {
    let (job, _emulator, _folder) = job().await;
    let (first, mut told_first) = mpsc::channel(10_000);
    let (second, mut told_second) = mpsc::channel(10_000);
    let (gone, told_nobody) = mpsc::channel(1);
    drop(told_nobody);
    done(job.tell(first).tell(gone).tell(second).start().unwrap()).await;
    let (mut one, mut other): (Vec<Told>, Vec<Told>) = Default::default();
    told_first.recv_many(&mut one, 10_000).await;
    told_second.recv_many(&mut other, 10_000).await;
    let lines = |told: &[Told]| told.iter().map(|it| serde_json::to_string(it).unwrap()).collect::<Vec<_>>();
    assert_eq!(lines(&one), lines(&other));
    let Event::JobStarted(head) = &*one[0].event else { panic!("it begins with its head") };
    assert_eq!(&*head.node, "node-7");
    assert!(one.iter().all(|it| it.job == head.job && &*it.node == "node-7"));
    let objects = one.iter().filter(|it| matches!(&*it.event, Event::Object(_))).count();
    assert_eq!((objects, one.len() > 2 * FILES), (FILES, true));
    let line: serde_json::Value = serde_json::from_str(&lines(&one)[0]).unwrap();
    assert_eq!(
        (line["node"].as_str(), line["event"]["event"].as_str()),
        (Some("node-7"), Some("job_started"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_keeps_to_what_it_is_allowed_until_it_is_allowed_more() {
    let (job, emulator, _folder) = job().await;
    let handle = job.start().unwrap();
    handle.lease().allow(Allowance { in_flight: Some(0), ..Allowance::default() });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let at_rest = emulator.stats().requests("PutBlob");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(emulator.stats().requests("PutBlob"), at_rest, "nothing goes");
    assert!(!handle.is_finished());
    handle.lease().allow(Allowance::default());
    done(handle).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_a_second_are_leased() {
    let (job, _emulator, _folder) = job().await;
    let began = Instant::now();
    let handle = job.start().unwrap();
    handle.lease().allow(Allowance { requests_per_second: Some(40.0), ..Allowance::default() });
    done(handle).await;
    // What went before the first word, and what may go at once, does not count.
    assert!(began.elapsed() > Duration::from_millis(1200), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_of_one_request_at_a_time_opens_no_crowd_of_connections() {
    let (mut job, emulator, _folder) = job().await;
    job.options.concurrency = Setting::Fixed(1);
    let before = emulator.stats().connections;
    done(job.start().unwrap()).await;
    let opened = emulator.stats().connections - before;
    assert!(opened <= 2, "one for requests and one for the list, not {opened}");
}
