// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The run directory: one socket per running VM, for `armvisor stat` and similar commands. This
//! file is a VM's own side; `places` finds other VMs, `reach` connects to them.
//!
//! A socket without a listener belongs to a VM that was killed, and its user's next look removes
//! it; or it is just being created: whoever creates or removes one holds the directory's lock.
//!
//! The directory must belong to its user alone: anyone who can write there can pose as a VM. In
//! /tmp anyone may have created it first, so it is checked before a socket in it is created or
//! used.

mod places;
mod reach;
pub(crate) mod users;

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use crate::outcome::Refusal;
use crate::sys::euid;
pub use places::Places;
use reach::reach;

/// What `armvisor --help` prints of it.
pub const RUN_DIR_HELP: &str = "\
Running VMs have their sockets in $XDG_RUNTIME_DIR/armvisor; without that variable in /run/armvisor
(root), /run/user/UID/armvisor, or, where the system makes no such directory, /tmp/armvisor-UID. The
commands look in all of these, and root's in those of all users, unless root has a VM of 'up' that is
called so.";

const SUFFIX: &str = ".sock";
/// sun_path has 108 bytes with its NUL.
const MAX_SOCKET_PATH: usize = 107;
/// A VM lets a client in at once, or has a problem.
const PATIENCE: Duration = Duration::from_secs(10);

/// The run directory of this user.
#[derive(Clone, Debug)]
pub struct RunDir(PathBuf);

/// A VM's socket, removed when the VM ends.
pub struct Socket {
    /// Accepts connections of `armvisor stat` and others.
    pub listener: UnixListener,
    path: PathBuf,
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path) {
            log::debug!("removing {}: {error}", self.path.display());
        }
    }
}

/// Names are file names, shown on terminals: letters, digits, `-`, `_` and `.`.
pub fn check_name(name: &str) -> Result<(), String> {
    let good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > 64 || name.starts_with('.') || !name.chars().all(good) {
        return Err(
            "is not a name for a VM; write 1 to 64 letters, digits, '-', '_' or '.', and no '.' first"
                .into(),
        );
    }
    Ok(())
}

impl RunDir {
    /// `$XDG_RUNTIME_DIR/armvisor`; where there is no such variable `/run/armvisor` for root, and for
    /// others `/run/user/UID/armvisor` if the system made that directory, else `/tmp/armvisor-UID`.
    pub fn of_user() -> Self {
        let xdg = std::env::var_os("XDG_RUNTIME_DIR");
        RunDir(choose(xdg.as_deref(), euid(), Path::new("/")))
    }

    /// The run directory at `path`, whoever owns it.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        RunDir(path.into())
    }

    fn socket_path(&self, name: &str) -> Result<PathBuf, Refusal> {
        check_name(name).map_err(|problem| Refusal::usage(format!("VM {name}"), problem))?;
        let path = self.0.join(format!("{name}{SUFFIX}"));
        if path.as_os_str().len() > MAX_SOCKET_PATH {
            let problem =
                "the path is too long for a socket; use a shorter --name or XDG_RUNTIME_DIR";
            return Err(Refusal::usage(path.display(), problem));
        }
        Ok(path)
    }

    fn refuse(&self, problem: impl std::fmt::Display) -> Refusal {
        Refusal::host(
            format!("run directory {}", self.0.display()),
            format!("{problem}; set XDG_RUNTIME_DIR to a directory of your own"),
        )
    }

    /// Makes the directory; it must be this user's alone, since who can write there can pose as a VM.
    fn create(&self) -> Result<(), Refusal> {
        if let Err(error) = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.0)
        {
            return Err(self.refuse(error));
        }
        self.check()
    }

    /// Refuses a directory that others can write; one that is not there is nobody's.
    fn check(&self) -> Result<(), Refusal> {
        match fs::symlink_metadata(&self.0) {
            Ok(data) if is_private(&data, euid()) => Ok(()),
            Ok(_) => Err(self.refuse("is not a directory that you own and only you can write")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(self.refuse(error)),
        }
    }

    /// The directory's lock, held as long as the file is open. Others hold it for moments.
    fn lock(&self) -> io::Result<File> {
        let directory = File::open(&self.0)?;
        flock(&directory, FlockOperation::LockExclusive)?;
        Ok(directory)
    }

    /// Opens the socket of a new VM.
    pub fn listen(&self, name: &str) -> Result<Socket, Refusal> {
        let path = self.socket_path(name)?;
        self.create()?;
        let refuse = |error: io::Error| self.refuse(format!("{}: {error}", path.display()));
        let _lock = self.lock().map_err(refuse)?;
        let listener = match UnixListener::bind(&path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                if is_heard(&reach(&path, PATIENCE)) {
                    return Err(Refusal::host(
                        format!("--name {name}"),
                        format!(
                            "a VM of that name is running; choose another, or stop it with 'armvisor \
                             stop {name}'"
                        ),
                    ));
                }
                fs::remove_file(&path).map_err(refuse)?;
                UnixListener::bind(&path).map_err(refuse)?
            }
            other => other.map_err(refuse)?,
        };
        let socket = Socket {
            listener,
            path: path.clone(),
        };
        let private = fs::Permissions::from_mode(0o600);
        fs::set_permissions(&path, private).map_err(refuse)?;
        socket.listener.set_nonblocking(true).map_err(refuse)?;
        Ok(socket)
    }

    /// Removes the socket of a VM that was killed, unless one is about to listen there.
    fn clean(&self, name: &str) {
        let Ok(path) = self.socket_path(name) else {
            return;
        };
        let _lock = match self.lock() {
            Ok(lock) if self.check().is_ok() => lock,
            _ => return,
        };
        let is_socket = fs::symlink_metadata(&path).is_ok_and(|data| data.file_type().is_socket());
        let reached = reach(&path, PATIENCE);
        if is_socket && reached.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
        {
            let _ = fs::remove_file(path);
        }
    }
}

