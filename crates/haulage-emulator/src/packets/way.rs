//! What happens to the packets of one direction: pure decisions; time comes in, nothing is waited for.
//!
//! A packet may be lost, meets the bound of its flow, waits in the queue of the rate that all share, and then travels for
//! half a round trip. Packets of a flow stay in order.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Duration;

use haulage::units::ByteRate;

use super::spec::{PacketChange, PacketLinkSpec, Queue};

/// What a policer lets pass at once after a pause: as much as it grants in this time, and some packets at least.
const POLICER_DEPTH: (f64, f64) = (0.02, 32.0 * 1024.0);

/// For how long packets may wait for others to cross a device together, as network cards do: a share of the round trip, and
/// at most so long. A thread that wakes up for each packet takes more of a processor than TCP does.
const MODERATION: (u32, Duration) = (100, Duration::from_micros(200));

/// Which way packets go, seen from the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Up,
    Down,
}

/// What became of the packets of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct WayCounts {
    /// Arrived.
    pub carried: u64,
    /// Bytes of these, with their headers.
    pub carried_bytes: u64,
    /// Lost at random.
    pub lost: u64,
    /// Dropped, because a queue was full or a policer let no more pass.
    pub dropped: u64,
}

/// One direction. Times are nanoseconds on the caller's clock.
#[derive(Debug)]
pub(super) struct Way<T> {
    spec: PacketLinkSpec,
    direction: Direction,
    random: fastrand::Rng,
    /// The first packet came then: changes count from here.
    began: Option<u64>,
    /// A row of lost packets goes on.
    losing: bool,
    flows: HashMap<u64, Flow>,
    /// Packets that wait for the rate of their flow.
    shaped: BinaryHeap<Reverse<Event<T>>>,
    /// When all that waits for the shared rate will have left.
    free: f64,
    /// Packets on their way.
    travelling: BinaryHeap<Reverse<Event<T>>>,
    last_due: u64,
    number: u64,
    pub(super) counts: WayCounts,
}

#[derive(Debug, Default)]
struct Flow {
    /// When what waits for its rate will have left.
    free: f64,
    /// What its policer still grants in bytes, and when that was counted.
    granted: f64,
    counted: f64,
}

/// A packet and when something happens to it; those of one moment in the order in which they came.
#[derive(Debug)]
struct Event<T> {
    at: u64,
    number: u64,
    len: usize,
    packet: T,
}

impl<T> PartialEq for Event<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}

impl<T> Eq for Event<T> {}

impl<T> PartialOrd for Event<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Event<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl<T> Way<T> {
    pub(super) fn new(spec: &PacketLinkSpec, direction: Direction) -> Self {
        Self {
            spec: spec.clone(),
            direction,
            random: fastrand::Rng::with_seed(spec.seed.wrapping_mul(2).wrapping_add(direction as u64)),
            began: None,
            losing: false,
            flows: HashMap::new(),
            shaped: BinaryHeap::new(),
            free: 0.0,
            travelling: BinaryHeap::new(),
            last_due: 0,
            number: 0,
            counts: WayCounts::default(),
        }
    }

    /// Takes a packet of `len` bytes in. Gives it back where it goes no further, for its memory.
    pub(super) fn push(&mut self, now: u64, len: usize, flow: u64, packet: T) -> Option<T> {
        self.began.get_or_insert(now);
        if self.is_lost(now) {
            self.counts.lost += 1;
            return Some(packet);
        }
        let queue = self.spec.queue;
        let at = now as f64;
        if let Some(rate) = self.spec.policed.map(ByteRate::bytes_per_second) {
            let flow = self.flows.entry(flow).or_default();
            let depth = (rate * POLICER_DEPTH.0).max(POLICER_DEPTH.1);
            // A flow begins with all that it may have.
            let gained = if flow.counted == 0.0 { depth } else { (at - flow.counted) / 1e9 * rate };
            (flow.granted, flow.counted) = ((flow.granted + gained).min(depth), at);
            if flow.granted < len as f64 {
                self.counts.dropped += 1;
                return Some(packet);
            }
            flow.granted -= len as f64;
        }
        let mut leaves = now;
        if let Some(rate) = self.spec.flow.map(ByteRate::bytes_per_second) {
            let flow = self.flows.entry(flow).or_default();
            let Some(free) = enqueue(flow.free, at, len, rate, queue) else {
                self.counts.dropped += 1;
                return Some(packet);
            };
            flow.free = free;
            leaves = free as u64;
        }
        self.number += 1;
        self.shaped.push(Reverse(Event { at: leaves, number: self.number, len, packet }));
        None
    }

    /// The next packet that has arrived by `now`; `Err` gives one back that was dropped on the way.
    pub(super) fn pop(&mut self, now: u64) -> Option<Result<T, T>> {
        while self.shaped.peek().is_some_and(|Reverse(event)| event.at <= now) {
            let Reverse(Event { at, len, packet, .. }) = self.shaped.pop()?;
            if let Some(dropped) = self.send(at, len, packet) {
                self.counts.dropped += 1;
                return Some(Err(dropped));
            }
        }
        if self.travelling.peek().is_none_or(|Reverse(event)| event.at > now) {
            return None;
        }
        let Reverse(Event { len, packet, .. }) = self.travelling.pop()?;
        self.counts.carried += 1;
        self.counts.carried_bytes += len as u64;
        Some(Ok(packet))
    }

