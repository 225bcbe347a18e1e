//! The link as a whole: its two ends, what carries the packets, and the endpoint at the far end.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Child, Command};

use haulage::units::ByteRate;
use haulage::{Error, ErrorKind, Result};

use super::forward::Forwarder;
use super::namespace::Namespace;
use super::raw::{BulkFlow, BulkServer};
use super::spec::PacketLinkSpec;
use super::tun;
use super::way::{Direction, Way, WayCounts};
use crate::config::EmulatorConfig;
use crate::thread::EmulatorThread;

/// Where the near end of a link is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NearEnd {
    /// In a namespace of its own.
    #[default]
    New,
    /// In that of this process, beside those of other links: only where nothing else uses its loopback.
    Here,
}

/// Addresses of this machine, for no byte leaves it: programs speak plain http to them that would refuse it elsewhere.
/// Links that share a near end have numbers.
fn addresses(number: u8) -> (Ipv4Addr, Ipv4Addr) {
    (Ipv4Addr::new(127, 254, number, 1), Ipv4Addr::new(127, 254, number, 2))
}

/// An endpoint behind a link of real packets. Programs reach it from the near end only: [`PacketLink::spawn`] starts one
/// there. Ends when it is dropped, whatever is still on its way.
///
/// ```no_run
/// # fn demo() -> haulage::Result<()> {
/// use haulage_emulator::{EmulatorConfig, NearEnd, PacketLink};
/// let spec = "rtt=80ms,total=200mbit".parse()?;
/// let link = PacketLink::start(&spec, NearEnd::New, EmulatorConfig::default())?;
/// println!("{}", link.endpoint().connection_string());
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct PacketLink {
    // In this order they end: who sends before what carries, and the ends last.
    competing: Vec<(Direction, BulkFlow)>,
    bulk: BulkServer,
    endpoint: EmulatorThread,
    up: Forwarder,
    down: Forwarder,
    near: Namespace,
    far: Namespace,
}

impl PacketLink {
    /// Makes both ends, begins to carry, and starts the endpoint at the far end, on the port that `config` has.
    ///
    /// Fails as [`start`](crate::start) does, where namespaces and devices are not allowed, and for a congestion control
    /// that this kernel does not have.
    pub fn start(spec: &PacketLinkSpec, near: NearEnd, config: EmulatorConfig) -> Result<Self> {
        let near = match near {
            NearEnd::New => Namespace::new()?,
            NearEnd::Here => here()?,
        };
        let far = Namespace::new()?;
        let (near_device, number) = within(&near, || open_near(spec))?;
        let (own, other) = addresses(number);
        let far_device = within(&far, || open(spec, "far", other, own))?;
        let copy = |device: &fs::File| {
            device.try_clone().map_err(|error| Error::from_io("open", "a device of the link", error))
        };
        let (near_copy, far_copy) = (copy(&near_device)?, copy(&far_device)?);
        let up = Forwarder::start(Way::new(spec, Direction::Up), near_device, far_copy)?;
        let down = Forwarder::start(Way::new(spec, Direction::Down), far_device, near_copy)?;
        let config = EmulatorConfig { listen: SocketAddr::from((other, config.listen.port())), ..config };
        let endpoint = within(&far, || EmulatorThread::start(config))?;
        let bulk = within(&far, || BulkServer::start(SocketAddr::from((other, 0))))?;
        let wanted = [(spec.compete.0, Direction::Up), (spec.compete.1, Direction::Down)];
        let competing = wanted.into_iter().filter(|(wanted, _)| *wanted).map(|(_, direction)| {
            within(&near, || BulkFlow::start(bulk.address(), direction)).map(|flow| (direction, flow))
        });
        let competing = competing.collect::<Result<_>>()?;
        Ok(Self { competing, bulk, endpoint, up, down, near, far })
    }

    /// The endpoint at the far end.
    pub fn endpoint(&self) -> &EmulatorThread {
        &self.endpoint
    }

    /// Where bulk connections without HTTP are taken, to find what the link carries: send `u` and then bytes, or send `d`
    /// and read.
    pub fn bulk(&self) -> SocketAddr {
        self.bulk.address()
    }

    /// The near end, as `nsenter --net=PATH` takes it.
    pub fn near(&self) -> PathBuf {
        self.near.path()
    }

    /// The far end.
    pub fn far(&self) -> PathBuf {
        self.far.path()
    }

    /// Starts a program at the near end.
    pub fn spawn(&self, command: &mut Command) -> std::io::Result<Child> {
        self.near.within(|| command.spawn())?
    }

    /// What became of the packets, up and down.
    pub fn counts(&self) -> (WayCounts, WayCounts) {
        (self.up.counts(), self.down.counts())
    }

    /// What the bulk connections beside all else have got, up and down; `None` where there is none.
    pub fn competing(&self) -> (Option<ByteRate>, Option<ByteRate>) {
        let of = |wanted| {
            self.competing.iter().find(|(direction, _)| *direction == wanted).map(|(_, flow)| flow.rate())
        };
        (of(Direction::Up), of(Direction::Down))
    }
}

/// The namespace of this process, if it is a new one or has only links of ours.
fn here() -> Result<Namespace> {
    let here = Namespace::here()?;
    let asked =
        within(&here, || tun::is_ours().map_err(|error| Error::from_io("look at", "the network", error)));
    if asked? {
        return Ok(here);
    }
    let cause = "it is in use, and its loopback would be changed";
    Err(Error::new(ErrorKind::Usage, "use", "this network namespace", cause)
        .hint("put `unshare --net` in front of the command"))
}

/// The device at the near end, by the first number that is free there.
fn open_near(spec: &PacketLinkSpec) -> Result<(fs::File, u8)> {
    let mut number = 0;
    loop {
        let (own, other) = addresses(number);
        match open(spec, &format!("near{number}"), own, other) {
            Err(error) if error.kind() == ErrorKind::Exists && number < u8::MAX => number += 1,
            opened => return opened.map(|device| (device, number)),
        }
    }
}

/// A device with its addresses, and connections through it with the congestion control that is asked for.
fn open(spec: &PacketLinkSpec, name: &str, own: Ipv4Addr, other: Ipv4Addr) -> Result<fs::File> {
    let device = tun::open(name, own, other, spec.mtu)?;
    spec.control.as_deref().map_or(Ok(()), |control| choose(control, name, other))?;
    Ok(device)
}

/// Lets connections to `other` use a congestion control. By its route: as a default of the namespace not all are allowed.
fn choose(control: &str, device: &str, other: Ipv4Addr) -> Result<()> {
    let failed = |cause: String| {
        Error::new(ErrorKind::Io, "set congestion control", control, cause).hint(
            "see /proc/sys/net/ipv4/tcp_available_congestion_control; needs the command `ip` (iproute2)",
        )
    };
    let other = other.to_string();
    let words = ["route", "replace", &other, "dev", device, "congctl", control];
    let ran = Command::new("ip").args(words).output().map_err(|error| failed(error.to_string()))?;
    if ran.status.success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&ran.stderr).trim().to_owned()))
}

/// Does something at one end.
fn within<T: Send>(end: &Namespace, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    end.within(work).map_err(|error| Error::from_io("enter", "an end of the link", error))?
}
