// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The places of VMs: every directory that may hold sockets of this user's VMs, whatever the
//! environment was when they were started, and for root those of all users.
//!
//! Only directories that belong to their user alone are searched. Root waits for each place no
//! longer than for one VM: somebody may have put any number of deaf sockets there.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::Dir;

use super::reach::{open_private, reach_in};
use super::{PATIENCE, RunDir, SUFFIX, check_name, choose, reach, users, vm_of};
use crate::outcome::{ExitCode, Refusal};
use crate::sys::euid;

/// A directory of sockets, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    path: PathBuf,
    uid: u32,
}

/// All of them, this user's first.
#[derive(Clone, Debug)]
pub struct Places {
    places: Vec<Place>,
    me: u32,
    everybody: bool,
    /// How to say where that is.
    looked: Vec<String>,
}

impl From<RunDir> for Places {
    /// One place of this user's alone.
    fn from(run: RunDir) -> Self {
        let me = euid();
        Places {
            looked: vec![run.0.display().to_string()],
            places: vec![Place {
                path: run.0,
                uid: me,
            }],
            me,
            everybody: false,
        }
    }
}

impl Places {
    /// Where this user's VMs are, and for root everybody's.
    pub fn of_user() -> Self {
        let (xdg, me) = (std::env::var_os("XDG_RUNTIME_DIR"), euid());
        Places::below(Path::new("/"), xdg.as_deref(), me, me == 0)
    }

    fn below(root: &Path, xdg: Option<&OsStr>, me: u32, everybody: bool) -> Self {
        let mut own = vec![choose(xdg, me, root)];
        if me == 0 {
            own.push(root.join("run/armvisor"));
        }
        own.push(root.join(format!("run/user/{me}/armvisor")));
        own.push(root.join(format!("tmp/armvisor-{me}")));
        let mut places = Vec::new();
        let mut add = |path: PathBuf, uid: u32| {
            if !places.iter().any(|place: &Place| place.path == path) {
                places.push(Place { path, uid });
            }
        };
        let mut looked: Vec<String> = Vec::new();
        for path in own {
            // With 'sudo -E' the variable is another user's.
            let owner = path.symlink_metadata().map(|data| data.uid());
            let uid = owner.ok().filter(|_| everybody).unwrap_or(me);
            looked.push(path.display().to_string());
            add(path, uid);
        }
        if everybody {
            for (uid, path) in numbered(&root.join("run/user"), "") {
                add(path.join("armvisor"), uid);
            }
            for (uid, path) in numbered(&root.join("tmp"), "armvisor-") {
                add(path, uid);
            }
            for all in ["run/user/*/armvisor", "tmp/armvisor-*"] {
                looked.push(root.join(all).display().to_string());
            }
        }
        let mut seen = Vec::new();
        looked.retain(|path| {
            let new = !seen.contains(path);
            seen.push(path.clone());
            new
        });
        Places {
            places,
            me,
            everybody,
            looked,
        }
    }

    /// Only those of this user.
    pub fn own(&self) -> Self {
        let mine = |place: &&Place| place.uid == self.me;
        let places: Vec<Place> = self.places.iter().filter(mine).cloned().collect();
        Places {
            looked: places
                .iter()
                .map(|place| place.path.display().to_string())
                .collect(),
            places,
            me: self.me,
            everybody: false,
        }
    }

    /// Where was looked, for a sentence.
    pub fn looked(&self) -> String {
        match self.looked.as_slice() {
            [] => String::new(),
            [one] => one.clone(),
            [most @ .., last] => format!("{} and {last}", most.join(", ")),
        }
    }

