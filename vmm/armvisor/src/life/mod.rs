// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! VMs that have a folder, and so a life beyond a process: `up`, `ssh`, `console`, `logs`, `rm`.
//!
//! A folder says what a VM is, and has its disk, key and logs (`folder`). The VM runs as long as a process
//! holds the lock of its console's FIFO there: names say less, as other users' VMs may have the same. The
//! run directory's sockets are for asking it, as for VMs of `armvisor run` (`rundir`).
//!
//! `up` starts this program anew as the VM (`serve`), in a session of its own, and waits until it answers.

pub mod console;
pub mod folder;
mod make;
pub mod serve;
pub mod ssh;
mod tail;
pub mod up;

use std::time::{Duration, Instant};

use crate::control::client;
use crate::control::{Request, Stat, State};
use crate::outcome::{ExitCode, Refusal};
use crate::rundir::Places;
use folder::{Folder, Home};

/// For a VM that is to end at once.
const ENDING: Duration = Duration::from_secs(90);
/// For a process that does not answer yet, or not any more.
const PASSING: Duration = Duration::from_secs(10);
/// The same for a list.
const GLANCE: Duration = Duration::from_secs(1);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// Whether the VM runs. A process that nobody can ask is about to end or to begin: it is waited for, but
/// not longer than `limit`.
fn runs(folder: &Folder, own: &Places, limit: Duration) -> Result<bool, Refusal> {
    let end = Instant::now() + limit;
    loop {
        let held = folder.running().map_err(|error| folder.refuse(&error))?;
        if held.is_none() {
            return Ok(false);
        }
        match own.connect(&folder.name) {
            Err(error) if error.code == ExitCode::NoSuchVm && Instant::now() < end => {
                std::thread::sleep(LOOK);
            }
            _ => return Ok(true),
        }
    }
}

/// Where to look for a VM of this name: one that has a folder is this user's, whoever else has one that is
/// called so.
pub fn places_of(vm: &str, places: &Places) -> Places {
    match Home::of_user() {
        Ok(home) if home.existing(vm).is_ok() => places.own(),
        _ => places.clone(),
    }
}

/// Removes a VM with all that is its own.
pub fn rm(home: &Home, places: &Places, name: &str, force: bool) -> Result<(), Refusal> {
    let folder = home.existing(name)?;
    let _lock = folder.lock()?;
    let own = places.own();
    if runs(&folder, &own, PASSING)? {
        if !force {
            let problem = format!(
                "runs; stop it first with 'armvisor stop {name}', or end and remove it with 'armvisor rm \
                 --force {name}'"
            );
            return Err(Refusal::host(format!("VM {name}"), problem));
        }
        client::ask(&own, name, Request::Stop)?;
        wait_for_end(&folder, ENDING)?;
    }
    folder.remove()
}

fn wait_for_end(folder: &Folder, limit: Duration) -> Result<(), Refusal> {
    let end = Instant::now() + limit;
    let held = || folder.running().map_err(|error| folder.refuse(&error));
    while held()?.is_some() {
        if Instant::now() >= end {
            let problem = format!("does not end in {} s; look at its process", limit.as_secs());
            return Err(Refusal::host(folder.subject(), problem));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// The VMs of this user that have a folder and do not run.
pub fn stopped(home: &Home, places: &Places) -> Vec<Stat> {
    let own = places.own();
    let stands = |name: &String| matches!(runs(&home.folder(name), &own, GLANCE), Ok(false));
    let stopped = home.names().into_iter().filter(stands).map(|name| Stat {
        name,
        state: State::Stopped,
        ..Stat::default()
    });
    stopped.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rundir::RunDir;
    use folder::Saved;

    fn world() -> (tempfile::TempDir, Home, RunDir, Folder) {
        let parent = tempfile::tempdir().unwrap();
        let home = Home::at(parent.path().join("vms"));
        let run = RunDir::at(parent.path().join("run"));
        let new = home.create("web").unwrap();
        new.folder
            .save(&Saved::new("/".into(), Vec::new()))
            .unwrap();
        let folder = new.keep().unwrap();
        (parent, home, run, folder)
    }

    #[test]
    fn a_vm_is_stopped_whoever_else_has_one_of_its_name() {
        let (_parent, home, run, folder) = world();
        // That of an 'armvisor run'.
        let socket = run.listen("web").unwrap();
        let places = Places::from(run);
        assert_eq!(stopped(&home, &places)[0].name, "web");
        rm(&home, &places, "web", true).unwrap();
        assert!(!folder.path.exists());
        drop(socket);
    }

    #[test]
    fn a_vm_that_runs_is_not_removed() {
        let (_parent, home, run, folder) = world();
        let vm = folder.take().unwrap().unwrap();
        let socket = run.listen("web").unwrap();
        let places = Places::from(run);
        assert!(stopped(&home, &places).is_empty());
        let said = rm(&home, &places, "web", false).unwrap_err().to_string();
        assert!(said.starts_with("VM web: runs; stop it first"), "{said}");
        drop(socket);
        // Nobody answers any more, but its process is there.
        assert!(runs(&folder, &places, Duration::ZERO).unwrap());
        let said = wait_for_end(&folder, LOOK).unwrap_err().to_string();
        assert!(said.contains("does not end"), "{said}");
        let ends = std::thread::spawn(move || {
            std::thread::sleep(2 * LOOK);
            drop(vm);
        });
        rm(&home, &places, "web", false).unwrap();
        ends.join().unwrap();
        assert!(!folder.path.exists());
    }
}
