//! How a link of packets is written down.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use haulage::units::{ByteRate, ByteSize, parse_duration};
use haulage::{Error, ErrorKind};

use crate::link::{milliseconds, print_duration, print_rate, rate};

const GRAMMAR: &str =
    "write something like rtt=80ms,total=200mbit,queue=50ms,loss=0.5%,jitter=2ms,seed=7,at=10s:total=2.3mbit";

/// A queue where none is given: what a wide-area router often holds.
const QUEUE: Duration = Duration::from_millis(100);

/// The largest packet of Ethernet.
const MTU: u16 = 1500;

/// IPv4 asks for this much.
const MTU_LEAST: u16 = 576;

/// How a link of packets behaves. Parses `rtt=80ms,total=200mbit,queue=50ms,loss=0.5%`; all parts may be left out:
///
/// | part | unit | what |
/// |---|---|---|
/// | `rtt` | time | round trip without a queue; half of it each way |
/// | `total`, `up`, `down` | rate | of both ways, or of one; default none |
/// | `conn` | rate | of each flow and direction, with a queue of its own |
/// | `police` | rate | of each flow and direction; what exceeds it is dropped, not queued |
/// | `queue` | time or bytes | at the rate; longer, and packets are dropped at its end; default 100 ms |
/// | `loss` | per cent | of the packets, each way |
/// | `burst` | packets | the mean length of a row of lost packets; default 1 |
/// | `jitter` | time | up to so much more delay; packets stay in order |
/// | `mtu` | bytes | largest packet; default 1500 |
/// | `control` | name | the congestion control of both ends, such as `cubic`; default the system's |
/// | `compete` | `up`, `down`, `both` | a bulk connection beside, from the start to the end |
/// | `seed` | number | of losses and jitter; default 0 |
/// | `at` | time | `at=10s:total=2mbit:loss=5%` changes `rtt`, rates and `loss` later |
///
/// Times of `at` count from the first packet.
///
/// ```
/// use haulage_emulator::PacketLinkSpec;
/// let link: PacketLinkSpec = "rtt=80ms,total=200mbit,queue=50ms,at=10s:total=2.3mbit".parse().unwrap();
/// assert_eq!(link.to_string(), "rtt=80ms,total=200mbit,queue=50ms,at=10s:total=2.3mbit");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PacketLinkSpec {
    /// What holds at first.
    pub first: PacketChange,
    /// The rate of each flow, with a queue of its own.
    pub flow: Option<ByteRate>,
    /// The rate of each flow above which packets are dropped.
    pub policed: Option<ByteRate>,
    /// How much may wait.
    pub queue: Queue,
    /// Mean length of a row of lost packets.
    pub burst: u32,
    /// Up to so much more delay.
    pub jitter: Duration,
    /// Largest packet in bytes.
    pub mtu: u16,
    /// Congestion control of both ends; the system's if none is named.
    pub control: Option<String>,
    /// Whether a bulk connection goes up, and one down, beside all else.
    pub compete: (bool, bool),
    /// Of losses and jitter.
    pub seed: u64,
    /// What changes later, in order of time; `after` zero is not among them.
    pub changes: Vec<(Duration, PacketChange)>,
}

/// What may change while the link is in use; `None` where it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PacketChange {
    /// Round trip without a queue.
    pub rtt: Option<Duration>,
    /// Rate towards the endpoint.
    pub up: Option<ByteRate>,
    /// Rate from the endpoint.
    pub down: Option<ByteRate>,
    /// Share of the packets that is lost, 0 to 1.
    pub loss: Option<f64>,
}

/// How much may wait at the rate before packets are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// As long as it takes to send.
    Time(Duration),
    /// So many bytes.
    Bytes(ByteSize),
}

impl Default for PacketLinkSpec {
    fn default() -> Self {
        Self {
            first: PacketChange::default(),
            flow: None,
            policed: None,
            queue: Queue::Time(QUEUE),
            burst: 1,
            jitter: Duration::ZERO,
            mtu: MTU,
            control: None,
            compete: (false, false),
            seed: 0,
            changes: Vec::new(),
        }
    }
}

