//! Buckets.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE;
use http::StatusCode;

use super::acl::push_owner;
use super::body::Upload;
use super::error::{
    BUCKET_ALREADY_OWNED_BY_YOU, BUCKET_NOT_EMPTY, ILLEGAL_LOCATION, INVALID_BUCKET_NAME, MALFORMED_XML,
    bad_argument,
};
use super::request::Call;
use super::xml::{Document, Node};
use super::{Reply, access::REGION};
use crate::change::{container, drop_container, make_container};
use crate::service::Service;
use crate::store::Metadata;
use crate::wire::error::{Answer, ServiceError};
use crate::wire::reply::{reply, set};

/// The largest page of a list of buckets.
const MOST: usize = 10_000;

pub(super) fn list(service: &Service, call: &Call<'_>) -> Reply {
    let limit = call.limit("max-buckets", MOST)?;
    let prefix = call.query.get("prefix").unwrap_or_default();
    let token = call.query.get("continuation-token").unwrap_or_default();
    let token = decode_token(token)?;
    let catalogue = service.read();
    let from = token.as_str().max(prefix).to_owned();
    let mut found = catalogue.containers.range(from..).take_while(|(name, _)| name.starts_with(prefix));
    let mut document = Document::new("ListAllMyBucketsResult");
    push_owner(&mut document, service);
    document.nested("Buckets", |buckets| {
        for (name, container) in found.by_ref().take(limit) {
            buckets.nested("Bucket", |bucket| {
                bucket.element("Name", name).element("CreationDate", container.modified.iso8601());
                bucket.element("BucketRegion", REGION);
            });
        }
    });
    document.optional("ContinuationToken", found.next().map(|(name, _)| encode_token(name)));
    document.optional("Prefix", call.parameter("prefix"));
    Ok(document.reply())
}

/// A token is opaque to clients. Encoded, so that nobody comes to rely on its form.
pub(super) fn encode_token(name: &str) -> String {
    BASE64_URL_SAFE.encode(name)
}

pub(super) fn decode_token(text: &str) -> Answer<String> {
    let name = BASE64_URL_SAFE.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    name.ok_or_else(|| {
        bad_argument("continuation-token", text, "The continuation token provided is incorrect")
    })
}

pub(super) async fn create(service: &Service, call: &Call<'_>, upload: &mut Upload<'_>) -> Reply {
    let body = upload.document().await?;
    if !is_bucket_name(call.bucket()) {
        return Err(INVALID_BUCKET_NAME.detail("BucketName", call.bucket()));
    }
    if !body.is_empty() {
        let asked = Node::parse(&body, "CreateBucketConfiguration").ok_or(&MALFORMED_XML)?;
        let place = asked.text_of("LocationConstraint").unwrap_or_default().trim();
        if !place.is_empty() && place != REGION {
            let message = format!(
                "The {place} location constraint is incompatible for the region specific endpoint this request was sent to."
            );
            return Err(ILLEGAL_LOCATION.saying(message));
        }
    }
    let made = make_container(service, call.bucket(), Metadata::new()).await?;
    made.ok_or_else(|| BUCKET_ALREADY_OWNED_BY_YOU.detail("BucketName", call.bucket()))?;
    let mut response = reply(StatusCode::OK);
    set(response.headers_mut(), "location", &format!("/{}", call.bucket()));
    Ok(response)
}

/// Whether S3 would take this as a bucket's name.
pub(crate) fn is_bucket_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends_plain = name.bytes().next().is_some_and(plain) && name.bytes().last().is_some_and(plain);
    (3..=63).contains(&name.len())
        && ends_plain
        && name.bytes().all(|byte| plain(byte) || byte == b'-' || byte == b'.')
        && !name.contains("..")
        && name.parse::<std::net::Ipv4Addr>().is_err()
}

/// What is staged or half uploaded does not keep a bucket from going.
pub(super) async fn delete(service: &Service, call: &Call<'_>) -> Reply {
    drop_container(service, call.bucket(), |container| match container.blobs.is_empty() {
        true => Ok(()),
        false => Err(ServiceError::from(&BUCKET_NOT_EMPTY)),
    })
    .await?;
    Ok(reply(StatusCode::NO_CONTENT))
}

pub(super) fn head(service: &Service, call: &Call<'_>) -> Reply {
    container(&service.read(), call.bucket())?;
    let mut response = reply(StatusCode::OK);
    set(response.headers_mut(), "x-amz-bucket-region", REGION);
    Ok(response)
}

/// Of the oldest region S3 says nothing.
pub(super) fn location(service: &Service, call: &Call<'_>) -> Reply {
    container(&service.read(), call.bucket())?;
    Ok(Document::new("LocationConstraint").reply())
}

/// Never switched on.
pub(super) fn versioning(service: &Service, call: &Call<'_>) -> Reply {
    container(&service.read(), call.bucket())?;
    Ok(Document::new("VersioningConfiguration").reply())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_s3() {
        for name in ["abc", "my.bucket-1", "a--b", &"a".repeat(63)] {
            assert!(is_bucket_name(name), "{name}");
        }
        for name in ["", "ab", "Abc", "-ab", "ab.", "a..b", "a_b", "192.168.5.4", "a/b", &"a".repeat(64)] {
            assert!(!is_bucket_name(name), "{name}");
        }
    }
}
