//! What every store promises of copies that its service makes by itself.

use std::sync::Arc;

use bytes::Bytes;
use haulage::checksum::Crc64;
use haulage::error::ErrorKind;
use haulage::store::{
    Attributes, BlockRange, BlockSizes, CopySource, GetOptions, Precondition, PutOptions, PutResult, Store,
    Trace,
};

const NAMES: [&str; 5] =
    ["plain", "hash#question?percent%41plus+colon:", "ümlaut/日本語/🌍", "amp&lt<gt>quote\"'", "a//b c/."];
const PART: usize = 5 << 20;

fn content(len: usize) -> Bytes {
    let mut random = fastrand::Rng::with_seed(len as u64);
    std::iter::repeat_with(|| random.u8(..)).take(len).collect()
}

fn options(data: &Bytes) -> PutOptions {
    let attributes = Attributes {
        crc64: Some(Crc64::of(data)),
        source_modified_ns: Some(1_700_000_000_000_000_000),
        content_type: Some("application/x-netcdf".to_owned()),
        ..Attributes::default()
    };
    let blocks = BlockSizes { wanted: PART as u64, ..BlockSizes::default() };
    PutOptions { attributes, blocks, ..PutOptions::default() }
}

async fn put(store: &Arc<dyn Store>, key: &str, data: &Bytes) -> String {
    try_put(store, key, data).await.unwrap()
}

async fn try_put(store: &Arc<dyn Store>, key: &str, data: &Bytes) -> haulage::error::Result<String> {
    store.put(key, data.clone().into(), &options(data), &Trace::detached()).await.map(|put| put.etag)
}

async fn get(store: &Arc<dyn Store>, key: &str) -> Bytes {
    let got = store.get(key, &GetOptions::default(), &Trace::detached()).await.unwrap();
    got.payload.collect().await.unwrap()
}

fn from<'a>(store: &'a Arc<dyn Store>, key: &'a str, data: &Bytes, etag: &'a str) -> CopySource<'a> {
    CopySource { store: &**store, key, size: data.len() as u64, etag, crc64: Some(Crc64::of(data)) }
}

/// Whether the service knows no such copies, as some emulators do not: then it says so.
fn lacks<T>(outcome: &haulage::error::Result<T>) -> bool {
    matches!(outcome, Err(error) if matches!(error.status(), Some(501)) || error.kind() == ErrorKind::Unsupported)
}

/// What the table says where objects pass this machine.
fn lacking(store: &Arc<dyn Store>) -> &'static str {
    if store.copies_from(&**store).is_some() { "it refuses" } else { "no service" }
}

pub(crate) async fn the_service_copies_whole_objects(store: Arc<dyn Store>) -> &'static str {
    store.create_container(&Trace::detached()).await.unwrap();
    let (data, mut note) = (content(100_000), "");
    for name in NAMES.into_iter().filter(|name| !name.ends_with("/.") || store.name("").starts_with("s3://"))
    {
        let etag = match try_put(&store, name, &data).await {
            Err(error) if name.ends_with("/.") && error.kind() == ErrorKind::Unsupported => {
                note = "no name with `.` between slashes";
                continue;
            }
            etag => etag.unwrap(),
        };
        let (key, source) = (format!("copy of {name}"), from(&store, name, &data, &etag));
        let copied: haulage::error::Result<PutResult> =
            store.copy(&source, &key, &options(&data), &Trace::detached()).await;
        if store.copies_from(&*store).is_none() || lacks(&copied) {
            assert!(lacks(&copied), "{copied:?}");
            assert!(store.head(&key, &Trace::detached()).await.is_err(), "nothing was made");
            return lacking(&store);
        }
        let copied = copied.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(copied.crc64.is_none_or(|crc64| crc64 == Crc64::of(&data)));
        assert!(get(&store, &key).await == data, "{name}");
        let there = store.head(&key, &Trace::detached()).await.unwrap();
        assert_eq!(there.etag, copied.etag);
        assert_eq!(there.source_modified_ns, Some(1_700_000_000_000_000_000));
        assert_eq!(there.content_type.as_deref(), Some("application/x-netcdf"));
    }
    let old = put(&store, "changed", &data).await;
    put(&store, "changed", &content(100_001)).await;
    let source = from(&store, "changed", &data, &old);
    let refused = store.copy(&source, "stale", &options(&data), &Trace::detached()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::SourceChanged, "{refused}");
    assert!(store.head("stale", &Trace::detached()).await.is_err());
    if store.copies_from(&*store).is_some_and(|rules| rules.guarded) {
        let etag = put(&store, "plain", &data).await;
        let guarded = PutOptions { precondition: Precondition::IfAbsent, ..options(&data) };
        let source = from(&store, "plain", &data, &etag);
        let refused = store.copy(&source, "changed", &guarded, &Trace::detached()).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Exists, "{refused}");
    }
    note
}

pub(crate) async fn the_service_copies_blocks(store: Arc<dyn Store>) -> &'static str {
    store.create_container(&Trace::detached()).await.unwrap();
    let data = content(2 * PART + 1_000);
    let etag = put(&store, "source", &data).await;
    let source = from(&store, "source", &data, &etag);
    let writer =
        store.begin("target", Some(data.len() as u64), &options(&data), &Trace::detached()).await.unwrap();
    let range = |number: usize| {
        let offset = number * PART;
        BlockRange { offset: offset as u64, len: PART.min(data.len() - offset) as u64 }
    };
    let first = writer.copy_block(range(0), &source, &Trace::detached()).await;
    if store.copies_from(&*store).is_none() || lacks(&first) {
        assert!(lacks(&first), "{first:?}");
        writer.abandon().await;
        return lacking(&store);
    }
    let mut parts = vec![first.unwrap().part];
    // Beside those that were sent, and sent again.
    let sent = data.slice(PART..2 * PART);
    parts.push(writer.put_block(range(1), sent.into(), &Trace::detached()).await.unwrap().part);
    writer.copy_block(range(2), &source, &Trace::detached()).await.unwrap();
    parts.push(writer.copy_block(range(2), &source, &Trace::detached()).await.unwrap().part);
    for (number, part) in parts.iter().enumerate() {
        let bytes = data.slice(range(number).offset as usize..range(number).end() as usize);
        assert!(part.unstated || part.id.crc64 == Crc64::of(&bytes));
    }
    let stale = CopySource { etag: "0x1234", ..source };
    let refused = writer.copy_block(range(2), &stale, &Trace::detached()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::SourceChanged, "{refused}");

    let again =
        store.begin("target", Some(data.len() as u64), &options(&data), &Trace::detached()).await.unwrap();
    for block in again.staged(&Trace::detached()).await.unwrap() {
        assert!(!again.is_copy(&block, &stale), "of another version");
        let known = again.is_copy(&block, &source) || block.checksum.is_some();
        assert!(known || store.name("").starts_with("s3://"), "{block:?}");
    }
    let attributes = Attributes { crc64: Some(Crc64::of(&data)), ..options(&data).attributes };
    let made = writer.commit(&parts, &attributes, &Trace::detached()).await.unwrap();
    assert!(made.crc64.is_none_or(|crc64| crc64 == Crc64::of(&data)));
    assert!(get(&store, "target").await == data);
    ""
}
