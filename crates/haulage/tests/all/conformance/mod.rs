//! One suite that every store passes: folder, memory, the local endpoint, Azurite, versitygw and MinIO.
//!
//! Azurite is named by `HAUL_TEST_AZURITE` (its Blob endpoint, with the account), versitygw by `HAUL_TEST_VERSITYGW` (its URL; its
//! keys are in the variables of AWS); `make test` starts both. MinIO, in `HAUL_TEST_MINIO`, takes minutes to compile: only
//! `make conformance` does, and runs its checks too.

mod copying;
mod record;
mod resume;
mod suite;

use std::sync::atomic::{AtomicU32, Ordering};

use haulage::store::{AccessKeys, StoreOpener, StoreOptions};
use haulage_emulator::{Emulator, EmulatorConfig, StoreKind};

use self::record::{Noted as _, Record};

/// A container name of its own for every test.
fn fresh() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("suite-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Where a test finds its container, and whatever must live as long.
struct Ground {
    url: String,
    options: StoreOptions,
    emulator: Option<Emulator>,
    _folder: Option<tempfile::TempDir>,
}

async fn folder() -> Ground {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("{}/container/", folder.path().display());
    Ground { url, options: StoreOptions::default(), emulator: None, _folder: Some(folder) }
}

async fn memory() -> Ground {
    let url = format!("mem://{}/", fresh());
    Ground { url, options: StoreOptions::default(), emulator: None, _folder: None }
}

async fn emulator(store: StoreKind, folder: Option<tempfile::TempDir>) -> Ground {
    let config = EmulatorConfig { store, ..EmulatorConfig::default() };
    let emulator = haulage_emulator::start(config).await.unwrap();
    Ground {
        url: format!("{}/{}/", emulator.endpoint(), fresh()),
        options: StoreOptions::default(),
        emulator: Some(emulator),
        _folder: folder,
    }
}

async fn endpoint_memory() -> Ground {
    emulator(StoreKind::Memory, None).await
}

async fn endpoint_directory() -> Ground {
    let folder = tempfile::tempdir().unwrap();
    emulator(StoreKind::Directory(folder.path().into()), Some(folder)).await
}

/// The same emulator by its other interface.
async fn by_s3(ground: Ground) -> Ground {
    let access = ground.emulator.as_ref().unwrap().s3();
    let keys = AccessKeys { id: access.access_key_id, secret: access.secret_access_key, token: None };
    let endpoint = Some(access.endpoint_url);
    let options = StoreOptions { endpoint, keys: Some(keys), ..StoreOptions::default() };
    Ground { url: format!("s3://{}/", fresh()), options, ..ground }
}

async fn endpoint_memory_by_s3() -> Ground {
    by_s3(endpoint_memory().await).await
}

async fn endpoint_directory_by_s3() -> Ground {
    by_s3(endpoint_directory().await).await
}

async fn azurite() -> Ground {
    let endpoint = std::env::var("HAUL_TEST_AZURITE")
        .expect("HAUL_TEST_AZURITE must name Azurite's Blob endpoint; `make test` starts one and sets it");
    let url = format!("{}/{}/", endpoint.trim_end_matches('/'), fresh());
    Ground { url, options: StoreOptions::default(), emulator: None, _folder: None }
}

async fn versitygw() -> Ground {
    another_s3("HAUL_TEST_VERSITYGW", "make test")
}

async fn minio() -> Ground {
    another_s3("HAUL_TEST_MINIO", "make conformance")
}

/// A server of S3 that somebody else wrote, whose URL is in this variable.
fn another_s3(variable: &str, starts: &str) -> Ground {
    let endpoint = std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} must name its URL; `{starts}` starts one and sets it"));
    let options = StoreOptions { endpoint: Some(endpoint), ..StoreOptions::default() };
    Ground { url: format!("s3://{}/", fresh()), options, emulator: None, _folder: None }
}

fn open(ground: &Ground) -> std::sync::Arc<dyn haulage::store::Store> {
    StoreOpener::new(ground.options.clone()).unwrap().open(&ground.url).unwrap().store
}

/// Every check of the suite for one kind of store. Its title heads a column of docs/reference/conformance.md, and the
/// titles of the checks its rows.
macro_rules! conforms {
    ($name:ident, $store:literal, $ground:ident, $when:meta, [$($file:ident :: $check:ident => $title:literal),* $(,)?]) => {
        mod $name {
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                #[$when]
                async fn $check() {
                    let ground = $ground().await;
                    let record = Record::new($store, stringify!($check));
                    record.passed($file::$check(open(&ground)).await.note());
                }
            )*
        }
    };
}

/// `apart`: not with the other tests, but where `make conformance` includes those that are ignored.
macro_rules! every_check {
    ($name:ident, $store:literal, $ground:ident) => {
        every_check!(@$name, $store, $ground, doc = "With all other tests.");
    };
    ($name:ident, $store:literal, $ground:ident, apart) => {
        every_check!(@$name, $store, $ground, ignore = "`make conformance` runs it");
    };
    (@$name:ident, $store:literal, $ground:ident, $when:meta) => {
        conforms!(
            $name,
            $store,
            $ground,
            $when,
            [
                suite::containers_are_made_once_and_removed => "Create and delete a container",
                suite::what_is_put_is_got => "Put, get, head, delete",
                suite::attributes_are_kept => "Keep CRC64, MD5, time of the source, headers and metadata, in heads and lists",
                suite::ranges_are_exact => "Get a range, with its checksum",
                suite::awkward_names_survive => "Names with spaces, quotes, `#?%+<&` and letters of every script",
                suite::lists_are_complete_and_in_order => "List all names in byte order, or those of a prefix",
                suite::hierarchical_lists_fold => "List one level",
                suite::blocks_make_an_object => "Write in blocks of any order, some of them twice, and of any size",
                suite::nobody_sees_an_object_before_its_commit => "Show nothing before the commit",
                suite::wrong_checksums_are_refused => "Refuse bytes that do not fit their checksum",
                suite::preconditions_hold => "Write only if absent, or if unchanged",
                suite::a_changed_source_is_noticed => "Read only if unchanged",
                suite::missing_objects_are_named => "Say which object is missing",
                suite::many_are_deleted_at_once => "Delete several objects at once",
                resume::an_interrupted_write_is_gone_on_with => "Go on with an interrupted write",
                resume::a_smaller_source_gets_no_block_beyond_its_end => "Never with blocks beyond the end",
                resume::what_is_left_is_compared_again => "Compare what is left, without a request",
                resume::leftovers_are_listed_and_removed => "List and remove what interrupted writes have left",
                resume::what_somebody_is_writing_stays => "But not what somebody is writing",
                copying::the_service_copies_whole_objects => "Let the service copy an object",
                copying::the_service_copies_blocks => "Let the service copy in blocks",
            ]
        );
    };
}

every_check!(mem, "memory", memory);
every_check!(local, "folder", folder);
every_check!(endpoint, "emulator, memory", endpoint_memory);
every_check!(endpoint_folder, "emulator, folder", endpoint_directory);
every_check!(azurite_blob, "Azurite", azurite);
every_check!(endpoint_s3, "emulator by S3, memory", endpoint_memory_by_s3);
every_check!(endpoint_folder_s3, "emulator by S3, folder", endpoint_directory_by_s3);
every_check!(versitygw_s3, "versitygw", versitygw);
every_check!(minio_s3, "MinIO", minio, apart);
