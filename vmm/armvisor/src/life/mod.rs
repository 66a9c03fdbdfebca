// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! VMs that have a folder, and so a life beyond a process: `up`, `ssh`, `console`, `logs`, `rm`.
//!
//! A folder says what a VM is, and has its disk, key and logs (`folder`). Which VMs run is not written
//! there: the sockets of the run directory tell, for these VMs as for those of `armvisor run` (`rundir`).
//!
//! `up` starts this program anew as the VM (`serve`), in a session of its own, and waits until it answers.

pub mod console;
pub mod folder;
mod make;
pub mod serve;
pub mod ssh;
mod tail;
pub mod up;

use std::io::Read;
use std::time::Duration;

use crate::control::client;
use crate::control::{Request, Stat, State};
use crate::outcome::Refusal;
use crate::rundir::Places;
use folder::Home;

/// For a VM that is to end at once.
const ENDING: Duration = Duration::from_secs(90);

/// Removes a VM with all that is its own.
pub fn rm(home: &Home, places: &Places, name: &str, force: bool) -> Result<(), Refusal> {
    let folder = home.existing(name)?;
    let _lock = folder.lock()?;
    if let Ok(mut stream) = places.connect(name) {
        if !force {
            let problem = format!(
                "runs; stop it first with 'armvisor stop {name}', or end and remove it with 'armvisor rm \
                 --force {name}'"
            );
            return Err(Refusal::host(format!("VM {name}"), problem));
        }
        client::ask(places, name, Request::Stop)?;
        let failed = |error| Refusal::host(format!("VM {name}"), format!("does not end: {error}"));
        stream.set_read_timeout(Some(ENDING)).map_err(failed)?;
        match stream.read(&mut [0]) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
            Err(error) => return Err(failed(error)),
        }
    }
    folder.remove()
}

/// The VMs of this user that have a folder and are not among those that run.
pub fn stopped(home: &Home, running: &[Stat]) -> Vec<Stat> {
    let names = home.names().into_iter();
    let here = |name: &String| running.iter().any(|stat| stat.name == *name);
    let stopped = names.filter(|name| !here(name)).map(|name| Stat {
        name,
        state: State::Stopped,
        ..Stat::default()
    });
    stopped.collect()
}
