//! Whether an object moves, and why. Pure.

use super::{Existing, Pair, Place};
use crate::options::{Compare, CopyOptions, Overwrite};
use crate::store::ObjectMeta;

/// Why an object is skipped that is there already.
pub(crate) const UNCHANGED: &str = "unchanged";
const THERE: &str = "there already";

/// Whether an object that was skipped for this reason is at the destination.
pub(crate) fn is_there(reason: Option<&str>) -> bool {
    matches!(reason, Some(UNCHANGED | THERE))
}

/// Why an object moves.
pub(crate) const NEW: &str = "new";
const ALWAYS: &str = "always";
const SIZE: &str = "size differs";
const TIME: &str = "time differs";
const CHECKSUM: &str = "checksum differs";

/// What is wanted of those that are there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) overwrite: Overwrite,
    pub(crate) compare: Compare,
}

impl From<&CopyOptions> for Rule {
    fn from(options: &CopyOptions) -> Self {
        Self { overwrite: options.overwrite, compare: options.compare }
    }
}

/// What to do with a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Leave it, for this reason.
    Skip(&'static str),
    /// Ask what is at the destination, then decide again.
    Look,
    /// Read what states no checksum, then decide again.
    Read,
    /// Move it, for this reason.
    Move(&'static str),
}

/// Decides whether a pair moves.
pub(crate) fn decide(pair: &Pair, rule: Rule) -> Decision {
    let overwrite = rule.overwrite;
    if let (Some(since), Overwrite::Always | Overwrite::Never) = (pair.since_ns(), overwrite) {
        return decide_again(pair, since, overwrite);
    }
    match (&pair.existing, overwrite) {
        (Existing::Absent, _) => Decision::Move(NEW),
        (_, Overwrite::Always) => Decision::Move(ALWAYS),
        (Existing::Unknown, _) => Decision::Look,
        (Existing::Present(_) | Existing::Listed(_), Overwrite::Never) => Decision::Skip(THERE),
        (Existing::Present(there), Overwrite::IfDifferent) => compare(pair, there, true, rule.compare),
        (Existing::Listed(there), Overwrite::IfDifferent) => compare(pair, there, false, rule.compare),
    }
}

/// Compares a pair with what is there; `all` is known of that, or only what its list says.
fn compare(pair: &Pair, there: &ObjectMeta, all: bool, by: Compare) -> Decision {
    let ours = &pair.meta;
    match (pair.same, by) {
        _ if ours.size != there.size => Decision::Move(SIZE),
        (Some(true), _) | (None, Compare::Size) => Decision::Skip(UNCHANGED),
        (Some(false), _) => Decision::Move(CHECKSUM),
        // What the list leaves out would tell whether it is the same.
        _ if !all => Decision::Look,
        (None, by) => match differs(ours, there, by, time_step_ns(pair)) {
            None => Decision::Skip(UNCHANGED),
            Some(_) if !pair.looked_at && !pair.source.store.capabilities().lists_all => Decision::Look,
            Some(Why::Differs(why)) => Decision::Move(why),
            Some(Why::Unstated) => Decision::Read,
        },
    }
}

/// Why two objects of one size are not known to be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Differs(&'static str),
    /// They state no checksums of one kind.
    Unstated,
}

/// The coarser step in which the two sides keep times, in nanoseconds.
pub(super) fn time_step_ns(pair: &Pair) -> i128 {
    let step_ns = |place: &Place| i128::from(place.store.capabilities().time_step_ns);
    step_ns(&pair.source).max(step_ns(&pair.destination))
}

