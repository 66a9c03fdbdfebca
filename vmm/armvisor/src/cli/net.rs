// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The syntax of networks and of forwarded ports on the command line.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use super::devices::key_values;
use crate::outcome::Refusal;

/// `--net`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetArg {
    /// What the device is connected to.
    pub to: NetTo,
    /// The guest's MAC address. If None, the VMM chooses one.
    pub mac: Option<[u8; 6]>,
}

/// What a network device is connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetTo {
    /// The host's tap interface of this name.
    Tap(String),
    /// A passt of this VM's own.
    Passt {
        /// The guest reaches the host's loopback by the address of its gateway.
        host: bool,
    },
}

impl NetTo {
    /// For the subject of a message.
    pub fn subject(&self) -> String {
        match self {
            NetTo::Tap(name) => format!("TAP {name}"),
            NetTo::Passt { .. } => "--net passt".into(),
        }
    }
}

/// IFNAMSIZ with its NUL.
const MAX_TAP: usize = 15;
const FORM: &str = "write passt[,host][,mac=MAC] or tap=NAME[,mac=MAC]";

impl FromStr for NetArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if ["user", "slirp"].contains(&text) {
            return Err("is passt here; write passt".into());
        }
        let (passt, rest) = match text.split_once(',') {
            Some((first, rest)) => (first == "passt", Some(rest).filter(|_| first == "passt")),
            None => (text == "passt", None),
        };
        if !passt && !text.contains(['=', ',']) {
            return Err(format!("lacks a key; write tap={text}, or passt"));
        }
        let (host, rest) = match rest {
            Some("host") => (true, None),
            Some(rest) => match rest.strip_prefix("host,").or(rest.strip_suffix(",host")) {
                Some(rest) => (true, Some(rest)),
                None => (false, Some(rest)),
            },
            None => (false, None),
        };
        let pairs = match (passt, rest) {
            (true, None) => Vec::new(),
            (true, Some(rest)) => key_values(rest, FORM)?,
            (false, _) => key_values(text, FORM)?,
        };
        let (mut tap, mut mac) = (None, None);
        for (key, value) in pairs {
            match key {
                "tap" if passt => return Err(format!("is a TAP and passt; {FORM}")),
                "tap" if tap.is_none() => tap = Some(parse_tap(value)?),
                "mac" if mac.is_none() => mac = Some(parse_mac(value)?),
                "tap" | "mac" => return Err(format!("has '{key}=' twice; {FORM}")),
                _ => return Err(format!("has no '{key}='; {FORM}")),
            }
        }
        let to = match (passt, tap) {
            (true, _) => NetTo::Passt { host },
            (false, Some(name)) => NetTo::Tap(name),
            (false, None) => return Err(format!("names no network; {FORM}")),
        };
        Ok(NetArg { to, mac })
    }
}

/// `--publish`: a port of the host that leads to one of the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Publish {
    /// The host's address; None for all of them.
    pub address: Option<IpAddr>,
    /// The host's port.
    pub port: u16,
    /// The guest's port.
    pub guest: u16,
    /// UDP, else TCP.
    pub udp: bool,
}

impl FromStr for Publish {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write [ADDRESS:]PORT:GUEST_PORT[/udp], such as 8080:80";
        let (rest, udp) = match text.split_once('/') {
            None => (text, false),
            Some((rest, "tcp")) => (rest, false),
            Some((rest, "udp")) => (rest, true),
            Some((_, other)) => return Err(format!("has no protocol '{other}'; write udp or tcp")),
        };
        let port = |text: &str| match text.parse::<u16>() {
            Ok(port) if port != 0 && !text.starts_with('+') => Ok(port),
            _ => Err(format!("'{text}' is not a port from 1 to 65535; {FORM}")),
        };
        let (rest, guest) = rest
            .rsplit_once(':')
            .ok_or_else(|| format!("lacks the guest's port; {FORM}"))?;
        let (address, host) = match rest.rsplit_once(':') {
            None => (None, rest),
            Some((address, host)) => (Some(parse_address(address)?), host),
        };
        Ok(Publish {
            address,
            port: port(host)?,
            guest: port(guest)?,
            udp,
        })
    }
}

