// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Guest memory: one memfd, mapped once, at 2 MiB boundaries on both sides.
//!
//! A page of guest memory costs the host a fault when the guest first touches it. With 4 KiB pages
//! a Debian boot takes 17,000 such faults; with 2 MiB pages, a hundred. `--huge-pages` selects the
//! latter. A hypervisor without EL2 maps such a page as a block too, where the guest does. For
//! `thp` the first of three ways that works is taken:
//! 1. memfd, where the host's setting for shared memory (shmem_enabled) allows huge pages;
//! 2. a file on a private tmpfs with huge pages on, where this process may mount one;
//! 3. memfd, with huge pages allocated at once for the part that the kernel and initrd are loaded
//!    to.
//!
//! Allocating them at once for all of it would take memory that the guest may never use.

use std::fs::File;
use std::io;
use std::sync::Arc;

use armvisor_devices::{GuestMemory, PrivateMemory};
use vm_memory::{GuestAddress, GuestRegionMmap};

use crate::layout::RAM_BASE;
use crate::outcome::Refusal;
use crate::size::{self, MEMORY_BLOCK, Size};
use crate::sys;
use crate::sys::guard::Guard;
use crate::sys::memory::{Advice, Mapping, advise, huge_tmpfs_file, map_aligned, memfd, seal_size};

/// What the host backs guest memory with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum HugePages {
    /// 4 KiB pages, taken as the guest touches them.
    Off,
    /// 2 MiB pages where the host has them free, taken as the guest touches them.
    #[default]
    Thp,
    /// 2 MiB pages from the host's hugetlb pool, reserved at the start.
    Hugetlb,
}

/// A VM's memory.
pub struct Memory {
    /// The mapping, as devices use it.
    pub guest: Arc<GuestMemory>,
    /// The memfd behind the mapping.
    pub file: File,
    // After `guest`, which shares it: the mapping goes with its last user.
    region: Arc<Mapping>,
    backing: Backing,
    huge: HugePages,
    /// For a protected VM, whose memory may not be touched but where the guest shares it.
    guard: Option<Arc<Guard>>,
}

impl Memory {
    /// Makes `size` of guest memory (a multiple of [`MEMORY_BLOCK`]).
    pub fn new(size: Size, huge: HugePages) -> Result<Self, Refusal> {
        let refuse = |what: &str, error: io::Error| cannot(size, what, error);
        let backing = Backing::choose(huge);
        let file = backing
            .file()
            .map_err(|error| refuse("make a file for", error))?;
        file.set_len(size.bytes)
            .map_err(|error| refuse("set the size of", error))?;
        if backing != Backing::Tmpfs {
            seal_size(&file).map_err(|error| refuse("seal the size of", error))?;
        }
        let memory = Memory::of_file(size, file, backing, huge)?;
        if huge == HugePages::Thp {
            memory.ask_for_huge_pages();
        }
        Ok(memory)
    }

    /// The memory of a protected VM whose hypervisor has a file for it, of that size. Its pages are
    /// of 4 KiB.
    pub fn new_of_kvm(size: Size, file: File) -> Result<Self, Refusal> {
        Memory::of_file(size, file, Backing::GuestMemfd, HugePages::Off)
    }

    fn of_file(size: Size, file: File, backing: Backing, huge: HugePages) -> Result<Self, Refusal> {
        let refuse = |what: &str, error: io::Error| cannot(size, what, error);
        let too_large = || {
            let problem = "is more than this machine can address; ask for less";
            Refusal::usage(format!("--memory {size}"), problem)
        };
        let len = usize::try_from(size.bytes).map_err(|_| too_large())?;
        let map = file
            .try_clone()
            .and_then(|file| map_aligned(file, len, MEMORY_BLOCK as usize));
        let region = map.map_err(|error| match (huge, error.raw_os_error()) {
            (HugePages::Hugetlb, Some(libc::ENOMEM)) => no_huge_pages(size),
            _ => refuse("map", error),
        })?;
        for advice in [Advice::DontDump, Advice::DontFork] {
            advise(&region, 0, len, advice).map_err(|error| refuse("set up", error))?;
        }
        let region = Arc::new(region);
        let guest = GuestRegionMmap::with_arc(region.share(), GuestAddress(RAM_BASE))
            .ok_or_else(too_large)?;
        let guest = GuestMemory::from_regions(vec![guest])
            .map_err(|error| refuse("register", io::Error::other(error)))?;
        Ok(Memory {
            guest: Arc::new(guest),
            file,
            region,
            backing,
            huge,
            guard: None,
        })
    }

    /// The file, if it is the hypervisor's own.
    pub fn of_kvm(&self) -> Option<&File> {
        (self.backing == Backing::GuestMemfd).then_some(&self.file)
    }

