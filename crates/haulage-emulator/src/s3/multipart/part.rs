//! UploadPart and UploadPartCopy.

use http::StatusCode;

use super::{place, upload as find_upload, upload_id};
use crate::change::{container, container_mut};
use crate::s3::Reply;
use crate::s3::body::Upload;
use crate::s3::checksum::{Algorithm, Scope};
use crate::s3::copy::{Source, push_result};
use crate::s3::error::{INVALID_REQUEST, NO_SUCH_UPLOAD};
use crate::s3::headers::set_etag;
use crate::s3::put::LARGEST_PUT;
use crate::s3::range::{number_of_part, of_copy};
use crate::s3::request::Call;
use crate::s3::sums::Sums;
use crate::s3::xml::Document;
use crate::service::Service;
use crate::store::{Data, UploadKey, UploadedPart};
use crate::wire::error::{Answer, ServiceError};
use crate::wire::incoming::Content as _;
use crate::wire::reply::{reply, set};

type Declared = Option<(Algorithm, Scope)>;

pub(in crate::s3) async fn upload(service: &Service, call: &Call<'_>, upload: &mut Upload<'_>) -> Reply {
    let number = number_of_part(call.query.get("partNumber").unwrap_or_default())?;
    upload.check_len(LARGEST_PUT)?;
    let declared = declared(service, call)?;
    check_algorithm(declared, upload.algorithm())?;
    if let Some((algorithm, _)) = declared {
        upload.compute(algorithm);
    }
    if service.store.computes_md5() {
        upload.compute_md5();
    }
    let data = service.store.receive(upload).await?;
    let sums = upload.verify()?;
    let part = stage(service, call, number, upload.len(), &sums, declared, data).await?;
    let mut response = reply(StatusCode::OK);
    set_etag(response.headers_mut(), &part.etag);
    if let Some((algorithm, value)) = &sums.checksum {
        set(response.headers_mut(), algorithm.header(), value);
    }
    Ok(response)
}

pub(in crate::s3) async fn copy(service: &Service, call: &Call<'_>) -> Reply {
    let number = number_of_part(call.query.get("partNumber").unwrap_or_default())?;
    let declared = declared(service, call)?;
    let source = Source::of(service, call)?;
    let range = match call.header("x-amz-copy-source-range") {
        Some(text) => of_copy(text, source.blob.size)?,
        None => 0..source.blob.size,
    };
    let len = range.end - range.start;
    if len > LARGEST_PUT {
        let message = format!(
            "The specified copy source is larger than the maximum allowable size for a copy source: {LARGEST_PUT}"
        );
        return Err(INVALID_REQUEST.saying(message));
    }
    let data = source.take(service, range).await?;
    let sums = Sums::of_stored(service, &data, 0..len, declared.map(|(algorithm, _)| algorithm)).await?;
    let part = stage(service, call, number, len, &sums, declared, data).await?;
    let mut document = Document::new("CopyPartResult");
    push_result(&mut document, part.modified, &part.etag);
    if let Some((algorithm, value)) = &sums.checksum {
        document.element(algorithm.element(), value);
    }
    Ok(document.reply())
}

fn declared(service: &Service, call: &Call<'_>) -> Answer<Declared> {
    Ok(find_upload(container(&service.read(), call.bucket())?, call)?.declared)
}

/// A part's checksum must be of the algorithm that was declared. Where the object's is computed from those of
/// its parts, each must come with one.
fn check_algorithm(declared: Declared, sent: Option<Algorithm>) -> Answer<()> {
    let fits = match (declared, sent) {
        (None, None | Some(Algorithm::Crc64Nvme)) => true,
        (None, Some(_)) => false,
        (Some((declared, _)), Some(sent)) => declared == sent,
        (Some((_, scope)), None) => scope == Scope::FullObject,
    };
    if fits {
        return Ok(());
    }
    Err(mismatch(declared.map(|(algorithm, _)| algorithm), sent))
}

/// The failure of a checksum by another algorithm than that of the upload.
pub(super) fn mismatch(expected: Option<Algorithm>, actual: Option<Algorithm>) -> ServiceError {
    let word = |algorithm: Option<Algorithm>| {
        algorithm.map_or_else(|| "null".to_owned(), |algorithm| algorithm.name().to_ascii_lowercase())
    };
    INVALID_REQUEST.saying(format!(
        "Checksum Type mismatch occurred, expected checksum Type: {}, actual checksum Type: {}",
        word(expected),
        word(actual)
    ))
}

/// Makes `data` the part `number`, in place of an earlier one.
async fn stage(
    service: &Service,
    call: &Call<'_>,
    number: u16,
    len: u64,
    sums: &Sums,
    declared: Declared,
    data: Data,
) -> Answer<UploadedPart> {
    let checksum = sums.checksum.as_ref().filter(|_| declared.is_some());
    let checksum = checksum.map(|(_, value)| value.as_str().into());
    let etag = sums.etag(service.next_etag());
    let mut part = UploadedPart::new(len, etag, sums.crc64, checksum, data);

    let _lock = service.lock(call.blob()).await;
    find_upload(container(&service.read(), call.bucket())?, call)?;
    let key = UploadKey { container: call.bucket(), id: upload_id(call) };
    let kept = service.store.keep_part(key, number, &part).await;
    part.data = kept.map_err(|error| ServiceError::internal(&error))?;
    let mut catalogue = service.write();
    let uploads = &mut container_mut(&mut catalogue, call.bucket())?.uploads;
    let upload = uploads.get_mut(&place(call)).ok_or(&NO_SUCH_UPLOAD)?;
    upload.parts.insert(number, part.clone());
    Ok(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_what_was_declared() {
        let fits = |declared, sent| check_algorithm(declared, sent).is_ok();
        let (crc32, sha256) = (Algorithm::Crc32, Algorithm::Sha256);
        assert!(fits(None, None) && fits(None, Some(Algorithm::Crc64Nvme)));
        assert!(!fits(None, Some(crc32)));
        assert!(fits(Some((crc32, Scope::FullObject)), None));
        assert!(!fits(Some((crc32, Scope::Composite)), None));
        assert!(fits(Some((sha256, Scope::Composite)), Some(sha256)));
        assert!(!fits(Some((sha256, Scope::Composite)), Some(crc32)));
        let said = mismatch(None, Some(crc32));
        assert_eq!(
            said.message(),
            "Checksum Type mismatch occurred, expected checksum Type: null, actual checksum Type: crc32"
        );
    }
}
