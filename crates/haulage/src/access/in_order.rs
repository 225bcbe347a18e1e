//! Reading an object from its beginning to its end, with ranges fetched ahead: for questions, which are no job.

use std::collections::VecDeque;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesOrdered;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use crate::checksum::{Crc64, Crc64Stream, Md5Stream};
use crate::control::{Controller as _, FixedController, Limits};
use crate::error::{Error, Result};
use crate::gate::through;
use crate::options::CopyOptions;
use crate::stage::read;
use crate::stage::verify::{check_crc64, check_md5};
use crate::store::{BlockRange, Location, ObjectMeta, Request};
use crate::units::ByteSize;

/// What is ahead of a reader in order is held in memory. So these numbers do not follow the link: as many blocks as memory
/// allows, of which the slowest link passes one in a while.
pub(super) fn limits(options: &CopyOptions) -> Result<Limits> {
    const CONCURRENCY: usize = 64;
    const BLOCK: ByteSize = ByteSize::mib(1);
    let wishes = options.wishes(false)?;
    let block = wishes.block_size.unwrap_or(BLOCK);
    let blocks = (options.max_memory.bytes() / block.bytes().max(1)) as usize;
    let concurrency = wishes.concurrency.unwrap_or(CONCURRENCY).min(blocks);
    Ok(FixedController::new(concurrency, block, wishes.single_put_max).limits())
}

/// Writes the object that was found to `output`, called `to`; nothing unverified is passed on.
pub(super) async fn read_all(
    from: &Location,
    meta: &ObjectMeta,
    output: &mut (impl AsyncWrite + Unpin),
    to: &str,
    limits: &Limits,
) -> Result<()> {
    let Location { store, key, gate } = from;
    gate.widen(limits.concurrency);
    let most = store.capabilities().range_checksum_max;
    let block = limits.block_size.bytes().min(if most > 0 { most } else { u64::MAX });
    let mut offsets: VecDeque<u64> = (0..meta.size).step_by(block as usize).collect();
    let mut in_flight = FuturesOrdered::new();
    let (mut crc, mut md5) = (Crc64Stream::default(), Md5Stream::default());
    let by_md5 = meta.crc64.is_none() && meta.md5.is_some();
    loop {
        while in_flight.len() < limits.concurrency
            && let Some(offset) = offsets.pop_front()
        {
            let range = BlockRange { offset, len: block.min(meta.size - offset) };
            in_flight.push_back(fetch_range(from, meta, range));
        }
        let Some(fetched) = in_flight.next().await else { break };
        let bytes = fetched?;
        crc.update(&bytes);
        if by_md5 {
            md5.update(&bytes);
        }
        output.write_all(&bytes).await.map_err(|e| Error::from_io("write", to, e))?;
    }
    output.flush().await.map_err(|e| Error::from_io("write", to, e))?;
    // What was written cannot be taken back, but the reader shall know.
    let name = store.name(key);
    check_crc64(&name, crc.value(), meta.crc64)?;
    check_md5(&name, by_md5.then(|| md5.value()), meta.md5)
}

/// One range of the version that `meta` tells of.
pub(super) async fn fetch_range(from: &Location, meta: &ObjectMeta, range: BlockRange) -> Result<Bytes> {
    let (api, name) = (from.store.api(Request::Get), from.store.name(&from.key));
    through!(from.gate, api, name; range, trace => {
        let fetched = async {
            let got = read::open(&*from.store, &from.key, meta, Some(range), trace).await?;
            let stated = got.crc64;
            let bytes = got.payload.collect().await?;
            check_crc64(&name, Crc64::of(&bytes), stated)?;
            Ok(bytes)
        };
        fetched.await
    })
}
