//! Standard input and output as one end of a copy: bytes in order, several requests at once.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesOrdered;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::task::{JoinError, JoinSet};

use super::transfer::with_retries;
use super::verify::{check_crc64, combine, proof};
use crate::checksum::{ChecksumMode, Crc64, Crc64Stream, Md5, Md5Stream};
use crate::control::{Controller as _, FixedController, Limits};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Clock, Method, ObjectRecord, Outcome, Proof};
use crate::job::{CopyOptions, Overwrite, Work};
use crate::store::{
    Attributes, BlockId, BlockRange, GetOptions, Location, ObjectMeta, Payload, Precondition, PutOptions,
    StoreOpener,
};
use crate::units::ByteSize;

/// The name of either stream.
const STDIO: &str = "-";

/// Whether the work has a stream at one end.
pub(crate) fn is_stream(work: &Work) -> bool {
    match work {
        Work::Copy { sources, destination } => {
            destination == STDIO || sources.iter().any(|source| source == STDIO)
        }
        Work::CopyPairs(_) | Work::Verify { .. } => false,
    }
}

/// Copies standard input to an object, or an object to standard output.
pub(crate) async fn run(
    work: &Work,
    options: &CopyOptions,
    opener: &StoreOpener,
    clock: Clock,
) -> Result<ObjectRecord> {
    let Work::Copy { sources, destination } = work else {
        return Err(Error::new(ErrorKind::Usage, "copy", STDIO, "only a copy can have a stream"));
    };
    let limits = limits(options)?;
    if sources[0] == STDIO {
        let to = opener.open(destination)?;
        return upload(tokio::io::stdin(), &to, options, &limits, clock).await;
    }
    let from = opener.open(&sources[0])?;
    download(&from, &mut tokio::io::stdout(), &limits, clock).await
}

/// A stream is read in order, and what is ahead of its reader is held in memory. So its numbers do not follow the
/// link: as many blocks as memory allows, of which the slowest link passes one in a while.
pub(crate) fn limits(options: &CopyOptions) -> Result<Limits> {
    const CONCURRENCY: usize = 64;
    const BLOCK: ByteSize = ByteSize::mib(1);
    let wishes = options.wishes()?;
    let block = wishes.block_size.unwrap_or(BLOCK);
    let blocks = (options.max_memory.bytes() / block.bytes().max(1)) as usize;
    let concurrency = wishes.concurrency.unwrap_or(CONCURRENCY).min(blocks);
    Ok(FixedController::new(concurrency, block, wishes.single_put_max).limits())
}

/// Reads to the end; a stream that fits one put is one, any other goes in blocks as they fill.
pub(crate) async fn upload(
    mut input: impl AsyncRead + Unpin,
    to: &Location,
    options: &CopyOptions,
    limits: &Limits,
    clock: Clock,
) -> Result<ObjectRecord> {
    if to.key.is_empty() || to.key.ends_with('/') {
        return Err(Error::new(
            ErrorKind::Usage,
            "copy",
            to.store.name(&to.key),
            "standard input has no name",
        )
        .hint("write the name of the object after the last /"));
    }
    let started_ns = clock.now_ns();
    let put_options = PutOptions {
        precondition: match options.overwrite {
            Overwrite::Never => Precondition::IfAbsent,
            Overwrite::Always | Overwrite::IfDifferent => Precondition::None,
        },
        checksum: options.checksum,
        ..PutOptions::default()
    };
    let block_size = limits.block_size.bytes();
    let first = read_block(&mut input, block_size).await?;
    let mut sent = Sent { md5: options.content_md5.then(Md5Stream::default), ..Sent::default() };
    let (etag, method) = if (first.len() as u64) < block_size {
        let put = sent.put_whole(first, to, &put_options).await?;
        (put, Method::Whole)
    } else {
        (sent.put_blocks(first, input, to, &put_options, limits).await?, Method::Blocks)
    };
    let capabilities = to.store.capabilities();
    let proof = proof(&ObjectMeta::default(), true, capabilities.local, options.checksum, true);
    Ok(ObjectRecord {
        source: STDIO.into(),
        destination: to.store.name(&to.key).into(),
        name: to.key.rsplit('/').next().unwrap_or_default().into(),
        size_bytes: sent.len,
        method,
        proof,
        crc64: Some(sent.crc64),
        md5: sent.digest,
        etag: Some(etag),
        attempts: sent.requests,
        started_ns,
        ..record(clock)
    })
}

