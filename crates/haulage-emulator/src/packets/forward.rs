//! Carries packets from one device to the other, when they are due.

use std::fs::File;
use std::io::{IoSlice, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use haulage::Error;

use super::train::{Joined, LONGEST, Packet, Train};
use super::way::{Way, WayCounts, flow_of};

/// How often a device is read before those that are due are looked after again.
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
    /// Begins to carry from one device to the other.
    pub(super) fn start(way: Way<Packet>, from: File, to: File) -> Result<Self, Error> {
        let (stop, counts) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let shared = (Arc::clone(&stop), Arc::clone(&counts));
        let thread = std::thread::Builder::new()
            .name("haul-packets".into())
            .spawn(move || carry(way, &from, &to, &shared.0, &shared.1))
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

fn carry(mut way: Way<Packet>, mut from: &File, mut to: &File, stop: &AtomicBool, counts: &Mutex<WayCounts>) {
    // Sleeps end up to 50 us late otherwise, which is as long as four packets take at 1 Gbit/s.
    punctual();
    let began = Instant::now();
    let now = || began.elapsed().as_nanos() as u64;
    let mut read = vec![0; LONGEST];
    // A device that takes no packet has no room: as on a real link, it is gone.
    let mut write = |head: &[u8], data: &[u8]| {
        drop(if head.is_empty() {
            to.write(data)
        } else {
            to.write_vectored(&[IoSlice::new(head), IoSlice::new(data)])
        });
    };
    let mut arrived = Joined::default();
    while !stop.load(Relaxed) {
        let (mut idle, mut more) = (true, true);
        let turn = now();
        for _ in 0..AT_ONCE {
            let Ok(len) = from.read(&mut read) else {
                more = false;
                break;
            };
            idle = false;
            let Some(train) = Train::new(&read[..len]) else { continue };
            let flow = flow_of(train.packet());
            for (len, packet) in train.packets() {
                way.push(now(), len, flow, packet);
            }
        }
        while let Some(popped) = way.pop(now()) {
            idle = false;
            if let Ok(packet) = popped {
                arrived.add(packet, &mut write);
            }
        }
        arrived.hand_over(&mut write);
        *counts.lock().unwrap_or_else(PoisonError::into_inner) = way.counts;
        if idle {
            let due = way.next().map(|due| Duration::from_nanos(due.saturating_sub(now())));
            wait_for(from, due.map_or(NAP, |due| due.min(NAP)));
        } else if !more {
            // What comes or is due meanwhile crosses together.
            let rests = way.moderation().saturating_sub(Duration::from_nanos(now() - turn));
            if !rests.is_zero() {
                std::thread::sleep(rests);
            }
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