    /// When [`Way::pop`] has something to do again.
    pub(super) fn next(&self) -> Option<u64> {
        let first = |heap: &BinaryHeap<Reverse<Event<T>>>| heap.peek().map(|Reverse(event)| event.at);
        [first(&self.shaped), first(&self.travelling)].into_iter().flatten().min()
    }

    /// How long after packets have crossed the next ones may wait.
    pub(super) fn moderation(&self) -> Duration {
        (self.spec.first.rtt.unwrap_or_default() / MODERATION.0).min(MODERATION.1)
    }

    /// Puts a packet into the queue of the shared rate; gives it back where that is full.
    fn send(&mut self, at: u64, len: usize, packet: T) -> Option<T> {
        let now = self.conditions(at);
        let rate = match self.direction {
            Direction::Up => now.up,
            Direction::Down => now.down,
        };
        let mut sent = at as f64;
        if let Some(rate) = rate.map(ByteRate::bytes_per_second) {
            match enqueue(self.free, at as f64, len, rate, self.spec.queue) {
                Some(free) => (self.free, sent) = (free, free),
                None => return Some(packet),
            }
        }
        let travels = now.rtt.unwrap_or_default() / 2 + self.spec.jitter.mul_f64(self.random.f64());
        // Not before those that went ahead, also where the way has become shorter.
        let due = (sent as u64).saturating_add(nanos(travels)).max(self.last_due);
        self.last_due = due;
        self.number += 1;
        self.travelling.push(Reverse(Event { at: due, number: self.number, len, packet }));
        None
    }

    /// Losses in rows of a mean length: a row begins so seldom that the share comes out right.
    fn is_lost(&mut self, now: u64) -> bool {
        let share = self.conditions(now).loss.unwrap_or(0.0);
        if share == 0.0 {
            self.losing = false;
            return false;
        }
        let ends = 1.0 / f64::from(self.spec.burst);
        let begins = (ends * share / (1.0 - share)).min(1.0);
        self.losing = self.random.f64() < if self.losing { 1.0 - ends } else { begins };
        // Rows of one are independent of each other.
        if self.spec.burst == 1 {
            self.losing = self.random.f64() < share;
        }
        self.losing
    }

    fn conditions(&self, now: u64) -> PacketChange {
        let began = self.began.unwrap_or(now);
        self.spec.at(Duration::from_nanos(now.saturating_sub(began)))
    }
}

