// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The tables of a qcow2, checked before it is written (QEMU's docs/interop/qcow2.rst).
//!
//! The library believes the counts of references: it gives out a cluster whose count is 0, be it the
//! header's own, and has no end where the first block of counts is missing (imago 0.2.6). So all that
//! is in use must be counted as often as it is used, and no table may be the guest's data, which would
//! let the guest write it. The guest's tables are read, its data is not. Each block of counts is read
//! once and kept, as the entries of an image that has aged lead anywhere.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::disk::shell_word;

/// The bits of an entry that are an offset.
const OFFSET: u64 = 0x00ff_ffff_ffff_fe00;
const COMPRESSED: u64 = 1 << 62;
/// Nothing else uses the cluster, so it is written where it is.
const COPIED: u64 = 1 << 63;
/// Entries of the L1 table and of the table of counts, as the library has it.
const MOST_ENTRIES: u64 = 4 << 20;

/// Why an image is not written.
enum Damage {
    /// The image is not what it should be; the text says where.
    Wrong(&'static str),
    /// It cannot be read, which damage may cause, too.
    Io(io::Error),
}

impl From<io::Error> for Damage {
    fn from(error: io::Error) -> Self {
        Damage::Io(error)
    }
}

/// Refuses what the library does not know.
pub(super) fn check_features(file: &File, path: &Path) -> Result<(), String> {
    let head = header(file)?;
    if !head.starts_with(b"QFI\xfb") {
        return Err("does not begin as a qcow2 does; leave '--image-format' out".into());
    }
    let convert = super::convert(path);
    if head[32..36] != [0; 4] {
        return Err(format!(
            "is encrypted, which armvisor does not read; make one that is not with {convert}"
        ));
    }
    let repair = repair(path);
    match if word(&head, 4) >= 3 { head[79] } else { 0 } {
        bits if bits & 1 != 0 => Err(format!("was not closed by its last user; {repair}")),
        bits if bits & 2 != 0 => Err(format!("is marked as damaged; {repair}")),
        bits if bits & 8 != 0 => Err(format!(
            "is compressed with zstd, which armvisor does not read in a qcow2; unpack it with {convert}"
        )),
        bits if bits & 16 != 0 => Err(format!(
            "has extended L2 entries, which armvisor does not read; make one without with {convert}"
        )),
        _ => Ok(()),
    }
}

/// Refuses what the library must not write.
pub(super) fn check_tables(file: &File, path: &Path) -> Result<(), String> {
    let head = header(file)?;
    // The clusters are another file's, which is refused later.
    if word(&head, 4) >= 3 && head[79] & 4 != 0 {
        return Ok(());
    }
    let repair = repair(path);
    match Tables::new(file, &head).and_then(|mut tables| tables.check()) {
        Ok(()) => Ok(()),
        Err(Damage::Wrong(what)) => Err(format!(
            "is damaged: {what}, so writing would destroy more; {repair}"
        )),
        Err(Damage::Io(error)) => Err(format!("cannot be checked: {error}; {repair}")),
    }
}

/// How many bytes of the disk one L2 table maps.
pub(super) fn region(file: &File) -> io::Result<u64> {
    let mut bits = [0; 4];
    file.read_exact_at(&mut bits, 20)?;
    match u32::from_be_bytes(bits) {
        bits @ 9..=21 => Ok(1 << (2 * bits - 3)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn header(file: &File) -> Result<[u8; 104], String> {
    let mut head = [0; 104];
    match file.read_exact_at(&mut head, 0) {
        Ok(()) => Ok(head),
        Err(_) => Err("is truncated: it ends inside its header; copy it again".into()),
    }
}

fn repair(path: &Path) -> String {
    format!(
        "repair it with 'qemu-img check -r all {}'",
        shell_word(path)
    )
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_be_bytes(word)
}

fn long(bytes: &[u8], at: usize) -> u64 {
    (u64::from(word(bytes, at)) << 32) | u64::from(word(bytes, at + 4))
}

/// The tables of an image that is about to be written.
struct Tables<'a> {
    file: &'a File,
    cluster_bits: u32,
    /// Counts are 1 << this many bits wide.
    order: u32,
    l1: Vec<u64>,
    /// The table of counts: the blocks' offsets.
    counts: Vec<u64>,
    /// The blocks that were needed, by their places in that table.
    blocks: HashMap<u64, Counts>,
    /// Clusters that hold tables.
    tables: HashSet<u64>,
}

impl<'a> Tables<'a> {
    fn new(file: &'a File, head: &[u8; 104]) -> Result<Self, Damage> {
        let cluster_bits = word(head, 20);
        if !(9..=21).contains(&cluster_bits) {
            return Err(Damage::Wrong("it has clusters of an impossible size"));
        }
        let order = if word(head, 4) >= 3 {
            word(head, 96)
        } else {
            4
        };
        if order > 6 {
            return Err(Damage::Wrong("it counts in an impossible width"));
        }
        let mut new = Tables {
            file,
            cluster_bits,
            order,
            l1: Vec::new(),
            counts: Vec::new(),
            blocks: HashMap::new(),
            tables: HashSet::from([0]),
        };
        new.l1 = new.table(long(head, 40), word(head, 36).into())?;
        let entries = u64::from(word(head, 56)) << (cluster_bits - 3);
        new.counts = new.table(long(head, 48), entries)?;
        let blocks: Vec<u64> = new.counts.iter().copied().filter(|at| *at != 0).collect();
        let l2s: Vec<u64> = new.l1.iter().map(|entry| entry & OFFSET).collect();
        for at in l2s.into_iter().filter(|at| *at != 0).chain(blocks) {
            new.claim(at)?;
        }
        Ok(new)
    }

    fn cluster(&self) -> u64 {
        1 << self.cluster_bits
    }

    /// Notes that the cluster at `offset` holds a table.
    fn claim(&mut self, offset: u64) -> Result<(), Damage> {
        if !offset.is_multiple_of(self.cluster()) {
            return Err(Damage::Wrong("a table is not at the start of a cluster"));
        }
        match self.tables.insert(offset >> self.cluster_bits) {
            true => Ok(()),
            false => Err(Damage::Wrong("two tables are in one cluster")),
        }
    }

    fn table(&mut self, offset: u64, entries: u64) -> Result<Vec<u64>, Damage> {
        if entries > MOST_ENTRIES {
            return Err(Damage::Wrong("a table is too long"));
        }
        let clusters = (entries * 8).div_ceil(self.cluster());
        let end = offset.checked_add(clusters << self.cluster_bits);
        if end.is_none_or(|end| end > OFFSET) {
            return Err(Damage::Wrong("a table is beyond all files"));
        }
        for cluster in 0..clusters {
            self.claim(offset + (cluster << self.cluster_bits))?;
        }
        let mut bytes = vec![0; entries as usize * 8];
        self.file.read_exact_at(&mut bytes, offset)?;
        Ok((0..entries as usize).map(|i| long(&bytes, i * 8)).collect())
    }

    fn check(&mut self) -> Result<(), Damage> {
        let l1 = std::mem::take(&mut self.l1);
        let l2s: HashMap<u64, bool> = l1
            .iter()
            .map(|entry| ((entry & OFFSET) >> self.cluster_bits, entry & COPIED != 0))
            .collect();
        for cluster in self.tables.clone() {
            self.refer(cluster, l2s.get(&cluster).copied().unwrap_or_default())?;
        }
        let cluster = self.cluster() as usize;
        let mut bytes = vec![0; cluster];
        for offset in l1.into_iter().map(|entry| entry & OFFSET) {
            if offset == 0 {
                continue;
            }
            self.file.read_exact_at(&mut bytes, offset)?;
            for at in (0..cluster).step_by(8) {
                self.check_data(long(&bytes, at))?;
            }
        }
        Ok(())
    }

    /// The data that an entry of an L2 table stands for.
    fn check_data(&mut self, entry: u64) -> Result<(), Damage> {
        let (first, last) = if entry & COMPRESSED != 0 {
            let bits = 62 - (self.cluster_bits - 8);
            let start = entry & ((1 << bits) - 1);
            let sectors = (entry & !(3 << 62)) >> bits;
            (start, (start & !511) + (sectors + 1) * 512 - 1)
        } else if entry & OFFSET == 0 {
            return Ok(());
        } else {
            (entry & OFFSET, entry & OFFSET)
        };
        for cluster in first >> self.cluster_bits..=last >> self.cluster_bits {
            if self.tables.contains(&cluster) {
                return Err(Damage::Wrong("a table is the guest's data, too"));
            }
            self.refer(cluster, entry & COPIED != 0)?;
        }
        Ok(())
    }

    /// Notes a use of the cluster, which says whether it is the only one.
    fn refer(&mut self, cluster: u64, only: bool) -> Result<(), Damage> {
        let uncounted = Err(Damage::Wrong("it does not count all that is in use"));
        let per_block = (self.cluster_bits + 3) - self.order;
        let index = cluster >> per_block;
        let block = self.counts.get(index as usize).copied();
        let Some(block) = block.filter(|block| *block != 0) else {
            return uncounted;
        };
        let counts = match self.blocks.entry(index) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let mut bytes = vec![0; 1 << self.cluster_bits];
                self.file.read_exact_at(&mut bytes, block)?;
                new.insert(Counts::new(bytes, self.order))
            }
        };
        match counts.take((cluster & ((1 << per_block) - 1)) as usize) {
            Taken::None => uncounted,
            Taken::Last => Ok(()),
            Taken::OneOfMany if only => Err(Damage::Wrong(
                "what it says is used once is used more often",
            )),
            Taken::OneOfMany => Ok(()),
        }
    }
}

/// A block of counts, from which all that is found to be in use is taken.
struct Counts {
    bytes: Vec<u8>,
    /// Counts are 1 << this many bits wide.
    order: u32,
    /// A bit for each cluster: something was taken.
    taken: Vec<u64>,
}

/// What taking one from a count has found.
enum Taken {
    /// Nothing was left.
    None,
    /// It was 1, and is 0.
    Last,
    /// The cluster has more users.
    OneOfMany,
}

impl Counts {
    fn new(bytes: Vec<u8>, order: u32) -> Self {
        let clusters = (bytes.len() * 8) >> order;
        Counts {
            bytes,
            order,
            taken: vec![0; clusters.div_ceil(64)],
        }
    }

