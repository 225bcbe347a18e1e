//! What to do with each object: skip it, move it whole, or move it in blocks. Pure.

use std::sync::Arc;

use crate::control::Limits;
use crate::job::{MethodChoice, Overwrite};
use crate::store::{BlockRange, Capabilities, ObjectMeta, Store};

/// An object's place: a store and a name in it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) key: String,
}

impl Place {
    /// The name for people.
    pub(crate) fn name(&self) -> Arc<str> {
        self.store.name(&self.key).into()
    }
}

/// What is known of the destination before anything moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// Nothing was asked, so a look may be needed.
    Unknown,
    /// Nothing is there.
    Absent,
    /// This is there.
    Present(Box<ObjectMeta>),
}

/// A source object and where it shall go.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) source: Place,
    pub(crate) destination: Place,
    /// The source as it was listed.
    pub(crate) meta: ObjectMeta,
    pub(crate) existing: Existing,
}

/// What to do with a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Leave it, for this reason.
    Skip(&'static str),
    /// Ask what is at the destination, then decide again.
    Look,
    /// Move it.
    Move,
}

/// Decides whether a pair moves.
pub(crate) fn decide(pair: &Pair, overwrite: Overwrite) -> Decision {
    match (&pair.existing, overwrite) {
        (_, Overwrite::Always) | (Existing::Absent, _) => Decision::Move,
        (Existing::Unknown, _) => Decision::Look,
        (Existing::Present(_), Overwrite::Never) => Decision::Skip("there already"),
        (Existing::Present(there), Overwrite::IfDifferent) if same(&pair.meta, there) => {
            Decision::Skip("unchanged")
        }
        (Existing::Present(_), Overwrite::IfDifferent) => Decision::Move,
    }
}

/// Whether the destination holds this source already: equal size, and equal checksum or equal source time.
fn same(source: &ObjectMeta, there: &ObjectMeta) -> bool {
    if source.size != there.size {
        return false;
    }
    match (source.crc64, there.crc64) {
        (Some(ours), Some(theirs)) => ours == theirs,
        _ => {
            let source_time = source.source_modified_ns.unwrap_or(source.modified_ns);
            there.source_modified_ns == Some(source_time)
        }
    }
}

/// In what pieces an object moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pieces {
    /// One request.
    Whole,
    /// Blocks of this size, the last one shorter.
    Blocks(u64),
}

impl Pieces {
    /// Decides by size, the controller's limits, the user's choice and the bounds of both stores.
    pub(crate) fn of(
        size: u64,
        limits: &Limits,
        choice: MethodChoice,
        from: &Capabilities,
        to: &Capabilities,
    ) -> Self {
        let whole = match choice {
            MethodChoice::Auto => size <= limits.single_put_max.bytes(),
            MethodChoice::Whole => true,
            MethodChoice::Ranges => size <= limits.block_size.bytes(),
        };
        if whole && size <= to.put_max {
            return Self::Whole;
        }
        // The service bounds the number of blocks, so a very large object needs larger ones.
        let least = size.div_ceil(to.blocks_max).max(to.block_min).max(1);
        let mut block = limits.block_size.bytes().max(least).min(to.block_max);
        // Where the source can vouch for a range of this size, let it.
        if !from.local && from.range_checksum_max >= least {
            block = block.min(from.range_checksum_max);
        }
        Self::Blocks(block)
    }

    /// Number of requests that carry payload.
    pub(crate) fn count(self, size: u64) -> u64 {
        match self {
            Self::Whole => 1,
            Self::Blocks(block) => size.div_ceil(block),
        }
    }

    /// The `index`-th stretch.
    pub(crate) fn range(self, size: u64, index: u64) -> BlockRange {
        match self {
            Self::Whole => BlockRange { offset: 0, len: size },
            Self::Blocks(block) => {
                let offset = index * block;
                BlockRange { offset, len: block.min(size - offset) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::Crc64;
    use crate::store::MemoryStore;
    use crate::units::ByteSize;
    use proptest::prelude::*;

    const AZURE: Capabilities = Capabilities {
        put_max: 5000 << 20,
        block_max: 4000 << 20,
        block_min: 1,
        blocks_max: 50_000,
        range_checksum_max: 4 << 20,
        streams: false,
        local: false,
    };

    fn limits(block: u64) -> Limits {
        Limits { concurrency: 8, block_size: ByteSize::new(block), single_put_max: ByteSize::new(block) }
    }

    fn pair(existing: Existing) -> Pair {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::named("plan"));
        let meta =
            ObjectMeta { size: 5, modified_ns: 7, crc64: Some(Crc64::from_u64(1)), ..ObjectMeta::default() };
        let place = Place { store, key: "a".into() };
        Pair { source: place.clone(), destination: place, meta, existing }
    }

    fn present(meta: ObjectMeta) -> Existing {
        Existing::Present(Box::new(meta))
    }

    #[test]
    fn what_is_the_same_is_skipped_and_what_is_not_moves() {
        let same_time = ObjectMeta { size: 5, source_modified_ns: Some(7), ..ObjectMeta::default() };
        let decide_on = |existing| decide(&pair(existing), Overwrite::IfDifferent);
        assert_eq!(decide_on(present(same_time.clone())), Decision::Skip("unchanged"));
        assert_eq!(decide_on(present(ObjectMeta { size: 6, ..same_time.clone() })), Decision::Move);
        assert_eq!(
            decide_on(present(ObjectMeta { source_modified_ns: None, ..same_time.clone() })),
            Decision::Move
        );
        let other_content = ObjectMeta { crc64: Some(Crc64::from_u64(2)), ..same_time.clone() };
        assert_eq!(decide_on(present(other_content)), Decision::Move);
        assert_eq!(decide_on(Existing::Unknown), Decision::Look);
        assert_eq!(decide(&pair(present(same_time.clone())), Overwrite::Always), Decision::Move);
        assert_eq!(decide(&pair(present(same_time)), Overwrite::Never), Decision::Skip("there already"));
        assert_eq!(decide(&pair(Existing::Absent), Overwrite::Never), Decision::Move);
    }

    proptest! {
        #[test]
        fn pieces_cover_every_byte_once_within_the_bounds(size in 0u64..190 << 40, block in 1u64..100 << 20) {
            let pieces = Pieces::of(size, &limits(block), MethodChoice::Auto, &AZURE, &AZURE);
            let count = pieces.count(size);
            if let Pieces::Blocks(block) = pieces {
                prop_assert!(count <= 50_000 && block <= AZURE.block_max, "{count} blocks of {block}");
            }
            let (first, last) = (pieces.range(size, 0), pieces.range(size, count - 1));
            prop_assert_eq!((first.offset, last.end()), (0, size));
            if count > 1 {
                prop_assert_eq!(pieces.range(size, count - 2).end(), last.offset);
                prop_assert!(last.len > 0);
            }
        }
    }
}
