//! What `fuzz/` sees of the endpoint; there only where it is built (`--cfg fuzzing`).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use haulage::Result;
use http::request::Parts;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::api;
use crate::auth::{Key, account_sas, authorize};
use crate::config::EmulatorConfig;
use crate::link::LinkSpec;
use crate::request::Call;
use crate::s3;
use crate::server::{Connection, serve};
use crate::service::Service;
use crate::store;
use crate::table;
use crate::wire::{time, xml};

/// A request taken apart: container and blob, and whether it may pass with the key; `None` where it is none.
pub fn call(parts: &Parts, account: &str, key: &str) -> Option<(String, String, bool)> {
    let call = Call::parse(parts, account).ok()?;
    let allowed = authorize(&call, account, &Key::parse(key).ok()?, || true).is_ok();
    Some((call.key().container.to_owned(), call.key().blob.to_owned(), allowed))
}

/// The first value of a query's name.
pub fn query(text: &str, name: &str) -> Option<String> {
    crate::request::Query::parse(text).get(name).map(str::to_owned)
}

/// The ids of a block list.
pub fn block_list(body: &[u8]) -> Option<Vec<String>> {
    Some(xml::parse_block_list(body)?.into_iter().map(|(_, id)| id).collect())
}

/// A request to the S3 interface taken apart: bucket and key, and whether it may pass; `None` where it is none.
pub fn s3_call(parts: &Parts) -> Option<(String, String, bool)> {
    s3::fuzz::call(parts)
}

/// The content of a body in chunks that comes in frames of this size; `None` where it is none.
pub fn s3_content(wire: &[u8], frame: usize) -> Option<Vec<u8>> {
    s3::fuzz::content(wire, frame)
}

/// Whether a body is a document of S3's with this root.
pub fn s3_document(wire: &[u8], root: &str) -> bool {
    s3::fuzz::is_document(wire, root)
}

/// Whether an entity with these keys and this body meets a filter of tables, and whether the filter reads it; `None`
/// where the text is none.
pub fn table_filter(text: &str, partition: &str, row: &str, body: &[u8]) -> Option<(bool, bool)> {
    table::fuzz::filter(text, partition, row, body)
}

/// An entity of a JSON body, and as it is read again from an answer; `None` where it is none.
pub fn table_entity(body: &[u8]) -> Option<(String, String)> {
    table::fuzz::entity(body)
}

/// Whether a body is an Atom entry.
pub fn table_entry(body: &[u8]) -> bool {
    table::fuzz::entry(body)
}

/// How many requests a batch of tables holds; `None` where it is none.
pub fn table_batch(body: &[u8], content_type: &str) -> Option<usize> {
    table::fuzz::batch(body, content_type)
}

/// What a path below the account names to the table service.
pub fn table_resource(path: &str) -> Option<String> {
    table::fuzz::resource(path)
}

/// A time of an entity, as it is written again.
pub fn table_time(text: &str) -> Option<String> {
    table::fuzz::time(text)
}

/// The tags of a body, and as an answer has them.
pub fn tags(body: &[u8]) -> Option<(Vec<(String, String)>, String)> {
    let tags = xml::parse_tags(body)?;
    let mut written = xml::DECLARATION.to_owned();
    api::push_tags(&mut written, &tags);
    Some((tags, written))
}

/// Whether tags meet the condition of a header; `None` where it is none.
pub fn tags_meet(condition: &str, tags: &[(String, String)]) -> Option<bool> {
    api::TagCondition::parse(condition).map(|condition| condition.holds(tags))
}

/// A name as a list has it.
pub fn name(name: &str) -> String {
    xml::Name(name).to_string()
}

/// A text element.
pub fn element(name: &str, text: &str) -> String {
    xml::Element(name, text).to_string()
}

/// A time of a signature, and as it is written again.
pub fn signature_time(text: &str) -> Option<(SystemTime, String)> {
    time::parse_iso8601(text).map(|time| (time, time::iso8601(time)))
}

/// The time of a condition, as it is written again.
pub fn condition_time(text: &str) -> Option<String> {
    time::Stamp::parse_http(text).map(time::Stamp::http)
}

/// The files that a blob's bytes may lie in.
pub fn files(name: &str) -> Vec<PathBuf> {
    store::files(name)
}

/// The blob whose bytes a file holds.
pub fn name_of_file(path: &Path) -> Option<String> {
    store::name_of_file(path)
}

/// What a link does after this time: round trip in seconds, then bytes a second.
pub fn conditions(link: &LinkSpec, elapsed: Duration) -> (f64, Option<f64>, Option<f64>) {
    let now = link.conditions(elapsed);
    (now.rtt.as_secs_f64(), now.connection, now.total)
}

/// An endpoint without a network.
pub struct Server(Arc<Service>);

impl Server {
    /// An empty one.
    pub fn new(config: EmulatorConfig) -> Result<Self> {
        let address = config.listen;
        Ok(Self(Arc::new(Service::open(config, address)?)))
    }

    /// A signature that lets everything in.
    pub fn sas(&self) -> String {
        let end = UNIX_EPOCH + Duration::from_secs(253_402_300_799);
        account_sas(&self.0.config.account, &self.0.key, "rwdlacut", end)
    }

    /// Serves one connection to its end.
    pub async fn serve(&self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        serve(stream, Arc::clone(&self.0), &Arc::new(Connection::default())).await;
    }
}
