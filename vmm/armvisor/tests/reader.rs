// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The process that reads images: good ones, ones that have no end, and readers that lie.

#![allow(clippy::unwrap_used)]

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use armvisor::disk::Kind;
use armvisor::image::{ImageOptions, Source};
use armvisor::outcome::ExitCode;
use armvisor::reader::Reader;
use armvisor::sys::signal::EndSignals;
use disks::*;
use tempfile::TempDir;
use vm_memory::VolatileSlice;

mod disks;

const MIB: u64 = 1 << 20;
const ROOM: u64 = 8 * MIB;

fn reader(seconds: u64) -> Reader {
    Reader {
        program: env!("CARGO_BIN_EXE_armvisor").into(),
        seconds,
        ..Reader::default()
    }
}

fn open(path: &Path, ephemeral: bool) -> Source {
    let options = ImageOptions {
        path: path.to_owned(),
        ephemeral,
        ..ImageOptions::default()
    };
    Source::open(&options).unwrap()
}

fn saved(data: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.img");
    fs::write(&path, data).unwrap();
    (folder, path)
}

/// What is said of a disk that does not boot.
fn said(data: &[u8], reader: &Reader) -> String {
    let (_folder, path) = saved(data);
    let refusal = reader.boot(&open(&path, false), ROOM).unwrap_err();
    let said = refusal.to_string();
    let remedy = "; give the kernel with '--kernel' (and '--initrd', '--append')";
    said.strip_suffix(remedy)
        .unwrap_or_else(|| panic!("{said}"))
        .to_owned()
}

