// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Images that are made here: good ones, and ones that name what they must not.

use tempfile::TempDir;

use super::*;
use crate::outcome::ExitCode;

pub(super) const MIB: u64 = 1 << 20;

pub(super) fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

pub(super) fn options(path: &Path) -> ImageOptions {
    ImageOptions {
        path: path.to_owned(),
        ..ImageOptions::default()
    }
}

/// A qcow2 of `size` that names `backing`, if that is given.
pub(super) fn make(path: &Path, size: u64, backing: Option<(&str, &str)>) {
    let file = File::options();
    let file = file
        .clone()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path);
    let storage = StorageOpenOptions::new().write(true).filename(path);
    let storage = Storage::from_open_file(file.unwrap(), storage).unwrap();
    let mut builder = Qcow2::<Storage>::create_builder(storage).size(size);
    if let Some((name, format)) = backing {
        builder = builder.backing(name.into(), format.into());
    }
    builder.create().unwrap();
}

pub(super) fn fill(image: &dyn Image, byte: u8, offset: u64, len: usize) {
    let mut bytes = vec![byte; len];
    image
        .write(vec![VolatileSlice::from(&mut bytes[..])], offset)
        .unwrap();
}

pub(super) fn get(image: &dyn Image, offset: u64) -> u8 {
    let mut byte = [0];
    read_at(image, &mut byte, offset).unwrap();
    byte[0]
}

/// A disk on the image, checked here and not by another process.
fn disk_of(source: &Source) -> Result<Arc<dyn Image>, Refusal> {
    if source.needs_check() {
        let checked = source.check();
        checked.map_err(|problem| Refusal::file(WHAT, &source.path, problem))?;
    }
    source.disk()
}

pub(super) fn open(options: &ImageOptions) -> Result<Arc<dyn Image>, Refusal> {
    disk_of(&Source::open(options)?)
}

fn ephemeral(path: &Path) -> ImageOptions {
    ImageOptions {
        ephemeral: true,
        ..options(path)
    }
}

/// With these files in the same folder as the image.
fn with(path: &Path, backing: &[&str]) -> ImageOptions {
    ImageOptions {
        backing: backing
            .iter()
            .map(|name| path.with_file_name(name))
            .collect(),
        ..options(path)
    }
}

pub(super) fn open_now(path: &Path) -> Arc<dyn Image> {
    open(&options(path)).unwrap()
}

fn said_of(options: &ImageOptions) -> String {
    open(options).unwrap_err().to_string()
}

fn said(path: &Path) -> String {
    said_of(&options(path))
}

#[test]
fn what_is_written_to_a_qcow2_is_there_when_it_is_opened_again() {
    let folder = folder();
    let path = folder.path().join("a.qcow2");
    make(&path, 64 * MIB, None);
    let image = open_now(&path);
    assert_eq!(image.bytes(), 64 * MIB);
    assert!(image.can_discard());
    fill(&*image, 7, 10 * MIB, 200_000);
    image.flush().unwrap();
    let after_flush = std::fs::read(&path).unwrap();
    fill(&*image, 8, 20 * MIB, 65536);
    drop(image);
    let image = open_now(&path);
    assert_eq!(get(&*image, 10 * MIB + 199_999), 7);
    assert_eq!(get(&*image, 20 * MIB), 8);
    assert_eq!(get(&*image, 30 * MIB), 0);
    drop(image);
    // A power cut after the flush.
    std::fs::write(&path, after_flush).unwrap();
    assert_eq!(get(&*open_now(&path), 10 * MIB + 199_999), 7);
}

#[test]
fn changes_that_cannot_be_written_at_the_end_are_said() {
    let folder = folder();
    let path = folder.path().join("a.qcow2");
    make(&path, 8 * MIB, None);
    let mut source = Source::open(&options(&path)).unwrap();
    let disk = source.disk().unwrap();
    fill(&*disk, 7, 0, 1 << 20);
    let busy = source.close(&*disk, false).unwrap_err().to_string();
    let lost = "a.qcow2: its last changes are lost: ";
    assert!(
        busy.contains(&format!("{lost}the host does not finish a request; 'qemu")),
        "{busy}"
    );
    source.close(&*disk, true).unwrap();
    // Storage that takes no more.
    source.file = File::open(&path).unwrap();
    let disk = source.disk().unwrap();
    let _ = disk.discard(0, 65536);
    let refusal = source.close(&*disk, true).unwrap_err();
    assert_eq!(refusal.code, ExitCode::Host);
    let said = refusal.to_string();
    assert!(
        said.contains(&format!("{lost}Bad file descriptor")) && said.contains("'qemu-img check "),
        "{said}"
    );
}

