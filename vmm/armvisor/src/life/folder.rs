// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! A VM's folder:
//!
//! | file | |
//! | --- | --- |
//! | `vm.json` | what the VM is ([`Saved`]) |
//! | `disk.qcow2` | changes of `--image` |
//! | `seed.img` | what cloud-init finds |
//! | `key`, `key.pub`, `known_hosts` | for SSH |
//! | `console.log`, `console.log.1` | the guest's console, the newest MiB or two |
//! | `console.in` | a FIFO: input for it |
//! | `armvisor.log` | what armvisor says of the VM since it was started |
//! | `lock` | whoever starts or removes the VM holds it |
//!
//! A folder is made under another name, and has its own only when it is complete. Names that begin with
//! a dot are no VMs.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::outcome::{ExitCode, Refusal};
use crate::rundir::check_name;

const VERSION: u32 = 1;
/// How the names of folders begin that are not complete yet.
const PASSING: &str = ".new-";
/// More than any `vm.json` has.
const LONGEST: u64 = 1 << 20;

/// What a VM is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Saved {
    /// Of this form.
    pub version: u32,
    /// Names of files in the options are relative to this.
    pub directory: PathBuf,
    /// Options of `armvisor run`.
    pub options: Vec<String>,
    /// The address of each network device, which a guest knows it by.
    pub macs: Vec<[u8; 6]>,
    /// Whether `disk.qcow2` is there, in front of the image.
    pub overlay: bool,
    /// Whether `seed.img` is there.
    pub seed: bool,
    /// Who logs in by SSH; None where the VM has no key of ours.
    pub user: Option<String>,
    /// The host's port for SSH at the last start.
    pub port: Option<u16>,
}

impl Saved {
    /// A VM with these options.
    pub fn new(directory: PathBuf, options: Vec<String>) -> Self {
        Saved {
            version: VERSION,
            directory,
            options,
            macs: Vec::new(),
            overlay: false,
            seed: false,
            user: None,
            port: None,
        }
    }
}

/// Where this user's VMs have their folders.
#[derive(Clone, Debug)]
pub struct Home(PathBuf);

impl Home {
    /// `$XDG_DATA_HOME/armvisor`, else `~/.local/share/armvisor`.
    pub fn of_user() -> Result<Self, Refusal> {
        let absolute = |name: &str| {
            let path = PathBuf::from(std::env::var_os(name)?);
            path.is_absolute().then_some(path)
        };
        let data = absolute("XDG_DATA_HOME");
        data.or_else(|| Some(absolute("HOME")?.join(".local/share")))
            .map(|data| Home(data.join("armvisor")))
            .ok_or_else(|| {
                let problem = "has no folder for VMs; set HOME or XDG_DATA_HOME to one of yours";
                Refusal::host("environment", problem)
            })
    }

    /// VMs in the folder at `path`.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Home(path.into())
    }

    fn refuse(&self, error: &io::Error) -> Refusal {
        let problem = format!("{error}; set XDG_DATA_HOME to a folder of your own");
        Refusal::host(format!("folder {}", self.0.display()), problem)
    }

    /// The VMs that have a folder, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| check_name(name).is_ok() && self.folder(name).exists())
            .collect();
        names.sort();
        names
    }

    /// The folder that a VM of this name has, or would have.
    pub fn folder(&self, name: &str) -> Folder {
        Folder {
            path: self.0.join(name),
            name: name.to_owned(),
        }
    }

    /// The folder of a VM that there is.
    pub fn existing(&self, name: &str) -> Result<Folder, Refusal> {
        let folder = self.folder(name);
        if folder.exists() {
            return Ok(folder);
        }
        let problem = format!(
            "has no folder in {}; 'armvisor up {name} --image FILE' makes it",
            self.0.display()
        );
        Err(Refusal::new(
            ExitCode::NoSuchVm,
            format!("VM {name}"),
            problem,
        ))
    }

    /// A folder for a new VM, which is removed again unless it is [kept](New::keep).
    pub fn create(&self, name: &str) -> Result<New, Refusal> {
        let made = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.0);
        made.map_err(|error| self.refuse(&error))?;
        let place = self.folder(name);
        if place.path.symlink_metadata().is_ok() {
            return Err(place.taken());
        }
        let (made, lock) = self.fresh().map_err(|error| self.refuse(&error))?;
        let folder = Folder {
            path: made.path().to_owned(),
            name: name.to_owned(),
        };
        Ok(New {
            made,
            folder,
            place,
            _lock: lock,
        })
    }

    /// A folder under a passing name, locked. Those of commands that were killed are removed.
    fn fresh(&self) -> io::Result<(TempDir, File)> {
        let all = File::open(&self.0)?;
        flock(&all, FlockOperation::LockExclusive)?;
        for entry in fs::read_dir(&self.0)?.flatten() {
            let path = entry.path();
            let passing = entry.file_name().to_string_lossy().starts_with(PASSING);
            let left = || -> io::Result<()> {
                let folder = File::open(&path)?;
                Ok(flock(&folder, FlockOperation::NonBlockingLockExclusive)?)
            };
            if passing && left().is_ok() {
                fs::remove_dir_all(&path)?;
            }
        }
        let made = tempfile::Builder::new()
            .prefix(PASSING)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&self.0)?;
        let lock = File::open(made.path())?;
        flock(&lock, FlockOperation::LockExclusive)?;
        Ok((made, lock))
    }
}

