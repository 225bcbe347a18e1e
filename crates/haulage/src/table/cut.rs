//! Where a stretch is cut in two, so that two may read it.
//!
//! Nobody knows where the keys lie, but the pages that came show at which place they differ: keys like `p00017` differ at the end
//! first. A cut there finds rows on both sides; what lies behind it is cut one place further to the front, and so on, so that after
//! a few cuts the pieces are as large as the table. A cut at the first place would be in vain for most keys.

use super::range::{Key, Stretch, Until};

/// The first and the last character that keys are likely to be made of. Others are found all the same, only not so evenly shared.
const FIRST: u32 = 0x20;
const LAST: u32 = 0x7b;

/// What the pages of a stretch have shown of its keys.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    /// The last page lay in one partition.
    pub(super) alone: bool,
    /// The place at which its partitions differ, and the one at which rows of a partition do.
    pub(super) partitions: Option<usize>,
    pub(super) rows: Option<usize>,
}

impl Known {
    /// Takes in the first and the last row of a page of this stretch.
    pub(super) fn see(&mut self, stretch: &Stretch, first: (&str, &str), last: (&str, &str)) {
        self.alone = first.0 == last.0;
        if !self.alone {
            self.partitions.get_or_insert_with(|| alike(first.0, last.0));
            return;
        }
        self.rows.get_or_insert_with(|| alike(first.1, last.1));
        if let Stretch::Partitions { from: Some(from), after: true, .. } = stretch {
            self.partitions.get_or_insert_with(|| alike(from, first.0));
        }
    }
}

/// How many characters two begin with alike.
fn alike(one: &str, other: &str) -> usize {
    one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count()
}

/// A stretch that was cut in two.
#[derive(Debug)]
pub(super) struct Cut {
    /// What lies behind the cut, and what is known of it.
    pub(super) behind: Stretch,
    pub(super) known: Known,
    /// Where the stretch before it ends now.
    pub(super) until: Until,
}

/// Cuts what is left after `at` until `until` in two; `None` where nothing can be cut any more.
pub(super) fn cut(at: &Key, until: &Until, known: Known) -> Option<Cut> {
    let before = match until {
        Until::After(last) if *last == at.partition => return within(at, None, known),
        Until::Row(end) if end.partition == at.partition => return within(at, Some(&end.row), known),
        Until::End | Until::After(_) | Until::Row(_) => None,
        Until::Partition(end) => Some(end.as_str()),
    };
    let place = known.partitions.filter(|_| known.alone);
    let middle = match (known.alone, place) {
        // It may be the only one, or the largest: what lies behind it is the first thing to know.
        (true, None) => None,
        (true, Some(place)) => Places::of(&at.partition, before).before(place),
        (false, _) => Places::of(&at.partition, before).any(known.partitions),
    };
    let before = before.map(str::to_owned);
    Some(match middle {
        Some((middle, place)) => Cut {
            behind: Stretch::Partitions { from: Some(middle.clone()), after: false, before },
            known: Known { partitions: Some(place.saturating_sub(1)), ..Known::default() },
            until: Until::Partition(middle),
        },
        None => Cut {
            behind: Stretch::Partitions { from: Some(at.partition.clone()), after: true, before },
            known: Known::default(),
            until: Until::After(at.partition.clone()),
        },
    })
}

/// Cuts the rows of one partition.
fn within(at: &Key, before: Option<&str>, known: Known) -> Option<Cut> {
    let (row, place) = Places::of(&at.row, before).any(known.rows)?;
    let partition = at.partition.clone();
    Some(Cut {
        behind: Stretch::Rows {
            partition: partition.clone(),
            from: row.clone(),
            before: before.map(str::to_owned),
        },
        known: Known { rows: Some(place.saturating_sub(1)), ..Known::default() },
        until: Until::Row(Key { partition, row }),
    })
}

/// Keys that lie strictly between two, by the place at which they differ from the lower. They hold none of the characters whose
/// order depends on how they are encoded.
struct Places {
    low: Vec<u32>,
    high: Option<Vec<u32>>,
}

impl Places {
    fn of(low: &str, high: Option<&str>) -> Self {
        let chars = |text: &str| text.chars().map(u32::from).collect();
        Self { low: chars(low), high: high.map(chars) }
    }

    /// A key that differs at this place or before it, the later the better; with the place.
    fn before(&self, place: usize) -> Option<(String, usize)> {
        let places = || (0..=place.min(self.low.len())).rev();
        let alike = places().find_map(|place| Some((self.at(place, true)?, place)));
        alike.or_else(|| places().find_map(|place| Some((self.at(place, false)?, place))))
    }

    /// A key that differs before or at this place, or else at the first one where that is possible.
    fn any(&self, place: Option<usize>) -> Option<(String, usize)> {
        let first = place.and_then(|place| self.before(place));
        first.or_else(|| {
            let mut places = place.map_or(0, |place| place + 1)..=self.low.len();
            places.find_map(|place| Some((self.at(place, true).or_else(|| self.at(place, false))?, place)))
        })
    }

