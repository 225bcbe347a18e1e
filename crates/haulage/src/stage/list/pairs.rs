//! Sources that are named one by one, each with its own destination.

use std::collections::VecDeque;

use tokio::task::JoinSet;

use super::one::one;
use super::{Listed, Listing};
use crate::error::{ErrorKind, Result};
use crate::gate::through;
use crate::options::Overwrite;
use crate::stage::plan::{Existing, Pair};
use crate::store::{Location, Request, StoreOpener};
use crate::task::joined;

/// Pairs looked up at once where each needs a request of its own.
const LOOKUPS: usize = 64;

impl Listing {
    /// Pairs each need their own look at the source; many at once, each in a task of its own: it may hold a slot, and must
    /// get on with it while the pairs before it wait to be taken.
    pub(super) async fn pairs(&mut self, pairs: &[(String, String)]) -> Result<()> {
        let mut pairs = pairs.iter().enumerate();
        let mut looking: VecDeque<JoinSet<Result<Pair>>> = VecDeque::new();
        loop {
            while looking.len() < LOOKUPS
                && let Some((origin, pair)) = pairs.next()
            {
                let mut one = JoinSet::new();
                one.spawn(look_up(self.opener.clone(), origin, pair.clone(), self.overwrite));
                looking.push_back(one);
            }
            let Some(mut first) = looking.pop_front() else { break Ok(()) };
            let Some(looked) = first.join_next().await else { continue };
            match joined(looked).and_then(|pair| pair) {
                Ok(pair) => self.give(pair).await?,
                // A wrong key or URL is wrong for all of them.
                Err(error) if matches!(error.kind(), ErrorKind::Permission | ErrorKind::Usage) => {
                    return Err(error);
                }
                Err(error) => self.send(Listed::Problem(error)).await?,
            }
        }
    }
}

async fn look_up(
    opener: StoreOpener,
    origin: usize,
    named: (String, String),
    overwrite: Overwrite,
) -> Result<Pair> {
    let (source, destination) = (opener.open(&named.0)?, opener.open(&named.1)?);
    let Location { store, key, gate } = &source;
    let meta =
        through!(gate, store.api(Request::Look), store.name(key), trace => store.head(key, trace).await)?;
    let mut pair = Pair { origin, ..one(&source, &destination, meta, false) };
    if overwrite != Overwrite::Always {
        pair.existing = Existing::Unknown;
    }
    Ok(pair)
}
