//! Single questions to a store: list, stat, count, read; what writes one object from memory (`put`); what removes
//! objects (`remove`); and what makes and removes containers (`container`).
//!
//! Each takes what the user wrote, retries as a job would, and returns when it is done. What moves many objects
//! is a [`crate::job`]. What goes out of here holds no secret that we know.
//!
//! Futures are boxed, here and wherever else the engine is called: so their code is compiled once, and not again in each crate that
//! awaits them.

mod clean;
mod container;
mod get;
mod in_order;
mod list;
mod presign;
mod put;
mod ranges;
mod reader;
mod remove;
mod session;

use futures_util::future::BoxFuture;
use tokio::io::AsyncWrite;

pub use self::clean::{CleanReport, Cleaning};
pub use self::container::{make_container, remove_container};
pub use self::get::get;
pub use self::list::{Listing, list, list_matching};
pub use self::presign::presign;
pub use self::put::put;
pub use self::ranges::{get_first, get_ranges};
pub use self::reader::Reader;
pub use self::remove::{Removal, RemoveOptions, RemoveReport, check_remote};
pub use self::session::Sessions;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Failure;
pub use crate::event::Written;
use crate::gate::through;
use crate::options::CopyOptions;
use crate::secret::redacted;
use crate::stage::list::{find, with_list_hint};
use crate::stage::verify::written_already;
use crate::store::{Address, Location, ObjectMeta, Request, StoreOpener, StoreOptions};

/// What messages call the output of `cat`.
const STDIO: &str = "-";

/// All that the store says of one object.
pub fn stat<'a>(url: &'a str, options: &'a StoreOptions) -> BoxFuture<'a, Result<ObjectMeta>> {
    Box::pin(async move {
        let Location { store, key, gate } = StoreOpener::new(options.clone())?.open(url)?;
        if key.is_empty() || key.ends_with('/') {
            let name = store.name(&key);
            return Err(Error::new(ErrorKind::Usage, "stat", &*name, "this names no object")
                .hint(format!("list what is there with: haul ls {name}")));
        }
        let name = store.name(&key);
        let looked = through!(gate, store.api(Request::Look), name, trace => store.head(&key, trace).await);
        looked.map(shown).map_err(|error| with_list_hint(error, &name))
    })
}

/// Another version is there than the one that was to be read.
fn replaced(from: &Location) -> Error {
    let name = from.store.name(&from.key);
    Error::new(ErrorKind::SourceChanged, "read", name, "it was replaced while it was read")
}

/// What is shown of an object.
fn shown(meta: ObjectMeta) -> ObjectMeta {
    ObjectMeta {
        key: redacted(meta.key),
        etag: redacted(meta.etag),
        content_type: meta.content_type.map(redacted),
        ..meta
    }
}

/// How much there is.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Usage {
    /// Objects.
    pub objects: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Names that are there but could not be counted.
    pub problems: Vec<Failure>,
}

/// Adds up objects and bytes at and below a path or URL, of names below that the globs want.
pub fn disk_usage<'a>(
    url: &'a str,
    include: &'a [String],
    exclude: &'a [String],
    options: &'a StoreOptions,
) -> BoxFuture<'a, Result<Usage>> {
    Box::pin(async move {
        let mut listing = list_matching(url, true, options).await?.matching(include, exclude)?;
        let mut usage = Usage::default();
        while let Some(page) = listing.next().await? {
            usage.problems.extend(page.problems.iter().map(Failure::from));
            usage.objects += page.objects.len() as u64;
            // A list may claim any size.
            usage.bytes =
                page.objects.iter().fold(usage.bytes, |sum, object| sum.saturating_add(object.size));
        }
        Ok(usage)
    })
}

/// Writes an object to `writer`, in order, and gives its length.
///
/// # Errors
/// `Integrity` when the whole does not match the checksum stored with it; every range that the service can
/// vouch for is verified before it is passed on.
pub fn cat<'a>(
    url: &'a str,
    options: &'a StoreOptions,
    mut writer: &'a mut (dyn AsyncWrite + Unpin + Send),
) -> BoxFuture<'a, Result<u64>> {
    Box::pin(async move {
        let address = Address::parse(url, options)?;
        if address != Address::Stdio
            && let Some(stream) = address.source_stream()
        {
            let copied = tokio::io::copy(&mut stream.input().await?, &mut writer).await;
            return copied.map_err(|e| Error::from_io("read", stream.name(), e));
        }
        let location = StoreOpener::new(options.clone())?.open(url)?;
        let found = find(&location, "cat").await;
        let found = found.map_err(|error| with_list_hint(error, &location.store.name(&location.key)))?;
        let limits = in_order::limits(&CopyOptions::default())?;
        in_order::read_all(&location, &found, &mut writer, STDIO, &limits).await.map_err(written_already)?;
        Ok(found.size)
    })
}
