//! An endpoint by one of its interfaces, for whole jobs.

use haulage::store::{AccessKeys, Location, StoreOpener, StoreOptions, Trace};
use haulage_emulator::{Emulator, EmulatorConfig};

/// The endpoint, and how it is reached.
pub(crate) struct Ground {
    pub(crate) emulator: Emulator,
    pub(crate) store: StoreOptions,
    pub(crate) s3: bool,
}

impl Ground {
    /// By the interface of S3, or else by Azure's; with two containers.
    pub(crate) async fn new(s3: bool, faults: &str) -> Self {
        let config = EmulatorConfig { faults: faults.parse().unwrap(), ..EmulatorConfig::default() };
        let emulator = haulage_emulator::start(config).await.unwrap();
        let access = emulator.s3();
        let keys = AccessKeys { id: access.access_key_id, secret: access.secret_access_key, token: None };
        let (endpoint, keys) = if s3 { (Some(access.endpoint_url), Some(keys)) } else { (None, None) };
        let store = StoreOptions { endpoint, keys, ..StoreOptions::default() };
        let ground = Self { emulator, store, s3 };
        for name in ["one", "two"] {
            ground.open(name).store.create_container(&Trace::detached()).await.unwrap();
        }
        ground
    }

    pub(crate) fn url(&self, path: &str) -> String {
        if self.s3 { format!("s3://{path}") } else { format!("{}/{path}", self.emulator.endpoint()) }
    }

    pub(crate) fn open(&self, path: &str) -> Location {
        StoreOpener::new(self.store.clone()).unwrap().open(&self.url(path)).unwrap()
    }
}
