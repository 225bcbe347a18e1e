//! From what the user wrote to a stream of pairs: source object, destination, and what is there already.
//!
//! Source and destination are listed side by side in byte order and merged, so that neither is held and
//! no object costs a request of its own. Where the order or the permissions do not allow that, the pair
//! is handed on as unknown and one look decides.

mod cursor;
mod filter;
mod pages;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesOrdered;
use tokio::sync::mpsc;

use self::cursor::Cursor;
pub(crate) use self::filter::Filter;
use self::pages::Pages;
use super::plan::{Existing, Pair, Place};
use super::transfer::{off_thread, with_retries};
use crate::error::{Error, ErrorKind, Result};
use crate::job::{Overwrite, Work};
use crate::store::{Address, ListRequest, Location, ObjectMeta, ReceiptStore, Store, StoreOpener};

/// Pairs looked up at once where each needs a request of its own.
const LOOKUPS: usize = 64;

/// What listing finds.
#[derive(Debug)]
pub(crate) enum Listed {
    /// An object with its destination.
    Pair(Box<Pair>),
    /// A link, a socket or a device.
    NotAFile(Error),
    /// A name that is there but cannot be moved.
    Problem(Error),
    /// The name of an object that is only at the destination.
    Extra(String),
}

/// Lists all work into `found`. An error is one that stops the listing.
pub(crate) struct Listing {
    pub(crate) opener: StoreOpener,
    pub(crate) filter: Filter,
    pub(crate) overwrite: Overwrite,
    pub(crate) found: mpsc::Sender<Listed>,
    /// Destinations taken so far, where two sources could meet.
    taken: Option<HashSet<u64>>,
}

/// Nobody wants to hear more.
struct Gone;

impl From<Gone> for Error {
    fn from(_: Gone) -> Self {
        Error::new(ErrorKind::Cancelled, "list", "names", "the job was stopped")
    }
}

impl Listing {
    pub(crate) fn new(
        opener: StoreOpener,
        filter: Filter,
        overwrite: Overwrite,
        found: mpsc::Sender<Listed>,
    ) -> Self {
        Self { opener, filter, overwrite, found, taken: None }
    }

    /// Lists everything that `work` names.
    pub(crate) async fn run(mut self, work: &Work) -> Result<()> {
        match work {
            Work::Copy { sources, destination } => {
                let several = sources.len() > 1;
                self.taken = several.then(HashSet::new);
                let destination = self.opener.open(destination)?;
                for source in sources {
                    let copied = async {
                        let source = self.opener.open(source)?;
                        self.copy_source(source, &destination, several).await
                    };
                    match copied.await {
                        // One source that is missing is no reason to leave the others.
                        Err(error) if several && error.kind() == ErrorKind::NotFound => {
                            self.send(Listed::Problem(error)).await?;
                        }
                        other => other?,
                    }
                }
                Ok(())
            }
            Work::CopyPairs(pairs) => {
                self.taken = Some(HashSet::with_capacity(pairs.len()));
                self.pairs(pairs).await
            }
            Work::Verify { source, destination, .. } => {
                let destination = self.opener.open(destination)?;
                if let Some(receipt) = self.receipt(source).await? {
                    return self.verify_receipt(receipt, &destination).await;
                }
                let source = self.opener.open(source)?;
                match self.shape(&source).await? {
                    Shape::One(meta) => self.verify_one(source, destination, meta).await,
                    Shape::Tree => self.tree(&source, &destination, true).await,
                }
            }
        }
    }

    async fn copy_source(&mut self, source: Location, destination: &Location, several: bool) -> Result<()> {
        let meta = match self.shape(&source).await? {
            Shape::Tree => return self.tree(&source, destination, false).await,
            Shape::One(meta) => meta,
        };
        let mut pair = one(&source, destination, meta, several);
        if self.overwrite != Overwrite::Always {
            pair.existing = Existing::Unknown;
        }
        self.give(pair).await
    }

