// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! A small virtual machine monitor for KVM on arm64.
//!
//! Rules of this crate:
//! - `unsafe` lives in [`sys`] and nowhere else; everything else is compiled with it denied.
//! - Only the KVM back end (`hv::kvm`) needs arm64. The rest builds and is tested on any Linux machine:
//!   command line, image formats, device tree, memory, exit dispatch (with a scripted vCPU), control protocol.
//! - Whatever a user can get wrong ends in one sentence that says what to do, and in an exit code of
//!   [`outcome::ExitCode`]. Whatever a guest can do ends at worst that guest.
#![deny(unsafe_code)]

pub mod boot;
pub mod bus;
pub mod cli;
pub mod cmdline;
pub mod console;
pub mod control;
pub mod cost;
pub mod disk;
pub mod doctor;
pub mod exits;
pub mod fdt;
pub mod hv;
pub mod image;
pub mod irqfd;
pub mod kernel;
pub mod layout;
pub mod life;
pub mod main_loop;
pub mod memory;
pub mod open;
pub mod outcome;
pub mod passt;
pub mod reader;
pub mod report;
pub mod rtc;
pub mod rundir;
pub mod seed;
pub mod size;
#[allow(unsafe_code)]
pub mod sys;
pub mod system;
pub mod terminal;
pub mod uart;
pub mod vcpu;
#[cfg(target_arch = "aarch64")]
pub mod virtio;
#[cfg(target_arch = "aarch64")]
pub mod vm;
mod wait;
pub mod watch;
#[cfg(target_arch = "aarch64")]
pub mod window;

/// This program's version. A package's build sets ARMVISOR_VERSION, which has the revision (tools/version);
/// without that it is the number alone, so that commits do not change the program.
pub const VERSION: &str = match option_env!("ARMVISOR_VERSION") {
    Some(version) => version,
    None => env!("CARGO_PKG_VERSION"),
};
