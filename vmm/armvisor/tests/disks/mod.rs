// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Disks with file systems and boot menus, made by e2fsprogs and by the crates that read them.
#![allow(clippy::unwrap_used, dead_code, unreachable_pub)]

use std::fs::{self, File};
use std::io::{Cursor, Write};
use std::path::Path;
use std::process::Command;

use gptman::{GPT, GPTPartitionEntry};

pub const SECTOR: usize = 512;
pub const PART: usize = 8 << 20;
pub const UUID: &str = "11111111-2222-3333-4444-555555555555";

/// As `grub-mkconfig` writes it, shortened.
pub const GRUB_CFG: &str = r#"
if [ -s $prefix/grubenv ]; then
  set have_grubenv=true
  load_env
fi
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
   set next_entry=
   set boot_once=true
else
   set default="0"
fi
if [ x"${feature_menuentry_id}" = xy ]; then
  menuentry_id_option="--id"
else
  menuentry_id_option=""
fi
function load_video {
  insmod all_video
}
menuentry 'Debian GNU/Linux' --class debian $menuentry_id_option 'gnulinux-simple' {
	load_video
	search --no-floppy --fs-uuid --set=root --hint-bios=hd0,gpt1 11111111-2222-3333-4444-555555555555
	echo	'Loading Linux 6.12 ...'
	linux	/boot/vmlinuz-6.12 root=UUID=11111111-2222-3333-4444-555555555555 ro console=tty0 console=ttyAMA0,115200 earlyprintk=x quiet $vt_handoff
	initrd	/boot/initrd.img-6.12
}
submenu 'Advanced options for Debian GNU/Linux' $menuentry_id_option 'gnulinux-advanced' {
	menuentry 'Debian GNU/Linux, with Linux 6.1' $menuentry_id_option 'gnulinux-6.1' {
		linux	($root)/boot/vmlinuz-6.1 root=/dev/vda1 "two  words"
		initrd	/boot/initrd.img-6.1 /boot/more
	}
}
"#;

/// An ext4 with these files.
pub fn ext4(files: &[(&str, &[u8])]) -> Vec<u8> {
    ext4_with(&[], files, |_| {})
}

/// The same, made with more options, and then changed where it is.
pub fn ext4_with(options: &[&str], files: &[(&str, &[u8])], change: impl Fn(&Path)) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree");
    fs::create_dir(&tree).unwrap();
    for (name, data) in files {
        let path = tree.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match data.strip_prefix(b"->") {
            Some(to) => {
                let to = std::str::from_utf8(to).unwrap();
                std::os::unix::fs::symlink(to, path).unwrap();
            }
            None => fs::write(path, data).unwrap(),
        }
    }
    let image = folder.path().join("image");
    File::create(&image).unwrap().set_len(PART as u64).unwrap();
    let done = Command::new("/sbin/mke2fs")
        .args(["-q", "-t", "ext4", "-F", "-U", UUID])
        .args(options)
        .arg("-d")
        .args([&tree, &image])
        .status();
    assert!(
        done.is_ok_and(|status| status.success()),
        "mke2fs (e2fsprogs) makes the disk"
    );
    change(&image);
    fs::read(image).unwrap()
}

/// A FAT with these files, and the folders that they need.
pub fn fat(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut disk = Cursor::new(vec![0; PART]);
    fatfs::format_volume(&mut disk, fatfs::FormatVolumeOptions::new()).unwrap();
    let system = fatfs::FileSystem::new(&mut disk, fatfs::FsOptions::new()).unwrap();
    for (name, data) in files {
        let mut at = 0;
        while let Some(slash) = name[at..].find('/') {
            at += slash + 1;
            system.root_dir().create_dir(&name[..at - 1]).unwrap();
        }
        let mut file = system.root_dir().create_file(name).unwrap();
        file.write_all(data).unwrap();
    }
    drop(system);
    disk.into_inner()
}

/// A GPT disk with these partitions.
pub fn disk(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut disk = Cursor::new(vec![0; (2 + parts.len() * PART / (1 << 20)) << 20]);
    let mut table = GPT::new_from(&mut disk, SECTOR as u64, [7; 16]).unwrap();
    for (index, data) in parts.iter().enumerate() {
        let first = ((1 << 20) + index * PART) / SECTOR;
        table[index as u32 + 1] = GPTPartitionEntry {
            partition_type_guid: [1; 16],
            unique_partition_guid: [index as u8 + 1; 16],
            starting_lba: first as u64,
            ending_lba: (first + data.len() / SECTOR - 1) as u64,
            attribute_bits: 0,
            partition_name: "x".into(),
        };
    }
    table.write_into(&mut disk).unwrap();
    let mut disk = disk.into_inner();
    for (index, data) in parts.iter().enumerate() {
        let at = (1 << 20) + index * PART;
        disk[at..at + data.len()].copy_from_slice(data);
    }
    disk
}

/// Runs debugfs on an ext4, and returns what it prints.
pub fn debugfs(image: &Path, command: &str) -> String {
    let done = Command::new("/sbin/debugfs")
        .args(["-w", "-R", command])
        .arg(image)
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "debugfs (e2fsprogs) changes the disk"
    );
    String::from_utf8(done.stdout).unwrap()
}

/// A disk in the form of Debian's.
pub fn debian() -> Vec<u8> {
    let root = ext4(&[
        ("boot/grub/grub.cfg", GRUB_CFG.as_bytes()),
        ("boot/vmlinuz-6.12", b"new kernel"),
        ("boot/vmlinuz-6.1", b"->../real"),
        ("real", b"old kernel"),
        ("boot/initrd.img-6.12", b"new initrd"),
        ("boot/initrd.img-6.1", b"old initrd"),
        ("boot/more", b", more"),
        (
            "boot/grub/grubenv",
            b"# GRUB Environment Block\nsaved_entry=gnulinux-advanced>gnulinux-6.1\n",
        ),
    ]);
    disk(&[fat(&[("EFI/BOOT/BOOTAA64.EFI", b"MZ")]), root])
}

/// Repeats by its seed.
pub fn random(seed: &mut u64) -> usize {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    (*seed >> 11) as usize
}
