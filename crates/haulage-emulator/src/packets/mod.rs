//! A link of real packets: two network namespaces, joined by a forwarder with a delay, a rate, a queue and loss.
//!
//! What is measured here is the kernel's own TCP: slow start, congestion control, retransmission, small segments. The
//! parts, from the wire up:
//!
//! 1. `spec`: how a link is written down;
//! 2. `way`: what happens to each packet on its way in one direction, decided without a clock or a device;
//! 3. `tun` and `namespace`: the devices and the two ends;
//! 4. `train`: what a device hands over at once, as the packets that it is made of;
//! 5. `forward`: a thread for each direction that carries packets from one device to the other;
//! 6. `raw`: bulk connections without HTTP, to compete with and to find what the link carries.
//!
//! The client is at the near end, the endpoint at the far end. Needs root, or a user namespace in which it is root.

#[cfg(target_os = "linux")]
mod forward;
#[cfg(target_os = "linux")]
mod link;
#[cfg(target_os = "linux")]
mod namespace;
#[cfg(target_os = "linux")]
mod raw;
mod spec;
#[cfg(target_os = "linux")]
mod train;
#[cfg(target_os = "linux")]
mod tun;
mod way;

#[cfg(target_os = "linux")]
pub use link::{NearEnd, PacketLink};
pub use spec::{PacketChange, PacketLinkSpec, Queue};
pub use way::WayCounts;
