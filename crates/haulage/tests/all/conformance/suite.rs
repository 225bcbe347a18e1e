//! What every store promises.

use std::sync::Arc;

use bytes::Bytes;
use haulage::checksum::{ChecksumMode, Crc64, Md5};
use haulage::error::ErrorKind;
use haulage::store::{
    Attributes, BlockRange, BlockSizes, CutRules, GetOptions, ListRequest, ObjectMeta, Payload, Precondition,
    Properties, PutOptions, Store, Tags, Trace,
};

const AWKWARD: [&str; 12] = [
    "plain",
    ".leading-dot",
    "space in name",
    "hash#question?percent%41plus+colon:",
    "ümlaut/日本語/🌍",
    "a/b/c/d/e/f",
    "a.b/c",
    "a/b.c",
    "amp&lt<gt>quote\"'",
    "semi;comma,equals=at@",
    "tilde~and(parens)[brackets]{braces}",
    "UPPER/lower",
];

/// S3's lists carry neither metadata nor checksums, and its deletes do not say whether anything was there.
pub(crate) fn is_s3(store: &Arc<dyn Store>) -> bool {
    store.name("").starts_with("s3://")
}

pub(crate) fn bytes(len: usize) -> Bytes {
    // A fixed generator, so that a failure can be seen again.
    let mut random = fastrand::Rng::with_seed(len as u64);
    std::iter::repeat_with(|| random.u8(..)).take(len).collect()
}

fn options(data: &Bytes) -> PutOptions {
    PutOptions {
        attributes: Attributes { crc64: Some(Crc64::of(data)), ..Attributes::default() },
        ..PutOptions::default()
    }
}

/// In blocks of this size, where all must be of one.
pub(crate) fn in_blocks(size: usize) -> PutOptions {
    let blocks = BlockSizes { wanted: size as u64, ..BlockSizes::default() };
    PutOptions { blocks, ..PutOptions::default() }
}

pub(crate) async fn container(store: &Arc<dyn Store>) {
    store.create_container(&Trace::detached()).await.unwrap();
}

pub(crate) async fn put(store: &Arc<dyn Store>, key: &str, data: &Bytes) -> String {
    let put = store.put(key, data.clone().into(), &options(data), &Trace::detached()).await;
    put.unwrap_or_else(|error| panic!("{error}")).etag
}

pub(crate) async fn get(store: &Arc<dyn Store>, key: &str) -> Bytes {
    let got = store.get(key, &GetOptions::default(), &Trace::detached()).await.unwrap();
    got.payload.collect().await.unwrap()
}

async fn keys(store: &Arc<dyn Store>, prefix: &str, hierarchical: bool) -> (Vec<String>, Vec<String>) {
    let mut lister =
        store.list(ListRequest { prefix: prefix.into(), hierarchical, ..ListRequest::default() });
    let (mut keys, mut prefixes) = (Vec::new(), Vec::new());
    while let Some(page) = lister.next_page(&Trace::detached()).await.unwrap() {
        keys.extend(page.objects.into_iter().map(|object| object.key));
        prefixes.extend(page.prefixes);
    }
    (keys, prefixes)
}

pub(crate) async fn containers_are_made_once_and_removed(store: Arc<dyn Store>) -> &'static str {
    let trace = Trace::detached();
    store.create_container(&trace).await.unwrap();
    assert_eq!(store.create_container(&trace).await.unwrap_err().kind(), ErrorKind::Exists);
    put(&store, "a", &bytes(3)).await;
    if store.name("").starts_with('/') {
        // A folder of this machine may hold more than we put there.
        assert_eq!(store.delete_container(&trace).await.unwrap_err().kind(), ErrorKind::Unsupported);
        store.head("a", &trace).await.unwrap();
        return "a folder is not deleted";
    }
    if !store.deletes_full() {
        assert_eq!(store.delete_container(&trace).await.unwrap_err().kind(), ErrorKind::Service);
        store.delete("a", &trace).await.unwrap();
    }
    store.delete_container(&trace).await.unwrap();
    assert_eq!(store.head("a", &trace).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(store.delete_container(&trace).await.unwrap_err().kind(), ErrorKind::NotFound);
    ""
}

