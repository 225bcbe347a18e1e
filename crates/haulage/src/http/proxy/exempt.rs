//! Hosts that are reached without a proxy: those of `NO_PROXY`, and those that are near by nature.

use std::net::IpAddr;

use crate::http::origin::Origin;

/// What `NO_PROXY` lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Exempt(Vec<Rule>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    hosts: Hosts,
    /// Every port, where none is named.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hosts {
    All,
    /// This host and those below it.
    Below(String),
    /// The addresses that begin with so many bits of this one.
    Net(IpAddr, u32),
}

/// Whether the host is this machine, or on its own link as the metadata service is: no proxy means the same host by that
/// address.
pub(super) fn is_near(origin: &Origin) -> bool {
    origin.is_loopback()
        || match origin.ip().map(|ip| ip.to_canonical()) {
            Some(IpAddr::V4(ip)) => ip.is_loopback() || ip.is_link_local(),
            Some(IpAddr::V6(ip)) => ip.is_unicast_link_local(),
            None => false,
        }
}

impl Exempt {
    /// Reads a list with commas or spaces between. What makes no sense in it covers nothing, as with other programs.
    pub(super) fn parse(list: &str) -> Self {
        Self(list.split([',', ' ', '\t', '\n']).filter_map(Rule::parse).collect())
    }

    /// Whether the list covers this origin. Names are compared as they are written, never looked up.
    pub(super) fn covers(&self, origin: &Origin) -> bool {
        self.0.iter().any(|rule| rule.covers(origin))
    }
}

impl Rule {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text == "*" {
            return Some(Self { hosts: Hosts::All, port: None });
        }
        let (host, port) = split_port(text)?;
        let hosts = match host.split_once('/') {
            Some((address, bits)) => net(address.parse().ok()?, Some(bits.parse().ok()?))?,
            None => match host.parse() {
                Ok(address) => net(address, None)?,
                Err(_) => name(host)?,
            },
        };
        Some(Self { hosts, port })
    }

    fn covers(&self, origin: &Origin) -> bool {
        if self.port.is_some_and(|port| port != origin.port()) {
            return false;
        }
        match (&self.hosts, origin.ip().map(|ip| ip.to_canonical())) {
            (Hosts::All, _) => true,
            (Hosts::Net(net, bits), Some(ip)) => is_within(ip, *net, *bits),
            (Hosts::Below(name), None) => {
                let host = origin.host().trim_end_matches('.');
                host.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            }
            _ => false,
        }
    }
}

/// `host`, `host:port`, `[address]`, `[address]:port` or an IPv6 address without brackets.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, after) = rest.split_once(']')?;
        return match after.strip_prefix(':') {
            Some(port) => Some((host, Some(port.parse().ok()?))),
            None => after.is_empty().then_some((host, None)),
        };
    }
    match text.split_once(':') {
        Some((host, port)) if !port.contains(':') => Some((host, Some(port.parse().ok()?))),
        _ => Some((text, None)),
    }
}

fn net(address: IpAddr, bits: Option<u32>) -> Option<Hosts> {
    let all = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.unwrap_or(all);
    match address.to_canonical() {
        _ if bits > all => None,
        // An IPv4 address that is written as one of IPv6.
        IpAddr::V4(v4) if all == 128 => Some(Hosts::Net(v4.into(), bits.checked_sub(96)?)),
        address => Some(Hosts::Net(address, bits)),
    }
}

/// A name, with or without a dot or `*.` before it and a dot behind it.
fn name(text: &str) -> Option<Hosts> {
    let bare = text.strip_prefix('*').unwrap_or(text);
    let bare = bare.trim_matches('.').to_ascii_lowercase();
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    (!bare.is_empty() && bare.chars().all(allowed)).then_some(Hosts::Below(bare))
}

