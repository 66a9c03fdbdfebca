// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! What armvisor's module refuses at load time (module/preconditions.c), foreseen from user space. The
//! sentences and remedies are the module's own; a test compares both lists.

use super::machine::{Machine, REALTIME, SDEI_DRIVER};
use super::rows::Answer;

/// A precondition of the module.
pub struct Precondition {
    /// The function of module/preconditions.c.
    pub function: &'static str,
    /// The row that foresees it.
    pub row: &'static str,
    /// The module's words for what is wrong.
    pub says: &'static str,
    /// The module's remedy.
    pub remedy: &'static str,
}

/// All of them, in the module's order.
pub const MODULE: [Precondition; 7] = [
    Precondition {
        function: "page_size_wrong",
        row: "page_size",
        says: "this kernel has pages of another size than 4 KiB",
        remedy: "boot one with 4 KiB pages (Debian: linux-image-arm64)",
    },
    Precondition {
        function: "no_granule",
        row: "granule",
        says: "this CPU cannot translate in 4 KiB granules",
        remedy: "there is no remedy on this machine",
    },
    Precondition {
        function: "address_space_wrong",
        row: "address_bits",
        says: "this kernel's addresses have neither 39, 48 nor 52 bits, or memory is above 256 TiB",
        remedy: "boot one built with ARM64_VA_BITS=48",
    },
    Precondition {
        function: "asid_elsewhere",
        row: "asid",
        says: "this kernel keeps its ASIDs in TTBR0, which no kernel from 5.0 on does",
        remedy: "boot a newer one",
    },
    Precondition {
        function: "realtime",
        row: "realtime",
        says: "this is a PREEMPT_RT kernel, whose spinlocks sleep",
        remedy: "boot an ordinary one (Debian: linux-image-arm64)",
    },
    Precondition {
        function: "pseudo_nmi",
        row: "pseudo_nmi",
        says: "this kernel uses non-maskable interrupts",
        remedy: "boot without irqchip.gicv3_pseudo_nmi=1",
    },
    Precondition {
        function: "firmware_events",
        row: "sdei",
        says: "this machine's firmware delivers events that cannot be masked (SDEI)",
        remedy: "turn firmware-first error handling off in its set-up",
    },
];

/// The oldest kernel that the module builds for (module/dkms.conf).
const OLDEST: (u32, u32) = (5, 14);
/// The kernels in the README's table.
const TRIED: [(u32, u32); 3] = [(6, 1), (6, 12), (7, 3)];
/// The only page size that the module supports.
const PAGE_SIZE: u64 = 4096;
/// The widths of a kernel's addresses that the module supports.
const ADDRESS_BITS: [u32; 3] = [39, 48, 52];

/// The module's refusal, with what was found here in parentheses.
fn refused(row: &str, found: &str) -> Answer {
    match MODULE.iter().find(|precondition| precondition.row == row) {
        Some(it) => Answer::bad(format!("{} ({found})", it.says)).do_this(it.remedy),
        None => Answer::bad(found),
    }
}

pub(super) fn config(m: &Machine) -> Answer {
    match &m.config {
        Some(config) => Answer::ok(format!("the kernel's configuration is in {}", config.from)),
        None => Answer::unknown("cannot tell all: no file has this kernel's configuration").do_this(
            "install the kernel's headers, which have it; some kernels have it after 'sudo modprobe configs'",
        ),
    }
}

/// Whether the module is tested with this kernel: it is one of Debian's. A container's os-release says
/// nothing of its host's kernel.
pub(super) fn is_tried(m: &Machine) -> bool {
    m.version.contains(" Debian ") && m.kernel().is_some_and(|version| TRIED.contains(&version))
}

