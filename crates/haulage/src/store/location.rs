//! From an address to a store and a name in it.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::azure::{AzureAddress, AzureStore};
use super::local::Shared;
use super::s3::{S3Address, S3Store};
use super::session::Pools;
use super::stream::{Input, StreamEnd, StreamStore};
use super::{Address, Capabilities, LocalStore, MemoryStore, Store, StoreOptions};
use crate::buffer::BufferPool;
use crate::error::{Error, ErrorKind, Result};
use crate::gate::Gate;
use crate::http::{Cap, HttpClient, WireMeter};
use crate::task::{Uninterrupted, off_thread};
use crate::units::ByteRate;

/// A store and a name in it.
#[derive(Clone, Debug)]
pub struct Location {
    /// The container or folder.
    pub store: Arc<dyn Store>,
    /// Object or prefix within it; empty for the container itself.
    pub key: String,
    /// What every request passes that is sent for it beside the steps of a job.
    pub(crate) gate: Gate,
}

/// Buckets, each with the remote that it was named by.
type Buckets = Vec<(Option<String>, S3Store)>;

/// Opens locations that share one connection pool, one buffer pool and one meter. The connections, and what is known of services,
/// are those of the session that the options name.
#[derive(Clone, Debug)]
pub struct StoreOpener {
    options: StoreOptions,
    pools: Arc<Pools>,
    http: HttpClient,
    buffers: BufferPool,
    local: Shared,
    /// Containers opened so far.
    containers: Arc<Mutex<Vec<AzureStore>>>,
    buckets: Arc<Mutex<Buckets>>,
    gate: Gate,
    /// The gate of what lies on this machine.
    here: Gate,
    /// What standard input stands for, where it is not that of the process.
    input: Option<StreamStore>,
    uninterrupted: Uninterrupted,
}

impl StoreOpener {
    /// An opener for questions. Those of one session with the same options share a meter, a cap and a gate.
    ///
    /// # Errors
    /// `Usage` for a cap of nothing, for a file of certificates that is none, and for a session that is closed.
    pub fn new(options: StoreOptions) -> Result<Self> {
        match options.session.clone() {
            Some(session) => session.opener(&options),
            None => Self::through(options, Gate::default()),
        }
    }

    /// An opener over these connections.
    pub(super) fn over(pools: Arc<Pools>, options: StoreOptions) -> Result<Self> {
        Self::with(pools, options, Gate::default())
    }

