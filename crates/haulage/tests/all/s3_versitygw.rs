//! The S3 client against versitygw, an implementation that is not ours.
//!
//! Runs where `HAUL_TEST_VERSITYGW` names its URL and the variables of AWS its keys: `scripts/with-versitygw.sh` starts one.
//! In CI the variable must be there.

// A person reads why nothing ran.
#![allow(clippy::print_stderr)]

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use haulage::ErrorKind;
use haulage::checksum::{Checksum, ChecksumMode, Crc64, Md5};
use haulage::http::{HttpClient, HttpOptions};
use haulage::store::s3::S3Store;
use haulage::store::{
    Attributes, BlockRange, BlockSizes, GetOptions, ListRequest, ObjectMeta, Payload, Precondition,
    PutOptions, Store, StoreOptions, Trace,
};

const MIB: u64 = 1 << 20;

fn endpoint() -> Option<String> {
    match std::env::var("HAUL_TEST_VERSITYGW") {
        Ok(url) => Some(url),
        Err(_) if std::env::var_os("CI").is_some() => {
            panic!("CI must set HAUL_TEST_VERSITYGW to the URL of versitygw")
        }
        Err(_) => {
            eprintln!("not run: HAUL_TEST_VERSITYGW names no server");
            None
        }
    }
}

fn trace() -> Trace {
    Trace::detached()
}

fn open(bucket: &str, options: &StoreOptions) -> S3Store {
    S3Store::open(bucket, options, HttpClient::new(HttpOptions::default()).unwrap()).unwrap()
}

fn options(endpoint: &str) -> StoreOptions {
    StoreOptions { endpoint: Some(endpoint.to_owned()), ..StoreOptions::default() }
}

fn name() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    format!("haul-test-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed))
}

/// A bucket of this test alone.
async fn bucket(endpoint: &str) -> S3Store {
    let store = open(&name(), &options(endpoint));
    store.create_container(&trace()).await.unwrap();
    store
}

/// The same bucket, as another process sees it.
fn other(endpoint: &str, store: &S3Store) -> S3Store {
    open(store.bucket(), &options(endpoint))
}

/// In parts of so many mebibytes.
fn in_parts(mib: u64) -> PutOptions {
    let blocks = BlockSizes { wanted: mib * MIB, ..BlockSizes::default() };
    PutOptions { blocks, ..PutOptions::default() }
}

fn content(len: u64) -> Bytes {
    let mut random = fastrand::Rng::with_seed(len);
    std::iter::repeat_with(|| random.u8(..)).take(len as usize).collect()
}

fn slice(data: &Bytes, offset: u64, len: u64) -> (BlockRange, Payload) {
    let range = BlockRange { offset, len };
    (range, Payload::Bytes(data.slice(offset as usize..range.end() as usize)))
}

async fn read(store: &S3Store, key: &str) -> Bytes {
    store.get(key, &GetOptions::default(), &trace()).await.unwrap().payload.collect().await.unwrap()
}

async fn list(store: &S3Store, request: ListRequest) -> Vec<ObjectMeta> {
    let (mut found, mut lister) = (Vec::new(), store.list(request));
    while let Some(page) = lister.next_page(&trace()).await.unwrap() {
        found.extend(page.objects);
    }
    found
}

async fn leftovers(store: &S3Store) -> Vec<String> {
    let found = list(store, ListRequest { leftovers: true, ..ListRequest::default() }).await;
    found.into_iter().map(|leftover| leftover.key).collect()
}

