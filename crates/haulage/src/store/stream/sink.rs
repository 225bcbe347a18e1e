//! Writing a stream: blocks come in any order, and go out in theirs.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::Output;
use crate::checksum::{Md5, Md5Stream};
use crate::error::{Error, ErrorKind, Result};
use crate::store::{
    Attributes, BlockId, BlockRange, BlockWriter, Part, Payload, Phase, PutOptions, PutResult, StagedPart,
    Stored, Trace, join,
};

/// Writes all of it, which was compared with what the source says.
pub(super) async fn write_at_once(mut output: Output, name: &str, payload: Payload) -> Result<PutResult> {
    let (bytes, crc64) = payload.collect_hashed().await?;
    let written = async {
        output.write_all(&bytes).await?;
        output.flush().await
    };
    written.await.map_err(|error| Error::from_io("write", name, error))?;
    Ok(PutResult { crc64: Some(crc64), ..PutResult::default() })
}

/// How far the output has come.
#[derive(Clone, Debug, Default)]
struct Course {
    /// Bytes that are written.
    at: u64,
    /// It has come to its end, with this MD5 where one was asked for.
    ended: Option<Option<Md5>>,
    /// Nothing more is written.
    failed: Option<Failed>,
}

/// Why nothing more is written.
#[derive(Clone, Debug)]
enum Failed {
    /// The system refused; by its number where it has one.
    Io(io::ErrorKind, Option<i32>),
    /// It was given up.
    GivenUp,
}

/// What the writer of an output is told.
enum Told {
    Block(u64, Bytes),
    /// That was all.
    End,
}

/// An output that is written block by block, by a task of its own: what is half written when a request is called off stays in
/// order.
pub(super) struct StreamWriter {
    name: Arc<str>,
    blocks: mpsc::UnboundedSender<Told>,
    course: watch::Sender<Course>,
    /// Bytes that may wait for those before them.
    ahead: u64,
    /// Ends with the writer.
    _pump: JoinSet<()>,
}

impl StreamWriter {
    pub(super) fn new(output: Output, name: Arc<str>, options: &PutOptions) -> Self {
        let (blocks, told) = mpsc::unbounded_channel();
        let course = watch::Sender::new(Course::default());
        let md5 = options.attributes.md5.map(|_| Md5Stream::default());
        let pump = Pump { output, told, course: course.clone(), md5, waiting: BTreeMap::new() };
        let mut tasks = JoinSet::new();
        tasks.spawn(pump.run());
        Self { name, blocks, course, ahead: options.blocks.ahead, _pump: tasks }
    }

    fn error(&self, failed: &Failed) -> Error {
        match failed {
            Failed::Io(_, Some(number)) => {
                Error::from_io("write", &*self.name, io::Error::from_raw_os_error(*number))
            }
            Failed::Io(kind, None) => Error::from_io("write", &*self.name, (*kind).into()),
            Failed::GivenUp => {
                Error::new(ErrorKind::Cancelled, "write", &*self.name, "the object was given up")
            }
        }
    }

    /// Waits until the output has come so far.
    async fn wait(&self, until: impl Fn(&Course) -> bool) -> Result<Course> {
        let mut course = self.course.subscribe();
        // The writer holds the sender, so that it cannot be gone.
        let now = course.wait_for(|course| course.failed.is_some() || until(course)).await;
        let now = now.map(|now| now.clone()).unwrap_or_default();
        match &now.failed {
            Some(failed) => Err(self.error(failed)),
            None => Ok(now),
        }
    }
}

#[async_trait]
impl BlockWriter for StreamWriter {
    /// Takes the block, and returns when it is written or not too far ahead of what is.
    async fn put_block(&self, range: BlockRange, payload: Payload, trace: &Trace) -> Result<Stored> {
        let (bytes, crc64) = payload.collect_hashed().await?;
        // Where nobody takes it any more, the course says why.
        let _ = self.blocks.send(Told::Block(range.offset, bytes));
        self.wait(|course| range.offset <= course.at.saturating_add(self.ahead)).await?;
        trace.mark(Phase::Committed);
        Ok(Stored { part: BlockId { range, crc64 }.into(), confirmed: false })
    }

    async fn staged(&self, _trace: &Trace) -> Result<Vec<StagedPart>> {
        Ok(Vec::new())
    }

    /// Waits until all is written, and compares the whole with what the source says of it. What is out stays out.
    async fn commit(&self, parts: &[Part], attributes: &Attributes, trace: &Trace) -> Result<PutResult> {
        let integrity = |cause: String| Error::new(ErrorKind::Integrity, "write", &*self.name, cause);
        let Ok((crc64, size)) = join(parts.iter().map(|part| &part.id)) else {
            return Err(integrity("the blocks do not make up the stream".to_owned()));
        };
        let _ = self.blocks.send(Told::End);
        let Course { at, ended, .. } = self.wait(|course| course.ended.is_some()).await?;
        if at != size {
            return Err(integrity(format!("{at} of {size} bytes were written")));
        }
        if let (Some(found), Some(wanted)) = (ended.flatten(), attributes.md5)
            && found != wanted
        {
            return Err(integrity(format!("MD5 is {found}, the source says {wanted}")));
        }
        trace.mark(Phase::Committed);
        Ok(PutResult { crc64: Some(crc64), ..PutResult::default() })
    }