fn content(file: (File, u64)) -> String {
    let mut text = String::new();
    file.0.take(file.1).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_disk_is_read_by_another_process() {
    let (_folder, path) = saved(&debian());
    let boot = reader(20).boot(&open(&path, false), ROOM).unwrap();
    let mut file = boot.kernel.file.try_clone().unwrap();
    assert!(file.write(b"x").is_err(), "nobody changes it any more");
    let (name, kernel) = boot.kernel.open("kernel").unwrap();
    assert_eq!(
        name,
        path.with_file_name("a.img:").join("boot/vmlinuz-6.12")
    );
    assert_eq!(content(kernel), "new kernel");
    assert_eq!(
        content(boot.initrd.unwrap().open("initrd").unwrap().1),
        "new initrd"
    );
    assert_eq!(boot.words, format!("root=UUID={UUID} ro quiet"));
}

#[test]
fn what_the_guest_wrote_beside_an_image_is_read_after_a_reset() {
    let mut data = debian();
    let (_folder, path) = saved(&data);
    let before = data.clone();
    let source = open(&path, true);
    let reader = reader(20);
    for (turn, words) in ["ro quiet", "ro noise"].into_iter().enumerate() {
        let boot = reader.boot(&source, ROOM).unwrap();
        assert!(boot.words.ends_with(words), "{}", boot.words);
        if turn == 1 {
            break;
        }
        let places: Vec<usize> = (0..data.len() - 5)
            .filter(|&at| &data[at..at + 5] == b"quiet")
            .collect();
        places
            .iter()
            .for_each(|&at| data[at..at + 5].copy_from_slice(b"noise"));
        let disk = source.disk().unwrap();
        disk.write(vec![VolatileSlice::from(&mut data[..])], 0)
            .unwrap();
        disk.flush().unwrap();
    }
    assert!(fs::read(path).unwrap() == before);
}

/// An ext4 whose menu's table of extents is few blocks and has 340^4 ways through them.
fn without_end() -> Vec<u8> {
    const BLOCK: usize = 4096;
    let files: [(&str, &[u8]); 2] = [
        ("boot/grub/grub.cfg", GRUB_CFG.as_bytes()),
        ("tables", &[1; 5 * BLOCK]),
    ];
    ext4_with(&["-b", "4096", "-O", "^metadata_csum"], &files, |image| {
        let blocks = debugfs(image, "blocks /tables");
        let blocks: Vec<u32> = blocks
            .split_whitespace()
            .map(|word| word.parse().unwrap())
            .collect();
        let file = File::options().write(true).open(image).unwrap();
        for (index, at) in blocks.iter().enumerate() {
            let depth = (4 - index) as u16;
            let entries = if depth == 0 { 0 } else { 340_u16 };
            let mut node = vec![0; BLOCK];
            for (at, word) in [(0, 0xf30a), (2, entries), (4, 340), (6, depth)] {
                node[at..at + 2].copy_from_slice(&word.to_le_bytes());
            }
            for entry in 0..usize::from(entries) {
                let at = 12 + 12 * entry;
                node[at + 4..at + 8].copy_from_slice(&blocks[index + 1].to_le_bytes());
            }
            file.write_all_at(&node, u64::from(*at) * BLOCK as u64)
                .unwrap();
        }
        for (word, value) in [
            (0, 0x0001_f30a),
            (1, 0x0005_0004),
            (2, 0),
            (3, 0),
            (4, blocks[0]),
            (5, 0),
        ] {
            debugfs(
                image,
                &format!("set_inode_field /boot/grub/grub.cfg block[{word}] {value}"),
            );
        }
    })
}

#[test]
fn tables_without_end_are_given_up_in_time() {
    let begin = Instant::now();
    let said = said(&without_end(), &reader(1));
    assert!(
        said.ends_with("a.img: its boot entries take too long to read (1 s of CPU)"),
        "{said}"
    );
    assert!(begin.elapsed() < Duration::from_secs(60));
}

const TOO_MUCH: &str =
    ": its boot entries are damaged, or take more than 512 MiB of memory to read";

#[test]
fn a_link_of_100_gib_is_given_up() {
    let link = format!("->{}", "x/".repeat(100));
    let files: [(&str, &[u8]); 2] = [
        ("boot/grub/grub.cfg", GRUB_CFG.as_bytes()),
        ("boot/vmlinuz-6.12", link.as_bytes()),
    ];
    let disk = ext4_with(&["-O", "^metadata_csum"], &files, |image| {
        debugfs(
            image,
            "set_inode_field /boot/vmlinuz-6.12 size 107374182400",
        );
    });
    let said = said(&disk, &reader(20));
    assert!(said.ends_with(TOO_MUCH), "{said}");
}

#[test]
fn menus_without_end_are_given_up() {
    let doubled = format!("set a=xx\n{}linux /k $a\n", "set a=$a$a$a$a\n".repeat(30));
    for menu in [doubled, "menuentry x {\n".repeat(1 << 18)] {
        let said = said(
            &ext4(&[("boot/grub/grub.cfg", menu.as_bytes())]),
            &reader(20),
        );
        assert!(said.ends_with(TOO_MUCH), "{said}");
    }
}

/// An entry of the specification whose options are a saved variable of 64 KiB, `times`.
fn entries(names: &[(&str, usize)]) -> Vec<u8> {
    let saved = format!("# GRUB\na={}\n", "x".repeat(64 << 10));
    let entry = |times| format!("linux /k\noptions {}\n", "$a".repeat(times));
    let texts = names
        .iter()
        .map(|(name, times)| (format!("loader/entries/{name}.conf"), entry(*times)));
    let texts: Vec<_> = texts.collect();
    let mut files: Vec<(&str, &[u8])> = texts
        .iter()
        .map(|(name, text)| (&**name, text.as_bytes()))
        .collect();
    files.extend([("grub/grubenv", saved.as_bytes()), ("k", b"kernel")]);
    ext4(&files)
}

#[test]
fn of_the_specifications_entries_one_alone_is_expanded() {
    let said = said(&entries(&[("9", 400_000)]), &reader(20));
    assert!(said.ends_with(TOO_MUCH), "{said}");
    let (_folder, path) = saved(&entries(&[("1", 400_000), ("2", 400_000), ("9", 0)]));
    assert_eq!(
        reader(20).boot(&open(&path, false), ROOM).unwrap().words,
        ""
    );
}

#[test]
fn damaged_disks_end_in_a_sentence() {
    let good = debian();
    // The table, the FAT's start, and of the ext4 its superblock, its first groups and all of it.
    let root = (1 << 20) + PART;
    let places = [
        (512, 1024),
        (1 << 20, 4096),
        (root + 1024, 1024),
        (root + 4096, 8192),
        (root, PART),
    ];
    let mut seed = 0x9e37_79b9_7f4a_7c15;
    for _ in 0..150 {
        let mut data = good.clone();
        for _ in 0..1 + random(&mut seed) % 16 {
            let (start, len) = places[random(&mut seed) % places.len()];
            data[start + random(&mut seed) % len] ^= 1 << (random(&mut seed) % 8);
        }
        if random(&mut seed).is_multiple_of(8) {
            data.truncate(512 + random(&mut seed) % good.len());
        }
        let (_folder, path) = saved(&data);
        if let Err(refusal) = reader(20).boot(&open(&path, false), ROOM) {
            let said = refusal.to_string();
            assert!(said.contains("give the kernel with '--kernel'"), "{said}");
        }
    }
}

/// A qcow2 of which the tables alone are 2 TiB, all of them counted, and none of them on the disk.
fn large_qcow2(path: &Path) {
    const CLUSTER: u64 = 2 << 20;
    const TABLES: u64 = 1 << 20;
    let file = File::create(path).unwrap();
    let put = |at: u64, bytes: &[u8]| file.write_all_at(bytes, at).unwrap();
    put(0, b"QFI\xfb\0\0\0\x03");
    put(20, &21_u32.to_be_bytes());
    put(24, &(1_u64 << 50).to_be_bytes());
    put(36, &(TABLES as u32).to_be_bytes());
    put(40, &(3 * CLUSTER).to_be_bytes());
    put(48, &CLUSTER.to_be_bytes());
    put(56, &1_u32.to_be_bytes());
    put(100, &104_u32.to_be_bytes());
    // Counts of one bit, in one block.
    put(CLUSTER, &(2 * CLUSTER).to_be_bytes());
    put(2 * CLUSTER, &vec![0xff; CLUSTER as usize]);
    let first = 3 + TABLES * 8 / CLUSTER;
    let l1: Vec<u8> = (first..first + TABLES)
        .flat_map(|table| ((1 << 63) | (table * CLUSTER)).to_be_bytes())
        .collect();
    put(3 * CLUSTER, &l1);
    file.set_len((first + TABLES) * CLUSTER).unwrap();
}

#[test]
fn tables_of_a_qcow2_that_take_too_long_are_not_checked_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.qcow2");
    large_qcow2(&path);
    let source = open(&path, false);
    assert!(source.kind == Kind::Qcow2 && source.needs_check());
    let said = reader(1).check(&source).unwrap_err().to_string();
    assert!(
        said.contains("a.qcow2: its tables take too long to read (1 s of CPU); add '--ephemeral'"),
        "{said}"
    );
}