/// What went up so far.
#[derive(Default)]
struct Sent {
    len: u64,
    crc64: Crc64,
    md5: Option<Md5Stream>,
    digest: Option<Md5>,
    requests: u32,
}

impl Sent {
    fn take(&mut self, block: &Bytes) {
        self.crc64 = self.crc64.combine(Crc64::of(block), block.len() as u64);
        self.len += block.len() as u64;
        self.requests += 1;
        if let Some(md5) = &mut self.md5 {
            md5.update(block);
        }
    }

    fn attributes(&mut self) -> Attributes {
        self.digest = self.md5.take().map(Md5Stream::value);
        Attributes { crc64: Some(self.crc64), md5: self.digest, ..Attributes::default() }
    }

    async fn put_whole(&mut self, bytes: Bytes, to: &Location, options: &PutOptions) -> Result<String> {
        self.take(&bytes);
        let options = PutOptions { attributes: self.attributes(), ..options.clone() };
        let put = with_retries!(trace => {
            to.store.put(&to.key, Payload::Bytes(bytes.clone()), &options, trace).await
        });
        let put = put?;
        self.digest = put.md5;
        Ok(put.etag)
    }

    async fn put_blocks(
        &mut self,
        first: Bytes,
        mut input: impl AsyncRead + Unpin,
        to: &Location,
        options: &PutOptions,
        limits: &Limits,
    ) -> Result<String> {
        let capabilities = to.store.capabilities();
        let writer = to.store.begin(&to.key, None, options).await?;
        // Tasks of their own, so that they move while the input makes us wait.
        let mut in_flight = JoinSet::new();
        let mut ids = Vec::new();
        let mut block = first;
        let mut size = limits.block_size.bytes();
        while !block.is_empty() {
            let range = BlockRange { offset: self.len, len: block.len() as u64 };
            self.take(&block);
            let writer = Arc::clone(&writer);
            in_flight.spawn(async move {
                with_retries!(trace => writer.put_block(range, Payload::Bytes(block.clone()), trace).await)
            });
            // Larger blocks, fewer at once: the memory stays the same.
            let room = limits.concurrency * limits.block_size.bytes() as usize / size as usize;
            while in_flight.len() >= room.max(1)
                && let Some(id) = in_flight.join_next().await
            {
                ids.push(joined(id)?);
            }
            // A stream without an end must not run out of blocks: double them as it grows.
            if (ids.len() as u64) > capabilities.blocks_max / 2 && size < capabilities.block_max / 2 {
                size = (self.len / 10_000).max(size);
            }
            block = read_block(&mut input, size).await?;
        }
        while let Some(id) = in_flight.join_next().await {
            ids.push(joined(id)?);
        }
        ids.sort_unstable_by_key(|id: &BlockId| id.range.offset);
        combine(&to.store.name(&to.key), &ids, self.len)?;
        let attributes = self.attributes();
        let put = with_retries!(trace => writer.commit(&ids, &attributes, trace).await)?;
        Ok(put.etag)
    }
}

fn joined(ended: Result<Result<BlockId>, JoinError>) -> Result<BlockId> {
    match ended {
        Ok(result) => result,
        Err(failed) if failed.is_panic() => std::panic::resume_unwind(failed.into_panic()),
        Err(_) => Err(Error::new(ErrorKind::Cancelled, "write", STDIO, "the runtime shuts down")),
    }
}

