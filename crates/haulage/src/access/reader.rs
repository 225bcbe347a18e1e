//! An object that is read in any order, with ranges fetched ahead of a reader that goes through it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::{in_order, replaced, shown};
use crate::error::{Error, ErrorKind, Result};
use crate::options::CopyOptions;
use crate::stage::list::find;
use crate::store::{BlockRange, Location, ObjectMeta, StoreOpener};
use crate::task::joined;

/// One version of an object, for reading. Other calls may read at the same time; they take turns.
#[derive(Debug)]
pub struct Reader {
    source: Arc<Source>,
    window: Mutex<Window>,
}

#[derive(Debug)]
struct Source {
    location: Location,
    meta: ObjectMeta,
    /// Bytes of a block: the object is read in ranges that begin at multiples of it.
    block: u64,
}

impl Reader {
    /// Looks at the object. `version` is the ETag that it must have, where an earlier look has told.
    ///
    /// Of `options` count those for stores, and `block_size`, `concurrency` and `max_memory`, which bounds what is kept and
    /// fetched ahead.
    ///
    /// # Errors
    /// `SourceChanged` where it has another ETag than `version`.
    pub fn open<'a>(
        opener: &'a StoreOpener,
        url: &'a str,
        version: Option<&'a str>,
        options: &'a CopyOptions,
    ) -> BoxFuture<'a, Result<Self>> {
        Box::pin(async move {
            let location = opener.open_object(url, "read")?;
            let meta = find(&location, "read").await?;
            if version.is_some_and(|version| version != meta.etag) {
                return Err(replaced(&location));
            }
            let limits = in_order::limits(options)?;
            let most = location.store.capabilities().range_checksum_max;
            let block = limits.block_size.bytes().min(if most > 0 { most } else { u64::MAX }).max(1);
            let kept = ((options.max_memory.bytes() / block) as usize).max(1);
            let window = Window::new(kept, limits.concurrency.min(kept / 2));
            Ok(Self { source: Arc::new(Source { location, meta, block }), window: Mutex::new(window) })
        })
    }

    /// What is known of the object, without secrets.
    pub fn meta(&self) -> ObjectMeta {
        shown(self.source.meta.clone())
    }

    /// The bytes from `offset` on: `len` of them, fewer only where the object ends. Each was compared with the checksum
    /// of its range, where the store states one.
    ///
    /// # Errors
    /// `SourceChanged` when the object was replaced since it was opened.
    pub fn read_at(&self, offset: u64, len: u64) -> BoxFuture<'_, Result<Bytes>> {
        Box::pin(async move {
            let Source { meta, block, .. } = &*self.source;
            let end = offset.saturating_add(len).min(meta.size);
            if offset >= end {
                return Ok(Bytes::new());
            }
            let (first, last) = (offset / block, (end - 1) / block);
            let mut window = self.window.lock().await;
            let ahead = window.aim(offset, end, last);
            let until = (last + ahead).min((meta.size - 1) / block);
            // A view of the one block, as nearly always, else a copy.
            let mut whole = BytesMut::new();
            for number in first..=last {
                for next in number..=until.min(number + window.ahead_max) {
                    window.fetch(next, &self.source, number..=until);
                }
                let bytes = window.take(number).await?;
                let begins = number * block;
                let part = bytes.slice(
                    offset.saturating_sub(begins) as usize..(end - begins).min(bytes.len() as u64) as usize,
                );
                if first == last {
                    return Ok(part);
                }
                whole.extend_from_slice(&part);
            }
            Ok(whole.freeze())
        })
    }
}

/// The blocks at hand and on their way.
#[derive(Debug)]
struct Window {
    blocks: HashMap<u64, Block>,
    /// Their numbers, the one used longest ago first.
    order: VecDeque<u64>,
    kept_max: usize,
    ahead_max: u64,
    /// Where the last read ended, in bytes, and in which block.
    end: u64,
    last: Option<u64>,
    /// Blocks to fetch ahead: doubled with every block of a reader that goes straight on.
    ahead: u64,
}

#[derive(Debug)]
enum Block {
    /// One task, which ends with its set.
    Coming(JoinSet<Result<Bytes>>),
    Here(Bytes),
}

impl Window {
    fn new(kept_max: usize, ahead_max: usize) -> Self {
        Self {
            blocks: HashMap::new(),
            order: VecDeque::new(),
            kept_max,
            ahead_max: ahead_max as u64,
            end: 0,
            last: None,
            ahead: 0,
        }
    }