/// Whether the destination holds something else than this source, which is of the same size.
pub(super) fn differs(source: &ObjectMeta, there: &ObjectMeta, by: Compare, step_ns: i128) -> Option<Why> {
    let checksums = match (source.crc64, there.crc64) {
        (Some(ours), Some(theirs)) => Some(ours == theirs),
        _ => source.md5.zip(there.md5).map(|(ours, theirs)| ours == theirs),
    };
    let differ = |same: bool, why| (!same).then_some(Why::Differs(why));
    // When an object was written tells of its content only beside a file, which had the time with it: two objects may be written in
    // the same second by whomever.
    let beside_file = source.posix.is_some() != there.posix.is_some();
    let there_time = there.source_modified_ns.or_else(|| there.time_ns().filter(|_| beside_file));
    let source_time = source.time_ns().unwrap_or(source.modified_ns);
    let kept = |ns: i128| ns.div_euclid(step_ns);
    let same_time = there_time.is_some_and(|time| kept(time) == kept(source_time));
    match (by, checksums) {
        (Compare::Size, _) => None,
        (Compare::Time, _) => differ(same_time, TIME),
        (Compare::Checksum, None) => Some(Why::Unstated),
        (Compare::Checksum, Some(same)) => differ(same, CHECKSUM),
        // Two MD5s that differ say less than a time: one of them may be of what the object once was.
        (Compare::Auto | Compare::Receipt, Some(same)) if same || source.crc64.and(there.crc64).is_some() => {
            differ(same, CHECKSUM)
        }
        (Compare::Auto | Compare::Receipt, _) => differ(same_time, TIME),
    }
}

