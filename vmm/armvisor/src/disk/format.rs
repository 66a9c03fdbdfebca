// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Image formats other than raw, recognized by their first bytes, and the command that converts
//! each to raw.
//!
//! A guest that got such a file as a raw disk would see the format's own tables, and its first
//! write would destroy the image. File systems and partition tables are not listed: raw disks begin
//! with them.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// As many bytes as hold the last magic of [`FORMATS`]: ISO 9660's, in the 17th block of a CD.
pub(crate) const HEAD: usize = 0x8001 + 5;
/// Formats with a trailer have it in their last sector.
pub(crate) const TAIL: usize = 512;

/// Where a magic number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// So many bytes after the start.
    Start(usize),
    /// At the start of the last sector.
    LastSector,
}

/// What makes a raw image of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remedy {
    /// qemu-img, which knows the format by this name.
    QemuImg(&'static str),
    /// A program that writes the contents to its output.
    Unpack(&'static str),
    /// An archive: what is in it has to be looked at.
    Extract(&'static str),
    /// Android's own program.
    Simg2img,
    /// The contents are as on the medium, which is one to read.
    ReadOnly,
}

/// A row of [`FORMATS`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Format {
    name: &'static str,
    at: At,
    magic: &'static [u8],
    remedy: Remedy,
}

const fn row(name: &'static str, at: At, magic: &'static [u8], remedy: Remedy) -> Format {
    Format {
        name,
        at,
        magic,
        remedy,
    }
}

use At::{LastSector, Start};
use Remedy::{Extract, QemuImg, ReadOnly, Simg2img, Unpack};

/// The first row that fits counts.
const FORMATS: [Format; 30] = [
    row("qcow", Start(0), b"QFI\xfb\0\0\0\x01", QemuImg("qcow")),
    row("qcow2", Start(0), b"QFI\xfb", QemuImg("qcow2")),
    row("QED", Start(0), b"QED\0", QemuImg("qed")),
    row("VMDK", Start(0), b"KDMV", QemuImg("vmdk")),
    row("VMDK", Start(0), b"COWD", QemuImg("vmdk")),
    row("VMDK", Start(0), b"# Disk Descriptor", QemuImg("vmdk")),
    row("VHDX", Start(0), b"vhdxfile", QemuImg("vhdx")),
    row("VHD", Start(0), b"conectix", QemuImg("vpc")),
    row("VHD", LastSector, b"conectix", QemuImg("vpc")),
    row("VDI", Start(0x40), b"\x7f\x10\xda\xbe", QemuImg("vdi")),
    row(
        "Parallels",
        Start(0),
        b"WithoutFreeSpace",
        QemuImg("parallels"),
    ),
    row(
        "Parallels",
        Start(0),
        b"WithouFreSpacExt",
        QemuImg("parallels"),
    ),
    row(
        "Bochs",
        Start(0),
        b"Bochs Virtual HD Image",
        QemuImg("bochs"),
    ),
    row(
        "cloop",
        Start(0),
        b"#!/bin/sh\n#V2.0 Format\n",
        QemuImg("cloop"),
    ),
    row("DMG", LastSector, b"koly", QemuImg("dmg")),
    row("gzip", Start(0), b"\x1f\x8b\x08", Unpack("gzip -dc")),
    row("xz", Start(0), b"\xfd7zXZ\0", Unpack("xz -dc")),
    row("zstd", Start(0), b"\x28\xb5\x2f\xfd", Unpack("zstd -dc")),
    row("bzip2", Start(4), b"1AY&SY", Unpack("bzip2 -dc")),
    row("lzip", Start(0), b"LZIP", Unpack("lzip -dc")),
    row("lzop", Start(0), b"\x89LZO\0\r\n", Unpack("lzop -dc")),
    row("lz4", Start(0), b"\x04\x22\x4d\x18", Unpack("lz4 -dc")),
    row("lz4", Start(0), b"\x02\x21\x4c\x18", Unpack("lz4 -dc")),
    row("zip", Start(0), b"PK\x03\x04", Extract("unzip")),
    row("7-Zip", Start(0), b"7z\xbc\xaf\x27\x1c", Extract("7z x")),
    row("RAR", Start(0), b"Rar!\x1a\x07", Extract("unrar x")),
    row("tar (or OVA)", Start(257), b"ustar", Extract("tar -xf")),
    row("Android sparse", Start(0), b"\x3a\xff\x26\xed", Simg2img),
    row("ISO 9660", Start(0x8001), b"CD001", ReadOnly),
    row("UDF", Start(0x8001), b"BEA01", ReadOnly),
];

/// The format of a disk image; None for a raw one, and for what nobody here knows.
pub(super) fn of(file: &mut File) -> io::Result<Option<&'static Format>> {
    let mut head = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(HEAD as u64).read_to_end(&mut head)?;
    // The length by seeking: a block device's metadata does not have it.
    let end = file.seek(SeekFrom::End(0))?;
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(end.saturating_sub(TAIL as u64)))?;
    file.take(TAIL as u64).read_to_end(&mut tail)?;
    Ok(find(&head, &tail))
}

/// The format of what begins and ends so.
pub(crate) fn find(head: &[u8], tail: &[u8]) -> Option<&'static Format> {
    FORMATS.iter().find(|format| match format.at {
        Start(at) => head
            .get(at..)
            .is_some_and(|rest| rest.starts_with(format.magic)),
        LastSector => tail.starts_with(format.magic),
    })
}

