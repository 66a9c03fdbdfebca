// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Communication with a running VM: one JSON object a line, on the VM's socket in the run
//! directory.
//!
//! Request: `{"command": "stat" | "pause" | "resume" | "stop" | "power_button"}` (stop ends the VM
//! at once, the power button asks its guest to power off), `{"command": "accounting", "on": true |
//! false}` or `{"command": "balloon", "bytes": N, "unit": "bytes" | "k" | "m" | "g" | "t"}`. The
//! unit is optional; error messages give sizes in it. Reply: `{"ok": true, ...}`, with `"stat"` if
//! the request was for it, or `{"ok": false, "error": "..."}`, with `"unheard": true` if nothing in
//! the guest would act on the request. Anything that is not a request gets an error reply, and the
//! connection is closed.

pub mod client;
pub mod server;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::size::Unit;

/// What can be asked of a VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Send the VM's [`Stat`].
    Stat,
    /// Stop the vCPUs and devices until [`Request::Resume`].
    Pause,
    /// Go on after [`Request::Pause`].
    Resume,
    /// End the VM at once; the guest is not asked.
    Stop,
    /// Press the guest's power button.
    PowerButton,
    /// Whether KVM is to keep histograms of exits, and the time that vCPUs wait for a CPU.
    Accounting {
        /// On or off.
        on: bool,
    },
    /// The guest is to give up this much of its memory, in all.
    Balloon {
        /// The guest's total, not a difference.
        bytes: u64,
        /// Unit for sizes in the reply's error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<Unit>,
    },
}

/// A request longer than this is not one.
pub const MAX_REQUEST: usize = 1024;

/// Whether a VM runs or is paused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// vCPUs run.
    #[default]
    Running,
    /// A request has stopped the vCPUs and devices.
    Paused,
    /// It has a folder, and no process: only a list has such.
    Stopped,
}

/// Figures of one vCPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VcpuStat {
    /// The vCPU's number, from 0.
    pub index: usize,
    /// Exits to the VMM, by class.
    pub exits: BTreeMap<String, u64>,
    /// What KVM counts, by class name or, where it has none, by KVM's.
    pub kvm: BTreeMap<String, u64>,
}

/// Figures of one device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceStat {
    /// `virtioN-KIND`; N is the device's place on the bus.
    pub name: String,
    /// The device model's counters by name, since the VM started.
    pub counters: BTreeMap<String, u64>,
}

/// What `armvisor stat` shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stat {
    /// The VM's name in the run directory.
    pub name: String,
    /// Whose VM it is; a list has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The process of the VM.
    pub pid: u32,
    /// Whether the VM is paused.
    pub state: State,
    /// Seconds since the VM started, pauses included.
    pub uptime_seconds: f64,
    /// The guest's memory in bytes, as given; a balloon does not lower it.
    pub memory_bytes: u64,
    /// The same as it was given to the VM, with a unit.
    #[serde(default)]
    pub memory: String,
    /// Whether it is a protected VM, whose memory is its own.
    #[serde(default)]
    pub protected: bool,
    /// How often the VM has started again after a reset. What is counted below begins anew each time.
    #[serde(default)]
    pub resets: u64,
    /// One for each vCPU, in order.
    pub vcpus: Vec<VcpuStat>,
    /// One for each virtio device, in the order of the command line.
    pub devices: Vec<DeviceStat>,
    /// The VM's own statistics from KVM.
    pub kvm: BTreeMap<String, u64>,
    /// KVM's histograms that hold anything, of all vCPUs together: how many took 0 ns, 1 ns, less than
    /// 4 ns, less than 8 ns, and so on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub histograms: BTreeMap<String, Vec<u64>>,
}

/// The answer to one [`Request`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// Whether the VM did what was asked.
    pub ok: bool,
    /// Why not: a sentence without a full stop, for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The guest has no driver for the device that passes the request on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unheard: bool,
    /// The answer to [`Request::Stat`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stat: Option<Stat>,
}

impl Reply {
    /// The request was carried out.
    pub fn done() -> Self {
        Reply {
            ok: true,
            ..Reply::default()
        }
    }

    /// The answer to [`Request::Stat`].
    pub fn stat(stat: Stat) -> Self {
        Reply {
            stat: Some(stat),
            ..Reply::done()
        }
    }

    /// The guest has no driver for the device that passes the request on.
    pub fn unheard(sentence: impl Into<String>) -> Self {
        Reply {
            unheard: true,
            ..Reply::error(sentence)
        }
    }

    /// The request was refused, or failed.
    pub fn error(sentence: impl Into<String>) -> Self {
        Reply {
            error: Some(sentence.into()),
            ..Reply::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_format_is_what_the_documentation_says() {
        let request: Request = serde_json::from_str(r#"{"command":"stat"}"#).unwrap();
        assert_eq!(request, Request::Stat);
        let request: Request = serde_json::from_str(r#"{"command":"balloon","bytes":9}"#).unwrap();
        assert_eq!(
            request,
            Request::Balloon {
                bytes: 9,
                unit: None
            }
        );
        let request = Request::Balloon {
            bytes: 9,
            unit: Some(Unit::M),
        };
        let line = serde_json::to_string(&request).unwrap();
        assert_eq!(line, r#"{"command":"balloon","bytes":9,"unit":"m"}"#);
        let line = serde_json::to_string(&Request::PowerButton).unwrap();
        assert_eq!(line, r#"{"command":"power_button"}"#);
        for wrong in [
            r#"{"command":"fly"}"#,
            r#"{"command":"balloon"}"#,
            r#"{"command":"balloon","bytes":-1}"#,
            r#"{"command":"balloon","bytes":1,"and":2}"#,
        ] {
            assert!(serde_json::from_str::<Request>(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            serde_json::to_string(&Reply::done()).unwrap(),
            r#"{"ok":true}"#
        );
        let reply = serde_json::to_string(&Reply::error("no")).unwrap();
        assert_eq!(reply, r#"{"ok":false,"error":"no"}"#);
        let reply = serde_json::to_string(&Reply::unheard("no")).unwrap();
        assert_eq!(reply, r#"{"ok":false,"error":"no","unheard":true}"#);
    }
}
