// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Opens a file that the user named. The file is checked before it is opened, so that a FIFO
//! without a writer is refused instead of waited for, and a device that acts on being opened is
//! left alone. Replacing the file in between gains nothing: the open does not wait either, and the
//! opened file is checked again.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FileType as Type, OFlags, StatxFlags, fcntl_getfl, fcntl_setfl, makedev, statx,
};

use crate::outcome::Refusal;

/// What kinds of file will do, and how to say so.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Whether a file of this kind will do.
    pub accepts: fn(FileType) -> bool,
    /// As in "is a FIFO, not a regular file".
    pub name: &'static str,
}

/// Regular files, such as kernels.
pub const REGULAR_FILE: Wanted = Wanted {
    accepts: |kind| kind.is_file(),
    name: "a regular file",
};

/// Why a file was not opened.
#[derive(Debug)]
pub enum Problem {
    /// A system call failed.
    Io(io::Error),
    /// It is not what was wanted; the text is the end of a sentence.
    Kind(String),
}

impl Problem {
    /// The refusal of what the user knows as a "kernel", a "disk" and so on.
    pub fn refusal(&self, what: &str, path: &Path) -> Refusal {
        match self {
            Problem::Io(error) => Refusal::open(what, path, error),
            Problem::Kind(text) => Refusal::file(what, path, text),
        }
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Problem::Io(error)
    }
}

/// Opens the file at `path` if it is of the wanted kind. Nothing here waits.
pub fn open(
    path: &Path,
    options: &OpenOptions,
    wanted: Wanted,
) -> Result<(File, Metadata), Problem> {
    check(&std::fs::metadata(path)?, wanted)?;
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = options.clone().custom_flags(flags).open(path)?;
    let data = file.metadata()?;
    check(&data, wanted)?;
    let flags = fcntl_getfl(&file).map_err(io::Error::from)?;
    fcntl_setfl(&file, flags - OFlags::NONBLOCK).map_err(io::Error::from)?;
    Ok((file, data))
}

/// Refuses another kind of file.
pub fn check(data: &Metadata, wanted: Wanted) -> Result<(), Problem> {
    let kind = data.file_type();
    if (wanted.accepts)(kind) {
        return Ok(());
    }
    Err(Problem::Kind(format!(
        "is {}, not {}",
        name_of(kind),
        wanted.name
    )))
}

fn name_of(kind: FileType) -> &'static str {
    if kind.is_file() {
        "a regular file"
    } else if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_block_device() {
        "a block device"
    } else if kind.is_char_device() {
        "a character device"
    } else {
        "something else"
    }
}

/// What tells whether two files are one, however they are named: a block device is known by its
/// number, any other file by its file system and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// Any file but a block device.
    File {
        /// The file system's device (`st_dev`).
        dev: u64,
        /// The inode (`st_ino`).
        ino: u64,
    },
    /// A block device, whichever node names it.
    BlockDevice {
        /// Major and minor number (`st_rdev`).
        number: u64,
    },
}

/// The identity of the file with this metadata.
pub fn identity(data: &Metadata) -> Identity {
    if data.file_type().is_block_device() {
        Identity::BlockDevice {
            number: data.rdev(),
        }
    } else {
        Identity::File {
            dev: data.dev(),
            ino: data.ino(),
        }
    }
}

/// The identity of the file at `path`, on which nothing is mounted for that.
pub fn identity_at(path: &Path) -> io::Result<Identity> {
    let data = statx(CWD, path, AtFlags::NO_AUTOMOUNT, StatxFlags::BASIC_STATS)?;
    Ok(match Type::from_raw_mode(data.stx_mode.into()) {
        Type::BlockDevice => Identity::BlockDevice {
            number: makedev(data.stx_rdev_major, data.stx_rdev_minor),
        },
        _ => Identity::File {
            dev: makedev(data.stx_dev_major, data.stx_dev_minor),
            ino: data.stx_ino,
        },
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    pub(crate) fn make_fifo(path: &Path) {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    }

    fn said(path: &Path) -> String {
        let mut options = File::options();
        match open(path, options.read(true), REGULAR_FILE) {
            Err(Problem::Kind(text)) => text,
            Err(Problem::Io(error)) => error.to_string(),
            Ok(_) => "open".into(),
        }
    }

    #[test]
    fn nothing_but_a_file_is_opened_and_a_fifo_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        make_fifo(&fifo);
        let socket = folder.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for (path, expected) in [
            (fifo.as_path(), "is a FIFO, not a regular file"),
            (&socket, "is a socket, not a regular file"),
            (folder.path(), "is a directory, not a regular file"),
            (
                Path::new("/dev/null"),
                "is a character device, not a regular file",
            ),
            (&file, "open"),
            (&link, "open"),
        ] {
            assert_eq!(said(path), expected);
        }
        assert!(said(&folder.path().join("none")).contains("No such file"));
    }

    #[test]
    fn a_file_is_one_under_all_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two, three] = ["one", "two", "three"].map(|name| folder.path().join(name));
        std::fs::write(&one, "x").unwrap();
        std::fs::hard_link(&one, &two).unwrap();
        std::fs::write(&three, "x").unwrap();
        let id = |path: &Path| identity(&std::fs::metadata(path).unwrap());
        assert_eq!(id(&one), id(&two));
        assert_ne!(id(&one), id(&three));
        assert_eq!(identity_at(&two).unwrap(), id(&one));
    }
}
