//! Everything in memory.

use std::io;
use std::ops::Range;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};

use super::{Catalogue, Chunks, Data, Part, Store};
use crate::wire::error::Answer;
use crate::wire::incoming::Content;

/// The most that is set aside on a client's word; above it, memory grows as bytes arrive.
const TRUSTED: u64 = 64 << 20;

/// Pieces that are appended are joined up to here.
const PIECE: usize = 256 << 10;

pub(super) struct MemoryStore;

#[async_trait]
impl Store for MemoryStore {
    fn load(&self) -> io::Result<Catalogue> {
        Ok(Catalogue::default())
    }

    async fn receive(&self, body: &mut dyn Content) -> Answer<Data> {
        // Copied, not kept as they come: a frame is a slice of a read buffer many times its size.
        let mut whole = BytesMut::with_capacity(body.len().min(TRUSTED) as usize);
        while let Some(bytes) = body.next().await? {
            whole.extend_from_slice(&bytes);
        }
        Ok(Data::Memory([whole.freeze()].into()))
    }

    async fn assemble(&self, parts: Vec<Part>) -> io::Result<Data> {
        Ok(Data::Memory(parts.into_iter().flat_map(|part| slices(&part.data, part.range)).collect()))
    }

    /// Small pieces become one, so that a blob of many blocks does not become many pieces.
    async fn append(&self, before: Part, more: Part) -> io::Result<Data> {
        let mut pieces = slices(&before.data, before.range);
        let more = slices(&more.data, more.range);
        let added: usize = more.iter().map(Bytes::len).sum();
        match pieces.pop() {
            Some(last) if last.len() + added <= PIECE => {
                pieces.push([&[last], &*more].concat().concat().into());
            }
            last => pieces.extend(last.into_iter().chain(more)),
        }
        Ok(Data::Memory(pieces.into()))
    }

    async fn open(&self, data: &Data, range: Range<u64>) -> io::Result<Chunks> {
        Ok(Chunks::memory(slices(data, range)))
    }
}

/// The pieces that make up `range`, sharing memory with the whole.
fn slices(data: &Data, range: Range<u64>) -> Vec<Bytes> {
    let Data::Memory(pieces) = data else { return Vec::new() };
    let mut offset = 0;
    let mut found = Vec::new();
    for piece in pieces.iter() {
        let end = offset + piece.len() as u64;
        let (from, to) = (range.start.max(offset), range.end.min(end));
        if from < to {
            found.push(piece.slice((from - offset) as usize..(to - offset) as usize));
        }
        offset = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_may_cross_pieces() {
        let data =
            Data::Memory([Bytes::from_static(b"abc"), Bytes::new(), Bytes::from_static(b"defg")].into());
        assert_eq!(slices(&data, 2..5).concat(), b"cde");
        assert_eq!(slices(&data, 0..7).concat(), b"abcdefg");
        assert_eq!(slices(&data, 3..3), [] as [Bytes; 0]);
    }
}