#[tokio::test]
async fn what_is_put_comes_back_with_its_attributes() {
    let Some(endpoint) = endpoint() else { return };
    let store = bucket(&endpoint).await;
    for mode in [ChecksumMode::Crc64, ChecksumMode::Md5, ChecksumMode::None] {
        let attributes = Attributes {
            crc64: Some(Crc64::of(b"123456789")),
            md5: Some(Md5::of(b"123456789")),
            source_modified_ns: Some(1_700_000_000_123_456_789),
            ..Attributes::default()
        };
        let options = PutOptions { attributes, checksum: mode, ..PutOptions::default() };
        let seen = trace();
        let payload = Payload::from(Bytes::from_static(b"123456789"));
        let put = store.put("dir/a b+c.nc", payload, &options, &seen).await.unwrap();
        assert_eq!(put.confirmed, mode != ChecksumMode::None, "{mode:?}");
        let seen = seen.take();
        assert_eq!(seen.status, Some(200));
        assert!(seen.connection > 0 && seen.phases.committed_ns >= seen.phases.first_byte_ns);
        let meta = store.head("dir/a b+c.nc", &trace()).await.unwrap();
        assert_eq!((meta.size, meta.etag.as_str()), (9, put.etag.as_str()));
        assert_eq!((meta.crc64, meta.md5), (Some(Crc64::of(b"123456789")), Some(Md5::of(b"123456789"))));
        assert_eq!(meta.source_modified_ns, Some(1_700_000_000_123_456_789));
        assert_eq!(meta.content_type.as_deref(), Some("application/netcdf"));
        let got = store.get("dir/a b+c.nc", &GetOptions::default(), &trace()).await.unwrap();
        // A head may say nothing of tags.
        assert_eq!(ObjectMeta { properties: meta.properties.clone(), ..got.meta }, meta);
        assert_eq!(got.payload.collect().await.unwrap(), "123456789");
        let listed = list(&store, ListRequest::default()).await.remove(0);
        assert_eq!((listed.key.as_str(), listed.etag), ("dir/a b+c.nc", meta.etag));
        assert_eq!((listed.md5, listed.crc64), (None, None), "an ETag is no MD5");
    }
}

#[tokio::test]
async fn the_services_own_crc64_comes_with_the_object() {
    let Some(endpoint) = endpoint() else { return };
    let store = bucket(&endpoint).await;
    store.put("k", Bytes::from_static(b"abc").into(), &PutOptions::default(), &trace()).await.unwrap();
    let got = store.get("k", &GetOptions::default(), &trace()).await.unwrap();
    assert_eq!(got.crc64, Some(Crc64::of(b"abc")));
    let range = Some(BlockRange { offset: 1, len: 1 });
    let part = store.get("k", &GetOptions { range, ..GetOptions::default() }, &trace()).await.unwrap();
    assert_eq!((part.crc64, part.meta.size), (None, 3), "what is stated is stated of the whole");
    assert_eq!(part.payload.collect().await.unwrap(), "b");
}

#[tokio::test]
async fn an_upload_is_gone_on_with_by_another_process_with_other_parts() {
    let Some(endpoint) = endpoint() else { return };
    let store = bucket(&endpoint).await;
    let data = content(22 * MIB);
    let size = Some(22 * MIB);
    let attributes = Attributes { source_modified_ns: Some(5), ..Attributes::default() };
    let options = PutOptions { attributes, ..in_parts(8) };
    let one = store.begin("big", size, &options, &trace()).await.unwrap();
    assert_eq!(one.staged(&trace()).await.unwrap(), []);
    let (range, block) = slice(&data, 8 * MIB, 8 * MIB);
    let stored = one.put_block(range, block, &trace()).await.unwrap();
    assert!(stored.confirmed);

    let smaller = PutOptions { attributes: options.attributes.clone(), ..in_parts(5) };
    let late = other(&endpoint, &store).begin("big", size, &smaller, &trace()).await.unwrap();
    let staged = late.staged(&trace()).await.unwrap();
    assert_eq!(staged.iter().map(|part| part.range).collect::<Vec<_>>(), [stored.part.id.range]);
    assert_eq!(staged[0].checksum, Some(Checksum::Crc64(stored.part.id.crc64)));
    assert_eq!(staged[0].token, stored.part.token, "both name it alike");
    assert_eq!(late.block_len(0), Some(8 * MIB), "the size that the first has chosen");
    assert_eq!(leftovers(&store).await.len(), 1, "no second upload is begun");
    let mut parts = Vec::new();
    for (offset, len) in [(0, 8), (16, 6)] {
        let (range, block) = slice(&data, offset * MIB, len * MIB);
        parts.push(late.put_block(range, block, &trace()).await.unwrap().part);
    }
    parts.insert(1, stored.part);
    let whole = Crc64::of(&data);
    let wrong = Attributes { crc64: Some(Crc64::from_u64(1)), ..Attributes::default() };
    assert_eq!(late.commit(&parts, &wrong, &trace()).await.unwrap_err().kind(), ErrorKind::Integrity);
    assert_eq!(late.commit(&parts[1..], &wrong, &trace()).await.unwrap_err().kind(), ErrorKind::Integrity);
    let right = Attributes { crc64: Some(whole), ..options.attributes.clone() };
    let done = late.commit(&parts, &right, &trace()).await.unwrap();
    assert_eq!((done.crc64, done.confirmed), (Some(whole), true));
    let meta = store.head("big", &trace()).await.unwrap();
    assert_eq!((meta.size, meta.crc64, meta.source_modified_ns), (22 * MIB, Some(whole), Some(5)));
    assert_eq!((meta.etag, read(&store, "big").await), (done.etag, data));
    assert!(leftovers(&store).await.is_empty());
    // A commit whose answer was lost is asked for again.
    let again = late.commit(&parts, &right, &trace()).await.unwrap();
    assert_eq!((again.crc64, again.confirmed), (Some(whole), true));
}

