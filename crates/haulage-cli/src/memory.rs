//! How the allocator keeps memory, for a process that moves the same amounts over and over.

/// Keeps what is freed for what comes next, within bounds.
///
/// By itself glibc gives the top of its heap back as soon as some hundred KiB are free there, and takes it again,
/// page fault by page fault, for the next piece of 256 KiB that arrives: 14 % of the CPU time of a download of
/// 4 GiB. And every large `free` makes it tidy its lists of small ones: 10 % of an upload of 10,000 small files.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
pub(crate) fn keep_memory() {
    /// Blocks (4 MiB) stay mappings of their own, which the pool keeps or gives back whole; pieces and pages of lists,
    /// up to 3 MiB, come from the heap.
    const MAPPED_FROM: libc::c_int = 4 << 20;
    /// A piece for each of some dozen connections.
    const KEPT: libc::c_int = 16 << 20;
    // SAFETY: mallopt only sets parameters of the allocator, under its own lock, to values in their range.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_FROM);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
        // No separate lists of the smallest chunks; each thread's own cache has them anyway.
        libc::mallopt(libc::M_MXFAST, 0);
    }
}

/// Nothing to say to other allocators.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn keep_memory() {}
