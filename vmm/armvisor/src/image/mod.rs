// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The image of `--image`: a disk in the form in which distributions hand it out, qcow2 with backing
//! files, a VMDK of flat extents, or raw.
//!
//! The image is hostile, and so is what its guest writes to it. Every file is opened once, locked, and
//! kept for as long as the process lives; each machine, also after a reset, gets a disk on these files,
//! in the format that was found first. `chain` says which files an image may name. Whatever takes time
//! or memory that the image decides on is read by another process (`reader`), before the disk is made.

mod chain;
mod format;
#[cfg(test)]
mod image_test;
mod probed;
mod qcow2;
#[cfg(test)]
mod qcow2_test;

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use armvisor_devices::block::{Image, RawImage};
use imago::file::File as Storage;
use imago::qcow2::Qcow2;
use imago::raw::Raw;
use imago::vmdk::Vmdk;
use imago::{
    DenyImplicitOpenGate, FormatAccess, FormatCreateBuilder, FormatDriverBuilder,
    StorageOpenOptions,
};
use vm_memory::VolatileSlice;

use crate::disk::{self, Kind};
use crate::open::{self, identity};
use crate::outcome::Refusal;
pub use chain::Backing;
use chain::Gate;
use format::FormatImage;
use probed::ProbedRaw;

const WHAT: &str = "image";

/// What `--image` and the options beside it say.
#[derive(Clone, Debug, Default)]
pub struct ImageOptions {
    /// The image.
    pub path: PathBuf,
    /// Its format; None to find it by the first bytes.
    pub format: Option<Kind>,
    /// The files that it may name.
    pub backing: Vec<PathBuf>,
    /// Whether changes go to a file of their own.
    pub ephemeral: bool,
}

/// The file of an ephemeral image's changes. It has no name, so it ends with its last user.
fn overlay() -> Result<File, Refusal> {
    let folder = std::env::var_os("TMPDIR").map_or_else(|| "/var/tmp".into(), PathBuf::from);
    tempfile::tempfile_in(&folder).map_err(|error| {
        let problem = format!(
            "cannot have a file for --ephemeral: {error}; set TMPDIR to a folder with room"
        );
        Refusal::host(folder.display(), problem)
    })
}

/// The files of an image, open and locked.
#[derive(Debug)]
pub struct Source {
    /// As the user wrote it, for messages.
    pub path: PathBuf,
    /// The path without links: names in the image are relative to its folder.
    pub real: PathBuf,
    /// The format.
    pub kind: Kind,
    /// The format was found by the first bytes, so those of a raw image must not change it.
    pub probed: bool,
    /// The image; it can be written if there is no overlay.
    pub file: File,
    /// Files that the image may name.
    pub backing: Vec<Backing>,
    /// What an ephemeral image's guests wrote; empty before the first of them.
    pub overlay: Option<File>,
}

impl Source {
    /// Opens and locks the files, and finds the format.
    pub fn open(options: &ImageOptions) -> Result<Self, Refusal> {
        Self::open_with(options, || options.ephemeral.then(overlay).transpose())
    }

    fn open_with(
        options: &ImageOptions,
        overlay: impl FnOnce() -> Result<Option<File>, Refusal>,
    ) -> Result<Self, Refusal> {
        let path = &options.path;
        let writable = !options.ephemeral;
        let mut file = open_file(path, writable)?;
        lock(&file, path, writable)?;
        let failed = |error| Refusal::open(WHAT, path, &error);
        let kind = match options.format {
            Some(kind) => kind,
            None => disk::kind(&mut file, path, WHAT)?,
        };
        if kind == Kind::Vmdk && writable {
            let problem = format!(
                "is a VMDK, which armvisor only reads; add '--ephemeral', or convert it with {}",
                convert(path)
            );
            return Err(Refusal::file(WHAT, path, problem));
        }
        if kind == Kind::Qcow2 {
            let known = qcow2::check_features(&file, path);
            known.map_err(|problem| Refusal::file(WHAT, path, problem))?;
        }
        let backing = options.backing.iter().map(|path| Backing::open(path));
        let source = Source {
            path: path.clone(),
            real: path.canonicalize().map_err(failed)?,
            kind,
            probed: options.format.is_none(),
            backing: backing.collect::<Result<_, _>>()?,
            overlay: overlay()?,
            file,
        };
        // What the image lacks is said before anything else is read.
        let opened = guarded(|| source.open_format(false));
        opened.map_err(|error| source.refusal(&error))?;
        Ok(source)
    }

