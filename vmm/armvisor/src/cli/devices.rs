// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! How a disk, a network and a socket device are written on the command line.

use std::path::PathBuf;
use std::str::FromStr;

use crate::outcome::Refusal;

/// One `--disk`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskArg {
    pub path: PathBuf,
    pub read_only: bool,
    /// The user says so, whatever it looks like.
    pub raw: bool,
}

impl FromStr for DiskArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
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
            return Err("names no file".into());
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
    pub tap: String,
    pub mac: Option<[u8; 6]>,
}

/// IFNAMSIZ with its NUL.
const MAX_TAP: usize = 15;

impl FromStr for NetArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut tap, mut mac) = (None, None);
        for (key, value) in key_values(text)? {
            match key {
                "tap" if tap.is_none() => tap = Some(parse_tap(value)?),
                "mac" if mac.is_none() => mac = Some(parse_mac(value)?),
                _ => {
                    return Err(format!(
                        "does not know '{key}' here; write tap=NAME[,mac=MAC]"
                    ));
                }
            }
        }
        let tap = tap.ok_or("names no TAP; write tap=NAME[,mac=MAC]")?;
        Ok(NetArg { tap, mac })
    }
}

/// Several `--net` must be different devices.
pub fn check_nets(nets: &[NetArg]) -> Result<(), Refusal> {
    for (index, net) in nets.iter().enumerate() {
        let before = &nets[..index];
        if before.iter().any(|other| other.tap == net.tap) {
            return Err(Refusal::usage(format!(
                "--net tap={}: given twice; a TAP serves one device",
                net.tap
            )));
        }
        if net.mac.is_some() && before.iter().any(|other| other.mac == net.mac) {
            return Err(Refusal::usage(format!(
                "--net tap={}: has the MAC of an earlier --net; give it one of its own",
                net.tap
            )));
        }
    }
    Ok(())
}

fn parse_tap(name: &str) -> Result<String, String> {
    let bad = |c: char| c == '/' || c.is_whitespace() || c.is_control();
    if name.is_empty() || name.len() > MAX_TAP || name.contains(bad) {
        return Err(format!(
            "'{}' cannot be the name of a TAP",
            name.escape_debug()
        ));
    }
    Ok(name.to_owned())
}

fn parse_mac(text: &str) -> Result<[u8; 6], String> {
    let wrong = || {
        format!(
            "'{}' is no MAC; write one as 52:54:00:12:34:56",
            text.escape_debug()
        )
    };
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
            "{text} is not the address of one device (its first byte must be even)"
        ));
    }
    Ok(mac)
}

/// `--vsock`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VsockArg {
    pub cid: u32,
    pub uds: PathBuf,
}

impl FromStr for VsockArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write cid=N,uds=PATH";
        let (mut cid, mut uds) = (None, None);
        for (key, value) in key_values(text)? {
            match key {
                "cid" if cid.is_none() => cid = Some(parse_cid(value)?),
                "uds" if uds.is_none() && !value.is_empty() => uds = Some(PathBuf::from(value)),
                _ => return Err(format!("does not know '{key}={value}' here; {FORM}")),
            }
        }
        match (cid, uds) {
            (Some(cid), Some(uds)) => Ok(VsockArg { cid, uds }),
            _ => Err(format!("lacks a part; {FORM}")),
        }
    }
}

/// 0 to 2 are the hypervisor, loopback and the host; the last one means "any".
fn parse_cid(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(cid) if cid > 2 && cid != u32::MAX => Ok(cid),
        _ => Err("a guest's CID is a number from 3 to 4294967294".into()),
    }
}

fn key_values(text: &str) -> Result<Vec<(&str, &str)>, String> {
    text.split(',')
        .map(|part| {
            part.split_once('=')
                .ok_or(format!("'{part}' is not key=value"))
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
        assert!(refusal.sentence.contains("given twice"), "{refusal}");
        let mac = "mac=52:54:00:00:00:01";
        let refusal = check([&format!("tap=a,{mac}"), &format!("tap=b,{mac}")]).unwrap_err();
        assert!(refusal.sentence.contains("MAC of an earlier"), "{refusal}");
    }
}
