//! Buffers that are used again.
//!
//! A fresh megabyte costs a page fault for every 4 KiB of it; over a gibibyte that is more CPU time
//! than reading, hashing and sending it. So blocks come from a free list and go back to it when the last
//! [`Bytes`] that looks at them is dropped.
//!
//! They are mappings of their own, not the allocator's: what is given back is the system's at once, so that the bound
//! is what the process holds, whatever the allocator.

use std::alloc::Layout;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use memmap2::MmapMut;

/// What a large page holds on most machines.
#[cfg(target_os = "linux")]
const HUGE_PAGE: usize = 2 << 20;

/// A free list of buffers. Clones share it. It does not bound what is lent, the budget does that; but what is
/// free never takes lent and free together beyond a bound.
#[derive(Clone)]
pub struct BufferPool(Arc<Shared>);

struct Shared {
    bound: usize,
    shelf: Mutex<Shelf>,
}

#[derive(Default)]
struct Shelf {
    /// Given back, the oldest first.
    free: VecDeque<MmapMut>,
    free_bytes: usize,
    lent_bytes: usize,
}

impl BufferPool {
    /// Lent and free together; more is lent where more is asked for, but then nothing is kept free.
    const BOUND: usize = 96 << 20;

    /// The least size of a buffer: small ones of all sizes share them, so that the free list stays short.
    const LEAST: usize = 64 << 10;

    /// A pool that keeps nothing free where lent and free together would exceed `bound` bytes.
    pub fn bounded(bound: usize) -> Self {
        Self(Arc::new(Shared { bound, shelf: Mutex::default() }))
    }

    /// A buffer of exactly `len` bytes, with whatever was in it before.
    pub fn take(&self, len: usize) -> PooledBuffer {
        // A buffer more than twice as large would hold memory that nobody has asked for.
        let size = len.max(Self::LEAST);
        let fits = size..=2 * size;
        let mut shelf = self.lock();
        let found = shelf.free.iter().rposition(|buffer| fits.contains(&buffer.len()));
        let kept = found.and_then(|index| shelf.free.remove(index));
        if let Some(buffer) = kept {
            shelf.free_bytes -= buffer.len();
            shelf.lent_bytes += buffer.len();
            return PooledBuffer { buffer: Some(buffer), len, pool: self.clone() };
        }
        shelf.lent_bytes += size;
        // Block sizes change; buffers of the old size make room for those of the new one.
        let surplus = shelf.shrink_to(self.0.bound);
        drop(shelf);
        // Unmapped before the new one is mapped, and not under the lock: either is a system call.
        drop(surplus);
        PooledBuffer { buffer: Some(map(size)), len, pool: self.clone() }
    }

    fn give_back(&self, buffer: MmapMut) {
        let mut shelf = self.lock();
        shelf.lent_bytes -= buffer.len();
        shelf.free_bytes += buffer.len();
        shelf.free.push_back(buffer);
        let surplus = shelf.shrink_to(self.0.bound);
        drop(shelf);
        drop(surplus);
    }

    fn lock(&self) -> MutexGuard<'_, Shelf> {
        self.0.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Memory zeroed by the system, page by page when first touched. Ends the process where there is none, as an
/// allocation does.
fn map(size: usize) -> MmapMut {
    let Ok(buffer) = MmapMut::map_anon(size) else {
        let layout = Layout::array::<u8>(size).unwrap_or(Layout::new::<u8>());
        std::alloc::handle_alloc_error(layout)
    };
    // Fewer page faults, where the system has large pages to give.
    #[cfg(target_os = "linux")]
    if size.is_multiple_of(HUGE_PAGE) {
        let _ = buffer.advise(memmap2::Advice::HugePage);
    }
    buffer
}

impl Shelf {
    /// Takes out the oldest until lent and free together are within the bound, or none is left.
    fn shrink_to(&mut self, bound: usize) -> Vec<MmapMut> {
        let mut surplus = Vec::new();
        while self.lent_bytes + self.free_bytes > bound
            && let Some(oldest) = self.free.pop_front()
        {
            self.free_bytes -= oldest.len();
            surplus.push(oldest);
        }
        surplus
    }
}

impl Default for BufferPool {
    fn default() -> Self {
        Self::bounded(Self::BOUND)
    }
}

impl fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shelf = self.lock();
        write!(f, "BufferPool({} bytes lent, {} free)", shelf.lent_bytes, shelf.free_bytes)
    }
}

/// A buffer on loan.
#[derive(Debug)]
pub struct PooledBuffer {
    /// There until it goes back.
    buffer: Option<MmapMut>,
    len: usize,
    pool: BufferPool,
}

impl PooledBuffer {
    /// Freezes the buffer; it returns to its pool with the last clone of the result.
    pub fn freeze(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for PooledBuffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl std::ops::Deref for PooledBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.buffer.as_ref().map_or(&[], |buffer| &buffer[..self.len])
    }
}

impl std::ops::DerefMut for PooledBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.buffer.as_mut().map_or(&mut [], |buffer| &mut buffer[..self.len])
    }
}

impl Drop for PooledBuffer {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            self.pool.give_back(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_with_its_last_reader() {
        let pool = BufferPool::default();
        let mut buffer = pool.take(1 << 20);
        buffer[0] = 7;
        let address = buffer.as_ptr();
        let bytes = buffer.freeze();
        let reader = bytes.clone();
        drop(bytes);
        assert_ne!(pool.take(1 << 20).as_ptr(), address, "still read by somebody");
        drop(reader);
        let again = pool.take(1 << 19);
        assert_eq!(again.len(), 1 << 19);
    }

    #[test]
    fn lent_and_free_share_one_bound() {
        let pool = BufferPool::bounded(8 << 20);
        let sums = |pool: &BufferPool| {
            let shelf = pool.lock();
            (shelf.lent_bytes >> 20, shelf.free_bytes >> 20)
        };
        let old: Vec<_> = (0..8).map(|_| pool.take(1 << 20)).collect();
        drop(old);
        assert_eq!(sums(&pool), (0, 8));
        let large = pool.take(4 << 20);
        assert_eq!(sums(&pool), (4, 4), "those of the old size make room");
        let larger = pool.take(16 << 20);
        assert_eq!(sums(&pool), (20, 0), "what the budget allows is lent");
        drop(larger);
        assert_eq!(sums(&pool), (4, 0), "and not kept");
        drop(large);
        assert_eq!(sums(&pool), (0, 4));
        assert_eq!(pool.take(1 << 20).len(), 1 << 20);
        assert_eq!(sums(&pool), (0, 5), "a small block does not hold a large buffer");
    }
}
