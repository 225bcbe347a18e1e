//! What the service of both stores copies by itself, and in what pieces. Pure.

use super::{Pair, Pieces};
use crate::options::{CopyOptions, MethodChoice, Overwrite, ServerSide};
use crate::store::{Capabilities, CopyRules};

/// A block that a service copies, where nobody wants another size: small enough that many go at once and none takes long, large
/// enough that requests are few. No byte of it passes the link, so it does not follow the link.
const BLOCK: u64 = 16 << 20;

/// Where the service refuses, the blocks of an object that is begun pass this machine after all: several must fit into its memory.
const MEMORY_PART: u64 = 4;

/// How the service copies an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByService {
    rules: CopyRules,
    block: u64,
    /// Up to this size an object is copied in one request.
    whole: u64,
    /// Nothing may be replaced but what was seen.
    guards: bool,
    /// The source states no checksum that could be stored with the copy. Of blocks a CRC64 is known when they are committed.
    unstated: bool,
}

impl ByService {
    /// `None` where the bytes pass this machine: they are between two services, somebody wants it so, or an MD5 is to be computed of
    /// them. What is empty has none.
    pub(crate) fn of(pair: &Pair, options: &CopyOptions) -> Option<Self> {
        let read_for_md5 = options.content_md5 && pair.meta.md5.is_none();
        if options.server_side == ServerSide::Never || pair.meta.size == 0 || read_for_md5 {
            return None;
        }
        let rules = pair.destination.store.copies_from(&*pair.source.store)?;
        let block = options.block_size.fixed().map_or(BLOCK, |size| size.bytes());
        let whole = options.single_put_max.fixed().map_or(block, |size| size.bytes());
        let guards = options.overwrite == Overwrite::Never || options.backup.is_some();
        let block = block.min(options.max_memory.bytes() / MEMORY_PART).max(1);
        let unstated = pair.meta.crc64.is_none() && pair.meta.md5.is_none() && !rules.keeps_crc64;
        Some(Self { rules, block, whole, guards, unstated })
    }

    /// Its source will be deleted.
    pub(crate) fn for_a_move(&mut self) {
        self.guards = true;
    }

    /// In what pieces an object of `size` bytes is copied. Where it `replaces` something, that stays until the copy is known to be one.
    pub(crate) fn pieces(
        &self,
        size: u64,
        choice: MethodChoice,
        to: &Capabilities,
        replaces: bool,
    ) -> Pieces {
        let small = match choice {
            MethodChoice::Auto => size <= self.whole && !self.unstated && !replaces,
            MethodChoice::Whole => true,
            MethodChoice::Ranges => size <= self.block,
        };
        let safe = self.rules.guarded || !self.guards;
        if small && safe && size <= self.rules.whole_max { Pieces::Whole } else { self.in_blocks(size, to) }
    }

    /// In blocks, even where it would be one.
    pub(crate) fn in_blocks(&self, size: u64, to: &Capabilities) -> Pieces {
        let granule = to.cut.granule(size);
        let least = size.div_ceil(to.cut.count).max(to.cut.least).next_multiple_of(granule);
        Pieces::Blocks(self.block.next_multiple_of(granule).clamp(least, to.cut.most.max(least)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{MemoryStore, Store as _};

    const MIB: u64 = 1 << 20;

    fn copying(guarded: bool, guards: bool) -> ByService {
        ByService {
            rules: CopyRules { whole_max: 5_000 * MIB, guarded, keeps_crc64: false, keeps_tags: false },
            block: 16 * MIB,
            whole: 16 * MIB,
            guards,
            unstated: false,
        }
    }

    #[test]
    fn small_objects_are_copied_whole_unless_what_is_there_must_be_guarded() {
        let to = MemoryStore::named("by-service").capabilities();
        let pieces = |by: ByService, size, choice| by.pieces(size, choice, &to, false);
        assert_eq!(copying(true, false).pieces(1, MethodChoice::Auto, &to, true), Pieces::Blocks(16 * MIB));
        let (plain, auto) = (copying(false, false), MethodChoice::Auto);
        assert_eq!(pieces(plain, 16 * MIB, auto), Pieces::Whole);
        assert_eq!(pieces(plain, 16 * MIB + 1, auto), Pieces::Blocks(16 * MIB));
        assert_eq!(pieces(plain, 64 * MIB, MethodChoice::Whole), Pieces::Whole);
        assert_eq!(pieces(plain, 6_000 * MIB, MethodChoice::Whole), Pieces::Blocks(16 * MIB));
        assert_eq!(pieces(copying(false, true), 1, auto), Pieces::Blocks(16 * MIB));
        assert_eq!(pieces(copying(true, true), 1, auto), Pieces::Whole);
        let mut moving = plain;
        moving.for_a_move();
        assert_eq!(pieces(moving, 1, auto), Pieces::Blocks(16 * MIB));
        let unstated = ByService { unstated: true, ..plain };
        assert_eq!(pieces(unstated, 1, auto), Pieces::Blocks(16 * MIB));
        assert_eq!(pieces(unstated, 1, MethodChoice::Whole), Pieces::Whole);
    }

    #[test]
    fn blocks_grow_where_a_store_allows_no_more_of_them() {
        let mut to = MemoryStore::named("by-service").capabilities();
        (to.cut.count, to.cut.least) = (10_000, 5 * MIB);
        let size = |size: u64| match copying(true, false).in_blocks(size, &to) {
            Pieces::Blocks(size) => size,
            Pieces::Whole => 0,
        };
        assert_eq!(size(MIB), 16 * MIB);
        assert_eq!(size(320_000 * MIB), 32 * MIB);
    }

    #[test]
    fn between_stores_of_no_service_nothing_is_copied_by_one() {
        let place =
            super::super::Place { store: std::sync::Arc::new(MemoryStore::named("x")), key: "a".into() };
        let meta = crate::store::ObjectMeta { size: 1, ..Default::default() };
        let existing = super::super::Existing::Absent;
        let pair = Pair::new(place.clone(), place, 0, meta, existing);
        assert_eq!(ByService::of(&pair, &CopyOptions::default()), None);
    }
}
