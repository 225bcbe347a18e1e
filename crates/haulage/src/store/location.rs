//! From what the user wrote to a store and a name in it.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use percent_encoding::percent_decode_str;

use super::azure::{AzureAddress, AzureStore};
use super::local::{Shared, special};
use super::s3::{S3Address, S3Store};
use super::session::Pools;
use super::stream::{Input, StreamEnd, StreamStore};
use super::{Capabilities, LocalStore, MemoryStore, Store, StoreOptions};
use crate::buffer::BufferPool;
use crate::error::{Error, ErrorKind, Result};
use crate::gate::Gate;
use crate::http::{Cap, HttpClient, WireMeter};
use crate::units::ByteRate;

/// What the user wrote, taken apart. Parsing touches neither disk nor network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A file or folder.
    Local(PathBuf),
    /// A blob, prefix or container.
    Azure(AzureAddress),
    /// An object, prefix or bucket.
    S3(S3Address),
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

/// Other names of the process's own streams: opened anew they would be written from their beginning.
const STDIO: [&str; 7] =
    ["-", "/dev/stdin", "/dev/stdout", "/dev/fd/0", "/dev/fd/1", "/proc/self/fd/0", "/proc/self/fd/1"];

impl Address {
    /// The stream that a source with this name is read as; `None` for what has a size.
    pub(crate) fn source_stream(self) -> Option<StreamEnd> {
        match self {
            Self::Stdio => Some(StreamEnd::Stdio),
            Self::Local(path) if special::reads_as_stream(&path) => Some(StreamEnd::File(path)),
            _ => None,
        }
    }

    /// The stream that a destination with this name is written as.
    pub(crate) fn destination_stream(self) -> Option<StreamEnd> {
        match self {
            Self::Stdio => Some(StreamEnd::Stdio),
            Self::Local(path) if special::writes_as_stream(&path) => Some(StreamEnd::File(path)),
            _ => None,
        }
    }

    /// Takes apart a path or URL. Whatever begins like a URL is one: `az:x` is never a file, `./az:x` is.
    ///
    /// # Errors
    /// `Usage` for nothing at all, for a scheme that is not known or not followed by `//`, and for what the scheme does
    /// not allow.
    pub fn parse(text: &str, options: &StoreOptions) -> Result<Self> {
        check_name(text)?;
        if STDIO.contains(&text) {
            return Ok(Self::Stdio);
        }
        let Some((scheme, rest)) = scheme(text) else { return Ok(Self::Local(PathBuf::from(text))) };
        let Some(rest) = rest.strip_prefix("//") else {
            let cause = format!("`{scheme}:` begins like a URL, but no // follows");
            return Err(Error::new(ErrorKind::Usage, "open", text, cause)
                .hint(format!("write {scheme}://... for a URL, or ./{text} for a local file")));
        };
        match scheme.as_str() {
            "az" | "http" | "https" => {
                AzureAddress::parse(&format!("{scheme}://{rest}"), options).map(Self::Azure)
            }
            "mem" => {
                let (name, key) = rest.split_once('/').unwrap_or((rest, ""));
                Ok(Self::Memory { name: name.to_owned(), key: key.to_owned() })
            }
            "file" => file(rest).map(Self::Local),
            "s3" => S3Address::parse(&format!("s3://{rest}")).map(Self::S3),
            _ => Err(Error::new(ErrorKind::Usage, "open", text, format!("unknown scheme {scheme}://")).hint(
                "write a local path, az://container/path, s3://bucket/key or https://host/container/path",
            )),
        }
    }
}

fn check_name(text: &str) -> Result<()> {
    if text.is_empty() {
        return Err(Error::new(ErrorKind::Usage, "open", "\"\"", "the name is empty")
            .hint("name a file, a folder or a URL; an unset variable gives an empty name"));
    }
    if text.contains('\0') {
        return Err(Error::new(ErrorKind::Usage, "open", text, "the name holds a zero byte"));
    }
    Ok(())
}

