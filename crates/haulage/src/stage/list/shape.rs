//! Whether a name is that of one object, or of all that lies below it.

use std::time::Duration;

use tokio::time::timeout;

use super::one::{as_prefix, names_none};
use super::pages::Pages;
use super::{Listing, Pattern, ahead, marker_of};
use crate::error::{ErrorKind, Result};
use crate::gate::through;
use crate::store::{ListPage, ListRequest, Location, ObjectMeta, Request};

/// Whether a name is an object or a folder takes two questions. When the first is not answered by now, the second goes too.
const ASIDE: Duration = Duration::from_millis(20);

/// What a name stands for.
pub(super) enum Shape {
    One(ObjectMeta),
    Tree(Pages),
}

impl Listing {
    /// What a name stands for, and where that is: one with wildcards that nothing has, for all below its folder that matches it.
    pub(super) async fn meant(&mut self, location: Location, verify: bool) -> Result<(Location, Shape)> {
        self.filter.matching(None)?;
        let shape = self.shape(&location, verify).await;
        let pattern = Pattern::of(&location.key).filter(|_| self.wildcards);
        let Some(pattern) = pattern else { return Ok((location, shape?)) };
        match shape {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(Shape::Tree(mut pages)) => {
                if pages.first().await?.is_some_and(|page| !page.is_empty()) {
                    return Ok((location, Shape::Tree(pages)));
                }
            }
            Ok(one) => return Ok((location, one)),
            Err(_) => {}
        }
        self.filter.matching(Some(&pattern))?;
        let request = ListRequest { begin_small: !verify, ..pattern.request(&location) };
        let pages = Pages::of(&*location.store, request, location.gate.clone());
        Ok((pattern.place(&location), Shape::Tree(pages)))
    }

    /// Whether a location is an object or a folder of them.
    pub(super) async fn shape(&self, location: &Location, verify: bool) -> Result<Shape> {
        let Location { store, key, gate } = location;
        if names_none(key) {
            return Ok(Shape::Tree(below(location, verify)));
        }
        let (api, name) = (store.api(Request::Look), store.name(key));
        let looking = async { through!(gate, api, name, trace => answered(store.head(key, trace).await)) };
        tokio::pin!(looking);
        // Over a long way the answers to both questions come in the time of one.
        let (looked, pages) = match timeout(ASIDE, &mut looking).await {
            Ok(looked) => (looked, None),
            Err(_) => {
                self.prepare(location, ahead::TREE);
                let pages = all_below(location, verify);
                (looking.await, Some(pages))
            }
        };
        match looked? {
            Ok(meta) => {
                pages.into_iter().for_each(Pages::leave);
                Ok(Shape::One(meta))
            }
            Err(missing) => {
                let mut pages = pages.unwrap_or_else(|| all_below(location, verify));
                match pages.first().await {
                    // What could not be read lies below it too.
                    Ok(Some(page)) if !page.is_empty() => Ok(Shape::Tree(pages)),
                    Err(worse) if worse.kind() != ErrorKind::NotFound => Err(worse),
                    _ => match marker_of(location).await? {
                        Some(marker) => Ok(Shape::Tree(pages.with(ListPage::of_marker(marker)))),
                        // The answer to the first question says it best.
                        None => Err(missing),
                    },
                }
            }
        }
    }
}

/// That nothing is there is an answer too, and no failure of the request.
fn answered(looked: Result<ObjectMeta>) -> Result<Result<ObjectMeta>> {
    match looked {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        answer => Ok(answer),
    }
}

/// The list of all below a folder or prefix, or, if that is nothing, of its marker.
pub(super) fn below(location: &Location, verify: bool) -> Pages {
    Pages::of_folder(location, request(location, verify))
}

/// The same without the marker.
fn all_below(location: &Location, verify: bool) -> Pages {
    Pages::of(&*location.store, request(location, verify), location.gate.clone())
}

fn request(location: &Location, verify: bool) -> ListRequest {
    ListRequest { prefix: as_prefix(&location.key), begin_small: !verify, ..ListRequest::default() }
}
