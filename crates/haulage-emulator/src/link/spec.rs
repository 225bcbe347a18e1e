//! How a link is written down.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use haulage::units::{ByteRate, parse_duration};
use haulage::{Error, ErrorKind};

use super::Conditions;

const GRAMMAR: &str =
    "write wan, lan, none, or something like rtt=60ms,conn=20mbit,total=1gbit,at=10s:total=2.3mbit";
const WAN: &str = "rtt=60ms,conn=20mbit,total=1gbit";
const LAN: &str = "rtt=0.5ms,total=10gbit";

/// How a link behaves. Parses `rtt=60ms,conn=20mbit,total=1gbit,at=10s:total=2.3mbit`, where
/// `at=` may come more than once and may change `rtt`, `conn` and `total` (`at=5s:rtt=9ms:conn=1mbit`),
/// and the names `wan` (`rtt=60ms,conn=20mbit,total=1gbit`), `lan` (`rtt=0.5ms,total=10gbit`) and
/// `none`. Rates hold for each direction. Times count from the first connection accepted.
///
/// ```
/// use haulage_emulator::LinkSpec;
/// let link: LinkSpec = "wan,at=10s:total=2.3mbit".parse().unwrap();
/// assert_eq!(link.to_string(), "rtt=60ms,conn=20mbit,total=1gbit,at=10s:total=2.3mbit");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkSpec {
    /// The round trip; zero adds none.
    pub rtt: Duration,
    /// The rate of each connection, if limited.
    pub connection: Option<ByteRate>,
    /// The rate of all connections together, if limited.
    pub total: Option<ByteRate>,
    /// What changes later, in order of time.
    pub changes: Vec<LinkChange>,
}

/// A change of the link while it is in use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkChange {
    /// When, counted from the first connection accepted.
    pub after: Duration,
    /// The new round trip, if it changes.
    pub rtt: Option<Duration>,
    /// The new rate of each connection, if it changes.
    pub connection: Option<ByteRate>,
    /// The new rate of all connections together, if it changes.
    pub total: Option<ByteRate>,
}

impl LinkSpec {
    /// Whether the link shapes nothing.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// What holds once `elapsed` has passed.
    pub(crate) fn conditions(&self, elapsed: Duration) -> Conditions {
        let (mut rtt, mut connection, mut total) = (self.rtt, self.connection, self.total);
        for change in self.changes.iter().take_while(|change| change.after <= elapsed) {
            rtt = change.rtt.unwrap_or(rtt);
            connection = change.connection.or(connection);
            total = change.total.or(total);
        }
        let bytes = |rate: ByteRate| rate.bytes_per_second();
        Conditions { rtt, connection: connection.map(bytes), total: total.map(bytes) }
    }
}

impl FromStr for LinkSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut link = Self::default();
        let mut first = LinkChange::default();
        for (index, item) in text.split(',').enumerate() {
            match item {
                "" | "none" if index == 0 => {}
                "wan" if index == 0 => first = settings(text, WAN.split(','))?,
                "lan" if index == 0 => first = settings(text, LAN.split(','))?,
                _ => match item.strip_prefix("at=") {
                    Some(change) => link.changes.push(self::change(text, change)?),
                    None => set(&mut first, text, item)?,
                },
            }
        }
        link.changes.sort_by_key(|change| change.after);
        link.rtt = first.rtt.unwrap_or_default();
        (link.connection, link.total) = (first.connection, first.total);
        Ok(link)
    }
}

/// A round trip, of which a bare number most likely counts milliseconds.
pub(crate) fn milliseconds(text: &str) -> Result<Duration, Error> {
    parse_duration(text).map_err(|error| match text.parse::<f64>() {
        Ok(_) => error.hint(format!("write {text}ms")),
        Err(_) => error,
    })
}

/// Reads `10s:total=2.3mbit:rtt=90ms`.
fn change(text: &str, change: &str) -> Result<LinkChange, Error> {
    let (after, rest) =
        change.split_once(':').ok_or_else(|| bad(text, format!("'at={change}' changes nothing")))?;
    let after = parse_duration(after)?;
    Ok(LinkChange { after, ..settings(text, rest.split(':'))? })
}

fn settings<'a>(text: &str, items: impl Iterator<Item = &'a str>) -> Result<LinkChange, Error> {
    let mut settings = LinkChange::default();
    for item in items {
        set(&mut settings, text, item)?;
    }
    Ok(settings)
}

fn set(settings: &mut LinkChange, text: &str, item: &str) -> Result<(), Error> {
    let (key, value) =
        item.split_once('=').ok_or_else(|| bad(text, format!("'{item}' is not name=value")))?;
    match key {
        "rtt" => settings.rtt = Some(milliseconds(value)?),
        "conn" => settings.connection = Some(rate(text, value)?),
        "total" => settings.total = Some(rate(text, value)?),
        _ => return Err(bad(text, format!("a link has no '{key}'"))),
    }
    Ok(())
}

