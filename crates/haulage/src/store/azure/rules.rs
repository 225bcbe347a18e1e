//! What each operation of the Blob service answers where it succeeds. Whatever else claims success is not believed.

use crate::store::answer::{Body, Document, Rule};

/// A page holds 5,000 names with properties and metadata, some 2 MiB; 15 MiB with the longest names.
const PAGE_MAX: usize = 32 << 20;

/// 100,000 uncommitted blocks with ids of 64 bytes.
const BLOCKS_MAX: usize = 24 << 20;

/// Ten tags with names of 128 and values of 256 characters, and as much again around them.
const TAGS_MAX: usize = 64 << 10;

const LIST: Body = Body::Document(Document { root: "EnumerationResults", largest: PAGE_MAX });
pub(super) const BLOCKS: Body = Body::Document(Document { root: "BlockList", largest: BLOCKS_MAX });

pub(super) const TAGS: &str = "Tags";
pub(super) const DELEGATION: &str = "UserDelegationKey";
const DELEGATED: Body = Body::Document(Document { root: DELEGATION, largest: TAGS_MAX });
const TAGS_OF: Body = Body::Document(Document { root: TAGS, largest: TAGS_MAX });

#[rustfmt::skip]
mod table {
    use super::*;

    //                                            status       body                  a version comes back
    pub(crate) const GET_PROPERTIES:   Rule = Rule { status: 200, body: Body::Content, etag: true };
    pub(crate) const GET_TAGS:         Rule = Rule { status: 200, body: TAGS_OF,       etag: false };
    pub(crate) const GET_BLOB:         Rule = Rule { status: 200, body: Body::Content, etag: true };
    pub(crate) const GET_RANGE:        Rule = Rule { status: 206, body: Body::Content, etag: true };
    pub(crate) const PUT_BLOB:         Rule = Rule { status: 201, body: Body::Nothing, etag: true };
    pub(crate) const APPEND_BLOCK:     Rule = Rule { status: 201, body: Body::Nothing, etag: true };
    pub(crate) const PUT_BLOCK:        Rule = Rule { status: 201, body: Body::Nothing, etag: false };
    pub(crate) const PUT_BLOCK_LIST:   Rule = Rule { status: 201, body: Body::Nothing, etag: true };
    pub(crate) const GET_BLOCK_LIST:   Rule = Rule { status: 200, body: BLOCKS,        etag: false };
    pub(crate) const SET_METADATA:     Rule = Rule { status: 200, body: Body::Nothing, etag: true };
    pub(crate) const DELETE_BLOB:      Rule = Rule { status: 202, body: Body::Nothing, etag: false };
    pub(crate) const LIST_BLOBS:       Rule = Rule { status: 200, body: LIST,          etag: false };
    pub(crate) const LIST_CONTAINERS:  Rule = Rule { status: 200, body: LIST,          etag: false };
    pub(crate) const CREATE_CONTAINER: Rule = Rule { status: 201, body: Body::Nothing, etag: true };
    pub(crate) const DELETE_CONTAINER: Rule = Rule { status: 202, body: Body::Nothing, etag: false };
    pub(crate) const DELEGATION_KEY:   Rule = Rule { status: 200, body: DELEGATED,     etag: false };
}

pub(super) use table::*;