/// As it is written on the command line.
impl fmt::Display for Publish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            None => {}
            Some(IpAddr::V4(address)) => write!(f, "{address}:")?,
            Some(IpAddr::V6(address)) => write!(f, "[{address}]:")?,
        }
        let udp = if self.udp { "/udp" } else { "" };
        write!(f, "{}:{}{udp}", self.port, self.guest)
    }
}

/// IPv6 in brackets, as it has colons of its own.
fn parse_address(text: &str) -> Result<IpAddr, String> {
    let bracketed = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let address = match bracketed {
        Some(inside) => inside.parse::<Ipv6Addr>().map(IpAddr::V6).ok(),
        None => text.parse().ok().filter(IpAddr::is_ipv4),
    };
    address.ok_or_else(|| {
        format!("'{text}' is not an address; write one as 127.0.0.1, or with brackets as [::1]")
    })
}

/// Several `--net` must be different devices, and published ports need a passt that has them.
pub fn check_nets(nets: &[NetArg], publish: &[Publish]) -> Result<(), Refusal> {
    for (index, net) in nets.iter().enumerate() {
        let before = &nets[..index];
        let (subject, twice) = match &net.to {
            NetTo::Tap(tap) => (
                format!("--net tap={tap}"),
                before.iter().any(|other| other.to == net.to),
            ),
            NetTo::Passt { .. } => (
                "--net passt".into(),
                before
                    .iter()
                    .any(|other| matches!(other.to, NetTo::Passt { .. })),
            ),
        };
        if twice {
            let problem = match net.to {
                NetTo::Tap(_) => {
                    "given twice; a TAP serves one device, so give each its own".to_owned()
                }
                NetTo::Passt { .. } => "given twice; give it once".to_owned(),
            };
            return Err(Refusal::usage(subject, problem));
        }
        if net.mac.is_some() && before.iter().any(|other| other.mac == net.mac) {
            let problem = "has the MAC of an earlier --net; give it one of its own";
            return Err(Refusal::usage(subject, problem));
        }
    }
    let has_passt = nets.iter().any(|net| matches!(net.to, NetTo::Passt { .. }));
    for (index, one) in publish.iter().enumerate() {
        let refuse = |problem| Err(Refusal::usage("--publish", format!("'{one}' {problem}")));
        if !has_passt {
            return refuse("needs '--net passt'; add it");
        }
        // passt has one table for each protocol, by port: of two entries the later one would win.
        let place = |it: &Publish| (it.port, it.udp);
        if publish[..index].iter().any(|it| place(it) == place(one)) {
            return refuse(
                "has a port of the host that is published already, which counts for all addresses; choose another",
            );
        }
    }
    Ok(())
}

fn parse_tap(name: &str) -> Result<String, String> {
    let bad = |c: char| c == '/' || c.is_whitespace() || c.is_control();
    if name.is_empty() || name.len() > MAX_TAP || name.contains(bad) {
        return Err(format!(
            "'{name}' cannot be the name of a TAP; write 1 to {MAX_TAP} characters without '/' and blanks"
        ));
    }
    Ok(name.to_owned())
}

