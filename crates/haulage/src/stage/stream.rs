//! Standard input and output as one end of a copy: bytes in order, several requests at once.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesOrdered;
use tokio::fs::{File, OpenOptions};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::task::{JoinError, JoinSet};

use super::read;
use super::verify::{check_crc64, combine, proof};
use crate::checksum::{ChecksumMode, Crc64, Crc64Stream, Md5, Md5Stream};
use crate::control::{Controller as _, FixedController, Limits};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Clock, Method, ObjectRecord, Outcome, Proof};
use crate::gate::through;
use crate::options::{CopyOptions, Overwrite, Work};
use crate::store::{
    Address, Attributes, BlockRange, BlockSizes, BlockWriter, Location, ObjectMeta, Part, Payload,
    Precondition, Properties, PutOptions, Request, StoreOpener, Stored, StreamEnd,
};
use crate::units::ByteSize;

/// The name of standard input and output.
pub(crate) const STDIO: &str = "-";

/// A copy with a stream at one end, and the name of the other.
pub(crate) enum Ends {
    From(StreamEnd, String),
    To(String, StreamEnd),
}

/// The ends of a copy that has a stream at one of them.
pub(crate) fn ends(work: &Work, options: &CopyOptions) -> Option<Ends> {
    let Work::Copy { sources, destination } = work else { return None };
    let [source] = &sources[..] else { return None };
    let parse = |name: &str| Address::parse(name, &options.store).ok();
    if let Some(stream) = parse(source)?.source_stream() {
        return Some(Ends::From(stream, destination.clone()));
    }
    Some(Ends::To(source.clone(), parse(destination)?.destination_stream()?))
}

/// Copies a stream to an object, or an object to a stream.
pub(crate) async fn run(
    ends: Ends,
    options: &CopyOptions,
    opener: &StoreOpener,
    clock: Clock,
) -> Result<ObjectRecord> {
    let limits = limits(options, matches!(ends, Ends::From(..)))?;
    match ends {
        Ends::From(stream, to) => {
            let to = opener.open(&to)?;
            let name = name_of(&stream);
            match stream {
                StreamEnd::Stdio => {
                    let input = Input { reader: tokio::io::stdin(), name };
                    upload(input, &to, options, &limits, clock).await
                }
                StreamEnd::File(path) => {
                    let input = Input { reader: open(&path, false).await?, name };
                    upload(input, &to, options, &limits, clock).await
                }
            }
        }
        Ends::To(from, stream) => {
            let from = opener.open(&from)?;
            // Before a pipe is opened, which waits for its reader.
            let found = find(&from, "copy").await?;
            let name = name_of(&stream);
            match stream {
                StreamEnd::Stdio => {
                    download(&from, &found, &mut tokio::io::stdout(), &name, &limits, clock).await
                }
                StreamEnd::File(path) => {
                    download(&from, &found, &mut open(&path, true).await?, &name, &limits, clock).await
                }
            }
        }
    }
}

fn name_of(stream: &StreamEnd) -> String {
    match stream {
        StreamEnd::Stdio => STDIO.to_owned(),
        StreamEnd::File(path) => path.display().to_string(),
    }
}

/// What is known of the one object that is to become a stream.
pub(crate) async fn find(from: &Location, operation: &'static str) -> Result<ObjectMeta> {
    let Location { store, key, gate } = from;
    if key.is_empty() || key.ends_with('/') {
        return Err(Error::new(ErrorKind::Usage, operation, store.name(key), "this names no object")
            .hint("a stream takes one object; name it, or copy into a folder"));
    }
    through!(gate, store.api(Request::Look), store.name(key), trace => store.head(key, trace).await)
}

/// Opens a pipe or a device; of a pipe this waits for the other end.
pub(crate) async fn open(path: &Path, write: bool) -> Result<File> {
    let mut options = OpenOptions::new();
    // To a file that somebody has opened for us it is added, as its opener would.
    let opened = if write { options.append(true) } else { options.read(true) }.open(path).await;
    opened.map_err(|e| Error::from_io("open", path.display().to_string(), e))
}

/// A stream is read in order, and what is ahead of its reader is held in memory. So its numbers do not follow the
/// link: as many blocks as memory allows, of which the slowest link passes one in a while.
pub(crate) fn limits(options: &CopyOptions, upload: bool) -> Result<Limits> {
    const CONCURRENCY: usize = 64;
    const BLOCK: ByteSize = ByteSize::mib(1);
    let wishes = options.wishes(upload)?;
    let block = wishes.block_size.unwrap_or(BLOCK);
    let blocks = (options.max_memory.bytes() / block.bytes().max(1)) as usize;
    let concurrency = wishes.concurrency.unwrap_or(CONCURRENCY).min(blocks);
    Ok(FixedController::new(concurrency, block, wishes.single_put_max).limits())
}

