//! Carries packets from one device to the other, when they are due.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use haulage::Error;

use super::way::{Way, WayCounts, flow_of};

/// Packets that are read before those that are due are looked after again.
const AT_ONCE: usize = 64;

/// How long a thread sleeps with nothing to do before it looks whether it shall end.
const NAP: Duration = Duration::from_millis(100);

/// A thread that carries packets one way.
#[derive(Debug)]
pub(super) struct Forwarder {
    stop: Arc<AtomicBool>,
    counts: Arc<Mutex<WayCounts>>,
    thread: Option<JoinHandle<()>>,
}

impl Forwarder {
    /// Begins to carry from one device to the other; packets are at most `mtu` bytes long.
    pub(super) fn start(way: Way<Vec<u8>>, from: File, to: File, mtu: u16) -> Result<Self, Error> {
        let (stop, counts) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let shared = (Arc::clone(&stop), Arc::clone(&counts));
        let thread = std::thread::Builder::new()
            .name("haul-packets".into())
            .spawn(move || carry(way, &from, &to, usize::from(mtu), &shared.0, &shared.1))
            .map_err(|error| Error::from_io("start", "the link", error))?;
        Ok(Self { stop, counts, thread: Some(thread) })
    }

    /// What became of the packets so far.
    pub(super) fn counts(&self) -> WayCounts {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn carry(
    mut way: Way<Vec<u8>>,
    mut from: &File,
    mut to: &File,
    mtu: usize,
    stop: &AtomicBool,
    counts: &Mutex<WayCounts>,
) {
    // Sleeps end up to 50 us late otherwise, which is as long as four packets take at 1 Gbit/s.
    punctual();
    let began = Instant::now();
    let now = || began.elapsed().as_nanos() as u64;
    // Memory of packets that have arrived, for those to come.
    let mut spare: Vec<Vec<u8>> = Vec::new();
    while !stop.load(Relaxed) {
        let mut idle = true;
        for _ in 0..AT_ONCE {
            let mut packet = spare.pop().unwrap_or_default();
            packet.resize(mtu, 0);
            let Ok(len) = from.read(&mut packet) else {
                spare.push(packet);
                break;
            };
            idle = false;
            packet.truncate(len);
            let flow = flow_of(&packet);
            spare.extend(way.push(now(), len, flow, packet));
        }
        while let Some(popped) = way.pop(now()) {
            idle = false;
            // A device that takes no packet has no room: as on a real link, it is gone.
            let (Ok(packet) | Err(packet)) = popped.inspect(|packet| drop(to.write(packet)));
            spare.push(packet);
        }
        *counts.lock().unwrap_or_else(PoisonError::into_inner) = way.counts;
        if idle {
            let due = way.next().map(|due| Duration::from_nanos(due.saturating_sub(now())));
            wait_for(from, due.map_or(NAP, |due| due.min(NAP)));
        }
    }
}

/// Waits until the device has a packet, or the time has passed.
#[allow(unsafe_code)]
fn wait_for(device: &File, most: Duration) {
    let mut poll = libc::pollfd { fd: device.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let most = libc::timespec {
        tv_sec: most.as_secs() as libc::time_t,
        tv_nsec: libc::c_long::from(most.subsec_nanos() as i32),
    };
    // SAFETY: one live `pollfd` and one live `timespec`; no signal mask. Whatever it returns, the caller looks again.
    unsafe { libc::ppoll(&raw mut poll, 1, &raw const most, std::ptr::null()) };
}

/// Lets this thread sleep to the nanosecond.
#[allow(unsafe_code)]
fn punctual() {
    // SAFETY: takes a number and no memory; where it fails, sleeps are a little late.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
}