#[tokio::test]
async fn an_upload_of_other_parts_or_of_an_older_source_is_left_alone() {
    let Some(endpoint) = endpoint() else { return };
    let store = bucket(&endpoint).await;
    let data = content(20 * MIB);
    // Of an object of another size: no last part of ours is as long.
    let foreign = store.begin("k", Some(13 * MIB), &in_parts(8), &trace()).await.unwrap();
    for (offset, len) in [(0, 8), (8, 5)] {
        let (range, block) = slice(&data, offset * MIB, len * MIB);
        foreign.put_block(range, block, &trace()).await.unwrap();
    }
    let own = store.begin("k", Some(20 * MIB), &in_parts(8), &trace()).await.unwrap();
    assert_eq!(own.staged(&trace()).await.unwrap(), []);
    assert_eq!(leftovers(&store).await.len(), 2);
    own.abandon().await;
    assert_eq!(leftovers(&store).await.len(), 1, "of ours nothing is left");
    // Larger parts than there is memory for.
    let blocks = BlockSizes { wanted: 5 * MIB, most: 6 * MIB, ..BlockSizes::default() };
    let modest = PutOptions { blocks, ..PutOptions::default() };
    let own = store.begin("k", Some(13 * MIB), &modest, &trace()).await.unwrap();
    assert_eq!((own.staged(&trace()).await.unwrap(), own.block_len(0)), (Vec::new(), Some(5 * MIB)));
    own.abandon().await;
    // The source has changed after the upload began.
    let (range, block) = slice(&data, 0, 5 * MIB);
    let old = store.begin("old", Some(20 * MIB), &in_parts(5), &trace()).await.unwrap();
    old.put_block(range, block, &trace()).await.unwrap();
    let changed_ns = i128::from(u32::MAX) * 1_000_000_000;
    let attributes = Attributes { source_modified_ns: Some(changed_ns), ..Attributes::default() };
    let newer = PutOptions { attributes, ..in_parts(5) };
    let new = store.begin("old", Some(20 * MIB), &newer, &trace()).await.unwrap();
    assert_eq!(new.staged(&trace()).await.unwrap(), []);
}

#[tokio::test]
async fn what_an_older_run_said_of_the_object_is_mended() {
    let Some(endpoint) = endpoint() else { return };
    let store = bucket(&endpoint).await;
    let data = content(6 * MIB);
    let with = |ns| PutOptions {
        attributes: Attributes { source_modified_ns: Some(ns), ..Attributes::default() },
        ..PutOptions::default()
    };
    store.begin("k", Some(6 * MIB), &with(1), &trace()).await.unwrap();
    let writer = store.begin("k", Some(6 * MIB), &with(2), &trace()).await.unwrap();
    let (range, block) = slice(&data, 0, 6 * MIB);
    let part = writer.put_block(range, block, &trace()).await.unwrap().part;
    let attributes = Attributes { md5: Some(Md5::of(&data)), ..with(2).attributes };
    let done = writer.commit(&[part], &attributes, &trace()).await.unwrap();
    let meta = store.head("k", &trace()).await.unwrap();
    assert_eq!((meta.source_modified_ns, meta.md5), (Some(2), Some(Md5::of(&data))));
    assert_eq!((meta.etag, meta.crc64), (done.etag, Some(Crc64::of(&data))));
    assert_eq!(read(&store, "k").await, data);
}

