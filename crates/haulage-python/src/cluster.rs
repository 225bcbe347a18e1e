//! Jobs of many nodes: the side that deals out, and the side that moves.

use std::path::PathBuf;
use std::sync::Arc;

use haulage::event::Failure;
use haulage::job::{Allowance, Phase, Work};
use haulage::units::ByteRate;
use haulage::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::enter::{enter, enter_with, sessions};
use crate::error::{Raise, exception, usage};
use crate::job::{Job, deleting};
use crate::options::{Name, copy_options};

/// In checks for signals of 20 ms each: how often a node asks whether it shall stop.
const CHECKS_PER_LOOK: u32 = 5;

/// Deals out the shards of a job.
#[pyclass(frozen, module = "haulage._engine")]
pub(crate) struct Coordinator(haulage::job::Coordinator);

/// Starts a copy that nodes are to do: the job, and what deals out its shards.
#[pyfunction]
#[pyo3(signature = (sources, destination, pairs, /, listen, **options))]
pub(crate) fn coordinate(
    py: Python<'_>,
    sources: Vec<Name>,
    destination: Option<Name>,
    pairs: Vec<(Name, Name)>,
    listen: bool,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<(Job, Coordinator)> {
    let work = match destination {
        Some(Name(destination)) => {
            Work::Copy { sources: sources.into_iter().map(|Name(source)| source).collect(), destination }
        }
        None => Work::CopyPairs(pairs.into_iter().map(|(from, to)| (from.0, to.0)).collect()),
    };
    start(py, work, listen, options)
}

/// The same for a sync.
#[pyfunction]
#[pyo3(signature = (source, destination, /, listen, delete, max_delete, allow_empty, **options))]
#[expect(clippy::too_many_arguments, reason = "each is an argument of the Python function")]
pub(crate) fn coordinate_sync(
    py: Python<'_>,
    source: Name,
    destination: Name,
    listen: bool,
    delete: bool,
    max_delete: Option<String>,
    allow_empty: bool,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<(Job, Coordinator)> {
    let delete = deleting(py, delete, max_delete, allow_empty)?;
    start(py, Work::Sync { source: source.0, destination: destination.0, delete }, listen, options)
}

fn start(
    py: Python<'_>,
    work: Work,
    listen: bool,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<(Job, Coordinator)> {
    let options = copy_options(options)?;
    if options.store.session.is_some() {
        let hint = "set credentials in the environment of each node, or use a managed identity";
        return Err(usage(py, "session", "a session does not travel to other nodes", hint));
    }
    let started = enter(py, async { haulage::job::Coordinator::start(work, options, listen) })?;
    let (handle, coordinator) = started.or_raise(py)?;
    Ok((Job::running(handle, listen), Coordinator(coordinator)))
}

/// A shard: its number, objects, payload and bytes.
type Dealt = (u64, usize, u64, Py<PyBytes>);

/// What a node may take: bits a second, and requests a second.
type Allowed = (String, Option<u64>, Option<f64>);

#[pymethods]
impl Coordinator {
    /// The random name of the job.
    fn job(&self) -> String {
        self.0.job().to_owned()
    }

    /// URLs among sources and destinations as the user wrote them.
    fn urls(&self) -> Vec<String> {
        self.0.urls()
    }

    /// What nodes are started with.
    fn spec<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.spec())
    }

    /// `deal`, `close`, `stop` or `ended`.
    fn phase(&self) -> &'static str {
        match self.0.phase() {
            Phase::Deal => "deal",
            Phase::Close => "close",
            Phase::Stop => "stop",
            Phase::Ended => "ended",
        }
    }

    /// The next shard for one of so many nodes.
    #[pyo3(signature = (nodes, /))]
    fn next(&self, py: Python<'_>, nodes: usize) -> PyResult<Option<Dealt>> {
        let dealt = py.detach(|| self.0.next(nodes)).or_raise(py)?;
        Ok(dealt.map(|dealt| (dealt.id, dealt.objects, dealt.bytes, PyBytes::new(py, &dealt.shard).unbind())))
    }

    #[pyo3(signature = (result, /))]
    fn came(&self, py: Python<'_>, result: &[u8]) -> PyResult<()> {
        py.detach(|| self.0.came(result)).or_raise(py)
    }

    #[pyo3(signature = (beat, /))]
    fn beat(&self, py: Python<'_>, beat: &[u8]) -> PyResult<()> {
        self.0.beat(beat).or_raise(py)
    }

    #[pyo3(signature = (node, offset_ns, /))]
    fn clock(&self, node: &str, offset_ns: i64) {
        self.0.clock(node, offset_ns);
    }

    #[pyo3(signature = (node, /))]
    fn gone(&self, node: &str) {
        self.0.gone(node);
    }

    #[pyo3(signature = (object, words, /))]
    fn warn(&self, object: &str, words: &str) {
        self.0.warn(object, words);
    }

    #[pyo3(signature = (shard, /))]
    fn lost(&self, shard: u64) {
        self.0.lost(shard);
    }

    /// A shard could not be moved at all.
    #[pyo3(signature = (shard, kind, operation, object, cause, hint, /))]
    fn failed(&self, shard: u64, kind: &str, operation: &str, object: &str, cause: &str, hint: Option<&str>) {
        self.0.failed(shard, &error_of(kind, operation, object, cause, hint));
    }

    /// Nothing can go on.
    #[pyo3(signature = (kind, object, cause, hint, /))]
    fn fail(&self, kind: &str, object: &str, cause: &str, hint: Option<&str>) {
        self.0.fail(&error_of(kind, "run", object, cause, hint));
    }

    /// What each node may take of what all share.
    fn allowances(&self) -> Vec<Allowed> {
        let allowed =
            |(name, it): (String, Allowance)| (name, it.rate.map(ByteRate::bits), it.requests_per_second);
        self.0.allowances().into_iter().map(allowed).collect()
    }

    #[pyo3(signature = (end, record, /))]
    fn ended(&self, py: Python<'_>, end: &[u8], record: Option<Vec<u8>>) -> PyResult<()> {
        self.0.ended(end, record).or_raise(py)
    }

    fn finish(&self) {
        self.0.finish();
    }
}