    /// Connects to a VM by its name, or by USER/NAME.
    pub fn connect(&self, vm: &str) -> Result<UnixStream, Refusal> {
        let subject = format!("VM {vm}");
        let (user, name) = match vm.split_once('/') {
            Some((user, name)) => (Some(self.user(&subject, user)?), name),
            None => (None, vm),
        };
        check_name(name).map_err(|problem| Refusal::usage(&subject, problem))?;
        let mut found: Vec<(u32, UnixStream)> = Vec::new();
        let mut deaf = false;
        let wanted = |place: &&Place| user.is_none_or(|uid| uid == place.uid);
        for place in self.places.iter().filter(wanted) {
            let reached = self
                .open(place)?
                .map(|directory| self.reach(place, directory, name, PATIENCE));
            match reached {
                Some(Ok(stream)) if place.uid == self.me => return Ok(stream),
                Some(Ok(stream)) => found.push((place.uid, stream)),
                Some(Err(error)) => deaf |= error.kind() == io::ErrorKind::WouldBlock,
                None => {}
            }
        }
        match found.len() {
            1 => Ok(found.remove(0).1),
            0 if deaf => {
                let problem = "does not answer: it lets nobody in; look at its process";
                Err(Refusal::host(subject, problem))
            }
            0 => {
                let problem = format!(
                    "no VM of that name runs (looked in {}); 'armvisor list' shows those that do",
                    self.looked()
                );
                Err(Refusal::new(ExitCode::NoSuchVm, subject, problem))
            }
            _ => {
                let names = found.iter().map(|(uid, _)| users::name_of(*uid));
                let names: Vec<String> = names.map(|user| format!("{user}/{name}")).collect();
                let problem = format!("several users have one; write {}", names.join(" or "));
                Err(Refusal::usage(subject, problem))
            }
        }
    }

    fn user(&self, subject: &str, user: &str) -> Result<u32, Refusal> {
        match users::number_of(user) {
            Some(uid) if uid == self.me || self.everybody => Ok(uid),
            Some(_) => Err(Refusal::host(
                subject,
                "it is another user's; run the command as that user, or as root",
            )),
            None => Err(Refusal::usage(
                subject,
                format!("there is no user {user}; 'armvisor list' shows whose VMs run"),
            )),
        }
    }

    /// Opens a place; None where there is nothing, or nothing to be trusted. That the place where this
    /// user's VMs begin is not to be trusted is an error.
    fn open(&self, place: &Place) -> Result<Option<OwnedFd>, Refusal> {
        match open_private(&place.path, place.uid) {
            Ok(directory) => Ok(Some(directory)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => {
                if place.uid == self.me && self.places.first() == Some(place) {
                    RunDir(place.path.clone()).check()?;
                }
                let path = place.path.display();
                log::info!(
                    "{path} is passed over; only its user must be able to write it: {error}"
                );
                Ok(None)
            }
        }
    }

    /// Nobody but this user can have put a socket into a place of this user's.
    fn reach(
        &self,
        place: &Place,
        directory: impl AsFd,
        name: &str,
        limit: Duration,
    ) -> io::Result<UnixStream> {
        let file = format!("{name}{SUFFIX}");
        if place.uid == self.me {
            reach(&place.path.join(file), limit)
        } else {
            reach_in(directory, &file, place.uid, limit)
        }
    }

    /// Calls `visit` with each VM that runs: its name, its user's, and a connection. Sockets of this
    /// user's VMs that were killed are removed.
    pub fn visit(&self, mut visit: impl FnMut(&str, &str, UnixStream)) -> Result<(), Refusal> {
        for place in &self.places {
            let Some(directory) = self.open(place)? else {
                continue;
            };
            let (mine, user) = (place.uid == self.me, users::name_of(place.uid));
            let end = Instant::now() + PATIENCE;
            for name in names(&directory) {
                let left = end.saturating_duration_since(Instant::now());
                let limit = if mine { PATIENCE } else { left };
                if limit.is_zero() {
                    log::warn!("VMs of {user} do not answer; some are left out");
                    break;
                }
                match self.reach(place, &directory, &name, limit) {
                    Ok(stream) => visit(&name, &user, stream),
                    Err(error) if mine && error.kind() == io::ErrorKind::ConnectionRefused => {
                        RunDir(place.path.clone()).clean(&name);
                    }
                    Err(error) => log::info!("{user}/{name} is passed over: {error}"),
                }
            }
        }
        Ok(())
    }
}

/// The VMs that have a socket in a directory, sorted.
fn names(directory: impl AsFd) -> Vec<String> {
    let entries = Dir::read_from(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(vm_of(entry.file_name().to_str().ok()?)?.to_owned()))
        .collect();
    names.sort();
    names
}

/// The entries of a directory that are called `prefix` and a number.
fn numbered(path: &Path, prefix: &str) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let number = name.to_str()?.strip_prefix(prefix)?;
            Some((number.parse().ok()?, entry.path()))
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
#[path = "places_test.rs"]
mod tests;