/// Decides whether a pair that a lost node may have moved since then moves once more, though all shall be overwritten.
fn decide_again(pair: &Pair, since_ns: i128, overwrite: Overwrite) -> Decision {
    match &pair.existing {
        Existing::Unknown | Existing::Listed(_) => Decision::Look,
        Existing::Present(there)
            if there.modified_ns >= since_ns
                && there.size == pair.meta.size
                && differs(&pair.meta, there, Compare::Auto, time_step_ns(pair)).is_none() =>
        {
            Decision::Skip(UNCHANGED)
        }
        Existing::Present(_) if overwrite == Overwrite::Never => Decision::Skip(THERE),
        Existing::Present(_) => Decision::Move(ALWAYS),
        Existing::Absent => Decision::Move(NEW),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::checksum::Crc64;
    use crate::store::{MemoryStore, Posix, Store};

    const CRC64: fn(u64) -> Option<Crc64> = |number| Some(Crc64::from_u64(number));

    fn pair(existing: Existing) -> Pair {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::named("plan"));
        let meta =
            ObjectMeta { size: 5, modified_ns: 7_000_000_000, crc64: CRC64(1), ..ObjectMeta::default() };
        let place = Place { store, key: "a".into() };
        Pair::new(place.clone(), place, 0, meta, existing)
    }

    fn present(meta: ObjectMeta) -> Existing {
        Existing::Present(Box::new(meta))
    }

    fn by(pair: &Pair, overwrite: Overwrite, compare: Compare) -> Decision {
        decide(pair, Rule { overwrite, compare })
    }

    #[test]
    fn what_is_the_same_is_skipped_and_what_is_not_moves() {
        let same_time =
            ObjectMeta { size: 5, source_modified_ns: Some(7_000_000_000), ..ObjectMeta::default() };
        let decide_on = |existing| by(&pair(existing), Overwrite::IfDifferent, Compare::Auto);
        assert_eq!(decide_on(present(same_time.clone())), Decision::Skip("unchanged"));
        assert_eq!(decide_on(present(ObjectMeta { size: 6, ..same_time.clone() })), Decision::Move(SIZE));
        let no_time = ObjectMeta { source_modified_ns: None, ..same_time.clone() };
        assert_eq!(decide_on(present(no_time)), Decision::Move(TIME));
        let other_content = ObjectMeta { crc64: CRC64(2), ..same_time.clone() };
        assert_eq!(decide_on(present(other_content)), Decision::Move(CHECKSUM));
        assert_eq!(decide_on(Existing::Unknown), Decision::Look);
        let listed = |size| Existing::Listed(Box::new(ObjectMeta { size, ..ObjectMeta::default() }));
        assert_eq!((decide_on(listed(5)), decide_on(listed(6))), (Decision::Look, Decision::Move(SIZE)));
        let with = |overwrite, existing| by(&pair(existing), overwrite, Compare::Auto);
        assert_eq!(with(Overwrite::Always, present(same_time.clone())), Decision::Move(ALWAYS));
        assert_eq!(with(Overwrite::Never, present(same_time)), Decision::Skip(THERE));
        assert_eq!(with(Overwrite::Never, Existing::Absent), Decision::Move(NEW));
    }

    #[test]
    fn each_way_to_compare_looks_at_what_it_says() {
        let there =
            |time, crc64| ObjectMeta { size: 5, source_modified_ns: time, crc64, ..ObjectMeta::default() };
        let decide_by = |compare, meta| by(&pair(present(meta)), Overwrite::IfDifferent, compare);
        assert_eq!(decide_by(Compare::Size, there(None, None)), Decision::Skip(UNCHANGED));
        assert_eq!(decide_by(Compare::Time, there(Some(7_000_000_000), CRC64(2))), Decision::Skip(UNCHANGED));
        assert_eq!(decide_by(Compare::Time, there(Some(8), CRC64(1))), Decision::Move(TIME));
        assert_eq!(decide_by(Compare::Checksum, there(Some(8), CRC64(1))), Decision::Skip(UNCHANGED));
        assert_eq!(
            decide_by(Compare::Checksum, there(Some(7_000_000_000), CRC64(2))),
            Decision::Move(CHECKSUM)
        );
        assert_eq!(decide_by(Compare::Checksum, there(Some(7_000_000_000), None)), Decision::Read);
        let read = |same, meta| {
            by(&Pair { same: Some(same), ..pair(present(meta)) }, Overwrite::IfDifferent, Compare::Checksum)
        };
        assert_eq!(read(true, there(None, None)), Decision::Skip(UNCHANGED));
        assert_eq!(read(false, there(None, None)), Decision::Move(CHECKSUM));
        assert_eq!(read(true, ObjectMeta { size: 6, ..there(None, None) }), Decision::Move(SIZE));
    }

    #[test]
    fn what_others_wrote_has_the_time_of_its_write_and_a_file_what_its_file_system_keeps_of_it() {
        let meta = |ns| ObjectMeta { modified_ns: ns, ..ObjectMeta::default() };
        let file =
            |ns| ObjectMeta { posix: Some(Posix::default()), source_modified_ns: Some(ns), ..meta(ns) };
        let (s, late) = (1_000_000_000, 123_000_000);
        let same = |source: ObjectMeta, there: ObjectMeta, step| {
            let ways = [
                differs(&source, &there, Compare::Auto, step),
                differs(&there, &source, Compare::Auto, step),
            ];
            ways.map(|why| why.is_none())
        };
        let object = meta(5 * s + late);
        // Two objects that happen to be of one second and one size.
        assert_eq!(same(object.clone(), meta(5 * s), 1), [false, false]);
        assert_eq!(same(object.clone(), file(5 * s), 1), [true, true]);
        // Written within the same second, after the download.
        assert_eq!(same(object.clone(), file(5 * s + 1), 1), [false, false]);
        assert_eq!(same(object.clone(), file(4 * s), 2 * s), [true, true]);
        assert_eq!(same(object, file(6 * s), 2 * s), [false, false]);
        assert_eq!(same(file(7 * s + 123_456_789), file(7 * s + 123_456_700), 100), [true, true]);
        let doubted = ObjectMeta { source_modified_ns: None, ..file(5 * s) };
        assert!(differs(&meta(5 * s), &doubted, Compare::Auto, 1).is_some());
    }

    #[test]
    fn a_list_that_says_little_is_enough_where_only_sizes_count_or_a_receipt_vouches() {
        let listed = Existing::Listed(Box::new(ObjectMeta { size: 5, ..ObjectMeta::default() }));
        let listed = pair(listed);
        assert_eq!(by(&listed, Overwrite::IfDifferent, Compare::Size), Decision::Skip(UNCHANGED));
        assert_eq!(by(&listed, Overwrite::IfDifferent, Compare::Receipt), Decision::Look);
        let vouched = Pair { same: Some(true), ..listed };
        assert_eq!(by(&vouched, Overwrite::IfDifferent, Compare::Receipt), Decision::Skip(UNCHANGED));
    }
}
