// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Rows about what VMs cost here.

use super::build::selected;
use super::machine::*;
use super::rows::Answer;
use crate::size::{MEMORY_BLOCK, in_mib};

/// A core, by the implementer and part number of MIDR_EL1.
struct Core {
    implementer: &'static str,
    part: &'static str,
    name: &'static str,
    /// FEAT_E0PD; None where its manual leaves it open.
    e0pd: Option<bool>,
}

const fn core(
    implementer: &'static str,
    part: &'static str,
    name: &'static str,
    e0pd: Option<bool>,
) -> Core {
    Core {
        implementer,
        part,
        name,
        e0pd,
    }
}

/// Armv8.5 makes FEAT_E0PD mandatory, so cores of Armv9 have it; those up to Armv8.2 do not.
#[rustfmt::skip]
const CORES: [Core; 32] = [
    core("0x41", "0xd03", "Cortex-A53", Some(false)),
    core("0x41", "0xd04", "Cortex-A35", Some(false)),
    core("0x41", "0xd05", "Cortex-A55", Some(false)),
    core("0x41", "0xd07", "Cortex-A57", Some(false)),
    core("0x41", "0xd08", "Cortex-A72", Some(false)),
    core("0x41", "0xd09", "Cortex-A73", Some(false)),
    core("0x41", "0xd0a", "Cortex-A75", Some(false)),
    core("0x41", "0xd0b", "Cortex-A76", Some(false)),
    core("0x41", "0xd0c", "Neoverse-N1", Some(false)),
    core("0x41", "0xd0d", "Cortex-A77", Some(false)),
    core("0x41", "0xd40", "Neoverse-V1", None),
    core("0x41", "0xd41", "Cortex-A78", Some(false)),
    core("0x41", "0xd44", "Cortex-X1", Some(false)),
    core("0x41", "0xd46", "Cortex-A510", Some(true)),
    core("0x41", "0xd47", "Cortex-A710", Some(true)),
    core("0x41", "0xd48", "Cortex-X2", Some(true)),
    core("0x41", "0xd49", "Neoverse-N2", Some(true)),
    core("0x41", "0xd4b", "Cortex-A78C", None),
    core("0x41", "0xd4d", "Cortex-A715", Some(true)),
    core("0x41", "0xd4e", "Cortex-X3", Some(true)),
    core("0x41", "0xd4f", "Neoverse-V2", Some(true)),
    core("0x41", "0xd80", "Cortex-A520", Some(true)),
    core("0x41", "0xd81", "Cortex-A720", Some(true)),
    core("0x41", "0xd82", "Cortex-X4", Some(true)),
    core("0x41", "0xd84", "Neoverse-V3", Some(true)),
    core("0x41", "0xd85", "Cortex-X925", Some(true)),
    core("0x41", "0xd87", "Cortex-A725", Some(true)),
    core("0x41", "0xd8e", "Neoverse-N3", Some(true)),
    core("0x6d", "0xd49", "Azure Cobalt 100", Some(true)),
    core("0xc0", "0xac3", "Ampere-1", Some(true)),
    core("0xc0", "0xac4", "Ampere-1a", Some(true)),
    core("0x00", "0x051", "QEMU max", Some(true)),
];

/// Pairs of implementer and part in /proc/cpuinfo.
fn parts(m: &Machine) -> Vec<(&str, &str)> {
    let value = |line: &'_ str| line.split_once(':').map(|(_, value)| value.len());
    let lines = m.text(CPUINFO).into_iter().flat_map(str::lines);
    let mut implementer = "";
    let mut parts = Vec::new();
    for line in lines {
        let Some(len) = value(line) else { continue };
        let value = line[line.len() - len..].trim();
        if line.starts_with("CPU implementer") {
            implementer = value;
        } else if line.starts_with("CPU part") {
            parts.push((implementer, value));
        }
    }
    parts
}

fn known((implementer, part): (&str, &str)) -> Option<&'static Core> {
    CORES
        .iter()
        .find(|core| core.implementer == implementer && core.part == part)
}

/// The names of this machine's cores, or their numbers.
pub(super) fn core_names(m: &Machine) -> Option<String> {
    let names: Vec<String> = parts(m)
        .into_iter()
        .map(|pair| match known(pair) {
            Some(core) => core.name.to_owned(),
            None => format!("CPU {}:{}", pair.0, pair.1),
        })
        .collect();
    (!names.is_empty()).then(|| names.join(" and "))
}

