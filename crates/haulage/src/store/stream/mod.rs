//! What has no size and no way back: standard input and output, pipes, devices, and files that the system makes up.
//!
//! A stream is a store of one object, which is given or taken once, in order. Who reads it asks for one stretch after another,
//! and keeps what may have to be sent again; who writes it may be ahead of the order by as much as was agreed on.

mod sink;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::fs::OpenOptions;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::sync::Mutex;

use self::sink::{StreamWriter, write_at_once};
use super::*;
use crate::buffer::{BufferPool, PooledBuffer};
use crate::checksum::Crc64Stream;
use crate::error::ErrorKind;

/// The name of standard input and output.
pub(crate) const STDIO: &str = "-";

/// What a stream is read from, ...
pub(crate) type Input = Box<dyn AsyncRead + Send + Unpin>;

/// ... or written to.
type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Which stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// Standard input or output.
    Stdio,
    /// A pipe, a device, or a file that the system makes up.
    File(PathBuf),
}

impl StreamEnd {
    /// Its name for people.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stdio => STDIO.to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// Opens it for reading; of a pipe this waits for the other end.
    pub(crate) async fn input(&self) -> Result<Input> {
        match self {
            Self::Stdio => Ok(Box::new(tokio::io::stdin())),
            Self::File(path) => match OpenOptions::new().read(true).open(path).await {
                Ok(file) => Ok(Box::new(file)),
                Err(error) => Err(Error::from_io("open", self.name(), error)),
            },
        }
    }

    /// Opens it for writing.
    async fn output(&self) -> Result<Output> {
        match self {
            Self::Stdio => Ok(Box::new(tokio::io::stdout())),
            // To a file that somebody has opened for us it is added, as its opener would.
            Self::File(path) => match OpenOptions::new().append(true).open(path).await {
                Ok(file) => Ok(Box::new(file)),
                Err(error) => Err(Error::from_io("open", self.name(), error)),
            },
        }
    }
}

/// A stream as a store, in which it is the only object.
#[derive(Clone)]
pub(crate) struct StreamStore {
    end: StreamEnd,
    name: Arc<str>,
    source: Arc<Mutex<Source>>,
    buffers: BufferPool,
}

/// How far it has been read.
#[derive(Default)]
struct Source {
    /// Opened by the first read.
    input: Option<Input>,
    at: u64,
    /// What a read that was given up has left.
    filling: Option<Filling>,
}

/// A stretch that is being read, hashed while it is in the processor's cache.
struct Filling {
    buffer: PooledBuffer,
    len: usize,
    crc64: Crc64Stream,
}

impl StreamStore {
    /// The stream at this end, opened when it is needed.
    pub(crate) fn new(end: StreamEnd, buffers: BufferPool) -> Self {
        let name = end.name().into();
        Self { end, name, source: Arc::default(), buffers }
    }

    /// What comes out of `input`, called `name`.
    pub(crate) fn of(input: Input, name: &str, buffers: BufferPool) -> Self {
        let source = Arc::new(Mutex::new(Source { input: Some(input), ..Source::default() }));
        Self { end: StreamEnd::Stdio, name: name.into(), source, buffers }
    }

    fn refused(&self, operation: &'static str, cause: &str) -> Error {
        Error::new(ErrorKind::Unsupported, operation, &*self.name, cause)
    }

    /// The next `len` bytes; fewer only at the end.
    async fn read(&self, range: BlockRange) -> Result<Payload> {
        let mut source = self.source.lock().await;
        let Source { input, at, filling } = &mut *source;
        if range.offset != *at {
            return Err(self.refused("read", "a stream cannot be read twice"));
        }
        let input = match input {
            Some(input) => input,
            None => input.insert(self.end.input().await?),
        };
        let whole = range.len as usize;
        let Filling { buffer, len, crc64 } = filling.get_or_insert_with(|| Filling {
            buffer: self.buffers.take(whole),
            len: 0,
            crc64: Crc64Stream::default(),
        });
        if buffer.len() != whole {
            return Err(self.refused("read", "the stretch that was begun has another length"));
        }
        while *len < whole {
            match input.read(&mut buffer[*len..]).await {
                Ok(0) => break,
                Ok(read) => {
                    crc64.update(&buffer[*len..*len + read]);
                    *len += read;
                }
                Err(error) => return Err(Error::from_io("read", &*self.name, error)),
            }
        }
        let Some(Filling { buffer, len, crc64 }) = filling.take() else { return Ok(Bytes::new().into()) };
        *at += len as u64;
        Ok(Payload::Hashed(buffer.freeze().slice(..len), crc64.value()))
    }
}