#[tokio::test]
async fn a_part_that_was_overwritten_makes_no_object() {
    let Some(endpoint) = endpoint() else { return };
    let store = bucket(&endpoint).await;
    let data = content(11 * MIB);
    let options = in_parts(6);
    let one = store.begin("k", Some(11 * MIB), &options, &trace()).await.unwrap();
    let mut parts = Vec::new();
    for (offset, len) in [(0, 6), (6, 5)] {
        let (range, block) = slice(&data, offset * MIB, len * MIB);
        parts.push(one.put_block(range, block, &trace()).await.unwrap().part);
    }
    // An attempt that was given up long ago lands now.
    let late = other(&endpoint, &store).begin("k", Some(11 * MIB), &options, &trace()).await.unwrap();
    let (range, _) = slice(&data, 0, 6 * MIB);
    late.put_block(range, Payload::Bytes(Bytes::from(vec![7; 6 << 20])), &trace()).await.unwrap();
    let error = one.commit(&parts, &Attributes::default(), &trace()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Service, "{error}");
    assert_eq!(store.head("k", &trace()).await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn streams_are_cut_by_the_schedule_and_may_be_empty() {
    let Some(endpoint) = endpoint() else { return };
    let store = bucket(&endpoint).await;
    let data = content(19 * MIB);
    let writer = store.begin("stream", None, &in_parts(8), &trace()).await.unwrap();
    assert_eq!((writer.block_len(0), writer.block_len(8 * MIB)), (Some(8 * MIB), Some(8 * MIB)));
    let mut parts = Vec::new();
    for (offset, len) in [(0, 8), (8, 8), (16, 3)] {
        let (range, block) = slice(&data, offset * MIB, len * MIB);
        parts.push(writer.put_block(range, block, &trace()).await.unwrap().part);
    }
    writer.commit(&parts, &Attributes::default(), &trace()).await.unwrap();
    assert_eq!(read(&store, "stream").await, data);
    let empty = store.begin("empty", None, &PutOptions::default(), &trace()).await.unwrap();
    let put = empty.commit(&[], &Attributes::default(), &trace()).await.unwrap();
    assert_eq!(put.crc64, Some(Crc64::EMPTY));
    assert_eq!(store.head("empty", &trace()).await.unwrap().size, 0);
    assert!(leftovers(&store).await.is_empty());
    let short = BlockRange { offset: 0, len: MIB };
    let sized = store.begin("sized", Some(20 * MIB), &PutOptions::default(), &trace()).await.unwrap();
    let error = sized.put_block(short, Bytes::new().into(), &trace()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    sized.abandon().await;
}

#[tokio::test]
async fn preconditions_hold_objects_still() {
    let Some(endpoint) = endpoint() else { return };
    let store = bucket(&endpoint).await;
    let put = async |body: &'static [u8], precondition: &Precondition| {
        let options = PutOptions { precondition: precondition.clone(), ..PutOptions::default() };
        store.put("k", Bytes::from_static(body).into(), &options, &trace()).await
    };
    let etag = put(b"one", &Precondition::IfAbsent).await.unwrap().etag;
    assert_eq!(put(b"two", &Precondition::IfAbsent).await.unwrap_err().kind(), ErrorKind::Exists);
    let same = Precondition::IfMatch(etag.clone());
    put(b"two", &same).await.unwrap();
    assert_eq!(put(b"three", &same).await.unwrap_err().kind(), ErrorKind::Exists);
    let read_old = GetOptions { if_match: Some(etag.into()), ..GetOptions::default() };
    let error = store.get("k", &read_old, &trace()).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::SourceChanged, Some(412)));
    let data = content(5 * MIB);
    let absent = PutOptions { precondition: Precondition::IfAbsent, ..PutOptions::default() };
    let writer = store.begin("k", Some(5 * MIB), &absent, &trace()).await.unwrap();
    let (range, block) = slice(&data, 0, 5 * MIB);
    let part = writer.put_block(range, block, &trace()).await.unwrap().part;
    let error = writer.commit(&[part], &Attributes::default(), &trace()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exists, "{error}");
    assert_eq!(read(&store, "k").await, "two");
}