    async fn abandon(&self) {
        self.course.send_if_modified(|course| {
            let first = course.failed.is_none();
            course.failed.get_or_insert(Failed::GivenUp);
            first
        });
    }
}

/// Writes what has come, as far as it follows.
struct Pump {
    output: Output,
    told: mpsc::UnboundedReceiver<Told>,
    course: watch::Sender<Course>,
    md5: Option<Md5Stream>,
    /// Blocks by their first byte.
    waiting: BTreeMap<u64, Bytes>,
}

impl Pump {
    async fn run(mut self) {
        if let Err(error) = self.write().await {
            let failed = Failed::Io(error.kind(), error.raw_os_error());
            self.course.send_modify(|course| course.failed = course.failed.take().or(Some(failed)));
        }
    }

    async fn write(&mut self) -> io::Result<()> {
        let mut at = 0;
        while let Some(told) = self.told.recv().await {
            match told {
                Told::Block(offset, bytes) => self.waiting.insert(offset, bytes),
                Told::End => break,
            };
            while let Some(bytes) = self.waiting.remove(&at) {
                if let Some(md5) = &mut self.md5 {
                    md5.update(&bytes);
                }
                self.output.write_all(&bytes).await?;
                at += bytes.len() as u64;
                self.course.send_modify(|course| course.at = at);
                if self.course.borrow().failed.is_some() {
                    return Ok(());
                }
            }
        }
        self.output.flush().await?;
        let md5 = self.md5.take().map(Md5Stream::value);
        self.course.send_modify(|course| course.ended = Some(md5));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::Crc64;
    use crate::store::BlockSizes;
    use futures_util::FutureExt as _;
    use tokio::io::AsyncReadExt as _;

    fn writer(room: usize, ahead: u64, md5: Option<Md5>) -> (StreamWriter, tokio::io::DuplexStream) {
        let (near, far) = tokio::io::duplex(room);
        let blocks = BlockSizes { ahead, ..BlockSizes::default() };
        let attributes = Attributes { md5, ..Attributes::default() };
        let options = PutOptions { blocks, attributes, ..PutOptions::default() };
        (StreamWriter::new(Box::new(near), "-".into(), &options), far)
    }

    async fn put(writer: &StreamWriter, offset: u64, bytes: &'static [u8]) -> Result<Part> {
        let range = BlockRange { offset, len: bytes.len() as u64 };
        let payload = Bytes::from_static(bytes).into();
        writer.put_block(range, payload, &Trace::detached()).await.map(|stored| stored.part)
    }

    #[tokio::test]
    async fn blocks_go_out_in_order_and_none_is_too_far_ahead() {
        let (writer, mut far) = writer(1 << 10, 3, Some(Md5::of(b"123456789")));
        let second = put(&writer, 3, b"456").await.unwrap();
        let mut third = Box::pin(put(&writer, 6, b"789"));
        assert!((&mut third).now_or_never().is_none(), "it is more than three bytes ahead");
        let first = put(&writer, 0, b"123").await.unwrap();
        let parts = [first, second, third.await.unwrap()];
        let attributes = Attributes { md5: Some(Md5::of(b"123456789")), ..Attributes::default() };
        let made = writer.commit(&parts, &attributes, &Trace::detached()).await.unwrap();
        assert_eq!(made.crc64, Some(Crc64::of(b"123456789")));
        drop(writer);
        let mut out = Vec::new();
        far.read_to_end(&mut out).await.unwrap();
        assert_eq!(out, b"123456789");
    }

    #[tokio::test]
    async fn another_whole_than_the_source_states_is_an_error() {
        let (writer, _far) = writer(1 << 10, 0, Some(Md5::of(b"abc")));
        let parts = [put(&writer, 0, b"abd").await.unwrap()];
        let attributes = Attributes { md5: Some(Md5::of(b"abc")), ..Attributes::default() };
        let error = writer.commit(&parts, &attributes, &Trace::detached()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Integrity);
    }

    #[tokio::test]
    async fn a_reader_that_is_gone_ends_it_and_so_does_giving_up() {
        let (writer, far) = writer(1, 0, None);
        drop(far);
        put(&writer, 0, b"123").await.unwrap();
        let error = put(&writer, 3, b"456").await.unwrap_err();
        assert!(error.is_closed_pipe(), "{error}");

        let (writer, _far) = self::writer(1, 0, None);
        let mut waits = Box::pin(put(&writer, 3, b"456"));
        assert!((&mut waits).now_or_never().is_none());
        writer.abandon().await;
        assert_eq!(waits.await.unwrap_err().kind(), ErrorKind::Cancelled);
    }
}