    fn take(&mut self, index: usize) -> Taken {
        let left = self.left(index);
        if left == 0 {
            return Taken::None;
        }
        self.set(index, left - 1);
        let word = &mut self.taken[index / 64];
        let before = *word & 1 << (index % 64) != 0;
        *word |= 1 << (index % 64);
        match left {
            1 if !before => Taken::Last,
            _ => Taken::OneOfMany,
        }
    }

    /// The bytes of a count, and where it is in them.
    fn place(&self, index: usize) -> (std::ops::Range<usize>, usize, u64) {
        let width = 1_usize << self.order;
        let bit = index * width;
        let bytes = bit / 8..(bit + width).div_ceil(8);
        (bytes, bit % 8, u64::MAX >> (64 - width))
    }

    fn left(&self, index: usize) -> u64 {
        let (bytes, shift, mask) = self.place(index);
        let value = self.bytes[bytes]
            .iter()
            .fold(0, |value, byte| value << 8 | u64::from(*byte));
        value >> shift & mask
    }

    fn set(&mut self, index: usize, count: u64) {
        let (bytes, shift, mask) = self.place(index);
        if mask < 0xff {
            let byte = &mut self.bytes[bytes.start];
            *byte = *byte & !((mask as u8) << shift) | (count as u8) << shift;
        } else {
            let width = bytes.len();
            self.bytes[bytes].copy_from_slice(&count.to_be_bytes()[8 - width..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_all_widths_are_taken_one_by_one() {
        for order in 0..=6 {
            let mut counts = Counts::new(vec![0; 512], order);
            let last = ((512 * 8) >> order) - 1;
            let most = if order == 0 { 1 } else { 3 };
            for index in [0, 1, 13, last] {
                counts.set(index, most);
            }
            for index in [0, 1, 13, last] {
                for left in (1..=most).rev() {
                    assert_eq!(counts.left(index), left, "order {order}");
                    let only = matches!(counts.take(index), Taken::Last);
                    assert_eq!(only, most == 1);
                }
                assert!(matches!(counts.take(index), Taken::None));
            }
            assert_eq!(
                (counts.left(2), counts.left(12), counts.left(14)),
                (0, 0, 0)
            );
        }
        // QEMU's order of bits and bytes.
        assert_eq!(Counts::new(vec![0x21; 512], 2).left(1), 2);
        assert_eq!(Counts::new(vec![1, 2, 3, 4], 4).left(1), 0x0304);
    }
}