/// Has Python carry shards to nodes for the command; returns when the nodes have ended.
pub(crate) fn drive(
    coordinator: haulage::job::Coordinator,
    nodes: &haulage_cli::cluster::Nodes,
    quiet: bool,
) {
    let failing = coordinator.clone();
    let driven = Python::try_attach(|py| {
        let driver = py.import("haulage.cluster.command")?;
        let arguments =
            (Coordinator(coordinator), &nodes.scheduler, &nodes.scheduler_file, nodes.nodes, quiet);
        driver.call_method1("drive", arguments).map(drop)
    });
    // What it raises says in words of its own what is wrong; whatever it was, the job must not wait for ever.
    match driven {
        Some(Ok(())) => {}
        Some(Err(raised)) => {
            failing.fail(&Error::new(ErrorKind::Service, "run", "nodes", raised.to_string()));
        }
        None => failing.fail(&Error::new(ErrorKind::Cancelled, "run", "nodes", "Python is shutting down")),
    }
    failing.finish();
}

/// An error as Python tells of it; what it has no word for is the scheduler's.
fn error_of(kind: &str, operation: &str, object: &str, cause: &str, hint: Option<&str>) -> Error {
    let known = ErrorKind::ALL.into_iter().find(|known| known.code() == kind).unwrap_or(ErrorKind::Service);
    let operation = match operation {
        "open" => "open",
        "list" => "list",
        _ => "run",
    };
    Error::from(&Failure {
        kind: known,
        operation,
        object: object.to_owned(),
        cause: cause.to_owned(),
        hint: hint.map(str::to_owned),
    })
}

/// Moves the shards that it is given.
#[pyclass(frozen, module = "haulage._engine")]
pub(crate) struct Node(Arc<haulage::job::Node>);

#[pymethods]
impl Node {
    #[new]
    #[pyo3(signature = (spec, name, /, *, record))]
    fn new(py: Python<'_>, spec: &[u8], name: &str, record: Option<PathBuf>) -> PyResult<Self> {
        // Jobs that follow one another in a process find the connections of the one before.
        let session = Some(sessions()?.current());
        let started = enter(py, async { haulage::job::Node::start(spec, name, session, record) })?;
        Ok(Self(Arc::new(started.or_raise(py)?)))
    }

    /// Moves a shard; calls `stopped` now and then, and waits no longer where it says so: the shard is then moved unheard.
    #[pyo3(signature = (shard, /, *, again, stopped))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        shard: &[u8],
        again: bool,
        stopped: Py<PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut checks = 0_u32;
        let result = enter_with(py, self.0.run(shard, again), |py| {
            checks += 1;
            match checks.is_multiple_of(CHECKS_PER_LOOK) && stopped.call0(py)?.is_truthy(py)? {
                true => Err(exception(
                    py,
                    &Error::new(ErrorKind::Cancelled, "run", "shard", "nobody waits for it"),
                )),
                false => Ok(()),
            }
        })?;
        Ok(PyBytes::new(py, &result.or_raise(py)?))
    }

    fn beat<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.beat().or_raise(py)?))
    }

    /// Takes no more than this from now on.
    #[pyo3(signature = (bits_per_second, requests_per_second, /))]
    fn allow(&self, bits_per_second: Option<u64>, requests_per_second: Option<f64>) {
        let rate = bits_per_second.map(ByteRate::bits_per_second);
        self.0.allow(Allowance { rate, requests_per_second, in_flight: None });
    }

    fn has_ended(&self) -> bool {
        self.0.has_ended()
    }

    fn cancel(&self) {
        self.0.cancel();
    }

    /// Waits until all that it has is done; says how the job on it ended.
    fn end<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &enter(py, self.0.end())?.or_raise(py)?))
    }
}
