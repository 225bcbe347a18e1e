//! What each operation of S3 answers where it succeeds. Whatever else claims success is not believed.

use crate::store::answer::{Body, Document, Rule};

/// A page holds 1,000 names of at most 1,024 bytes, each of which may take three or six, and as much again around them.
const PAGE_MAX: usize = 16 << 20;

/// A page of 1,000 parts has some 300 bytes for each.
const PARTS_MAX: usize = 4 << 20;

/// An answer about one object. What takes long sends a space now and then until it knows.
const SMALL_MAX: usize = 1 << 20;

pub(super) const OBJECTS: &str = "ListBucketResult";
pub(super) const BUCKETS: &str = "ListAllMyBucketsResult";
pub(super) const UPLOADS: &str = "ListMultipartUploadsResult";
pub(super) const PARTS: &str = "ListPartsResult";
pub(super) const CREATED: &str = "InitiateMultipartUploadResult";
pub(super) const COMPLETED: &str = "CompleteMultipartUploadResult";
pub(super) const COPIED: &str = "CopyObjectResult";
pub(super) const PART_COPIED: &str = "CopyPartResult";
pub(super) const TAGGING: &str = "Tagging";
pub(super) const DELETED: &str = "DeleteResult";

const fn document(root: &'static str, largest: usize) -> Body {
    Body::Document(Document { root, largest })
}

#[rustfmt::skip]
mod table {
    use super::*;

    //                                         status       body                                a version comes back
    pub(crate) const LIST_OBJECTS:  Rule = Rule { status: 200, body: document(OBJECTS, PAGE_MAX),      etag: false };
    pub(crate) const LIST_BUCKETS:  Rule = Rule { status: 200, body: document(BUCKETS, PAGE_MAX),      etag: false };
    pub(crate) const LIST_UPLOADS:  Rule = Rule { status: 200, body: document(UPLOADS, PAGE_MAX),      etag: false };
    pub(crate) const LIST_PARTS:    Rule = Rule { status: 200, body: document(PARTS, PARTS_MAX),       etag: false };
    pub(crate) const HEAD_OBJECT:   Rule = Rule { status: 200, body: Body::Content,                    etag: true };
    pub(crate) const GET_TAGGING:   Rule = Rule { status: 200, body: document(TAGGING, SMALL_MAX),     etag: false };
    pub(crate) const GET_OBJECT:    Rule = Rule { status: 200, body: Body::Content,                    etag: true };
    pub(crate) const GET_RANGE:     Rule = Rule { status: 206, body: Body::Content,                    etag: true };
    pub(crate) const PUT_OBJECT:    Rule = Rule { status: 200, body: Body::Nothing,                    etag: true };
    pub(crate) const COPY_OBJECT:   Rule = Rule { status: 200, body: document(COPIED, SMALL_MAX),      etag: false };
    pub(crate) const DELETE_OBJECT: Rule = Rule { status: 204, body: Body::Nothing,                    etag: false };
    pub(crate) const DELETE_MANY:   Rule = Rule { status: 200, body: document(DELETED, PAGE_MAX),      etag: false };
    pub(crate) const CREATE_UPLOAD: Rule = Rule { status: 200, body: document(CREATED, SMALL_MAX),     etag: false };
    pub(crate) const UPLOAD_PART:   Rule = Rule { status: 200, body: Body::Nothing,                    etag: true };
    pub(crate) const COPY_PART:     Rule = Rule { status: 200, body: document(PART_COPIED, SMALL_MAX), etag: false };
    pub(crate) const COMPLETE:      Rule = Rule { status: 200, body: document(COMPLETED, SMALL_MAX),   etag: false };
    pub(crate) const ABORT:         Rule = Rule { status: 204, body: Body::Nothing,                    etag: false };
    pub(crate) const HEAD_BUCKET:   Rule = Rule { status: 200, body: Body::Headers,                    etag: false };
    pub(crate) const CREATE_BUCKET: Rule = Rule { status: 200, body: Body::Nothing,                    etag: false };
    pub(crate) const DELETE_BUCKET: Rule = Rule { status: 204, body: Body::Nothing,                    etag: false };
}

pub(super) use table::*;