#[tokio::test]
async fn bytes_that_do_not_fit_their_checksum_get_no_name() {
    let Some(endpoint) = endpoint() else { return };
    let store = bucket(&endpoint).await;
    for checksum in [ChecksumMode::Md5, ChecksumMode::Crc64] {
        // In the first case the service compares, in the second we do.
        let attributes = Attributes { md5: Some(Md5::of(b"y")), ..Attributes::default() };
        let wrong = PutOptions { attributes, checksum, ..PutOptions::default() };
        let put = store.put("k", Bytes::from_static(b"x").into(), &wrong, &trace()).await;
        assert_eq!(put.unwrap_err().kind(), ErrorKind::Integrity);
    }
    // The service compares a CRC64 too.
    let wrong = Payload::Hashed(Bytes::from_static(b"x"), Crc64::of(b"y"));
    let error = store.put("k", wrong, &PutOptions::default(), &trace()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Integrity, "{error}");
    assert_eq!(store.head("k", &trace()).await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn objects_and_ranges_are_copied_by_the_service() {
    let Some(endpoint) = endpoint() else { return };
    let store = bucket(&endpoint).await;
    let target = bucket(&endpoint).await;
    let put = store.put("a b/ü", content(MIB).into(), &PutOptions::default(), &trace()).await.unwrap();
    let from = (&store, "a b/ü", Some(put.etag.as_str()));
    let attributes = Attributes { source_modified_ns: Some(9), ..Attributes::default() };
    target.copy_object(from, "copy", Some(&attributes), &trace()).await.unwrap();
    assert_eq!(read(&target, "copy").await, content(MIB));
    assert_eq!(target.head("copy", &trace()).await.unwrap().source_modified_ns, Some(9));
    let stale = (&store, "a b/ü", Some("0000"));
    let error = target.copy_object(stale, "copy", None, &trace()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SourceChanged, "{error}");
    let writer = target.begin("part", Some(1000), &PutOptions::default(), &trace()).await.unwrap();
    let left = leftovers(&target).await.remove(0);
    let id = left.rsplit_once('=').unwrap().1;
    let range = BlockRange { offset: 10, len: 1000 };
    let (etag, _) = target.copy_part(from, range, "part", (id, 1), &trace()).await.unwrap();
    assert!(!etag.is_empty());
    writer.abandon().await;
}

#[tokio::test]
async fn lists_come_in_pages_and_fold() {
    let Some(endpoint) = endpoint() else { return };
    let store = bucket(&endpoint).await;
    assert_eq!(list(&store, ListRequest::default()).await, []);
    // More than the 1,000 of a page.
    let puts = (0..1_101).map(|i| {
        let store = store.clone();
        async move {
            let options = PutOptions::default();
            store
                .put(&format!("d{}/{i:05} +%", i % 3), Bytes::new().into(), &options, &trace())
                .await
                .unwrap();
        }
    });
    use futures_util::StreamExt as _;
    futures_util::stream::iter(puts).buffer_unordered(8).collect::<Vec<_>>().await;
    for begin_small in [false, true] {
        let all = list(&store, ListRequest { begin_small, ..ListRequest::default() }).await;
        assert_eq!(all.len(), 1_101);
        assert!(all.is_sorted_by(|a, b| a.key < b.key));
        assert_eq!(all[0].key, "d0/00000 +%");
    }
    let mut lister = store.list(ListRequest { hierarchical: true, ..ListRequest::default() });
    let page = lister.next_page(&trace()).await.unwrap().unwrap();
    assert_eq!((page.objects.len(), page.prefixes), (0, vec!["d0/".to_owned(), "d1/".into(), "d2/".into()]));
    let names = store.list_buckets(&trace()).await.unwrap();
    assert!(names.iter().any(|name| name == store.bucket()));
    let error = store.delete_container(&trace()).await.unwrap_err();
    assert_eq!(error.service_code(), Some("BucketNotEmpty"), "what is in it is deleted only by name");
    let keys: Vec<String> =
        list(&store, ListRequest::default()).await.into_iter().map(|one| one.key).collect();
    for some in keys.chunks(store.delete_max()) {
        store.delete_many(some, &trace()).await.unwrap().into_iter().for_each(|deleted| deleted.unwrap());
    }
    store.delete_container(&trace()).await.unwrap();
    let error = store.list(ListRequest::default()).next_page(&trace()).await.unwrap_err();
    assert_eq!((error.kind(), error.cause()), (ErrorKind::NotFound, "no such bucket"));
}

#[tokio::test]
async fn who_is_not_let_in_learns_why() {
    let Some(endpoint) = endpoint() else { return };
    let store = bucket(&endpoint).await;
    let unsigned = open(store.bucket(), &StoreOptions { unsigned: true, ..options(&endpoint) });
    let error = unsigned.list(ListRequest::default()).next_page(&trace()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Permission, "{error}");
    assert_eq!(error.hint_text(), Some("leave out --no-sign-request, and give credentials"));
    // A region that is not the server's: the service says which is.
    let elsewhere =
        open(store.bucket(), &StoreOptions { region: Some("eu-west-1".into()), ..options(&endpoint) });
    let found = elsewhere.list(ListRequest::default()).next_page(&trace()).await;
    assert!(found.is_ok() || found.unwrap_err().hint_text().is_some());
    assert_eq!(store.find_region(&trace()).await.unwrap(), "us-east-1");
}
