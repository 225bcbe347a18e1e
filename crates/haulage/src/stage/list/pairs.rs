//! Sources that are named one by one, each with its own destination.

use std::collections::HashSet;

use super::lookups::Lookups;
use super::one::{names_none, one};
use super::{Listed, Listing};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::through;
use crate::options::{Overwrite, without_query};
use crate::stage::plan::{Existing, Pair};
use crate::store::{Location, ObjectMeta, Request, StoreOpener};

impl Listing {
    /// Pairs each need their own look at the source.
    pub(super) async fn pairs(&mut self, pairs: &[(String, String)]) -> Result<()> {
        self.check_sources_stay(pairs)?;
        let mut pairs = pairs.iter().enumerate();
        let mut looking = Lookups::default();
        loop {
            while looking.has_room()
                && let Some((origin, pair)) = pairs.next()
            {
                looking.begin(look_up(self.opener.clone(), origin, pair.clone(), self.overwrite));
            }
            match looking.next().await {
                None => break Ok(()),
                Some(Ok(pair)) if !self.filter.takes(&pair.meta) => {}
                Some(Ok(pair)) => self.give(pair).await?,
                // A wrong key is wrong for all of them; what may not be read, or is no single object, is not.
                Some(Err(error)) if error.refuses_credential() => return Err(error),
                Some(Err(error)) => self.send(Listed::Problem(error)).await?,
            }
        }
    }
}

impl Listing {
    /// Refuses pairs of which one would write what another one is to read: they go at once, in no order.
    fn check_sources_stay(&mut self, pairs: &[(String, String)]) -> Result<()> {
        let (mut read, mut written) = (Vec::with_capacity(pairs.len()), HashSet::with_capacity(pairs.len()));
        for (source, destination) in pairs {
            // What cannot be opened says so when its turn comes.
            let (Ok(source), Ok(destination)) = (self.opener.open(source), self.opener.open(destination))
            else {
                read.push(None);
                continue;
            };
            let Pair { source, destination, .. } = one(&source, &destination, ObjectMeta::default(), false);
            let (from, to) = (self.hash_of(&source), self.hash_of(&destination));
            written.insert(to);
            // What is its own destination is skipped, or refused, by itself.
            read.push((from != to).then_some(from));
        }
        let overwritten = read.iter().position(|from| from.is_some_and(|from| written.contains(&from)));
        match overwritten.and_then(|at| pairs.get(at)) {
            None => Ok(()),
            Some((source, _)) => {
                let cause = "it is the source of one pair and the destination of another, and pairs are copied in no order";
                Err(Error::new(ErrorKind::Usage, "copy", without_query(source), cause)
                    .hint("copy them one after another: first the pair that reads it"))
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
    if names_none(key) {
        let cause = "this is a folder, a prefix or a container, and each pair copies one object";
        return Err(Error::new(ErrorKind::Usage, "copy", store.name(key), cause)
            .hint("name each object in the list, or copy the folder by itself: haul cp SRC DST"));
    }
    let meta =
        through!(gate, store.api(Request::Look), store.name(key), trace => store.head(key, trace).await)?;
    let mut pair = Pair { origin, ..one(&source, &destination, meta, false) };
    if overwrite != Overwrite::Always {
        pair.existing = Existing::Unknown;
    }
    Ok(pair)
}
