// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The other files that an image names: its backing files, and the extents of a VMDK.
//!
//! An image comes from anywhere. A name in it opens nothing: it is only compared with the files that
//! the user gave by `--backing`, and one of those is read, through the descriptor that was opened and
//! checked at the start. So no name is checked first and opened later. Nothing of them is ever written.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use imago::file::File as Storage;
use imago::format::builder::FormatDriverBuilder;
use imago::format::gate::ImplicitOpenGate;
use imago::{FormatAccess, StorageOpenOptions};

use crate::disk::shell_word;
use crate::open::{Identity, Problem, REGULAR_FILE, check, identity, identity_at};
use crate::outcome::Refusal;
use crate::sys::lock_file;

const WHAT: &str = "backing file";

/// A file that the user lets an image read.
#[derive(Debug)]
pub struct Backing {
    /// Its path without links: names in it are relative to its folder.
    pub path: PathBuf,
    /// Its path as the user wrote it, from the root.
    pub given: PathBuf,
    /// The file, open to be read.
    pub file: File,
    id: Identity,
}

impl Backing {
    /// Opens the regular file at `path` and locks it against writers.
    pub fn open(path: &Path) -> Result<Self, Refusal> {
        let opened = path.canonicalize().map_err(Problem::Io).and_then(|real| {
            // Without links, and without waiting for a FIFO's writer.
            let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
            let file = File::options().read(true).custom_flags(flags).open(&real)?;
            check(&file.metadata()?, REGULAR_FILE)?;
            Ok(Self::new(real, std::path::absolute(path)?, file)?)
        });
        let backing = opened.map_err(|problem| problem.refusal(WHAT, path))?;
        let subject = format!("{WHAT} {}", path.display());
        lock(&backing.file, false).map_err(|error| Refusal::host(subject, error))?;
        Ok(backing)
    }

    /// Takes an open file.
    pub fn new(path: PathBuf, given: PathBuf, file: File) -> io::Result<Self> {
        let id = identity(&file.metadata()?);
        Ok(Backing {
            path,
            given,
            file,
            id,
        })
    }
}

/// What an image may open.
#[derive(Clone, Debug)]
pub(super) struct Gate<'a> {
    /// The path of the user's image.
    image: &'a Path,
    allowed: &'a [Backing],
    /// The files from the user's image to the one that is opened now.
    chain: Vec<Identity>,
    /// The newest file.
    opened: Option<Identity>,
    /// Our sentence, which the library would put behind its own words.
    said: &'a RefCell<Option<String>>,
}

impl<'a> Gate<'a> {
    /// For the image with this path and identity. What is refused is told to `said`.
    pub(super) fn new(
        allowed: &'a [Backing],
        (image, id): (&'a Path, Identity),
        said: &'a RefCell<Option<String>>,
    ) -> Self {
        Gate {
            image,
            allowed,
            chain: vec![id],
            opened: None,
            said,
        }
    }

    fn refuse(&self, problem: String) -> io::Error {
        self.said.replace(Some(problem));
        io::ErrorKind::PermissionDenied.into()
    }

    fn find(&self, name: &Path) -> io::Result<&'a Backing> {
        let id = self.look(name)?;
        if id.is_some_and(|id| self.chain.contains(&id)) {
            return Err(self.refuse(format!(
                "names {}, which it is or which led to it, so it has no end; 'qemu-img rebase' mends it",
                name.display()
            )));
        }
        let found = self.allowed.iter().find(|backing| Some(backing.id) == id);
        found.ok_or_else(|| {
            self.refuse(format!(
                "names the file {}; if it may read that, add '--backing {}'",
                name.display(),
                shell_word(name)
            ))
        })
    }

    /// Which file a name may be; None where none is allowed. The host's storage is asked only where the
    /// name is not that of a file that is open: it may not be there, and then does not answer.
    fn look(&self, name: &Path) -> io::Result<Option<Identity>> {
        if name == self.image {
            return Ok(self.chain.first().copied());
        }
        let mut allowed = self.allowed.iter();
        if let Some(backing) = allowed.find(|it| name == it.path || name == it.given) {
            return Ok(Some(backing.id));
        }
        if self.allowed.is_empty() {
            return Ok(None);
        }
        identity_at(name).map(Some).map_err(|error| {
            self.refuse(format!(
                "names {}, which cannot be found ({error}); put it there, or write its new place into the \
                 image with 'qemu-img rebase -u -b FILE'",
                name.display()
            ))
        })
    }
}

impl ImplicitOpenGate<Storage> for Gate<'_> {
    fn open_format<F: FormatDriverBuilder<Storage>>(
        &mut self,
        builder: F,
    ) -> io::Result<FormatAccess<Storage>> {
        let mut deeper = self.clone();
        deeper.chain.extend(deeper.opened.take());
        Ok(FormatAccess::new(builder.open(deeper)?))
    }

    fn open_storage(&mut self, options: StorageOpenOptions) -> io::Result<Storage> {
        if options.get_writable() {
            return Err(self.refuse(
                "keeps its data in another file, which armvisor does not do; make one file of it with \
                 'qemu-img convert -O qcow2'"
                    .into(),
            ));
        }
        let backing = self.find(options.get_filename().unwrap_or(Path::new("")))?;
        self.opened = Some(backing.id);
        super::storage(&backing.file, false, Some(&backing.path))
    }
}

/// Locks a file of an image, as those of `--disk` are.
pub(super) fn lock(file: &File, exclusive: bool) -> io::Result<()> {
    lock_file(file, exclusive).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => io::Error::new(
            io::ErrorKind::WouldBlock,
            "another program has it locked, probably a VM that runs; stop that one",
        ),
        _ => error,
    })
}