fn parse_mac(text: &str) -> Result<[u8; 6], String> {
    let wrong = || format!("'{text}' is not a MAC; write one as 52:54:00:12:34:56");
    let mut mac = [0; 6];
    let mut parts = text.split(':');
    for byte in &mut mac {
        let part = parts
            .next()
            .filter(|part| part.len() == 2)
            .ok_or_else(wrong)?;
        *byte = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
    }
    if parts.next().is_some() {
        return Err(wrong());
    }
    if mac[0] & 1 != 0 || mac == [0; 6] {
        return Err(format!(
            "{text} is not the address of one device; its first byte must be even"
        ));
    }
    Ok(mac)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(nets: &[&str], publish: &[&str]) -> Result<(), String> {
        let nets: Vec<NetArg> = nets.iter().map(|net| net.parse().unwrap()).collect();
        let ports: Vec<Publish> = publish.iter().map(|port| port.parse().unwrap()).collect();
        check_nets(&nets, &ports).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn two_nets_are_two_devices() {
        check(&["tap=a", "tap=b", "passt"], &[]).unwrap();
        let (one, two) = ("tap=a,mac=52:54:00:00:00:01", "passt,mac=52:54:00:00:00:01");
        for (nets, sentence) in [
            (["tap=a", "tap=a"], "--net tap=a: given twice; a TAP serves"),
            (["passt", "passt,host"], "--net passt: given twice; "),
            ([one, two], "--net passt: has the MAC of an earlier"),
        ] {
            let refusal = check(&nets, &[]).unwrap_err();
            assert!(refusal.starts_with(sentence), "{refusal}");
        }
    }

    #[test]
    fn a_port_is_published_once_and_needs_passt() {
        let all = ["80:80", "80:80/udp", "127.0.0.1:81:80", "[::1]:82:80"];
        check(&["passt"], &all).unwrap();
        let refusal = check(&["tap=a"], &["8080:80"]).unwrap_err();
        assert!(refusal.starts_with("--publish: '8080:80' needs '--net passt'"));
        for (one, two) in [
            ("1:2", "1:3"),
            ("1:2", "127.0.0.1:1:2"),
            ("127.0.0.1:1:2", "[::1]:1:3"),
            ("127.0.0.1:1:2/udp", "127.0.0.2:1:2/udp"),
        ] {
            let refusal = check(&["passt"], &[one, two]).unwrap_err();
            let sentence = format!("--publish: '{two}' has a port of the host that is published");
            assert!(refusal.starts_with(&sentence), "{refusal}");
        }
    }

    #[test]
    fn the_forms_of_a_network() {
        let mac = Some([0x52, 0x54, 0, 0xab, 0xcd, 0xef]);
        for (text, host, mac) in [
            ("passt", false, None),
            ("passt,host", true, None),
            ("passt,mac=52:54:00:ab:cd:ef", false, mac),
            ("passt,host,mac=52:54:00:ab:cd:ef", true, mac),
            ("passt,mac=52:54:00:ab:cd:ef,host", true, mac),
        ] {
            let to = NetTo::Passt { host };
            assert_eq!(text.parse(), Ok(NetArg { to, mac }), "{text}");
        }
        for (text, sentence) in [
            ("user", "is passt here; write passt"),
            ("slirp", "write passt"),
            (
                "passt,",
                "'' is not KEY=VALUE; write passt[,host][,mac=MAC] or ",
            ),
            ("passt,guest", "'guest' is not KEY=VALUE"),
            ("passt,tap=a", "is a TAP and passt"),
            ("passt,host=1", "has no 'host='"),
            ("tap=a,host", "'host' is not KEY=VALUE"),
            ("passt,mac=1", "is not a MAC"),
        ] {
            let said = text.parse::<NetArg>().unwrap_err();
            assert!(said.contains(sentence), "{text}: {said}");
        }
    }

    #[test]
    fn a_published_port_is_written_as_it_was_read() {
        for text in [
            "8080:80",
            "1:65535/udp",
            "127.0.0.1:8080:80",
            "[::1]:53:5353/udp",
        ] {
            assert_eq!(text.parse::<Publish>().unwrap().to_string(), text);
        }
        assert_eq!("1:2/tcp".parse::<Publish>(), "1:2".parse());
        for (text, sentence) in [
            (
                "80",
                "lacks the guest's port; write [ADDRESS:]PORT:GUEST_PORT",
            ),
            ("80:", "'' is not a port"),
            ("0:80", "'0' is not a port from 1 to 65535"),
            ("80:65536", "'65536' is not a port"),
            ("+80:80", "'+80' is not a port"),
            ("80:80/sctp", "has no protocol 'sctp'"),
            ("host:80:80", "'host' is not an address"),
            ("::1:80:80", "'::1' is not an address"),
            ("[127.0.0.1]:80:80", "with brackets as [::1]"),
            (":80:80", "'' is not an address"),
        ] {
            let said = text.parse::<Publish>().unwrap_err();
            assert!(said.contains(sentence), "{text}: {said}");
        }
    }
}
