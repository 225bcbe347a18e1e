//! Sources that are named one by one, each with its own destination.

use super::lookups::Lookups;
use super::one::{names_none, one};
use super::{Listed, Listing};
use crate::error::{Error, ErrorKind, Result};
use crate::gate::through;
use crate::options::Overwrite;
use crate::stage::plan::{Existing, Pair};
use crate::store::{Location, Request, StoreOpener};

impl Listing {
    /// Pairs each need their own look at the source.
    pub(super) async fn pairs(&mut self, pairs: &[(String, String)]) -> Result<()> {
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