    /// How many blocks to fetch beyond `last`, for a read of `offset..end`.
    fn aim(&mut self, offset: u64, end: u64, last: u64) -> u64 {
        if offset != self.end {
            self.ahead = 0;
        } else if self.last != Some(last) {
            self.ahead = (self.ahead * 2).max(1).min(self.ahead_max);
        }
        (self.end, self.last) = (end, Some(last));
        self.ahead
    }

    /// Begins to fetch a block that is not there; one outside of `wanted` makes room for it.
    fn fetch(&mut self, number: u64, source: &Arc<Source>, wanted: std::ops::RangeInclusive<u64>) {
        if self.blocks.contains_key(&number) {
            return;
        }
        while self.order.len() >= self.kept_max {
            let unwanted = self.order.iter().find(|kept| !wanted.contains(kept));
            // Of what an earlier read has left within the stretch, that which is needed last.
            let Some(gone) = unwanted.or(self.order.iter().max()).copied() else { break };
            self.forget(gone);
        }
        let source = Arc::clone(source);
        let mut coming = JoinSet::new();
        coming.spawn(async move {
            let Source { location, meta, block } = &*source;
            let offset = number * block;
            let range = BlockRange { offset, len: (*block).min(meta.size - offset) };
            in_order::fetch_range(location, meta, range).await
        });
        self.blocks.insert(number, Block::Coming(coming));
        self.order.push_back(number);
    }

    fn forget(&mut self, number: u64) {
        self.blocks.remove(&number);
        self.order.retain(|kept| *kept != number);
    }

    /// A block that was fetched; stays where it is, also when this is dropped half way.
    async fn take(&mut self, number: u64) -> Result<Bytes> {
        if let Some(at) = self.order.iter().position(|kept| *kept == number) {
            self.order.remove(at);
            self.order.push_back(number);
        }
        let came = match self.blocks.get_mut(&number) {
            Some(Block::Here(bytes)) => return Ok(bytes.clone()),
            Some(Block::Coming(coming)) => coming.join_next().await.map(joined),
            None => None,
        };
        match came {
            Some(Ok(Ok(bytes))) => {
                self.blocks.insert(number, Block::Here(bytes.clone()));
                Ok(bytes)
            }
            failed => {
                // Asked for again by the next read.
                self.forget(number);
                match failed {
                    Some(Ok(Err(error)) | Err(error)) => Err(error),
                    _ => Err(Error::new(ErrorKind::Cancelled, "read", "block", "it was stopped")),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::put;
    use crate::store::StoreOptions;
    use crate::units::ByteSize;

    async fn reader(name: &str, content: Vec<u8>, blocks: u64) -> Reader {
        let opener = StoreOpener::new(StoreOptions::default()).unwrap();
        let options = CopyOptions {
            block_size: crate::options::Setting::Fixed(ByteSize::kib(1)),
            max_memory: ByteSize::kib(blocks),
            ..CopyOptions::default()
        };
        let url = format!("mem://reader/{name}");
        put(&opener, &url, content, &options).await.unwrap();
        Reader::open(&opener, &url, None, &options).await.unwrap()
    }

    #[tokio::test]
    async fn any_range_in_any_order_is_what_the_object_holds_and_no_more_is_kept_than_may_be() {
        let mut rng = fastrand::Rng::with_seed(5);
        let content: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(100_003).collect();
        for blocks in [1, 2, 7, 1000] {
            let reader = reader(&blocks.to_string(), content.clone(), blocks).await;
            for _ in 0..300 {
                let (offset, len) = (rng.u64(..101_000), rng.u64(..5000));
                let from = (offset as usize).min(content.len());
                let to = ((offset + len) as usize).min(content.len());
                assert_eq!(reader.read_at(offset, len).await.unwrap(), content[from..to], "{offset} {len}");
                assert!(reader.window.lock().await.blocks.len() as u64 <= blocks);
            }
            assert_eq!(reader.read_at(0, u64::MAX).await.unwrap(), content);
        }
    }

    #[tokio::test]
    async fn only_who_goes_straight_on_gets_more_ahead() {
        let reader = reader("ahead", vec![7; 64 << 10], 64).await;
        for offset in [9 << 10, 3 << 10, 30 << 10] {
            reader.read_at(offset, 10).await.unwrap();
        }
        assert_eq!(reader.window.lock().await.blocks.len(), 3);
        for offset in 40..44 {
            reader.read_at(offset << 10, 1 << 10).await.unwrap();
        }
        // The seek brings one, and then 1, 2 and 4 more are fetched beyond each.
        assert_eq!(reader.window.lock().await.blocks.len(), 3 + 4 + 4);
    }
}