/// As many bytes as a block holds; fewer only at the end.
async fn read_block(input: &mut (impl AsyncRead + Unpin), size: u64) -> Result<Bytes> {
    let mut block = Vec::with_capacity(size as usize);
    let mut left = input.take(size);
    left.read_to_end(&mut block).await.map_err(|e| Error::from_io("read", STDIO, e))?;
    Ok(block.into())
}

/// Writes an object to `output` in order, with ranges fetched ahead; nothing unverified is passed on.
pub(crate) async fn download(
    from: &Location,
    output: &mut (impl AsyncWrite + Unpin),
    limits: &Limits,
    clock: Clock,
) -> Result<ObjectRecord> {
    let started_ns = clock.now_ns();
    let Location { store, key } = from;
    let meta = with_retries!(trace => store.head(key, trace).await)?;
    let capabilities = store.capabilities();
    let mut block = limits.block_size.bytes();
    if capabilities.range_checksum_max > 0 {
        block = block.min(capabilities.range_checksum_max);
    }
    let (meta_ref, name) = (&meta, store.name(key));
    let fetch = |offset: u64| {
        let range = BlockRange { offset, len: block.min(meta_ref.size - offset) };
        fetch_range(from, meta_ref, range)
    };
    let mut offsets: VecDeque<u64> = (0..meta.size).step_by(block as usize).collect();
    let mut in_flight = FuturesOrdered::new();
    let (mut crc, mut md5, mut requests, mut ranges_checked) =
        (Crc64Stream::default(), Md5Stream::default(), 0, true);
    let by_md5 = meta.crc64.is_none() && meta.md5.is_some();
    loop {
        while in_flight.len() < limits.concurrency
            && let Some(offset) = offsets.pop_front()
        {
            in_flight.push_back(fetch(offset));
            requests += 1;
        }
        let Some(fetched) = in_flight.next().await else { break };
        let (bytes, checked): (Bytes, bool) = fetched?;
        ranges_checked &= checked;
        crc.update(&bytes);
        if by_md5 {
            md5.update(&bytes);
        }
        output.write_all(&bytes).await.map_err(|e| Error::from_io("write", STDIO, e))?;
    }
    output.flush().await.map_err(|e| Error::from_io("write", STDIO, e))?;
    // What was written cannot be taken back, but the reader shall know.
    check_crc64(&name, crc.value(), meta.crc64)?;
    super::verify::check_md5(&name, by_md5.then(|| md5.value()), meta.md5)?;
    Ok(ObjectRecord {
        source: name.into(),
        destination: STDIO.into(),
        size_bytes: meta.size,
        method: if requests > 1 { Method::Blocks } else { Method::Whole },
        proof: proof(&meta, capabilities.local, true, ChecksumMode::Crc64, ranges_checked),
        crc64: Some(crc.value()),
        attempts: requests,
        started_ns,
        ..record(clock)
    })
}

async fn fetch_range(from: &Location, meta: &ObjectMeta, range: BlockRange) -> Result<(Bytes, bool)> {
    let options = GetOptions {
        range: Some(range),
        if_match: (!meta.etag.is_empty()).then(|| meta.etag.clone()),
        range_checksum: range.len <= from.store.capabilities().range_checksum_max,
    };
    with_retries!(trace => {
        let fetched = async {
            let got = from.store.get(&from.key, &options, trace).await?;
            let stated = got.crc64;
            let bytes = got.payload.collect().await?;
            check_crc64(&from.store.name(&from.key), Crc64::of(&bytes), stated)?;
            Ok((bytes, stated.is_some()))
        };
        fetched.await
    })
}

/// The parts that all records of a stream share.
fn record(clock: Clock) -> ObjectRecord {
    ObjectRecord {
        object_id: 0,
        source: STDIO.into(),
        destination: STDIO.into(),
        name: "".into(),
        size_bytes: 0,
        outcome: Outcome::Copied,
        method: Method::Whole,
        proof: Proof::None,
        crc64: None,
        md5: None,
        etag: None,
        attempts: 0,
        started_ns: 0,
        ended_ns: clock.now_ns(),
        reason: None,
        failure: None,
    }
}