/// A folder that is not complete yet.
pub struct New {
    made: TempDir,
    /// Under its passing name.
    pub folder: Folder,
    place: Folder,
    _lock: File,
}

impl New {
    /// Gives it its name, unless another VM has that by now.
    pub fn keep(self) -> Result<Folder, Refusal> {
        match fs::rename(self.made.path(), &self.place.path) {
            Ok(()) => {
                // Its old name is nobody's now.
                let _ = self.made.keep();
                Ok(self.place)
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::DirectoryNotEmpty
                        | io::ErrorKind::AlreadyExists
                        | io::ErrorKind::NotADirectory
                ) =>
            {
                Err(self.place.taken())
            }
            Err(error) => Err(self.place.refuse(&error)),
        }
    }
}

/// A VM's folder.
#[derive(Clone, Debug)]
pub struct Folder {
    /// Where it is.
    pub path: PathBuf,
    /// The VM's name.
    pub name: String,
}

impl Folder {
    /// The folder at `path`, which has the VM's name.
    pub fn at(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        check_name(name).ok()?;
        Some(Folder {
            path: path.to_owned(),
            name: name.to_owned(),
        })
    }

    fn exists(&self) -> bool {
        self.file("vm.json").is_file()
    }

    /// A file of the VM's.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The VM, as the subject of a message.
    pub fn subject(&self) -> String {
        format!("VM {}", self.name)
    }

    /// A failure of the host's with this folder.
    pub fn refuse(&self, error: &io::Error) -> Refusal {
        let problem = format!("its folder {} cannot be used: {error}", self.path.display());
        Refusal::host(self.subject(), problem)
    }

    fn taken(&self) -> Refusal {
        let name = &self.name;
        let problem = format!(
            "is there already; start it with 'armvisor up {name}' alone, or remove it with 'armvisor rm \
             {name}'"
        );
        Refusal::usage(self.subject(), problem)
    }

    /// What the VM is.
    pub fn load(&self) -> Result<Saved, Refusal> {
        let path = self.file("vm.json");
        let refuse = |problem: String| {
            let problem = format!(
                "{problem}; mend the file, or remove the VM with 'armvisor rm {}'",
                self.name
            );
            Refusal::file("file", &path, problem)
        };
        let data = fs::metadata(&path).map_err(|error| self.refuse(&error))?;
        if data.len() > LONGEST {
            return Err(refuse("is too long".into()));
        }
        let text = fs::read(&path).map_err(|error| self.refuse(&error))?;
        // The library's error has line and column.
        let saved: Saved = serde_json::from_slice(&text)
            .map_err(|error| refuse(format!("is not what armvisor wrote: {error}")))?;
        if saved.version != VERSION {
            let problem = format!("is of version {}, not {VERSION}", saved.version);
            return Err(refuse(problem));
        }
        Ok(saved)
    }

