//! What makes containers, and what removes them.

use std::collections::VecDeque;

use futures_util::future::BoxFuture;

use super::remove::{BATCH, Found, Removal, RemoveOptions, RemoveReport, Whole, remote};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Failure;
use crate::gate::{Gate, through};
use crate::spool::Spool;
use crate::stage::list::{Emptied, Filter};
use crate::store::{ListRequest, Location, Request, Store, StoreOptions};

/// Creates the container of a URL.
///
/// # Errors
/// `Usage` for a local path, and for what names no container; `Exists` where it is there.
pub fn make_container<'a>(url: &'a str, options: &'a StoreOptions) -> BoxFuture<'a, Result<()>> {
    Box::pin(async move {
        let Location { store, gate, .. } = container("mb", url, options)?;
        let (api, name) = (store.api(Request::CreateContainer), store.name(""));
        let mut tries = 0;
        let made = through!(gate, api, name, trace => {
            tries += 1;
            store.create_container(trace).await
        });
        match made {
            // Made by an attempt whose answer was lost.
            Err(error) if error.kind() == ErrorKind::Exists && tries > 1 => Ok(()),
            other => other,
        }
    })
}

/// Deletes the container of a URL; one that holds objects only by `force`, and then with them. Of `what` only `dry_run` and
/// `max_delete` have a meaning. Where a service takes only empty containers back and an object could not be removed, which the
/// report says, the container stays.
///
/// # Errors
/// `Usage` where it holds objects and `force` is not given: the service itself would not ask. Else as for [`Removal::find`].
pub fn remove_container<'a>(
    url: &'a str,
    force: bool,
    what: &'a RemoveOptions,
    options: &'a StoreOptions,
) -> BoxFuture<'a, Result<RemoveReport>> {
    Box::pin(async move {
        let place = container("rb", url, options)?;
        let (store, gate) = (&place.store, &place.gate);
        let (listing, name) = (store.api(Request::List), store.name(""));
        let mut lister = store.list(ListRequest::default());
        let (mut report, mut whole, mut is_marked) = (RemoveReport::default(), Whole::default(), false);
        while let Some(page) = through!(gate, listing, name, trace => lister.next_page(trace).await)? {
            if !force && !page.is_empty() {
                return Err(Error::new(ErrorKind::Usage, "rb", store.name(""), "it holds objects")
                    .hint("add --force to remove them as well; haul du counts them"));
            }
            report.objects += page.objects.len() as u64;
            report.bytes =
                page.objects.iter().fold(report.bytes, |sum, object| sum.saturating_add(object.size));
            if !store.deletes_full() {
                page.objects.iter().try_for_each(|object| whole.names.push(&object.key, object.size))?;
            }
            is_marked |= !page.markers.is_empty();
        }
        if let Some(refusal) = what.refusal("rb", &[url.to_owned()], report.objects) {
            return Err(refusal);
        }
        if what.dry_run {
            return Ok(report);
        }
        if force && !store.deletes_full() {
            let filter = Filter::new(&[], &[])?;
            whole.emptied = is_marked.then(|| Emptied { place: place.clone(), filter });
            report = empty(Found { url: url.to_owned(), place: place.clone(), whole }).await?;
            if !report.failures.is_empty() {
                return Ok(report);
            }
        }
        let api = store.api(Request::DeleteContainer);
        through!(gate, api, name, trace => store.delete_container(trace).await)?;
        Ok(report)
    })
}

/// Removes what was found in a container, and then what interrupted writes have left in it. What others add meanwhile stays, and
/// with it the container.
async fn empty(found: Found) -> Result<RemoveReport> {
    let Location { store, gate, .. } = found.place.clone();
    let mut removal = Removal { found: VecDeque::from([found]), dry_run: false, refusal: None };
    let mut report = removal.remove_next(&mut |_| ()).await?.map(|(_, report)| report).unwrap_or_default();
    if !report.failures.is_empty() {
        return Ok(report);
    }
    let mut left = leftovers_of(&*store, &gate).await?.read()?;
    loop {
        let batch = left.next(BATCH)?;
        if batch.is_empty() {
            return Ok(report);
        }
        for (key, _) in batch {
            let (api, name) = (store.api(Request::Delete), store.name(&key));
            if let Err(error) = through!(gate, api, name, trace => store.remove_leftover(&key, trace).await) {
                report.failures.push(Failure::from(&error));
            }
        }
    }
}

/// All leftovers of a container. Who may not list them, or whose service has no such list, could remove none.
async fn leftovers_of(store: &dyn Store, gate: &Gate) -> Result<Spool> {
    let mut lister = store.list(ListRequest { leftovers: true, ..ListRequest::default() });
    let (api, name) = (store.api(Request::List), store.name(""));
    let mut found = Spool::default();
    loop {
        match through!(gate, api, name, trace => lister.next_page(trace).await) {
            Err(error) if error.kind() == ErrorKind::Permission || error.status() == Some(501) => {
                return Ok(found);
            }
            page => match page? {
                Some(page) => page.objects.iter().try_for_each(|one| found.push(&one.key, one.size))?,
                None => return Ok(found),
            },
        }
    }
}

fn container(operation: &'static str, url: &str, options: &StoreOptions) -> Result<Location> {
    let location = remote(operation, url, options)?;
    if location.key.is_empty() {
        return Ok(location);
    }
    let name = location.store.name(&location.key);
    Err(Error::new(ErrorKind::Usage, operation, name, "this names no container")
        .hint(format!("write {}, without a path after it", location.store.name(""))))
}