    /// Locks the image again, of which a disk that was given up has let go. Then it is to be checked.
    pub fn lock(&self) -> Result<(), Refusal> {
        lock(&self.file, &self.path, self.writable())
    }

    fn writable(&self) -> bool {
        self.overlay.is_none()
    }

    /// Whether [`Source::check`] has to pass before [`Source::disk`].
    pub fn needs_check(&self) -> bool {
        self.kind == Kind::Qcow2 && self.writable()
    }

    /// Reads all tables of a qcow2: they must be in order before it is written. The text is the end of a
    /// sentence. Takes time that the image decides on.
    pub fn check(&self) -> Result<(), String> {
        qcow2::check_tables(&self.file, &self.path)
    }

    /// A machine's disk.
    pub fn disk(&self) -> Result<Arc<dyn Image>, Refusal> {
        let failed = |error| Refusal::open(WHAT, &self.path, &error);
        let file = self.file.try_clone().map_err(failed)?;
        if self.kind == Kind::Raw && self.writable() {
            let raw = RawImage::new(file, false);
            let raw = raw.map_err(|error| Refusal::file(WHAT, &self.path, error))?;
            return Ok(match self.probed {
                true => Arc::new(ProbedRaw::new(raw)),
                false => Arc::new(raw),
            });
        }
        let access = guarded(|| self.access(self.writable(), true));
        let access = access.map_err(|error| self.refusal(&error))?;
        Ok(Arc::new(FormatImage::new(
            access,
            self.writable().then_some(file),
            self.needs_check()
                .then(|| qcow2::region(&self.file))
                .transpose()
                .map_err(failed)?,
        )))
    }

    /// Writes what a machine's disk, which is `idle` now, still has in memory. The changes of an ephemeral
    /// image are nobody's loss.
    pub fn close(&self, disk: &dyn Image, idle: bool) -> Result<(), Refusal> {
        if !self.writable() {
            return Ok(());
        }
        let closed = match idle {
            true => disk.close(),
            false => Err(io::Error::other("the host does not finish a request")),
        };
        closed.map_err(|error| {
            let mut problem = format!("its last changes are lost: {error}");
            if self.kind == Kind::Qcow2 && !problem.contains(';') {
                let path = disk::shell_word(&self.path);
                problem.push_str(&format!("; 'qemu-img check {path}' says what is damaged"));
            }
            Refusal::host(subject(&self.path), problem)
        })
    }

    /// The disk as the next machine will find it, to be read only.
    pub fn contents(&self) -> io::Result<Arc<dyn Image>> {
        let access = self.access(false, false)?;
        Ok(Arc::new(FormatImage::new(access, None, None)))
    }

    /// The format's driver; of an ephemeral image with the overlay in front of it, which the first
    /// machine's disk may `create`.
    fn access(&self, writable: bool, create: bool) -> io::Result<FormatAccess<Storage>> {
        let below = self.open_format(writable)?;
        let Some(overlay) = &self.overlay else {
            return Ok(below);
        };
        match overlay.metadata()?.len() {
            0 if create => new_overlay(overlay, below.size())?,
            0 => return Ok(below),
            _ => {}
        }
        let builder = Qcow2::<Storage>::builder(storage(overlay, create, None)?).write(create);
        let qcow2 = builder
            .backing(Some(below))
            .open(DenyImplicitOpenGate::default())?;
        Ok(FormatAccess::new(qcow2))
    }

    fn open_format(&self, writable: bool) -> io::Result<FormatAccess<Storage>> {
        let said = RefCell::new(None);
        let id = identity(&self.file.metadata()?);
        let gate = Gate::new(&self.backing, (&self.real, id), &said);
        let storage = storage(&self.file, writable, Some(&self.real))?;
        let opened = match self.kind {
            Kind::Raw => {
                let builder = Raw::builder(storage).write(writable);
                builder.open(gate).map(FormatAccess::new)
            }
            Kind::Qcow2 => {
                let builder = Qcow2::<Storage>::builder(storage).write(writable);
                builder.open(gate).map(FormatAccess::new)
            }
            Kind::Vmdk => {
                let builder = Vmdk::<Storage>::builder(storage);
                builder.open(gate).map(FormatAccess::new)
            }
        };
        opened.map_err(|error| said.take().map_or(error, io::Error::other))
    }