/// A program that is no reader, but says `reply`.
fn liar(folder: &Path, reply: &str) -> Reader {
    script(folder, &format!("cat >/dev/null\n{reply}"))
}

fn script(folder: &Path, words: &str) -> Reader {
    let program = folder.join("script");
    // Another process writes it: none that is started meanwhile has it open.
    let script = format!("#!/bin/sh\n{words}\n");
    let mut shell = Command::new("/bin/sh")
        .args(["-c", "cat >$0 && chmod +x $0"])
        .arg(&program)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    shell
        .stdin
        .take()
        .unwrap()
        .write_all(script.as_bytes())
        .unwrap();
    assert!(shell.wait().unwrap().success());
    Reader {
        program,
        ..reader(20)
    }
}

#[test]
fn a_reader_that_was_taken_over_is_not_believed() {
    let (folder, path) = saved(&[0; 4096]);
    let found = |kernel: &str, len: u64, initrd: &str, words: &str| {
        format!(
            r#"echo '{{"Ok":{{"kernel":{{"name":"{kernel}","len":{len}}},"initrd":{initrd},"words":"{words}"}}}}'"#
        )
    };
    let long = "x".repeat(5000);
    let large = r#"{"name":"/i","len":8388609}"#;
    for reply in [
        "echo no".into(),
        "echo '{\"Ok\":null}'".into(),
        "head -c 1000000 /dev/zero; true".into(),
        format!("echo '{{\"Err\":\"{long}\"}}'"),
        found(&long, 1, "null", ""),
        found("/k", 513 << 20, "null", ""),
        found("/k", 1, large, ""),
        found("/k", 1, "null", &long),
        found("/k", 1, "null", "a\\u0000b"),
    ] {
        let refusal = liar(folder.path(), &reply)
            .boot(&open(&path, false), ROOM)
            .unwrap_err();
        let said = refusal.to_string();
        assert!(
            said.ends_with("a.img: its reader gave no answer that makes sense"),
            "{reply}: {said}"
        );
    }
    let good = liar(folder.path(), &found("/k", 1, "null", "ro"));
    assert_eq!(good.boot(&open(&path, false), ROOM).unwrap().words, "ro");
    let dead = liar(folder.path(), "kill -SEGV $$")
        .boot(&open(&path, false), ROOM)
        .unwrap_err();
    assert!(dead.to_string().contains("are damaged, or take"), "{dead}");
    for (end, text) in [
        (
            "kill -KILL $$",
            "a.img: the process that reads it was killed; give the kernel",
        ),
        (
            "exit 100",
            "a.img: the process that is to read it cannot limit itself on this host",
        ),
    ] {
        let refusal = liar(folder.path(), end).boot(&open(&path, false), ROOM);
        let said = refusal.unwrap_err().to_string();
        assert!(said.contains(text), "{said}");
    }
}

/// The reader, started by a shell that does this before.
fn after(folder: &Path, words: &str) -> Reader {
    let start = format!("exec {} \"$@\"", env!("CARGO_BIN_EXE_armvisor"));
    script(folder, &format!("{words}\n{start}"))
}

#[test]
fn limits_that_are_lower_already_stay() {
    let (folder, path) = saved(&debian());
    let few = after(
        folder.path(),
        "ulimit -v 400000; ulimit -n 64; ulimit -f 600000",
    );
    few.boot(&open(&path, false), ROOM).unwrap();
    let none = after(folder.path(), "ulimit -n 3");
    assert!(none.boot(&open(&path, false), ROOM).is_err());
}

