// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The syntax of disks, networks and socket devices on the command line.

use std::path::PathBuf;
use std::str::FromStr;

use armvisor_devices::net::how_to_make_a_tap;

use crate::outcome::Refusal;

/// One `--disk`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskArg {
    /// The image: a regular file or a block device.
    pub path: PathBuf,
    /// The guest may only read (VIRTIO_BLK_F_RO).
    pub read_only: bool,
    /// The user says so, whatever it looks like.
    pub raw: bool,
}

impl FromStr for DiskArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write PATH[,ro][,raw]";
        // The syntax of other programs.
        if let Some((key @ ("path" | "file"), path)) = text.split_once('=') {
            return Err(format!(
                "has no '{key}='; write '{path}' (a file of that name is './{text}')"
            ));
        }
        let (mut path, mut read_only, mut raw) = (text, false, false);
        loop {
            path = if let Some(rest) = path.strip_suffix(",ro") {
                read_only = true;
                rest
            } else if let Some(rest) = path.strip_suffix(",raw") {
                raw = true;
                rest
            } else {
                break;
            };
        }
        if path.is_empty() {
            return Err(format!("names no file; {FORM}"));
        }
        Ok(DiskArg {
            path: path.into(),
            read_only,
            raw,
        })
    }
}

/// `--net`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetArg {
    /// Name of the host's tap interface.
    pub tap: String,
    /// The guest's MAC address. If None, the VMM chooses one.
    pub mac: Option<[u8; 6]>,
}

/// IFNAMSIZ with its NUL.
const MAX_TAP: usize = 15;

impl FromStr for NetArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write tap=NAME[,mac=MAC]";
        match text {
            "user" | "slirp" | "passt" => {
                return Err(format!(
                    "armvisor has no user networking; write tap=tap0, made with '{}'",
                    how_to_make_a_tap("tap0")
                ));
            }
            name if !name.contains(['=', ',']) => {
                return Err(format!("lacks a key; write tap={name}"));
            }
            _ => {}
        }
        let (mut tap, mut mac) = (None, None);
        for (key, value) in key_values(text, FORM)? {
            match key {
                "tap" if tap.is_none() => tap = Some(parse_tap(value)?),
                "mac" if mac.is_none() => mac = Some(parse_mac(value)?),
                "tap" | "mac" => return Err(format!("has '{key}=' twice; {FORM}")),
                _ => return Err(format!("has no '{key}='; {FORM}")),
            }
        }
        let tap = tap.ok_or_else(|| format!("names no TAP; {FORM}"))?;
        Ok(NetArg { tap, mac })
    }
}

/// Several `--net` must be different devices.
pub fn check_nets(nets: &[NetArg]) -> Result<(), Refusal> {
    for (index, net) in nets.iter().enumerate() {
        let before = &nets[..index];
        let subject = format!("--net tap={}", net.tap);
        if before.iter().any(|other| other.tap == net.tap) {
            let problem = "given twice; a TAP serves one device, so give each its own";
            return Err(Refusal::usage(subject, problem));
        }
        if net.mac.is_some() && before.iter().any(|other| other.mac == net.mac) {
            let problem = "has the MAC of an earlier --net; give it one of its own";
            return Err(Refusal::usage(subject, problem));
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

/// `--vsock`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VsockArg {
    /// The guest's context ID (virtio 5.10.4).
    pub cid: u32,
    /// Path of the Unix socket for connections from the host. Connections from the guest go to PATH_PORT.
    pub uds: PathBuf,
}

impl FromStr for VsockArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write cid=N,uds=PATH";
        let (mut cid, mut uds) = (None, None);
        for (key, value) in key_values(text, FORM)? {
            match key {
                "cid" if cid.is_none() => cid = Some(parse_cid(value)?),
                "uds" if uds.is_none() && !value.is_empty() => uds = Some(PathBuf::from(value)),
                "uds" if value.is_empty() => return Err(format!("names no socket; {FORM}")),
                "cid" | "uds" => return Err(format!("has '{key}=' twice; {FORM}")),
                _ => return Err(format!("has no '{key}='; {FORM}")),
            }
        }
        match (cid, uds) {
            (Some(cid), Some(uds)) => Ok(VsockArg { cid, uds }),
            (None, _) => Err(format!("lacks cid=; {FORM}")),
            _ => Err(format!("lacks uds=; {FORM}")),
        }
    }
}

/// 0 to 2 are the hypervisor, loopback and the host; the last one means "any".
fn parse_cid(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(cid) if cid > 2 && cid != u32::MAX => Ok(cid),
        _ => Err("has no CID that a guest can have; write a number from 3 to 4294967294".into()),
    }
}

fn key_values<'a>(text: &'a str, form: &str) -> Result<Vec<(&'a str, &'a str)>, String> {
    text.split(',')
        .map(|part| {
            part.split_once('=')
                .ok_or_else(|| format!("'{part}' is not KEY=VALUE; {form}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_nets_are_two_devices() {
        let check = |nets: [&str; 2]| check_nets(&nets.map(|net| net.parse().unwrap()));
        assert!(check(["tap=a", "tap=b"]).is_ok());
        let refusal = check(["tap=a", "tap=a"]).unwrap_err();
        assert!(refusal.to_string().contains("given twice"), "{refusal}");
        let mac = "mac=52:54:00:00:00:01";
        let refusal = check([&format!("tap=a,{mac}"), &format!("tap=b,{mac}")]).unwrap_err();
        assert!(
            refusal.to_string().contains("MAC of an earlier"),
            "{refusal}"
        );
    }
}
