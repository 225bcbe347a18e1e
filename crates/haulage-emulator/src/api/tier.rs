//! Access tiers: which one a blob is in, and Set Blob Tier.
//!
//! The service takes hours to bring a blob back from the archive; here it is back at once.

use http::StatusCode;

use super::Reply;
use super::headers::reply;
use super::properties::amend;
use crate::request::Call;
use crate::service::Service;
use crate::store::Blob;
use crate::wire::error::{Answer, BLOB_ARCHIVED, INVALID_HEADER_VALUE, ServiceError};

const HEADER: &str = "x-ms-access-tier";
const PRIORITY: &str = "x-ms-rehydrate-priority";
const TIERS: [&str; 4] = ["Hot", "Cool", "Cold", ARCHIVE];
const ARCHIVE: &str = "Archive";
/// The account's own tier, in which blobs are for which nobody chose another.
const INFERRED: &str = "Hot";

/// The tier that was chosen for a blob.
fn chosen(blob: &Blob) -> Option<&'static str> {
    named(blob.tier.as_deref()?)
}

fn named(text: &str) -> Option<&'static str> {
    TIERS.into_iter().find(|tier| tier.eq_ignore_ascii_case(text))
}

/// The tier that a blob is in.
pub(super) fn of(blob: &Blob) -> &'static str {
    chosen(blob).unwrap_or(INFERRED)
}

/// Whether it is there because nobody chose another.
pub(super) fn is_inferred(blob: &Blob) -> bool {
    chosen(blob).is_none()
}

/// The tier that the request chooses, if it does.
pub(super) fn sent(call: &Call<'_>) -> Answer<Option<&'static str>> {
    let Some(text) = call.header(HEADER) else { return Ok(None) };
    named(text).map(Some).ok_or_else(|| refuse(HEADER, text))
}

/// The tier of a new version of a blob: without a choice it stays where it was. What is in the archive is not
/// replaced.
pub(super) fn of_new(sent: Option<&str>, old: Option<&Blob>) -> Answer<Option<String>> {
    old.map_or(Ok(()), check_online)?;
    let kept = old.and_then(chosen);
    Ok(sent.or(kept).map(str::to_owned))
}

/// Bytes and metadata in the archive can be neither read nor changed.
pub(super) fn check_online(blob: &Blob) -> Answer<()> {
    if of(blob) == ARCHIVE { Err((&BLOB_ARCHIVED).into()) } else { Ok(()) }
}

/// A copy may bring a blob back from the archive where it says which tier it is for.
pub(super) fn check_copied(source: &Blob, sent: Option<&str>) -> Answer<()> {
    if sent.is_some_and(|tier| tier != ARCHIVE) { Ok(()) } else { check_online(source) }
}

pub(super) async fn set_tier(service: &Service, call: &Call<'_>) -> Reply {
    call.required(HEADER)?;
    let tier = sent(call)?;
    if let Some(text) = call.header(PRIORITY)
        && !["Standard", "High"].iter().any(|priority| priority.eq_ignore_ascii_case(text))
    {
        return Err(refuse(PRIORITY, text));
    }
    let mut returns = false;
    amend(service, call, |blob| {
        super::append::check_is_block_blob(Some(blob))?;
        returns = of(blob) == ARCHIVE && tier != Some(ARCHIVE);
        blob.tier = tier.map(str::to_owned);
        Ok(())
    })
    .await?;
    Ok(reply(if returns { StatusCode::ACCEPTED } else { StatusCode::OK }))
}

fn refuse(header: &str, value: &str) -> ServiceError {
    INVALID_HEADER_VALUE.detail("HeaderName", header).detail("HeaderValue", value)
}
