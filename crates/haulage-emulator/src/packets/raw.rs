//! Bulk connections without HTTP: what the kernel's TCP alone gets out of a link.
//!
//! A client sends one byte: `u`, and then as much as it can, or `d`, and then reads as much as it gets.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use haulage::units::ByteRate;
use haulage::{Error, Result};

use super::way::Direction;

const UP: u8 = b'u';
const DOWN: u8 = b'd';

/// Bytes of a read or write.
const PIECE: usize = 128 << 10;

/// How often a thread looks whether it shall end.
const LOOK: Duration = Duration::from_millis(100);

/// Takes bulk connections until it is dropped.
#[derive(Debug)]
pub(super) struct BulkServer {
    address: SocketAddr,
    _threads: Threads,
}

impl BulkServer {
    /// Listens on a free port of `address`.
    pub(super) fn start(address: SocketAddr) -> Result<Self> {
        let failed = |error| Error::from_io("listen", address.to_string(), error);
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let threads = Threads::default();
        let stop = Arc::clone(&threads.stop);
        let accepting = threads.spawn(move || {
            let mut serving: Vec<JoinHandle<()>> = Vec::new();
            while !stop.load(Relaxed) {
                let Ok((stream, _)) = listener.accept() else {
                    serving.retain(|thread| !thread.is_finished());
                    std::thread::sleep(LOOK / 10);
                    continue;
                };
                let stop = Arc::clone(&stop);
                serving.push(std::thread::spawn(move || {
                    let _ = serve(stream, &stop);
                }));
            }
            for thread in serving {
                let _ = thread.join();
            }
        });
        Ok(Self { address, _threads: threads.with(accepting) })
    }

    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

/// One bulk connection to such a server, until it is dropped.
#[derive(Debug)]
pub(super) struct BulkFlow {
    moved: Arc<AtomicU64>,
    began: Instant,
    _threads: Threads,
}

impl BulkFlow {
    /// Connects, and begins to send or to read.
    pub(super) fn start(server: SocketAddr, direction: Direction) -> Result<Self> {
        let failed = |error| Error::from_io("connect", server.to_string(), error);
        let mut stream = TcpStream::connect(server).map_err(failed)?;
        stream.write_all(&[if direction == Direction::Up { UP } else { DOWN }]).map_err(failed)?;
        let (moved, threads) = (Arc::new(AtomicU64::new(0)), Threads::default());
        let (count, stop) = (Arc::clone(&moved), Arc::clone(&threads.stop));
        let moving = threads.spawn(move || {
            let _ = match direction {
                Direction::Up => send(stream, &stop, &count),
                Direction::Down => receive(stream, &stop, &count),
            };
        });
        Ok(Self { moved, began: Instant::now(), _threads: threads.with(moving) })
    }

    /// What it got, all in all. Of what it sends, some may still be in the kernel.
    pub(super) fn rate(&self) -> ByteRate {
        ByteRate::over(self.moved.load(Relaxed), self.began.elapsed())
    }
}

/// Threads that end when this is dropped.
#[derive(Debug, Default)]
struct Threads {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Threads {
    fn spawn(&self, work: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
        std::thread::spawn(work)
    }

    fn with(mut self, thread: JoinHandle<()>) -> Self {
        self.thread = Some(thread);
        self
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(mut stream: TcpStream, stop: &AtomicBool) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut what = [0];
    stream.read_exact(&mut what)?;
    let count = AtomicU64::new(0);
    if what == [UP] { receive(stream, stop, &count) } else { send(stream, stop, &count) }
}

fn send(mut stream: TcpStream, stop: &AtomicBool, count: &AtomicU64) -> std::io::Result<()> {
    stream.set_write_timeout(Some(LOOK))?;
    let zeroes = vec![0; PIECE];
    while !stop.load(Relaxed) {
        moved(stream.write(&zeroes), count)?;
    }
    Ok(())
}

fn receive(mut stream: TcpStream, stop: &AtomicBool, count: &AtomicU64) -> std::io::Result<()> {
    stream.set_read_timeout(Some(LOOK))?;
    let mut piece = vec![0; PIECE];
    while !stop.load(Relaxed) {
        moved(stream.read(&mut piece), count)?;
    }
    Ok(())
}

/// Counts what has moved. No byte for a while is no failure; the end is.
fn moved(result: std::io::Result<usize>, count: &AtomicU64) -> std::io::Result<()> {
    match result {
        Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
        Ok(bytes) => {
            count.fetch_add(bytes as u64, Relaxed);
            Ok(())
        }
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
            ) =>
        {
            Ok(())
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bulk_connections_move_bytes_both_ways_and_end() {
        let server = BulkServer::start("127.0.0.1:0".parse().unwrap()).unwrap();
        for direction in [Direction::Up, Direction::Down] {
            let flow = BulkFlow::start(server.address(), direction).unwrap();
            let until = Instant::now() + Duration::from_secs(10);
            while flow.moved.load(Relaxed) < 1 << 20 && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
            assert!(flow.moved.load(Relaxed) >= 1 << 20, "{direction:?}");
            assert!(flow.rate().bits() > 0);
        }
    }
}
