//! One object by several jobs, as several machines move it: stretches are staged, then committed together.

use std::path::PathBuf;

use haulage::checksum::{ChecksumMode, Crc64, Md5};
use haulage::error::ErrorKind;
use haulage::event::{Event, ObjectRecord, Outcome, PartRecord, Proof, Summary};
use haulage::job::{Portion, Setting, Work};
use haulage::store::{BlockRange, GetOptions, Location, Trace};
use haulage::units::ByteSize;
use haulage::{CopyOptions, Job};

use crate::ground;

const MIB: u64 = 1 << 20;
const SIZE: u64 = 40 * MIB + 77;
const BLOCK: u64 = 8 * MIB;

/// A file, and where it goes.
struct Ground {
    at: ground::Ground,
    source: PathBuf,
    data: Vec<u8>,
    block: u64,
    content_md5: bool,
    _folder: tempfile::TempDir,
}

impl Ground {
    async fn new(s3: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("large.nc");
        let mut data = vec![0; SIZE as usize];
        fastrand::Rng::with_seed(9).fill(&mut data);
        std::fs::write(&source, &data).unwrap();
        let at = ground::Ground::new(s3, "").await;
        Self { at, source, data, block: BLOCK, content_md5: false, _folder: folder }
    }

    /// Runs a job of its own, as on a machine of its own.
    async fn run(&self, portion: Portion, source_etag: Option<&str>) -> (ObjectRecord, Summary) {
        let work = Work::Copy {
            sources: vec![self.source.to_str().unwrap().to_owned()],
            destination: self.at.url("one/large.nc"),
        };
        let options = CopyOptions {
            portion,
            source_etag: source_etag.map(str::to_owned),
            block_size: Setting::Fixed(ByteSize::new(self.block)),
            content_md5: self.content_md5,
            store: self.at.store.clone(),
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
        let Location { store, key, .. } = self.at.open("one/large.nc");
        store.head(&key, &Trace::detached()).await.is_ok()
    }

    async fn get(&self) -> Vec<u8> {
        let Location { store, key, .. } = self.at.open("one/large.nc");
        let got = store.get(&key, &GetOptions::default(), &Trace::detached()).await.unwrap();
        got.payload.collect().await.unwrap().to_vec()
    }

    fn sent(&self) -> u64 {
        let stats = self.at.emulator.stats();
        ["PutBlock", "UploadPart"].into_iter().map(|api| stats.requests(api)).sum()
    }
}

fn assert_failed(record: &ObjectRecord, kind: ErrorKind, hint: &str) {
    assert_eq!(record.outcome, Outcome::Failed);
    let failure = record.failure.as_ref().unwrap();
    assert_eq!((failure.kind, failure.hint.as_deref()), (kind, Some(hint)), "{}", failure.cause);
}

/// What a job says that is refused before it begins.
fn assert_refused(work: Work, options: CopyOptions, hint: &str) {
    assert_eq!(Job::new(work, options).start().unwrap_err().hint_text(), Some(hint));
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
        let etag = etag.as_deref();
        let (first, _) = ground.stage(0, 4 * BLOCK, etag).await;
        let (gap, _) = ground.run(Portion::Commit(first.parts.clone()), etag).await;
        assert_failed(&gap, ErrorKind::Usage, "name the parts of all stretches");
        let (rest, _) = ground.stage(4 * BLOCK, SIZE - 4 * BLOCK, etag).await;
        let mut parts = [first.parts, rest.parts].concat();
        let true_parts = parts.clone();
        parts[1].crc64 = Crc64::of(b"another");
        let (other, _) = ground.run(Portion::Commit(parts.clone()), etag).await;
        assert_failed(&other, ErrorKind::NotFound, "stage that stretch again, then commit");
        parts[1].offset_bytes = u64::MAX;
        let (nowhere, _) = ground.run(Portion::Commit(parts), etag).await;
        assert_failed(&nowhere, ErrorKind::NotFound, "stage that stretch again, then commit");
        assert!(!ground.is_there().await);
        let (whole, summary) = ground.run(Portion::Commit(true_parts), etag).await;
        assert_eq!(whole.outcome, Outcome::Copied, "what failed has left all that others have staged");
        assert_eq!(summary.bytes_resumed, SIZE, "and none of it was moved now");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_may_store_the_md5_of_the_whole() {
    for s3 in [false, true] {
        let mut ground = Ground::new(s3).await;
        ground.content_md5 = true;
        let etag = ground.stage(0, 0, None).await.0.source_etag;
        let (staged, _) = ground.stage(0, SIZE, etag.as_deref()).await;
        let (whole, _) = ground.run(Portion::Commit(staged.parts), etag.as_deref()).await;
        assert_eq!(whole.md5, Some(Md5::of(&ground.data)), "{:?}", whole.failure);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_of_another_layout_are_left_alone() {
    let mut ground = Ground::new(true).await;
    let etag = ground.stage(0, 0, None).await.0.source_etag;
    ground.stage(0, BLOCK, etag.as_deref()).await;
    ground.block = 2 * BLOCK;
    let (unbegun, _) = ground.stage(0, 2 * BLOCK, etag.as_deref()).await;
    let hint = "begin it once, with a stretch of no bytes and this block size, then stage stretches of it";
    assert_failed(&unbegun, ErrorKind::NotFound, hint);
    ground.stage(0, 0, None).await;
    let (staged, _) = ground.stage(0, 2 * BLOCK, etag.as_deref()).await;
    assert_eq!(staged.outcome, Outcome::Staged, "{:?}", staged.failure);
    ground.block = BLOCK;
    let (before, summary) = ground.stage(0, BLOCK, etag.as_deref()).await;
    assert_eq!(
        (before.outcome, summary.bytes_resumed),
        (Outcome::Staged, BLOCK),
        "and the first is still there"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_of_another_version_is_neither_staged_nor_committed() {
    let ground = Ground::new(false).await;
    let etag = ground.stage(0, 0, None).await.0.source_etag;
    let (staged, _) = ground.stage(0, SIZE, etag.as_deref()).await;
    std::fs::write(&ground.source, &ground.data[1..]).unwrap();
    let etag = etag.as_deref();
    for portion in [Portion::Commit(staged.parts), Portion::Stretch(BlockRange { offset: 0, len: BLOCK })] {
        let (record, summary) = ground.run(portion, etag).await;
        assert_failed(&record, ErrorKind::SourceChanged, "start over with the version that is there");
        assert_eq!(summary.exit_code, 6);
    }
    assert!(!ground.is_there().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn stretches_that_no_part_can_begin_at_are_refused() {
    let ground = Ground::new(true).await;
    let etag = ground.stage(0, 0, None).await.0.source_etag;
    for (offset, len) in [(1, BLOCK), (0, BLOCK + 1), (0, SIZE + 1), (u64::MAX, 2)] {
        let (refused, _) = ground.stage(offset, len, etag.as_deref()).await;
        let hint = "fix the block size, and let each stretch begin at a multiple of it";
        assert_failed(&refused, ErrorKind::Usage, hint);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_several_jobs_cannot_move_together_is_refused() {
    let ground = Ground::new(true).await;
    let name = ground.source.to_str().unwrap().to_owned();
    let to =
        |sources: Vec<String>, destination: &str| Work::Copy { sources, destination: destination.to_owned() };
    let options = || CopyOptions {
        portion: Portion::Stretch(BlockRange { offset: 0, len: 1 }),
        source_etag: Some("x".to_owned()),
        store: ground.at.store.clone(),
        ..CopyOptions::default()
    };
    let one = || to(vec![name.clone()], "s3://one/a");
    assert_refused(to(vec![name.clone(), name.clone()], "s3://one/"), options(), "name one source");
    assert_refused(to(vec![name.clone()], "elsewhere"), options(), "copy it whole");
    assert_refused(to(vec!["-".to_owned()], "s3://one/a"), options(), "copy it whole");
    let unversioned = CopyOptions { source_etag: None, ..options() };
    let hint = "begin it with a stretch of no bytes, and give the ETag that this tells to the others";
    assert_refused(one(), unversioned, hint);
    let unchecked = CopyOptions { checksum: ChecksumMode::None, ..options() };
    assert_refused(one(), unchecked, "leave out --checksum none");
    assert_refused(one(), CopyOptions { atomic: true, ..options() }, "leave out --atomic for portions");
    let folder = ground.source.parent().unwrap().to_str().unwrap().to_owned();
    let tree = Job::new(to(vec![folder], "s3://one/tree"), options()).start().unwrap();
    assert_eq!(tree.wait().await.unwrap_err().hint_text(), Some("name one object"));
}