    /// The memory becomes a protected VM's: what the guest does not share is not to be had.
    pub fn guard(&mut self) -> Result<(), Refusal> {
        let huge = self.huge == HugePages::Thp;
        let guard = Guard::new(self.region.clone(), RAM_BASE, huge);
        let guard = guard.map_err(|error| {
            Refusal::host("--protected", format!("cannot guard guest memory: {error}"))
        })?;
        self.guard = Some(Arc::new(guard));
        Ok(())
    }

    /// Who knows what the guest has to itself; None where it has nothing.
    pub fn private(&self) -> Option<Arc<dyn PrivateMemory>> {
        self.guard.clone().map(|guard| guard as _)
    }

    /// The mapping, for KVM.
    pub fn region(&self) -> &Arc<Mapping> {
        &self.region
    }

    fn ask_for_huge_pages(&self) {
        if let Err(error) = advise(&self.region, 0, self.region.size(), Advice::HugePage) {
            log::info!("guest memory has no huge pages: {error}");
        }
    }

    /// Guest memory from its start to `bytes` is about to be filled: makes huge pages for it now,
    /// where they do not come by themselves.
    pub fn will_fill(&self, bytes: u64) {
        if self.backing != Backing::MemfdCollapse {
            return;
        }
        let bytes = bytes
            .next_multiple_of(MEMORY_BLOCK)
            .min(self.region.size() as u64);
        match advise(&self.region, 0, bytes as usize, Advice::Collapse) {
            Ok(()) => log::info!("huge pages for the first {}", size::in_mib(bytes)),
            Err(error) => log::info!("no huge pages for the kernel's memory: {error}"),
        }
    }
}

/// Where the pages come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Backing {
    Memfd,
    MemfdCollapse,
    MemfdHugetlb,
    Tmpfs,
    /// Of KVM itself, and given to us.
    GuestMemfd,
}

const SHMEM_ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";

impl Backing {
    fn choose(huge: HugePages) -> Self {
        match huge {
            HugePages::Off => Backing::Memfd,
            HugePages::Hugetlb => Backing::MemfdHugetlb,
            HugePages::Thp => {
                let setting = std::fs::read_to_string(SHMEM_ENABLED).unwrap_or_default();
                if shmem_allows(&setting) {
                    Backing::Memfd
                } else {
                    Backing::around_the_setting()
                }
            }
        }
    }

    /// The host's setting keeps huge pages from memfds.
    fn around_the_setting() -> Self {
        match huge_tmpfs_file() {
            Ok(_) => Backing::Tmpfs,
            Err(error) => {
                log::info!(
                    "no huge pages for all of guest memory: {SHMEM_ENABLED} does not allow them \
                     ('advise' would) and a private tmpfs is not possible ({error})"
                );
                Backing::MemfdCollapse
            }
        }
    }

    fn file(self) -> io::Result<File> {
        match self {
            Backing::Tmpfs => huge_tmpfs_file(),
            _ => memfd(c"armvisor-memory", self == Backing::MemfdHugetlb),
        }
    }
}

/// Whether the chosen word of the host's setting gives huge pages to a memfd that asks for them.
fn shmem_allows(setting: &str) -> bool {
    ["[always]", "[advise]", "[within_size]", "[force]"]
        .iter()
        .any(|word| setting.contains(word))
}

fn cannot(size: Size, what: &str, error: io::Error) -> Refusal {
    let problem = format!("the host cannot {what} that much guest memory: {error}; ask for less");
    Refusal::host(format!("--memory {size}"), problem)
}

/// For a hugetlb pool that is too small.
fn no_huge_pages(size: Size) -> Refusal {
    let pages = size.bytes / MEMORY_BLOCK;
    let problem = format!(
        "the host's pool has too few free 2 MiB pages for {size}; add {pages} to it with 'sudo sysctl \
         vm.nr_hugepages=$(($(sysctl -n vm.nr_hugepages) + {pages}))', or use --huge-pages thp"
    );
    Refusal::host("--huge-pages hugetlb", problem)
}

/// MemTotal + SwapTotal, in bytes, from the text of /proc/meminfo.
fn host_memory(meminfo: &str) -> Option<u64> {
    let field = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim()
            .strip_suffix("kB")?
            .trim()
            .parse::<u64>()
            .ok()?
            .checked_mul(1024)
    };
    Some(field("MemTotal:")? + field("SwapTotal:").unwrap_or(0))
}

/// Refuses more memory than the host has, unless the user knows better.
pub fn check_against_host(size: Size, overcommit: bool) -> Result<(), Refusal> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    check_against(size, overcommit, &meminfo)
}

