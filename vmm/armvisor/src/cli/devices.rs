// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The syntax of disks and socket devices on the command line; `net` has that of networks.

use std::path::PathBuf;
use std::str::FromStr;

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

pub(super) fn key_values<'a>(text: &'a str, form: &str) -> Result<Vec<(&'a str, &'a str)>, String> {
    text.split(',')
        .map(|part| {
            part.split_once('=')
                .ok_or_else(|| format!("'{part}' is not KEY=VALUE; {form}"))
        })
        .collect()
}
