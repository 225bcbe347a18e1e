//! What all connections share, and the way of one request through it.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::SystemTime;

use haulage::{Error, Result};
use http::header::{CONNECTION, HeaderValue, RETRY_AFTER, SERVER};
use http::{Request, Response, request::Parts};
use hyper::body::Incoming;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::sleep;

use crate::api;
use crate::auth::{Key, authorize};
use crate::config::EmulatorConfig;
use crate::dialect::Dialect;
use crate::fault::{Fault, FaultPlan, Nature, PageFault};
use crate::request::Call;
use crate::s3::{self, S3Access};
use crate::server::Connection;
use crate::stats::Counters;
use crate::store::{self, Catalogue, Store};
use crate::table::{self, Tables};
use crate::wire::answer;
use crate::wire::body::ResponseBody;
use crate::wire::error::{Answer, SERVER_BUSY, ServiceError};
use crate::wire::incoming::RequestBody;
use crate::wire::tamper::Tamper;
use crate::wire::time::ticks;
use crate::wire::upload::Upload;

const SERVER_NAME: &str = concat!("Haulage-Emulator/", env!("CARGO_PKG_VERSION"));
/// Enough that two blobs rarely wait for each other.
const LOCKS: usize = 256;

/// The endpoint's state.
pub(crate) struct Service {
    pub(crate) config: EmulatorConfig,
    pub(crate) key: Key,
    pub(crate) counters: Arc<Counters>,
    pub(crate) store: Box<dyn Store>,
    endpoint: String,
    pub(crate) s3: S3Access,
    pub(crate) tables: Tables,
    catalogue: RwLock<Catalogue>,
    faults: FaultPlan,
    /// One change of a blob at a time; its name chooses the lock.
    locks: Vec<Mutex<()>>,
    /// Held by the request that a server with a single thread is at.
    turn: Mutex<()>,
    hasher: RandomState,
    last_etag: AtomicU64,
    serial: AtomicU64,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Service {
    pub(crate) fn open(config: EmulatorConfig, address: SocketAddr) -> Result<Self> {
        let store = store::open(&config.store, config.seed)?;
        let catalogue =
            store.load().map_err(|error| Error::from_io("load store", config.store.to_string(), error))?;
        Ok(Self {
            key: Key::parse(&config.key)?,
            counters: Arc::default(),
            store,
            endpoint: format!("{}://{address}/{}", config.scheme(), config.account),
            s3: S3Access::new(&config, address),
            tables: Tables::default(),
            catalogue: RwLock::new(catalogue),
            faults: FaultPlan::new(config.faults),
            locks: std::iter::repeat_with(Mutex::default).take(LOCKS).collect(),
            turn: Mutex::default(),
            hasher: RandomState::new(),
            last_etag: AtomicU64::new(0),
            serial: AtomicU64::new(0),
            config,
        })
    }

    /// The URL of the account.
    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    pub(crate) fn faults_possible(&self) -> bool {
        !self.config.faults.is_none()
    }

    /// The catalogue to look at. Never held across an await.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Catalogue> {
        self.catalogue.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The catalogue to change. Never held across an await.
    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Catalogue> {
        self.catalogue.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps others from changing this blob between a look and a change.
    pub(crate) async fn lock(&self, key: store::Key<'_>) -> MutexGuard<'_, ()> {
        let hash = self.hasher.hash_one((key.container, key.blob));
        self.locks[hash as usize % LOCKS].lock().await
    }

    /// A number that no earlier change has had: the time, pushed on where the clock stands still.
    pub(crate) fn next_etag(&self) -> u64 {
        let now = ticks(SystemTime::now());
        let next = |last: u64| Some(now.max(last + 1));
        self.last_etag.fetch_update(Relaxed, Relaxed, next).map_or(now, |last| now.max(last + 1))
    }

    /// Answers one request, whatever it is.
    pub(crate) async fn answer(
        &self,
        request: Request<Incoming>,
        connection: &Arc<Connection>,
    ) -> Response<ResponseBody> {
        let (parts, incoming) = request.into_parts();
        let mut body = RequestBody::new(incoming, Arc::clone(&self.counters));
        let dialect = Dialect::of(&parts, self);
        let request_id = dialect.request_id(self.serial.fetch_add(1, Relaxed));
        let answered = match dialect {
            Dialect::Azure => self.handle(&parts, &mut body, connection).await,
            Dialect::Table => table::handle(self, &parts, &mut body, connection).await,
            Dialect::S3 => s3::handle(self, &parts, &mut body, connection).await,
        };
        let mut response = match answered {
            Ok(response) => response,
            Err(error) => {
                let waits = parts.headers.contains_key("expect") && body.is_untouched();
                if !waits {
                    body.drain().await;
                }
                let mut response = dialect.refuse(error, &request_id, &parts);
                if waits {
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                response
            }
        };
        response.body_mut().count_in(&self.counters);
        response.headers_mut().insert(SERVER, HeaderValue::from_static(SERVER_NAME));
        dialect.add_common_headers(response.headers_mut(), &parts, &request_id);
        if dialect == Dialect::Table {
            table::open_to_pages(self, &parts, response.headers_mut());
        }
        response
    }

    /// A name for a request, or for the parts of an answer, that no other has.
    pub(crate) fn request_id(&self) -> String {
        Dialect::Table.request_id(self.serial.fetch_add(1, Relaxed))
    }

    /// How the next page of entities ends.
    pub(crate) fn page_fault(&self) -> PageFault {
        self.faults.deal_page()
    }

    /// Answers a request to Azure's interface for blobs.
    async fn handle(
        &self,
        parts: &Parts,
        body: &mut RequestBody,
        connection: &Arc<Connection>,
    ) -> Answer<Response<ResponseBody>> {
        let call = Call::parse(parts, &self.config.account)?;
        self.counters.request(call.operation);
        authorize(&call, &self.config.account, &self.key, || api::blob_exists(self, call.key()))?;
        let nature = call.operation.nature();
        let len = body.announced().unwrap_or(u64::MAX);
        let fault = self.begin(nature, body, len, connection)?;
        let response = api::dispatch(self, &call, &mut Upload::new(body)).await?;
        Ok(self.finish(nature, fault, response, connection).await)
    }

    /// Deals out what goes wrong with a request, and arms what strikes an upload of `len` bytes. Busy is an
    /// answer like any other.
    pub(crate) fn begin(
        &self,
        nature: Nature,
        body: &mut RequestBody,
        len: u64,
        connection: &Arc<Connection>,
    ) -> Answer<Option<Fault>> {
        if !nature.moves_data {
            return Ok(None);
        }
        let fault = match self.faults.deal() {
            Some(Fault::Busy { retry_after }) => {
                self.counters.faults.busy.fetch_add(1, Relaxed);
                let busy = ServiceError::from(&SERVER_BUSY);
                let second = HeaderValue::from_static("1");
                return Err(if retry_after { busy.header(RETRY_AFTER, second) } else { busy });
            }
            Some(Fault::Flip { .. }) if !nature.carries_blob_bytes => None,
            Some(Fault::Truncate { .. }) if nature.is_upload => None,
            fault => fault,
        };
        if nature.is_upload {
            body.tamper(Tamper::arm(fault, len, connection, &self.counters));
        }
        Ok(fault)
    }

    /// Is as slow as it was told to be, and spoils the answer where that is what goes wrong.
    pub(crate) async fn finish(
        &self,
        nature: Nature,
        fault: Option<Fault>,
        mut response: Response<ResponseBody>,
        connection: &Arc<Connection>,
    ) -> Response<ResponseBody> {
        self.dawdle(nature).await;
        if !nature.is_upload {
            let len = response.body().len();
            response.body_mut().tamper(Tamper::arm(fault, len, connection, &self.counters));
        }
        answer::spoil(&mut response, fault, nature, connection, &self.counters.faults).await;
        response
    }

    async fn dawdle(&self, nature: Nature) {
        let faults = &self.config.faults;
        if !faults.serial.is_zero() {
            let turn = self.turn.lock().await;
            sleep(faults.serial).await;
            drop(turn);
        }
        if nature.commits && !faults.commit.is_zero() {
            sleep(faults.commit).await;
        }
    }
}