pub(super) fn release(m: &Machine) -> Answer {
    let release = &m.release;
    match m.kernel() {
        None => Answer::unknown(format!("cannot tell the version of kernel '{release}'")),
        Some(_) if is_tried(m) => Answer::ok(format!("the kernel is {release}")),
        Some(version) if version >= OLDEST => Answer::warn(format!(
            "the kernel is {release}, and the module was not tried with it"
        )),
        Some(_) => Answer::bad(format!(
            "the kernel is {release}, and the module builds for 5.14 and later"
        ))
        .do_this("boot a newer kernel"),
    }
}

pub(super) fn asid(m: &Machine) -> Answer {
    match m.kernel() {
        Some(version) if version < (5, 0) => refused("asid", &m.release),
        Some(_) => Answer::ok("the ASID is in TTBR1"),
        None => Answer::unknown("cannot tell, because the kernel's version is unknown"),
    }
}

pub(super) fn page_size(m: &Machine) -> Answer {
    match m.page_size {
        PAGE_SIZE => Answer::ok("pages have 4 KiB"),
        0 => Answer::unknown("cannot tell the size of pages").do_this("run 'getconf PAGESIZE'"),
        other if other % 1024 == 0 => refused("page_size", &format!("{} KiB", other / 1024)),
        other => refused("page_size", &format!("{other} bytes")),
    }
}

pub(super) fn granule(m: &Machine) -> Answer {
    if m.page_size == PAGE_SIZE {
        return Answer::ok("the kernel itself uses 4 KiB granules");
    }
    // ID_AA64MMFR0_EL1.TGran4 is not among the fields that Linux shows programs.
    Answer::unknown("cannot tell from this kernel, which does not use 4 KiB granules")
        .do_this("boot a kernel with 4 KiB pages: if it starts, the CPU has them")
}

pub(super) fn address_bits(m: &Machine) -> Answer {
    let configured = m
        .config
        .as_ref()
        .and_then(|config| config.set.get("ARM64_VA_BITS")?.parse::<u32>().ok());
    match m.address_bits.or(configured) {
        Some(bits) if ADDRESS_BITS.contains(&bits) => {
            Answer::ok(format!("addresses are {bits} bits wide"))
        }
        Some(bits) => refused("address_bits", &format!("{bits} bits")),
        None => Answer::unknown("cannot tell how wide the kernel's addresses are")
            .do_this("look for ARM64_VA_BITS in the kernel's configuration"),
    }
}

pub(super) fn realtime(m: &Machine) -> Answer {
    let named = m.version.split([' ', '-']).any(|word| word == "PREEMPT_RT");
    let live = m.word(REALTIME) == Some("1");
    if named || live || m.option("PREEMPT_RT") == Some(true) {
        refused("realtime", &m.release)
    } else {
        Answer::ok("it is no PREEMPT_RT kernel")
    }
}

pub(super) fn pseudo_nmi(m: &Machine) -> Answer {
    const PARAMETER: &str = "irqchip.gicv3_pseudo_nmi";
    if m.logged("IRQ priority masking").is_some() {
        return refused("pseudo_nmi", "the kernel's log has 'IRQ priority masking'");
    }
    match (m.switched_on(PARAMETER), m.option("ARM64_PSEUDO_NMI")) {
        (true, Some(false)) => Answer::ok("this kernel has no pseudo-NMIs"),
        (true, _) => refused("pseudo_nmi", "it is on the kernel's command line"),
        _ => Answer::ok("pseudo-NMIs are off"),
    }
}

/// Names in a driver's folder that are no devices.
const DRIVER_FILES: [&str; 4] = ["bind", "module", "uevent", "unbind"];

pub(super) fn sdei(m: &Machine) -> Answer {
    let names = m.folders.get(SDEI_DRIVER).into_iter().flatten();
    let mut devices = names.filter(|name| !DRIVER_FILES.contains(&name.as_str()));
    match devices.next() {
        Some(device) => refused("sdei", &format!("device {device}")),
        None => Answer::ok("the firmware has no SDEI that this kernel uses"),
    }
}
