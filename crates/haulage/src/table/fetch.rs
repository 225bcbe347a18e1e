//! Fetches the rows of a table into a spool: several workers, each on a stretch of its own. One that has nothing left to do cuts
//! the stretch of another in two, which finds out how the keys lie without a scan.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::cut::{Cut, Known, cut};
use super::hash::RowHasher;
use super::page::{PARTITION_KEY, Page, ROW_KEY};
use super::query::{self, Place, Query, RawPage, TYPED};
use super::range::{Key, Stretch, Until, compare_keys};
use super::spool::{Appender, NewPage, Plan, Planned, Spool, Subject, now_unix_s};
use super::write::still_has;
use crate::error::{Error, ErrorKind, Result, Retry};
use crate::gate::{Gate, through};
use crate::store::azure::table::{TOO_LARGE, TableService};
use crate::task::off_thread;

/// Cuts that may find nothing while nobody knows how the keys lie; later, one more for every four pages.
const IN_VAIN: usize = 24;

/// Pages that a stretch gave since it was cut last, from when on it is worth a cut again: each costs about a page, for a stretch that
/// was cut reads beyond its end.
const WORTH_A_CUT: u32 = 2;

/// Pages without rows between two with some: a service that reads for five seconds each has read for days.
const PLACES_MAX: usize = 50_000;

/// Stretches, each a file.
const STRETCHES_MAX: usize = 1_024;

/// Rows that the service gives at a time.
const ROWS_OF_A_PAGE: u32 = 1_000;

/// A page of such size is a good one, where rows are large.
const PAGE_GOOD: usize = 3 << 20;

/// How far it has come.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) rows: AtomicU64,
    pub(super) pages: AtomicU64,
    /// Rows that an earlier run had fetched.
    pub(super) resumed: AtomicU64,
}

/// What all workers share.
pub(super) struct Fetch {
    pub(super) service: TableService,
    pub(super) gate: Gate,
    pub(super) subject: Subject,
    pub(super) spool: Spool,
    pub(super) counters: Arc<Counters>,
    /// What the query asks for; the keys always come along.
    pub(super) select: Option<String>,
    /// How many rows have last been asked for at a time where as many as the service gives are too large; 0 until that is known.
    fitting: AtomicU32,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// In the order of the keys.
    stretches: Vec<Reading>,
    /// When the first rows were asked for, perhaps by an earlier run.
    since_unix_s: u64,
    in_vain: usize,
    /// Pages that came.
    pages: usize,
    /// Most workers had rows to read at a time: it is known how the keys lie.
    spread: bool,
    workers: usize,
    failed: bool,
}

/// A stretch, and how far it was read.
struct Reading {
    plan: Planned,
    /// The last row that came; `None` before the first page that does not end the stretch.
    at: Option<Key>,
    known: Known,
    busy: bool,
    done: bool,
    cuts: u32,
    /// Pages since it was cut last.
    pages: u32,
}

impl Reading {
    fn new(plan: Planned) -> Self {
        Self { plan, at: None, known: Known::default(), busy: false, done: false, cuts: 0, pages: 0 }
    }
}

impl Fetch {
    /// Goes on from the spool's plan, or begins anew.
    pub(super) fn new(
        service: TableService,
        gate: Gate,
        subject: Subject,
        select: Option<String>,
        spool: Spool,
    ) -> Result<Self> {
        let state = match spool.plan(&subject) {
            Some(plan) => State {
                stretches: plan.stretches.into_iter().map(Reading::new).collect(),
                since_unix_s: plan.since_unix_s,
                ..State::default()
            },
            None => {
                spool.clear()?;
                State::anew()
            }
        };
        let fetch = Self {
            service,
            gate,
            subject,
            spool,
            counters: Arc::default(),
            select,
            fitting: AtomicU32::default(),
            state: Mutex::new(state),
            changed: Notify::new(),
        };
        fetch.spool.keep(&fetch.plan())?;
        Ok(fetch)
    }

    /// The stretches in the order of their keys.
    pub(super) fn order(&self) -> Vec<u32> {
        self.lock().stretches.iter().map(|reading| reading.plan.id).collect()
    }