#[test]
fn discarded_and_zeroed_ranges_read_as_zeroes() {
    let folder = folder();
    let path = folder.path().join("a.qcow2");
    make(&path, 8 * MIB, None);
    let image = open_now(&path);
    fill(&*image, 7, 0, 4 << 20);
    image.discard(65536, 65536).unwrap();
    image.write_zeroes(MIB, 65536 + 512, true).unwrap();
    image.write_zeroes(2 * MIB + 512, 512, false).unwrap();
    for (at, byte) in [
        (65535, 7),
        (65536, 0),
        (131_072, 7),
        (MIB, 0),
        (MIB + 65536 + 511, 0),
        (MIB + 65536 + 512, 7),
        (2 * MIB + 511, 7),
        (2 * MIB + 512, 0),
        (2 * MIB + 1024, 7),
    ] {
        assert_eq!(get(&*image, at), byte, "{at:#x}");
    }
}

#[test]
fn a_writer_is_alone_and_ephemeral_readers_share() {
    let folder = folder();
    for name in ["a.qcow2", "a.raw"] {
        let path = folder.path().join(name);
        if name == "a.raw" {
            std::fs::write(&path, vec![0; 8192]).unwrap();
        } else {
            make(&path, MIB, None);
        }
        let writer = open_now(&path);
        for options in [options(&path), ephemeral(&path)] {
            let refusal = open(&options).unwrap_err();
            assert_eq!(refusal.code, ExitCode::Host);
            assert!(
                refusal
                    .to_string()
                    .contains("another program has it locked")
            );
        }
        drop(writer);
        let _readers = [(); 2].map(|()| open(&ephemeral(&path)).unwrap());
        assert!(said(&path).contains("another program has it locked"));
    }
}

#[test]
fn an_ephemeral_disk_leaves_its_image_alone_and_survives_a_reset() {
    let folder = folder();
    let path = folder.path().join("a.raw");
    std::fs::write(&path, vec![1; 2 << 20]).unwrap();
    let source = Source::open(&ephemeral(&path)).unwrap();
    for reset in [false, true] {
        let image = source.disk().unwrap();
        assert_eq!(image.bytes(), 2 * MIB);
        assert_eq!(get(&*image, MIB), if reset { 2 } else { 1 });
        fill(&*image, 2, MIB, 512);
        image.flush().unwrap();
        assert_eq!(get(&*image, MIB - 1), 1);
        drop(image);
        // Nobody has the image between two machines, and another file of its name is not it.
        assert!(said(&path).contains("another program has it locked"));
        if !reset {
            std::fs::rename(&path, folder.path().join("b.raw")).unwrap();
            std::fs::write(&path, vec![9; 2 << 20]).unwrap();
            assert!(said(&folder.path().join("b.raw")).contains("another program has it locked"));
            std::fs::rename(folder.path().join("b.raw"), &path).unwrap();
        }
    }
    assert_eq!(std::fs::read(&path).unwrap(), vec![1; 2 << 20]);
    assert_eq!(get(&*open(&ephemeral(&path)).unwrap(), MIB), 1);
}

#[test]
fn backing_files_are_those_that_the_user_names() {
    let folder = folder();
    let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
    std::fs::write(at("base.raw"), vec![5; 1 << 20]).unwrap();
    std::fs::hard_link(at("base.raw"), at("hard.raw")).unwrap();
    std::os::unix::fs::symlink("base.raw", at("soft.raw")).unwrap();
    make(&at("mid.qcow2"), MIB, Some(("soft.raw", "raw")));
    make(&at("top.qcow2"), 2 * MIB, Some(("mid.qcow2", "qcow2")));
    let top = at("top.qcow2");
    for (given, lacks) in [
        (vec![], "mid.qcow2"),
        (vec!["base.raw"], "mid.qcow2"),
        (vec!["mid.qcow2"], "soft.raw"),
    ] {
        let said = said_of(&with(&top, &given));
        let option = format!(
            "; if it may read that, add '--backing {}'",
            at(lacks).display()
        );
        assert!(
            said.ends_with(&option) && said.starts_with("image "),
            "{said}"
        );
    }
    for base in ["base.raw", "hard.raw", "soft.raw"] {
        let image = open(&with(&top, &[base, "mid.qcow2"])).unwrap();
        assert_eq!((get(&*image, 100), get(&*image, MIB)), (5, 0));
        // A guest of another VM must not write what this one reads.
        assert!(said(&at("base.raw")).contains("another program has it locked"));
    }
    let image = open(&with(&top, &["base.raw", "mid.qcow2"])).unwrap();
    fill(&*image, 6, 0, 512);
    image.flush().unwrap();
    assert_eq!((get(&*image, 511), get(&*image, 512)), (6, 5));
    assert_eq!(std::fs::read(at("base.raw")).unwrap(), vec![5; 1 << 20]);
}