/// Refuses what cannot be meant as a path on this machine: nothing at all, a stream, and whatever begins like a URL.
///
/// # Errors
/// `Usage`, for each of these.
pub fn check_local(path: &Path) -> Result<()> {
    // What is not UTF-8 is no URL.
    let Some(text) = path.to_str() else { return Ok(()) };
    check_name(text)?;
    let cause = match scheme(text) {
        _ if text == "-" => "a stream cannot be used here".to_owned(),
        Some((scheme, _)) => format!("`{scheme}:` begins like a URL, where only a local path will do"),
        None => return Ok(()),
    };
    Err(Error::new(ErrorKind::Usage, "open", text, cause)
        .hint(format!("write ./{text} for a file of that name")))
}

/// The scheme that a name begins with, in lower case, and what follows its colon.
fn scheme(text: &str) -> Option<(String, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.bytes().all(allowed);
    is_scheme.then(|| (scheme.to_ascii_lowercase(), rest))
}

/// The path of a `file://` URL: percent-decoded, on this machine.
fn file(rest: &str) -> Result<PathBuf> {
    let wrong = |cause: &str| {
        Error::new(ErrorKind::Usage, "open", format!("file://{rest}"), cause)
            .hint("write file:///path, or the path alone")
    };
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return Err(wrong("the URL names another machine, or no path at all"));
    }
    let path: Vec<u8> = percent_decode_str(path).collect();
    if path.contains(&0) {
        return Err(wrong("the path holds a zero byte"));
    }
    Ok(PathBuf::from(OsString::from_vec(path)))
}

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
    buckets: Arc<Mutex<Vec<S3Store>>>,
    gate: Gate,
    /// The gate of what lies on this machine.
    here: Gate,
    /// What standard input stands for, where it is not that of the process.
    input: Option<StreamStore>,
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
        })
    }

    /// The same for another question: what is on this machine is looked at anew, for an open folder may be replaced by another of
    /// its name.
    pub(super) fn anew(&self) -> Self {
        Self { local: Shared::flushing(self.options.flush), here: Gate::default(), ..self.clone() }
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
            Address::S3(S3Address { bucket, key }) => {
                Ok(self.location(Arc::new(self.open_s3(&bucket)?), key))
            }
            Address::Memory { name, key } => Ok(self.location(Arc::new(MemoryStore::named(&name)), key)),
            Address::Local(path) => {
                let (root, key) = LocalStore::split(&path)?;
                let store = LocalStore::new(&root, self.buffers.clone());
                let store = store.following(self.options.follow_symlinks, &key).sharing(&self.local);
                Ok(self.location(Arc::new(store), key))
            }
            Address::Stdio => {
                Err(Error::new(ErrorKind::Usage, "open", text, "standard input and output have no names"))
            }
        }
    }

    /// Opens the one object that a name stands for.
    ///
    /// # Errors
    /// `Usage` where it is the name of a container, a folder or a prefix.
    pub(crate) fn open_object(&self, url: &str, operation: &'static str) -> Result<Location> {
        let location = self.open(url)?;
        if location.key.is_empty() || location.key.ends_with('/') {
            let name = location.store.name(&location.key);
            return Err(Error::new(ErrorKind::Usage, operation, name, "this names no object").hint(
                "write the name of the object after the last /; list what is there with: haul ls URL",
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
        Self { input: Some(StreamStore::of(input, name)), ..self }
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
        self.location(Arc::new(StreamStore::new(end)), name)
    }

    /// A name in a store, with the gate that belongs to it.
    pub(crate) fn location(&self, store: Arc<dyn Store>, key: String) -> Location {
        let Capabilities { at_hand, contents, .. } = store.capabilities();
        let gate = if at_hand || !contents { &self.here } else { &self.gate };
        Location { store, key, gate: gate.clone() }
    }

    /// Waits until all that was written to this machine through what was opened here is on the disk. `whole`: nothing was left
    /// out, so that what an earlier run has left in doubt is right now.
    ///
    /// # Errors
    /// `Io` or `NoSpace` where the disk could not keep it.
    pub(crate) async fn flush(&self, whole: bool) -> Result<()> {
        let local = self.local.clone();
        let flushed = tokio::task::spawn_blocking(move || local.flush(whole)).await;
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
        let account = self.pools.account(&address, &self.options)?;
        self.gate.lead_to(account.manners());
        let opened = AzureStore::of(&account, address, self.http.clone());
        containers.push(opened.clone());
        Ok(opened)
    }

    /// Opens a bucket, or the account where the name is empty.
    pub fn open_s3(&self, bucket: &str) -> Result<S3Store> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = buckets.iter().find(|known| known.bucket() == bucket) {
            return Ok(known.clone());
        }
        let opened = self.pools.bucket(bucket, &self.options)?.over(self.http.clone());
        self.gate.lead_to(opened.manners());
        buckets.push(opened.clone());
        Ok(opened)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Address> {
        let endpoint = Some("http://127.0.0.1:1/acc".to_owned());
        Address::parse(text, &StoreOptions { endpoint, ..StoreOptions::default() })
    }

    #[test]
    fn what_begins_like_a_url_is_no_local_file() {
        for text in
            ["az:demo/x", "AZ:demo", "s3:x", "abfs:c", "abfs://c@a/x", "gs:x", "file:x", "a.b+c-d:x", "x:"]
        {
            let error = parse(text).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Usage | ErrorKind::Unsupported), "{text}: {error}");
        }
        for text in [
            "./az:demo",
            "/data/az:x",
            "1:2",
            "a_b:c",
            "wrfout_d01_2005-08-28_00:00:00",
            "a b:c",
            ":x",
            "~",
            ".",
        ] {
            assert_eq!(parse(text).unwrap(), Address::Local(text.into()), "{text}");
        }
    }

    #[test]
    fn schemes_are_read_in_any_case() {
        assert_eq!(parse("AZ://c/Key").unwrap(), parse("az://c/Key").unwrap());
        assert_eq!(
            parse("HTTP://127.0.0.1:1/acc/c/K").unwrap(),
            parse("http://127.0.0.1:1/acc/c/K").unwrap()
        );
        let key = S3Address { bucket: "b".into(), key: "Key/../x".into() };
        assert_eq!(parse("S3://b/Key/../x").unwrap(), Address::S3(key));
    }

    #[test]
    fn nothing_empty_is_a_name() {
        for text in ["", "a\0b", "az://c/a\0b", "file:///a%00b"] {
            assert_eq!(parse(text).unwrap_err().kind(), ErrorKind::Usage, "{text:?}");
        }
        assert!(parse("").unwrap_err().to_string().contains("empty"));
    }

    #[test]
    fn file_urls_are_decoded_and_on_this_machine() {
        assert_eq!(parse("file:///a%20b/c").unwrap(), Address::Local("/a b/c".into()));
        assert_eq!(parse("file://localhost/a").unwrap(), Address::Local("/a".into()));
        for text in ["file://host/a", "file://a", "file://"] {
            assert_eq!(parse(text).unwrap_err().kind(), ErrorKind::Usage, "{text}");
        }
    }

    #[test]
    fn no_segment_of_a_key_walks() {
        for text in
            ["az://c/../d", "az://c/a/./b", "az://c/..", "az://c/.", "http://127.0.0.1:1/acc/c/%2e%2E/d"]
        {
            assert_eq!(parse(text).unwrap_err().kind(), ErrorKind::Usage, "{text}");
        }
        for text in ["az://c/%2e%2e/d", "az://c/a..b", "az://c/...", "az://c/.hidden"] {
            parse(text).unwrap();
        }
    }
}