    /// The library's error as a sentence.
    fn refusal(&self, error: &io::Error) -> Refusal {
        Refusal::file(WHAT, &self.path, sentence(error, &self.path))
    }
}

fn open_file(path: &Path, writable: bool) -> Result<File, Refusal> {
    let mut how = File::options();
    let opened = open::open(path, how.read(true).write(writable), disk::DISK);
    let (file, _) = opened.map_err(|problem| match &problem {
        open::Problem::Io(error)
            if writable
                && matches!(
                    error.kind(),
                    io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
                ) =>
        {
            let problem = "cannot be written by you; add '--ephemeral' to keep no changes";
            Refusal::file(WHAT, path, problem)
        }
        _ => problem.refusal(WHAT, path),
    })?;
    Ok(file)
}

fn lock(file: &File, path: &Path, writable: bool) -> Result<(), Refusal> {
    let locked = chain::lock(file, writable);
    locked.map_err(|error| Refusal::host(subject(path), error))
}

fn storage(file: &File, writable: bool, path: Option<&Path>) -> io::Result<Storage> {
    let mut how = StorageOpenOptions::new().write(writable);
    if let Some(path) = path {
        how = how.filename(path);
    }
    Storage::from_open_file(file.try_clone()?, how)
}

/// Makes a qcow2 at `path`, a new file, for changes of an image that stays as it is: that of `ephemeral`
/// options. Whoever uses it names the image as its backing file.
pub fn make_overlay(options: &ImageOptions, path: &Path) -> Result<(), Refusal> {
    let failed = |error| Refusal::open("disk", path, &error);
    let mut how = File::options();
    let how = how.read(true).write(true).create_new(true).mode(0o600);
    let file = how.open(path).map_err(failed)?;
    let kept = || file.try_clone().map(Some).map_err(failed);
    let source = Source::open_with(options, kept)?;
    let refuse = |problem: &str| Err(Refusal::file(WHAT, &source.path, problem));
    let format = match source.kind {
        Kind::Raw => "raw",
        Kind::Qcow2 => "qcow2",
        Kind::Vmdk => {
            return refuse("is a VMDK, whose changes can only be forgotten; add '--ephemeral'");
        }
    };
    let Some(name) = source.real.to_str() else {
        return refuse("has a name that is not text in UTF-8; rename it");
    };
    open::check(
        &source
            .file
            .metadata()
            .map_err(|error| Refusal::open(WHAT, &source.path, &error))?,
        open::REGULAR_FILE,
    )
    .map_err(|problem| problem.refusal(WHAT, &source.path))?;
    let below = guarded(|| source.open_format(false));
    let size = below.map_err(|error| source.refusal(&error))?.size();
    let make = || -> io::Result<()> {
        Qcow2::<Storage>::create_builder(storage(&file, true, None)?)
            .size(size)
            .backing(name.to_owned(), format.to_owned())
            .create()?;
        file.sync_all()
    };
    make().map_err(failed)
}

fn new_overlay(overlay: &File, size: u64) -> io::Result<()> {
    let storage = storage(overlay, true, None)?;
    Qcow2::<Storage>::create_builder(storage)
        .size(size)
        .create()
}

/// Fills `buf` from `offset` on.
pub fn read_at(image: &dyn Image, buf: &mut [u8], offset: u64) -> io::Result<()> {
    image.read(vec![VolatileSlice::from(buf)], offset)
}

/// As in a refusal.
pub fn subject(path: &Path) -> String {
    format!("{WHAT} {}", path.display())
}

/// The command that makes a plain qcow2 of the image.
pub fn convert(path: &Path) -> String {
    format!("'qemu-img convert -O qcow2 {} NEW'", disk::shell_word(path))
}

/// No damage of an image may end us.
fn guarded<T>(call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(call))
        .unwrap_or_else(|_| Err(io::Error::other("its tables are damaged")))
}

/// The library's error as the end of a sentence.
pub fn sentence(error: &io::Error, path: &Path) -> String {
    let text = error.to_string();
    if text.contains(';') {
        return text;
    }
    let text = format!("cannot be used: {text}");
    match error.kind() {
        io::ErrorKind::Unsupported => format!("{text}; convert it with {}", convert(path)),
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => text,
        _ => format!(
            "{text}; 'qemu-img check {}' says more",
            disk::shell_word(path)
        ),
    }
}
