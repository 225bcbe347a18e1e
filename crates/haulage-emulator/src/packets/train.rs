//! Packets that cross a device together.
//!
//! The kernel hands over what a connection sends at once as one large packet, and takes one, if it may: that costs it as
//! much as a small one. On the link these are packets like all others: each is lost, waits and arrives by itself. Those
//! that have arrived together cross the other device together.

use std::ops::Range;
use std::sync::Arc;

/// `struct virtio_net_hdr`, which a device puts before each packet.
pub(super) const HEADER: usize = 10;
/// The longest that the kernel hands over.
pub(super) const LONGEST: usize = HEADER + 65536;

/// Flag of the header: the checksum of TCP is that of the addresses alone.
const NEEDS_CHECKSUM: u8 = 1;
/// Kinds of the header.
const SINGLE: u8 = 0;
const TCP_V4: u8 = 1;

const TCP: u8 = 6;
/// Least lengths of the headers of IPv4 and TCP.
const IP_LEAST: usize = 20;
const TCP_LEAST: usize = 20;
/// Flags of TCP that only the last packet has, and one that only the first has.
const FIN_PUSH: u8 = 0x09;
const WINDOW_REDUCED: u8 = 0x80;

/// What a device hands over at once: one packet, or several of a connection that follow each other.
#[derive(Debug)]
pub(super) struct Train {
    /// With the device's header.
    bytes: Vec<u8>,
    /// Lengths of the headers of IPv4, and of both.
    ip: usize,
    headers: usize,
    /// Bytes of data in each packet but the last; none where there is one packet.
    each: Option<usize>,
}

/// One packet of a train.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    train: Arc<Train>,
    number: usize,
}

impl Train {
    /// Reads what a device has handed over; `None` where that is too short for a packet.
    pub(super) fn new(bytes: &[u8]) -> Option<Self> {
        let first = *bytes.get(HEADER)?;
        let mut train = Self { bytes: bytes.to_vec(), ip: 0, headers: 0, each: None };
        let each = usize::from(u16::from_ne_bytes([bytes[4], bytes[5]]));
        if bytes[1] == SINGLE || each == 0 {
            return Some(train);
        }
        let ip = usize::from(first & 15) * 4;
        let packet = &bytes[HEADER..];
        let is_whole =
            bytes[1] == TCP_V4 && first >> 4 == 4 && ip >= IP_LEAST && packet.len() >= ip + TCP_LEAST;
        if !is_whole || packet[9] != TCP {
            // Nothing else was asked for.
            return None;
        }
        let headers = ip + usize::from(packet[ip + 12] >> 4) * 4;
        if headers < ip + TCP_LEAST || packet.len() <= headers {
            return None;
        }
        (train.ip, train.headers) = (ip, headers);
        train.each = (packet.len() - headers > each).then_some(each);
        Some(train)
    }

    /// The first packet, for what all have in common.
    pub(super) fn packet(&self) -> &[u8] {
        &self.bytes[HEADER..]
    }

    /// How many packets there are.
    fn len(&self) -> usize {
        self.each.map_or(1, |each| (self.packet().len() - self.headers).div_ceil(each))
    }

    /// Where the data of some packets are.
    fn data(&self, packets: Range<usize>) -> Range<usize> {
        let Some(each) = self.each else { return HEADER + self.headers..self.bytes.len() };
        let begins = HEADER + self.headers;
        begins + packets.start * each..(begins + packets.end * each).min(self.bytes.len())
    }

    /// All packets, and the length of each on the link.
    pub(super) fn packets(self) -> impl Iterator<Item = (usize, Packet)> {
        let train = Arc::new(self);
        (0..train.len()).map(move |number| {
            let len = if train.each.is_some() {
                train.headers + train.data(number..number + 1).len()
            } else {
                train.packet().len()
            };
            (len, Packet { train: Arc::clone(&train), number })
        })
    }

