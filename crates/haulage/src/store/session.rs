//! A session: what questions, jobs and file systems share that ask the same services.
//!
//! Connections, credentials, what was learnt of a service, the pace that it allows and the budget for retries live here. What
//! belongs to a job stays with the job: its events, record, bounds, memory and politeness.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::azure::{Account, AzureAddress, AzureCredentials};
use super::s3::{Reach, S3Credentials, S3Store};
use super::{StoreOpener, StoreOptions};
use crate::error::{Error, ErrorKind, Result};
use crate::http::{AllowedHosts, Connections, HttpClient, HttpOptions, Proxies};
use crate::units::ByteRate;

/// Accounts, or signatures for them, and buckets that are remembered; the one found first goes first.
const PLACES_MAX: usize = 64;

/// Ways to services, and sets of options, in use at once: more than a program has, few enough to look through.
const WAYS_MAX: usize = 8;

/// Credentials that a program gives, by the kind of store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Credentials {
    /// Of an account of Azure Blob storage.
    Azure(AzureCredentials),
    /// Of a service of S3.
    S3(S3Credentials),
}

/// Pools and credentials that are opened once. Clones are the same session, and may be used from several threads.
///
/// Used in a process that was forked from the one it was made in, it opens connections of its own there: those of the
/// parent are neither used nor closed. What is opened belongs to the runtime it was first used on.
#[derive(Clone)]
pub struct Session(Arc<Shared>);

struct Shared {
    given: Arc<Given>,
    closed: AtomicBool,
    opened: Mutex<Opened>,
}

/// What the program gave.
#[derive(Debug, Default)]
struct Given {
    azure: Vec<AzureCredentials>,
    s3: Vec<S3Credentials>,
}

/// What one process has opened.
#[derive(Default)]
struct Opened {
    process: u32,
    pools: Vec<Arc<Pools>>,
    /// What questions ask through: those with the same options share a bound on the rate, and a gate. The one used last lies last.
    openers: Vec<StoreOpener>,
}

impl Default for Session {
    fn default() -> Self {
        Self::new([])
    }
}

impl Session {
    /// A session with these credentials; what is not found among them is looked for in the environment, as without a session.
    /// Opens nothing yet.
    ///
    /// Where `az://` leads is told by the first credential that is for an account, and where `s3://` leads by the first for S3,
    /// unless a call names an endpoint.
    pub fn new(credentials: impl IntoIterator<Item = Credentials>) -> Self {
        let mut given = Given::default();
        for one in credentials {
            match one {
                Credentials::Azure(one) => given.azure.push(one),
                Credentials::S3(one) => given.s3.push(one),
            }
        }
        Self::with(Arc::new(given))
    }

    fn with(given: Arc<Given>) -> Self {
        Self(Arc::new(Shared { given, closed: AtomicBool::new(false), opened: Mutex::default() }))
    }

    /// The same credentials, and nothing that is open: what is kept within a session must not keep the session.
    fn apart(&self) -> Self {
        Self::with(Arc::clone(&self.0.given))
    }

    /// The credentials for accounts of Azure.
    pub(super) fn azure(&self) -> &[AzureCredentials] {
        &self.0.given.azure
    }

    /// The credentials for S3.
    pub(super) fn s3(&self) -> &[S3Credentials] {
        &self.0.given.s3
    }

    /// Whether [`Self::close`] was called.
    pub fn is_closed(&self) -> bool {
        self.0.closed.load(Ordering::Relaxed)
    }

    /// Lets go of connections that nobody uses, and of the others when they are done with. What is under way goes on to its
    /// end; nothing new begins. May be called again.
    pub fn close(&self) {
        self.0.closed.store(true, Ordering::Relaxed);
        let closed = std::mem::take(&mut *self.lock());
        if closed.is_own() {
            closed.pools.iter().for_each(|pools| pools.connections.close());
        }
    }

    /// What questions with these options ask through.
    ///
    /// # Errors
    /// `Usage` for a session that is closed, and where the options make no sense.
    pub(super) fn opener(&self, options: &StoreOptions) -> Result<StoreOpener> {
        let options = StoreOptions { session: None, ..options.clone() };
        let mut opened = self.open()?;
        let same =
            |opener: &StoreOpener| StoreOptions { session: None, ..opener.options().clone() } == options;
        let known = opened.openers.iter().position(same).map(|at| opened.openers.remove(at));
        let opener = match known.filter(|known| known.containers() < PLACES_MAX) {
            Some(known) => known,
            None => {
                let pools = opened.pools(&options)?;
                StoreOpener::over(pools, StoreOptions { session: Some(self.apart()), ..options })?
            }
        };
        if opened.openers.len() == WAYS_MAX {
            opened.openers.remove(0);
        }
        opened.openers.push(opener.clone());
        Ok(opener.anew())
    }

