//! What only the kernel knows of a connection.

use crate::trace::TcpHistory;

/// What the kernel says of a TCP connection, as `struct tcp_info` of linux/tcp.h has it. libc's structure ends early, so
/// fields are read by their place: 8 single bytes, 24 words of 4, then words of 8.
#[cfg(target_os = "linux")]
struct TcpInfo([u8; 256], usize);

#[cfg(target_os = "linux")]
impl TcpInfo {
    #[allow(unsafe_code)]
    fn of(socket: std::os::fd::RawFd) -> Option<Self> {
        let mut info = [0_u8; 256];
        let mut len = info.len() as libc::socklen_t;
        // SAFETY: `info` is a live buffer of `len` bytes and the kernel writes at most `len` of them.
        // A descriptor that is no TCP socket, or closed, makes the call fail, nothing worse.
        let status = unsafe {
            libc::getsockopt(
                socket,
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                info.as_mut_ptr().cast(),
                &raw mut len,
            )
        };
        (status == 0).then_some(Self(info, len as usize))
    }

    fn field<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        let Self(info, len) = self;
        info[..*len].get(at..at + N)?.try_into().ok()
    }

    fn word(&self, number: usize) -> Option<u32> {
        self.field(8 + 4 * number).map(u32::from_ne_bytes)
    }

    fn long(&self, at: usize) -> Option<u64> {
        self.field(at).map(u64::from_ne_bytes)
    }
}

/// Bytes that the peer has acknowledged since the connection began; `None` where the system
/// does not say.
///
/// The kernel may hold megabytes of a request. While they trickle over a slow link neither a
/// write nor a read moves, yet the request is well: the acknowledgements tell.
#[cfg(target_os = "linux")]
pub(super) fn bytes_acked(socket: std::os::fd::RawFd) -> Option<u64> {
    TcpInfo::of(socket)?.acked()
}

/// Round trips of a connection, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RoundTrips {
    /// Of late, as what was sent shows them; `None` where nothing was sent within a second.
    pub(super) sending: Option<u32>,
    /// Of late, as what was received shows them; `None` where nothing was received within a second.
    pub(super) receiving: Option<u32>,
    /// The least of the connection.
    pub(super) least: u32,
}

/// What peers have acknowledged since the connection began, as [`bytes_acked`] does, and how long bytes are under way, with one
/// question; `None` where the system does not say.
#[cfg(target_os = "linux")]
pub(super) fn progress(socket: std::os::fd::RawFd) -> Option<(u64, Option<RoundTrips>)> {
    let info = TcpInfo::of(socket)?;
    Some((info.acked()?, info.round_trips()))
}

#[cfg(target_os = "linux")]
impl TcpInfo {
    fn acked(&self) -> Option<u64> {
        // tcpi_bytes_acked, since Linux 4.1. It counts the SYN as a byte.
        self.long(8 + 24 * 4 + 2 * 8).map(|acked| acked.saturating_sub(1))
    }

    fn round_trips(&self) -> Option<RoundTrips> {
        const LATE_MS: u32 = 1000;
        let info = self;
        // tcpi_last_data_sent, tcpi_last_data_recv, tcpi_rtt, tcpi_rcv_rtt; tcpi_min_rtt since Linux 4.6.
        let sending = info.word(15).filter(|rtt| *rtt > 0 && info.word(9).is_some_and(|ms| ms < LATE_MS));
        let receiving = info.word(21).filter(|rtt| *rtt > 0 && info.word(11).is_some_and(|ms| ms < LATE_MS));
        let least = info.field(8 + 24 * 4 + 4 * 8 + 3 * 4).map(u32::from_ne_bytes)?;
        Some(RoundTrips { sending, receiving, least })
    }
}

