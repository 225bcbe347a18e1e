//! One object by several jobs, as several machines move it: stretches are staged, then committed together.

use std::path::PathBuf;

use haulage::checksum::Crc64;
use haulage::error::ErrorKind;
use haulage::event::{Event, ObjectRecord, Outcome, PartRecord, Proof, Summary};
use haulage::job::{Portion, Setting, Work};
use haulage::store::{AccessKeys, BlockRange, GetOptions, Location, StoreOpener, StoreOptions, Trace};
use haulage::units::ByteSize;
use haulage::{CopyOptions, Job};
use haulage_emulator::{Emulator, EmulatorConfig};

const MIB: u64 = 1 << 20;
const SIZE: u64 = 40 * MIB + 77;
const BLOCK: u64 = 8 * MIB;

struct Ground {
    emulator: Emulator,
    store: StoreOptions,
    s3: bool,
    source: PathBuf,
    data: Vec<u8>,
    _folder: tempfile::TempDir,
}

impl Ground {
    async fn new(s3: bool) -> Self {
        let emulator = haulage_emulator::start(EmulatorConfig::default()).await.unwrap();
        let access = emulator.s3();
        let keys = AccessKeys { id: access.access_key_id, secret: access.secret_access_key, token: None };
        let (endpoint, keys) = if s3 { (Some(access.endpoint_url), Some(keys)) } else { (None, None) };
        let store = StoreOptions { endpoint, keys, ..StoreOptions::default() };
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("large.nc");
        let mut data = vec![0; SIZE as usize];
        fastrand::Rng::with_seed(9).fill(&mut data);
        std::fs::write(&source, &data).unwrap();
        let ground = Self { emulator, store, s3, source, data, _folder: folder };
        ground.open("one").store.create_container(&Trace::detached()).await.unwrap();
        ground
    }

    fn url(&self, path: &str) -> String {
        if self.s3 { format!("s3://{path}") } else { format!("{}/{path}", self.emulator.endpoint()) }
    }

    fn open(&self, path: &str) -> Location {
        StoreOpener::new(self.store.clone()).unwrap().open(&self.url(path)).unwrap()
    }

    /// Runs a job of its own, as on a machine of its own.
    async fn run(&self, portion: Portion, source_etag: Option<&str>) -> (ObjectRecord, Summary) {
        let work = Work::Copy {
            sources: vec![self.source.to_str().unwrap().to_owned()],
            destination: self.url("one/large.nc"),
        };
        let options = CopyOptions {
            portion,
            source_etag: source_etag.map(str::to_owned),
            block_size: Setting::Fixed(ByteSize::new(BLOCK)),
            store: self.store.clone(),
            ..CopyOptions::default()
        };
        let mut job = Job::new(work, options).listen().start().unwrap();
        let mut ended = None;
        while let Some(event) = job.next_event().await {
            match event {
                Event::Object(record) => ended = Some(record),
                Event::Summary(summary) => return (ended.unwrap(), summary),
                _ => {}
            }
        }
        unreachable!("a job ends with its summary")
    }

    async fn stage(&self, offset: u64, len: u64, etag: Option<&str>) -> (ObjectRecord, Summary) {
        self.run(Portion::Stretch(BlockRange { offset, len }), etag).await
    }

    async fn is_there(&self) -> bool {
        let Location { store, key, .. } = self.open("one/large.nc");
        store.head(&key, &Trace::detached()).await.is_ok()
    }

    async fn get(&self) -> Vec<u8> {
        let Location { store, key, .. } = self.open("one/large.nc");
        let got = store.get(&key, &GetOptions::default(), &Trace::detached()).await.unwrap();
        got.payload.collect().await.unwrap().to_vec()
    }

    fn sent(&self) -> u64 {
        let stats = self.emulator.stats();
        ["PutBlock", "UploadPart"].into_iter().map(|api| stats.requests(api)).sum()
    }
}

fn failure(record: &ObjectRecord) -> ErrorKind {
    assert_eq!(record.outcome, Outcome::Failed);
    record.failure.as_ref().unwrap().kind
}

