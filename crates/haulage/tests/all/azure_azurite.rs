//! The Azure client against Azurite, an implementation that is not ours.
//!
//! Runs where `HAUL_TEST_AZURITE` names its endpoint, for example `http://127.0.0.1:10000/devstoreaccount1`
//! of `azurite-blob --loose --inMemoryPersistence`; `--loose` because its strict mode refuses CRC64. In CI the
//! variable must be there.

// A child process reports to its parent, and a person reads the figures, by what is printed.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use haulage::ErrorKind;
use haulage::checksum::{ChecksumMode, Crc64, Md5};
use haulage::http::{HttpClient, HttpOptions};
use haulage::store::azure::{AzureAddress, AzureStore};
use haulage::store::{
    Attributes, BlockRange, GetOptions, ListRequest, ObjectMeta, Payload, Precondition, PutOptions,
    StagedPart, Store, StoreOptions, Trace,
};

fn endpoint() -> Option<String> {
    match std::env::var("HAUL_TEST_AZURITE") {
        Ok(url) => Some(url.trim_end_matches('/').to_owned()),
        Err(_) if std::env::var_os("CI").is_some() => {
            panic!("CI must set HAUL_TEST_AZURITE to an Azurite endpoint")
        }
        Err(_) => {
            eprintln!("not run: HAUL_TEST_AZURITE names no Azurite endpoint");
            None
        }
    }
}

fn open(url: &str) -> AzureStore {
    let options = StoreOptions::default();
    let address = AzureAddress::parse(url, &options).unwrap();
    AzureStore::open(address, &options, HttpClient::new(HttpOptions::default()).unwrap()).unwrap()
}

/// A container of this test alone.
async fn container(endpoint: &str) -> (AzureStore, String) {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let url = format!("{endpoint}/haul-test-{}-{number}", std::process::id());
    let store = open(&url);
    store.create_container(&trace()).await.unwrap();
    (store, url)
}

fn trace() -> Trace {
    Trace::detached()
}

async fn read(store: &AzureStore, key: &str, options: &GetOptions) -> (ObjectMeta, Bytes) {
    let result = store.get(key, options, &trace()).await.unwrap();
    let bytes = result.payload.collect().await.unwrap();
    (result.meta, bytes)
}

async fn put(
    store: &AzureStore,
    key: &str,
    body: &'static [u8],
    options: &PutOptions,
) -> haulage::Result<String> {
    let payload = Payload::from(Bytes::from_static(body));
    store.put(key, payload, options, &trace()).await.map(|put| put.etag)
}

async fn list(store: &AzureStore, request: ListRequest) -> (Vec<ObjectMeta>, Vec<String>) {
    let (mut objects, mut prefixes) = (Vec::new(), Vec::new());
    let mut lister = store.list(request);
    while let Some(page) = lister.next_page(&trace()).await.unwrap() {
        objects.extend(page.objects);
        prefixes.extend(page.prefixes);
    }
    (objects, prefixes)
}

