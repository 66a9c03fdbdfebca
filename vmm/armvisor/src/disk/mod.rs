// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Opens disk images: the file must be of the right kind, above all raw, and nobody else may write
//! it.
//!
//! The lock is on the open file description, so it ends with the process in any case. Readers share
//! it; a writer is alone.

pub(crate) mod format;

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use clap::builder::Resettable::Reset;
use serde::{Deserialize, Serialize};

use crate::cli::DiskArg;
use crate::open::{self, Identity, Problem, Wanted, identity};
use crate::outcome::Refusal;
use crate::sys::lock_file;
pub(crate) use format::shell_word;

/// What may be a disk.
pub const DISK: Wanted = Wanted {
    accepts: |kind| kind.is_file() || kind.is_block_device(),
    name: "a regular file or a block device",
};

/// Opens and locks disk images and block devices, in their order.
pub fn open_all(disks: &[DiskArg]) -> Result<Vec<File>, Refusal> {
    let mut seen: Vec<(Identity, &DiskArg)> = Vec::new();
    let mut files = Vec::new();
    for disk in disks {
        let (file, data) = look(disk)?;
        let identity = identity(&data);
        let writes = |other: &DiskArg| !(disk.read_only && other.read_only);
        let same = seen
            .iter()
            .find(|(other, before)| *other == identity && writes(before));
        if let Some((_, before)) = same {
            return Err(given_twice(disk, before));
        }
        seen.push((identity, disk));
        files.push(open(file, &data, disk)?);
    }
    Ok(files)
}

fn given_twice(disk: &DiskArg, before: &DiskArg) -> Refusal {
    let (path, other) = (disk.path.display(), before.path.display());
    let twice = if disk.path == before.path {
        "given twice".to_owned()
    } else {
        format!("is the same file as --disk {other}")
    };
    Refusal::usage(
        format!("--disk {path}"),
        format!("{twice}; give it once, or each time with ',ro'"),
    )
}

fn look(disk: &DiskArg) -> Result<(File, Metadata), Refusal> {
    let mut options = File::options();
    let options = options.read(true).write(!disk.read_only);
    open::open(&disk.path, options, DISK).map_err(|problem| match &problem {
        Problem::Io(error) => cannot_open(disk, error),
        Problem::Kind(_) => problem.refusal("disk", &disk.path),
    })
}

fn cannot_open(disk: &DiskArg, error: &io::Error) -> Refusal {
    let options = disk.path.to_string_lossy().into_owned();
    let option = options.rsplit_once(',').map(|(_, option)| option);
    match (error.kind(), option) {
        (io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem, _)
            if !disk.read_only =>
        {
            let problem = "cannot be written by you; add ',ro' to use it read-only";
            Refusal::file("disk", &disk.path, problem)
        }
        (io::ErrorKind::NotFound, Some(option)) => Refusal::file(
            "disk",
            &disk.path,
            format!(
                "no such file; if ',{option}' is meant as an option: there are ',ro' and ',raw'"
            ),
        ),
        _ => Refusal::open("disk", &disk.path, error),
    }
}

/// Checks and locks what [`look`] has found.
fn open(mut file: File, data: &Metadata, disk: &DiskArg) -> Result<File, Refusal> {
    let refuse = |problem: &str| Refusal::file("disk", &disk.path, problem);
    let kind = data.file_type();
    if kind.is_file() && data.len() == 0 {
        return Err(refuse(
            "is empty; make it the size you want with 'truncate -s 1G FILE'",
        ));
    }
    if kind.is_file() && data.len() < 512 {
        return Err(refuse("is smaller than one sector (512 bytes)"));
    }
    if !disk.raw {
        refuse_other_formats(&mut file, disk)?;
    }
    lock_file(&file, !disk.read_only).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => Refusal::host(
            format!("disk {}", disk.path.display()),
            "another program has it locked, probably a VM that runs; stop that one, or let both use \
             it with ',ro'",
        ),
        _ => Refusal::host(
            format!("disk {}", disk.path.display()),
            format!("cannot be locked: {error}"),
        ),
    })?;
    Ok(file)
}

fn refuse_other_formats(file: &mut File, disk: &DiskArg) -> Result<(), Refusal> {
    let found = format::of(file).map_err(|error| Refusal::open("disk", &disk.path, &error))?;
    match found {
        Some(format) if !(disk.read_only && format.is_read_only_medium()) => Err(Refusal::file(
            "disk",
            &disk.path,
            format.problem(&disk.path),
        )),
        _ => Ok(()),
    }
}