#[tokio::test(flavor = "multi_thread")]
async fn stretches_that_several_jobs_stage_become_one_object() {
    for s3 in [false, true] {
        let ground = Ground::new(s3).await;
        let (begun, _) = ground.stage(0, 0, None).await;
        assert_eq!((begun.outcome, begun.parts.len()), (Outcome::Staged, 0));
        let etag = begun.source_etag.as_deref();
        let (first, second, third) = tokio::join!(
            ground.stage(0, 2 * BLOCK, etag),
            ground.stage(2 * BLOCK, 2 * BLOCK, etag),
            ground.stage(4 * BLOCK, SIZE - 4 * BLOCK, etag),
        );
        assert!(!ground.is_there().await, "nobody sees what is staged");
        assert_eq!((second.1.bytes_done, second.1.objects_done), (2 * BLOCK, 1));
        let (sent, (again, summary)) = (ground.sent(), ground.stage(0, 2 * BLOCK, etag).await);
        assert_eq!((ground.sent(), summary.bytes_resumed), (sent, 2 * BLOCK), "it is there already");
        assert_eq!(again.parts, first.0.parts);
        let parts: Vec<PartRecord> =
            [third, first, second].into_iter().flat_map(|(record, _)| record.parts).collect();
        assert_eq!(parts.len(), 6);
        let (whole, _) = ground.run(Portion::Commit(parts.clone()), etag).await;
        assert_eq!((whole.outcome, whole.proof), (Outcome::Copied, Proof::Crc64), "{:?}", whole.failure);
        assert_eq!(whole.crc64, Some(Crc64::of(&ground.data)));
        assert!(ground.get().await == ground.data);
        assert_eq!(ground.sent(), sent, "to commit sends nothing");
        let (late, _) = ground.run(Portion::Commit(parts), etag).await;
        assert_eq!(late.outcome, Outcome::Skipped, "it is there");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_all_staged_is_not_committed() {
    for s3 in [false, true] {
        let ground = Ground::new(s3).await;
        let etag = ground.stage(0, 0, None).await.0.source_etag;
        let (first, _) = ground.stage(0, 4 * BLOCK, etag.as_deref()).await;
        let (gap, _) = ground.run(Portion::Commit(first.parts.clone()), None).await;
        assert_eq!(failure(&gap), ErrorKind::Usage);
        let (rest, _) = ground.stage(4 * BLOCK, SIZE - 4 * BLOCK, None).await;
        let mut parts = [first.parts, rest.parts].concat();
        parts[1].crc64 = Crc64::of(b"another");
        let (other, _) = ground.run(Portion::Commit(parts), None).await;
        assert_eq!(failure(&other), ErrorKind::NotFound);
        assert!(!ground.is_there().await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_of_another_version_is_neither_staged_nor_committed() {
    let ground = Ground::new(false).await;
    let (staged, _) = ground.stage(0, SIZE, None).await;
    std::fs::write(&ground.source, &ground.data[1..]).unwrap();
    let etag = staged.source_etag.as_deref();
    for portion in [Portion::Commit(staged.parts), Portion::Stretch(BlockRange { offset: 0, len: BLOCK })] {
        let (record, summary) = ground.run(portion, etag).await;
        assert_eq!((failure(&record), summary.exit_code), (ErrorKind::SourceChanged, 6));
    }
    assert!(!ground.is_there().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn stretches_that_no_part_can_begin_at_are_refused() {
    let ground = Ground::new(true).await;
    for (offset, len) in [(1, BLOCK), (0, BLOCK + 1), (0, SIZE + 1), (u64::MAX, 2)] {
        assert_eq!(failure(&ground.stage(offset, len, None).await.0), ErrorKind::Usage, "{offset} {len}");
    }
    let name = ground.source.to_str().unwrap().to_owned();
    let portion = || Portion::Stretch(BlockRange { offset: 0, len: 1 });
    for work in [
        Work::Copy { sources: vec![name.clone()], destination: "elsewhere".to_owned() },
        Work::Copy { sources: vec![name.clone(), name.clone()], destination: "s3://one/".to_owned() },
        Work::Copy { sources: vec!["-".to_owned()], destination: "s3://one/a".to_owned() },
    ] {
        let options = CopyOptions { portion: portion(), ..CopyOptions::default() };
        let refused = Job::new(work, options).start().unwrap_err();
        assert!(matches!(refused.kind(), ErrorKind::Usage | ErrorKind::Unsupported), "{refused}");
    }
}