#[tokio::test]
async fn what_is_put_comes_back_with_its_attributes() {
    let Some(endpoint) = endpoint() else { return };
    let (store, _) = container(&endpoint).await;
    for mode in [ChecksumMode::Crc64, ChecksumMode::Md5, ChecksumMode::None] {
        let attributes = Attributes {
            crc64: Some(Crc64::of(b"123456789")),
            md5: Some(Md5::of(b"123456789")),
            source_modified_ns: Some(1_700_000_000_123_456_789),
            ..Attributes::default()
        };
        let options = PutOptions { attributes, checksum: mode, ..PutOptions::default() };
        let trace = trace();
        let payload = Payload::from(Bytes::from_static(b"123456789"));
        let put = store.put("dir/a.nc", payload, &options, &trace).await.unwrap();
        let seen = trace.take();
        assert!(seen.phases.ready_ns <= seen.phases.connected_ns);
        assert!(
            seen.phases.connected_ns <= seen.phases.sent_ns
                && seen.phases.sent_ns <= seen.phases.first_byte_ns
        );
        assert!(seen.phases.last_byte_ns.is_some() && seen.phases.committed_ns >= seen.phases.first_byte_ns);
        assert_eq!(seen.status, Some(201));
        assert!(seen.request_id.is_some() && seen.connection > 0);

        let meta = store.head("dir/a.nc", &self::trace()).await.unwrap();
        assert_eq!((meta.size, meta.etag.as_str()), (9, put.etag.as_str()));
        assert_eq!((meta.crc64, meta.md5), (Some(Crc64::of(b"123456789")), Some(Md5::of(b"123456789"))));
        assert_eq!(meta.source_modified_ns, Some(1_700_000_000_123_456_789));
        assert_eq!(meta.content_type.as_deref(), Some("application/netcdf"));
        let (got, bytes) = read(&store, "dir/a.nc", &GetOptions::default()).await;
        assert_eq!((&got, &bytes[..]), (&meta, &b"123456789"[..]));
        let (listed, _) = list(&store, ListRequest::default()).await;
        assert_eq!(listed, [meta]);
    }
    store.delete("dir/a.nc", &trace()).await.unwrap();
    assert_eq!(store.head("dir/a.nc", &trace()).await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn an_object_without_attributes_gets_its_crc64() {
    let Some(endpoint) = endpoint() else { return };
    let (store, _) = container(&endpoint).await;
    put(&store, "empty", b"", &PutOptions::default()).await.unwrap();
    let (meta, bytes) = read(&store, "empty", &GetOptions::default()).await;
    assert_eq!((meta.crc64, bytes.len()), (Some(Crc64::EMPTY), 0));
    let md5 = PutOptions { checksum: ChecksumMode::Md5, ..PutOptions::default() };
    put(&store, "full", b"abc", &md5).await.unwrap();
    assert_eq!(store.head("full", &trace()).await.unwrap().md5, Some(Md5::of(b"abc")));
}

#[tokio::test]
async fn ranges_are_read_and_may_be_checked() {
    let Some(endpoint) = endpoint() else { return };
    let (store, _) = container(&endpoint).await;
    put(&store, "r", b"0123456789", &PutOptions { checksum: ChecksumMode::Md5, ..PutOptions::default() })
        .await
        .unwrap();
    for range_checksum in [false, true, true] {
        let range = Some(BlockRange { offset: 2, len: 5 });
        let options = GetOptions { range, range_checksum, ..GetOptions::default() };
        let result = store.get("r", &options, &trace()).await.unwrap();
        assert_eq!((result.meta.size, result.payload.len()), (10, 5));
        assert!(result.crc64.is_none_or(|crc64| crc64 == Crc64::of(b"23456")));
        assert_eq!(&result.payload.collect().await.unwrap()[..], b"23456");
    }
    let nothing = GetOptions { range: Some(BlockRange { offset: 10, len: 0 }), ..GetOptions::default() };
    assert_eq!(read(&store, "r", &nothing).await.1.len(), 0);
    for (offset, len) in [(8, 5), (20, 1)] {
        let options = GetOptions { range: Some(BlockRange { offset, len }), ..GetOptions::default() };
        assert_eq!(store.get("r", &options, &trace()).await.unwrap_err().kind(), ErrorKind::SourceChanged);
    }
}

#[tokio::test]
async fn preconditions_hold_objects_still() {
    let Some(endpoint) = endpoint() else { return };
    let (store, _) = container(&endpoint).await;
    let absent = PutOptions { precondition: Precondition::IfAbsent, ..PutOptions::default() };
    let etag = put(&store, "k", b"one", &absent).await.unwrap();
    assert_eq!(put(&store, "k", b"two", &absent).await.unwrap_err().kind(), ErrorKind::Exists);
    let same = PutOptions { precondition: Precondition::IfMatch(etag.clone()), ..PutOptions::default() };
    put(&store, "k", b"two", &same).await.unwrap();
    assert_eq!(put(&store, "k", b"three", &same).await.unwrap_err().kind(), ErrorKind::Exists);
    let options = GetOptions { if_match: Some(etag.into()), ..GetOptions::default() };
    let error = store.get("k", &options, &trace()).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::SourceChanged, Some(412)));
    assert_eq!(&read(&store, "k", &GetOptions::default()).await.1[..], b"two");
}

