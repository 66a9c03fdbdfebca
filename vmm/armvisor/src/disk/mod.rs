// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Opening disk images: the file is what it should be, raw above all, and nobody else writes it.
//!
//! The lock is on the open file description, so it goes with the process, however that ends. Two
//! readers share; a writer is alone.

mod format;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;

use crate::cli::DiskArg;
use crate::outcome::Refusal;
use crate::sys::lock_file;

/// Opens and locks a disk image or block device.
pub fn open(disk: &DiskArg) -> Result<File, Refusal> {
    let refuse = |problem: &str| Refusal::file("disk", &disk.path, problem);
    let open = File::options()
        .read(true)
        .write(!disk.read_only)
        .open(&disk.path);
    let mut file = open.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem if !disk.read_only => {
            refuse("cannot be written by you; add ',ro' to use it read-only")
        }
        _ => Refusal::open("disk", &disk.path, &error),
    })?;
    let data = file
        .metadata()
        .map_err(|error| Refusal::open("disk", &disk.path, &error))?;
    let kind = data.file_type();
    if !kind.is_file() && !kind.is_block_device() {
        return Err(refuse("is neither a file nor a block device"));
    }
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
        io::ErrorKind::WouldBlock => Refusal::host(format!(
            "disk {}: another program has it locked, probably a VM that runs; stop that one, or let \
             both use it with ',ro'",
            disk.path.display()
        )),
        _ => Refusal::host(format!("disk {}: cannot be locked: {error}", disk.path.display())),
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::outcome::ExitCode;

    fn arg(path: &Path, read_only: bool) -> DiskArg {
        DiskArg {
            path: path.to_owned(),
            read_only,
            raw: false,
        }
    }

    fn sentence(path: &Path) -> String {
        open(&arg(path, false)).unwrap_err().sentence
    }

    #[test]
    fn a_writer_is_alone_and_readers_share() {
        let image = tempfile::NamedTempFile::new().unwrap();
        image.as_file().set_len(1 << 20).unwrap();
        let writer = open(&arg(image.path(), false)).unwrap();
        for read_only in [false, true] {
            let refusal = open(&arg(image.path(), read_only)).unwrap_err();
            assert_eq!(refusal.code, ExitCode::Host);
            assert!(refusal.sentence.contains("locked"), "{refusal}");
        }
        drop(writer);
        let _readers = [(); 2].map(|()| open(&arg(image.path(), true)).unwrap());
        assert!(open(&arg(image.path(), false)).is_err());
    }

    #[test]
    fn what_is_no_disk_is_refused() {
        assert!(sentence(Path::new("/nonexistent")).contains("no such file"));
        assert!(sentence(Path::new("/tmp")).contains("directory"));
        assert!(sentence(Path::new("/dev/null")).contains("neither"));
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
            assert!(refusal.sentence.contains("is in qcow2 format"), "{refusal}");
            let raw = DiskArg {
                raw: true,
                ..arg(image.path(), read_only)
            };
            open(&raw).unwrap();
        }
    }
}