pub(crate) async fn what_is_put_is_got(store: Arc<dyn Store>) {
    container(&store).await;
    for len in [0, 1, 4096, 3_000_001] {
        let data = bytes(len);
        let etag = put(&store, "object", &data).await;
        assert_eq!(get(&store, "object").await, data);
        let meta = store.head("object", &Trace::detached()).await.unwrap();
        assert_eq!((meta.size, meta.etag), (len as u64, etag));
    }
    store.delete("object", &Trace::detached()).await.unwrap();
    assert_eq!(keys(&store, "", false).await.0, Vec::<String>::new());
}

pub(crate) async fn attributes_are_kept(store: Arc<dyn Store>) -> &'static str {
    container(&store).await;
    let data = bytes(1000);
    let source_time = 1_234_567_890_123_456_789;
    let mut options = options(&data);
    options.attributes.source_modified_ns = Some(source_time);
    options.attributes.md5 = Some(Md5::of(&data));
    let properties = Arc::new(Properties {
        cache_control: Some("no-cache".to_owned()),
        content_disposition: Some("attachment; filename=\"data.nc\"".to_owned()),
        content_encoding: Some("gzip".to_owned()),
        content_language: Some("de, en".to_owned()),
        metadata: vec![
            ("author".to_owned(), "somebody <some@body>".to_owned()),
            ("run".to_owned(), "7".to_owned()),
        ],
        ..Properties::default()
    });
    options.attributes.properties = Some(properties.clone());
    for checksum in [ChecksumMode::Crc64, ChecksumMode::Md5, ChecksumMode::None] {
        options.checksum = checksum;
        store.put("data.nc", data.clone().into(), &options, &Trace::detached()).await.unwrap();
        let head = store.head("data.nc", &Trace::detached()).await.unwrap();
        assert_eq!(head.source_modified_ns, Some(source_time));
        if !store.capabilities().streams {
            assert_eq!((head.crc64, head.md5), (options.attributes.crc64, options.attributes.md5));
            assert_eq!(sorted(&head), *properties);
        }
        let mut lister = store.list(ListRequest::default());
        let listed = lister.next_page(&Trace::detached()).await.unwrap().unwrap().objects.remove(0);
        assert_eq!(listed.size, head.size);
        if !is_s3(&store) {
            assert_eq!(listed.source_modified_ns, Some(source_time));
            assert_eq!((listed.crc64, listed.md5), (head.crc64, head.md5));
            assert_eq!(sorted(&listed), sorted(&head));
        }
        assert_eq!(listed.etag, head.etag, "a list and a head must agree, or a copy could not use If-Match");
    }
    match store.capabilities().streams {
        true => "the time only",
        false if is_s3(&store) => "in heads only",
        false => "",
    }
}

/// The properties of an object, its metadata in the order of names, without its tags, of which not every head tells.
fn sorted(meta: &ObjectMeta) -> Properties {
    let mut properties = meta.properties.as_deref().cloned().unwrap_or_default();
    properties.metadata.sort();
    Properties { tags: Tags::None, ..properties }
}

pub(crate) async fn ranges_are_exact(store: Arc<dyn Store>) -> &'static str {
    container(&store).await;
    let data = bytes(100_000);
    put(&store, "object", &data).await;
    let mut all_stated = true;
    for (offset, len) in [(0, 1), (0, 100_000), (99_999, 1), (12_345, 54_321)] {
        let range = Some(BlockRange { offset, len });
        let options = GetOptions { range, range_checksum: true, ..GetOptions::default() };
        let got = store.get("object", &options, &Trace::detached()).await.unwrap();
        assert_eq!((got.meta.size, got.payload.len()), (100_000, len));
        let stated = got.crc64;
        let part = got.payload.collect().await.unwrap();
        assert_eq!(part, data.slice(offset as usize..(offset + len) as usize));
        assert!(stated.is_none_or(|stated| stated == Crc64::of(&part)));
        all_stated &= stated.is_some();
    }
    if all_stated { "" } else { "without a CRC64" }
}

