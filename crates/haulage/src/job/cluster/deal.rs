//! What is to be moved, cut into shards and dealt out to nodes, and taken back from those that are lost. Pure.

mod records;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use self::records::{failed, settle, skipped};
use super::parted::{Next, PARTED_MIN, Parted};
use super::wire::since_ns;
use crate::checksum::ChecksumMode;
use crate::error::{Error, ErrorKind};
use crate::event::{Failure, ObjectRecord, Outcome};
use crate::job::flow::atomic::{is_too_large, uncommitted};
use crate::options::{Assigned, CopyOptions, Item, Portion, Root, Shard, Work};
use crate::stage::plan::{ByService, Decision, NEW, Pair, Rule, decide};

/// Bytes of a shard. Few enough to be done within seconds on a slow node, and to be no loss where a node is; so many that a shard is no
/// trouble. Towards the end they get smaller.
const BYTES_MIN: u64 = 16 << 20;
const BYTES_MAX: u64 = 512 << 20;

/// Objects of a shard, the same.
const OBJECTS_MIN: usize = 400;
const OBJECTS_MAX: usize = 4000;

/// A shard is so small that each node gets three more of its size.
const ROUNDS: u64 = 3;

/// Objects that are held before they are dealt out.
const POOL_MAX: usize = 100_000;

/// Records of ended objects that may wait to be written before no more is dealt out: nodes may be quicker than a disk.
const UNWRITTEN_MAX: usize = 10_000;

/// Nodes that may be lost over a shard before it is given up.
const LOST_MAX: u32 = 3;

/// A shard as it is handed out.
#[derive(Clone, Debug)]
pub struct Dealt {
    /// Number of the shard.
    pub id: u64,
    /// Objects in it, portions of objects counted too.
    pub objects: usize,
    /// Payload that it moves.
    pub bytes: u64,
    /// What the node is given.
    pub shard: Vec<u8>,
}

/// A shard that is with a node.
#[derive(Debug)]
struct Out {
    shard: Shard,
    /// Which of the user's sources each of its places is.
    origins: Vec<usize>,
    lost: u32,
}

/// All that is not done.
#[derive(Debug)]
pub(super) struct Deal {
    /// Where from and where to, by the user's sources; those of this machine as they were when the first name was listed.
    places: Vec<(Root, Root)>,
    atomic: bool,
    /// Objects may be moved in portions.
    parts: bool,
    /// A receipt is kept, which names the versions of the sources.
    versions: bool,
    /// A service that keeps uploads is written to.
    begins: bool,
    /// What was written since then may be the work of a node that is lost.
    since_ns: i128,
    pool: VecDeque<(usize, Item)>,
    pool_bytes: u64,
    /// Shards of lost nodes.
    again: VecDeque<Out>,
    out: HashMap<u64, Out>,
    parted: HashMap<u64, Parted>,
    /// Where all are committed together: those that are staged.
    staged: HashSet<u64>,
    listed: bool,
    next_shard: u64,
    next_object: u64,
    /// Portions of objects have numbers of their own.
    portions: HashMap<u64, u64>,
    /// Objects that failed.
    failed: u64,
    /// Records of objects that have ended, and are not written yet.
    unwritten: usize,
    bytes_found: u64,
    /// Payload of what was committed of parts: the node that did it says that it found all of them.
    committed: u64,
}

/// Where the numbers of portions begin: no job has so many objects.
const PORTIONS: u64 = 1 << 48;

impl Deal {
    /// Of this work. `to_service`: objects are written to a store that keeps blocks of several nodes; `begins`: one that keeps uploads.
    pub(super) fn new(
        work: &Work,
        options: &CopyOptions,
        to_service: bool,
        begins: bool,
        began_unix_ns: u64,
    ) -> Self {
        let url = |name: &String| Root::Url(name.clone());
        let places = match work {
            Work::Copy { sources, destination } => {
                sources.iter().map(|source| (url(source), url(destination))).collect()
            }
            Work::CopyPairs(pairs) => pairs.iter().map(|(from, to)| (url(from), url(to))).collect(),
            Work::Sync { source, destination, .. } => vec![(url(source), url(destination))],
            Work::Verify { .. } | Work::Fed(_) | Work::Move { .. } => Vec::new(),
        };
        Self {
            places,
            atomic: options.atomic,
            parts: to_service && options.checksum != ChecksumMode::None && !options.content_md5,
            versions: options.receipt.is_some(),
            begins,
            since_ns: since_ns(began_unix_ns),
            pool: VecDeque::new(),
            pool_bytes: 0,
            again: VecDeque::new(),
            out: HashMap::new(),
            parted: HashMap::new(),
            staged: HashSet::new(),
            listed: false,
            next_shard: 0,
            next_object: 0,
            portions: HashMap::new(),
            failed: 0,
            unwritten: 0,
            bytes_found: 0,
            committed: 0,
        }
    }