/// When a packet will have left that joins a queue now; `None` where the queue is full.
fn enqueue(free: f64, now: f64, len: usize, rate: f64, queue: Queue) -> Option<f64> {
    let waits = (free - now).max(0.0);
    let is_full = match queue {
        Queue::Time(longest) => waits > nanos(longest) as f64,
        Queue::Bytes(most) => waits / 1e9 * rate + len as f64 > most.bytes() as f64 && waits > 0.0,
    };
    (!is_full).then(|| now + waits + len as f64 / rate * 1e9)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The flow of an IPv4 packet by its ports; all others are one.
pub(super) fn flow_of(packet: &[u8]) -> u64 {
    const TCP_OR_UDP: [u8; 2] = [6, 17];
    let header = usize::from(packet.first().map_or(0, |first| first & 15)) * 4;
    match (packet.get(9), packet.get(header..header + 4)) {
        (Some(protocol), Some(ports)) if header >= 20 && TCP_OR_UDP.contains(protocol) => {
            u64::from(u32::from_be_bytes([ports[0], ports[1], ports[2], ports[3]]))
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: u64 = 1_000_000;

    fn way(spec: &str) -> Way<u32> {
        Way::new(&spec.parse().unwrap(), Direction::Up)
    }

    /// Sends a packet of 1,250 bytes every `every` ns and gives the times at which they arrive.
    fn arrivals(way: &mut Way<u32>, packets: u32, every: u64, flows: u64) -> Vec<(u64, u32)> {
        let (mut arrived, mut now, mut sent) = (Vec::new(), 0, 0);
        while sent < packets || way.next().is_some() {
            let next = if sent < packets { u64::from(sent) * every } else { u64::MAX };
            now = next.min(way.next().unwrap_or(u64::MAX)).max(now);
            while let Some(popped) = way.pop(now) {
                arrived.extend(popped.ok().map(|packet| (now, packet)));
            }
            if now == next {
                way.push(now, 1250, u64::from(sent) % flows, sent);
                sent += 1;
            }
        }
        arrived
    }

    #[test]
    fn a_packet_takes_its_time_to_be_sent_and_half_a_round_trip() {
        // 1,250 bytes at 10 Mbit/s take a millisecond.
        assert_eq!(arrivals(&mut way("rtt=80ms,total=10mbit"), 1, 1, 1), [(41 * MILLI, 0)]);
        assert_eq!(arrivals(&mut way("rtt=80ms"), 1, 1, 1), [(40 * MILLI, 0)]);
    }

    #[test]
    fn packets_arrive_at_the_rate_and_what_exceeds_the_queue_is_dropped() {
        let mut link = way("total=10mbit,queue=50ms");
        let arrived = arrivals(&mut link, 1000, MILLI / 2, 1);
        let last = arrived.last().unwrap().0;
        assert!(arrived.windows(2).all(|pair| pair[1].0 - pair[0].0 >= MILLI - 1000), "{arrived:?}");
        // 500 ms of sending, and the queue after it.
        assert!((549 * MILLI..=552 * MILLI).contains(&last), "{last}");
        assert_eq!(link.counts.carried + link.counts.dropped, 1000);
        assert!((549..=552).contains(&link.counts.carried), "{:?}", link.counts);
    }

    #[test]
    fn a_queue_in_bytes_holds_so_many() {
        let mut link = way("total=10mbit,queue=12500B");
        for packet in 0..100 {
            link.push(0, 1250, 0, packet);
        }
        while link.pop(0).is_some() {}
        assert_eq!(100 - link.counts.dropped, 10);
    }

    #[test]
    fn each_flow_has_its_rate_and_all_have_the_total() {
        let mut link = way("conn=10mbit,total=1gbit,queue=10s");
        let alone = arrivals(&mut link, 100, 1, 1).last().unwrap().0;
        let mut link = way("conn=10mbit,total=1gbit,queue=10s");
        let beside = arrivals(&mut link, 100, 1, 4).last().unwrap().0;
        assert!((3.9..4.1).contains(&(alone as f64 / beside as f64)), "{alone} {beside}");
        let mut link = way("conn=10mbit,total=20mbit,queue=10s");
        let shared = arrivals(&mut link, 100, 1, 4).last().unwrap().0;
        assert!((1.9..2.1).contains(&(alone as f64 / shared as f64)), "{alone} {shared}");
    }

    #[test]
    fn a_policer_drops_what_exceeds_its_rate_and_delays_nothing() {
        let mut link = way("police=10mbit,total=1gbit");
        let arrived = arrivals(&mut link, 4000, MILLI / 2, 1);
        // Two seconds at 1,000 packets each, and what it grants at once.
        assert!((1990..=2040).contains(&arrived.len()), "{}", arrived.len());
        assert!(arrived.iter().all(|(at, packet)| at - u64::from(*packet) * MILLI / 2 < MILLI));
    }

    #[test]
    fn losses_have_the_share_and_the_rows_that_were_asked_for() {
        for (spec, row) in [("loss=5%,seed=3", 1.0..1.2), ("loss=5%,burst=20,seed=3", 16.0..24.0)] {
            let mut link = way(spec);
            let arrived = arrivals(&mut link, 200_000, 1000, 1);
            let share = link.counts.lost as f64 / 200_000.0;
            assert!((0.044..0.056).contains(&share), "{spec} {share}");
            let rows = arrived.windows(2).filter(|pair| pair[1].1 - pair[0].1 > 1).count();
            assert!(row.contains(&(link.counts.lost as f64 / rows as f64)), "{spec} {rows}");
        }
    }

    #[test]
    fn jitter_delays_and_keeps_the_order_and_a_seed_repeats_it() {
        let run = || arrivals(&mut way("rtt=10ms,jitter=5ms,seed=9"), 500, MILLI / 10, 1);
        let arrived = run();
        assert!(arrived.is_sorted_by_key(|(_, packet)| *packet));
        let late = arrived.iter().map(|(at, packet)| at - u64::from(*packet) * MILLI / 10);
        assert!(late.clone().min().unwrap() >= 5 * MILLI && late.max().unwrap() > 9 * MILLI);
        assert_eq!(arrived, run());
    }

    #[test]
    fn what_changes_later_changes_for_packets_that_are_sent_later() {
        let mut link = way("total=10mbit,queue=1s,at=100ms:total=1mbit");
        let arrived = arrivals(&mut link, 300, MILLI, 1);
        let before = arrived.iter().filter(|(at, _)| *at <= 100 * MILLI).count();
        assert!((98..=101).contains(&before), "{before}");
        let later = arrived.iter().filter(|(at, _)| (200 * MILLI..1200 * MILLI).contains(at)).count();
        assert!((95..=105).contains(&later), "{later}");
    }

    #[test]
    fn flows_are_told_by_their_ports() {
        let mut packet = [0_u8; 40];
        (packet[0], packet[9], packet[20], packet[23]) = (0x45, 6, 1, 2);
        assert_eq!(flow_of(&packet), 0x0100_0002);
        packet[9] = 1;
        assert_eq!(flow_of(&packet), 0);
        assert_eq!((flow_of(&[]), flow_of(&[0x4f; 21])), (0, 0));
    }
}