    /// Fetches all of it. The first failure ends it; what has come stays in the spool.
    pub(super) async fn run(self: Arc<Self>, workers: usize) -> Result<()> {
        self.forget_if_gone().await?;
        self.lock().workers = workers;
        let mut running = JoinSet::new();
        for _ in 0..workers {
            let fetch = Arc::clone(&self);
            running.spawn(async move { fetch.work().await });
        }
        let mut first = Ok(());
        while let Some(ended) = running.join_next().await {
            // Those that are called off come behind a failure.
            let ended = ended.unwrap_or_else(|lost| {
                if lost.is_panic() { std::panic::resume_unwind(lost.into_panic()) } else { Ok(()) }
            });
            if first.is_ok() && ended.is_err() {
                first = ended;
                running.abort_all();
            }
        }
        first
    }

    /// Begins anew if the table has lost what is kept, as far as one row tells: it may be another one by now.
    async fn forget_if_gone(&self) -> Result<()> {
        let Some(kept) = self.spool.witness(&self.plan())? else { return Ok(()) };
        if still_has(&self.service, &self.gate, &kept).await? {
            return Ok(());
        }
        self.spool.clear()?;
        *self.lock() = State::anew();
        self.spool.keep(&self.plan())
    }

    /// When the first rows were asked for, perhaps by an earlier run, in seconds since 1970.
    pub(super) fn since_unix_s(&self) -> u64 {
        self.lock().since_unix_s
    }

    async fn work(&self) -> Result<()> {
        loop {
            let changed = self.changed.notified();
            match self.take()? {
                Taken::Stretch(id, stretch) => {
                    let read = self.read(id, &stretch).await;
                    self.lock().failed |= read.is_err();
                    self.changed.notify_waiters();
                    read?;
                }
                Taken::AllDone => return Ok(()),
                // Whoever reads may have a page from now on, and with it something to cut.
                Taken::Nothing => {
                    let _ = tokio::time::timeout(std::time::Duration::from_millis(50), changed).await;
                }
            }
        }
    }

    /// Something to read: a stretch that nobody reads, or half of one.
    fn take(&self) -> Result<Taken> {
        let mut state = self.lock();
        if state.failed || state.stretches.iter().all(|reading| reading.done) {
            return Ok(Taken::AllDone);
        }
        if let Some(free) = state.stretches.iter_mut().find(|reading| !reading.busy && !reading.done) {
            free.busy = true;
            return Ok(Taken::Stretch(free.plan.id, free.plan.stretch.clone()));
        }
        if state.stretches.len() >= STRETCHES_MAX {
            return Ok(Taken::Nothing);
        }
        let with_rows = state.stretches.iter().filter(|reading| reading.busy && reading.at.is_some());
        state.spread |= with_rows.filter(|reading| !reading.done).count() >= state.workers * 3 / 4;
        let is_new = !state.spread && state.in_vain < IN_VAIN + state.pages / 4;
        let worth = |reading: &Reading| is_new || reading.pages >= WORTH_A_CUT;
        let mut order: Vec<_> =
            (0..state.stretches.len()).filter(|at| worth(&state.stretches[*at])).collect();
        order.sort_by_key(|at| (state.stretches[*at].cuts, u32::MAX - state.stretches[*at].pages));
        for at in order {
            let reading = &state.stretches[at];
            let Some(last) = reading.at.as_ref().filter(|_| !reading.done) else { continue };
            let Some(Cut { behind, known, until }) = cut(last, &reading.plan.until, reading.known) else {
                continue;
            };
            let id = state.stretches.len() as u32;
            let mut new = Reading::new(Planned {
                id,
                stretch: behind.clone(),
                until: std::mem::replace(&mut state.stretches[at].plan.until, until),
            });
            state.stretches[at].cuts += 1;
            state.stretches[at].pages = 0;
            (new.busy, new.cuts, new.known) = (true, state.stretches[at].cuts, known);
            state.stretches.insert(at + 1, new);
            let plan = self.plan_of(&state);
            // Known before anything of it is read: who goes on later stops at the same cuts.
            self.spool.keep(&plan)?;
            return Ok(Taken::Stretch(id, behind));
        }
        Ok(Taken::Nothing)
    }