/// What a connection has gone through since it was made; `None` where the system does not say.
#[cfg(target_os = "linux")]
pub(super) fn history(socket: std::os::fd::RawFd) -> Option<TcpHistory> {
    let info = TcpInfo::of(socket)?;
    // The times in the kernel are microseconds; since Linux 4.10.
    let spent = |number: usize| info.long(8 + 24 * 4 + 4 * 8 + 6 * 4 + number * 8).map(|us| us * 1000);
    Some(TcpHistory {
        // tcpi_rtt, tcpi_total_retrans.
        rtt_ns: info.word(15).map(|us| u64::from(us) * 1000)?,
        retransmits: info.word(23)?,
        // tcpi_busy_time, tcpi_rwnd_limited, tcpi_sndbuf_limited.
        busy_ns: spent(1)?,
        rwnd_limited_ns: spent(2)?,
        sndbuf_limited_ns: spent(3)?,
    })
}

/// This system does not say.
#[cfg(not(target_os = "linux"))]
pub(super) fn history(_socket: i32) -> Option<TcpHistory> {
    None
}

/// This system does not say.
#[cfg(not(target_os = "linux"))]
pub(super) fn progress(_socket: i32) -> Option<(u64, Option<RoundTrips>)> {
    None
}

/// Bytes that the peer has acknowledged; this system does not say.
#[cfg(not(target_os = "linux"))]
pub(super) fn bytes_acked(_socket: i32) -> Option<u64> {
    None
}

/// Wakes the reader of a socket when so many bytes can be read, or it ends. Where that fails, every packet wakes it.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
pub(super) fn set_low_water(socket: std::os::fd::RawFd, bytes: u32) {
    let bytes = bytes as libc::c_int;
    // SAFETY: `bytes` is a live integer of the length given, which the kernel only reads.
    unsafe {
        libc::setsockopt(
            socket,
            libc::SOL_SOCKET,
            libc::SO_RCVLOWAT,
            std::ptr::from_ref(&bytes).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
}

/// Every packet wakes it.
#[cfg(not(target_os = "linux"))]
pub(super) fn set_low_water(_socket: i32, _bytes: u32) {}

/// Lets the peer send no more than so many bytes that are not read yet. The kernel widens the window again while it is read
/// quickly, so this is said again and again. Where it fails, or before Linux 5.17, the window stays as wide as it is.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
pub(super) fn set_window(socket: std::os::fd::RawFd, bytes: u32) {
    let bytes = bytes.min(1 << 30) as libc::c_int;
    // SAFETY: `bytes` is a live integer of the length given, which the kernel only reads.
    unsafe {
        libc::setsockopt(
            socket,
            libc::IPPROTO_TCP,
            libc::TCP_WINDOW_CLAMP,
            std::ptr::from_ref(&bytes).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
}

/// The window stays as wide as it is.
#[cfg(not(target_os = "linux"))]
pub(super) fn set_window(_socket: i32, _bytes: u32) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd as _;

    #[test]
    fn acknowledged_bytes_are_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let before = super::bytes_acked(client.as_raw_fd()).unwrap();
        assert_eq!(before, 0, "nothing was sent but the SYN");
        client.write_all(&[0; 1000]).unwrap();
        server.read_exact(&mut [0; 1000]).unwrap();
        server.write_all(b"x").unwrap();
        client.read_exact(&mut [0]).unwrap();
        assert_eq!(super::bytes_acked(client.as_raw_fd()).unwrap() - before, 1000);
        assert_eq!(super::bytes_acked(-1), None);
        let (acked, found) = super::progress(client.as_raw_fd()).unwrap();
        assert_eq!(acked, before + 1000);
        let found = found.unwrap();
        let sending = found.sending.expect("it was sent just now");
        assert!((1..1_000_000).contains(&found.least) && sending >= found.least, "{found:?}");
        assert_eq!(super::progress(-1), None);
        let history = super::history(client.as_raw_fd()).unwrap();
        assert!((1..1_000_000_000).contains(&history.rtt_ns), "{history:?}");
        assert!(history.busy_ns < 10_000_000_000 && history.retransmits == 0, "{history:?}");
        assert_eq!(super::history(-1), None);
    }
}