#[tokio::test]
async fn blocks_staged_by_one_are_committed_by_another() {
    let Some(endpoint) = endpoint() else { return };
    let (store, url) = container(&endpoint).await;
    for mode in [ChecksumMode::Crc64, ChecksumMode::Md5, ChecksumMode::None] {
        let key = format!("blocks/{mode:?}");
        let options = PutOptions { checksum: mode, ..PutOptions::default() };
        let one = store.begin(&key, Some(9), &options, &trace()).await.unwrap();
        assert_eq!(one.staged(&trace()).await.unwrap(), []);
        let tail = BlockRange { offset: 4, len: 5 };
        let tail = one.put_block(tail, Bytes::from_static(b"56789").into(), &trace()).await.unwrap().part;

        let other = open(&url).begin(&key, Some(9), &options, &trace()).await.unwrap();
        let staged = StagedPart { token: tail.token.clone(), ..StagedPart::from(tail.id) };
        assert_eq!(other.staged(&trace()).await.unwrap(), [staged]);
        let head = BlockRange { offset: 0, len: 4 };
        let head = other.put_block(head, Bytes::from_static(b"1234").into(), &trace()).await.unwrap().part;
        let wrong = Attributes { crc64: Some(Crc64::from_u64(1)), ..Attributes::default() };
        assert_eq!(
            other.commit(&[head.clone(), tail.clone()], &wrong, &trace()).await.unwrap_err().kind(),
            ErrorKind::Integrity
        );
        let gap = other.commit(std::slice::from_ref(&tail), &Attributes::default(), &trace()).await;
        assert_eq!(gap.unwrap_err().kind(), ErrorKind::Integrity);
        let attributes = Attributes { md5: Some(Md5::of(b"123456789")), ..Attributes::default() };
        let done = other.commit(&[head.clone(), tail.clone()], &attributes, &trace()).await.unwrap();
        assert_eq!(done.crc64, Some(Crc64::of(b"123456789")));
        let (meta, bytes) = read(&store, &key, &GetOptions::default()).await;
        assert_eq!((&bytes[..], &meta.etag), (&b"123456789"[..], &done.etag));
        assert_eq!((meta.crc64, meta.md5), (done.crc64, Some(Md5::of(b"123456789"))));
        let absent = PutOptions { precondition: Precondition::IfAbsent, ..options };
        let late = store.begin(&key, Some(0), &absent, &trace()).await.unwrap();
        let error = late.commit(&[], &Attributes::default(), &trace()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Exists);
    }
}