/// A rate above zero: at zero nothing would ever move, which is what stalls are for.
pub(crate) fn rate(text: &str, value: &str) -> Result<ByteRate, Error> {
    let rate: ByteRate = value.parse()?;
    if rate.bits() < 8 { Err(bad(text, format!("'{value}' moves nothing"))) } else { Ok(rate) }
}

fn bad(text: &str, cause: String) -> Error {
    Error::new(ErrorKind::Usage, "parse link", text, cause).hint(GRAMMAR)
}

impl fmt::Display for LinkSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() {
            return f.write_str("none");
        }
        let rtt = (!self.rtt.is_zero()).then_some(self.rtt);
        let mut items = printed(rtt, self.connection, self.total, ",");
        for LinkChange { after, rtt, connection, total } in &self.changes {
            let comma = if items.is_empty() { "" } else { "," };
            let change = printed(*rtt, *connection, *total, ":");
            items += &format!("{comma}at={}:{change}", print_duration(*after));
        }
        f.write_str(&items)
    }
}

fn printed(
    rtt: Option<Duration>,
    connection: Option<ByteRate>,
    total: Option<ByteRate>,
    separator: &str,
) -> String {
    let rtt = rtt.map(|rtt| format!("rtt={}", print_duration(rtt)));
    let connection = connection.map(|rate| format!("conn={}", print_rate(rate)));
    let total = total.map(|rate| format!("total={}", print_rate(rate)));
    [rtt, connection, total].into_iter().flatten().collect::<Vec<_>>().join(separator)
}

/// Up to here a number survives being written with a fraction.
const FRACTION_MAX: u64 = 1 << 50;

/// Exact, so that what is printed reads back as the same link.
pub(crate) fn print_duration(duration: Duration) -> String {
    match duration.as_nanos() {
        nanos if nanos % 1_000_000_000 == 0 => format!("{}s", nanos / 1_000_000_000),
        nanos if nanos % 1_000 == 0 && nanos < FRACTION_MAX.into() => format!("{}ms", nanos as f64 / 1e6),
        nanos => format!("{nanos}ns"),
    }
}

/// Exact, like [`print_duration`].
pub(crate) fn print_rate(rate: ByteRate) -> String {
    match rate.bits() {
        bits if bits >= FRACTION_MAX => format!("{bits}bit"),
        bits if bits >= 1_000_000_000 && bits % 100_000_000 == 0 => format!("{}gbit", bits as f64 / 1e9),
        bits if bits % 1_000 == 0 => format!("{}mbit", bits as f64 / 1e6),
        bits => format!("{bits}bit"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn links_parse_and_print_back() {
        for text in [
            "none",
            "rtt=60ms,conn=20mbit,total=1gbit,at=10s:total=2.3mbit",
            "total=500mbit",
            "rtt=0.5ms",
            "at=2s:total=1mbit",
            "conn=5mbit,at=1s:rtt=90ms:conn=1mbit:total=3mbit,at=2s:conn=9mbit",
        ] {
            assert_eq!(text.parse::<LinkSpec>().unwrap().to_string(), text);
        }
        assert_eq!("wan".parse::<LinkSpec>().unwrap().to_string(), WAN);
        assert_eq!("lan".parse::<LinkSpec>().unwrap().to_string(), LAN);
        for bad in
            ["fast", "rtt=60", "total=0mbit", "at=10s", "at=10:total=1mbit", "odd=1ms", "total=1gbit,wan"]
        {
            assert_eq!(bad.parse::<LinkSpec>().unwrap_err().kind(), ErrorKind::Usage, "{bad}");
        }
    }

    #[test]
    fn changes_take_effect_in_their_turn() {
        let link: LinkSpec = "wan,at=20s:rtt=1s,at=10s:total=2.3mbit".parse().unwrap();
        let at = |seconds| link.conditions(Duration::from_secs(seconds));
        assert_eq!(at(9).total, Some(125e6));
        assert_eq!((at(10).total, at(10).rtt), (Some(287_500.0), Duration::from_millis(60)));
        assert_eq!((at(20).total, at(20).rtt), (Some(287_500.0), Duration::from_secs(1)));
    }

    proptest! {
        #[test]
        fn every_link_reads_back_as_itself(rtt in 0u64..10_000_000_000, bits in 8u64.., after in any::<u64>()) {
            let rate = Some(ByteRate::bits_per_second(bits));
            let change = LinkChange { after: Duration::from_nanos(after), total: rate, ..LinkChange::default() };
            let link = LinkSpec { rtt: Duration::from_nanos(rtt), connection: rate, total: None, changes: vec![change] };
            prop_assert_eq!(link.to_string().parse::<LinkSpec>().unwrap(), link);
        }
    }
}