/// Refuses more memory than this process may lock, which a protected VM's is as the guest touches it.
pub fn check_lockable(size: Size) -> Result<(), Refusal> {
    let limit = sys::lockable().map_err(|error| {
        let problem = format!("cannot tell how much memory you may lock: {error}");
        Refusal::host("--protected", problem)
    })?;
    check_lockable_of(size, limit)
}

fn check_lockable_of(size: Size, limit: Option<u64>) -> Result<(), Refusal> {
    match limit {
        Some(limit) if size.bytes > limit => Err(Refusal::host(
            "--protected",
            format!(
                "the host locks a protected VM's memory, {size}, and you may lock {}; raise your limit \
                 (memlock in /etc/security/limits.conf, LimitMEMLOCK= of a service), or run it with \
                 CAP_IPC_LOCK",
                size.beside(limit)
            ),
        )),
        _ => Ok(()),
    }
}

fn check_against(size: Size, overcommit: bool, meminfo: &str) -> Result<(), Refusal> {
    match host_memory(meminfo) {
        Some(host) if size.bytes > host && !overcommit => Err(Refusal::host(
            format!("--memory {size}"),
            format!(
                "the host has {} of memory and swap; ask for less, or add --overcommit if the guest will \
                 not use it all",
                size.beside(host)
            ),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::{MIB, Unit};
    use vm_memory::{Bytes, GuestMemoryBackend};

    fn mib(count: u64) -> Size {
        Size {
            bytes: count * MIB,
            unit: Unit::M,
        }
    }

    const MEMINFO: &str = "MemTotal:        2048 kB\nMemFree:  1 kB\nSwapTotal:       1024 kB\n";

    #[test]
    fn memory_is_at_its_place_and_zero() {
        let memory = Memory::new(mib(32), HugePages::Thp).unwrap();
        let mut bytes = [1; 16];
        memory
            .guest
            .read_slice(&mut bytes, GuestAddress(RAM_BASE + 32 * MIB - 16))
            .unwrap();
        assert_eq!(bytes, [0; 16]);
        assert!(
            memory
                .guest
                .read_slice(&mut bytes, GuestAddress(RAM_BASE + 32 * MIB))
                .is_err()
        );
        assert_eq!(memory.region().as_ptr() as u64 % MEMORY_BLOCK, 0);
        assert_eq!(
            memory.guest.last_addr(),
            GuestAddress(RAM_BASE + 32 * MIB - 1)
        );
    }

    #[test]
    fn the_hosts_setting_is_understood() {
        assert!(shmem_allows("always within_size [advise] never deny force"));
        assert!(!shmem_allows(
            "always within_size advise [never] deny force"
        ));
        assert!(!shmem_allows(
            "always within_size advise never [deny] force"
        ));
        assert!(!shmem_allows(""));
    }

    #[test]
    fn every_backing_holds_what_is_written() {
        for huge in [HugePages::Off, HugePages::Thp] {
            let memory = Memory::new(mib(32), huge).unwrap();
            memory.will_fill(3 * MIB);
            memory
                .guest
                .write_obj(0x55_u8, GuestAddress(RAM_BASE + 7 * MIB))
                .unwrap();
            let mut byte = [0];
            std::os::unix::fs::FileExt::read_exact_at(&memory.file, &mut byte, 7 * MIB).unwrap();
            assert_eq!(byte, [0x55], "{huge:?}: {:?}", memory.backing);
        }
    }

    #[test]
    fn more_than_the_host_has_is_refused() {
        assert!(check_against(mib(3), false, MEMINFO).is_ok());
        let refusal = check_against(mib(4), false, MEMINFO).unwrap_err();
        let refusal = refusal.to_string();
        assert!(refusal.contains("--overcommit"), "{refusal}");
        assert!(
            refusal.starts_with("--memory 4M: the host has 3M of "),
            "{refusal}"
        );
        assert!(check_against(mib(4), true, MEMINFO).is_ok());
        assert!(
            check_against(mib(4), false, "").is_ok(),
            "unknown is not too little"
        );
    }

    #[test]
    fn more_than_may_be_locked_is_refused() {
        assert!(check_lockable_of(mib(64), None).is_ok());
        assert!(check_lockable_of(mib(64), Some(64 * MIB)).is_ok());
        let refusal = check_lockable_of(mib(64), Some(8 * MIB)).unwrap_err();
        let refusal = refusal.to_string();
        assert!(refusal.contains("64M, and you may lock 8M"), "{refusal}");
    }

    #[test]
    fn an_empty_hugetlb_pool_says_what_to_set() {
        // More than any pool has.
        let refusal = Memory::new(mib(1 << 25), HugePages::Hugetlb).err().unwrap();
        assert!(refusal.to_string().contains("2 MiB pages"), "{refusal}");
        assert!(
            no_huge_pages(mib(512))
                .to_string()
                .contains("add 256 to it")
        );
    }
}