pub(crate) async fn awkward_names_survive(store: Arc<dyn Store>) {
    container(&store).await;
    for name in AWKWARD {
        put(&store, name, &Bytes::from(name)).await;
    }
    for name in AWKWARD {
        assert_eq!(get(&store, name).await, name, "{name}");
        assert_eq!(store.head(name, &Trace::detached()).await.unwrap().key, name);
    }
    let (mut found, _) = keys(&store, "", false).await;
    let mut expected = AWKWARD.map(str::to_owned);
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
    for name in AWKWARD {
        store.delete(name, &Trace::detached()).await.unwrap();
    }
    assert_eq!(keys(&store, "", false).await.0, Vec::<String>::new());
}

pub(crate) async fn lists_are_complete_and_in_order(store: Arc<dyn Store>) {
    container(&store).await;
    let mut expected: Vec<String> = (0..300).map(|n| format!("f{}/n{n}", n % 7)).collect();
    expected.extend(["f0.nc".into(), "f0".into(), "g".into()]);
    if store.capabilities().streams || is_s3(&store) {
        // A folder and a file cannot share a name, also where a server keeps objects in files.
        expected.retain(|key| key != "f0");
    }
    for key in &expected {
        put(&store, key, &Bytes::from_static(b"x")).await;
    }
    expected.sort_unstable();
    assert_eq!(keys(&store, "", false).await.0, expected);
    expected.retain(|key| key.starts_with("f0"));
    assert_eq!(keys(&store, "f0", false).await.0, expected);
    assert!(keys(&store, "nothing", false).await.0.is_empty());
}

pub(crate) async fn hierarchical_lists_fold(store: Arc<dyn Store>) {
    container(&store).await;
    for key in ["a/1", "a/2/3", "a/2/4", "b", "c/5", "a.nc"] {
        put(&store, key, &Bytes::from_static(b"x")).await;
    }
    let (top, folded) = keys(&store, "", true).await;
    assert_eq!((top, folded), (vec!["a.nc".into(), "b".into()], vec!["a/".to_owned(), "c/".into()]));
    let (below, folded) = keys(&store, "a/", true).await;
    assert_eq!((below, folded), (vec!["a/1".to_owned()], vec!["a/2/".to_owned()]));
}

pub(crate) async fn blocks_make_an_object(store: Arc<dyn Store>) -> &'static str {
    container(&store).await;
    // Sizes differ on purpose, where the store lets them: the block size follows the link.
    let CutRules { least, even, .. } = store.capabilities().cut;
    let least = least as usize;
    let ends = match even {
        false => [0, 100_000, 100_001, 700_000, 1_000_000],
        true => [0, least, 2 * least, 3 * least, 3 * least + 1_000_000],
    };
    let data = bytes(ends[4]);
    let writer =
        store.begin("blob", Some(data.len() as u64), &in_blocks(least), &Trace::detached()).await.unwrap();
    assert!(writer.block_len(0).is_none_or(|len| len == least as u64));
    let mut parts = Vec::new();
    for (start, end) in ends.into_iter().zip(ends.into_iter().skip(1)).rev() {
        let range = BlockRange { offset: start as u64, len: (end - start) as u64 };
        let block = data.slice(start..end);
        for _ in 0..2 {
            let put =
                writer.put_block(range, Payload::Bytes(block.clone()), &Trace::detached()).await.unwrap();
            let part = put.part;
            assert_eq!((part.id.range, part.id.crc64), (range, Crc64::of(&block)));
            parts.push(part);
        }
        parts.dedup();
    }
    parts.reverse();
    let attributes = Attributes { crc64: Some(Crc64::of(&data)), ..Attributes::default() };
    writer.commit(&parts, &attributes, &Trace::detached()).await.unwrap();
    assert_eq!(get(&store, "blob").await, data);
    if even { "all of one size" } else { "" }
}