    /// Reads a stretch to its end.
    async fn read(&self, id: u32, stretch: &Stretch) -> Result<()> {
        let (mut end, heads) = self.spool.append(id)?;
        let mut next = None;
        if let Some(last) = heads.last() {
            let rows = heads.iter().map(|head| head.rows).sum();
            self.counters.rows.fetch_add(rows, Ordering::Relaxed);
            self.counters.resumed.fetch_add(rows, Ordering::Relaxed);
            next = last.next.clone();
            let mut state = self.lock();
            let reading = state.reading(id);
            reading.at = last.last.clone();
            let beyond =
                reading.at.as_ref().is_some_and(|at| !reading.plan.until.is_after(&at.partition, &at.row));
            if next.is_none() || beyond {
                reading.done = true;
                return Ok(());
            }
        }
        let mut query = Query {
            filter: stretch.filter(self.subject.filter.as_deref()),
            select: self.select.clone(),
            // One stretch has found out for all.
            top: Some(self.fitting.load(Ordering::Relaxed)).filter(|rows| *rows > 0),
            place: next,
        };
        let mut empty = heads.iter().all(|head| head.rows == 0);
        let mut places = HashSet::new();
        let mut page = self.page(&mut query).await?;
        loop {
            query.place = page.next.clone();
            self.goes_on(&mut places, query.place.as_ref())?;
            // The next page is on its way while this one is read and written.
            let ahead = async {
                match query.place {
                    Some(_) => self.page(&mut query).await.map(Some),
                    None => Ok(None),
                }
            };
            let (kept, following) = tokio::join!(self.keep(id, stretch, page, end), ahead);
            let kept = kept?;
            empty &= kept.rows == 0;
            if kept.rows > 0 {
                places.clear();
            }
            end = kept.end;
            if kept.stop {
                break;
            }
            match following? {
                Some(next) => page = next,
                None => break,
            }
        }
        let mut state = self.lock();
        state.in_vain += usize::from(empty);
        state.reading(id).done = true;
        Ok(())
    }

    /// Sees that pages without rows lead on: places that come again would lead round for ever.
    fn goes_on(&self, places: &mut HashSet<Place>, next: Option<&Place>) -> Result<()> {
        let Some(next) = next else { return Ok(()) };
        if places.len() < PLACES_MAX && places.insert(next.clone()) {
            return Ok(());
        }
        let cause = "its pages have no rows and lead nowhere, so that the query would never end";
        Err(Error::new(ErrorKind::Protocol, "query", self.service.name(), cause))
    }

