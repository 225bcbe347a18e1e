//! From what the user wrote to a stream of pairs: source object, destination, and what is there already.
//!
//! Source and destination are listed side by side in byte order and merged, so that neither is held and
//! no object costs a request of its own. Where the order or the permissions do not allow that, the pair
//! is handed on as unknown and one look decides.

mod ahead;
mod apart;
mod cursor;
mod extras;
mod fed;
mod filter;
mod lookups;
mod marker;
mod named;
mod one;
mod pages;
mod pairs;
mod pattern;
mod shape;
mod tree;
mod vouched;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;

pub(crate) use self::extras::Extras;
use self::extras::Wanted;
pub(crate) use self::filter::Filter;
pub(crate) use self::marker::{Emptied, marker_of};
pub(crate) use self::named::check_names;
pub(crate) use self::one::{as_prefix, find};
use self::one::{names_none, one};
pub(crate) use self::pattern::{Pattern, with_list_hint};
use self::shape::{Shape, below};
use self::vouched::Vouched;
use super::plan::{Existing, Pair, Place};
use crate::error::{Error, ErrorKind, Result};
use crate::options::{Compare, CopyOptions, NameList, Overwrite, Work};
use crate::output::{keys_below, resolved};
use crate::store::{Address, Location, ObjectMeta, ReceiptStore, StoreOpener};
use crate::task::off_thread;

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
    Extra {
        /// Its name in full.
        full: String,
        /// The same below the destination.
        name: String,
    },
    /// All that are only at the destination, to be deleted.
    Extras(Box<Extras>),
    /// One of these, to be backed up first.
    Doomed(Box<Pair>),
    /// The objects of a folder are to be moved: its markers are deleted when nothing is left in it.
    Emptied(Box<Emptied>),
    /// The user should know something of what was asked for.
    Warning {
        /// What it is about.
        object: String,
        /// In words.
        message: String,
    },
    /// A list is not whole, so that nobody knows whether what seems to be only at the destination is.
    Unsure {
        /// How many names seem so.
        extras: u64,
    },
}

/// Lists all work into `found`. An error is one that stops the listing.
pub(crate) struct Listing {
    pub(crate) opener: StoreOpener,
    pub(crate) filter: Filter,
    pub(crate) overwrite: Overwrite,
    pub(crate) found: mpsc::Sender<Listed>,
    /// The job's own record and receipt, which are no content.
    outputs: Vec<PathBuf>,
    /// Sources may have wildcards.
    wildcards: bool,
    /// Names that are asked for instead of listing what is there.
    names: Option<NameList>,
    /// Only one object is meant, never what lies below a name.
    single: bool,
    /// Connections opened beforehand to one place, at most.
    ahead_max: usize,
    /// Which of the sources is listed.
    origin: usize,
    /// Places that are known not to be one by two names.
    witnessed: HashSet<(String, String)>,
    /// Destinations taken so far, where two sources could meet.
    taken: Option<HashSet<u64>>,
    /// The last local folder that was gone to: as it was named, and resolved.
    folder: Option<(PathBuf, PathBuf)>,
    /// The receipt of the last run, where one is to be believed.
    vouched: Vouched,
    /// What is there matters even where all is replaced: it is copied here first.
    backs_up: Option<Location>,
    /// Sources are deleted in the end.
    moves: bool,
    /// Where what happens is logged.
    log: Option<String>,
    /// Single objects that were named and are not within the bounds, and pairs that were handed on.
    out_of_bounds: u64,
    given: u64,
    /// What is wrong with a glob that leaves nothing out.
    missed: Option<Error>,
    /// Nothing will be written, so that what cannot be is looked for.
    plans: bool,
}

/// Nobody wants to hear more.
struct Gone;

impl From<Gone> for Error {
    fn from(_: Gone) -> Self {
        Error::new(ErrorKind::Cancelled, "list", "names", "the job was stopped")
    }
}

impl Listing {
    /// A listing for a job with these options, whose ages are counted from `now_ns`, in nanoseconds since 1970.
    ///
    /// # Errors
    /// `Usage` for a glob that is none, and for bounds that nothing is within.
    pub(crate) fn new(
        opener: StoreOpener,
        options: &CopyOptions,
        now_ns: u64,
        found: mpsc::Sender<Listed>,
    ) -> Result<Self> {
        let filter = Filter::new(&options.include, &options.exclude)?.within(options.bounds, now_ns)?;
        Ok(Self {
            opener,
            filter,
            overwrite: options.overwrite,
            found,
            outputs: options.outputs().cloned().collect(),
            wildcards: options.wildcards,
            names: options.names.clone(),
            single: false,
            ahead_max: usize::MAX,
            origin: 0,
            witnessed: HashSet::new(),
            taken: None,
            folder: None,
            vouched: match (options.compare, &options.receipt) {
                (Compare::Receipt, Some(receipt)) => Vouched::read(receipt)?,
                _ => Vouched::default(),
            },
            backs_up: None,
            moves: false,
            log: options.log.clone(),
            out_of_bounds: 0,
            given: 0,
            missed: None,
            plans: options.dry_run,
        })
    }