    /// Whether more may be listed.
    pub(super) fn has_room(&self) -> bool {
        // What is committed together is held until the last of it is listed.
        self.pool.len() < POOL_MAX && (self.atomic || self.parted.len() < POOL_MAX)
    }

    /// Takes in what was found; the record of an object that is skipped.
    pub(super) fn add(&mut self, pair: Pair, options: &CopyOptions, now_ns: u64) -> Option<ObjectRecord> {
        let id = self.next_object;
        self.next_object += 1;
        let decision = decide(&pair, Rule::from(options));
        if let Decision::Skip(reason) = decision {
            let source_etag = self.versions.then(|| pair.meta.etag.clone());
            return Some(ObjectRecord { source_etag, ..skipped(id, &pair, reason, now_ns) });
        }
        if let Some((from, to)) = self.places.get_mut(pair.origin) {
            settle(from, &pair.source);
            settle(to, &pair.destination);
        }
        let by_service = ByService::of(&pair, options).is_some();
        self.bytes_found = self.bytes_found.saturating_add(pair.meta.size);
        let Pair { destination, name_at, meta, origin, .. } = pair;
        // What states no checksum is read by the node that looks at it.
        let look = matches!(decision, Decision::Look | Decision::Read);
        let assigned = Assigned { id, object: id, ..Assigned::default() };
        let reason = match decision {
            Decision::Move(reason) => Some(reason),
            Decision::Look | Decision::Read | Decision::Skip(_) => None,
        };
        let (to, returned) = (destination.key, 0);
        let item = Item { place: origin, to, name_at, meta, look, assigned, reason, returned };
        let parts = self.parts && !by_service && !item.meta.etag.is_empty();
        // What may be there already is looked at by one node, and then goes whole.
        let large = item.meta.size >= PARTED_MIN && !look;
        if self.atomic || (parts && large) {
            let mut parted = Parted::new(item, origin);
            let first = parted.first(self.begins, options.block_size.fixed());
            self.parted.insert(id, parted);
            self.pooled(origin, first);
        } else {
            self.pooled(origin, item);
        }
        None
    }

    /// No more will be found; `whole`: all that there is was. The records of objects that end with this.
    pub(super) fn listed(&mut self, whole: bool) -> Vec<ObjectRecord> {
        self.listed = true;
        self.failed += u64::from(!whole);
        let mut ended = Vec::new();
        self.commit_together(&mut ended);
        ended
    }

    /// Numbers an object that failed before it came here.
    pub(super) fn problem(&mut self) -> u64 {
        self.failed += 1;
        self.number()
    }

    /// Whether more is to be committed together than can be held.
    pub(super) fn is_too_large(&self) -> bool {
        self.atomic && is_too_large(self.parted.len(), self.failed)
    }

    /// Gives up all that has not ended, for this reason.
    pub(super) fn abandon(&mut self, failure: &Failure) -> Vec<ObjectRecord> {
        let mut left = BTreeMap::new();
        for (id, parted) in self.parted.drain() {
            left.insert(id, (parted.origin, parted.item));
        }
        for Out { shard, origins, .. } in self.out.drain().map(|(_, out)| out).chain(self.again.drain(..)) {
            for item in shard.items {
                left.entry(item.assigned.object).or_insert((origins[item.place], item));
            }
        }
        for (origin, item) in self.pool.drain(..) {
            left.entry(item.assigned.object).or_insert((origin, item));
        }
        let places = &self.places;
        left.into_values().map(|(origin, item)| failed(&item, &places[origin], failure.clone())).collect()
    }

    /// Numbers an object that never comes here.
    pub(super) fn number(&mut self) -> u64 {
        self.next_object += 1;
        self.next_object - 1
    }

    /// Whether all has ended.
    pub(super) fn is_done(&self) -> bool {
        self.listed
            && self.pool.is_empty()
            && self.again.is_empty()
            && self.out.is_empty()
            && self.parted.is_empty()
    }

    /// The URLs from which and to which it is moved.
    pub(super) fn urls(&self) -> Vec<String> {
        let roots = self.places.iter().flat_map(|(from, to)| [from, to]);
        let url = |root: &Root| match root {
            Root::Url(url) => Some(url.clone()),
            Root::Folder { .. } => None,
        };
        roots.filter_map(url).collect()
    }

    /// Objects that were found.
    pub(super) fn objects(&self) -> u64 {
        self.next_object
    }