pub(crate) async fn nobody_sees_an_object_before_its_commit(store: Arc<dyn Store>) {
    container(&store).await;
    let writer = store.begin("blob", Some(4), &PutOptions::default(), &Trace::detached()).await.unwrap();
    let range = BlockRange { offset: 0, len: 4 };
    writer.put_block(range, Payload::Bytes(bytes(4)), &Trace::detached()).await.unwrap();
    assert!(keys(&store, "", false).await.0.is_empty());
    assert_eq!(store.head("blob", &Trace::detached()).await.unwrap_err().kind(), ErrorKind::NotFound);
    writer.abandon().await;
    drop(writer);
    assert!(keys(&store, "", false).await.0.is_empty());
}

pub(crate) async fn wrong_checksums_are_refused(store: Arc<dyn Store>) {
    container(&store).await;
    let data = bytes(1000);
    let mut options = options(&data);
    options.attributes.crc64 = Some(Crc64::of(b"something else"));
    let error = store.put("a", data.into(), &options, &Trace::detached()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Integrity, "{error}");
    assert!(keys(&store, "", false).await.0.is_empty(), "nothing wrong may be kept");
}

pub(crate) async fn preconditions_hold(store: Arc<dyn Store>) {
    container(&store).await;
    let (old, new) = (bytes(10), bytes(20));
    let etag = put(&store, "a", &old).await;
    let with = |precondition| PutOptions { precondition, ..options(&new) };
    let write = async |precondition| {
        store.put("a", new.clone().into(), &with(precondition), &Trace::detached()).await
    };
    assert_eq!(write(Precondition::IfAbsent).await.unwrap_err().kind(), ErrorKind::Exists);
    assert_eq!(get(&store, "a").await, old);
    write(Precondition::IfMatch(etag.clone())).await.unwrap();
    assert_eq!(get(&store, "a").await, new);
    assert_eq!(write(Precondition::IfMatch(etag)).await.unwrap_err().kind(), ErrorKind::Exists);
    store.delete("a", &Trace::detached()).await.unwrap();
    write(Precondition::IfAbsent).await.unwrap();
}

pub(crate) async fn a_changed_source_is_noticed(store: Arc<dyn Store>) {
    container(&store).await;
    let before = put(&store, "a", &bytes(10)).await;
    let with = |etag: &String| GetOptions { if_match: Some(etag.clone().into()), ..GetOptions::default() };
    store.get("a", &with(&before), &Trace::detached()).await.unwrap();
    put(&store, "a", &bytes(11)).await;
    let error = store.get("a", &with(&before), &Trace::detached()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SourceChanged);
}

pub(crate) async fn missing_objects_are_named(store: Arc<dyn Store>) -> &'static str {
    container(&store).await;
    put(&store, "there", &bytes(1)).await;
    let trace = Trace::detached();
    let mut errors = vec![
        store.head("gone", &trace).await.unwrap_err(),
        store.get("gone", &GetOptions::default(), &trace).await.unwrap_err(),
    ];
    match store.delete("gone", &trace).await {
        Ok(()) => assert!(is_s3(&store)),
        Err(error) => errors.push(error),
    }
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.object_name().ends_with("gone"), "{error}");
    }
    if is_s3(&store) { "but for a delete" } else { "" }
}

pub(crate) async fn many_are_deleted_at_once(store: Arc<dyn Store>) {
    container(&store).await;
    let several: Vec<String> = ["a", "b/c & <d>", "b/e"].map(str::to_owned).to_vec();
    for key in several.iter().chain([&"kept".to_owned()]) {
        put(&store, key, &bytes(1)).await;
    }
    for some in several.chunks(store.delete_max()) {
        let outcomes = store.delete_many(some, &Trace::detached()).await.unwrap();
        assert_eq!(outcomes.len(), some.len());
        outcomes.into_iter().for_each(|outcome| outcome.unwrap());
    }
    assert_eq!(keys(&store, "", false).await.0, ["kept"]);
}