    /// What is open in this process for calls with these options.
    ///
    /// # Errors
    /// As for [`Self::opener`].
    pub(super) fn pools(&self, options: &StoreOptions) -> Result<Arc<Pools>> {
        self.open()?.pools(options)
    }

    /// What is open in this process.
    fn open(&self) -> Result<MutexGuard<'_, Opened>> {
        let mut opened = self.lock();
        if self.is_closed() {
            let cause = "it is closed, and opens nothing any more";
            return Err(Error::new(ErrorKind::Usage, "open", "session", cause)
                .hint("create a new session, and close it when you are done"));
        }
        if !opened.is_own() {
            *opened = Opened { process: std::process::id(), pools: Vec::new(), openers: Vec::new() };
        }
        Ok(opened)
    }

    fn lock(&self) -> MutexGuard<'_, Opened> {
        self.0.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Opened {
    fn is_own(&self) -> bool {
        self.process == std::process::id()
    }

    fn pools(&mut self, options: &StoreOptions) -> Result<Arc<Pools>> {
        let way = Way::of(options);
        if let Some(known) = self.pools.iter().find(|known| known.way == way) {
            return Ok(Arc::clone(known));
        }
        let pools = Arc::new(Pools::new(way)?);
        if self.pools.len() == WAYS_MAX {
            self.pools.remove(0);
        }
        self.pools.push(Arc::clone(&pools));
        Ok(pools)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if !self.is_own() {
            // To close its connections would touch a runtime that is the parent's.
            std::mem::forget((std::mem::take(&mut self.pools), std::mem::take(&mut self.openers)));
        }
    }
}

/// What decides on who is trusted and asked on the way to a service: connections are shared only by those that go one way.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Way {
    ca: Option<PathBuf>,
    insecure_http: bool,
    proxies: Proxies,
    allowed: AllowedHosts,
    bind: Option<IpAddr>,
}

impl Way {
    fn of(options: &StoreOptions) -> Self {
        let StoreOptions { ca, insecure_http, proxy, config, bind, .. } = options;
        Self {
            ca: ca.clone(),
            insecure_http: *insecure_http,
            proxies: proxy.proxies(),
            allowed: config.allowed.clone(),
            bind: *bind,
        }
    }
}

/// Connections, and the accounts and buckets that they lead to.
#[derive(Debug)]
pub(super) struct Pools {
    way: Way,
    connections: Connections,
    /// Asks for tokens and keys.
    http: HttpClient,
    accounts: Mutex<Vec<Arc<Account>>>,
    buckets: Mutex<Vec<(Reach, S3Store)>>,
}

impl Pools {
    fn new(way: Way) -> Result<Self> {
        let connections = Connections::trusting(way.ca.as_deref())?;
        let http = HttpClient::over(connections.clone(), way_only(&way));
        Ok(Self { way, connections, http, accounts: Mutex::default(), buckets: Mutex::default() })
    }

    /// A client over these connections with its own meter, bound on the rate and deadline for silence.
    pub(super) fn client(&self, stall_timeout: Duration, cap: Option<ByteRate>) -> HttpClient {
        HttpClient::over(self.connections.clone(), HttpOptions { stall_timeout, cap, ..way_only(&self.way) })
    }

    /// The account of an address, found with its credential the first time.
    pub(super) fn account(&self, address: &AzureAddress, options: &StoreOptions) -> Result<Arc<Account>> {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = accounts.iter().find(|known| known.holds(address, options)) {
            return Ok(Arc::clone(known));
        }
        let account = Arc::new(Account::open(address, options, &self.http)?);
        if accounts.len() == PLACES_MAX {
            accounts.remove(0);
        }
        accounts.push(Arc::clone(&account));
        Ok(account)
    }

    /// A bucket, found with the credential and the service the first time, by way of this remote of the configuration if any; to be reached [over](S3Store::over) the caller's client.
    pub(super) fn bucket(&self, name: &str, remote: Option<&str>, options: &StoreOptions) -> Result<S3Store> {
        let reach = Reach::of(options, remote);
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let mut alike = buckets.iter().filter(|(known, _)| *known == reach).map(|(_, bucket)| bucket);
        if let Some(known) = alike.clone().find(|bucket| bucket.bucket() == name) {
            return Ok(known.clone());
        }
        // Its neighbours are of the same service, which the options and the surroundings name.
        let bucket = match alike.next() {
            Some(other) => other.bucket_named(name)?,
            None => S3Store::open(name, options, self.http.clone())?,
        };
        if buckets.len() == PLACES_MAX {
            buckets.remove(0);
        }
        buckets.push((reach, bucket.clone()));
        Ok(bucket)
    }
}

/// How services are reached with these options, but for a bound on the rate.
pub(super) fn http_options(options: &StoreOptions) -> HttpOptions {
    HttpOptions { stall_timeout: options.stall_timeout, ..way_only(&Way::of(options)) }
}