    /// Their payload, as far as it is not skipped.
    pub(super) fn bytes_found(&self) -> u64 {
        self.bytes_found
    }

    /// Payload of what was committed of parts.
    pub(super) fn committed(&self) -> u64 {
        self.committed
    }

    fn pooled(&mut self, origin: usize, item: Item) {
        self.pool_bytes = self.pool_bytes.saturating_add(item.bytes());
        self.pool.push_back((origin, item));
    }

    fn pooled_first(&mut self, origin: usize, item: Item) {
        self.pool_bytes = self.pool_bytes.saturating_add(item.bytes());
        self.pool.push_front((origin, item));
    }

    /// On one node there may be several portions of an object.
    fn number_portion(&mut self, item: &mut Item) {
        if item.assigned.portion != Portion::All && item.assigned.id == item.assigned.object {
            item.assigned.id = PORTIONS + self.portions.len() as u64;
            self.portions.insert(item.assigned.id, item.assigned.object);
        }
    }

    /// The number of the object that a portion with this number is of.
    pub(super) fn object_of(&self, id: u64) -> u64 {
        self.portions.get(&id).copied().unwrap_or(id)
    }

    /// The next shard for one of so many nodes; `None` where there is nothing to deal out now.
    pub(super) fn next(&mut self, nodes: usize) -> Option<Shard> {
        if self.unwritten >= UNWRITTEN_MAX {
            return None;
        }
        let out = match self.again.pop_front() {
            Some(out) => out,
            None => self.cut(nodes)?,
        };
        let shard = out.shard.clone();
        self.out.insert(shard.id, out);
        Some(shard)
    }

    /// So many of the records that it gave for shards are written.
    pub(super) fn wrote(&mut self, records: usize) {
        self.unwritten -= records;
    }

    fn cut(&mut self, nodes: usize) -> Option<Out> {
        let rounds = ROUNDS * nodes.max(1) as u64;
        let bytes_max = (self.pool_bytes / rounds).clamp(BYTES_MIN, BYTES_MAX);
        let objects_max = (self.pool.len() / rounds as usize).clamp(OBJECTS_MIN, OBJECTS_MAX);
        let mut shard = Shard { id: self.next_shard, places: Vec::new(), items: Vec::new() };
        let (mut origins, mut bytes): (Vec<usize>, u64) = (Vec::new(), 0);
        while shard.items.len() < objects_max
            && let Some((origin, item)) = self.take(bytes_max, bytes)
        {
            bytes = bytes.saturating_add(item.bytes());
            let place = origins.iter().rposition(|known| *known == origin).unwrap_or_else(|| {
                shard.places.extend(self.places.get(origin).cloned());
                origins.push(origin);
                origins.len() - 1
            });
            shard.items.push(Item { place, ..item });
        }
        if shard.items.is_empty() {
            return None;
        }
        self.next_shard += 1;
        Some(Out { shard, origins, lost: 0 })
    }

    /// The next item for a shard of at most `most` bytes that holds so many; `None` where none fits.
    fn take(&mut self, most: u64, held: u64) -> Option<(usize, Item)> {
        let (origin, first) = self.pool.front_mut()?;
        let origin = *origin;
        let is_rest = first.assigned.id == first.assigned.object;
        let room = most - held.min(most);
        let cut = match (&mut first.assigned.portion, self.parted.get_mut(&first.assigned.object)) {
            (Portion::Stretch(rest), Some(parted))
                if is_rest && self.parts && (held == 0 || room >= BYTES_MIN) =>
            {
                parted.cut(rest, room)
            }
            _ => None,
        };
        let fits = |item: &Item| held == 0 || held.saturating_add(item.bytes()) <= most;
        let mut item = match cut {
            Some(cut) => cut,
            None if fits(first) => self.pool.pop_front()?.1,
            None => return None,
        };
        self.pool_bytes = self.pool_bytes.saturating_sub(item.bytes());
        self.number_portion(&mut item);
        Some((origin, item))
    }

