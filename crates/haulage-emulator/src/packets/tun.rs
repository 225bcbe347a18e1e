//! TUN devices: what the kernel sends through one is read here, and what is written here arrives there.

use std::fs::{File, OpenOptions};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::fs::OpenOptionsExt as _;

use haulage::{Error, ErrorKind};

use super::namespace::not_allowed;

const DEVICE: &str = "/dev/net/tun";

/// From linux/if_tun.h: IP packets with the header of `train` before them.
const IFF_TUN: u16 = 0x0001;
const IFF_NO_PI: u16 = 0x1000;
const IFF_VNET_HDR: u16 = 0x4000;
const TUNSETIFF: u64 = 0x4004_54ca;
const TUNSETOFFLOAD: u64 = 0x4004_54d0;
/// Packets may come without their checksums, and several of a connection as one.
const TUN_F_CSUM: libc::c_ulong = 0x01;
const TUN_F_TSO4: libc::c_ulong = 0x02;

/// From linux/sockios.h.
const SIOCGIFFLAGS: u64 = 0x8913;
const SIOCSIFFLAGS: u64 = 0x8914;
const SIOCSIFADDR: u64 = 0x8916;
const SIOCSIFDSTADDR: u64 = 0x8918;
const SIOCGIFNETMASK: u64 = 0x891b;
const SIOCSIFNETMASK: u64 = 0x891c;
const SIOCSIFMTU: u64 = 0x8922;
const SIOCSIFTXQLEN: u64 = 0x8943;
const IFF_UP: u16 = 0x0001;

/// Packets that may wait for the forwarder, so that none is dropped but by the link.
const WAITING: i32 = 10_000;

/// Opens a device in the namespace of this thread, with an address, the other end's address, and its largest packet.
pub(super) fn open(name: &str, own: Ipv4Addr, other: Ipv4Addr, mtu: u16) -> Result<File, Error> {
    let made = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE);
    let file = made.and_then(|file| {
        let flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
        Request::new(name).with(flags.to_ne_bytes()).ioctl(file.as_raw_fd(), TUNSETIFF)?;
        join(&file)?;
        Ok(file)
    });
    let file = file.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => not_allowed("open", DEVICE, &error),
        io::ErrorKind::ResourceBusy => Error::new(ErrorKind::Exists, "open", name, "a device has this name"),
        _ => Error::from_io("open", DEVICE, error),
    })?;
    let configured = loopback().and_then(|()| configure(name, own, other, mtu));
    configured.map_err(|error| Error::from_io("set up", name, error))?;
    Ok(file)
}

/// Lets the device hand over packets of a connection together.
#[allow(unsafe_code)]
fn join(device: &File) -> io::Result<()> {
    // SAFETY: takes a number and no memory.
    match unsafe { libc::ioctl(device.as_raw_fd(), TUNSETOFFLOAD as _, TUN_F_CSUM | TUN_F_TSO4) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether the loopback of this thread's namespace is ours to set up, or was set up by us.
pub(super) fn is_ours() -> io::Result<bool> {
    let socket = socket()?;
    let seen = |what| Request::new("lo").ioctl(socket.as_raw_fd(), what);
    let is_down = seen(SIOCGIFFLAGS)?.flags() & IFF_UP == 0;
    // Nobody else gives it one address alone.
    Ok(is_down || seen(SIOCGIFNETMASK).is_ok_and(|mask| mask.0[NAME + 4..NAME + 8] == [u8::MAX; 4]))
}

/// Lets other addresses of loopback have devices of their own: only one is left to the machine's.
fn loopback() -> io::Result<()> {
    let socket = socket()?;
    std::fs::write("/proc/sys/net/ipv4/conf/all/route_localnet", "1")?;
    if Request::new("lo").ioctl(socket.as_raw_fd(), SIOCGIFFLAGS)?.flags() & IFF_UP != 0 {
        // Set up already.
        return Ok(());
    }
    let set = |request: Request, what| request.ioctl(socket.as_raw_fd(), what).map(drop);
    set(Request::new("lo").with(address(Ipv4Addr::LOCALHOST)), SIOCSIFADDR)?;
    set(Request::new("lo").with(address(Ipv4Addr::BROADCAST)), SIOCSIFNETMASK)?;
    up("lo")
}

fn configure(name: &str, own: Ipv4Addr, other: Ipv4Addr, mtu: u16) -> io::Result<()> {
    let socket = socket()?;
    let set = |request: Request, what| request.ioctl(socket.as_raw_fd(), what).map(drop);
    set(Request::new(name).with(address(own)), SIOCSIFADDR)?;
    set(Request::new(name).with(address(other)), SIOCSIFDSTADDR)?;
    set(Request::new(name).with(i32::from(mtu).to_ne_bytes()), SIOCSIFMTU)?;
    set(Request::new(name).with(WAITING.to_ne_bytes()), SIOCSIFTXQLEN)?;
    up(name)
}

/// Sets the device to work.
fn up(name: &str) -> io::Result<()> {
    let socket = socket()?;
    let seen = Request::new(name).ioctl(socket.as_raw_fd(), SIOCGIFFLAGS)?;
    let flags = seen.flags() | IFF_UP;
    Request::new(name).with(flags.to_ne_bytes()).ioctl(socket.as_raw_fd(), SIOCSIFFLAGS).map(drop)
}

/// Any socket of this namespace will do to talk of its devices.
fn socket() -> io::Result<socket2::Socket> {
    socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None)
}

/// `struct sockaddr_in`.
fn address(of: Ipv4Addr) -> [u8; 8] {
    let [a, b, c, d] = of.octets();
    let [low, high] = (libc::AF_INET as u16).to_ne_bytes();
    [low, high, 0, 0, a, b, c, d]
}

/// Bytes of the name in a request.
const NAME: usize = libc::IFNAMSIZ;

/// `struct ifreq`: the name of a device, and a value in the 24 bytes after it.
struct Request([u8; NAME + 24]);

impl Request {
    fn new(name: &str) -> Self {
        let mut bytes = [0; NAME + 24];
        let len = name.len().min(NAME - 1);
        bytes[..len].copy_from_slice(&name.as_bytes()[..len]);
        Self(bytes)
    }

    fn flags(&self) -> u16 {
        u16::from_ne_bytes([self.0[NAME], self.0[NAME + 1]])
    }

    fn with<const N: usize>(mut self, value: [u8; N]) -> Self {
        self.0[NAME..NAME + N].copy_from_slice(&value);
        self
    }

    #[allow(unsafe_code)]
    fn ioctl(mut self, descriptor: RawFd, what: u64) -> io::Result<Self> {
        // SAFETY: all requests here take a `struct ifreq`, which is 40 bytes long on every platform with Linux, and read
        // or write within it.
        match unsafe { libc::ioctl(descriptor, what as _, self.0.as_mut_ptr()) } {
            0 => Ok(self),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
