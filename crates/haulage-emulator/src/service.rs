//! What all connections share, and the way of one request through it.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::SystemTime;

use haulage::{Error, Result};
use http::header::{CONNECTION, HeaderValue, RETRY_AFTER, SERVER};
use http::{Method, Request, Response, request::Parts};
use hyper::body::Incoming;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::sleep;

use crate::api;
use crate::auth::{Key, authorize};
use crate::config::EmulatorConfig;
use crate::fault::{Fault, FaultPlan};
use crate::request::Call;
use crate::server::Connection;
use crate::stats::Counters;
use crate::store::{self, Catalogue, Store};
use crate::wire::answer;
use crate::wire::body::ResponseBody;
use crate::wire::error::{Answer, SERVER_BUSY, ServiceError};
use crate::wire::tamper::Tamper;
use crate::wire::time::ticks;
use crate::wire::upload::Upload;

const SERVER_NAME: &str = concat!("Haulage-Emulator/", env!("CARGO_PKG_VERSION"));
/// The version answered to clients that name none.
const DEFAULT_VERSION: &str = "2025-11-05";
/// Enough that two blobs rarely wait for each other.
const LOCKS: usize = 256;

/// The endpoint's state.
pub(crate) struct Service {
    pub(crate) config: EmulatorConfig,
    pub(crate) key: Key,
    pub(crate) counters: Arc<Counters>,
    pub(crate) store: Box<dyn Store>,
    endpoint: String,
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
        let mut upload = Upload::new(incoming, Arc::clone(&self.counters));
        let request_id = self.request_id();
        let mut response = match self.handle(&parts, &mut upload, connection).await {
            Ok(response) => response,
            Err(error) => {
                let waits = parts.headers.contains_key("expect") && upload.is_untouched();
                if !waits {
                    upload.drain().await;
                }
                let mut response = error.into_response(&request_id, parts.method == Method::HEAD);
                if waits {
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                response
            }
        };
        response.body_mut().count_in(&self.counters);
        add_common_headers(&mut response, &parts, &request_id);
        response
    }

    async fn handle(
        &self,
        parts: &Parts,
        upload: &mut Upload,
        connection: &Arc<Connection>,
    ) -> Answer<Response<ResponseBody>> {
        let call = Call::parse(parts, &self.config.account)?;
        self.counters.request(call.operation);
        authorize(&call, &self.config.account, &self.key, || api::blob_exists(self, call.key()))?;
        let fault = self.fault(&call)?;
        let arm = |len| Tamper::arm(fault, len, connection, &self.counters);
        if call.operation.is_upload() {
            upload.tamper(arm(upload.len()));
        }
        let mut response = api::dispatch(self, &call, upload).await?;
        self.dawdle(&call).await;
        if !call.operation.is_upload() {
            let len = response.body().len();
            response.body_mut().tamper(arm(len));
        }
        answer::spoil(&mut response, fault, &call, connection, &self.counters.faults).await;
        Ok(response)
    }

    /// Is as slow as it was told to be.
    async fn dawdle(&self, call: &Call<'_>) {
        let faults = &self.config.faults;
        if !faults.serial.is_zero() {
            let turn = self.turn.lock().await;
            sleep(faults.serial).await;
            drop(turn);
        }
        if call.operation.commits() && !faults.commit.is_zero() {
            sleep(faults.commit).await;
        }
    }

    /// What goes wrong with this request. Busy is an answer like any other.
    fn fault(&self, call: &Call<'_>) -> Answer<Option<Fault>> {
        if !call.operation.moves_data() {
            return Ok(None);
        }
        match self.faults.deal() {
            Some(Fault::Busy { retry_after }) => {
                self.counters.faults.busy.fetch_add(1, Relaxed);
                let busy = ServiceError::from(&SERVER_BUSY);
                let second = HeaderValue::from_static("1");
                Err(if retry_after { busy.header(RETRY_AFTER, second) } else { busy })
            }
            Some(Fault::Flip { .. }) if !call.operation.carries_blob_bytes() => Ok(None),
            Some(Fault::Truncate { .. }) if call.operation.is_upload() => Ok(None),
            fault => Ok(fault),
        }
    }

    /// In the form of the service's own: unique in this process.
    fn request_id(&self) -> String {
        let serial = self.serial.fetch_add(1, Relaxed);
        format!("{:08x}-001e-0000-0000-{serial:012x}", std::process::id())
    }
}

fn add_common_headers(response: &mut Response<ResponseBody>, parts: &Parts, request_id: &str) {
    let headers = response.headers_mut();
    headers.insert(SERVER, HeaderValue::from_static(SERVER_NAME));
    if let Ok(id) = HeaderValue::from_str(request_id) {
        headers.insert("x-ms-request-id", id);
    }
    let version = parts.headers.get("x-ms-version").cloned();
    headers.insert("x-ms-version", version.unwrap_or(HeaderValue::from_static(DEFAULT_VERSION)));
    if let Some(id) = parts.headers.get("x-ms-client-request-id") {
        headers.insert("x-ms-client-request-id", id.clone());
    }
}