    /// Takes in how the objects of a shard ended; the objects that have reached their end. What it lacks is dealt out again.
    pub(super) fn came(&mut self, shard: u64, records: Vec<ObjectRecord>) -> Vec<ObjectRecord> {
        // The answer of a node that was thought lost: another has done it since, or will.
        let Some(out) = self.out.remove(&shard) else { return Vec::new() };
        let mut left: HashMap<u64, (usize, Item)> = HashMap::with_capacity(out.shard.items.len());
        for item in out.shard.items {
            left.insert(item.assigned.id, (out.origins[item.place], item));
        }
        let mut ended = Vec::new();
        for record in records {
            let Some((_, item)) = left.remove(&record.object_id) else { continue };
            let object_id = item.assigned.object;
            self.ended(&item, ObjectRecord { object_id, ..record }, &mut ended);
        }
        let mut rest: Vec<_> = left.into_values().collect();
        rest.sort_unstable_by_key(|(_, item)| item.assigned.id);
        for (origin, item) in rest.into_iter().rev() {
            let mut item = item.again(self.since_ns);
            item.returned += 1;
            if item.returned < LOST_MAX {
                self.pooled_first(origin, item);
                continue;
            }
            let cause = format!("{LOST_MAX} nodes have given it back");
            let error = Error::new(ErrorKind::NodeLost, "copy", "", cause);
            let record = failed(&item, &self.places[origin], Failure::from(&error));
            self.ended(&item, record, &mut ended);
        }
        self.commit_together(&mut ended);
        self.unwritten += ended.len();
        ended
    }

    /// What only this side knows of an object: what was there before it, and its version where a receipt is kept.
    fn known_here(&self, item: &Item, record: ObjectRecord) -> ObjectRecord {
        let reason = match record.reason {
            Some(NEW) if record.outcome == Outcome::Copied => item.reason.or(record.reason),
            reason => reason,
        };
        ObjectRecord { reason, source_etag: self.versions.then(|| item.meta.etag.clone()), ..record }
    }

    fn ended(&mut self, item: &Item, record: ObjectRecord, ended: &mut Vec<ObjectRecord>) {
        let id = item.assigned.object;
        let Some(parted) = self.parted.get_mut(&id) else {
            self.failed += u64::from(record.outcome == Outcome::Failed);
            return ended.push(self.known_here(item, record));
        };
        let origin = parted.origin;
        match parted.came(&item.assigned.portion, record) {
            Next::Deal(item) => self.pooled_first(origin, *item),
            Next::Staged if self.atomic => {
                self.staged.insert(id);
            }
            Next::Staged => {
                let commit = parted.commit();
                self.pooled_first(origin, commit);
            }
            Next::Wait => {}
            Next::Ended(record) => {
                self.parted.remove(&id);
                match record.outcome {
                    Outcome::Copied => self.committed += record.size_bytes,
                    Outcome::Failed => self.failed += 1,
                    _ => {}
                }
                ended.push(self.known_here(item, *record));
            }
        }
    }

    /// Where all are committed together: does so when all are staged, or fails them where one has failed.
    fn commit_together(&mut self, ended: &mut Vec<ObjectRecord>) {
        let all_staged = self.staged.len() == self.parted.len();
        if !self.atomic || !self.listed || !self.out.is_empty() || !all_staged || self.staged.is_empty() {
            return;
        }
        let failure = (self.failed > 0).then(|| uncommitted(self.failed));
        let mut staged: Vec<u64> = self.staged.drain().collect();
        staged.sort_unstable();
        for id in staged {
            let Some(parted) = self.parted.get_mut(&id) else { continue };
            match &failure {
                None => {
                    let (origin, commit) = (parted.origin, parted.commit());
                    self.pooled(origin, commit);
                }
                Some(failure) => {
                    ended.push(failed(&parted.item, &self.places[parted.origin], failure.clone()));
                    self.parted.remove(&id);
                }
            }
        }
    }

    /// The node of a shard is lost: another gets it. The records of its objects where too many nodes were.
    pub(super) fn lost(&mut self, shard: u64) -> Vec<ObjectRecord> {
        let Some(mut out) = self.out.remove(&shard) else { return Vec::new() };
        out.lost += 1;
        if out.lost >= LOST_MAX {
            let cause = format!("{LOST_MAX} nodes were lost while they moved the shard that it is in");
            let error = Error::new(ErrorKind::NodeLost, "copy", "", cause);
            let failure = Failure::from(&error);
            self.out.insert(shard, out);
            return self.fail(shard, &failure);
        }
        let items = std::mem::take(&mut out.shard.items);
        out.shard.items = items.into_iter().map(|item| item.again(self.since_ns)).collect();
        self.again.push_back(out);
        Vec::new()
    }

    /// A shard could not be moved at all, for this reason.
    pub(super) fn fail(&mut self, shard: u64, failure: &Failure) -> Vec<ObjectRecord> {
        let Some(out) = self.out.get(&shard) else { return Vec::new() };
        let records = out.shard.items.iter().map(|item| {
            let place = &out.shard.places[item.place];
            failed(item, place, failure.clone())
        });
        let records = records.collect();
        self.came(shard, records)
    }
}

#[cfg(test)]
mod tests;
