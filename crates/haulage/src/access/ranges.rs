//! Stretches of an object, at random places and several at once.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream;
use tokio::task::JoinSet;

use super::get::does_not_fit;
use super::{replaced, shown};
use crate::checksum::Crc64;
use crate::error::{Error, ErrorKind, Result};
use crate::gate::through;
use crate::options::CopyOptions;
use crate::stage::list::find;
use crate::stage::verify::check_crc64;
use crate::store::{BlockRange, GetOptions, Location, ObjectMeta, Request, StoreOpener, Version};
use crate::task::joined;
use crate::units::ByteSize;

/// What is longer than this is asked for only when it is known to be there.
const AT_ONCE: u64 = 64 << 20;

/// A longer range is read in several, each of which Azure vouches for.
const PIECE: ByteSize = ByteSize::mib(4);

/// As many go at once where nobody says how many.
const CONCURRENCY: usize = 64;

/// The bytes of each range of the object that `url` names, by its first byte and its length, or to the end; fewer only where the
/// object ends. All are of one version: of `version`, an ETag, where an earlier look has told.
///
/// That is one request for each range of up to a block, and no other where all of them are within the object. Each is compared
/// with the checksum of its range, where the store states one.
///
/// Of `options` count those for stores, `block_size` (4 MiB by default) and `concurrency` (64).
///
/// # Errors
/// `SourceChanged` where the object has another ETag than `version`, or was replaced while it was read.
pub fn get_ranges<'a>(
    opener: &'a StoreOpener,
    url: &'a str,
    ranges: &'a [(u64, Option<u64>)],
    version: Option<&'a str>,
    options: &'a CopyOptions,
) -> BoxFuture<'a, Result<Vec<Bytes>>> {
    Box::pin(async move {
        let location = opener.open_object(url, "read")?;
        let wanted: Vec<BlockRange> = ranges.iter().map(|range| beginning_at(*range)).collect();
        let wishes = options.wishes(false)?;
        let most = location.store.capabilities().range_checksum_max;
        let block =
            wishes.block_size.unwrap_or(PIECE).bytes().min(if most > 0 { most } else { u64::MAX }).max(1);
        let reading =
            Reading { concurrency: wishes.concurrency.unwrap_or(CONCURRENCY).max(1), block, location };
        let mut failed = None;
        if wanted.iter().all(|range| range.len <= AT_ONCE) {
            let version = version.map(|etag| Version::from(etag.to_owned()));
            match reading.all(&wanted, version).await {
                // So it ends where a range does not reach, and where that goes beyond the end.
                Err(error) if matches!(error.kind(), ErrorKind::SourceChanged | ErrorKind::Protocol) => {
                    failed = Some(error);
                }
                read => return read,
            }
        }
        let meta = find(&reading.location, "read").await?;
        if version.is_some_and(|version| version != meta.etag) {
            return Err(replaced(&reading.location));
        }
        let there: Vec<BlockRange> = wanted.iter().map(|range| range.within(meta.size)).collect();
        match failed {
            // A condition may not have matched a weak ETag.
            Some(error) if there == wanted && !meta.weak => Err(error),
            _ => reading.all(&there, Some(meta.version())).await,
        }
    })
}

/// Up to `len` bytes from the beginning of the object that `url` names, and what is known of it: one request, so that whoever
/// opens an object need not ask for its size first. The bytes are compared with the checksum of their range, where the store
/// states one; for that `len` is bounded by what the store vouches for at once.
///
/// # Errors
/// `NotFound` where there is no such object.
pub fn get_first<'a>(
    opener: &'a StoreOpener,
    url: &'a str,
    len: u64,
    options: &'a CopyOptions,
) -> BoxFuture<'a, Result<(ObjectMeta, Bytes)>> {
    Box::pin(async move {
        let location = opener.open_object(url, "read")?;
        options.wishes(false)?;
        let most = location.store.capabilities().range_checksum_max;
        let len = len.min(if most > 0 { most } else { AT_ONCE });
        let range = BlockRange { offset: 0, len };
        let Location { store, key, gate } = &location;
        let (api, name) = (store.api(Request::Get), store.name(key));
        let options = GetOptions {
            range: Some(range),
            up_to: true,
            range_checksum: len <= most,
            ..GetOptions::default()
        };
        let read = through!(gate, api, name; range, trace => {
            let fetched = async {
                let got = store.get(key, &options, trace).await?;
                let bytes = got.payload.collect().await?;
                check_crc64(&name, Crc64::of(&bytes), got.crc64)?;
                Ok((got.meta, bytes))
            };
            fetched.await
        });
        let (meta, bytes) = match read {
            // HTTP has no range of an object of no bytes.
            Err(error) if error.status() == Some(416) => {
                let meta = find(&location, "read").await?;
                if meta.size > 0 {
                    return Err(error);
                }
                (meta, Bytes::new())
            }
            other => other?,
        };
        Ok((shown(meta), bytes))
    })
}