    /// What a device takes for some of the packets: its header and theirs, and their data.
    fn part(&self, packets: Range<usize>) -> (Vec<u8>, &[u8]) {
        let Some(each) = self.each.filter(|_| packets.len() < self.len()) else {
            return (Vec::new(), &self.bytes);
        };
        let data = &self.bytes[self.data(packets.clone())];
        let mut head = self.bytes[..HEADER + self.headers].to_vec();
        if packets.len() == 1 {
            (head[1], head[4], head[5]) = (SINGLE, 0, 0);
        }
        let (ip, tcp) = head[HEADER..].split_at_mut(self.ip);
        let long = (self.headers + data.len()) as u16;
        ip[2..4].copy_from_slice(&long.to_be_bytes());
        let number = u16::from_be_bytes([ip[4], ip[5]]).wrapping_add(packets.start as u16);
        ip[4..6].copy_from_slice(&number.to_be_bytes());
        ip[10..12].fill(0);
        let sum = !sum(ip.chunks_exact(2));
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        let sequence = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
        let sequence = sequence.wrapping_add((packets.start * each) as u32);
        tcp[4..8].copy_from_slice(&sequence.to_be_bytes());
        tcp[13] &= if packets.end < self.len() { !FIN_PUSH } else { u8::MAX };
        tcp[13] &= if packets.start > 0 { !WINDOW_REDUCED } else { u8::MAX };
        // Whoever takes it completes the checksum, if it is ever looked at: of addresses, protocol and length.
        let counted = (long as usize - self.ip) as u16;
        let about = [[0, TCP], counted.to_be_bytes()];
        let pseudo = sum_of(ip[12..20].chunks_exact(2), &about);
        tcp[16..18].copy_from_slice(&pseudo.to_be_bytes());
        head[0] |= NEEDS_CHECKSUM;
        (head, data)
    }
}

/// Joins packets that come one after another to what devices take at once.
#[derive(Debug, Default)]
pub(super) struct Joined {
    last: Option<(Arc<Train>, Range<usize>)>,
}

impl Joined {
    /// Adds a packet; hands over those before it where it does not follow them.
    pub(super) fn add(&mut self, packet: Packet, write: impl FnMut(&[u8], &[u8])) {
        match &mut self.last {
            Some((train, packets)) if Arc::ptr_eq(train, &packet.train) && packets.end == packet.number => {
                packets.end += 1;
            }
            _ => {
                self.hand_over(write);
                self.last = Some((packet.train, packet.number..packet.number + 1));
            }
        }
    }

    /// Hands over what is left.
    pub(super) fn hand_over(&mut self, mut write: impl FnMut(&[u8], &[u8])) {
        if let Some((train, packets)) = self.last.take() {
            let (head, data) = train.part(packets);
            write(&head, data);
        }
    }
}