impl PacketLinkSpec {
    /// What holds once `elapsed` has passed.
    pub(super) fn at(&self, elapsed: Duration) -> PacketChange {
        let mut now = self.first;
        for (_, change) in self.changes.iter().take_while(|(after, _)| *after <= elapsed) {
            now = PacketChange {
                rtt: change.rtt.or(now.rtt),
                up: change.up.or(now.up),
                down: change.down.or(now.down),
                loss: change.loss.or(now.loss),
            };
        }
        now
    }
}

impl FromStr for PacketLinkSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut link = Self::default();
        for item in text.split(',').filter(|item| !item.is_empty()) {
            let (key, value) =
                item.split_once('=').ok_or_else(|| bad(text, format!("'{item}' is not name=value")))?;
            link.set(text, key, value)?;
        }
        link.changes.sort_by_key(|(after, _)| *after);
        Ok(link)
    }
}

impl PacketLinkSpec {
    fn set(&mut self, text: &str, key: &str, value: &str) -> Result<(), Error> {
        match key {
            "conn" => self.flow = Some(rate(text, value)?),
            "police" => self.policed = Some(rate(text, value)?),
            "queue" => self.queue = queue(value)?,
            "burst" => self.burst = whole(text, key, value, 1, 10_000)?,
            "jitter" => self.jitter = milliseconds(value)?,
            "mtu" => self.mtu = whole(text, key, value, MTU_LEAST, u16::MAX)?,
            "control" => self.control = Some(control(text, value)?),
            "compete" => {
                self.compete = match value {
                    "up" => (true, false),
                    "down" => (false, true),
                    "both" => (true, true),
                    _ => return Err(bad(text, format!("'{value}' is not up, down or both"))),
                }
            }
            "seed" => self.seed = whole(text, key, value, 0, u64::MAX)?,
            "at" => {
                let (after, rest) = value
                    .split_once(':')
                    .ok_or_else(|| bad(text, format!("'at={value}' changes nothing")))?;
                let mut change = PacketChange::default();
                for item in rest.split(':') {
                    let (key, value) = item
                        .split_once('=')
                        .ok_or_else(|| bad(text, format!("'{item}' is not name=value")))?;
                    set_change(&mut change, text, key, value)?;
                }
                self.changes.push((parse_duration(after)?, change));
            }
            _ => set_change(&mut self.first, text, key, value)?,
        }
        Ok(())
    }
}

fn set_change(change: &mut PacketChange, text: &str, key: &str, value: &str) -> Result<(), Error> {
    match key {
        "rtt" => change.rtt = Some(milliseconds(value)?),
        "total" => {
            let rate = Some(rate(text, value)?);
            (change.up, change.down) = (rate, rate);
        }
        "up" => change.up = Some(rate(text, value)?),
        "down" => change.down = Some(rate(text, value)?),
        "loss" => change.loss = Some(share(text, value)?),
        _ => return Err(bad(text, format!("a link of packets has no '{key}'"))),
    }
    Ok(())
}

fn queue(value: &str) -> Result<Queue, Error> {
    match value.parse::<ByteSize>() {
        Ok(size) => Ok(Queue::Bytes(size)),
        Err(_) => parse_duration(value).map(Queue::Time),
    }
}

/// `0.5%`; never all, for then nothing could be measured.
fn share(text: &str, value: &str) -> Result<f64, Error> {
    let number = value.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    match number {
        Some(number) if (0.0..=90.0).contains(&number) => Ok(number / 100.0),
        _ => Err(bad(text, format!("'{value}' is not a share from 0% to 90%"))),
    }
}

fn whole<T: Copy + FromStr + PartialOrd + fmt::Display>(
    text: &str,
    key: &str,
    value: &str,
    least: T,
    most: T,
) -> Result<T, Error> {
    match value.parse::<T>() {
        Ok(number) if number >= least && number <= most => Ok(number),
        _ => Err(bad(text, format!("'{key}={value}' is not a number from {least} to {most}"))),
    }
}

