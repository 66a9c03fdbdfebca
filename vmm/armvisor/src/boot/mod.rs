// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The kernel, initrd and command line that an image's own boot menu names, as its boot loader would
//! load them. That is faster than firmware, and an update in the guest is what boots next.
//!
//! Everything in the image is hostile. It is read in a process of its own, whose limits end what has no
//! end (`reader`); paths lead nowhere but to the image's own file systems (`tree`).

#[cfg(test)]
mod boot_test;
mod menu;
mod target;
mod tree;
mod window;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use armvisor_devices::block::Image;
use serde::{Deserialize, Serialize};

use crate::outcome::Refusal;
use menu::Entry;
pub use target::Target;
use tree::Tree;
use window::Window;

const GRUB: [&str; 4] = ["/boot/grub", "/grub", "/boot/grub2", "/grub2"];
const ENTRIES: [&str; 2] = ["/loader/entries", "/boot/loader/entries"];

/// A file of the image, in memory.
#[derive(Debug)]
pub struct BootFile {
    /// `IMAGE:/its/path`, for messages.
    pub name: PathBuf,
    /// The bytes, from 0 on.
    pub file: File,
    /// How many bytes.
    pub len: u64,
}

impl BootFile {
    /// The file and its length, for its only reader.
    pub fn open(self, what: &str) -> Result<(PathBuf, (File, u64)), Refusal> {
        match self.len {
            0 => Err(Refusal::file(what, &self.name, "is empty")),
            len => Ok((self.name, (self.file, len))),
        }
    }
}

/// What boots.
#[derive(Debug)]
pub struct Boot {
    /// The kernel.
    pub kernel: BootFile,
    /// The initrd, or several in one.
    pub initrd: Option<BootFile>,
    /// The command line, without words for a console.
    pub words: String,
}

/// What boots, as [`search`] says it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Found {
    /// The kernel.
    pub kernel: Part,
    /// The initrd, or several in one.
    pub initrd: Option<Part>,
    /// The command line, without words for a console.
    pub words: String,
}

/// A file that was copied out of the image.
#[derive(Debug, Serialize, Deserialize)]
pub struct Part {
    /// Its path in the image; of several, all.
    pub name: String,
    /// How many bytes were copied.
    pub len: u64,
}

/// Finds what the image boots by default, and copies it out. The error is the end of a sentence.
pub fn search(image: Arc<dyn Image>, kernel: Target, initrd: Target) -> Result<Found, String> {
    let parts = window::partitions(&Window::new(image));
    let trees: Vec<Tree> = parts.iter().filter_map(Tree::open).collect();
    if trees.is_empty() {
        return Err(
            "has no partition with a file system that armvisor reads (ext2 to ext4, FAT)".into(),
        );
    }
    let (home, entry) = trees
        .iter()
        .enumerate()
        .find_map(|(index, tree)| Some((index, grub(tree)?)))
        .or_else(|| {
            let mut trees = trees.iter().enumerate();
            trees.find_map(|(index, tree)| Some((index, specification(tree)?)))
        })
        .ok_or("has no boot menu that armvisor reads (grub/grub.cfg, loader/entries)")?;
    load(&trees, home, &entry, kernel, initrd)
}

/// The default entry of a grub.cfg.
fn grub(tree: &Tree) -> Option<Entry> {
    GRUB.iter().find_map(|folder| {
        let text = tree.text(&format!("{folder}/grub.cfg"))?;
        menu::grub(&text, &environment(tree, folder))
    })
}

fn environment(tree: &Tree, folder: &str) -> HashMap<String, String> {
    let text = tree.text(&format!("{folder}/grubenv"));
    menu::environment(&text.unwrap_or_default())
}

/// The newest entry of the Boot Loader Specification.
fn specification(tree: &Tree) -> Option<Entry> {
    let saved = GRUB.iter().map(|folder| environment(tree, folder));
    let saved = saved.into_iter().find(|saved| !saved.is_empty());
    ENTRIES.iter().find_map(|folder| {
        let names = tree.names(folder).into_iter();
        let files: Vec<_> = names
            .filter(|name| name.ends_with(".conf"))
            .filter_map(|name| {
                let text = tree.text(&format!("{folder}/{name}"))?;
                Some((name, text))
            })
            .collect();
        menu::newest(&files, saved.as_ref().unwrap_or(&HashMap::new()))
    })
}

fn load(
    trees: &[Tree],
    home: usize,
    entry: &Entry,
    kernel: Target,
    initrd: Target,
) -> Result<Found, String> {
    // GRUB's search, the menu's own file system, any other.
    let wanted = entry.uuid.as_deref().unwrap_or_default();
    let searched = trees.iter().filter(|tree| tree.uuid() == wanted);
    let order: Vec<&Tree> = searched.chain(trees.get(home)).chain(trees).collect();
    let copy_all = |paths: &[String], mut to: Target| -> Result<Part, String> {
        for name in paths {
            let copied = to.align().and_then(|()| copy(&order, name, &mut to));
            copied.map_err(|error| format!("boots {name}, which cannot be read: {error}"))?;
        }
        Ok(Part {
            name: paths.join(" "),
            len: to.len(),
        })
    };
    Ok(Found {
        kernel: copy_all(std::slice::from_ref(&entry.kernel), kernel)?,
        initrd: match entry.initrds.as_slice() {
            [] => None,
            paths => Some(copy_all(paths, initrd)?),
        },
        words: without_console(&entry.words),
    })
}

/// Copies from the first file system that has the file, under its name or as a part of /boot.
fn copy(trees: &[&Tree], name: &str, to: &mut Target) -> io::Result<()> {
    let mut first = None;
    let name = format!("/{}", name.trim_start_matches('/'));
    for path in [name.clone(), format!("/boot{name}")] {
        for tree in trees {
            let room = to.room();
            match tree.copy(&path, &mut to.part(), room) {
                Ok(copied) => return to.keep(copied),
                Err(error) => {
                    first.get_or_insert(error);
                }
            }
        }
    }
    Err(first.unwrap_or(io::ErrorKind::NotFound.into()))
}

/// The image's console is another machine's.
fn without_console(words: &str) -> String {
    let of_console = |word: &&str| {
        let name = word.split('=').next().unwrap_or_default();
        !matches!(name, "console" | "earlycon" | "earlyprintk")
    };
    let kept: Vec<&str> = words.split_whitespace().filter(of_console).collect();
    kept.join(" ")
}