/// The format of an image for `--image`.
///
/// `--help` lists the values with the option, which says what they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
pub enum Kind {
    /// The disk as it is.
    #[value(help = Reset)]
    Raw,
    /// QEMU's format.
    #[value(help = Reset)]
    Qcow2,
    /// VMware's format, or its descriptor alone.
    #[value(help = Reset)]
    Vmdk,
}

/// The kind of an open image, which the user knows as `what`. Refuses those that nobody here reads.
pub fn kind(file: &mut File, path: &Path, what: &str) -> Result<Kind, Refusal> {
    let found = format::of(file).map_err(|error| Refusal::open(what, path, &error))?;
    match found.map(|format| (format, format.name())) {
        None => Ok(Kind::Raw),
        Some((_, "qcow2")) => Ok(Kind::Qcow2),
        Some((_, "VMDK")) => Ok(Kind::Vmdk),
        Some((format, _)) => Err(Refusal::file(what, path, format.problem_of_image(path))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::ExitCode;

    fn arg(path: &Path, read_only: bool) -> DiskArg {
        DiskArg {
            path: path.to_owned(),
            read_only,
            raw: false,
        }
    }

    /// One disk alone.
    fn open(disk: &DiskArg) -> Result<File, Refusal> {
        open_all(std::slice::from_ref(disk)).map(|mut files| files.remove(0))
    }

    fn sentence(path: &Path) -> String {
        open(&arg(path, false)).unwrap_err().to_string()
    }

    #[test]
    fn a_writer_is_alone_and_readers_share() {
        let image = tempfile::NamedTempFile::new().unwrap();
        image.as_file().set_len(1 << 20).unwrap();
        let writer = open(&arg(image.path(), false)).unwrap();
        for read_only in [false, true] {
            let refusal = open(&arg(image.path(), read_only)).unwrap_err();
            assert_eq!(refusal.code, ExitCode::Host);
            assert!(
                refusal
                    .to_string()
                    .contains("another program has it locked")
            );
        }
        drop(writer);
        let _readers = [(); 2].map(|()| open(&arg(image.path(), true)).unwrap());
        assert!(open(&arg(image.path(), false)).is_err());
    }

    #[test]
    fn a_disk_that_is_given_twice_is_named_so_under_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let [one, hard, soft] = ["one", "hard", "soft"].map(|name| folder.path().join(name));
        std::fs::write(&one, [0; 4096]).unwrap();
        std::fs::hard_link(&one, &hard).unwrap();
        std::os::unix::fs::symlink(&one, &soft).unwrap();
        let said = |other: &Path, read_only| {
            let refusal = open_all(&[arg(&one, read_only), arg(other, false)]).unwrap_err();
            assert_eq!(refusal.code, ExitCode::Usage);
            refusal.to_string()
        };
        assert!(said(&one, false).contains(": given twice; give it once"));
        for other in [&hard, &soft] {
            let same = format!(": is the same file as --disk {}; ", one.display());
            for read_only in [false, true] {
                assert!(said(other, read_only).contains(&same));
            }
        }
        open_all(&[arg(&one, true), arg(&hard, true)]).unwrap();
    }

    #[test]
    fn what_is_no_disk_is_refused() {
        assert!(sentence(Path::new("/nonexistent")).contains("no such file"));
        assert!(sentence(Path::new("/tmp")).contains("directory"));
        let null = "is a character device, not a regular file or a block device";
        assert!(sentence(Path::new("/dev/null")).ends_with(null));
        let option = "no such file; if ',rw' is meant as an option: there are ',ro' and ',raw'";
        assert!(sentence(Path::new("/nonexistent,rw")).ends_with(option));
        let image = tempfile::NamedTempFile::new().unwrap();
        assert!(sentence(image.path()).contains("is empty"));
        image.as_file().set_len(511).unwrap();
        assert!(sentence(image.path()).contains("smaller than one sector"));
    }

    #[test]
    fn an_image_that_is_not_raw_needs_a_word() {
        use std::os::unix::fs::FileExt;
        let image = tempfile::NamedTempFile::new().unwrap();
        image.as_file().set_len(1 << 20).unwrap();
        let write = |bytes: &[u8], at| image.as_file().write_all_at(bytes, at).unwrap();
        write(b"CD001", 0x8001);
        assert!(sentence(image.path()).contains("ISO 9660"));
        open(&arg(image.path(), true)).unwrap();
        write(b"QFI\xfb\0\0\0\x02", 0);
        for read_only in [false, true] {
            let refusal = open(&arg(image.path(), read_only)).unwrap_err();
            assert_eq!(refusal.code, ExitCode::BadFile);
            assert!(
                refusal.to_string().contains("is in qcow2 format"),
                "{refusal}"
            );
            let raw = DiskArg {
                raw: true,
                ..arg(image.path(), read_only)
            };
            open(&raw).unwrap();
        }
    }
}
