//! What only the kernel knows of a connection.

/// Bytes that the peer has acknowledged since the connection began; `None` where the system
/// does not say.
///
/// The kernel may hold megabytes of a request. While they trickle over a slow link neither a
/// write nor a read moves, yet the request is well: the acknowledgements tell.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
pub(super) fn bytes_acked(socket: std::os::fd::RawFd) -> Option<u64> {
    // `tcpi_bytes_acked` of `struct tcp_info` in linux/tcp.h (since Linux 4.1): 8 single bytes, 24 words of
    // 4 and 2 of 8 come before it. libc's structure ends earlier, so the field is read by its place.
    const OFFSET: usize = 8 + 24 * 4 + 2 * 8;
    const END: usize = OFFSET + 8;
    let mut info = [0_u8; 256];
    let mut len = info.len() as libc::socklen_t;
    // SAFETY: `info` is a live buffer of `len` bytes and the kernel writes at most `len` of them.
    // A descriptor that is no TCP socket, or closed, makes the call fail, nothing worse.
    let status = unsafe {
        libc::getsockopt(socket, libc::IPPROTO_TCP, libc::TCP_INFO, info.as_mut_ptr().cast(), &raw mut len)
    };
    if status != 0 || (len as usize) < END {
        return None;
    }
    Some(u64::from_ne_bytes(info[OFFSET..END].try_into().ok()?))
}

/// Bytes that the peer has acknowledged; this system does not say.
#[cfg(not(target_os = "linux"))]
pub(super) fn bytes_acked(_socket: i32) -> Option<u64> {
    None
}

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
        client.write_all(&[0; 1000]).unwrap();
        server.read_exact(&mut [0; 1000]).unwrap();
        server.write_all(b"x").unwrap();
        client.read_exact(&mut [0]).unwrap();
        assert_eq!(super::bytes_acked(client.as_raw_fd()).unwrap() - before, 1000);
        assert_eq!(super::bytes_acked(-1), None);
    }
}
