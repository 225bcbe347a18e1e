//! An endpoint, a tree of files, and nodes that share one out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haulage::event::{Event, ObjectRecord, Summary};
use haulage::job::{Coordinator, Deleting, Node, Phase, Work};
use haulage::store::s3::{S3Access, S3Credentials};
use haulage::store::{
    AccessKeys, Credentials, GetOptions, ListRequest, Location, ObjectMeta, StoreOptions, Trace,
};
use haulage::{CopyOptions, Session};
use haulage_emulator::{Emulator, EmulatorConfig};

pub(crate) const MIB: usize = 1 << 20;

/// An endpoint with a container, and a tree of files.
pub(crate) struct Ground {
    pub(crate) emulator: Emulator,
    pub(crate) folder: tempfile::TempDir,
    s3: bool,
}

impl Ground {
    pub(crate) async fn new(s3: bool, files: &[(&str, usize)]) -> Self {
        Self::over(EmulatorConfig::default(), s3, files).await
    }

    pub(crate) async fn over(config: EmulatorConfig, s3: bool, files: &[(&str, usize)]) -> Self {
        let emulator = haulage_emulator::start(config).await.unwrap();
        let ground = Self { emulator, folder: tempfile::tempdir().unwrap(), s3 };
        for (number, (name, size)) in files.iter().enumerate() {
            let path = ground.tree().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let mut data = vec![0; *size];
            fastrand::Rng::with_seed(number as u64).fill(&mut data);
            std::fs::write(path, data).unwrap();
        }
        let opener = haulage::store::StoreOpener::new(ground.store()).unwrap();
        let container = opener.open(&ground.url("one/")).unwrap();
        container.store.create_container(&haulage::store::Trace::detached()).await.unwrap();
        ground
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.folder.path().join("tree")
    }

    pub(crate) fn url(&self, path: &str) -> String {
        match self.s3 {
            true => format!("s3://{path}"),
            false => format!("{}/{path}", self.emulator.endpoint()),
        }
    }

    /// The credentials of each machine, which do not travel.
    pub(crate) fn session(&self) -> Session {
        let access = self.emulator.s3();
        let keys = AccessKeys { id: access.access_key_id, secret: access.secret_access_key, token: None };
        let given = S3Credentials::new(S3Access::Keys(keys), None, None).unwrap();
        Session::new([Credentials::S3(given)])
    }

    pub(crate) fn store(&self) -> StoreOptions {
        let endpoint = self.s3.then(|| self.emulator.s3().endpoint_url);
        StoreOptions { endpoint, session: Some(self.session()), ..StoreOptions::default() }
    }

    pub(crate) fn up(&self) -> Work {
        let source = format!("{}/", self.tree().display());
        Work::Copy { sources: vec![source], destination: self.url("one/t/") }
    }

    pub(crate) fn sync(&self, delete: Option<Deleting>) -> Work {
        let source = format!("{}/", self.tree().display());
        Work::Sync { source, destination: self.url("one/t/"), delete }
    }

    pub(crate) fn options(&self) -> CopyOptions {
        CopyOptions { store: self.store(), ..CopyOptions::default() }
    }

    /// What lies at the destination, by its path there.
    pub(crate) async fn down(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let opener = haulage::store::StoreOpener::new(self.store()).unwrap();
        let Location { store, key: prefix, .. } = opener.open(&self.url("one/t/")).unwrap();
        let mut pages = store.list(ListRequest { prefix: prefix.clone(), ..ListRequest::default() });
        let mut found = BTreeMap::new();
        while let Some(page) = pages.next_page(&Trace::detached()).await.unwrap() {
            for ObjectMeta { key, .. } in page.objects {
                let got = store.get(&key, &GetOptions::default(), &Trace::detached()).await.unwrap();
                let data = got.payload.collect().await.unwrap();
                found.insert(key.strip_prefix(&prefix).unwrap().into(), data.into());
            }
        }
        found
    }
}

pub(crate) fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let data = std::fs::read(&path).unwrap();
                    found.insert(path.strip_prefix(folder).unwrap().to_path_buf(), data);
                }
            }
        }
    }
    found
}

/// How many shards a node moves before it is lost; all of them, where it is not.
pub(crate) type Fate = Option<usize>;

/// Runs a job with nodes of these fates; how each object ended, and the summary.
pub(crate) async fn run(
    ground: &Ground,
    work: Work,
    options: CopyOptions,
    fates: &[Fate],
) -> (Vec<ObjectRecord>, Summary) {
    let (mut handle, coordinator) = Coordinator::start(work, options, true).unwrap();
    let mut nodes = Vec::new();
    for (number, fate) in fates.iter().enumerate() {
        let name = format!("node-{number}");
        let node = Node::start(coordinator.spec(), &name, Some(ground.session()), None).unwrap();
        nodes.push(tokio::spawn(work_as(coordinator.clone(), Arc::new(node), name, fates.len(), *fate)));
    }
    let closing = coordinator.clone();
    let closed = tokio::spawn(async move {
        for node in nodes {
            node.await.unwrap();
        }
        closing.finish();
    });
    let mut objects = Vec::new();
    while let Some(event) = handle.next_event().await {
        if let Event::Object(record) = event {
            objects.push(record);
        }
    }
    closed.await.unwrap();
    (objects, handle.wait().await.unwrap())
}

/// What a process on a node does, with somebody who carries the bytes.
pub(crate) async fn work_as(
    coordinator: Coordinator,
    node: Arc<Node>,
    name: String,
    nodes: usize,
    fate: Fate,
) {
    let (told, beating, of) = (coordinator.clone(), Arc::clone(&node), name.clone());
    let beat = tokio::spawn(async move {
        loop {
            told.beat(&beating.beat().unwrap()).unwrap();
            let allowed = told.allowances().into_iter().find(|(name, _)| *name == of);
            allowed.into_iter().for_each(|(_, allowance)| beating.allow(allowance));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let mut moved = 0;
    while coordinator.phase() == Phase::Deal {
        let Some(dealt) = coordinator.next(nodes).unwrap() else {
            tokio::time::sleep(Duration::from_millis(5)).await;
            continue;
        };
        if fate == Some(moved) {
            // It has begun, and is gone before it could say how it ended.
            let (dying, shard) = (Arc::clone(&node), dealt.shard.clone());
            let run = tokio::spawn(async move { dying.run(&shard, false).await });
            tokio::time::sleep(Duration::from_millis(20)).await;
            beat.abort();
            node.cancel();
            run.abort();
            coordinator.lost(dealt.id);
            coordinator.gone(&name);
            return;
        }
        match node.run(&dealt.shard, false).await {
            Ok(result) => coordinator.came(&result).unwrap(),
            Err(error) => coordinator.failed(dealt.id, &error),
        }
        moved += 1;
    }
    beat.abort();
    coordinator.ended(&node.end().await.unwrap(), None).unwrap();
}

pub(crate) fn small_files(count: usize) -> Vec<(String, usize)> {
    (0..count).map(|number| (format!("d{}/f{number}.nc", number % 5), 1000 + 37 * number)).collect()
}

pub(crate) fn named(files: &[(String, usize)]) -> Vec<(&str, usize)> {
    files.iter().map(|(name, size)| (name.as_str(), *size)).collect()
}
