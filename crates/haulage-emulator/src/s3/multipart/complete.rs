//! CompleteMultipartUpload.

use haulage::checksum::Md5Stream;

use super::part::mismatch;
use super::{forget, upload as find_upload};
use crate::change::{commit, container, find};
use crate::s3::Reply;
use crate::s3::auth::hash::unhex;
use crate::s3::body::Upload;
use crate::s3::checksum::{Algorithm, Checksum, Scope, crc64_text};
use crate::s3::condition::check_write;
use crate::s3::error::{
    BAD_DIGEST, ENTITY_TOO_SMALL, INVALID_PART, INVALID_PART_ORDER, INVALID_REQUEST, MALFORMED_XML,
};
use crate::s3::headers::{etag, quoted};
use crate::s3::range::MOST_PARTS;
use crate::s3::request::Call;
use crate::s3::xml::{Document, Node};
use crate::service::Service;
use crate::store::{Blob, MultipartUpload, ObjectFacts, Part, PartFacts, UploadedPart, opaque_etag};
use crate::wire::error::{Answer, ServiceError};
use crate::wire::time::Stamp;

/// All parts but the last have at least so many bytes: 5 MiB.
const SMALLEST_PART: u64 = 5 << 20;

/// Parts as the client lists them, with what is known of each.
type Listed<'a> = Vec<(u16, &'a UploadedPart)>;

pub(in crate::s3) async fn complete(service: &Service, call: &Call<'_>, body: &mut Upload<'_>) -> Reply {
    let body = body.document().await?;
    let list = Node::parse(&body, "CompleteMultipartUpload").ok_or(&MALFORMED_XML)?;

    let _lock = service.lock(call.blob()).await;
    let old = find(service, call.blob())?;
    let upload = find_upload(container(&service.read(), call.bucket())?, call)?.clone();
    let parts = listed(&list, &upload)?;
    check_sizes(call, &parts)?;
    check_write(call, old.as_deref())?;
    let checksum = whole_checksum(&upload, &parts).ok_or(&INVALID_PART)?;
    check_claims(call, &checksum, &parts)?;

    let stretches = parts.iter().map(|(_, part)| Part { data: part.data.clone(), range: 0..part.len });
    let joined = service.store.assemble(stretches.collect()).await;
    let data = joined.map_err(|error| ServiceError::internal(&error))?;
    let (now, version) = (Stamp::now(), service.next_etag());
    let facts = ObjectFacts {
        etag: whole_etag(&parts, version).into(),
        checksum: Some(checksum.clone()),
        parts: parts.iter().map(|(number, part)| facts(*number, part)).collect(),
        expires: upload.expires.clone(),
    };
    let new = Blob {
        size: parts.iter().map(|(_, part)| part.len).sum(),
        etag: version,
        created: old.map_or(now, |old| old.created),
        modified: now,
        content: upload.content.clone(),
        metadata: upload.metadata.clone(),
        blocks: Box::default(),
        tags: upload.tags.clone(),
        tier: upload.tier.clone(),
        append: None,
        s3: Some(facts.into()),
        data,
    };
    let new = commit(service, call.blob(), new, true).await?;
    forget(service, call).await?;
    let mut document = Document::new("CompleteMultipartUploadResult");
    let path = call.parts.uri.path();
    document.element("Location", format!("{}{path}", service.s3.endpoint_url));
    document.element("Bucket", call.bucket()).element("Key", call.key());
    document.element("ETag", quoted(&etag(&new)));
    document.element(checksum.algorithm.element(), &checksum.value);
    document.element("ChecksumType", checksum.scope.name());
    Ok(document.reply())
}

fn facts(number: u16, part: &UploadedPart) -> PartFacts {
    PartFacts { number, len: part.len, checksum: part.checksum.clone() }
}

/// Finds every part of the list, and compares what the client says of it.
fn listed<'a>(list: &Node, upload: &'a MultipartUpload) -> Answer<Listed<'a>> {
    let mut listed = Listed::new();
    for entry in list.all("Part") {
        let number = entry.text_of("PartNumber").and_then(|text| text.trim().parse().ok());
        let number: u16 = number.ok_or(&MALFORMED_XML)?;
        let follows = listed.last().is_none_or(|(before, _)| *before < number);
        // Where parts have checksums, no number may be left out.
        let gap = upload.declared.is_some() && usize::from(number) != listed.len() + 1;
        if gap || !follows {
            return Err((&INVALID_PART_ORDER).into());
        }
        let sent = entry.text_of("ETag").ok_or(&MALFORMED_XML)?.trim().trim_matches('"');
        let missing = || INVALID_PART.detail("PartNumber", number.to_string()).detail("ETag", sent);
        let part = upload.parts.get(&number).filter(|part| &*part.etag == sent).ok_or_else(missing)?;
        check_part(entry, number, part, upload)?;
        listed.push((number, part));
    }
    if listed.is_empty() || listed.len() > usize::from(MOST_PARTS) {
        return Err((&MALFORMED_XML).into());
    }
    Ok(listed)
}

