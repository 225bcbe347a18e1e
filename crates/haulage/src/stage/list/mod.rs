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
mod named;
mod one;
mod pages;
mod pairs;
mod vouched;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;

use self::cursor::Cursor;
pub(crate) use self::extras::Extras;
use self::extras::{Gathered, Wanted};
pub(crate) use self::filter::Filter;
pub(crate) use self::named::check_names;
pub(crate) use self::one::find;
use self::one::{as_prefix, names_none, one};
use self::pages::Pages;
use self::vouched::Vouched;
use super::plan::{Existing, Pair, Place};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::through;
use crate::options::{Compare, CopyOptions, NameList, Overwrite, Work};
use crate::output::{keys_below, resolved};
use crate::store::{Address, ListRequest, Location, ObjectMeta, ReceiptStore, Request, StoreOpener};
use crate::task::off_thread;

/// Whether a name is an object or a folder takes two questions. When the first is not answered by now, the second goes too.
const ASIDE: Duration = Duration::from_millis(20);

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
    /// All that are only at the destination, to be deleted.
    Extras(Box<Extras>),
    /// One of these, to be backed up first.
    Doomed(Box<Pair>),
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
    /// Names that are asked for instead of listing what is there.
    names: Option<NameList>,
    /// Only one object is meant, never what lies below a name.
    single: bool,
    /// Connections opened beforehand to one place, at most.
    ahead_max: usize,
    /// Which of the sources is listed.
    origin: usize,
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
            outputs: [&options.record, &options.receipt].into_iter().flatten().cloned().collect(),
            names: options.names.clone(),
            single: false,
            ahead_max: usize::MAX,
            origin: 0,
            taken: None,
            folder: None,
            vouched: match (options.compare, &options.receipt) {
                (Compare::Receipt, Some(receipt)) => Vouched::read(receipt)?,
                _ => Vouched::default(),
            },
            backs_up: None,
            moves: false,
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
                Ok(())
            }
            Work::CopyPairs(pairs) => {
                self.taken = Some(HashSet::with_capacity(pairs.len()));
                self.pairs(pairs).await
            }
            Work::Fed(feed) => self.fed(feed).await,
            Work::Sync { source, destination, delete } => self.sync(source, destination, *delete).await,
            Work::Verify { source, destination, .. } => {
                let destination = self.opener.open(destination)?;
                if let Some(receipt) = self.receipt(source).await? {
                    return self.verify_receipt(receipt, &destination).await;
                }
                let own = self.own_keys(source)?;
                let source = self.opener.open(source)?;
                match self.shape(&source, true).await? {
                    Shape::One(meta) => self.verify_one(source, destination, meta).await,
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
        let shape = match from_stream || to_stream {
            true => Shape::One(find(&source, "copy").await?),
            false => self.shape(&source, false).await?,
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
                }
                self.prepare(&source, ahead::TREE);
                self.prepare(destination, ahead::TREE);
                return self.tree(&source, pages, destination, Wanted::No, own).await;
            }
            Shape::One(meta) => meta,
        };
        let connections = ahead::for_one(meta.size);
        if connections > 1 {
            self.prepare(&source, connections);
            self.prepare(destination, connections);
        }
        let mut pair = Pair { origin: self.origin, ..one(&source, destination, meta, several) };
        if self.moves && self.identity(&pair.source) == self.identity(&pair.destination) {
            return Err(apart::same("move", &pair.source.name()));
        }
        // Nothing is in a stream that may be looked at; and what a stream brings is not known before it has been read.
        if (self.overwrite != Overwrite::Always || self.backs_up.is_some()) && !from_stream && !to_stream {
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

    /// Whether a location is an object or a folder of them.
    async fn shape(&self, location: &Location, verify: bool) -> Result<Shape> {
        let Location { store, key, gate } = location;
        if names_none(key) {
            return Ok(Shape::Tree(below(location, verify)));
        }
        let (api, name) = (store.api(Request::Look), store.name(key));
        let looking = async { through!(gate, api, name, trace => answered(store.head(key, trace).await)) };
        tokio::pin!(looking);
        // Over a long way the answers to both questions come in the time of one.
        let (looked, pages) = match timeout(ASIDE, &mut looking).await {
            Ok(looked) => (looked, None),
            Err(_) => {
                self.prepare(location, ahead::TREE);
                let pages = below(location, verify);
                (looking.await, Some(pages))
            }
        };
        match looked? {
            Ok(meta) => {
                pages.into_iter().for_each(Pages::leave);
                Ok(Shape::One(meta))
            }
            Err(missing) => {
                let mut pages = pages.unwrap_or_else(|| below(location, verify));
                match pages.first().await {
                    // What could not be read lies below it too.
                    Ok(Some(page)) if !page.objects.is_empty() || !page.problems.is_empty() => {
                        Ok(Shape::Tree(pages))
                    }
                    Err(worse) if worse.kind() != ErrorKind::NotFound => Err(worse),
                    // The answer to the first question says it best.
                    _ => Err(with_glob_hint(missing, &name)),
                }
            }
        }
    }

    /// Everything below a folder or prefix, but the keys in `own`.
    async fn tree(
        &mut self,
        source: &Location,
        mut pages: Pages,
        destination: &Location,
        wanted: Wanted,
        own: &[String],
    ) -> Result<()> {
        let verify = wanted == Wanted::Told;
        let (from, to) = (as_prefix(&source.key), as_prefix(&destination.key));
        // What is to be moved is often known before the answer what is there: connections for it are opened meanwhile.
        let preparing = async {
            if let Some(Ok(page)) = pages.peek().await {
                let connections = ahead::for_these(page);
                self.prepare(source, connections);
                self.prepare(destination, connections);
            }
        };
        let (there, ()) = tokio::join!(self.cursor(destination, &to, wanted), preparing);
        let mut there = there?;
        // Called extra when both lists have come to their ends, and not before.
        // A file that is written meanwhile, under this name or one that the disk takes for it, is not what was listed.
        let by_version = wanted != Wanted::Told && destination.store.capabilities().folders;
        let mut extras = Gathered::new(wanted, to.clone(), self.filter.clone(), by_version);
        let (mut seen, mut chosen, mut any) = (0_u64, 0_u64, false);
        while let Some(page) = pages.next().await? {
            for problem in page.problems {
                any = true;
                extras.not_listed(&problem, &source.store.name(&from));
                let file = problem.kind() != ErrorKind::Unsupported;
                self.send(if file { Listed::Problem(problem) } else { Listed::NotAFile(problem) }).await?;
            }
            for meta in page.objects {
                any = true;
                let Some(relative) = meta.key.strip_prefix(&from).map(str::to_owned) else {
                    let cause = "the list names it, though it is not below what was asked for";
                    let name = source.store.name(&meta.key);
                    return Err(Error::new(ErrorKind::Protocol, "list", name, cause));
                };
                // A marker that makes a folder visible in a browser is no object to move.
                if is_marker(meta.size, &relative) || own.contains(&meta.key) {
                    // What the source has is not only at the destination, though it is no object to move.
                    if let Wanted::Deleted(_) = wanted {
                        there.find(&format!("{to}{relative}"), &mut |extra| extras.keep(extra)).await?;
                    }
                    continue;
                }
                seen += 1;
                let taken = self.filter.wants(&relative) && self.filter.takes(&meta);
                // One that takes no part is there all the same, and its counterpart is not extra.
                if !taken && wanted == Wanted::No {
                    continue;
                }
                let key = format!("{to}{relative}");
                let mut existing = there.find(&key, &mut |extra| extras.keep(extra)).await?;
                if !taken {
                    continue;
                }
                chosen += 1;
                extras.all += u64::from(existing.there().is_some());
                if verify && existing == Existing::Absent {
                    // A store may list in another order than ours; one look settles what is missing.
                    existing = Existing::Unknown;
                }
                let source = Place { store: source.store.clone(), key: meta.key };
                let destination = Place { store: destination.store.clone(), key };
                let meta = ObjectMeta { key: source.key.clone(), ..meta };
                let origin = self.origin;
                let mut pair = Pair { origin, ..Pair::new(source, destination, to.len(), meta, existing) };
                self.vouched.apply(&mut pair);
                self.give(pair).await?;
            }
        }
        if wanted != Wanted::No {
            there.rest(&mut |extra| extras.keep(extra)).await?;
        }
        let whole = extras.whole && there.is_whole();
        let found = Found { seen, chosen, any, whole: extras.whole, bounded: self.filter.is_bounded() };
        let missed = missed(source, wanted, found);
        if verify || missed.is_none() {
            self.tell_extras(destination, extras, whole).await?;
        }
        missed.map_or(Ok(()), Err)
    }

    /// How to learn what is at the destination while the source is listed.
    async fn cursor(&self, destination: &Location, prefix: &str, wanted: Wanted) -> Result<Cursor> {
        let (store, gate) = (destination.store.clone(), destination.gate.clone());
        if self.overwrite == Overwrite::Always && wanted == Wanted::No && self.backs_up.is_none() {
            return Ok(Cursor::unasked(store, gate));
        }
        Cursor::listing(store, gate, prefix, wanted != Wanted::No).await
    }

    async fn give(&mut self, pair: Pair) -> Result<()> {
        if self.taken.is_some() {
            let mut hasher = DefaultHasher::new();
            self.identity(&pair.destination).hash(&mut hasher);
            let is_new = |taken: &mut HashSet<u64>| taken.insert(hasher.finish());
            if !self.taken.as_mut().is_none_or(is_new) {
                let cause = format!("another source goes to {} as well", pair.destination.name());
                let problem = Error::new(ErrorKind::Exists, "list", &*pair.source.name(), cause)
                    .hint("copy the sources to different folders");
                return self.send(Listed::Problem(problem)).await;
            }
        }
        self.send(Listed::Pair(Box::new(pair))).await
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

/// What there was at a source.
struct Found {
    /// Objects that may be moved, and those of them that are wanted.
    seen: u64,
    chosen: u64,
    /// Anything at all.
    any: bool,
    /// All of it could be seen.
    whole: bool,
    /// Sizes or ages are bounded.
    bounded: bool,
}

/// What is wrong with a source in which so much was found.
fn missed(source: &Location, wanted: Wanted, found: Found) -> Option<Error> {
    let name = source.store.name(&source.key);
    let error =
        |cause: String, hint: &str| Some(Error::new(ErrorKind::NotFound, "list", &*name, cause).hint(hint));
    match found {
        Found { chosen: 0, .. } if wanted.allows_empty() => None,
        Found { seen: seen @ 1.., chosen: 0, bounded: true, .. } => error(
            format!(
                "none of the {seen} names is wanted: --include and --exclude, --min-size, --max-size, --min-age and --max-age leave nothing"
            ),
            "allow more sizes and ages, or other names",
        ),
        Found { seen: seen @ 1.., chosen: 0, .. } => error(
            format!("none of the {seen} names is wanted: --include and --exclude leave nothing"),
            "globs match the name below the source; * passes /, and quotes keep it from the shell",
        ),
        Found { seen: 0, .. } if matches!(wanted, Wanted::Deleted(_)) => error(
            "the source is empty, so that --delete would remove everything at the destination".to_owned(),
            "check the name of the source; add --allow-empty if you mean it",
        ),
        // Where something could not be read, that is what is said.
        Found { seen: 0, whole: true, .. } if wanted == Wanted::Told => {
            error("nothing was compared: there is no object".to_owned(), "check the name of the source")
        }
        _ if found.any || source.store.capabilities().folders || source.key.is_empty() => None,
        _ => error("no object has this prefix".to_owned(), "list what is there with: haul ls URL")
            .map(|error| with_glob_hint(error, &name)),
    }
}

/// What is not there may have been meant as a pattern, which a name of a store is not.
pub(crate) fn with_glob_hint(error: Error, name: &str) -> Error {
    let Some(at) = name.find(['*', '[', '{']).filter(|_| error.kind() == ErrorKind::NotFound) else {
        return error;
    };
    let slash = name[..at].rfind('/').map_or(0, |slash| slash + 1);
    let (folder, pattern) = name.split_at(slash);
    error.hint(format!("names of objects hold no wildcards; write {folder} --include '{pattern}'"))
}

enum Shape {
    One(ObjectMeta),
    Tree(Pages),
}

/// That nothing is there is an answer too, and no failure of the request.
fn answered(looked: Result<ObjectMeta>) -> Result<Result<ObjectMeta>> {
    match looked {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        answer => Ok(answer),
    }
}

/// Whether a name is there only to make a folder visible in a browser.
fn is_marker(size: u64, name: &str) -> bool {
    size == 0 && (name.is_empty() || name.ends_with('/'))
}

/// The list of all below a folder or prefix.
fn below(location: &Location, verify: bool) -> Pages {
    let prefix = as_prefix(&location.key);
    let request = ListRequest { prefix, begin_small: !verify, ..ListRequest::default() };
    Pages::of(&*location.store, request, location.gate.clone())
}