fn way_only(way: &Way) -> HttpOptions {
    let Way { ca, insecure_http, proxies, allowed, bind } = way.clone();
    HttpOptions { extra_roots: ca, insecure_http, proxies, allowed, bind, ..HttpOptions::default() }
}

/// The same session, not one with the same credentials.
impl PartialEq for Session {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Session {}

/// Says for whom there are credentials, never what they are.
impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Given { azure, s3 } = &*self.0.given;
        let closed = self.is_closed();
        f.debug_struct("Session").field("azure", azure).field("s3", s3).field("closed", &closed).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOB: &str = "http://127.0.0.1:1/devstoreaccount1/c/a";

    fn options(session: &Session) -> StoreOptions {
        StoreOptions { session: Some(session.clone()), ..StoreOptions::default() }
    }

    #[test]
    fn accounts_and_buckets_are_found_once_and_not_without_bound() {
        let session = Session::default();
        let pools = session.pools(&options(&session)).unwrap();
        let account = |query: &str| {
            let url = format!("http://127.0.0.1:1/devstoreaccount1/c{query}");
            let address = AzureAddress::parse(&url, &options(&session)).unwrap();
            pools.account(&address, &options(&session)).unwrap()
        };
        assert!(Arc::ptr_eq(&account(""), &account("")));
        assert!(!Arc::ptr_eq(&account(""), &account("?sig=x")));
        (0..2 * PLACES_MAX).for_each(|number| drop(account(&format!("?sig={number}"))));
        assert_eq!(pools.accounts.lock().unwrap().len(), PLACES_MAX);
        (0..2 * PLACES_MAX)
            .for_each(|number| drop(pools.bucket(&format!("b{number}"), None, &options(&session)).unwrap()));
        assert_eq!(pools.buckets.lock().unwrap().len(), PLACES_MAX);
    }

    #[test]
    fn calls_with_the_same_options_share_a_bound_and_those_that_go_another_way_share_no_connections() {
        let session = Session::default();
        let plain = options(&session);
        let meter = |options: &StoreOptions| Arc::clone(session.opener(options).unwrap().meter());
        let first = meter(&plain);
        assert!(Arc::ptr_eq(&first, &meter(&plain)));
        let hurried = StoreOptions { stall_timeout: Duration::from_secs(1), ..plain.clone() };
        assert!(!Arc::ptr_eq(&first, &meter(&hurried)));
        let pools = |options: &StoreOptions| session.pools(options).unwrap();
        assert!(Arc::ptr_eq(&pools(&plain), &pools(&hurried)));
        let open = StoreOptions { insecure_http: true, ..plain.clone() };
        let relayed = StoreOptions { proxy: "http://127.0.0.1:9".parse().unwrap(), ..plain.clone() };
        for other in [open, relayed] {
            assert!(!Arc::ptr_eq(&pools(&plain), &pools(&other)));
        }
    }

    #[test]
    fn no_more_openers_and_containers_are_kept_than_a_program_uses() {
        let session = Session::default();
        for seconds in 1..40 {
            let stall_timeout = Duration::from_secs(seconds);
            session.opener(&StoreOptions { stall_timeout, ..StoreOptions::default() }).unwrap();
        }
        assert_eq!(session.lock().openers.len(), WAYS_MAX);
        for number in 0..2 * PLACES_MAX {
            let opener = session.opener(&StoreOptions::default()).unwrap();
            opener.open(&format!("http://127.0.0.1:1/devstoreaccount1/c{number}/a")).unwrap();
            assert!(opener.containers() <= PLACES_MAX);
        }
    }

    #[test]
    fn a_closed_session_opens_nothing_and_says_so() {
        let session = Session::default();
        StoreOpener::new(options(&session)).unwrap();
        session.close();
        session.close();
        let error = StoreOpener::new(options(&session)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert_eq!(error.hint_text(), Some("create a new session, and close it when you are done"));
        assert!(format!("{session:?}").contains("closed: true"));
    }

    #[test]
    fn a_session_goes_with_its_last_user() {
        let session = Session::default();
        StoreOpener::new(options(&session)).unwrap().open(BLOB).unwrap();
        let opened = Arc::downgrade(&session.pools(&options(&session)).unwrap());
        drop(session);
        assert!(opened.upgrade().is_none());
    }

    #[test]
    fn what_another_process_has_opened_is_left_alone() {
        let session = Session::default();
        let pools = session.pools(&options(&session)).unwrap();
        session.lock().process += 1;
        let own = session.pools(&options(&session)).unwrap();
        assert!(!Arc::ptr_eq(&pools, &own));
        assert_eq!(Arc::strong_count(&pools), 2, "forgotten, not dropped");
        assert!(Arc::ptr_eq(&own, &session.pools(&options(&session)).unwrap()));
    }
}
