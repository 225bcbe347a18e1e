//! Bytes that no compression makes smaller, from a seed: for experiments that others can repeat.
//!
//! The byte at an offset depends on the seed and on the offset alone. So any stretch can be made again, by several
//! threads at once or on another machine.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use bytes::Bytes;
use futures_util::future::BoxFuture;

use crate::error::{Error, ErrorKind, Result};
use crate::store::{Address, Payload, PutOptions, StoreOpener, StoreOptions, Trace};
use crate::units::ByteSize;

/// Made and written at a time: it stays in the processor's cache.
const PIECE: usize = 1 << 20;

/// Files below this are not worth a second thread.
const ALONE_MAX: u64 = 8 << 20;

/// Fills `bytes` with what lies from `offset` on in the stream of `seed`. About 5 GB/s a thread.
pub fn fill(bytes: &mut [u8], seed: u64, offset: u64) {
    let key = mix(seed ^ 0x6861_756C_6167_6521);
    let mut word = offset / 8;
    let skip = (offset % 8) as usize;
    let mut rest = bytes;
    if skip > 0 {
        let head = value(key, word).to_le_bytes();
        let take = rest.len().min(8 - skip);
        rest[..take].copy_from_slice(&head[skip..skip + take]);
        rest = &mut rest[take..];
        word += 1;
    }
    let mut words = rest.chunks_exact_mut(8);
    for chunk in &mut words {
        chunk.copy_from_slice(&value(key, word).to_le_bytes());
        word += 1;
    }
    let tail = words.into_remainder();
    let last = value(key, word).to_le_bytes();
    tail.copy_from_slice(&last[..tail.len()]);
}

fn value(key: u64, word: u64) -> u64 {
    mix(key.wrapping_add(word.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
}

/// The finalizer of SplitMix64: every bit of the input moves every bit of the output.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Writes `size` bytes of the stream of `seed` to a file, or to an object in this process's memory (`mem://name/key`).
///
/// # Errors
/// `Usage` for any other kind of name; `Io` and `NoSpace` where the file cannot be written.
pub fn generate(name: &str, size: ByteSize, seed: u64) -> BoxFuture<'_, Result<()>> {
    Box::pin(async move {
        let options = StoreOptions::default();
        match Address::parse(name, &options)? {
            Address::Local(path) => {
                let written =
                    tokio::task::spawn_blocking(move || write_file(&path, size.bytes(), seed)).await;
                written.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()))
            }
            Address::Memory { .. } => {
                let mut bytes = vec![0; size.bytes() as usize];
                fill(&mut bytes, seed, 0);
                let to = StoreOpener::new(options)?.open(name)?;
                let payload = Payload::Bytes(Bytes::from(bytes));
                to.store.put(&to.key, payload, &PutOptions::default(), &Trace::detached()).await.map(drop)
            }
            _ => Err(Error::new(ErrorKind::Usage, "generate", name, "neither a file nor in memory")
                .hint("write a local path, or mem://name/key")),
        }
    })
}

fn write_file(path: &Path, size: u64, seed: u64) -> Result<()> {
    let failed = |error| Error::from_io("generate", path.display().to_string(), error);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let file = File::create(path).map_err(failed)?;
    file.set_len(size).map_err(failed)?;
    let half = if size > ALONE_MAX { size / 2 } else { size };
    let write = |from: u64, to: u64| -> std::io::Result<()> {
        let mut piece = vec![0; PIECE.min((to - from) as usize)];
        let mut at = from;
        while at < to {
            let len = piece.len().min((to - at) as usize);
            fill(&mut piece[..len], seed, at);
            file.write_all_at(&piece[..len], at)?;
            at += len as u64;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let second = (half < size).then(|| scope.spawn(|| write(half, size)));
        let first = write(0, half);
        let second = second.map_or(Ok(()), |thread| match thread.join() {
            Ok(written) => written,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        first.and(second)
    })
    .map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_bytes_of_a_seed_never_change() {
        let mut bytes = [0; 20];
        fill(&mut bytes, 7, 0);
        assert_eq!(crate::checksum::Crc64::of(&bytes).to_string(), "0b4e8e3769fd5aeb");
        let mut other = [0; 20];
        fill(&mut other, 8, 0);
        assert_ne!(bytes, other);
    }

    #[test]
    fn a_file_holds_the_stream_whatever_threads_wrote_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("below/file");
        let size = ALONE_MAX + 12_345;
        write_file(&path, size, 3).unwrap();
        let mut expected = vec![0; size as usize];
        fill(&mut expected, 3, 0);
        assert!(std::fs::read(&path).unwrap() == expected);
    }

    proptest! {
        #[test]
        fn any_stretch_is_part_of_the_whole(seed: u64, offset in 0usize..100, len in 0usize..100) {
            let mut whole = vec![0; 200];
            fill(&mut whole, seed, 0);
            let mut part = vec![0; len];
            fill(&mut part, seed, offset as u64);
            prop_assert_eq!(&part[..], &whole[offset..offset + len]);
        }
    }
}
