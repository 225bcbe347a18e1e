//! Queries: one entity by its keys, or a page of those that meet a filter.
//!
//! A page reads from where it begins and no further than it must: bounds on keys are sought in the sorted set, and
//! what comes after the last entity is not looked at. It ends at 1,000 entities or after five seconds, like the
//! service's, and earlier where faults say so.

use std::time::{Duration, Instant, SystemTime};

use http::StatusCode;

use super::atom::Writer as AtomWriter;
use super::auth::Grants;
use super::error::RESOURCE_NOT_FOUND;
use super::filter::{Filter, Matcher, Range};
use super::format::Format;
use super::json_out::{self, Writer as JsonWriter};
use super::list::bad_top;
use super::names::Names;
use super::reply::Outcome;
use super::request::Call;
use super::row::Row;
use super::shape::{Place, Selection, Shape, etag};
use super::tables::Rows;
use super::{continuation, key};
use crate::fault::PageFault;
use crate::request::Query;
use crate::service::Service;
use crate::wire::error::Answer;
use crate::wire::time::iso8601;

/// The most entities of a page.
const MOST: usize = 1000;
/// The longest that a page reads.
const LONGEST: Duration = Duration::from_secs(5);
/// So many entities are read before others get their turn.
const STRETCH: usize = 4096;

/// How many entries are wanted.
pub(super) fn top(query: &Query<'_>) -> Answer<usize> {
    let Some(text) = query.get("$top") else { return Ok(MOST) };
    text.trim().parse().ok().filter(|top| (1..=MOST).contains(top)).ok_or_else(|| bad_top(text))
}

/// Writes entities in the form that was asked for.
enum Writer<'a> {
    Json(JsonWriter<'a>),
    Atom(AtomWriter<'a>),
}

impl<'a> Writer<'a> {
    fn new(place: &'a Place, format: Format) -> Self {
        match format {
            Format::Json(metadata) => Self::Json(JsonWriter { place, metadata }),
            Format::Atom => Self::Atom(AtomWriter { place, updated: iso8601(SystemTime::now()) }),
        }
    }

    fn entity(&self, out: &mut Vec<u8>, row: &Row, names: &Names, shape: &Shape<'_>, alone: bool) {
        match self {
            Self::Json(writer) => writer.entity(out, row, names, shape, alone),
            Self::Atom(writer) => writer.entity(out, row, names, shape, alone),
        }
    }
}

/// An entity in full, as the answer to its own insertion.
pub(super) fn whole(row: &Row, names: &Names, place: &Place, format: Format) -> Vec<u8> {
    let mut out = Vec::new();
    let selection = Selection::default();
    Writer::new(place, format).entity(&mut out, row, names, &selection.resolve(names), true);
    out
}

/// One entity by its keys.
pub(super) fn entity(service: &Service, call: &Call<'_>, place: &Place, key: &[u8]) -> Answer<Outcome> {
    let format = Format::of(call.parts, &call.query)?;
    let selection = Selection::parse(call.query.get("$select"));
    let table = service.tables.get(call.resource.table())?;
    let rows = table.read();
    service.counters.rows_read(1);
    let row = rows.get(key).ok_or(&RESOURCE_NOT_FOUND)?;
    service.counters.rows_returned(1);
    let mut out = Vec::new();
    Writer::new(place, format).entity(&mut out, row, &rows.names, &selection.resolve(&rows.names), true);
    Ok(Outcome::new(StatusCode::OK).header("etag", etag(row.time())).body(format.content_type(false), out))
}

/// What is to be read.
struct Plan {
    filter: Option<Filter>,
    selection: Selection,
    range: Range,
}

/// A page that is being read.
struct Page<'a> {
    writer: Writer<'a>,
    top: usize,
    fault: PageFault,
    deadline: Instant,
    out: Vec<u8>,
    read: usize,
    returned: usize,
    /// The partition of the page's first entity, where the page is to end with it.
    partition: Option<Vec<u8>>,
}

/// What a stretch of reading came to.
enum Progress {
    /// There is more to read for this page, from this key on.
    Goes(Vec<u8>),
    /// The page has ended, and the next begins at this key.
    Ends(Vec<u8>),
    /// There is nothing more.
    Done,
}

