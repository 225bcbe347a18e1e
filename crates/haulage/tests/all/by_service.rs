//! Whole jobs within one service: the service copies, and next to nothing passes the link.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use haulage::checksum::Crc64;
use haulage::event::{Event, Proof, Summary};
use haulage::job::{MethodChoice, Overwrite, ServerSide, Setting, Work};
use haulage::store::{
    Attributes, GetOptions, Properties, PutOptions, StoreOpener, StoreOptions, Tags, Trace,
};
use haulage::units::ByteSize;
use haulage::{CopyOptions, Job};

use crate::ground::Ground;

const MIB: usize = 1 << 20;

impl Ground {
    fn options(&self) -> CopyOptions {
        CopyOptions { store: self.store.clone(), ..CopyOptions::default() }
    }

    async fn put(&self, container: &str, key: &str, data: &Bytes) {
        let attributes = Attributes {
            crc64: Some(Crc64::of(data)),
            content_type: Some("a/b".into()),
            properties: Some(properties()),
            ..Attributes::default()
        };
        let options = PutOptions { attributes, ..PutOptions::default() };
        let store = self.open(container).store;
        while store.put(key, data.clone().into(), &options, &Trace::detached()).await.is_err() {}
    }

    async fn get(&self, container: &str, key: &str) -> Bytes {
        let store = self.open(container).store;
        loop {
            // Where faults are dealt out, they strike this too.
            if let Ok(got) = store.get(key, &GetOptions::default(), &Trace::detached()).await
                && let Ok(data) = got.payload.collect().await
            {
                return data;
            }
        }
    }

    async fn copy(&self, from: &str, to: &str, options: CopyOptions) -> Summary {
        let work = Work::Copy { sources: vec![self.url(from)], destination: self.url(to) };
        Job::new(work, options).start().unwrap().wait().await.unwrap()
    }

    /// Requests that read what objects hold.
    fn reads(&self) -> u64 {
        let stats = self.emulator.stats();
        stats.requests("GetBlob") + stats.requests("GetObject")
    }
}

/// What others have stored with every object.
fn properties() -> Arc<Properties> {
    Arc::new(Properties {
        cache_control: Some("no-cache".into()),
        content_disposition: Some("attachment".into()),
        content_encoding: Some("gzip".into()),
        content_language: Some("de, en".into()),
        metadata: vec![("run".into(), "7".into())],
        ..Properties::default()
    })
}