    /// Writes down what the VM is, whole or not at all.
    pub fn save(&self, saved: &Saved) -> Result<(), Refusal> {
        let write = || -> io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(&self.path)?;
            serde_json::to_writer_pretty(&mut file, saved)?;
            file.write_all(b"\n")?;
            file.as_file().sync_all()?;
            file.persist(self.file("vm.json"))?;
            Ok(())
        };
        write().map_err(|error| self.refuse(&error))
    }

    /// Has the VM for starting or removing it, as long as the file is open.
    pub fn lock(&self) -> Result<File, Refusal> {
        let mut how = File::options();
        let opened = how
            .create(true)
            .write(true)
            .truncate(false)
            .mode(0o600)
            .open(self.file("lock"));
        let file = opened.map_err(|error| self.refuse(&error))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let problem = "another command starts or removes it; wait for that one";
                Err(Refusal::host(self.subject(), problem))
            }
            Err(error) => Err(self.refuse(&error.into())),
        }
    }

    /// Removes it. What it is goes first, so that half a folder is no VM.
    pub fn remove(&self) -> Result<(), Refusal> {
        fs::remove_file(self.file("vm.json"))
            .and_then(|()| fs::remove_dir_all(&self.path))
            .map_err(|error| self.refuse(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> (TempDir, Home) {
        let parent = tempfile::tempdir().unwrap();
        let home = Home::at(parent.path().join("share/armvisor"));
        (parent, home)
    }

    fn make(home: &Home, name: &str) -> Folder {
        let new = home.create(name).unwrap();
        let saved = Saved::new("/".into(), vec!["--image".into(), "i".into()]);
        new.folder.save(&saved).unwrap();
        new.keep().unwrap()
    }

    #[test]
    fn a_vm_is_there_when_it_is_complete() {
        let (_parent, home) = home();
        assert!(home.names().is_empty());
        let new = home.create("web").unwrap();
        fs::write(new.folder.file("half"), "").unwrap();
        assert!(home.names().is_empty());
        drop(new);
        assert_eq!(fs::read_dir(&home.0).unwrap().count(), 0);
        let folder = make(&home, "web");
        assert_eq!(home.names(), ["web"]);
        assert_eq!(fs::read_dir(&home.0).unwrap().count(), 1);
        let mut saved = folder.load().unwrap();
        saved.port = Some(4000);
        folder.save(&saved).unwrap();
        assert_eq!(home.existing("web").unwrap().load().unwrap(), saved);
        folder.remove().unwrap();
        let refusal = home.existing("web").unwrap_err();
        assert_eq!(refusal.code, ExitCode::NoSuchVm);
    }

    #[test]
    fn of_two_that_make_a_vm_one_does() {
        let (_parent, home) = home();
        let (one, two) = (home.create("web").unwrap(), home.create("web").unwrap());
        for new in [&one, &two] {
            let saved = Saved::new("/".into(), Vec::new());
            new.folder.save(&saved).unwrap();
        }
        one.keep().unwrap();
        for refusal in [two.keep().err().unwrap(), home.create("web").err().unwrap()] {
            let said = refusal.to_string();
            assert!(said.starts_with("VM web: is there already; "), "{said}");
        }
        assert_eq!(fs::read_dir(&home.0).unwrap().count(), 1);
    }

    #[test]
    fn what_a_killed_command_has_left_goes_with_the_next() {
        let (_parent, home) = home();
        let at_work = home.create("one").unwrap();
        let killed = home.0.join(".new-x");
        fs::create_dir(&killed).unwrap();
        fs::write(killed.join("disk.qcow2"), "").unwrap();
        drop(home.create("two").unwrap());
        assert!(!killed.exists() && at_work.folder.path.exists());
    }

    #[test]
    fn a_damaged_description_is_refused_with_its_place() {
        let (_parent, home) = home();
        let folder = make(&home, "web");
        for (text, sentence) in [
            ("{\n  \"version\": x", "expected value at line 2 column 14"),
            ("", "EOF while parsing a value at line 1 column 0"),
            (
                "{\"version\":2,\"directory\":\"/\",\"options\":[],\"macs\":[],\"overlay\":false,\
                 \"seed\":false,\"user\":null,\"port\":null}",
                "is of version 2, not 1",
            ),
        ] {
            fs::write(folder.file("vm.json"), text).unwrap();
            let said = folder.load().unwrap_err().to_string();
            assert!(said.contains(sentence), "{said}");
        }
    }

    #[test]
    fn one_command_at_a_time_has_a_vm() {
        let (_parent, home) = home();
        let folder = make(&home, "web");
        let lock = folder.lock().unwrap();
        let said = folder.lock().unwrap_err().to_string();
        assert!(said.contains("another command starts or removes it"));
        drop(lock);
        folder.lock().unwrap();
        assert_eq!(Folder::at(&folder.path).unwrap().name, "web");
        assert!(Folder::at(Path::new("/.x")).is_none());
    }
}
