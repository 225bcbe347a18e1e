//! What `fuzz/` sees of the S3 interface.

use std::time::SystemTime;

use bytes::Bytes;
use http::request::Parts;

use super::access::S3Access;
use super::request::Call;
use super::xml::Node;
use super::{auth, body};
use crate::config::EmulatorConfig;

/// A request taken apart: bucket and key, and whether it may pass; `None` where it is none.
pub(crate) fn call(parts: &Parts) -> Option<(String, String, bool)> {
    let config = EmulatorConfig::default();
    let access = S3Access::new(&config, config.listen);
    let call = Call::parse(parts, &access).ok()?;
    let allowed = auth::authorize(parts, &call.query, &access, SystemTime::now()).is_ok();
    Some((call.bucket().to_owned(), call.key().to_owned(), allowed))
}

/// The content of a body in chunks that comes in frames of this size; `None` where it is none.
pub(crate) fn content(wire: &[u8], frame: usize) -> Option<Vec<u8>> {
    body::content(wire, frame)
}

/// Whether a body is a document with this root.
pub(crate) fn is_document(wire: &[u8], root: &str) -> bool {
    Node::parse(&Bytes::copy_from_slice(wire), root).is_some()
}