fn content(len: usize) -> Bytes {
    let mut data = vec![0; len];
    fastrand::Rng::with_seed(len as u64).fill(&mut data);
    data.into()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_within_a_service_moves_next_to_nothing() {
    for s3 in [false, true] {
        let ground = Ground::new(s3, "").await;
        let objects = [
            ("in/large", content(64 * MIB)),
            ("in/small", content(4 * MIB + 1)),
            ("in/empty", Bytes::new()),
            ("in/#?%+: ü/日本語&<>'\"", content(5)),
        ];
        for (key, data) in &objects {
            ground.put("one", key, data).await;
        }
        let done = ground.copy("one/in/", "two/out/", ground.options()).await;
        assert_eq!(
            (done.exit_code, done.objects_done, done.objects_failed),
            (0, 4, 0),
            "{:?}",
            done.failures
        );
        assert_eq!((done.objects_by_service, done.bytes_by_service), (3, (68 * MIB + 6) as u64), "s3: {s3}");
        assert_eq!((done.proofs.crc64, done.objects_unproven), (4, 0), "{:?}", done.proofs);
        assert!(done.bytes_wire < MIB as u64, "{} bytes", done.bytes_wire);
        // S3 reads what is empty too, once.
        assert!(ground.reads() <= 1, "{:?}", ground.emulator.stats());
        for (key, data) in &objects {
            let (key, there) = (key.replace("in/", "out/"), ground.open("two").store);
            assert!(ground.get("two", &key).await == *data, "{key}");
            let meta = there.head(&key, &Trace::detached()).await.unwrap();
            // A head of S3 may say nothing of tags.
            let told = meta.properties.as_deref().cloned().unwrap_or_default();
            assert_eq!(Properties { tags: Tags::None, ..told }, *properties(), "{key}");
            if !s3 || !data.is_empty() {
                assert_eq!(
                    (meta.crc64, meta.content_type.as_deref()),
                    (Some(Crc64::of(data)), Some("a/b")),
                    "{key}"
                );
            }
        }
        let again = ground.copy("one/in/", "two/out/", ground.options()).await;
        assert_eq!((again.objects_skipped, again.objects_done), (4, 0), "s3: {s3}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_passes_this_machine_where_somebody_wants_it_so() {
    for s3 in [false, true] {
        let ground = Ground::new(s3, "").await;
        let data = content(9 * MIB);
        ground.put("one", "a", &data).await;
        let never = CopyOptions { server_side: ServerSide::Never, ..ground.options() };
        let done = ground.copy("one/a", "two/a", never).await;
        assert_eq!((done.exit_code, done.objects_by_service, done.proofs.crc64), (0, 0, 1));
        assert!(done.bytes_wire > 18 * MIB as u64);
        assert!(ground.get("two", "a").await == data);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_method_and_size_of_block_comes_to_the_same() {
    let fixed = |mib| Setting::Fixed(ByteSize::mib(mib));
    for s3 in [false, true] {
        let ground = Ground::new(s3, "busy=5%,cut=2%,lost=2%,seed=3").await;
        let data = content(23 * MIB + 17);
        ground.put("one", "a", &data).await;
        for (number, options) in [
            CopyOptions { method: MethodChoice::Whole, ..ground.options() },
            CopyOptions { block_size: fixed(5), ..ground.options() },
            CopyOptions { single_put_max: fixed(50), ..ground.options() },
            CopyOptions { atomic: true, ..ground.options() },
            CopyOptions { checksum: haulage::checksum::ChecksumMode::Md5, ..ground.options() },
            CopyOptions { checksum: haulage::checksum::ChecksumMode::None, ..ground.options() },
        ]
        .into_iter()
        .enumerate()
        {
            let name = format!("two/{number}");
            let done = ground.copy("one/a", &name, options).await;
            assert_eq!(
                (done.exit_code, done.objects_by_service),
                (0, 1),
                "{s3} {number}: {:?}",
                done.failures
            );
            assert_eq!(done.proofs.crc64, 1, "{s3} {number}: {:?}", done.proofs);
            assert!(ground.get("two", &number.to_string()).await == data, "{s3} {number}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_there_stays_there_where_it_must() {
    for s3 in [false, true] {
        let ground = Ground::new(s3, "").await;
        let data = content(17 * MIB);
        for key in ["in/large", "in/small", "in/there"] {
            ground.put("one", key, &if key == "in/large" { data.clone() } else { data.slice(..9) }).await;
        }
        ground.put("two", "there", &data.slice(9..11)).await;
        let never = CopyOptions { overwrite: Overwrite::Never, ..ground.options() };
        let done = ground.copy("one/in/", "two/", never).await;
        assert_eq!((done.exit_code, done.objects_by_service, done.objects_skipped), (0, 2, 1), "s3: {s3}");
        assert!(
            ground.get("two", "large").await == data && ground.get("two", "small").await == data.slice(..9)
        );
        assert!(ground.get("two", "there").await == data.slice(9..11));
        assert!(done.bytes_wire < MIB as u64);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_small_objects_are_copied_one_request_each() {
    for s3 in [false, true] {
        let ground = Ground::new(s3, "").await;
        let objects: Vec<(String, Bytes)> = (1..=300).map(|n| (format!("in/{n}"), content(n))).collect();
        for (key, data) in &objects {
            ground.put("one", key, data).await;
        }
        let done = ground.copy("one/in/", "two/", ground.options()).await;
        assert_eq!((done.exit_code, done.objects_by_service, done.proofs.crc64), (0, 300, 300), "s3: {s3}");
        let stats = ground.emulator.stats();
        assert_eq!(stats.requests(if s3 { "CopyObject" } else { "PutBlobFromUrl" }), 300);
        assert_eq!(ground.reads(), 0);
        for (key, data) in &objects {
            assert!(ground.get("two", &key["in/".len()..]).await == *data);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_copy_goes_on_where_it_was() {
    for s3 in [false, true] {
        let ground = Ground::new(s3, "serial=60ms").await;
        let data = content(15 * 5 * MIB);
        ground.put("one", "a", &data).await;
        let options = CopyOptions {
            block_size: Setting::Fixed(ByteSize::mib(5)),
            concurrency: Setting::Fixed(2),
            ..ground.options()
        };
        let work = Work::Copy { sources: vec![ground.url("one/a")], destination: ground.url("two/a") };
        let handle = Job::new(work, options.clone()).start().unwrap();
        while handle.progress().bytes_done < 20 * MIB as u64 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        handle.cancel();
        assert_eq!(handle.wait().await.unwrap().exit_code, 130);
        let done = ground.copy("one/a", "two/a", options).await;
        assert_eq!((done.exit_code, done.objects_by_service), (0, 1), "{:?}", done.failures);
        assert!(done.bytes_resumed >= 20 * MIB as u64, "s3: {s3}: {} bytes", done.bytes_resumed);
        // Azure says nothing of blocks that were made before.
        let proven = if s3 { done.proofs.crc64 } else { done.proofs.service };
        assert_eq!((proven, done.objects_unproven), (1, 0), "{:?}", done.proofs);
        assert!(done.bytes_wire < MIB as u64);
        assert!(ground.get("two", "a").await == data);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_of_a_former_version_do_not_get_into_a_copy() {
    for s3 in [false, true] {
        let ground = Ground::new(s3, "serial=60ms").await;
        let (old, new) = (content(60 * MIB), content(60 * MIB + 1).slice(1..));
        ground.put("one", "a", &old).await;
        let options = CopyOptions {
            block_size: Setting::Fixed(ByteSize::mib(5)),
            concurrency: Setting::Fixed(2),
            ..ground.options()
        };
        let work = Work::Copy { sources: vec![ground.url("one/a")], destination: ground.url("two/a") };
        let handle = Job::new(work, options.clone()).start().unwrap();
        while handle.progress().bytes_done < 10 * MIB as u64 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // While it is being copied.
        ground.put("one", "a", &new.slice(..9)).await;
        let changed = handle.wait().await.unwrap();
        assert_eq!((changed.exit_code, changed.objects_done), (6, 0), "s3: {s3}: {:?}", changed.failures);
        let there = ground.open("two").store;
        assert!(there.head("a", &Trace::detached()).await.is_err(), "nothing has the name");
        ground.put("one", "a", &new).await;
        let done = ground.copy("one/a", "two/a", options).await;
        assert_eq!((done.exit_code, done.proofs.crc64), (0, 1), "{:?}", done.failures);
        assert!(ground.get("two", "a").await == new);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_states_nothing_is_proven_by_the_service() {
    let ground = Ground::new(true, "").await;
    let data = content(20 * MIB);
    ground.put("one", "large", &data).await;
    ground.put("one", "small", &data.slice(..5)).await;
    // What came by S3 has no CRC64 that Azure would know of.
    let azure = Ground { store: StoreOptions::default(), s3: false, ..ground };
    let work = Work::Copy { sources: vec![azure.url("one/")], destination: azure.url("two/") };
    let mut handle = Job::new(work, azure.options()).listen().start().unwrap();
    let mut proofs = Vec::new();
    while let Some(event) = handle.next_event().await {
        if let Event::Object(object) = event {
            assert!(object.by_service);
            proofs.push(object.proof);
        }
    }
    let done = handle.wait().await.unwrap();
    assert_eq!((done.exit_code, done.objects_by_service), (0, 2));
    assert_eq!(proofs, [Proof::Service, Proof::Service]);
    assert_eq!((done.proofs.service, done.objects_unproven), (2, 0));
    assert!(azure.get("two", "large").await == data);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signature_that_the_user_gave_goes_along_and_other_endpoints_never_see_it() {
    let ground = Ground::new(false, "").await;
    let data = content(20 * MIB);
    ground.put("one", "a", &data).await;
    let sas = ground.emulator.sas("rl", SystemTime::now() + Duration::from_secs(600));
    let source = format!("{}?{sas}", ground.url("one/a"));
    let copy = async |destination: String| {
        let work = Work::Copy { sources: vec![source.clone()], destination };
        Job::new(work, CopyOptions::default()).start().unwrap().wait().await.unwrap()
    };
    let done = copy(ground.url("two/a")).await;
    assert_eq!((done.exit_code, done.objects_by_service), (0, 1), "{:?}", done.failures);
    assert!(ground.get("two", "a").await == data);

    let other = Ground::new(false, "").await;
    let done = copy(other.url("two/a")).await;
    assert_eq!((done.exit_code, done.objects_by_service), (0, 0), "{:?}", done.failures);
    assert_eq!(other.emulator.stats().requests("PutBlockFromUrl"), 0);
    assert!(other.get("two", "a").await == data);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_signature_goes_on_where_the_old_one_ended() {
    // Longer than the signature lives: 3.6 s.
    let ground = Ground::new(false, "serial=300ms").await;
    let data = content(60 * MIB);
    ground.put("one", "a", &data).await;
    let options = CopyOptions {
        block_size: Setting::Fixed(ByteSize::mib(5)),
        concurrency: Setting::Fixed(2),
        ..ground.options()
    };
    let copy = async |life: u64| {
        let sas = ground.emulator.sas("rl", SystemTime::now() + Duration::from_secs(life));
        let work = Work::Copy {
            sources: vec![format!("{}?{sas}", ground.url("one/a"))],
            destination: ground.url("two/a"),
        };
        Job::new(work, options.clone()).start().unwrap().wait().await.unwrap()
    };
    let ended = copy(3).await;
    assert_eq!((ended.exit_code, ended.objects_done), (3, 0), "{:?}", ended.failures);
    let there = ground.open("two").store;
    assert!(there.head("a", &Trace::detached()).await.is_err(), "nothing has the name");
    let done = copy(600).await;
    assert_eq!((done.exit_code, done.objects_by_service), (0, 1), "{:?}", done.failures);
    assert!(done.bytes_resumed >= 5 * MIB as u64, "{} bytes", done.bytes_resumed);
    assert!(ground.get("two", "a").await == data);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_only_write_at_the_destination_has_the_service_copy() {
    let ground = Ground::new(false, "").await;
    let data = content(20 * MIB);
    ground.put("one", "large", &data).await;
    ground.put("one", "small", &data.slice(..9)).await;
    let sas = ground.emulator.sas("cw", SystemTime::now() + Duration::from_secs(600));
    for key in ["large", "small"] {
        let destination = format!("{}?{sas}", ground.url(&format!("two/{key}")));
        let work = Work::Copy { sources: vec![ground.url(&format!("one/{key}"))], destination };
        let done = Job::new(work, ground.options()).start().unwrap().wait().await.unwrap();
        assert_eq!((done.exit_code, done.objects_by_service), (0, 1), "{key}: {:?}", done.failures);
        assert!(done.warnings.is_empty(), "{:?}", done.warnings);
    }
    assert!(ground.get("two", "large").await == data);
    assert_eq!(ground.reads(), 1, "by this test alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destination_that_is_not_there_is_no_refusal_to_copy() {
    for s3 in [false, true] {
        let ground = Ground::new(s3, "").await;
        ground.put("one", "large", &content(20 * MIB)).await;
        ground.put("one", "small", &content(9)).await;
        for key in ["large", "small"] {
            let (from, to) = (format!("one/{key}"), format!("missing/{key}"));
            let done = ground.copy(&from, &to, ground.options()).await;
            assert_eq!((done.exit_code, done.objects_done), (4, 0), "{from}: {:?}", done.failures);
            assert!(done.warnings.is_empty(), "{:?}", done.warnings);
        }
        assert_eq!(ground.reads(), 0);
    }
}

/// Copies a few objects within a service that others wrote, below a prefix of this process; the summary, and whether all are right.
async fn within(store: StoreOptions, url: impl Fn(&str) -> String) -> Summary {
    let opener = StoreOpener::new(store.clone()).unwrap();
    let names = [format!("copy-one-{}", std::process::id()), format!("copy-two-{}", std::process::id())];
    let [one, two] = names.map(|name| url(&name));
    for container in [&one, &two] {
        opener.open(container).unwrap().store.create_container(&Trace::detached()).await.unwrap();
    }
    let objects = [("large", content(40 * MIB)), ("small ü#?%", content(1_000)), ("empty", Bytes::new())];
    let from = opener.open(&one).unwrap().store;
    for (key, data) in &objects {
        let attributes = Attributes {
            crc64: Some(Crc64::of(data)),
            content_type: Some("a/b".into()),
            ..Attributes::default()
        };
        let options = PutOptions { attributes, ..PutOptions::default() };
        from.put(key, data.clone().into(), &options, &Trace::detached()).await.unwrap();
    }
    let work = Work::Copy { sources: vec![format!("{one}/")], destination: format!("{two}/") };
    let options = CopyOptions { store, ..CopyOptions::default() };
    let done = Job::new(work, options).start().unwrap().wait().await.unwrap();
    assert_eq!((done.exit_code, done.objects_done), (0, 3), "{:?}", done.failures);
    let there = opener.open(&two).unwrap().store;
    for (key, data) in &objects {
        let got = there.get(key, &GetOptions::default(), &Trace::detached()).await.unwrap();
        assert_eq!(got.meta.content_type.as_deref(), Some("a/b"), "{key}");
        assert!(got.payload.collect().await.unwrap() == *data, "{key}");
    }
    done
}

#[tokio::test(flavor = "multi_thread")]
async fn what_azurite_does_not_copy_passes_this_machine_and_that_is_said() {
    let endpoint = std::env::var("HAUL_TEST_AZURITE")
        .expect("HAUL_TEST_AZURITE must name Azurite's Blob endpoint; `make test` starts one and sets it");
    let endpoint = endpoint.trim_end_matches('/').to_owned();
    let done = within(StoreOptions::default(), |name| format!("{endpoint}/{name}")).await;
    assert_eq!((done.objects_by_service, done.proofs.service, done.objects_unproven), (0, 0, 0), "{done:?}");
    let said = &done.warnings[..];
    assert!(matches!(said, [one] if one.contains("copied through this machine")), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn versitygw_copies_by_itself() {
    let endpoint = std::env::var("HAUL_TEST_VERSITYGW")
        .expect("HAUL_TEST_VERSITYGW must name versitygw's URL; `make test` starts one and sets it");
    let store = StoreOptions { endpoint: Some(endpoint), ..StoreOptions::default() };
    let done = within(store, |name| format!("s3://{name}")).await;
    assert_eq!((done.objects_by_service, done.warnings.len()), (2, 0), "{done:?}");
    assert_eq!((done.proofs.crc64, done.objects_unproven), (3, 0), "{:?}", done.proofs);
    assert!(done.bytes_wire < MIB as u64, "{} bytes", done.bytes_wire);
}

#[tokio::test(flavor = "multi_thread")]
async fn versitygw_does_not_lose_parts_that_were_sent_to_it() {
    let endpoint = std::env::var("HAUL_TEST_VERSITYGW")
        .expect("HAUL_TEST_VERSITYGW must name versitygw's URL; `make test` starts one and sets it");
    let store = StoreOptions { endpoint: Some(endpoint), ..StoreOptions::default() };
    let opener = StoreOpener::new(store.clone()).unwrap();
    let open = |url: &str| opener.open(url).unwrap().store;
    let [one, two] = ["sent-one", "sent-two"].map(|name| format!("s3://{name}-{}", std::process::id()));
    for bucket in [&one, &two] {
        open(bucket).create_container(&Trace::detached()).await.unwrap();
    }
    let data = content(60 * MIB);
    let attributes = Attributes { crc64: Some(Crc64::of(&data)), ..Attributes::default() };
    let options = PutOptions { attributes, ..PutOptions::default() };
    open(&one).put("a", data.clone().into(), &options, &Trace::detached()).await.unwrap();
    let options = |server_side| CopyOptions {
        store: store.clone(),
        block_size: Setting::Fixed(ByteSize::mib(5)),
        concurrency: Setting::Fixed(1),
        server_side,
        ..CopyOptions::default()
    };
    let job = |server_side| {
        let work = Work::Copy { sources: vec![format!("{one}/a")], destination: format!("{two}/a") };
        Job::new(work, options(server_side)).start().unwrap()
    };
    let handle = job(ServerSide::Never);
    while handle.progress().bytes_done < 10 * MIB as u64 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    handle.cancel();
    assert_eq!(handle.wait().await.unwrap().exit_code, 130);
    // It states wrong checksums of the parts that it copies beside them, and those that it has are kept.
    let done = job(ServerSide::Auto).wait().await.unwrap();
    assert_eq!((done.exit_code, done.proofs.crc64), (0, 1), "{:?}", done.failures);
    assert!(done.bytes_resumed >= 10 * MIB as u64, "{} bytes", done.bytes_resumed);
    let got = open(&two).get("a", &GetOptions::default(), &Trace::detached()).await.unwrap();
    assert!(got.payload.collect().await.unwrap() == data);
}
