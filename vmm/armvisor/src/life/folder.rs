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
//! | `console.in` | a FIFO: input for it; the VM's process reads it and holds its lock, from its start to its end |
//! | `armvisor.log` | what armvisor says of the VM since it was started |
//! | `lock` | whoever starts or removes the VM holds it |
//!
//! A folder is made under another name, and has its own only when it is complete. Names that begin with
//! a dot are no VMs.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{CWD, FileType, FlockOperation, Mode, flock, mknodat};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::outcome::{ExitCode, Refusal};
use crate::rundir::check_name;
use crate::sys::euid;

const VERSION: u32 = 1;
/// How the names of folders begin that are not complete yet, or not any more.
const PASSING: &str = ".new-";
/// Commands that look whether a VM runs have its lock for a moment: as often is it tried again.
const TRIES: u32 = 100;
/// Between two tries.
const LOOK: Duration = Duration::from_millis(10);
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

    /// Refuses a folder in which others can read keys or put VMs; one that is not there is nobody's.
    fn check(&self) -> Result<(), Refusal> {
        let me = euid();
        // Of a link, both its place and where it leads are to be the user's.
        let data = self.0.symlink_metadata().and_then(|link| {
            let data = fs::metadata(&self.0)?;
            Ok(link.uid() == me && data.is_dir() && data.uid() == me && data.mode() & 0o077 == 0)
        });
        match data {
            Ok(true) => Ok(()),
            Ok(false) => {
                let problem = "is not a folder that you own and only you can read and write";
                Err(self.refuse(&io::Error::other(problem)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(self.refuse(&error)),
        }
    }

    /// The VMs that have a folder, sorted.
    pub fn names(&self) -> Vec<String> {
        if let Err(refusal) = self.check() {
            log::info!("{refusal}");
            return Vec::new();
        }
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
        self.check()?;
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
        self.check()?;
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
                // One that cannot be removed is in nobody's way.
                let _ = fs::remove_dir_all(&path);
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

    /// The console's FIFO for the VM's process, which has both ends, so that its input never ends. It is locked
    /// as long as that process has it. None if a process has it already.
    pub fn take(&self) -> io::Result<Option<File>> {
        let path = self.file("console.in");
        match path.symlink_metadata() {
            Ok(data) if data.file_type().is_fifo() => {}
            Ok(_) => return Err(io::Error::other("console.in is not a FIFO")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
            }
            Err(error) => return Err(error),
        }
        let file = File::options().read(true).write(true).open(&path)?;
        for _ in 0..TRIES {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(file)),
                Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(LOOK),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }

    /// The end of the console's FIFO that is written; None if the VM does not run.
    pub fn running(&self) -> io::Result<Option<File>> {
        let mut how = File::options();
        let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
        let how = how.write(true).custom_flags(flags);
        let file = match how.open(self.file("console.in")) {
            Ok(file) => file,
            // Nobody reads it.
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        // A reader may also be a program that only looks.
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(None),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(Some(file)),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes it. It loses its name first, so that half a folder is no VM: whoever makes the next VM removes
    /// what is left of it.
    pub fn remove(&self) -> Result<(), Refusal> {
        let remove = || -> io::Result<()> {
            let home = self.path.parent().ok_or(io::ErrorKind::NotFound)?;
            let all = File::open(home)?;
            flock(&all, FlockOperation::LockExclusive)?;
            let lock = File::open(&self.path)?;
            flock(&lock, FlockOperation::LockExclusive)?;
            let passing = tempfile::Builder::new().prefix(PASSING).tempdir_in(home)?;
            fs::rename(&self.path, passing.path())?;
            drop(all);
            passing.close()
        };
        remove().map_err(|error| self.refuse(&error))
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
    fn a_folder_that_is_removed_loses_its_name_first() {
        let (_parent, home) = home();
        let folder = make(&home, "web");
        fs::create_dir(folder.file("full")).unwrap();
        fs::write(folder.file("full/x"), "").unwrap();
        fs::set_permissions(folder.file("full"), Permissions::from_mode(0o500)).unwrap();
        // Root may remove it all the same.
        let removed = folder.remove();
        assert_eq!(removed.is_ok(), euid() == 0);
        assert!(home.names().is_empty() && !folder.path.exists());
        for entry in fs::read_dir(&home.0).unwrap().flatten() {
            let full = entry.path().join("full");
            fs::set_permissions(full, Permissions::from_mode(0o700)).unwrap();
        }
        make(&home, "web");
        assert_eq!(fs::read_dir(&home.0).unwrap().count(), 1);
    }

    #[test]
    fn vms_are_in_a_folder_of_the_users_alone() {
        let (parent, home) = home();
        make(&home, "web");
        let link = parent.path().join("link");
        std::os::unix::fs::symlink(&home.0, &link).unwrap();
        Home::at(&link).existing("web").unwrap();
        for mode in [0o701, 0o710, 0o740, 0o720, 0o777] {
            fs::set_permissions(&home.0, Permissions::from_mode(mode)).unwrap();
            for home in [&home, &Home::at(&link)] {
                assert!(home.names().is_empty());
                for refusal in [home.existing("web").err(), home.create("db").err()] {
                    let said = refusal.unwrap().to_string();
                    assert!(
                        said.contains("only you can read and write; set XDG"),
                        "{said}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_vm_runs_while_a_process_has_its_console() {
        let (_parent, home) = home();
        let folder = make(&home, "web");
        assert!(folder.running().unwrap().is_none());
        let vm = folder.take().unwrap().unwrap();
        assert!(folder.running().unwrap().is_some());
        assert!(folder.take().unwrap().is_none());
        // As a process does that inherits it.
        let inherited = vm.try_clone().unwrap();
        drop(vm);
        assert!(folder.running().unwrap().is_some());
        drop(inherited);
        assert!(folder.running().unwrap().is_none());
        let mut how = File::options();
        let _looks = how.read(true).write(true).open(folder.file("console.in"));
        assert!(folder.running().unwrap().is_none());
    }

    #[test]
    fn the_consoles_input_has_a_reader_and_no_end() {
        use std::io::Read;
        let (_parent, home) = home();
        let folder = make(&home, "web");
        drop(folder.take().unwrap());
        let mut again = folder.take().unwrap().unwrap();
        fs::write(folder.file("console.in"), "x").unwrap();
        let mut byte = [0];
        again.read_exact(&mut byte).unwrap();
        fs::remove_file(folder.file("console.in")).unwrap();
        fs::write(folder.file("console.in"), "").unwrap();
        assert!(folder.take().is_err());
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
