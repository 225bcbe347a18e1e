//! A blob written block by block: Put Block in any order, then Put Block List.

use async_trait::async_trait;
use bytes::Bytes;
use http::Method;
use http::header::HeaderMap;

use super::AzureStore;
use super::body::{Guard, send_guarded};
use super::meta;
use super::rules;
use super::service::Operation;
use super::{copy, xml};
use crate::checksum::{ChecksumMode, Crc64};
use crate::error::{ErrorKind, Result};
use crate::store::answer::Rule;
use crate::store::headers::{self, set_precondition};
use crate::store::{
    Attributes, BlockId, BlockRange, BlockWriter, CopySource, Part, Payload, Phase, PutOptions, PutResult,
    StagedPart, Stored, Token, Trace, join_parts,
};

/// A blob in the making. The service keeps staged blocks for a week, whoever staged them.
pub(super) struct AzureBlocks {
    store: AzureStore,
    key: String,
    size: Option<u64>,
    options: PutOptions,
}

impl AzureBlocks {
    pub(super) fn new(store: AzureStore, key: &str, size: Option<u64>, options: &PutOptions) -> Self {
        Self { store, key: key.to_owned(), size, options: options.clone() }
    }

    fn operation<'a>(
        &'a self,
        rule: Rule,
        method: Method,
        query: &'a [(&'a str, &'a str)],
        headers: HeaderMap,
        body: Bytes,
    ) -> Operation<'a> {
        self.store.operation(rule, method, &self.key, query, headers, body)
    }
}

#[async_trait]
impl BlockWriter for AzureBlocks {
    async fn put_block(&self, range: BlockRange, payload: Payload, trace: &Trace) -> Result<Stored> {
        let name = self.store.display(&self.key);
        let asked = self.store.asked("write block of", &name, 'w', ErrorKind::Exists);
        let (body, crc64) = payload.collect_hashed().await?;
        if body.len() as u64 != range.len {
            let cause = format!("a block of {} bytes holds {}", range.len, body.len());
            return Err(asked.error(ErrorKind::SourceChanged, cause));
        }
        let id = BlockId { range, crc64 };
        let guard = Guard::of(&self.store, &body, id.crc64, self.options.checksum, None, asked).await?;
        let mut part = Part::from(id);
        if self.options.checksum == ChecksumMode::None {
            part.token = Token::from(&*id.encode_unvouched());
        }
        let encoded = block_id(&part);
        let query = [("blockid", encoded.as_str()), ("comp", "block")];
        let operation =
            self.operation(rules::PUT_BLOCK, Method::PUT, &query, HeaderMap::with_capacity(12), body);
        let (_, confirmed) = send_guarded(&self.store, operation, guard, asked, trace).await?;
        trace.mark(Phase::Committed);
        Ok(Stored { part, confirmed })
    }

    async fn copy_block(&self, range: BlockRange, from: &CopySource<'_>, trace: &Trace) -> Result<Stored> {
        copy::block(&self.store, &self.key, range, from, trace).await
    }

    fn is_copy(&self, staged: &StagedPart, from: &CopySource<'_>) -> bool {
        copy::is_copy(&staged.token, from)
    }

    async fn staged(&self, trace: &Trace) -> Result<Vec<StagedPart>> {
        let name = self.store.display(&self.key);
        let asked = self.store.asked("list blocks of", &name, 'r', ErrorKind::Service);
        let query = [("comp", "blocklist"), ("blocklisttype", "uncommitted")];
        let operation =
            self.operation(rules::GET_BLOCK_LIST, Method::GET, &query, HeaderMap::new(), Bytes::new());
        match self.store.service.document(operation, asked, trace).await {
            Ok(page) => {
                let mut blocks =
                    xml::uncommitted_blocks(&page).map_err(|broken| asked.not_believed(broken))?;
                // Of a larger version that is gone, or made up: they would only be kept.
                blocks.retain(|block| self.size.is_none_or(|size| block.range.end() <= size));
                // What is to be checked has been.
                let checks = self.options.checksum != ChecksumMode::None;
                let is_unvouched =
                    |block: &StagedPart| BlockId::decode_unvouched(block.token.as_str()).is_some();
                blocks.retain(|block| !(checks && is_unvouched(block)));
                Ok(blocks)
            }
            // Neither blob nor block: nothing is staged.
            Err(error) if error.service_code() == Some("BlobNotFound") => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    async fn commit(&self, parts: &[Part], attributes: &Attributes, trace: &Trace) -> Result<PutResult> {
        let name = self.store.display(&self.key);
        let asked = self.store.asked("commit", &name, 'w', ErrorKind::Exists);
        // The service never looks at the whole, so a wrong list must be caught here, before it has the name.
        let crc64 = whole(parts, self.size).map_err(|why| asked.error(ErrorKind::Integrity, why))?;
        if crc64.is_some_and(|crc64| attributes.crc64.is_some_and(|expected| expected != crc64)) {
            return Err(
                asked.error(ErrorKind::Integrity, "the blocks together do not fit the CRC64 of the whole")
            );
        }
        let attributes = Attributes { crc64: crc64.or(attributes.crc64), ..attributes.clone() };
        let ids: Vec<String> = parts.iter().map(block_id).collect();
        let body = Bytes::from(xml::block_list(&ids));
        let guard =
            Guard::of(&self.store, &body, Crc64::of(&body), self.options.checksum, None, asked).await?;
        let mut headers = HeaderMap::with_capacity(16);
        meta::write(&mut headers, &self.key, &attributes, asked)?;
        set_precondition(&mut headers, &self.options.precondition, asked)?;
        let query = [("comp", "blocklist")];
        let operation = self.operation(rules::PUT_BLOCK_LIST, Method::PUT, &query, headers, body);
        let (response, confirmed) = send_guarded(&self.store, operation, guard, asked, trace).await?;
        trace.mark(Phase::Committed);
        let etag = headers::etag(response.headers());
        Ok(PutResult { etag, crc64, md5: attributes.md5, confirmed, not_kept: meta::not_kept(&attributes) })
    }

    /// Leaves what is staged: the service forgets it after a week, and until then a later run may go on from it.
    async fn abandon(&self) {}
}

/// The id of a block, which says what it holds unless the service has made it of another.
fn block_id(part: &Part) -> String {
    match part.token.as_str() {
        "" => part.id.encode(),
        id => id.to_owned(),
    }
}

/// The CRC64 of the blocks together, as far as it is known; they must cover the whole without gap or overlap.
fn whole(parts: &[Part], size: Option<u64>) -> Result<Option<Crc64>, String> {
    let (crc64, end) =
        join_parts(parts).map_err(|(end, next)| format!("the block at byte {next} should begin at {end}"))?;
    match size {
        Some(size) if size != end => Err(format!("the blocks hold {end} bytes of {size}")),
        _ => Ok(crc64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(offset: u64, bytes: &[u8]) -> Part {
        let range = BlockRange { offset, len: bytes.len() as u64 };
        BlockId { range, crc64: Crc64::of(bytes) }.into()
    }

    #[test]
    fn blocks_must_cover_the_whole() {
        let parts = [part(0, b"1234"), part(4, b"56789")];
        assert_eq!(whole(&parts, Some(9)), Ok(Some(Crc64::of(b"123456789"))));
        assert_eq!(whole(&[], None), Ok(Some(Crc64::EMPTY)));
        assert!(whole(&parts, Some(10)).is_err());
        assert!(whole(&parts[1..], Some(9)).is_err());
        assert!(whole(&[parts[1].clone(), parts[0].clone()], Some(9)).is_err());
    }
}
