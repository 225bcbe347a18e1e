//! From what the user wrote to a stream of pairs: source object, destination, and what is there already.
//!
//! Source and destination are listed side by side in byte order and merged, so that neither is held and
//! no object costs a request of its own. Where the order or the permissions do not allow that, the pair
//! is handed on as unknown and one look decides.

mod ahead;
mod cursor;
mod fed;
mod filter;
mod lookups;
mod named;
mod one;
mod pages;
mod pairs;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;

use self::cursor::Cursor;
pub(crate) use self::filter::Filter;
pub(crate) use self::named::check_names;
pub(crate) use self::one::find;
use self::one::{as_prefix, names_none, one};
use self::pages::Pages;
use super::plan::{Existing, Pair, Place};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::through;
use crate::options::{CopyOptions, NameList, Overwrite, Work};
use crate::output::{keys_below, resolved};
use crate::spool::Spool;
use crate::store::{Address, ListRequest, Location, ObjectMeta, ReceiptStore, Request, Store, StoreOpener};
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
        })
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
            Work::Copy { sources, destination } => {
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
            Work::Verify { source, destination, .. } => {
                let destination = self.opener.open(destination)?;
                if let Some(receipt) = self.receipt(source).await? {
                    return self.verify_receipt(receipt, &destination).await;
                }
                let own = self.own_keys(source)?;
                let source = self.opener.open(source)?;
                match self.shape(&source, true).await? {
                    Shape::One(meta) => self.verify_one(source, destination, meta).await,
                    Shape::Tree(pages) => self.tree(&source, pages, &destination, true, &own).await,
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
                self.prepare(&source, ahead::TREE);
                self.prepare(destination, ahead::TREE);
                return self.tree(&source, pages, destination, false, own).await;
            }
            Shape::One(meta) => meta,
        };
        let connections = ahead::for_one(meta.size);
        if connections > 1 {
            self.prepare(&source, connections);
            self.prepare(destination, connections);
        }
        let mut pair = Pair { origin: self.origin, ..one(&source, destination, meta, several) };
        // Nothing is in a stream that may be looked at; and what a stream brings is not known before it has been read.
        if self.overwrite != Overwrite::Always && !from_stream && !to_stream {
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
                self.tree(&source, pages, destination, true, &[]).await
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
        verify: bool,
        own: &[String],
    ) -> Result<()> {
        let (from, to) = (as_prefix(&source.key), as_prefix(&destination.key));
        // What is to be moved is often known before the answer what is there: connections for it are opened meanwhile.
        let preparing = async {
            if let Some(Ok(page)) = pages.peek().await {
                let connections = ahead::for_these(page);
                self.prepare(source, connections);
                self.prepare(destination, connections);
            }
        };
        let (there, ()) = tokio::join!(self.cursor(destination, &to, verify), preparing);
        let mut there = there?;
        // Called extra when both lists have come to their ends, and not before.
        let mut extras = Spool::default();
        let (mut seen, mut wanted, mut any, mut whole) = (0_u64, 0_u64, false, true);
        while let Some(page) = pages.next().await? {
            for problem in page.problems {
                any = true;
                let file = problem.kind() != ErrorKind::Unsupported;
                whole &= !file;
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
                let marker = meta.size == 0 && (relative.is_empty() || relative.ends_with('/'));
                if marker || own.contains(&meta.key) {
                    continue;
                }
                seen += 1;
                let taken = self.filter.takes(&meta);
                // One of the wrong size or age is there all the same, and its counterpart is not extra.
                if !self.filter.wants(&relative) || !(taken || verify) {
                    continue;
                }
                let key = format!("{to}{relative}");
                let (mut existing, passed) = there.find(&key).await?;
                if verify {
                    self.keep_extras(&passed, &to, &mut extras)?;
                }
                if !taken {
                    continue;
                }
                wanted += 1;
                if verify && existing == Existing::Absent {
                    // A store may list in another order than ours; one look settles what is missing.
                    existing = Existing::Unknown;
                }
                let source = Place { store: source.store.clone(), key: meta.key };
                let destination = Place { store: destination.store.clone(), key };
                let meta = ObjectMeta { key: source.key.clone(), ..meta };
                let origin = self.origin;
                self.give(Pair { origin, ..Pair::new(source, destination, to.len(), meta, existing) })
                    .await?;
            }
        }
        while verify && let Some(passed) = there.rest().await? {
            self.keep_extras(&passed, &to, &mut extras)?;
        }
        self.tell_extras(&destination.store, extras, whole && there.is_whole()).await?;
        let name = source.store.name(&source.key);
        let error =
            |cause: String, hint: &str| Err(Error::new(ErrorKind::NotFound, "list", name, cause).hint(hint));
        match (seen, wanted) {
            (1.., 0) => {
                let (bounds, hint) = match self.filter.is_bounded() {
                    true => (
                        ", --min-size, --max-size, --min-age and --max-age",
                        "allow more sizes and ages, or other names",
                    ),
                    false => (
                        "",
                        "globs match the name below the source; * passes /, and quotes keep it from the shell",
                    ),
                };
                let cause = format!(
                    "none of the {seen} names is wanted: --include and --exclude{bounds} leave nothing"
                );
                error(cause, hint)
            }
            // Where something could not be read, that is what is said.
            (0, 0) if verify && whole => {
                error("nothing was compared: there is no object".to_owned(), "check the name of the source")
            }
            _ if any || source.store.capabilities().folders || source.key.is_empty() => Ok(()),
            _ => error("no object has this prefix".to_owned(), "list what is there with: haul ls URL")
                .map_err(|error| with_glob_hint(error, &source.store.name(&source.key))),
        }
    }

    /// Keeps names that are only at the destination, of those that take part.
    fn keep_extras(&self, keys: &[String], to: &str, extras: &mut Spool) -> Result<()> {
        let wanted = |key: &&String| key.strip_prefix(to).is_some_and(|name| self.filter.wants(name));
        keys.iter().filter(wanted).try_for_each(|key| extras.push(key, 0))
    }

    /// Says which names are only at the destination, if that is known.
    async fn tell_extras(&self, store: &Arc<dyn Store>, extras: Spool, whole: bool) -> Result<()> {
        if !whole {
            return self.send(Listed::Unsure { extras: extras.count }).await;
        }
        let mut names = extras.read()?;
        loop {
            let some = names.next(1000)?;
            if some.is_empty() {
                return Ok(());
            }
            for (key, _) in some {
                self.send(Listed::Extra(store.name(&key))).await?;
            }
        }
    }

    /// How to learn what is at the destination while the source is listed.
    async fn cursor(&self, destination: &Location, prefix: &str, verify: bool) -> Result<Cursor> {
        let store = destination.store.clone();
        if self.overwrite == Overwrite::Always && !verify {
            return Ok(Cursor::unasked(store, destination.gate.clone()));
        }
        Cursor::listing(store, destination.gate.clone(), prefix, verify).await
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
        let named = PathBuf::from(&*place.name());
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

/// The list of all below a folder or prefix.
fn below(location: &Location, verify: bool) -> Pages {
    let prefix = as_prefix(&location.key);
    let request = ListRequest { prefix, begin_small: !verify, ..ListRequest::default() };
    Pages::of(&*location.store, request, location.gate.clone())
}
