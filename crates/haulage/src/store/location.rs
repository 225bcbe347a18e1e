//! From what the user wrote to a store and a name in it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::azure::{AzureAddress, AzureStore};
use super::{LocalStore, MemoryStore, Store};
use crate::buffer::BufferPool;
use crate::error::{Error, ErrorKind, Result};
use crate::http::{Cap, HttpClient, HttpOptions, WireMeter};
use crate::units::ByteRate;

/// How to reach stores.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Where `az://container` lives, if not where the environment says: `https://host[:port][/account]`.
    pub endpoint: Option<String>,
    /// Allow plain http beyond this machine.
    pub insecure_http: bool,
    /// A request with no byte of progress for this long is given up and sent again.
    pub stall_timeout: Duration,
    /// Bound on the rate on the wire, both directions together.
    pub cap: Option<ByteRate>,
    /// Follow symbolic links below a local folder instead of leaving them out, wherever they lead.
    pub follow_symlinks: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            endpoint: None,
            insecure_http: false,
            // Longer than any pause seen in a healthy service, shorter than a person's patience.
            stall_timeout: Duration::from_secs(30),
            cap: None,
            follow_symlinks: false,
        }
    }
}

/// What the user wrote, taken apart. Parsing touches neither disk nor network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A file or folder.
    Local(PathBuf),
    /// A blob, prefix or container.
    Azure(AzureAddress),
    /// An object in this process's memory: `mem://name/key`, for tests and examples.
    Memory {
        /// Which of the process's memory stores.
        name: String,
        /// Name within it.
        key: String,
    },
    /// Standard input or output: `-`.
    Stdio,
}

impl Address {
    /// Takes apart a path or URL.
    pub fn parse(text: &str, options: &StoreOptions) -> Result<Self> {
        if text == "-" {
            return Ok(Self::Stdio);
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return Ok(Self::Local(PathBuf::from(text)));
        };
        match scheme.to_ascii_lowercase().as_str() {
            "az" | "http" | "https" => AzureAddress::parse(text, options).map(Self::Azure),
            "mem" => {
                let (name, key) = rest.split_once('/').unwrap_or((rest, ""));
                Ok(Self::Memory { name: name.to_owned(), key: key.to_owned() })
            }
            "file" => Ok(Self::Local(Path::new(rest).to_path_buf())),
            "s3" => Err(Error::new(ErrorKind::Unsupported, "open", text, "S3 is not supported yet")
                .hint("this version speaks to Azure Blob storage and local files")),
            _ => Err(Error::new(ErrorKind::Usage, "open", text, format!("unknown scheme {scheme}://"))
                .hint("write a local path, az://container/path or https://host/container/path")),
        }
    }
}

/// A store and a name in it.
#[derive(Clone, Debug)]
pub struct Location {
    /// The container or folder.
    pub store: Arc<dyn Store>,
    /// Object or prefix within it; empty for the container itself.
    pub key: String,
}

/// Opens locations that share one connection pool, one buffer pool and one meter.
#[derive(Clone, Debug)]
pub struct StoreOpener {
    options: StoreOptions,
    http: HttpClient,
    buffers: BufferPool,
    /// Containers opened so far, so that many URLs share credentials and what was learnt of the service.
    containers: Arc<Mutex<Vec<AzureStore>>>,
}

impl StoreOpener {
    /// An opener with its own pools.
    pub fn new(options: StoreOptions) -> Result<Self> {
        let http = HttpClient::new(HttpOptions {
            insecure_http: options.insecure_http,
            stall_timeout: options.stall_timeout,
            cap: options.cap,
            ..HttpOptions::default()
        })?;
        Ok(Self { options, http, buffers: BufferPool::default(), containers: Arc::default() })
    }

    /// Bytes on the wire of everything opened here.
    pub fn meter(&self) -> &Arc<WireMeter> {
        self.http.meter()
    }

    /// The bound on the rate of everything opened here.
    pub fn cap(&self) -> Cap {
        self.http.cap()
    }

    /// How the stores are reached.
    pub fn options(&self) -> &StoreOptions {
        &self.options
    }

    /// Opens what the user wrote. Local paths open their parent folder, so that the last part is the key.
    pub fn open(&self, text: &str) -> Result<Location> {
        match Address::parse(text, &self.options)? {
            Address::Azure(address) => {
                let key = address.key.clone();
                Ok(Location { store: Arc::new(self.open_azure(address)?), key })
            }
            Address::Memory { name, key } => Ok(Location { store: Arc::new(MemoryStore::named(&name)), key }),
            Address::Local(path) => {
                let (root, key) = LocalStore::split(&path)?;
                let store =
                    LocalStore::new(root, self.buffers.clone()).following(self.options.follow_symlinks);
                Ok(Location { store: Arc::new(store), key })
            }
            Address::Stdio => {
                Err(Error::new(ErrorKind::Usage, "open", text, "standard input and output have no names"))
            }
        }
    }

    /// Opens a container, or the account where the address names none.
    pub fn open_azure(&self, address: AzureAddress) -> Result<AzureStore> {
        let mut containers = self.containers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = containers.iter().find(|known| known.address().same_container(&address)) {
            return Ok(known.clone());
        }
        let opened = AzureStore::open(address, &self.options, self.http.clone())?;
        containers.push(opened.clone());
        Ok(opened)
    }
}