#[test]
fn a_name_that_becomes_another_files_opens_nothing() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("base.raw"), vec![5; 1 << 20]).unwrap();
    std::fs::write(at("secret"), vec![9; 1 << 20]).unwrap();
    make(&at("a"), MIB, Some(("base.raw", "raw")));
    let source = Source::open(&with(&at("a"), &["base.raw"])).unwrap();
    // The file that was opened for the name is read, whatever has the name now, or nothing.
    std::fs::rename(at("secret"), at("base.raw")).unwrap();
    assert_eq!(get(&*disk_of(&source).unwrap(), 0), 5);
    std::fs::remove_file(at("base.raw")).unwrap();
    assert_eq!(get(&*disk_of(&source).unwrap(), 0), 5);
}

#[test]
fn a_name_is_looked_up_only_where_it_may_be_a_file_that_was_given() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("base.raw"), vec![5; 1 << 20]).unwrap();
    std::os::unix::fs::symlink("base.raw", at("soft.raw")).unwrap();
    make(&at("a"), MIB, Some(("not/there", "raw")));
    // Nothing was given, so it does not matter what is there.
    let said = said(&at("a"));
    assert!(
        said.contains("not/there; if it may read that, add"),
        "{said}"
    );
    let said = said_of(&with(&at("a"), &["base.raw"]));
    assert!(said.contains("cannot be found (No such file"), "{said}");
    // As it was given, and without links.
    make(&at("b"), MIB, Some(("soft.raw", "raw")));
    let source = Source::open(&with(&at("b"), &["soft.raw"])).unwrap();
    std::fs::remove_file(at("soft.raw")).unwrap();
    assert_eq!(get(&*disk_of(&source).unwrap(), 0), 5);
}

#[test]
fn no_device_fifo_or_folder_is_a_backing_file() {
    let folder = folder();
    let path = folder.path().join("a");
    make(&path, MIB, Some(("fifo", "raw")));
    crate::open::tests::make_fifo(&folder.path().join("fifo"));
    for (file, kind) in [
        ("fifo", "is a FIFO, not a regular file"),
        ("/dev/null", "is a character device"),
        (".", "is a directory"),
        ("none", "no such file"),
    ] {
        let said = said_of(&with(&path, &[file]));
        assert!(
            said.starts_with("backing file ") && said.contains(kind),
            "{said}"
        );
    }
    // A name that a shell would take for more is not repeated as a command.
    let name = "x';$(id)\n";
    std::fs::write(folder.path().join(name), vec![0; 4096]).unwrap();
    let path = folder.path().join("b");
    make(&path, MIB, Some((name, "raw")));
    assert!(
        said(&path).ends_with("add '--backing FILE'"),
        "{}",
        said(&path)
    );
}

#[test]
fn chains_that_have_no_end_are_refused() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    make(&at("a"), MIB, Some(("b", "qcow2")));
    make(&at("b"), MIB, Some(("a", "qcow2")));
    make(&at("self"), MIB, Some(("self", "qcow2")));
    for options in [with(&at("a"), &["b"]), options(&at("self"))] {
        let said = said_of(&options);
        assert!(said.contains("so it has no end"), "{said}");
    }
    let said = said_of(&with(&at("a"), &["a"]));
    assert!(said.contains("another program has it locked"), "{said}");
}

const MAGICS: [(u64, &[u8], &str); 5] = [
    (0, b"QFI\xfb\0\0\0\x03", "qcow2"),
    (0, b"# Disk DescriptorFile\n", "VMDK"),
    (0, b"vhdxfile", "VHDX"),
    (0x8001, b"CD001", "ISO 9660"),
    ((1 << 20) - 512, b"conectix", "VHD"),
];