#[test]
fn a_path_need_not_be_text() {
    let (folder, path) = saved(&debian());
    let name = OsStr::from_bytes(b"\xff\xfe.img");
    let other = folder.path().join(name);
    fs::rename(path, &other).unwrap();
    let boot = reader(20).boot(&open(&other, false), ROOM).unwrap();
    assert!(
        boot.kernel
            .name
            .as_os_str()
            .as_bytes()
            .ends_with(b"/\xff\xfe.img:/boot/vmlinuz-6.12")
    );
}

#[test]
fn the_reader_has_no_file_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let (path, pid) = (folder.path().join("a.qcow2"), folder.path().join("pid"));
    large_qcow2(&path);
    let source = open(&path, false);
    let words = format!("exec 9</etc/passwd; echo $$ >{}", pid.display());
    let slow = Reader {
        seconds: 2,
        ..after(folder.path(), &words)
    };
    let mut closed = false;
    std::thread::scope(|scope| {
        let check = scope.spawn(|| slow.check(&source));
        while !closed && !check.is_finished() {
            let pid = fs::read_to_string(&pid).unwrap_or_default();
            let open =
                |number: u32| Path::new(&format!("/proc/{}/fd/{number}", pid.trim())).exists();
            // Its program has begun, and its standard input is still open.
            let exe = fs::read_link(format!("/proc/{}/exe", pid.trim()));
            let begun = exe.is_ok_and(|exe| exe.ends_with("armvisor"));
            closed = begun && !open(9) && open(0);
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(check.join().unwrap().is_err());
    });
    assert!(closed);
}

#[test]
fn a_reader_that_waits_for_its_storage_is_not_waited_for() {
    let (folder, path) = saved(&[0; 4096]);
    for wait in ["exec sleep 100", "exec >&-; exec sleep 100"] {
        let slow = Reader {
            patience: Duration::from_secs(1),
            ..liar(folder.path(), wait)
        };
        let begin = Instant::now();
        let refusal = slow.boot(&open(&path, false), ROOM).unwrap_err();
        assert!(begin.elapsed() < Duration::from_secs(50));
        assert_eq!(refusal.code, ExitCode::Host);
        let said = refusal.to_string();
        assert!(
            said.ends_with("a.img: reading it took longer than 1 s; is its storage there?"),
            "{said}"
        );
    }
}

/// What a process blocks, by the bits of its signals.
fn blocked(process: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
    u64::from_str_radix(line.unwrap().trim(), 16).unwrap()
}

#[test]
fn a_signal_that_ends_the_program_ends_the_reader() {
    let (folder, path) = saved(&[0; 4096]);
    let slow = liar(folder.path(), "exec sleep 100");
    let source = open(&path, false);
    let _signals = EndSignals::new().unwrap();
    assert_ne!(blocked("thread-self") & 1 << (libc::SIGTERM - 1), 0);
    // SAFETY: the call has no memory effects.
    let thread = unsafe { libc::pthread_self() };
    // SAFETY: the signal is blocked in this thread, and goes to no other.
    unsafe { libc::pthread_kill(thread, libc::SIGTERM) };
    let begin = Instant::now();
    let refusal = slow.boot(&source, ROOM).unwrap_err();
    assert!(begin.elapsed() < Duration::from_secs(50));
    assert_eq!(refusal.code, ExitCode::Terminated);
    assert!(
        refusal
            .to_string()
            .ends_with("a.img: signal 15 came while it was read")
    );
}

#[test]
fn holes_of_an_initrd_take_no_memory_of_the_host() {
    let link = [0; 100];
    let files: [(&str, &[u8]); 3] = [
        ("boot/grub/grub.cfg", GRUB_CFG.as_bytes()),
        ("boot/vmlinuz-6.12", b"kernel"),
        ("boot/initrd.img-6.12", &link),
    ];
    for (size, fits) in [(256 << 20, true), (600 << 20, false)] {
        let disk = ext4_with(&["-O", "^metadata_csum"], &files, |image| {
            let field = format!("set_inode_field /boot/initrd.img-6.12 size {size}");
            debugfs(image, &field);
        });
        let (_folder, path) = saved(&disk);
        let boot = reader(20).boot(&open(&path, false), 64 << 30);
        let initrd = boot.map(|boot| boot.initrd.unwrap());
        match initrd {
            Ok(initrd) => {
                let data = initrd.file.metadata().unwrap();
                assert!(fits && initrd.len == size && data.blocks() * 512 < MIB);
            }
            Err(refusal) => {
                let said = refusal.to_string();
                assert!(!fits && said.contains("more than 536870912"), "{said}");
            }
        }
    }
}

#[test]
fn the_command_is_for_nobody_to_type() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_armvisor"));
    let done = command
        .arg("read-image")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!((done.status.code(), done.stdout.len()), (Some(1), 0));
}
