//! Access control lists: everything belongs to the one owner, whatever is asked for.

use http::StatusCode;

use super::body::Upload;
use super::request::Call;
use super::xml::Document;
use super::{Reply, object};
use crate::change::container;
use crate::service::Service;
use crate::wire::reply::reply;

/// The canonical id of the owner, in the form of S3's.
const OWNER_ID: &str = "0000000000000000000000000000000000000000000000000000000000000000";

const INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// The element that says whose something is.
pub(super) fn push_owner(document: &mut Document, service: &Service) {
    push_person(document, "Owner", service);
}

/// The owner, in the part of `element`.
pub(super) fn push_person(document: &mut Document, element: &str, service: &Service) {
    document.nested(element, |person| {
        person.element("ID", OWNER_ID).element("DisplayName", &service.s3.access_key_id);
    });
}

pub(super) fn of_bucket(service: &Service, call: &Call<'_>) -> Reply {
    container(&service.read(), call.bucket())?;
    Ok(full_control(service).reply())
}

pub(super) fn of_object(service: &Service, call: &Call<'_>) -> Reply {
    object(service, call.blob())?;
    Ok(full_control(service).reply())
}

fn full_control(service: &Service) -> Document {
    let mut document = Document::new("AccessControlPolicy");
    push_owner(&mut document, service);
    document.nested("AccessControlList", |list| {
        list.nested("Grant", |grant| {
            grant.raw(&format!("<Grantee xmlns:xsi=\"{INSTANCE}\" xsi:type=\"CanonicalUser\">"));
            grant.element("ID", OWNER_ID).element("DisplayName", &service.s3.access_key_id);
            grant.raw("</Grantee>").element("Permission", "FULL_CONTROL");
        });
    });
    document
}

/// Taken, and without effect.
pub(super) async fn put(service: &Service, call: &Call<'_>, upload: &mut Upload<'_>) -> Reply {
    upload.document().await?;
    object(service, call.blob())?;
    Ok(reply(StatusCode::OK))
}