/// Whether all cores have FEAT_E0PD and the kernel uses it.
fn e0pd(m: &Machine) -> Option<bool> {
    if m.option("ARM64_E0PD") == Some(false) {
        return Some(false);
    }
    if m.logged("E0PD").is_some() {
        return Some(true);
    }
    let of_cores: Vec<Option<bool>> = parts(m)
        .into_iter()
        .map(|pair| known(pair).and_then(|core| core.e0pd))
        .collect();
    if of_cores.contains(&Some(false)) {
        Some(false)
    } else if of_cores.is_empty() || of_cores.contains(&None) {
        m.logged_from_start().then_some(false)
    } else {
        Some(true)
    }
}

/// Whether KPTI is on, which unmaps the kernel while programs run.
fn kpti(m: &Machine) -> Option<bool> {
    let on = m.word(MELTDOWN) == Some("Mitigation: PTI") || m.switched_on("kpti");
    if m.option("UNMAP_KERNEL_AT_EL0") == Some(false) {
        Some(false)
    } else if on || m.logged("detected: Kernel page table isolation").is_some() {
        Some(true)
    } else {
        m.logged_from_start().then_some(false)
    }
}

fn kaslr(m: &Machine) -> Option<bool> {
    let off = m.parameter("nokaslr").is_some() || m.option("RANDOMIZE_BASE") == Some(false);
    if off || m.logged("KASLR disabled").is_some() {
        Some(false)
    } else if m.logged("KASLR enabled").is_some() {
        Some(true)
    } else {
        None
    }
}

const FLUSHES: &str = "an entry into a guest flushes this CPU's TLB (docs/tlb.md)";
const KEEPS: &str = "an entry into a guest flushes nothing";

/// Whether the kernel's mappings are global, as docs/tlb.md has it.
pub(super) fn entries(m: &Machine) -> Answer {
    let flushes = |why: &str| {
        Answer::warn(format!("{FLUSHES}: {why}"))
            .do_this("try a boot with kpti=1 where guests exit often; system calls then cost more")
    };
    match (kpti(m), e0pd(m), kaslr(m)) {
        (Some(true), ..) => Answer::ok(format!("{KEEPS}, because KPTI is on")),
        (_, Some(true), _) => flushes("the cores have E0PD, and KPTI is off"),
        (_, Some(false), Some(true)) => Answer::ok(format!(
            "{KEEPS}, because KASLR is on and the cores have no E0PD"
        )),
        (_, _, Some(false)) => flushes("KASLR and KPTI are off"),
        _ => Answer::unknown(
            "cannot tell whether an entry into a guest flushes the TLB (docs/tlb.md)",
        )
        .do_this("run 'sudo dmesg | grep -e KASLR -e E0PD -e isolation'"),
    }
}

pub(super) fn huge_pages(m: &Machine) -> Answer {
    let Some(mode) = m.text(THP_SHMEM).and_then(selected) else {
        return match m.files.contains_key(THP) {
            true => Answer::unknown(format!("cannot tell: {THP_SHMEM} is not readable")),
            false => Answer::warn("this kernel has no transparent huge pages"),
        };
    };
    match mode {
        "never" | "deny" if m.user.uid == 0 => Answer::ok("root's VMs have huge pages"),
        "never" | "deny" => {
            let says = "huge pages back only the part of guest memory that is loaded at the start";
            Answer::warn(says).do_this(format!("run 'echo advise | sudo tee {THP_SHMEM}'"))
        }
        mode => Answer::ok(format!(
            "huge pages back guest memory (shmem_enabled is {mode})"
        )),
    }
}

pub(super) fn hugetlb(m: &Machine) -> Answer {
    let pages = |key: &str| m.memory(key).map(|bytes| bytes / 1024);
    let Some((total, free)) = pages("HugePages_Total").zip(pages("HugePages_Free")) else {
        return Answer::ok("this kernel has no hugetlb pool");
    };
    match m.memory("Hugepagesize") {
        Some(MEMORY_BLOCK) if total > 0 => Answer::ok(format!(
            "the hugetlb pool has {free} free pages of {} ({total} in all)",
            in_mib(MEMORY_BLOCK)
        )),
        Some(other) if other != MEMORY_BLOCK => Answer::ok(format!(
            "the hugetlb pool has pages of {}, and --huge-pages hugetlb wants 2M",
            in_mib(other)
        )),
        _ => Answer::ok("the hugetlb pool is empty; --huge-pages hugetlb needs one"),
    }
}