/// The checksum of a part in the list must be that of the part; where the object's is made of them it must be
/// there.
fn check_part(entry: &Node, number: u16, part: &UploadedPart, upload: &MultipartUpload) -> Answer<()> {
    let Some((algorithm, scope)) = upload.declared else { return Ok(()) };
    match entry.text_of(algorithm.element()) {
        Some(sent) if part.checksum.as_deref() == Some(sent.trim()) => Ok(()),
        Some(_) => Err(INVALID_PART.detail("PartNumber", number.to_string())),
        None if scope == Scope::FullObject => Ok(()),
        None => {
            let name = algorithm.name().to_ascii_lowercase();
            Err(INVALID_REQUEST.saying(format!(
                "The upload was created using a {name} checksum. The complete request must include the checksum \
                 for each part. It was missing for part {number} in the request."
            )))
        }
    }
}

/// Only the last part may be small; and all together have the size that the client says, if it does.
fn check_sizes(call: &Call<'_>, parts: &Listed<'_>) -> Answer<()> {
    let all_but_last = &parts[..parts.len() - 1];
    if let Some((number, part)) = all_but_last.iter().find(|(_, part)| part.len < SMALLEST_PART) {
        return Err(ENTITY_TOO_SMALL
            .detail("ProposedSize", part.len.to_string())
            .detail("MinSizeAllowed", SMALLEST_PART.to_string())
            .detail("PartNumber", number.to_string())
            .detail("ETag", &*part.etag));
    }
    let size: u64 = parts.iter().map(|(_, part)| part.len).sum();
    match call.header("x-amz-mp-object-size") {
        Some(said) if said.trim().parse::<u64>().ok() != Some(size) => Err(INVALID_REQUEST.saying(format!(
            "The provided 'x-amz-mp-object-size' header value {said} does not match what was computed: {size}"
        ))),
        _ => Ok(()),
    }
}

/// The checksum of the object: as it was declared, else the CRC-64/NVME of all bytes.
fn whole_checksum(upload: &MultipartUpload, parts: &Listed<'_>) -> Option<Checksum> {
    let Some((algorithm, scope)) = upload.declared else {
        let texts: Vec<String> = parts.iter().map(|(_, part)| crc64_text(part.crc64())).collect();
        let lengths = parts.iter().map(|(_, part)| part.len);
        let whole = Algorithm::Crc64Nvme.of_whole(texts.iter().map(String::as_str).zip(lengths))?;
        return Some(Checksum::of_object(Algorithm::Crc64Nvme, whole));
    };
    let told: Option<Vec<_>> =
        parts.iter().map(|(_, part)| Some((part.checksum.as_deref()?, part.len))).collect();
    let told = told?;
    let value = match scope {
        Scope::FullObject => algorithm.of_whole(told)?,
        Scope::Composite => algorithm.of_parts(told.into_iter().map(|(text, _)| text))?,
    };
    Some(Checksum { algorithm, scope, value: value.into() })
}

/// What the client says of the object must be true.
fn check_claims(call: &Call<'_>, checksum: &Checksum, parts: &Listed<'_>) -> Answer<()> {
    if call.header("x-amz-checksum-type").is_some_and(|scope| scope != checksum.scope.name()) {
        let scope = checksum.scope.name();
        return Err(INVALID_REQUEST.saying(format!(
            "The upload was created using the {scope} checksum mode. The complete request must use the same checksum mode."
        )));
    }
    let mut claims = Algorithm::ALL
        .into_iter()
        .filter_map(|algorithm| Some((algorithm, call.header(algorithm.header())?)));
    let Some((algorithm, sent)) = claims.next() else { return Ok(()) };
    if algorithm != checksum.algorithm {
        return Err(mismatch(Some(checksum.algorithm), Some(algorithm)));
    }
    // The number of parts may be left away.
    let bare = checksum.value.strip_suffix(&format!("-{}", parts.len()));
    if sent == &*checksum.value || Some(sent) == bare {
        return Ok(());
    }
    let name = algorithm.name().to_ascii_lowercase();
    Err(BAD_DIGEST.saying(format!("The {name} you specified did not match the calculated checksum.")))
}

/// The MD5 of the parts' MD5s and their number; something else where one of those is not known.
fn whole_etag(parts: &Listed<'_>, version: u64) -> String {
    let mut whole = Md5Stream::default();
    for (_, part) in parts {
        match unhex(&part.etag) {
            Some(md5) => whole.update(&md5),
            None => return opaque_etag(version, parts.len()),
        }
    }
    format!("{}-{}", whole.value(), parts.len())
}