    /// Asks what is there even where all is replaced, for it is copied to this place first.
    #[must_use]
    pub(crate) fn backing_up(mut self, place: Option<Location>) -> Self {
        self.backs_up = place;
        self
    }

    /// Takes only a source that is one object.
    #[must_use]
    pub(crate) fn single(mut self, single: bool) -> Self {
        self.single = single;
        self
    }

    /// Opens no more connections beforehand than there may be requests in flight.
    #[must_use]
    pub(crate) fn for_requests(mut self, most: usize) -> Self {
        self.ahead_max = most;
        self
    }

    /// Opens connections before it is known what for.
    fn prepare(&self, place: &Location, connections: usize) {
        place.store.prepare(connections.min(self.ahead_max));
    }

    /// The keys below a source that are files the job itself writes.
    fn own_keys(&self, source: &str) -> Result<Vec<String>> {
        Ok(match Address::parse(source, self.opener.options())? {
            Address::Local(path) if !self.outputs.is_empty() => keys_below(&path, &self.outputs),
            _ => Vec::new(),
        })
    }

    /// Lists everything that `work` names.
    pub(crate) async fn run(mut self, work: &Work) -> Result<()> {
        if let Some(names) = self.names.take() {
            return self.named(&names, work).await;
        }
        match work {
            Work::Copy { sources, destination } | Work::Move { sources, destination } => {
                self.moves = matches!(work, Work::Move { .. });
                let several = sources.len() > 1;
                self.taken = several.then(HashSet::new);
                let destination = self.opener.open_destination(destination)?;
                for (origin, source) in sources.iter().enumerate() {
                    self.origin = origin;
                    let copied = async {
                        let own = self.own_keys(source)?;
                        let source = self.opener.open_source(source)?;
                        self.copy_source(source, &destination, several, &own).await
                    };
                    match copied.await {
                        // One source that is missing is no reason to leave the others.
                        Err(error) if several && error.kind() == ErrorKind::NotFound => {
                            self.send(Listed::Problem(error)).await?;
                        }
                        other => other?,
                    }
                }
                self.check_bounds(work)
            }
            Work::CopyPairs(pairs) => {
                self.taken = Some(HashSet::with_capacity(pairs.len()));
                self.pairs(pairs).await
            }
            Work::Fed(feed) => self.fed(feed).await,
            Work::Sync { source, destination, delete } => {
                self.sync(source, destination, *delete).await?;
                self.check_bounds(work)
            }
            Work::Verify { source, destination, .. } => {
                let destination = self.opener.open(destination)?;
                if let Some(receipt) = self.receipt(source).await? {
                    return self.verify_receipt(receipt, &destination).await;
                }
                let own = self.own_keys(source)?;
                let source = self.opener.open(source)?;
                let (source, shape) = self.meant(source, true).await?;
                match shape {
                    Shape::One(meta) => {
                        self.verify_one(source, destination, meta).await?;
                        self.check_bounds(work)
                    }
                    Shape::Tree(pages) => self.tree(&source, pages, &destination, Wanted::Told, &own).await,
                }
            }
        }
    }