fn is_within(address: IpAddr, net: IpAddr, bits: u32) -> bool {
    // All bits are shifted out where none is compared.
    match (address, net) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            (a.to_bits() ^ b.to_bits()).checked_shr(32 - bits).unwrap_or(0) == 0
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => {
            (a.to_bits() ^ b.to_bits()).checked_shr(128 - bits).unwrap_or(0) == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(list: &str, authority: &str) -> bool {
        Exempt::parse(list).covers(&Origin::parse("https", authority).unwrap())
    }

    #[test]
    fn names_cover_themselves_and_what_is_below_them() {
        for (list, authority, covered) in [
            ("example.com", "example.com", true),
            ("example.com", "a.b.EXAMPLE.com", true),
            ("example.com", "badexample.com", false),
            ("example.com", "example.com.evil.org", false),
            (".example.com", "a.example.com", true),
            (".example.com", "example.com", true),
            ("*.example.com", "a.example.com", true),
            ("Example.COM.", "a.example.com.", true),
            ("other, example.com", "example.com", true),
            ("other example.com", "example.com", true),
            (" ,, ", "example.com", false),
            ("", "example.com", false),
            ("*", "anything", true),
            ("*", "[2001:db8::1]:8443", true),
            ("ex*mple.com", "example.com", false),
            ("https://example.com", "example.com", false),
        ] {
            assert_eq!(covers(list, authority), covered, "{list} {authority}");
        }
    }

    #[test]
    fn a_port_is_part_of_a_rule() {
        for (list, authority, covered) in [
            ("example.com:443", "example.com", true),
            ("example.com:8443", "example.com", false),
            ("example.com:8443", "a.example.com:8443", true),
            ("example.com:x", "example.com", false),
            ("10.0.0.1:8443", "10.0.0.1:8443", true),
            ("10.0.0.1:8443", "10.0.0.1", false),
            ("[2001:db8::1]:8443", "[2001:db8::1]:8443", true),
            ("[2001:db8::1]:8443", "[2001:db8::1]", false),
        ] {
            assert_eq!(covers(list, authority), covered, "{list} {authority}");
        }
    }

    #[test]
    fn addresses_and_nets_cover_addresses_only() {
        for (list, authority, covered) in [
            ("10.0.0.0/8", "10.200.3.4", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("192.168.5.7/24", "192.168.5.200", true),
            ("192.168.5.128/25", "192.168.5.1", false),
            ("10.1.2.3", "10.1.2.3", true),
            ("10.1.2.3", "10.1.2.4", false),
            ("10.1.2.3/32", "10.1.2.3", true),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "[2001:db8::1]", false),
            ("2001:db8::/32", "[2001:db8:1::1]", true),
            ("2001:db8::/32", "[2001:db9::1]", false),
            ("[2001:db8::1]", "[2001:db8::1]", true),
            ("2001:db8::1", "[2001:db8::1]", true),
            ("::/0", "[2001:db8::1]", true),
            ("10.0.0.0/8", "[::ffff:10.1.1.1]", true),
            ("::ffff:10.0.0.0/104", "10.1.1.1", true),
            ("10.0.0.0/33", "10.0.0.0", false),
            ("10.0.0.0/x", "10.0.0.0", false),
            ("2001:db8::/129", "[2001:db8::]", false),
            // A name that looks up to an address of the net is still a name.
            ("10.0.0.0/8", "ten.example.com", false),
            // The end of an address is no domain.
            ("0.0.1", "10.0.0.1", false),
        ] {
            assert_eq!(covers(list, authority), covered, "{list} {authority}");
        }
    }

    #[test]
    fn this_machine_and_its_link_are_near() {
        for (authority, near) in [
            ("localhost", true),
            ("a.localhost", true),
            ("127.1.2.3", true),
            ("[::1]", true),
            ("[::ffff:127.0.0.1]", true),
            ("169.254.169.254", true),
            ("169.254.170.2", true),
            ("[fe80::1]", true),
            ("169.255.0.1", false),
            ("10.0.0.1", false),
            ("localhost.example.com", false),
        ] {
            assert_eq!(is_near(&Origin::parse("http", authority).unwrap()), near, "{authority}");
        }
    }
}