/// The names of congestion controls are file names in the kernel.
fn control(text: &str, value: &str) -> Result<String, Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if value.is_empty() || value.len() > 15 || !value.chars().all(plain) {
        return Err(bad(text, format!("'{value}' is no congestion control")));
    }
    Ok(value.to_owned())
}

fn bad(text: &str, cause: String) -> Error {
    Error::new(ErrorKind::Usage, "parse link", text, cause).hint(GRAMMAR)
}

impl fmt::Display for PacketLinkSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut items = printed(&self.first);
        items.extend(self.flow.map(|rate| format!("conn={}", print_rate(rate))));
        items.extend(self.policed.map(|rate| format!("police={}", print_rate(rate))));
        match self.queue {
            Queue::Time(QUEUE) => {}
            Queue::Time(time) => items.push(format!("queue={}", print_duration(time))),
            Queue::Bytes(size) => items.push(format!("queue={}B", size.bytes())),
        }
        items.extend((self.burst != 1).then(|| format!("burst={}", self.burst)));
        items.extend((!self.jitter.is_zero()).then(|| format!("jitter={}", print_duration(self.jitter))));
        items.extend((self.mtu != MTU).then(|| format!("mtu={}", self.mtu)));
        items.extend(self.control.as_ref().map(|name| format!("control={name}")));
        items.extend(match self.compete {
            (false, false) => None,
            (true, false) => Some("compete=up".to_owned()),
            (false, true) => Some("compete=down".to_owned()),
            (true, true) => Some("compete=both".to_owned()),
        });
        items.extend((self.seed != 0).then(|| format!("seed={}", self.seed)));
        for (after, change) in &self.changes {
            items.push(format!("at={}:{}", print_duration(*after), printed(change).join(":")));
        }
        f.write_str(&items.join(","))
    }
}

fn printed(change: &PacketChange) -> Vec<String> {
    let mut items = Vec::new();
    items.extend(change.rtt.map(|rtt| format!("rtt={}", print_duration(rtt))));
    match (change.up, change.down) {
        (Some(up), Some(down)) if up == down => items.push(format!("total={}", print_rate(up))),
        (up, down) => {
            items.extend(up.map(|rate| format!("up={}", print_rate(rate))));
            items.extend(down.map(|rate| format!("down={}", print_rate(rate))));
        }
    }
    items.extend(change.loss.map(|loss| format!("loss={}%", loss * 100.0)));
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_packets_parse_and_print_back() {
        for text in [
            "",
            "rtt=80ms,total=200mbit,loss=0.5%,queue=50ms",
            "rtt=5ms,up=10mbit,down=50mbit,queue=65536B,burst=20,jitter=2ms,mtu=9000,control=cubic,seed=7",
            "conn=8mbit,police=9mbit,compete=both,at=2s:rtt=9ms:up=1mbit,at=3s:loss=5%",
        ] {
            assert_eq!(text.parse::<PacketLinkSpec>().unwrap().to_string(), text);
        }
        for bad in [
            "fast",
            "rtt=60",
            "total=0mbit",
            "loss=1",
            "loss=91%",
            "mtu=60",
            "at=10s",
            "compete=left",
            "odd=1ms",
            "control=../x",
            "seed=-1",
            "burst=0",
            "queue=-",
        ] {
            assert_eq!(bad.parse::<PacketLinkSpec>().unwrap_err().kind(), ErrorKind::Usage, "{bad}");
        }
    }

    #[test]
    fn changes_of_a_packet_link_keep_what_they_do_not_name() {
        let link: PacketLinkSpec = "rtt=10ms,total=40mbit,at=9s:loss=2%,at=5s:up=2mbit".parse().unwrap();
        let at = |seconds| link.at(Duration::from_secs(seconds));
        assert_eq!((at(4).up, at(4).loss), (Some(ByteRate::bits_per_second(40_000_000)), None));
        assert_eq!(at(5).up, Some(ByteRate::bits_per_second(2_000_000)));
        assert_eq!((at(9).down, at(9).loss), (Some(ByteRate::bits_per_second(40_000_000)), Some(0.02)));
        assert_eq!(at(9).rtt, Some(Duration::from_millis(10)));
    }
}