impl fmt::Debug for StreamStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StreamStore({})", self.name)
    }
}

#[async_trait]
impl Store for StreamStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            put_max: u64::MAX,
            cut: CutRules::ANY,
            range_checksum_max: 0,
            streams: false,
            contents: true,
            at_hand: true,
            keeps_checksums: false,
            folders: false,
            rechecks: false,
            late_writes: false,
            begins_freely: false,
            lists_all: true,
            time_step_ns: 1,
            in_order: true,
            keeps_properties: false,
            versions: Versions { conditions: true, unique: true },
        }
    }

    fn name(&self, _key: &str) -> String {
        self.name.to_string()
    }

    fn list(&self, _request: ListRequest) -> Box<dyn Lister> {
        Box::new(Nothing)
    }

    /// Nothing is known of it before it is read.
    async fn head(&self, key: &str, _trace: &Trace) -> Result<ObjectMeta> {
        Ok(ObjectMeta { key: key.to_owned(), ..ObjectMeta::default() })
    }

    /// The stretch that follows the last one, which must be asked for by its place; shorter where the stream ends.
    async fn get(&self, key: &str, options: &GetOptions, trace: &Trace) -> Result<GetResult> {
        let range = options.range.ok_or_else(|| self.refused("read", "a stream has no size"))?;
        let payload = self.read(range).await?;
        trace.mark(Phase::Ready);
        Ok(GetResult { meta: self.head(key, trace).await?, payload, crc64: None, md5: None })
    }

    async fn put(
        &self,
        _key: &str,
        payload: Payload,
        _options: &PutOptions,
        trace: &Trace,
    ) -> Result<PutResult> {
        let put = write_at_once(self.end.output().await?, &self.name, payload).await?;
        trace.mark(Phase::Committed);
        Ok(put)
    }

    async fn begin(
        &self,
        _key: &str,
        _size: Option<u64>,
        options: &PutOptions,
        _trace: &Trace,
    ) -> Result<Arc<dyn BlockWriter>> {
        let output = self.end.output().await?;
        Ok(Arc::new(StreamWriter::new(output, self.name.clone(), options)))
    }

    async fn delete(&self, _key: &str, _trace: &Trace) -> Result<()> {
        Err(self.refused("delete", "a stream is not deleted"))
    }

    async fn remove_leftover(&self, _key: &str, _trace: &Trace) -> Result<bool> {
        Ok(false)
    }

    async fn create_container(&self, _trace: &Trace) -> Result<()> {
        Err(self.refused("create", "a stream is not made"))
    }

    async fn delete_container(&self, _trace: &Trace) -> Result<()> {
        Err(self.refused("delete", "a stream is not deleted"))
    }
}

/// The list of what is below a stream.
struct Nothing;

#[async_trait]
impl Lister for Nothing {
    async fn next_page(&mut self, _trace: &Trace) -> Result<Option<ListPage>> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use tokio::io::AsyncWriteExt as _;

    fn next(offset: u64, len: u64) -> GetOptions {
        GetOptions { range: Some(BlockRange { offset, len }), ..GetOptions::default() }
    }

    #[tokio::test]
    async fn a_stream_is_read_once_and_in_order_and_what_a_dropped_read_took_is_not_lost() {
        let (mut far, near) = tokio::io::duplex(64);
        let store = StreamStore::of(Box::new(near), "-", BufferPool::default());
        let trace = Trace::detached();
        far.write_all(b"12").await.unwrap();
        let (asked, trace) = (next(0, 4), &trace);
        assert!(store.get("-", &asked, trace).now_or_never().is_none(), "it waits for more");
        far.write_all(b"345").await.unwrap();
        drop(far);
        let read = async |offset, len| store.get("-", &next(offset, len), trace).await.map(|got| got.payload);
        assert_eq!(read(0, 4).await.unwrap().collect().await.unwrap(), "1234");
        assert_eq!(read(0, 4).await.unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(read(4, 4).await.unwrap().collect().await.unwrap(), "5", "the end is shorter");
        assert!(read(5, 4).await.unwrap().is_empty());
    }
}