fn beginning_at((offset, len): (u64, Option<u64>)) -> BlockRange {
    BlockRange { offset, len: len.unwrap_or(u64::MAX).min(u64::MAX - offset) }
}

/// Reads from one object.
struct Reading {
    location: Location,
    /// Bytes that one request reads at most.
    block: u64,
    concurrency: usize,
}

impl Reading {
    async fn all(&self, ranges: &[BlockRange], version: Option<Version>) -> Result<Vec<Bytes>> {
        let version = version.map(Arc::new);
        let pieces: Vec<BlockRange> = ranges.iter().flat_map(|range| cut(*range, self.block)).collect();
        let read = |piece| spawned(self.location.clone(), piece, version.clone());
        let mut pieces = std::pin::pin!(stream::iter(pieces).map(read).buffered(self.concurrency));
        let (mut found, mut seen) = (Vec::with_capacity(ranges.len()), None);
        for range in ranges {
            let mut whole = Whole::Nothing;
            while whole.len() < range.len {
                let Some(read) = pieces.next().await else { break };
                let (bytes, meta) = read?;
                if !seen.get_or_insert_with(|| meta.version()).may_be(&meta) {
                    return Err(replaced(&self.location));
                }
                whole
                    .add(bytes, range.len)
                    .map_err(|_| does_not_fit(&self.location.store.name(&self.location.key)))?;
            }
            found.push(whole.into_bytes());
        }
        Ok(found)
    }
}

/// A range in pieces of at most `block` bytes.
fn cut(range: BlockRange, block: u64) -> impl Iterator<Item = BlockRange> {
    (0..range.len.div_ceil(block)).map(move |number| {
        let begins = number * block;
        BlockRange { offset: range.offset + begins, len: block.min(range.len - begins) }
    })
}

/// What has come of a range: nearly always one piece, which is not copied.
enum Whole {
    Nothing,
    One(Bytes),
    Several(Vec<u8>),
}

impl Whole {
    fn len(&self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::One(bytes) => bytes.len() as u64,
            Self::Several(bytes) => bytes.len() as u64,
        }
    }

    /// Adds the next piece of `len` bytes in all.
    fn add(&mut self, piece: Bytes, len: u64) -> std::result::Result<(), std::collections::TryReserveError> {
        *self = match std::mem::replace(self, Self::Nothing) {
            Self::Nothing => Self::One(piece),
            Self::One(first) => {
                let mut bytes = Vec::new();
                bytes.try_reserve_exact(usize::try_from(len).unwrap_or(usize::MAX))?;
                bytes.extend_from_slice(&first);
                bytes.extend_from_slice(&piece);
                Self::Several(bytes)
            }
            Self::Several(mut bytes) => {
                bytes.extend_from_slice(&piece);
                Self::Several(bytes)
            }
        };
        Ok(())
    }

    fn into_bytes(self) -> Bytes {
        match self {
            Self::Nothing => Bytes::new(),
            Self::One(bytes) => bytes,
            Self::Several(bytes) => bytes.into(),
        }
    }
}

