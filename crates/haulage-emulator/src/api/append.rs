//! Append blobs: blocks that are added to the end of a blob, each at once a part of it, until it is sealed.

use http::{Response, StatusCode};

use super::condition::Conditions;
use super::copy::{copied, source, stated};
use super::headers::{reply, set, set_version, written};
use super::{Reply, blob, commit, tier};
use crate::change::note;
use crate::request::Call;
use crate::service::Service;
use crate::store::{Appendable, Blob, Data, Part};
use crate::wire::body::ResponseBody;
use crate::wire::error::{
    APPEND_POSITION_NOT_MET, Answer, BLOB_IS_SEALED, BLOCK_COUNT_EXCEEDS_LIMIT, INVALID_BLOB_TYPE,
    INVALID_HEADER_VALUE, MAX_BLOB_SIZE_NOT_MET, REQUEST_BODY_TOO_LARGE, ServiceError,
};
use crate::wire::incoming::Content as _;
use crate::wire::time::Stamp;
use crate::wire::upload::{Sums, Upload};

/// The most that one block may hold, and what it was before this version of the service.
const LARGEST_BLOCK: u64 = 100 << 20;
const LARGEST_BLOCK_BEFORE: (&str, u64) = ("2022-11-02", 4 << 20);
const MOST_BLOCKS: u32 = 50_000;
const POSITION: &str = "x-ms-blob-condition-appendpos";
const MAX_SIZE: &str = "x-ms-blob-condition-maxsize";

pub(super) async fn append_block(service: &Service, call: &Call<'_>, upload: &mut Upload<'_>) -> Reply {
    upload.expect(&call.parts.headers, most(call), false)?;
    if upload.len() == 0 {
        let error = INVALID_HEADER_VALUE.detail("HeaderName", "Content-Length");
        return Err(error.detail("HeaderValue", "0"));
    }
    let wanted = Wanted::of(call)?;
    // Refused before the body is taken in, and looked at again when it is there.
    wanted.check(&*blob(&service.read(), call.key())?, upload.len())?;
    let data = service.store.receive(upload).await?;
    let sums = upload.verify()?;
    append(service, call, &wanted, upload.len(), data, &sums).await
}

/// Adds a stretch of another blob.
pub(super) async fn append_block_from_url(service: &Service, call: &Call<'_>) -> Reply {
    let source = source(service, call, true)?;
    let range = source.stretch(call)?;
    let len = range.end - range.start;
    if len > most(call) {
        return Err(REQUEST_BODY_TOO_LARGE.detail("MaxLimit", most(call).to_string()));
    }
    let wanted = Wanted::of(call)?;
    wanted.check(&*blob(&service.read(), call.key())?, len)?;
    let (data, sums) = copied(service, call, &source, range, false).await?;
    append(service, call, &wanted, len, data, &stated(call, sums)).await
}

/// Lets nobody add anything any more.
pub(super) async fn seal(service: &Service, call: &Call<'_>) -> Reply {
    let wanted = Wanted::of(call)?;
    let _lock = service.lock(call.key()).await;
    let old = blob(&service.read(), call.key())?;
    wanted.conditions.check_existing(Some(&old))?;
    let state = state_of(&old)?;
    wanted.check_position(&old)?;
    let mut new = (*old).clone();
    if !state.sealed {
        new.append = Some(Appendable { sealed: true, ..state });
        (new.etag, new.modified) = (service.next_etag(), Stamp::now());
        note(service, call.key(), new.clone()).await?;
    }
    let mut response = reply(StatusCode::OK);
    set_version(response.headers_mut(), new.etag, new.modified);
    describe(response.headers_mut(), &new);
    Ok(response)
}

/// What only an append blob says of itself.
pub(super) fn describe(headers: &mut http::HeaderMap, blob: &Blob) {
    if let Some(state) = blob.append {
        set(headers, "x-ms-blob-committed-block-count", &state.blocks.to_string());
        if state.sealed {
            set(headers, "x-ms-blob-sealed", "true");
        }
    }
}

/// Blocks are neither staged for a blob that grows nor listed of it.
pub(super) fn check_is_block_blob(blob: Option<&Blob>) -> Answer<()> {
    if blob.is_some_and(|blob| blob.append.is_some()) { Err((&INVALID_BLOB_TYPE).into()) } else { Ok(()) }
}

fn state_of(blob: &Blob) -> Answer<Appendable> {
    blob.append.ok_or_else(|| (&INVALID_BLOB_TYPE).into())
}

fn most(call: &Call<'_>) -> u64 {
    let (version, least) = LARGEST_BLOCK_BEFORE;
    if call.header("x-ms-version").is_some_and(|asked| asked < version) { least } else { LARGEST_BLOCK }
}

/// What has to hold for a block to be added.
struct Wanted<'a> {
    conditions: Conditions<'a>,
    position: Option<u64>,
    max_size: Option<u64>,
}

impl<'a> Wanted<'a> {
    fn of(call: &Call<'a>) -> Answer<Self> {
        let number = |name: &'static str| {
            let Some(text) = call.header(name) else { return Ok(None) };
            let bad = || INVALID_HEADER_VALUE.detail("HeaderName", name).detail("HeaderValue", text);
            text.trim().parse().map(Some).map_err(|_| bad())
        };
        Ok(Self {
            conditions: Conditions::of(call)?,
            position: number(POSITION)?,
            max_size: number(MAX_SIZE)?,
        })
    }

    fn check(&self, old: &Blob, len: u64) -> Answer<Appendable> {
        self.conditions.check_existing(Some(old))?;
        let state = state_of(old)?;
        tier::check_online(old)?;
        if state.sealed {
            return Err((&BLOB_IS_SEALED).into());
        }
        self.check_position(old)?;
        if self.max_size.is_some_and(|most| old.size.saturating_add(len) > most) {
            return Err((&MAX_BLOB_SIZE_NOT_MET).into());
        }
        if state.blocks >= MOST_BLOCKS {
            return Err((&BLOCK_COUNT_EXCEEDS_LIMIT).into());
        }
        Ok(state)
    }

    fn check_position(&self, old: &Blob) -> Answer<()> {
        match self.position {
            Some(position) if position != old.size => Err((&APPEND_POSITION_NOT_MET).into()),
            _ => Ok(()),
        }
    }
}

/// Makes `data` the end of the blob.
async fn append(
    service: &Service,
    call: &Call<'_>,
    wanted: &Wanted<'_>,
    len: u64,
    data: Data,
    sums: &Sums,
) -> Answer<Response<ResponseBody>> {
    let _lock = service.lock(call.key()).await;
    let old = blob(&service.read(), call.key())?;
    let state = wanted.check(&old, len)?;
    let before = Part { data: old.data.clone(), range: 0..old.size };
    let joined = service.store.append(before, Part { data, range: 0..len }).await;
    let new = Blob {
        size: old.size + len,
        etag: service.next_etag(),
        modified: Stamp::now(),
        append: Some(Appendable { blocks: state.blocks + 1, ..state }),
        data: joined.map_err(|error| ServiceError::internal(&error))?,
        ..(*old).clone()
    };
    let new = commit(service, call.key(), new, true).await?;
    let mut response = written(StatusCode::CREATED, Some(&new), sums);
    set(response.headers_mut(), "x-ms-blob-append-offset", &old.size.to_string());
    describe(response.headers_mut(), &new);
    Ok(response)
}
