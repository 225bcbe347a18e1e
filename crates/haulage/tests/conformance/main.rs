//! One suite that every store passes: folder, memory, the local endpoint and Azurite.
//!
//! Azurite is named by `HAUL_TEST_AZURITE` (its Blob endpoint, with the account); `make test` starts one.

mod suite;

use std::sync::atomic::{AtomicU32, Ordering};

use haulage::store::{StoreOpener, StoreOptions};
use haulage_emulator::{Emulator, EmulatorConfig, StoreKind};

/// A container name of its own for every test.
fn fresh() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("suite-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Where a test finds its container, and whatever must live as long.
struct Ground {
    url: String,
    _emulator: Option<Emulator>,
    _folder: Option<tempfile::TempDir>,
}

async fn folder() -> Ground {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("{}/container/", folder.path().display());
    Ground { url, _emulator: None, _folder: Some(folder) }
}

async fn memory() -> Ground {
    Ground { url: format!("mem://{}/", fresh()), _emulator: None, _folder: None }
}

async fn emulator(store: StoreKind, folder: Option<tempfile::TempDir>) -> Ground {
    let config = EmulatorConfig { store, ..EmulatorConfig::default() };
    let emulator = haulage_emulator::start(config).await.unwrap();
    Ground {
        url: format!("{}/{}/", emulator.endpoint(), fresh()),
        _emulator: Some(emulator),
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

async fn azurite() -> Ground {
    let endpoint = std::env::var("HAUL_TEST_AZURITE")
        .expect("HAUL_TEST_AZURITE must name Azurite's Blob endpoint; `make test` starts one and sets it");
    Ground { url: format!("{}/{}/", endpoint.trim_end_matches('/'), fresh()), _emulator: None, _folder: None }
}

fn open(ground: &Ground) -> std::sync::Arc<dyn haulage::store::Store> {
    StoreOpener::new(StoreOptions::default()).unwrap().open(&ground.url).unwrap().store
}

/// Every check of the suite for one kind of store.
macro_rules! conforms {
    ($name:ident, $ground:ident, [$($check:ident),* $(,)?]) => {
        mod $name {
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $check() {
                    let ground = $ground().await;
                    suite::$check(open(&ground)).await;
                }
            )*
        }
    };
}

macro_rules! every_check {
    ($name:ident, $ground:ident) => {
        conforms!(
            $name,
            $ground,
            [
                containers_are_made_once_and_removed,
                what_is_put_is_got,
                attributes_are_kept,
                ranges_are_exact,
                awkward_names_survive,
                lists_are_complete_and_in_order,
                hierarchical_lists_fold,
                blocks_make_an_object,
                nobody_sees_an_object_before_its_commit,
                wrong_checksums_are_refused,
                preconditions_hold,
                a_changed_source_is_noticed,
                missing_objects_are_named,
            ]
        );
    };
}

every_check!(local, folder);
every_check!(mem, memory);
every_check!(endpoint, endpoint_memory);
every_check!(endpoint_folder, endpoint_directory);
every_check!(azurite_blob, azurite);
