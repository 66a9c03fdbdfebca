// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Boot menus in disks that are made here, good ones and damaged ones.

use std::io::{Read, Seek, Write};

use armvisor_devices::block::RawImage;

use super::*;
use disks::*;

#[path = "../../tests/disks/mod.rs"]
mod disks;

/// What was found, the kernel, and the initrd.
fn look(data: &[u8]) -> Result<(Found, String, String), String> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(data).unwrap();
    let image = Arc::new(RawImage::new(file, true).unwrap());
    let [kernel, initrd] = [(); 2].map(|()| tempfile::tempfile().unwrap());
    let target = |file: &File, limit| Target::new(file.try_clone().unwrap(), limit);
    let found = search(image, target(&kernel, 4 << 20), target(&initrd, 1 << 20))?;
    let content = |mut file: File, len| {
        let mut text = String::new();
        file.rewind().unwrap();
        file.take(len).read_to_string(&mut text).unwrap();
        text
    };
    let kernel = content(kernel, found.kernel.len);
    let initrd = content(initrd, found.initrd.as_ref().map_or(0, |part| part.len));
    Ok((found, kernel, initrd))
}

#[test]
fn the_default_entry_of_debians_grub_is_found() {
    let data = debian();
    for damaged in [false, true] {
        let mut data = data.clone();
        if damaged {
            // The backup of the table is at the disk's end.
            data[SECTOR..SECTOR + 8].fill(0);
        }
        let (found, kernel, initrd) = look(&data).unwrap();
        assert_eq!((&*kernel, &*initrd), ("new kernel", "new initrd"));
        assert_eq!(found.kernel.name, "/boot/vmlinuz-6.12");
        assert_eq!(found.words, format!("root=UUID={UUID} ro quiet"));
    }
}

#[test]
fn a_saved_default_in_a_submenu_is_followed_through_links() {
    let config = GRUB_CFG.replace("set default=\"0\"", "set default=\"${saved_entry}\"");
    let root = ext4(&[
        ("boot/grub/grub.cfg", config.as_bytes()),
        (
            "boot/grub/grubenv",
            b"# GRUB\nsaved_entry=gnulinux-advanced>gnulinux-6.1\n####",
        ),
        ("boot/vmlinuz-6.1", b"->../real"),
        ("real", b"old kernel"),
        ("boot/initrd.img-6.1", b"old initrd"),
        ("boot/more", b", more"),
    ]);
    // The disk has no table.
    let (found, kernel, initrd) = look(&root).unwrap();
    assert_eq!((&*kernel, &*initrd), ("old kernel", "old initrd\0\0, more"));
    assert_eq!(found.words, "root=/dev/vda1 two words");
}

#[test]
fn the_newest_entry_of_the_specification_is_found_on_a_fat() {
    let entry = |version: &str, kernel: &str| {
        format!(
            "title x\nversion {version}\nlinux /{kernel}\ninitrd /initrd\noptions ro\noptions a=b c\n"
        )
    };
    let (old, new) = (entry("6.1.9", "old"), entry("6.1.10", "new"));
    let esp = fat(&[
        ("loader/entries/a.conf", new.as_bytes()),
        ("loader/entries/b.conf", old.as_bytes()),
        ("old", b"old kernel"),
        ("new", b"new kernel"),
        ("initrd", b"initrd"),
    ]);
    let (found, kernel, initrd) = look(&disk(&[esp])).unwrap();
    assert_eq!((&*kernel, &*initrd), ("new kernel", "initrd"));
    assert_eq!(found.words, "ro a=b c");
}

#[test]
fn what_does_not_boot_is_named() {
    let said = |data: &[u8]| look(data).unwrap_err();
    let empty = said(&vec![0; PART]);
    assert!(empty.contains("no partition with a file system"), "{empty}");
    assert!(said(&ext4(&[])).contains("has no boot menu"));
    let config = ("boot/grub/grub.cfg", GRUB_CFG.as_bytes());
    let missing = said(&ext4(&[config]));
    assert!(
        missing.contains("boots /boot/vmlinuz-6.12, which cannot be read"),
        "{missing}"
    );
    let large = vec![1; (1 << 20) + 1];
    let files: [(&str, &[u8]); 3] = [
        config,
        ("boot/vmlinuz-6.12", b"kernel"),
        ("boot/initrd.img-6.12", &large),
    ];
    let large = said(&ext4(&files));
    assert!(large.contains("more than 1048576"), "{large}");
    let circle = said(&ext4(&[config, ("boot/vmlinuz-6.12", b"->vmlinuz-6.12")]));
    assert!(circle.contains("cannot be read"), "{circle}");
    // A link to the host's own file is one in the image.
    let out = said(&ext4(&[
        config,
        ("boot/vmlinuz-6.12", b"->../../../../../etc/passwd"),
    ]));
    assert!(out.contains("cannot be read"), "{out}");
}

#[test]
fn menus_that_are_cut_off_are_read_to_their_end() {
    for text in [
        "linux ${",
        "linux '\\",
        "menuentry x {\nmenuentry y {",
        "}\n}\n",
    ] {
        assert_eq!(menu::grub(text, &HashMap::new()), None);
    }
}
