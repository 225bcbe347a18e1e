//! Buffers that are used again.
//!
//! A fresh megabyte costs a page fault for every 4 KiB of it; over a gibibyte that is more CPU time
//! than reading, hashing and sending it. So blocks come from a free list and go back to it when the last
//! [`Bytes`] that looks at them is dropped.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// A free list of buffers. Clones share it. It bounds nothing: the budget does that.
#[derive(Clone, Default)]
pub struct BufferPool(Arc<Mutex<Vec<Vec<u8>>>>);

impl BufferPool {
    /// Buffers beyond this number are given back to the system.
    const KEPT: usize = 64;

    /// ... and beyond this sum.
    const KEPT_BYTES: usize = 96 << 20;

    /// A buffer of exactly `len` bytes, with whatever was in it before.
    pub fn take(&self, len: usize) -> PooledBuffer {
        let mut free = self.lock();
        let fits = free.iter().rposition(|buffer| buffer.capacity() >= len);
        let mut buffer = match fits {
            Some(index) => free.swap_remove(index),
            // Zeroed by the system, page by page when first touched; `resize` would touch them all twice.
            None => vec![0; len],
        };
        drop(free);
        buffer.resize(len, 0);
        PooledBuffer { buffer, pool: self.clone() }
    }

    fn give_back(&self, buffer: Vec<u8>) {
        let mut free = self.lock();
        let kept: usize = free.iter().map(Vec::capacity).sum();
        if free.len() < Self::KEPT && kept + buffer.capacity() <= Self::KEPT_BYTES {
            free.push(buffer);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BufferPool({} free)", self.lock().len())
    }
}

/// A buffer on loan.
#[derive(Debug)]
pub struct PooledBuffer {
    buffer: Vec<u8>,
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
        &self.buffer
    }
}

impl std::ops::Deref for PooledBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer
    }
}

impl std::ops::DerefMut for PooledBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.buffer
    }
}

impl Drop for PooledBuffer {
    fn drop(&mut self) {
        self.pool.give_back(std::mem::take(&mut self.buffer));
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
}