    /// One for a job, which has a meter and a cap of its own, and whose requests pass this gate.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub(crate) fn through(options: StoreOptions, gate: Gate) -> Result<Self> {
        let pools = options.session.clone().unwrap_or_default().pools(&options)?;
        Self::with(pools, options, gate)
    }

    fn with(pools: Arc<Pools>, options: StoreOptions, gate: Gate) -> Result<Self> {
        let cap = options.cap.map(ByteRate::as_cap).transpose()?;
        let http = pools.client(options.stall_timeout, cap);
        Ok(Self {
            local: Shared::flushing(options.flush),
            options,
            pools,
            http,
            buffers: BufferPool::default(),
            containers: Arc::default(),
            buckets: Arc::default(),
            gate,
            here: Gate::default(),
            input: None,
            uninterrupted: Uninterrupted::default(),
        })
    }

    /// The same for another question: what is on this machine is looked at anew, for an open folder may be replaced by another of
    /// its name.
    pub(super) fn anew(&self) -> Self {
        Self { local: Shared::flushing(self.options.flush), here: Gate::default(), ..self.clone() }
    }

    /// The same, in which no link below a folder is followed, whatever the user wants read through links.
    pub(crate) fn following_none(&self) -> Self {
        let options = StoreOptions { follow_symlinks: false, ..self.options.clone() };
        Self { options, ..self.clone() }
    }

    /// Bytes on the wire of everything opened here.
    pub fn meter(&self) -> &Arc<WireMeter> {
        self.http.meter()
    }

    /// The bound on the rate of everything opened here.
    pub fn cap(&self) -> Cap {
        self.http.cap()
    }

    /// What every request to a service passes.
    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// How the stores are reached.
    pub fn options(&self) -> &StoreOptions {
        &self.options
    }

    /// How many containers and buckets are remembered.
    pub(crate) fn containers(&self) -> usize {
        let containers = self.containers.lock().unwrap_or_else(PoisonError::into_inner).len();
        containers + self.buckets.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Opens what the user wrote. Local paths open their parent folder, so that the last part is the key.
    pub fn open(&self, text: &str) -> Result<Location> {
        match Address::parse(text, &self.options)? {
            Address::Azure(address) => {
                let key = address.key.clone();
                Ok(self.location(Arc::new(self.open_azure(address)?), key))
            }
            Address::S3(address) => {
                let key = address.key.clone();
                Ok(self.location(Arc::new(self.open_s3(&address)?), key))
            }
            Address::Memory { name, key } => Ok(self.location(Arc::new(MemoryStore::named(&name)), key)),
            Address::Local(path) => {
                let (root, key) = LocalStore::split(&path)?;
                Ok(Location { key: key.clone(), ..self.open_folder(&root, &key) })
            }
            Address::Stdio => {
                Err(Error::new(ErrorKind::Usage, "open", text, "standard input and output have no names"))
            }
        }
    }

    /// Opens a folder of this machine, in which `named` is what the user named.
    pub(crate) fn open_folder(&self, root: &Path, named: &str) -> Location {
        let store = LocalStore::new(root, self.buffers.clone());
        let store = store.following(self.options.follow_symlinks, named).sharing(&self.local);
        self.location(Arc::new(store), String::new())
    }

    /// Opens the one object that a name stands for.
    ///
    /// # Errors
    /// `Usage` where it is the name of a container, a folder or a prefix.
    pub(crate) fn open_object(&self, url: &str, operation: &'static str) -> Result<Location> {
        let location = self.open(url)?;
        if location.key.is_empty() || location.key.ends_with('/') {
            let name = location.store.name(&location.key);
            return Err(Error::new(ErrorKind::Usage, operation, &*name, "this names no object").hint(
                format!(
                    "write the name of the object after the last /; list what is there with: haul ls {name}"
                ),
            ));
        }
        Ok(location)
    }

    /// Opens what is read: a stream, where the name stands for one.
    pub(crate) fn open_source(&self, text: &str) -> Result<Location> {
        match (Address::parse(text, &self.options)?.source_stream(), &self.input) {
            (Some(StreamEnd::Stdio), Some(input)) => {
                Ok(self.location(Arc::new(input.clone()), text.to_owned()))
            }
            (Some(end), _) => Ok(self.stream(end)),
            (None, _) => self.open(text),
        }
    }

    /// The same, with this in place of standard input; messages call it `name`.
    pub(crate) fn reading(self, input: Input, name: &str) -> Self {
        Self { input: Some(StreamStore::of(input, name, self.buffers.clone())), ..self }
    }

    /// Opens what is written: a stream, where the name stands for one.
    pub(crate) fn open_destination(&self, text: &str) -> Result<Location> {
        match Address::parse(text, &self.options)?.destination_stream() {
            Some(end) => Ok(self.stream(end)),
            None => self.open(text),
        }
    }

    fn stream(&self, end: StreamEnd) -> Location {
        let name = end.name();
        self.location(Arc::new(StreamStore::new(end, self.buffers.clone())), name)
    }

    /// A name in a store, with the gate that belongs to it.
    pub(crate) fn location(&self, store: Arc<dyn Store>, key: String) -> Location {
        let Capabilities { at_hand, contents, .. } = store.capabilities();
        let gate = if at_hand || !contents { &self.here } else { &self.gate };
        Location { store, key, gate: gate.clone() }
    }

    /// For what is ended though the job is called off. Nothing of it may be under way where the job ends.
    pub(crate) fn uninterrupted(&self) -> &Uninterrupted {
        &self.uninterrupted
    }

    /// Whether files were written, so that a disk may be waited for.
    pub(crate) fn has_written(&self) -> bool {
        self.local.is_any()
    }

    /// Waits until what was written so far is on the disk, because something that it protects is to go.
    ///
    /// # Errors
    /// As for [`Self::flush`].
    pub(crate) async fn sync(&self) -> Result<()> {
        let local = self.local.clone();
        off_thread(move || local.sync()).await?
    }

    /// Waits until all that was written to this machine through what was opened here is on the disk. `folder`: the destination,
    /// whose mark goes even if this run had nothing left to write.
    ///
    /// # Errors
    /// `Io` or `NoSpace` where the disk could not keep it.
    pub(crate) async fn flush(&self, folder: Option<&str>) -> Result<()> {
        let folder = match folder.map(|text| Address::parse(text, &self.options)).transpose()? {
            Some(Address::Local(path)) => Some(path),
            _ => None,
        };
        let local = self.local.clone();
        let flush = move || {
            folder.map_or(Ok(()), |folder| local.adopt_mark(&folder))?;
            local.flush()
        };
        let flushed = tokio::task::spawn_blocking(flush).await;
        flushed.unwrap_or_else(|_| {
            Err(Error::new(ErrorKind::Cancelled, "flush", "files", "the runtime shuts down"))
        })
    }

    /// Opens a container, or the account where the address names none.
    pub fn open_azure(&self, address: AzureAddress) -> Result<AzureStore> {
        let mut containers = self.containers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = containers.iter().find(|known| known.address().same_container(&address)) {
            return Ok(known.clone());
        }
        let account = self.pools.account(&address, &*self.by_way_of(address.remote.as_deref())?)?;
        self.gate.lead_to(account.manners());
        let opened = AzureStore::of(&account, address, self.http.clone());
        containers.push(opened.clone());
        Ok(opened)
    }

    /// Opens a bucket, or the account where the address names none.
    pub fn open_s3(&self, address: &S3Address) -> Result<S3Store> {
        let S3Address { bucket, remote, .. } = address;
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let known = buckets.iter().find(|(way, known)| way == remote && known.bucket() == bucket);
        if let Some((_, known)) = known {
            return Ok(known.clone());
        }
        let options = self.by_way_of(remote.as_deref())?;
        let opened = self.pools.bucket(bucket, remote.as_deref(), &options)?.over(self.http.clone());
        self.gate.lead_to(opened.manners());
        buckets.push((remote.clone(), opened.clone()));
        Ok(opened)
    }

    /// The options for what was named by a remote of the configuration.
    fn by_way_of(&self, remote: Option<&str>) -> Result<Cow<'_, StoreOptions>> {
        match remote.and_then(|name| self.options.config.remotes.get(name)) {
            Some(remote) => Ok(Cow::Owned(remote.options(&self.options)?)),
            None => Ok(Cow::Borrowed(&self.options)),
        }
    }
}