impl Format {
    /// Whether a guest that only reads it can use the file as it is.
    pub(super) fn is_read_only_medium(&self) -> bool {
        self.remedy == ReadOnly
    }

    /// As it is called.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// What to say about the file at `path`.
    pub(super) fn problem(&self, path: &Path) -> String {
        format!(
            "is in {} format, not raw, and a guest that writes to it would destroy it; {}, or \
             add ',raw' if its bytes are what the guest is to see",
            self.name,
            self.advice(path)
        )
    }

    /// What to say where qcow2 would have done, too.
    pub(super) fn problem_of_image(&self, path: &Path) -> String {
        let name = self.name;
        match self.remedy {
            ReadOnly => format!("is in {name} format, which has no boot entries; use '--disk'"),
            _ => format!(
                "is in {name} format, which armvisor does not read; {}",
                self.advice(path)
            ),
        }
    }

    fn advice(&self, path: &Path) -> String {
        let (from, to) = (shell_word(path), shell_word(&raw_name(path, self.name)));
        match self.remedy {
            QemuImg(format) => {
                format!("convert it with 'qemu-img convert -f {format} -O raw {from} {to}'")
            }
            Unpack(program) => format!("unpack it with '{program} {from} > {to}'"),
            Extract(program) => {
                format!("take the disk out of the archive with '{program} {from}'")
            }
            Simg2img => format!("convert it with 'simg2img {from} {to}'"),
            ReadOnly => "add ',ro' to let the guest read it".into(),
        }
    }
}

/// Where the raw image goes: the file's name with `.raw` for its extension, or without that if it
/// is a packed file's (`disk.img.xz`).
fn raw_name(path: &Path, format: &str) -> std::path::PathBuf {
    let stem = path.with_extension("");
    let packed = path.extension().is_some_and(|extension| {
        let short = match format {
            "gzip" => "gz",
            "zstd" => "zst",
            "bzip2" => "bz2",
            "lzip" => "lz",
            "lzop" => "lzo",
            other => other,
        };
        extension == short
    });
    if packed && stem.extension().is_some() && stem != path {
        return stem;
    }
    let raw = path.with_extension("raw");
    if raw == path {
        path.with_extension("raw.raw")
    } else {
        raw
    }
}

/// A path as a shell reads it back; a name that cannot stand in one line is left to the user.
pub(crate) fn shell_word(path: &Path) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%=".contains(c);
    match path.to_str() {
        Some(text) if text.chars().all(plain) && !text.starts_with('-') => text.to_owned(),
        Some(text) if !text.chars().any(char::is_control) && !text.starts_with('-') => {
            format!("\"{}\"", escape(text))
        }
        _ => "FILE".into(),
    }
}

/// What a shell would take for its own within double quotes.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if "\\\"$`".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// A file of 64 KiB with `bytes` at `at`.
    fn image(at: u64, bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.set_len(64 << 10).unwrap();
        file.seek(SeekFrom::Start(at)).unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn problem(at: u64, bytes: &[u8], path: &str) -> String {
        let found = of(&mut image(at, bytes)).unwrap();
        found.unwrap().problem(Path::new(path))
    }

    #[test]
    fn every_format_is_found_and_has_a_remedy() {
        for format in &FORMATS {
            let at = match format.at {
                Start(at) => at as u64,
                LastSector => (64 << 10) - 512,
            };
            let mut file = image(at, format.magic);
            let found = of(&mut file).unwrap().unwrap();
            assert_eq!(found.name, format.name);
            let said = found.problem(Path::new("/d/a.img"));
            assert!(
                said.contains("/d/a.img") || found.remedy == ReadOnly,
                "{said}"
            );
            assert!(said.contains("',raw'") && !said.contains('\n'), "{said}");
        }
    }

    #[test]
    fn the_command_is_the_one_to_type() {
        let cases: [(u64, &[u8], &str, &str); 7] = [
            (
                0,
                b"QFI\xfb\0\0\0\x03",
                "a.qcow2",
                "'qemu-img convert -f qcow2 -O raw a.qcow2 a.raw'",
            ),
            (
                (64 << 10) - 512,
                b"conectix",
                "my disk.vhd",
                "-f vpc -O raw \"my disk.vhd\" \"my disk.raw\"'",
            ),
            (0, b"vhdxfile", "b.raw", "-O raw b.raw b.raw.raw'"),
            (0, b"\xfd7zXZ\0", "d.img.xz", "'xz -dc d.img.xz > d.img'"),
            (0, b"\x1f\x8b\x08", "d", "'gzip -dc d > d.raw'"),
            (0, b"KDMV", "a$b\nc", "-O raw FILE FILE'"),
            (0x8001, b"CD001", "x.iso", "add ',ro'"),
        ];
        for (at, bytes, path, command) in cases {
            let said = problem(at, bytes, path);
            assert!(said.contains(command), "{said}");
        }
    }

    #[test]
    fn raw_disks_are_raw() {
        let boot_sector = image(510, b"\x55\xaa");
        let gpt = image(512, b"EFI PART");
        let ext4 = image(0x438, b"\x53\xef");
        let luks = image(0, b"LUKS\xba\xbe");
        let short = tempfile::tempfile().unwrap();
        short.set_len(512).unwrap();
        for mut file in [boot_sector, gpt, ext4, luks, short] {
            assert_eq!(of(&mut file).unwrap(), None);
        }
    }
}