    /// The key in the middle of those that differ at this place; of the same sort of characters alone where `alike`, for what
    /// stands in place of a digit in a key is most often another digit.
    fn at(&self, place: usize, alike: bool) -> Option<String> {
        let below = self.low.get(place).copied().unwrap_or(FIRST - 1);
        let bound = match &self.high {
            // While all places before were alike, it bounds this one.
            Some(high) if high.starts_with(&self.low[..place]) => *high.get(place)?,
            _ => LAST,
        };
        let above = if alike { end_of_sort(below)?.min(bound) } else { bound };
        if below >= 0xd800 || above > 0xd800 || above <= below + 1 {
            return None;
        }
        let middle = below + (above - below) / 2;
        self.low[..place].iter().copied().chain([middle]).map(char::from_u32).collect()
    }
}

/// Where characters of the same sort end.
fn end_of_sort(char: u32) -> Option<u32> {
    let sorts = [(' ', '/'), ('0', '9'), ('A', 'Z'), ('a', 'z')];
    let (_, last) = sorts.into_iter().find(|(first, last)| (*first as u32..=*last as u32).contains(&char))?;
    Some(last as u32 + 1)
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use proptest::prelude::*;

    use super::super::range::compare;
    use super::*;

    fn key(partition: &str, row: &str) -> Key {
        Key { partition: partition.to_owned(), row: row.to_owned() }
    }

    #[test]
    fn a_stretch_in_one_partition_is_cut_behind_it_first_and_then_by_rows() {
        let (at, known) = (key("p", "0001"), Known { alone: true, ..Known::default() });
        let Cut { behind, until, .. } = cut(&at, &Until::End, known).unwrap();
        assert_eq!(behind.filter(None).unwrap(), "PartitionKey gt 'p'");
        assert_eq!(until, Until::After("p".to_owned()));
        let Cut { behind, until, .. } = cut(&at, &until, known).unwrap();
        assert!(matches!(&behind, Stretch::Rows { partition, .. } if partition == "p"));
        assert!(matches!(until, Until::Row(_)));
        assert!(until.is_after("p", "0001") && !until.is_after("q", ""));
    }

    #[test]
    fn what_lies_behind_a_cut_is_cut_further_to_the_front() {
        let mut known = Known::default();
        known.see(
            &Stretch::Partitions { from: Some("p00000".to_owned()), after: true, before: None },
            ("p00001", "1"),
            ("p00001", "9"),
        );
        let (mut at, mut until, mut cuts) = (key("p00001", "9"), Until::End, Vec::new());
        // Each has rows behind it, as in a table of many partitions.
        while cuts.len() < 5 {
            let one = cut(&at, &until, known).unwrap();
            let Stretch::Partitions { from: Some(from), .. } = one.behind else { panic!() };
            (at, known, until) = (key(&format!("{from:0<6}"), "1"), one.known, Until::End);
            known.alone = true;
            cuts.push(from);
        }
        assert_eq!(cuts, ["p00005", "p0005", "p005", "p05", "p5"]);
    }

    #[test]
    fn where_nothing_lies_behind_a_cut_the_next_one_is_nearer() {
        let known = Known { alone: true, partitions: Some(4), rows: None };
        let (mut until, mut cuts) = (Until::End, Vec::new());
        while let Some(one) = cut(&key("p00000", "1"), &until, known) {
            let Stretch::Partitions { from: Some(from), after, .. } = one.behind else { panic!() };
            if after {
                break;
            }
            until = one.until;
            cuts.push(from);
        }
        assert_eq!(cuts, ["p0005", "p0002", "p0001"]);
    }

    proptest! {
        #[test]
        fn what_lies_between_lies_between(
            low in "\\PC{0,6}", high in proptest::option::of("\\PC{0,6}"), place in proptest::option::of(0_usize..8)
        ) {
            if high.as_ref().is_none_or(|high| compare(&low, high) == Ordering::Less)
                && let Some((middle, _)) = Places::of(&low, high.as_deref()).any(place)
            {
                prop_assert_eq!(compare(&low, &middle), Ordering::Less);
                prop_assert!(high.is_none_or(|high| compare(&middle, &high) == Ordering::Less));
            }
        }

        #[test]
        fn halving_comes_to_an_end(
            low in "[a-z0-9]{1,8}", high in "[a-z0-9]{1,8}", place in proptest::option::of(0_usize..8)
        ) {
            let (low, mut high) = if low < high { (low, high) } else { (high, low) };
            let mut steps = 0;
            while let Some((middle, _)) = Places::of(&low, Some(&high)).any(place) {
                high = middle;
                steps += 1;
                prop_assert!(steps < 200, "{low} {high}");
            }
        }
    }
}
