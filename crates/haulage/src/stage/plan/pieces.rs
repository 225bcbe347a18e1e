//! In what pieces an object moves. Pure.

use crate::control::Limits;
use crate::options::MethodChoice;
use crate::store::Capabilities;

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
        // A single block of a store that wants large ones would only take more requests.
        let single = to.cut.least > 1 && size <= to.cut.least;
        if (whole || single) && size <= to.put_max {
            return Self::Whole;
        }
        Self::in_blocks(size, limits, from, to)
    }

    /// In blocks or ranges, even where it would be one.
    pub(crate) fn in_blocks(size: u64, limits: &Limits, from: &Capabilities, to: &Capabilities) -> Self {
        let (least, most) = bounds(size, from, to);
        Self::Blocks(limits.block_size.bytes().clamp(least, most))
    }

    /// Number of requests that carry payload.
    pub(crate) fn count(self, size: u64) -> u64 {
        match self {
            Self::Whole => 1,
            Self::Blocks(block) => size.div_ceil(block),
        }
    }
}

/// The smallest and the largest block of an object of `size` bytes.
pub(super) fn bounds(size: u64, from: &Capabilities, to: &Capabilities) -> (u64, u64) {
    // The service bounds the number of blocks, so a very large object needs larger ones.
    let least = size.div_ceil(to.cut.count).max(to.cut.least).max(to.cut.granule(size));
    // Where the source can vouch for a range of this size, let it.
    let vouched = from.range_checksum_max >= least;
    let most = if vouched { to.cut.most.min(from.range_checksum_max) } else { to.cut.most };
    (least, most.max(least))
}