#[tokio::test]
async fn bytes_that_do_not_fit_their_checksum_get_no_name() {
    let Some(endpoint) = endpoint() else { return };
    let (store, _) = container(&endpoint).await;
    let attributes = Attributes { crc64: Some(Crc64::from_u64(7)), ..Attributes::default() };
    let wrong = PutOptions { attributes, ..PutOptions::default() };
    assert_eq!(put(&store, "k", b"x", &wrong).await.unwrap_err().kind(), ErrorKind::Integrity);
    for checksum in [ChecksumMode::Md5, ChecksumMode::Crc64] {
        // In the first case the service compares, in the second we do.
        let attributes = Attributes { md5: Some(Md5::of(b"y")), ..Attributes::default() };
        let wrong = PutOptions { attributes, checksum, ..PutOptions::default() };
        assert_eq!(put(&store, "k", b"x", &wrong).await.unwrap_err().kind(), ErrorKind::Integrity);
    }
    assert_eq!(store.head("k", &trace()).await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn awkward_names_survive() {
    let Some(endpoint) = endpoint() else { return };
    let (store, url) = container(&endpoint).await;
    let names = [
        "a b",
        "a#b",
        "a?b=c&d",
        "100%25",
        "100%",
        "a+b",
        "a:b",
        "ü/ö/€.nc",
        "日本",
        "a&b<c>\"d\"'e'",
        "x;y,z",
        "a//b",
        "~tilde",
        "(paren)!*",
        "[br]{ace}|^`",
        "$dollar@at=eq",
    ];
    for name in names {
        let body: &'static [u8] = name.as_bytes();
        put(&store, name, body, &PutOptions::default())
            .await
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let (meta, bytes) = read(&store, name, &GetOptions::default()).await;
        assert_eq!((meta.key.as_str(), &bytes[..]), (name, name.as_bytes()));
        // The printed name leads back to the same blob.
        let again = AzureAddress::parse(&store.name(name), &StoreOptions::default()).unwrap();
        assert_eq!((again.key.as_str(), store.name("")), (name, url.clone()));
        let blocks = store.begin(name, Some(0), &PutOptions::default(), &trace()).await.unwrap();
        assert_eq!(blocks.staged(&trace()).await.unwrap(), []);
    }
    // The service would leave the dots out, and takes a backslash for a slash.
    for name in ["dot.", "a./b", "a\\b"] {
        let refused = put(&store, name, b"x", &PutOptions::default()).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unsupported, "{name}");
    }
    let (mut listed, _) = list(&store, ListRequest::default()).await;
    listed.sort_by(|a, b| a.key.cmp(&b.key));
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    assert_eq!(listed.iter().map(|meta| meta.key.as_str()).collect::<Vec<_>>(), sorted);
    for prefix in ["a#", "a?b=", "ü/ö", "100%", "a&b<"] {
        let (found, _) = list(
            &store,
            ListRequest { prefix: prefix.to_owned(), hierarchical: false, ..ListRequest::default() },
        )
        .await;
        let expected = names.iter().filter(|name| name.starts_with(prefix)).count();
        assert_eq!(found.len(), expected, "{prefix}");
    }
}

#[tokio::test]
async fn lists_come_in_pages_and_fold() {
    let Some(endpoint) = endpoint() else { return };
    let (store, _) = container(&endpoint).await;
    assert_eq!(list(&store, ListRequest::default()).await, (vec![], vec![]));
    // Pages of 64 and 256, and what is left.
    let puts = (0..400).map(|i| {
        let store = store.clone();
        async move { put(&store, &format!("d{}/{i:05}", i % 3), b"", &PutOptions::default()).await.unwrap() }
    });
    use futures_util::StreamExt as _;
    futures_util::stream::iter(puts).buffer_unordered(8).collect::<Vec<_>>().await;
    for begin_small in [false, true] {
        let (all, _) = list(&store, ListRequest { begin_small, ..ListRequest::default() }).await;
        assert_eq!(all.len(), 400);
        assert!(all.is_sorted_by(|a, b| a.key < b.key));
    }
    let (objects, prefixes) =
        list(&store, ListRequest { prefix: String::new(), hierarchical: true, ..ListRequest::default() })
            .await;
    assert_eq!((objects.len(), prefixes), (0, vec!["d0/".to_owned(), "d1/".to_owned(), "d2/".to_owned()]));
}

#[tokio::test]
async fn containers_come_and_go() {
    let Some(endpoint) = endpoint() else { return };
    let (store, url) = container(&endpoint).await;
    assert_eq!(store.create_container(&trace()).await.unwrap_err().kind(), ErrorKind::Exists);
    let names = open(&endpoint).list_containers(&trace()).await.unwrap();
    assert!(names.iter().any(|name| url.ends_with(name.as_str())));
    store.delete_container(&trace()).await.unwrap();
    let error = store.list(ListRequest::default()).next_page(&trace()).await.unwrap_err();
    assert_eq!((error.kind(), error.cause()), (ErrorKind::NotFound, "no such container"));
    assert_eq!(error.hint_text(), Some(format!("check the name, or create it with: haul mb {url}").as_str()));
}

/// Opens `url` in a child process with these variables, so that the environment is its own.
fn in_child(test: &str, url: &str, variables: &[(&str, &str)]) -> String {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env("HAUL_TEST_URL", url)
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The child of the tests below: says what became of a list.
#[tokio::test]
#[ignore = "run as a child process by other tests"]
async fn child_lists() {
    let url = std::env::var("HAUL_TEST_URL").unwrap();
    let address = AzureAddress::parse(&url, &StoreOptions::default()).unwrap();
    let http = HttpClient::new(HttpOptions::default()).unwrap();
    let outcome = match AzureStore::open(address, &StoreOptions::default(), http) {
        Ok(store) => store.list(ListRequest::default()).next_page(&trace()).await.map(|_| "listed"),
        Err(error) => Err(error),
    };
    println!("outcome: {outcome:?}");
}

#[tokio::test]
async fn a_wrong_key_is_explained() {
    let Some(endpoint) = endpoint() else { return };
    let (_store, url) = container(&endpoint).await;
    let account = endpoint.rsplit('/').next().unwrap();
    let wrong = [("AZURE_STORAGE_ACCOUNT", account), ("AZURE_STORAGE_KEY", "d3JvbmcgYnV0IEJhc2U2NA==")];
    let said = in_child("azure_azurite::child_lists", &url, &wrong);
    assert!(said.contains("Permission") && said.contains("check AZURE_STORAGE_KEY"), "{said}");
    let connection = format!("BlobEndpoint={endpoint};AccountName={account};AccountKey=d3Jvbmc=");
    let said =
        in_child("azure_azurite::child_lists", &url, &[("AZURE_STORAGE_CONNECTION_STRING", &connection)]);
    assert!(said.contains("Permission") && !said.contains("d3Jvbmc="), "{said}");
    let short = format!("az://{}", url.rsplit('/').next().unwrap());
    let connection = format!("UseDevelopmentStorage=true;BlobEndpoint={endpoint}");
    let said =
        in_child("azure_azurite::child_lists", &short, &[("AZURE_STORAGE_CONNECTION_STRING", &connection)]);
    assert!(said.contains("listed"), "{said}");
}

#[tokio::test]
async fn a_sas_opens_what_it_covers_and_says_why_not() {
    let Some(endpoint) = endpoint() else { return };
    let (store, url) = container(&endpoint).await;
    put(&store, "k", b"abc", &PutOptions::default()).await.unwrap();
    let name = url.rsplit('/').next().unwrap();

    let good = open(&format!("{url}?{}", sas(name, "rl", "2999-01-01T00:00:00Z")));
    assert_eq!(&read(&good, "k", &GetOptions::default()).await.1[..], b"abc");
    assert_eq!(list(&good, ListRequest::default()).await.0.len(), 1);
    assert_eq!(good.name("k"), format!("{url}/k"));

    let error = put(&good, "new", b"x", &PutOptions::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Permission);
    assert!(error.cause().contains("lacks permission `w`"), "{error}");
    let old = open(&format!("{url}?{}", sas(name, "rl", "2020-01-01T00:00:00Z")));
    let error = old.head("k", &trace()).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.cause()),
        (ErrorKind::Permission, "the SAS expired on 2020-01-01T00:00:00Z")
    );
    for text in [format!("{error:?}"), format!("{old:?}"), format!("{good:?}")] {
        assert!(!text.contains("sig="), "{text}");
    }
}

/// A SAS for a container of the development account, as the service's reference says to make one.
fn sas(container: &str, permissions: &str, ends: &str) -> String {
    use base64::Engine as _;
    use hmac::{KeyInit as _, Mac as _};
    let encode = |bytes: &[u8]| base64::prelude::BASE64_STANDARD.encode(bytes);
    let key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
    let key = base64::prelude::BASE64_STANDARD.decode(key).unwrap();
    let resource = format!("/blob/devstoreaccount1/{container}");
    // Permissions, start, end, resource, identifier, address, protocol, version, kind, snapshot, encryption scope,
    // and five response headers.
    let text = format!("{permissions}\n\n{ends}\n{resource}\n\n\n\n2021-12-02\nc\n\n\n\n\n\n\n");
    let mut mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(&key).unwrap();
    mac.update(text.as_bytes());
    let signature = encode(&mac.finalize().into_bytes());
    let signature = signature.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    format!("sv=2021-12-02&sr=c&sp={permissions}&se={}&sig={signature}", ends.replace(':', "%3A"))
}