/// Whether somebody listens there, were it only to a crowd.
fn is_heard<T>(reached: &io::Result<T>) -> bool {
    match reached {
        Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        Ok(_) => true,
    }
}

fn is_private(data: &fs::Metadata, uid: u32) -> bool {
    data.is_dir() && data.uid() == uid && data.mode() & 0o022 == 0
}

/// The name of the VM whose socket this file is, if it can be one.
fn vm_of(file_name: &str) -> Option<&str> {
    let name = file_name.strip_suffix(SUFFIX)?;
    check_name(name).is_ok().then_some(name)
}

/// Where the user's run directory is, below `root`.
fn choose(xdg: Option<&OsStr>, uid: u32, root: &Path) -> PathBuf {
    // The variable's specification says to ignore a path that is not absolute.
    if let Some(xdg) = xdg.map(Path::new).filter(|path| path.is_absolute()) {
        return xdg.join("armvisor");
    }
    if uid == 0 {
        return root.join("run/armvisor");
    }
    let of_system = root.join(format!("run/user/{uid}"));
    match fs::symlink_metadata(&of_system) {
        Ok(data) if is_private(&data, uid) => of_system.join("armvisor"),
        _ => root.join(format!("tmp/armvisor-{uid}")),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::outcome::ExitCode;

    /// The VMs that others find there.
    fn list(run: &RunDir) -> Result<Vec<String>, Refusal> {
        let mut names = Vec::new();
        Places::from(run.clone()).visit(|name, _, _| names.push(name.to_owned()))?;
        Ok(names)
    }

    fn connect(run: &RunDir, name: &str) -> Result<UnixStream, Refusal> {
        Places::from(run.clone()).connect(name)
    }

    fn dir() -> (tempfile::TempDir, RunDir) {
        let parent = tempfile::tempdir().unwrap();
        let run = RunDir::at(parent.path().join("armvisor"));
        (parent, run)
    }

    #[test]
    fn a_vm_is_listed_while_it_runs() {
        let (_parent, run) = dir();
        assert!(list(&run).unwrap().is_empty());
        let socket = run.listen("one").unwrap();
        assert_eq!(fs::metadata(&socket.path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(list(&run).unwrap(), ["one"]);
        connect(&run, "one").unwrap();
        let again = run.listen("one").err().unwrap();
        assert!(again.to_string().contains("is running"), "{again}");
        drop(socket);
        assert!(list(&run).unwrap().is_empty());
        assert_eq!(connect(&run, "one").unwrap_err().code, ExitCode::NoSuchVm);
    }

    #[test]
    fn the_socket_of_a_killed_vm_is_cleaned_up() {
        let (_parent, run) = dir();
        for clean in [true, false] {
            // As after a kill: the file stays (forget), and nobody listens (shutdown).
            let socket = std::mem::ManuallyDrop::new(run.listen("dead").unwrap());
            let listener = socket.listener.as_fd().try_clone_to_owned().unwrap();
            UnixStream::from(listener)
                .shutdown(std::net::Shutdown::Both)
                .unwrap();
            assert!(socket.path.exists());
            if clean {
                assert!(list(&run).unwrap().is_empty());
                assert!(!socket.path.exists());
            } else {
                drop(run.listen("dead").unwrap());
            }
        }
    }

    #[test]
    fn a_vm_that_begins_is_not_taken_for_a_dead_one() {
        let (_parent, run) = dir();
        let over = std::sync::atomic::AtomicBool::new(false);
        let over = &over;
        drop(run.listen("x").unwrap());
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let run = run.clone();
                scope.spawn(move || {
                    while !over.load(std::sync::atomic::Ordering::Relaxed) {
                        list(&run).unwrap();
                    }
                });
            }
            for _ in 0..2000 {
                let made = run.listen("begins");
                let there = made.as_ref().is_ok_and(|socket| socket.path.exists());
                if !there {
                    over.store(true, std::sync::atomic::Ordering::Relaxed);
                    panic!("{:?}", made.err());
                }
            }
            over.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }

    #[test]
    fn a_vm_that_lets_nobody_in_is_waited_for_no_longer_than_the_limit() {
        let (parent, _) = dir();
        let path = parent.path().join("deaf");
        let deaf = reach::tests::deaf(&path);
        let limit = Duration::from_millis(50);
        let crowd: Vec<_> = (0..3).map(|_| reach(&path, limit)).collect();
        assert!(crowd[0].is_ok() && crowd[2].is_err(), "{crowd:?}");
        assert!(crowd.iter().all(is_heard), "{crowd:?}");
        drop(deaf);
        assert!(!is_heard(&reach(&path, limit)));
    }

    #[test]
    fn other_files_are_left_alone() {
        let (_parent, run) = dir();
        drop(run.listen("x").unwrap());
        let file = run.0.join("file.sock");
        fs::write(&file, "").unwrap();
        assert!(list(&run).unwrap().is_empty());
        assert!(file.exists());
    }

    #[test]
    fn a_directory_that_others_can_write_is_refused() {
        let (_parent, run) = dir();
        let socket = run.listen("x").unwrap();
        assert_eq!(fs::metadata(&run.0).unwrap().mode() & 0o777, 0o700);
        fs::set_permissions(&run.0, fs::Permissions::from_mode(0o777)).unwrap();
        let refusals = [
            run.listen("y").err(),
            connect(&run, "x").err(),
            list(&run).err(),
        ];
        for refusal in refusals {
            let sentence = refusal.unwrap().to_string();
            assert!(sentence.contains("only you can write"), "{sentence}");
        }
        drop(socket);
    }

    #[test]
    fn a_link_to_a_directory_is_refused() {
        let (parent, run) = dir();
        let own = parent.path().join("own");
        fs::create_dir(&own).unwrap();
        std::os::unix::fs::symlink(&own, &run.0).unwrap();
        assert_eq!(run.listen("x").err().unwrap().code, ExitCode::Host);
        assert!(list(&run).is_err());
    }

    #[test]
    fn without_the_variable_there_is_a_place_too() {
        let root = tempfile::tempdir().unwrap();
        let at = |xdg: Option<&str>, uid| {
            let path = choose(xdg.map(OsStr::new), uid, root.path());
            let below = path.strip_prefix(root.path()).unwrap_or(&path).to_owned();
            below.to_str().unwrap().to_owned()
        };
        let uid = euid();
        assert_eq!(at(Some("/x"), uid), "/x/armvisor");
        assert_eq!(at(None, 0), "run/armvisor");
        // A number of no user: the system's directory is missing, or not theirs.
        let other = 4_000_000;
        assert_eq!(at(None, other), format!("tmp/armvisor-{other}"));
        let made = root.path().join(format!("run/user/{other}"));
        fs::create_dir_all(&made).unwrap();
        assert_eq!(at(None, other), format!("tmp/armvisor-{other}"));
        for no_path in ["", "relative"] {
            assert_eq!(at(Some(no_path), 0), "run/armvisor");
        }
    }

    #[test]
    fn the_systems_directory_is_used_if_it_is_private() {
        let root = tempfile::tempdir().unwrap();
        let owner = 1234;
        let made = root.path().join(format!("run/user/{owner}"));
        fs::create_dir_all(&made).unwrap();
        let mut data = fs::symlink_metadata(&made).unwrap();
        assert!(is_private(&data, euid()));
        assert!(!is_private(&data, owner));
        fs::set_permissions(&made, fs::Permissions::from_mode(0o770)).unwrap();
        data = fs::symlink_metadata(&made).unwrap();
        assert!(!is_private(&data, euid()));
    }

    #[test]
    fn names_that_are_no_names_are_refused() {
        let (_parent, run) = dir();
        for name in ["", "../x", ".x", "a/b", "a b", "\x1b[2J", &"x".repeat(65)] {
            assert_eq!(
                connect(&run, name).unwrap_err().code,
                ExitCode::Usage,
                "{name}"
            );
        }
        let deep = RunDir::at("/tmp/".to_owned() + &"d".repeat(100));
        assert!(
            deep.listen("x")
                .err()
                .unwrap()
                .to_string()
                .contains("too long")
        );
    }
}