    /// Asks for a page; for fewer rows where so many are too large.
    async fn page(&self, query: &mut Query) -> Result<RawPage> {
        let name = self.service.name();
        loop {
            let asked: Result<RawPage> = through!(self.gate, "QueryEntities", name, trace => {
                query::page(&self.service, query, TYPED, trace).await
            });
            match asked {
                Err(error) if error.service_code() == Some(TOO_LARGE) && query.top != Some(1) => {
                    query.top = Some((query.top.unwrap_or(ROWS_OF_A_PAGE) / 8).max(1));
                    self.fitting.store(query.top.unwrap_or_default(), Ordering::Relaxed);
                }
                Ok(page) => {
                    if let Some(top) = query.top {
                        let fits = PAGE_GOOD / page.body.len().max(1);
                        let next = (u64::from(top) * fits as u64).clamp(1, u64::from(ROWS_OF_A_PAGE));
                        query.top = Some((next as u32).min(top * 4));
                        self.fitting.store(query.top.unwrap_or_default(), Ordering::Relaxed);
                    }
                    return Ok(page);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads a page, and writes what is of the stretch behind the others, away from the threads that wait for answers.
    async fn keep(&self, id: u32, stretch: &Stretch, page: RawPage, mut end: Appender) -> Result<Kept> {
        let (name, body, next) = (self.service.name(), page.body, page.next);
        let page = blocking(move || Page::parse(&body, &name)).await?;
        let (placed, stop) = self.place(id, stretch, &page, next.is_none())?;
        let (rows, next) = (placed.rows, next.filter(|_| !stop));
        let end = blocking(move || {
            let batch = page.batch.slice(0, placed.rows);
            let hash = RowHasher::new(&page.columns).hash(batch.columns(), 0..batch.num_rows());
            end.append(NewPage { batch: &batch, columns: &page.columns, next, last: placed.last, hash })?;
            Ok(end)
        })
        .await?;
        self.counters.pages.fetch_add(1, Ordering::Relaxed);
        self.counters.rows.fetch_add(rows as u64, Ordering::Relaxed);
        Ok(Kept { rows, stop, end })
    }

    /// How many rows of the page are of the stretch as it is now, and whether it ends with them.
    fn place(&self, id: u32, stretch: &Stretch, page: &Page, last_page: bool) -> Result<(Placed, bool)> {
        let wrong = |why: &str| {
            Error::new(ErrorKind::Protocol, "query", self.service.name(), why.to_owned()).retry(Retry::Never)
        };
        let keys = Keys::of(page);
        let mut state = self.lock();
        let reading = state.reading(id);
        let whole = stretch.until();
        for row in 0..keys.len() {
            let key = keys.at(row);
            let before = if row == 0 {
                reading.at.as_ref().map(|at| (at.partition.as_str(), at.row.as_str()))
            } else {
                Some(keys.at(row - 1))
            };
            // Some services sort by UTF-8.
            if before.is_some_and(|before| compare_keys(before, key).is_ge() && before >= key) {
                return Err(wrong("the rows do not come in the order of their keys, or one comes twice"));
            }
            if !whole.is_after(key.0, key.1) || !stretch.begins_before(key) {
                return Err(wrong("a row came that was not asked for"));
            }
        }
        let kept = (0..keys.len()).take_while(|row| {
            let (partition, row) = keys.at(*row);
            reading.plan.until.is_after(partition, row)
        });
        let kept = kept.count();
        let stop = last_page || kept < keys.len();
        reading.pages += 1;
        if kept > 0 {
            let (partition, row) = keys.at(kept - 1);
            reading.known.see(stretch, keys.at(0), (partition, row));
            reading.at = Some(Key { partition: partition.to_owned(), row: row.to_owned() });
        }
        let placed = Placed { rows: kept, last: reading.at.clone() };
        state.pages += usize::from(kept > 0);
        Ok((placed, stop))
    }

    fn plan(&self) -> Plan {
        self.plan_of(&self.lock())
    }

    fn plan_of(&self, state: &State) -> Plan {
        let stretches = state.stretches.iter().map(|reading| reading.plan.clone()).collect();
        Plan { subject: self.subject.clone(), since_unix_s: state.since_unix_s, stretches }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// All of the table is one stretch.
    fn anew() -> Self {
        let all = Planned { id: 0, stretch: Stretch::ALL, until: Until::End };
        Self { stretches: vec![Reading::new(all)], since_unix_s: now_unix_s(), ..Self::default() }
    }

    /// The stretch of this number, which is one of them.
    fn reading(&mut self, id: u32) -> &mut Reading {
        let at = self.stretches.iter().position(|reading| reading.plan.id == id).unwrap_or_default();
        &mut self.stretches[at]
    }
}

enum Taken {
    Stretch(u32, Stretch),
    Nothing,
    AllDone,
}

/// The rows of a page that are kept.
struct Placed {
    rows: usize,
    last: Option<Key>,
}

/// A page that was written.
struct Kept {
    rows: usize,
    /// The stretch ends with it.
    stop: bool,
    end: Appender,
}

/// Runs what keeps a processor busy.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    off_thread(work).await?
}

/// The keys of a page's rows.
struct Keys<'a> {
    partitions: &'a arrow_array::StringArray,
    rows: &'a arrow_array::StringArray,
}

impl<'a> Keys<'a> {
    fn of(page: &'a Page) -> Self {
        use arrow_array::cast::AsArray as _;
        static NONE: std::sync::LazyLock<arrow_array::StringArray> =
            std::sync::LazyLock::new(|| arrow_array::StringArray::new_null(0));
        let column = |name: &str| {
            let at = page.columns.iter().position(|column| &*column.name == name)?;
            page.batch.column(at).as_string_opt::<i32>()
        };
        // Every row has both, or the page was not believed; one without rows has none.
        Self { partitions: column(PARTITION_KEY).unwrap_or(&NONE), rows: column(ROW_KEY).unwrap_or(&NONE) }
    }

    fn len(&self) -> usize {
        use arrow_array::Array as _;
        self.rows.len()
    }

    fn at(&self, row: usize) -> (&'a str, &'a str) {
        (self.partitions.value(row), self.rows.value(row))
    }
}
