// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The files of a partition: ext2 to ext4 and FAT, by kept crates. Paths and links stay in the file
//! system: it has no other root.

use std::io::{self, Read, Seek, SeekFrom, Write};

use ext4_view::Ext4;
use fatfs::{FileSystem, FsOptions};

use super::window::Window;

/// A file system.
pub(super) enum Tree {
    Ext4(Ext4),
    Fat(Box<FileSystem<Window>>),
}

impl Tree {
    /// The file system in a partition; None where none that is known here.
    pub(super) fn open(part: &Window) -> Option<Self> {
        let mut magic = [0; 2];
        if part.read_at(&mut magic, 1080).is_ok() && magic == [0x53, 0xef] {
            let reader = Box::new(part.clone());
            return Ext4::load(reader).ok().map(Tree::Ext4);
        }
        let mut start = [0; 512];
        part.read_at(&mut start, 0).ok()?;
        // Every kind of FAT has it.
        if start[510..] != [0x55, 0xaa] || start[11..13] == [0, 0] || start[13] == 0 {
            return None;
        }
        let system = FileSystem::new(part.clone(), FsOptions::new()).ok()?;
        Some(Tree::Fat(Box::new(system)))
    }

    /// The identity that `search --fs-uuid` looks for.
    pub(super) fn uuid(&self) -> String {
        match self {
            Tree::Ext4(system) => system.uuid().to_string(),
            Tree::Fat(system) => {
                let id = system.volume_id();
                format!("{:04X}-{:04X}", id >> 16, id & 0xffff)
            }
        }
    }

    /// Copies the file at `path` if it has at most `limit` bytes; says how many.
    pub(super) fn copy(&self, path: &str, to: &mut dyn Write, limit: u64) -> io::Result<u64> {
        let (mut from, len): (Box<dyn Read>, u64) = match self {
            Tree::Ext4(system) => {
                let metadata = system.metadata(path).map_err(io::Error::other)?;
                if !metadata.file_type().is_regular_file() {
                    return Err(io::Error::other("it is no regular file"));
                }
                let file = system.open(path).map_err(io::Error::other)?;
                (Box::new(file), metadata.len())
            }
            Tree::Fat(system) => {
                let mut file = system.root_dir().open_file(path.trim_start_matches('/'))?;
                let len = file.seek(SeekFrom::End(0))?;
                file.seek(SeekFrom::Start(0))?;
                (Box::new(file), len)
            }
        };
        if len > limit {
            return Err(io::Error::other(format!(
                "it has {len} bytes, more than {limit}"
            )));
        }
        io::copy(&mut from.by_ref().take(len), to)
    }

    /// A file as text; what is no text in it is replaced.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let mut bytes = Vec::new();
        self.copy(path, &mut bytes, u64::MAX).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The names of the files in the folder at `path`.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        match self {
            Tree::Ext4(system) => {
                let Ok(entries) = system.read_dir(path) else {
                    return Vec::new();
                };
                let entries = entries.map_while(Result::ok);
                entries
                    .filter_map(|entry| entry.file_name().as_str().ok().map(str::to_owned))
                    .collect()
            }
            Tree::Fat(system) => {
                let folder = system.root_dir().open_dir(path.trim_start_matches('/'));
                let Ok(folder) = folder else {
                    return Vec::new();
                };
                let entries = folder.iter().map_while(Result::ok);
                entries.map(|entry| entry.file_name()).collect()
            }
        }
    }
}
