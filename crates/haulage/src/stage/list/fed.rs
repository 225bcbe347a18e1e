//! Objects that another machine has listed and planned.

use tokio::sync::mpsc;

use super::{Listing, ahead};
use crate::error::{Error, ErrorKind, Result};
use crate::options::{Feed, Given, Item, Root, Shard};
use crate::stage::plan::{Existing, Pair, Place};
use crate::store::Location;

impl Listing {
    /// Takes in shards until no more will come.
    pub(super) async fn fed(&mut self, feed: &Feed) -> Result<()> {
        let taken = || Error::new(ErrorKind::Usage, "run", "shards", "another job takes them");
        let mut shards: mpsc::Receiver<Given> = feed.take().ok_or_else(taken)?;
        while let Some((shard, told)) = shards.recv().await {
            let opened: Result<Vec<_>> = shard.places.iter().map(|place| self.open_places(place)).collect();
            // Whoever gave it and does not wait for the answer any more has been stopped.
            match opened {
                Ok(places) => {
                    let _ = told.send(Ok(()));
                    self.take_in(shard, &places).await?;
                }
                Err(error) => drop(told.send(Err(error))),
            }
        }
        Ok(())
    }

    fn open_places(&self, (source, destination): &(Root, Root)) -> Result<(Location, Location)> {
        let open = |root: &Root| match root {
            Root::Url(url) => self.opener.open(url),
            Root::Folder { path, named } => Ok(self.opener.open_folder(path, named)),
        };
        let (source, destination) = (open(source)?, open(destination)?);
        self.prepare(&source, ahead::TREE);
        self.prepare(&destination, ahead::TREE);
        Ok((source, destination))
    }

    async fn take_in(&mut self, shard: Shard, places: &[(Location, Location)]) -> Result<()> {
        for item in shard.items {
            if let Some((source, destination)) = places.get(item.place) {
                self.give(pair(item, source, destination)).await?;
            }
        }
        Ok(())
    }
}

fn pair(item: Item, source: &Location, destination: &Location) -> Pair {
    let Item { place: _, to, name_at, meta, look, assigned, .. } = item;
    let source = Place { store: source.store.clone(), key: meta.key.clone() };
    let destination = Place { store: destination.store.clone(), key: to };
    let existing = if look { Existing::Unknown } else { Existing::Absent };
    Pair { assigned: Some(Box::new(assigned)), ..Pair::new(source, destination, name_at, meta, existing) }
}