impl Page<'_> {
    /// Reads on for a while.
    fn read(&mut self, rows: &Rows, plan: &Plan) -> Progress {
        let matcher = plan.filter.as_ref().map(|filter| Matcher::new(filter, &rows.names));
        let shape = plan.selection.resolve(&rows.names);
        for (stretch, row) in rows.range(&plan.range).enumerate() {
            if self.is_over(row) {
                return Progress::Ends(row.key().to_vec());
            }
            if stretch == STRETCH {
                return Progress::Goes(row.key().to_vec());
            }
            self.read += 1;
            if matcher.as_ref().is_none_or(|matcher| matcher.matches(row)) {
                if let (true, Writer::Json(_)) = (self.returned > 0, &self.writer) {
                    self.out.push(b',');
                }
                self.writer.entity(&mut self.out, row, &rows.names, &shape, false);
                self.returned += 1;
            }
        }
        Progress::Done
    }

    /// Whether the page ends before this entity.
    fn is_over(&mut self, row: &Row) -> bool {
        if self.returned == self.top || self.fault.empty {
            return true;
        }
        if self.fault.boundary {
            let partition = row.keys().0;
            if self.partition.get_or_insert_with(|| partition.to_vec()) != partition {
                return true;
            }
        }
        // A page that read nothing would never come to an end.
        let scanned = self.fault.scan.is_some_and(|most| self.read >= most as usize);
        let every = if self.fault.time.is_some() { 1 } else { 64 };
        let late = || self.read.is_multiple_of(every) && Instant::now() >= self.deadline;
        self.read > 0 && (scanned || late())
    }
}

/// A page of entities.
pub(super) async fn entities(
    service: &Service,
    call: &Call<'_>,
    place: &Place,
    grants: &Grants,
) -> Answer<Outcome> {
    let format = Format::of(call.parts, &call.query)?;
    let filter =
        call.query.get("$filter").filter(|text| !text.trim().is_empty()).map(Filter::parse).transpose()?;
    let range = filter.as_ref().map_or(Range::ALL, Filter::range).and(grants.range());
    let range = match first_key(&call.query)? {
        Some(key) => range.from(key),
        None => range,
    };
    let mut plan = Plan { filter, selection: Selection::parse(call.query.get("$select")), range };
    let fault = service.page_fault();
    let mut page = Page {
        writer: Writer::new(place, format),
        top: top(&call.query)?,
        deadline: Instant::now() + fault.time.unwrap_or(LONGEST),
        fault,
        out: Vec::with_capacity(16 * 1024),
        read: 0,
        returned: 0,
        partition: None,
    };
    match &page.writer {
        Writer::Json(writer) => json_out::open_list(&mut page.out, place, writer.metadata),
        Writer::Atom(writer) => writer.open_list(&mut page.out),
    }
    let table = service.tables.get(call.resource.table())?;
    let next = loop {
        let progress = page.read(&table.read(), &plan);
        match progress {
            Progress::Goes(key) => plan.range = plan.range.from(key),
            Progress::Ends(key) => break Some(key),
            Progress::Done => break None,
        }
        tokio::task::yield_now().await;
    };
    match &page.writer {
        Writer::Json(_) => page.out.extend_from_slice(b"]}"),
        Writer::Atom(_) => AtomWriter::close_list(&mut page.out),
    }
    service.counters.rows_read(page.read);
    service.counters.rows_returned(page.returned);
    let answer = Outcome::new(StatusCode::OK).body(format.content_type(true), page.out);
    Ok(match next {
        Some(next) => {
            let begins = page.partition.is_some_and(|partition| partition != key::split(&next).0);
            continued(answer, &next, begins && page.fault.bare)
        }
        None => answer,
    })
}

/// Says where the next page begins; `bare` where that is a partition's first entity and its RowKey is left out.
fn continued(answer: Outcome, next: &[u8], bare: bool) -> Outcome {
    let (partition, row) = key::split(next);
    let answer =
        answer.header("x-ms-continuation-nextpartitionkey", continuation::encode(&key::decode(partition)));
    if bare {
        return answer;
    }
    answer.header("x-ms-continuation-nextrowkey", continuation::encode(&key::decode(row)))
}

/// The key at which a page begins that goes on.
fn first_key(query: &Query<'_>) -> Answer<Option<Vec<u8>>> {
    let Some(partition) = query.get("NextPartitionKey").filter(|token| !token.is_empty()) else {
        return Ok(None);
    };
    let partition = continuation::decode(partition)?;
    let row =
        query.get("NextRowKey").filter(|token| !token.is_empty()).map(continuation::decode).transpose()?;
    Ok(Some(key::encode(&partition, &row.unwrap_or_default())))
}
