//! Looks at objects that are named, many at once, handed on in their order.

use std::collections::VecDeque;

use tokio::task::JoinSet;

use crate::error::Result;
use crate::stage::plan::Pair;
use crate::task::joined;

/// Objects looked at, at once.
const LOOKUPS: usize = 64;

/// Looks that are under way, each in a task of its own: it may hold a slot, and must get on with it while those before it wait to
/// be taken.
#[derive(Default)]
pub(super) struct Lookups(VecDeque<JoinSet<Result<Pair>>>);

impl Lookups {
    /// Whether another one may begin.
    pub(super) fn has_room(&self) -> bool {
        self.0.len() < LOOKUPS
    }

    /// Whether none is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Begins one.
    pub(super) fn begin(&mut self, look: impl Future<Output = Result<Pair>> + Send + 'static) {
        let mut one = JoinSet::new();
        one.spawn(look);
        self.0.push_back(one);
    }

    /// What came of the first; `None` where none is under way.
    pub(super) async fn next(&mut self) -> Option<Result<Pair>> {
        let mut first = self.0.pop_front()?;
        let looked = first.join_next().await?;
        Some(joined(looked).and_then(|pair| pair))
    }
}