/// A piece and what came with it, read by a task of its own, which ends with the future.
async fn spawned(
    from: Location,
    range: BlockRange,
    version: Option<Arc<Version>>,
) -> Result<(Bytes, ObjectMeta)> {
    let mut task = JoinSet::new();
    task.spawn(async move { piece(&from, range, version.as_deref()).await });
    match task.join_next().await {
        Some(ended) => joined(ended)?,
        None => Err(Error::new(ErrorKind::Cancelled, "read", "range", "it was stopped")),
    }
}

async fn piece(from: &Location, range: BlockRange, version: Option<&Version>) -> Result<(Bytes, ObjectMeta)> {
    let Location { store, key, gate } = from;
    let (api, name) = (store.api(Request::Get), store.name(key));
    let options = GetOptions {
        range: Some(range),
        if_match: version.cloned(),
        range_checksum: range.len <= store.capabilities().range_checksum_max,
        ..GetOptions::default()
    };
    through!(gate, api, name; range, trace => {
        let fetched = async {
            let got = store.get(key, &options, trace).await?;
            let (meta, stated) = (got.meta, got.crc64);
            let bytes = got.payload.collect().await?;
            check_crc64(&name, Crc64::of(&bytes), stated)?;
            Ok((bytes, meta))
        };
        fetched.await
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::put;
    use crate::store::StoreOptions;

    #[tokio::test]
    async fn any_ranges_are_what_the_object_holds_up_to_its_end() {
        let mut rng = fastrand::Rng::with_seed(7);
        let content: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(50_003).collect();
        let opener = StoreOpener::new(StoreOptions::default()).unwrap();
        let options = CopyOptions {
            block_size: crate::options::Setting::Fixed(ByteSize::kib(1)),
            ..CopyOptions::default()
        };
        let url = "mem://ranges/a";
        put(&opener, url, content.clone(), &options).await.unwrap();
        for _ in 0..50 {
            let ranges: Vec<(u64, Option<u64>)> = (0..rng.usize(..9))
                .map(|_| {
                    (
                        rng.u64(..60_000),
                        [None, Some(0), Some(rng.u64(..9_000)), Some(u64::MAX)][rng.usize(..4)],
                    )
                })
                .collect();
            let found = get_ranges(&opener, url, &ranges, None, &options).await.unwrap();
            assert_eq!(found.len(), ranges.len());
            for ((offset, len), found) in ranges.into_iter().zip(found) {
                let from = (offset as usize).min(content.len());
                let to = (offset.saturating_add(len.unwrap_or(u64::MAX)) as usize).min(content.len());
                assert_eq!(found, content[from..to], "{offset} {len:?}");
            }
        }
    }

    #[tokio::test]
    async fn the_first_bytes_come_with_what_is_known_of_the_object() {
        let (opener, options) = (StoreOpener::new(StoreOptions::default()).unwrap(), CopyOptions::default());
        for (content, len, found) in [("", 4, ""), ("abc", 0, ""), ("abc", 2, "ab"), ("abc", 9, "abc")] {
            let url = "mem://ranges/first";
            let etag = put(&opener, url, content.as_bytes().to_vec(), &options).await.unwrap().etag;
            let (meta, bytes) = get_first(&opener, url, len, &options).await.unwrap();
            assert_eq!((meta.size, meta.etag, &bytes[..]), (content.len() as u64, etag, found.as_bytes()));
        }
    }

    #[tokio::test]
    async fn all_ranges_are_of_the_version_that_was_asked_for() {
        let (opener, options) = (StoreOpener::new(StoreOptions::default()).unwrap(), CopyOptions::default());
        let url = "mem://ranges/versions";
        let etag = put(&opener, url, b"first".to_vec(), &options).await.unwrap().etag;
        let read = async |range| get_ranges(&opener, url, &[range], Some(&etag), &options).await;
        assert_eq!(read((1, Some(2))).await.unwrap(), ["ir"]);
        assert_eq!(read((3, Some(9))).await.unwrap(), ["st"]);
        put(&opener, url, b"second".to_vec(), &options).await.unwrap();
        for range in [(1, Some(2)), (3, Some(9)), (0, None)] {
            assert_eq!(read(range).await.unwrap_err().kind(), ErrorKind::SourceChanged);
        }
    }
}