/// Reads to the end; a stream that fits one put is one, any other goes in blocks as they fill.
pub(crate) async fn upload(
    mut input: Input<impl AsyncRead + Unpin>,
    to: &Location,
    options: &CopyOptions,
    limits: &Limits,
    clock: Clock,
) -> Result<ObjectRecord> {
    if to.key.is_empty() || to.key.ends_with('/') {
        return Err(Error::new(ErrorKind::Usage, "copy", to.store.name(&to.key), "a stream has no name")
            .hint("write the name of the object after the last /"));
    }
    let (started_ns, input_name) = (clock.now_ns(), input.name.clone());
    let rules = to.store.capabilities().cut;
    let tier = options.tier.named().map(str::to_owned);
    let properties = Properties { tier, ..Properties::default() }.kept();
    let block_size = limits.block_size.bytes().clamp(rules.least, rules.most);
    let put_options = PutOptions {
        precondition: match options.overwrite {
            Overwrite::Never => Precondition::IfAbsent,
            Overwrite::Always | Overwrite::IfDifferent => Precondition::None,
        },
        checksum: options.checksum,
        attributes: Attributes { properties, ..Attributes::default() },
        blocks: BlockSizes { wanted: block_size, ..BlockSizes::default() },
        ..PutOptions::default()
    };
    to.gate.widen(limits.concurrency);
    let first = input.block(block_size).await?;
    let md5 = options.content_md5.then(Md5Stream::default);
    let properties = put_options.attributes.properties.clone();
    let mut sent = Sent { md5, confirmed: true, properties, ..Sent::default() };
    let (etag, method) = if (first.len() as u64) < block_size {
        let put = sent.put_whole(first, to, &put_options).await?;
        (put, Method::Whole)
    } else {
        (sent.put_blocks(first, input, to, &put_options, limits).await?, Method::Blocks)
    };
    let to_plain = !to.store.capabilities().keeps_checksums;
    let ends = super::verify::Ends { from_plain: true, to_plain, vouched: true, confirmed: sent.confirmed };
    let proof = proof(&ObjectMeta::default(), ends, options.checksum);
    Ok(ObjectRecord {
        source: input_name.into(),
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
    /// The store has confirmed all of it.
    confirmed: bool,
    properties: Option<Arc<Properties>>,
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
        let properties = self.properties.clone();
        Attributes { crc64: Some(self.crc64), md5: self.digest, properties, ..Attributes::default() }
    }

    async fn put_whole(&mut self, bytes: Bytes, to: &Location, options: &PutOptions) -> Result<String> {
        self.take(&bytes);
        let options = PutOptions { attributes: self.attributes(), ..options.clone() };
        let (api, name) = (to.store.api(Request::Put), to.store.name(&to.key));
        let range = BlockRange { offset: 0, len: bytes.len() as u64 };
        let put = through!(to.gate, api, name; range, trace => {
            to.store.put(&to.key, Payload::Bytes(bytes.clone()), &options, trace).await
        });
        let put = put?;
        self.digest = put.md5;
        self.confirmed &= put.confirmed;
        Ok(put.etag)
    }

    async fn put_blocks(
        &mut self,
        first: Bytes,
        mut input: Input<impl AsyncRead + Unpin>,
        to: &Location,
        options: &PutOptions,
        limits: &Limits,
    ) -> Result<String> {
        let Location { store, key, gate } = to;
        let name = store.name(key);
        let begin = store.api(Request::Begin);
        let writer = through!(gate, begin, name, trace => store.begin(key, None, options, trace).await)?;
        // Tasks of their own, so that they move while the input makes us wait.
        let mut in_flight = JoinSet::new();
        let staged = self.stage(first, &mut input, &writer, &mut in_flight, limits, to).await;
        let at_hand = store.capabilities().at_hand;
        if staged.is_err() && at_hand {
            // A write on this machine cannot be called back, and holds the partial file.
            while in_flight.join_next().await.is_some() {}
        }
        in_flight.shutdown().await;
        let made = match staged {
            Ok(parts) => self.commit(parts, to, &*writer).await,
            Err(error) => Err(error),
        };
        if made.is_err() && !at_hand {
            // No later run can go on from it: a stream is not read again.
            writer.abandon().await;
        }
        made
    }

    /// Makes the object of its blocks.
    async fn commit(
        &mut self,
        mut parts: Vec<Part>,
        Location { store, key, gate }: &Location,
        writer: &dyn BlockWriter,
    ) -> Result<String> {
        let (api, name) = (store.api(Request::Commit), store.name(key));
        parts.sort_unstable_by_key(|part| part.id.range.offset);
        combine(&name, &parts, self.len)?;
        let attributes = self.attributes();
        let put = through!(gate, api, name, trace => writer.commit(&parts, &attributes, trace).await)?;
        self.confirmed &= put.confirmed;
        Ok(put.etag)
    }

    /// Stages blocks as they fill.
    async fn stage(
        &mut self,
        first: Bytes,
        input: &mut Input<impl AsyncRead + Unpin>,
        writer: &Arc<dyn BlockWriter>,
        in_flight: &mut JoinSet<Result<Stored>>,
        limits: &Limits,
        to: &Location,
    ) -> Result<Vec<Part>> {
        let (api, name, capabilities) =
            (to.store.api(Request::PutBlock), to.store.name(&to.key), to.store.capabilities());
        let mut parts = Vec::new();
        let mut block = first;
        let mut size = block.len() as u64;
        while !block.is_empty() {
            let range = BlockRange { offset: self.len, len: block.len() as u64 };
            self.take(&block);
            let (to_writer, gate, name) = (Arc::clone(writer), to.gate.clone(), name.clone());
            in_flight.spawn(async move {
                through!(gate, api, name; range, trace => {
                    to_writer.put_block(range, Payload::Bytes(block.clone()), trace).await
                })
            });
            // Larger blocks, fewer at once: the memory stays the same.
            let room = limits.concurrency * limits.block_size.bytes() as usize / size as usize;
            while in_flight.len() >= room.max(1)
                && let Some(stored) = in_flight.join_next().await
            {
                parts.push(self.stored(stored)?);
            }
            // A stream without an end must not run out of blocks: double them as it grows.
            if (parts.len() as u64) > capabilities.cut.count / 2 && size < capabilities.cut.most / 2 {
                size = (self.len / 10_000).max(size);
            }
            size = writer.block_len(self.len).unwrap_or(size);
            block = input.block(size).await?;
        }
        while let Some(stored) = in_flight.join_next().await {
            parts.push(self.stored(stored)?);
        }
        Ok(parts)
    }

    fn stored(&mut self, ended: Result<Result<Stored>, JoinError>) -> Result<Part> {
        match ended {
            Ok(stored) => {
                let Stored { part, confirmed } = stored?;
                self.confirmed &= confirmed;
                Ok(part)
            }
            Err(failed) if failed.is_panic() => std::panic::resume_unwind(failed.into_panic()),
            Err(_) => Err(Error::new(ErrorKind::Cancelled, "write", STDIO, "the runtime shuts down")),
        }
    }
}

/// What is read to its end, and its name.
pub(crate) struct Input<R> {
    reader: R,
    name: String,
}

impl<R: AsyncRead + Unpin> Input<R> {
    pub(crate) fn new(reader: R, name: &str) -> Self {
        Self { reader, name: name.to_owned() }
    }

    /// As many bytes as a block holds; fewer only at the end.
    async fn block(&mut self, size: u64) -> Result<Bytes> {
        let mut block = Vec::with_capacity(size as usize);
        let mut left = (&mut self.reader).take(size);
        left.read_to_end(&mut block).await.map_err(|e| Error::from_io("read", &*self.name, e))?;
        Ok(block.into())
    }
}

/// Writes the object that was found to `output`, called `to`, in order, with ranges fetched ahead; nothing unverified is
/// passed on.
pub(crate) async fn download(
    from: &Location,
    meta: &ObjectMeta,
    output: &mut (impl AsyncWrite + Unpin),
    to: &str,
    limits: &Limits,
    clock: Clock,
) -> Result<ObjectRecord> {
    let started_ns = clock.now_ns();
    let Location { store, key, gate } = from;
    gate.widen(limits.concurrency);
    let capabilities = store.capabilities();
    let mut block = limits.block_size.bytes();
    if capabilities.range_checksum_max > 0 {
        block = block.min(capabilities.range_checksum_max);
    }
    let name = store.name(key);
    let fetch = |offset: u64| {
        let range = BlockRange { offset, len: block.min(meta.size - offset) };
        fetch_range(from, meta, range)
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
        output.write_all(&bytes).await.map_err(|e| Error::from_io("write", to, e))?;
    }
    output.flush().await.map_err(|e| Error::from_io("write", to, e))?;
    // What was written cannot be taken back, but the reader shall know.
    check_crc64(&name, crc.value(), meta.crc64)?;
    super::verify::check_md5(&name, by_md5.then(|| md5.value()), meta.md5)?;
    let from_plain = !capabilities.keeps_checksums;
    let ends = super::verify::Ends { from_plain, to_plain: true, vouched: ranges_checked, confirmed: false };
    Ok(ObjectRecord {
        source: name.into(),
        destination: to.into(),
        size_bytes: meta.size,
        method: if requests > 1 { Method::Blocks } else { Method::Whole },
        proof: proof(meta, ends, ChecksumMode::Crc64),
        crc64: Some(crc.value()),
        attempts: requests,
        started_ns,
        ..record(clock)
    })
}

/// One range of the version that `meta` tells of, and whether the store has vouched for it.
pub(crate) async fn fetch_range(
    from: &Location,
    meta: &ObjectMeta,
    range: BlockRange,
) -> Result<(Bytes, bool)> {
    let (api, name) = (from.store.api(Request::Get), from.store.name(&from.key));
    through!(from.gate, api, name; range, trace => {
        let fetched = async {
            let got = read::open(&*from.store, &from.key, meta, Some(range), trace).await?;
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
        by_service: false,
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