    async fn copy_source(
        &mut self,
        source: Location,
        destination: &Location,
        several: bool,
        own: &[String],
    ) -> Result<()> {
        self.prepare(&source, ahead::BLIND);
        let from_stream = source.store.capabilities().in_order;
        let to_stream = destination.store.capabilities().in_order;
        if from_stream && names_none(&destination.key) {
            let name = destination.store.name(&destination.key);
            return Err(Error::new(ErrorKind::Usage, "copy", name, "a stream has no name")
                .hint("write the name of the object after the last /"));
        }
        let (source, shape) = match from_stream || to_stream {
            true => {
                let found = Shape::One(find(&source, "copy").await?);
                (source, found)
            }
            false => self.meant(source, false).await?,
        };
        let meta = match shape {
            Shape::Tree(_) if self.single => {
                let cause = "this is no single object, of which several jobs could each move a portion";
                let name = source.store.name(&source.key);
                return Err(Error::new(ErrorKind::Usage, "stage", name, cause).hint("name one object"));
            }
            Shape::Tree(pages) => {
                if self.moves {
                    apart::check("move", &source, destination)?;
                    self.check_by_witness("move", &source, destination).await?;
                    // Else what is logged would be moved while it is written.
                    if let Some(log) = &self.log {
                        apart::check_outside("log to", &self.opener.open_destination(log)?, &source)?;
                    }
                }
                self.prepare(&source, ahead::TREE);
                self.prepare(destination, ahead::TREE);
                return self.tree(&source, pages, destination, Wanted::No, own).await;
            }
            Shape::One(meta) => meta,
        };
        // Of a stream neither size nor age is known.
        if !from_stream && !self.is_within(&meta) {
            return Ok(());
        }
        let connections = ahead::for_one(meta.size);
        if connections > 1 {
            self.prepare(&source, connections);
            self.prepare(destination, connections);
        }
        let mut pair = Pair { origin: self.origin, ..one(&source, destination, meta, several) };
        if self.moves && self.identity(&pair.source) == self.identity(&pair.destination) {
            return Err(apart::same("move", &pair.source.name()));
        }
        if self.moves {
            let beside = |place: &Place| {
                let folder = place.key.rfind('/').map_or(0, |slash| slash + 1);
                self.opener.location(place.store.clone(), place.key[..folder].to_owned())
            };
            let (here, there) = (beside(&pair.source), beside(&pair.destination));
            self.check_by_witness("move", &here, &there).await?;
        }
        // Nothing is in a stream that may be looked at; and what a stream brings is not known before it has been read.
        if (self.overwrite != Overwrite::Always || self.backs_up.is_some()) && !from_stream && !to_stream {
            pair.existing = Existing::Unknown;
        }
        self.give(pair).await
    }

    async fn verify_one(&mut self, source: Location, destination: Location, meta: ObjectMeta) -> Result<()> {
        if !self.is_within(&meta) {
            return Ok(());
        }
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
        let (only, gap) = (receipt.only(), receipt.gap());
        if let Some(gap) = gap {
            self.send(Listed::Problem(gap)).await?;
        }
        let source = self.opener.location(Arc::new(receipt), String::new());
        match only {
            // The copy was of one object to exactly this name.
            Some(meta) if destination.key.rsplit('/').next() == Some(&meta.key) => {
                let source = Location { key: meta.key.clone(), ..source };
                self.verify_one(source, destination.clone(), meta).await
            }
            _ => {
                let pages = below(&source, true);
                self.tree(&source, pages, destination, Wanted::Told, &[]).await
            }
        }
    }

    async fn give(&mut self, pair: Pair) -> Result<()> {
        self.given += 1;
        // What the user wants to know before is what would happen.
        if self.plans
            && let Err(error) = pair.destination.store.admits(&pair.destination.key).await
        {
            return self.send(Listed::Problem(error)).await;
        }
        if self.taken.is_some() {
            let hash = self.hash_of(&pair.destination);
            let is_new = |taken: &mut HashSet<u64>| taken.insert(hash);
            if !self.taken.as_mut().is_none_or(is_new) {
                let cause = format!("another source goes to {} as well", pair.destination.name());
                let problem = Error::new(ErrorKind::Exists, "list", &*pair.source.name(), cause)
                    .hint("copy the sources to different folders");
                return self.send(Listed::Problem(problem)).await;
            }
        }
        self.send(Listed::Pair(Box::new(pair))).await
    }

    /// A number for a place, however it was spelled.
    fn hash_of(&mut self, place: &Place) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.identity(place).hash(&mut hasher);
        hasher.finish()
    }

    /// One name for one destination, however it was spelled.
    fn identity(&mut self, place: &Place) -> PathBuf {
        let named = PathBuf::from(&*place.store.identity(&place.key));
        let (true, Some(folder), Some(name)) =
            (place.store.capabilities().folders, named.parent(), named.file_name())
        else {
            return named;
        };
        match &self.folder {
            Some((last, resolved)) if last == folder => resolved.join(name),
            _ => {
                let resolved = resolved(folder);
                let identity = resolved.join(name);
                self.folder = Some((folder.to_path_buf(), resolved));
                identity
            }
        }
    }

    async fn send(&self, listed: Listed) -> Result<()> {
        self.found.send(listed).await.map_err(|_| Gone.into())
    }
}