    async fn verify_one(&mut self, source: Location, destination: Location, meta: ObjectMeta) -> Result<()> {
        let pair = Pair { existing: Existing::Unknown, ..one(&source, &destination, meta, false) };
        self.give(pair).await
    }

    /// The receipt of this name, where it is one.
    async fn receipt(&self, name: &str) -> Result<Option<ReceiptStore>> {
        match Address::parse(name, self.opener.options())? {
            Address::Local(path) => off_thread(move || ReceiptStore::open(&path)).await?,
            _ => Ok(None),
        }
    }

    async fn verify_receipt(&mut self, receipt: ReceiptStore, destination: &Location) -> Result<()> {
        let only = receipt.only();
        let source = Location { store: Arc::new(receipt), key: String::new() };
        match only {
            // The copy was of one object to exactly this name.
            Some(meta) if destination.key.rsplit('/').next() == Some(&meta.key) => {
                let source = Location { key: meta.key.clone(), ..source };
                self.verify_one(source, destination.clone(), meta).await
            }
            _ => self.tree(&source, destination, true).await,
        }
    }

    /// Whether a location is an object or a folder of them.
    async fn shape(&self, location: &Location) -> Result<Shape> {
        let Location { store, key } = location;
        if key.is_empty() || key.ends_with('/') {
            return Ok(Shape::Tree);
        }
        match with_retries!(trace => store.head(key, trace).await) {
            Ok(meta) => Ok(Shape::One(meta)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let below = format!("{key}/");
                let request = ListRequest { prefix: below, hierarchical: true, ..ListRequest::default() };
                let mut below = store.list(request);
                let page = with_retries!(trace => below.next_page(trace).await);
                match page {
                    Ok(Some(page)) if !page.objects.is_empty() || !page.prefixes.is_empty() => {
                        Ok(Shape::Tree)
                    }
                    Err(worse) if worse.kind() != ErrorKind::NotFound => Err(worse),
                    // The answer to the first question says it best.
                    _ => Err(error),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Everything below a folder or prefix.
    async fn tree(&mut self, source: &Location, destination: &Location, verify: bool) -> Result<()> {
        let (from, to) = (as_prefix(&source.key), as_prefix(&destination.key));
        let mut there = self.cursor(destination, &to, verify).await?;
        let request = ListRequest { prefix: from.clone(), ..ListRequest::default() };
        let mut pages = Pages::of(source.store.list(request));
        let mut any = false;
        while let Some(page) = pages.next().await? {
            for problem in page.problems {
                any = true;
                let file = problem.kind() != ErrorKind::Unsupported;
                self.send(if file { Listed::Problem(problem) } else { Listed::NotAFile(problem) }).await?;
            }
            for meta in page.objects {
                any = true;
                let relative = &meta.key[from.len()..];
                // A marker that makes a folder visible in a browser is no object to move.
                let marker = meta.size == 0 && (relative.is_empty() || relative.ends_with('/'));
                if marker || !self.filter.wants(relative) {
                    continue;
                }
                let key = format!("{to}{relative}");
                let (mut existing, extras) = there.find(&key).await?;
                self.extras(&destination.store, extras, verify).await?;
                if verify && existing == Existing::Absent {
                    // A store may list in another order than ours; one look settles what is missing.
                    existing = Existing::Unknown;
                }
                let source = Place { store: source.store.clone(), key: meta.key.clone() };
                let destination = Place { store: destination.store.clone(), key };
                self.give(Pair { source, destination, name_at: to.len(), meta, existing }).await?;
            }
        }
        while verify && let Some(extras) = there.rest().await? {
            self.extras(&destination.store, extras, verify).await?;
        }
        if any || source.store.capabilities().local || source.key.is_empty() {
            return Ok(());
        }
        let name = source.store.name(&source.key);
        Err(Error::new(ErrorKind::NotFound, "list", name, "no object has this prefix")
            .hint("list what is there with: haul ls URL"))
    }

    /// How to learn what is at the destination while the source is listed.
    async fn cursor(&self, destination: &Location, prefix: &str, verify: bool) -> Result<Cursor> {
        let store = destination.store.clone();
        if self.overwrite == Overwrite::Always && !verify {
            return Ok(Cursor::unasked(store));
        }
        Cursor::listing(store, prefix, verify).await
    }

    /// Objects only at the destination matter where two sides are compared.
    async fn extras(&self, store: &Arc<dyn Store>, keys: Vec<String>, verify: bool) -> Result<()> {
        for key in keys {
            if verify {
                self.send(Listed::Extra(store.name(&key))).await?;
            }
        }
        Ok(())
    }

    /// Pairs each need their own look at the source; many at once.
    async fn pairs(&mut self, pairs: &[(String, String)]) -> Result<()> {
        let opener = self.opener.clone();
        let overwrite = self.overwrite;
        let mut pairs = pairs.iter();
        let mut looking = FuturesOrdered::new();
        loop {
            let room = LOOKUPS - looking.len();
            let next = pairs.by_ref().take(room);
            looking
                .extend(next.map(|(source, destination)| look_up(&opener, source, destination, overwrite)));
            let Some(result) = looking.next().await else { break Ok(()) };
            match result {
                Ok(pair) => self.give(pair).await?,
                // A wrong key or URL is wrong for all of them.
                Err(error) if matches!(error.kind(), ErrorKind::Permission | ErrorKind::Usage) => {
                    return Err(error);
                }
                Err(error) => self.send(Listed::Problem(error)).await?,
            }
        }
    }

    async fn give(&mut self, pair: Pair) -> Result<()> {
        if let Some(taken) = &mut self.taken {
            let mut hasher = DefaultHasher::new();
            pair.destination.name().hash(&mut hasher);
            if !taken.insert(hasher.finish()) {
                let cause = format!("another source goes to {} as well", pair.destination.name());
                let problem = Error::new(ErrorKind::Exists, "list", &*pair.source.name(), cause)
                    .hint("copy the sources to different folders");
                return self.send(Listed::Problem(problem)).await;
            }
        }
        self.send(Listed::Pair(Box::new(pair))).await
    }

    async fn send(&self, listed: Listed) -> Result<()> {
        self.found.send(listed).await.map_err(|_| Gone.into())
    }
}

enum Shape {
    One(ObjectMeta),
    Tree,
}

/// The pair of a single object. Into a folder it keeps its name.
fn one(source: &Location, destination: &Location, meta: ObjectMeta, several: bool) -> Pair {
    let to = &destination.key;
    let name = source.key.rsplit('/').next().unwrap_or(&source.key);
    let key = match to.is_empty() || to.ends_with('/') || several {
        true => format!("{}{name}", as_prefix(to)),
        false => to.clone(),
    };
    Pair {
        source: Place { store: source.store.clone(), key: source.key.clone() },
        name_at: key.rfind('/').map_or(0, |slash| slash + 1),
        destination: Place { store: destination.store.clone(), key },
        meta,
        existing: Existing::Absent,
    }
}

/// A key as the beginning of the keys below it.
fn as_prefix(key: &str) -> String {
    if key.is_empty() || key.ends_with('/') { key.to_owned() } else { format!("{key}/") }
}

async fn look_up(
    opener: &StoreOpener,
    source: &str,
    destination: &str,
    overwrite: Overwrite,
) -> Result<Pair> {
    let (source, destination) = (opener.open(source)?, opener.open(destination)?);
    let meta = with_retries!(trace => source.store.head(&source.key, trace).await)?;
    let mut pair = one(&source, &destination, meta, false);
    if overwrite != Overwrite::Always {
        pair.existing = Existing::Unknown;
    }
    Ok(pair)
}