#[test]
fn a_guest_cannot_make_a_raw_image_look_like_another() {
    let folder = folder();
    let path = folder.path().join("a.raw");
    for (at, magic, name) in MAGICS {
        std::fs::write(&path, vec![1; 1 << 20]).unwrap();
        let image = open_now(&path);
        let sector = at & !511;
        let mut small = vec![2; 512];
        let start = (at - sector) as usize;
        small[start..start + magic.len()].copy_from_slice(magic);
        let mut large = vec![2; 1 << 20];
        large[at as usize..at as usize + magic.len()].copy_from_slice(magic);
        for (bytes, offset) in [(&mut small, sector), (&mut large, 0)] {
            // In two pieces, as a guest has them.
            let (one, two) = bytes.split_at_mut(3);
            let pieces = vec![VolatileSlice::from(one), VolatileSlice::from(two)];
            let error = image.write(pieces, offset).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
            let text = format!("would look like {name} to the next VM");
            assert!(error.to_string().contains(&text), "{error}");
            let mut file = File::open(&path).unwrap();
            assert_eq!(disk::kind(&mut file, &path, WHAT).unwrap(), Kind::Raw);
        }
        small[start] ^= 0x20;
        image
            .write(vec![VolatileSlice::from(&mut small[..])], sector)
            .unwrap();
        assert_eq!(get(&*image, at + 1), magic[1]);
        image.write_zeroes(0, 65536, false).unwrap();
        fill(&*image, 3, 0, 1 << 20);
        drop(image);
        assert_eq!(Source::open(&options(&path)).unwrap().kind, Kind::Raw);
    }
}

#[test]
fn the_user_may_say_what_format_an_image_has() {
    let folder = folder();
    let path = folder.path().join("a");
    make(&path, MIB, None);
    let as_format = |format| ImageOptions {
        format: Some(format),
        ..options(&path)
    };
    let image = open(&as_format(Kind::Raw)).unwrap();
    assert_eq!(get(&*image, 0), b"Q"[0]);
    let mut magic = *b"vhdxfile";
    let mut bytes = [0; 512];
    bytes[..8].copy_from_slice(&magic);
    image
        .write(vec![VolatileSlice::from(&mut bytes[..])], 0)
        .unwrap();
    read_at(&*image, &mut magic, 0).unwrap();
    assert_eq!(&magic, b"vhdxfile");
    drop(image);
    assert!(said_of(&as_format(Kind::Qcow2)).contains("does not begin as a qcow2"));
    assert!(said_of(&as_format(Kind::Vmdk)).contains("is a VMDK"));
}

#[test]
fn an_image_keeps_its_format_over_a_reset() {
    let folder = folder();
    let (path, secret) = (folder.path().join("a.raw"), folder.path().join("secret"));
    std::fs::write(&path, vec![1; 1 << 20]).unwrap();
    std::fs::write(&secret, vec![9; 1 << 20]).unwrap();
    let source = Source::open(&options(&path)).unwrap();
    // Whoever writes it so.
    make(&folder.path().join("header"), MIB, Some(("secret", "raw")));
    std::fs::write(&path, std::fs::read(folder.path().join("header")).unwrap()).unwrap();
    assert_eq!(get(&*disk_of(&source).unwrap(), 0), b"Q"[0]);
    drop(source);
    assert!(said(&path).contains("names the file"));
}

#[test]
fn a_vmdk_of_flat_extents_is_read() {
    let folder = folder();
    let path = folder.path().join("a.vmdk");
    std::fs::write(folder.path().join("flat"), vec![4; 1 << 20]).unwrap();
    let text = "# Disk DescriptorFile\nversion=1\nCID=fffffffe\nparentCID=ffffffff\n\
                createType=\"monolithicFlat\"\nRW 2048 FLAT \"flat\" 0\n";
    std::fs::write(&path, text).unwrap();
    let options = ImageOptions {
        backing: vec![folder.path().join("flat")],
        ..ephemeral(&path)
    };
    let image = open(&options).unwrap();
    fill(&*image, 5, 512, 512);
    assert_eq!((get(&*image, 511), get(&*image, 512)), (4, 5));
    assert_eq!(
        std::fs::read(folder.path().join("flat")).unwrap(),
        vec![4; 1 << 20]
    );
    assert!(said_of(&ephemeral(&path)).contains("'--backing "));
    std::fs::write(&path, text.replace("flat\"", "/etc/passwd\"")).unwrap();
    assert!(said_of(&options).ends_with("add '--backing /etc/passwd'"));
}