/// The sum that checksums of the internet are made of.
fn sum<'a>(words: impl Iterator<Item = &'a [u8]>) -> u16 {
    let mut sum: u32 = words.map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn sum_of<'a>(words: impl Iterator<Item = &'a [u8]>, more: &'a [[u8; 2]]) -> u16 {
    sum(words.chain(more.iter().map(<[u8; 2]>::as_slice)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEQUENCE: u32 = 0xffff_fff0;

    /// A train of `len` bytes of data, `each` in a packet, as the kernel hands it over.
    fn train(len: usize, each: u16) -> Vec<u8> {
        let mut bytes = vec![NEEDS_CHECKSUM, if each == 0 { SINGLE } else { TCP_V4 }, 52, 0];
        bytes.extend(each.to_ne_bytes());
        bytes.extend([20, 0, 16, 0]);
        let mut ip = vec![0x45, 0, 0, 0, 0xff, 0xff, 0x40, 0, 64, TCP, 0, 0, 127, 254, 0, 1, 127, 254, 0, 2];
        ip[2..4].copy_from_slice(&((52 + len) as u16).to_be_bytes());
        bytes.extend(ip);
        let mut tcp = vec![0x30, 0x39, 0x27, 0x10];
        tcp.extend(SEQUENCE.to_be_bytes());
        tcp.extend([0, 0, 0, 9, 0x80, 0x98, 2, 0, 0, 0, 0, 0, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
        tcp[13] |= 1;
        bytes.extend(tcp);
        bytes.extend((0..len).map(|at| at as u8));
        bytes
    }

    /// What is written where all packets but `lost` arrive and `together` of them at a time.
    fn written(bytes: &[u8], together: usize, lost: &[usize]) -> Vec<Vec<u8>> {
        let (mut joined, mut out) = (Joined::default(), Vec::new());
        let arrived =
            Train::new(bytes).unwrap().packets().filter(|(_, packet)| !lost.contains(&packet.number));
        for (place, (_, packet)) in arrived.enumerate() {
            if place % together == 0 {
                joined.hand_over(|head, data| out.push([head, data].concat()));
            }
            joined.add(packet, |head, data| out.push([head, data].concat()));
        }
        joined.hand_over(|head, data| out.push([head, data].concat()));
        out
    }

    /// Bytes of data, sequence number and flags of what is written, once its lengths and checksums were compared.
    fn checked(bytes: &[u8]) -> (&[u8], u32, u8) {
        let packet = &bytes[HEADER..];
        assert_eq!(usize::from(u16::from_be_bytes([packet[2], packet[3]])), packet.len());
        if packet[10..12] != [0, 0] {
            assert_eq!(sum(packet[..20].chunks_exact(2)), 0xffff);
        }
        let mut partial: u32 =
            packet[12..20].chunks_exact(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
        partial += 6 + packet.len() as u32 - 20;
        let partial = ((partial & 0xffff) + (partial >> 16)) as u16;
        if packet[36..38] != [0, 0] {
            assert_eq!(packet[36..38], partial.to_be_bytes());
        }
        (&packet[52..], u32::from_be_bytes([packet[24], packet[25], packet[26], packet[27]]), packet[33])
    }

    #[test]
    fn a_train_counts_as_the_packets_it_is_made_of() {
        let lens =
            |bytes: &[u8]| Train::new(bytes).unwrap().packets().map(|(len, _)| len).collect::<Vec<_>>();
        assert_eq!(lens(&train(3000, 1448)), [1500, 1500, 156]);
        assert_eq!(lens(&train(2896, 1448)), [1500, 1500]);
        assert_eq!(lens(&train(100, 1448)), [152]);
        assert_eq!(lens(&train(100, 0)), [152]);
    }

    #[test]
    fn what_arrives_together_crosses_together_and_unchanged() {
        let bytes = train(5000, 1448);
        assert_eq!(written(&bytes, 9, &[]), [bytes]);
        assert_eq!(written(&train(100, 0), 1, &[]), [train(100, 0)]);
    }

    #[test]
    fn packets_that_arrive_apart_hold_the_same_bytes_at_their_places() {
        let bytes = train(5000, 1448);
        for together in 1..=4 {
            let mut data = Vec::new();
            let written = written(&bytes, together, &[]);
            assert_eq!(written.len(), 4_usize.div_ceil(together));
            for (place, one) in written.iter().enumerate() {
                let (own, sequence, flags) = checked(one);
                assert_eq!(sequence, SEQUENCE.wrapping_add(data.len() as u32));
                data.extend_from_slice(own);
                let is_last = place + 1 == written.len();
                assert_eq!(flags & FIN_PUSH, if is_last { FIN_PUSH } else { 0 }, "{together} {place}");
                assert_eq!(flags & WINDOW_REDUCED, if place == 0 { WINDOW_REDUCED } else { 0 });
                assert_eq!(one[1], if own.len() > 1448 { TCP_V4 } else { SINGLE });
            }
            assert_eq!(data, bytes[HEADER + 52..]);
        }
    }

    #[test]
    fn a_lost_packet_leaves_a_gap_and_nothing_else() {
        let written = written(&train(5000, 1448), 9, &[1]);
        let seen: Vec<_> =
            written.iter().map(|one| checked(one)).map(|(data, at, _)| (data.len(), at)).collect();
        assert_eq!(seen, [(1448, SEQUENCE), (1448 + 656, SEQUENCE.wrapping_add(2896))]);
        // Numbers of packets go on where they were.
        assert_eq!(written[1][HEADER + 4..HEADER + 6], [0, 1]);
    }

    #[test]
    fn what_is_no_packet_is_none() {
        assert!(Train::new(&[]).is_none() && Train::new(&[0; HEADER]).is_none());
        let whole = train(3000, 1448);
        for len in [HEADER + 1, HEADER + 19, HEADER + 30, HEADER + 52] {
            assert!(Train::new(&whole[..len]).is_none(), "{len}");
        }
        let mut of_udp = whole;
        of_udp[HEADER + 9] = 17;
        assert!(Train::new(&of_udp).is_none());
    }
}
