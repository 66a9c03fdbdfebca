// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The device tree that describes the machine to the guest.
//!
//! Everything here is a function of [`Machine`] and does not depend on the host, so the tree can be
//! tested anywhere and is the same for the same machine.

use vm_fdt::{Error, FdtWriter};

use crate::kernel::Initrd;
use crate::layout::{self, SPI_BASE};
use crate::uart;

const GIC_PHANDLE: u32 = 1;
const CLOCK_PHANDLE: u32 = 2;

// Cells of an interrupt specifier.
const SPI: u32 = 0;
const PPI: u32 = 1;
const EDGE_RISING: u32 = 1;
const LEVEL_HIGH: u32 = 4;

/// Which interrupt controller the VM has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gic {
    /// GICv2: distributor and CPU interface.
    V2,
    /// GICv3: distributor and redistributors.
    V3,
}

/// What the tree describes.
pub struct Machine<'a> {
    /// The affinity of each CPU: MPIDR_EL1's Aff fields.
    pub mpidrs: &'a [u64],
    /// Bytes of memory, from [`crate::layout::RAM_BASE`].
    pub memory: u64,
    /// The interrupt controller. With a GICv2, a PPI has a mask of CPUs.
    pub gic: Gic,
    /// vCPUs have a PMUv3 (KVM_ARM_VCPU_PMU_V3).
    pub pmu: bool,
    /// The kernel's command line.
    pub bootargs: &'a str,
    /// Where the initrd is, if there is one.
    pub initrd: Option<Initrd>,
    /// How many virtio-mmio devices there are; each has its place by its number.
    pub virtio: u32,
    /// Randomness for the guest; None without it.
    pub seeds: Option<&'a Seeds>,
}

/// Randomness for the guest's start.
pub struct Seeds {
    /// `kaslr-seed`, which the kernel's offset comes from.
    pub kaslr: u64,
    /// `rng-seed`, the kernel's first entropy.
    pub rng: [u8; 64],
}

/// Writes the tree.
pub fn build(machine: &Machine<'_>) -> Result<Vec<u8>, Error> {
    let mut fdt = FdtWriter::new()?;
    let root = fdt.begin_node("")?;
    fdt.property_string("compatible", "linux,dummy-virt")?;
    fdt.property_string("model", "armvisor")?;
    fdt.property_u32("#address-cells", 2)?;
    fdt.property_u32("#size-cells", 2)?;
    fdt.property_u32("interrupt-parent", GIC_PHANDLE)?;
    chosen(&mut fdt, machine)?;
    memory(&mut fdt, machine.memory)?;
    cpus(&mut fdt, machine.mpidrs)?;
    psci(&mut fdt)?;
    gic(&mut fdt, machine)?;
    timer(&mut fdt, machine)?;
    if machine.pmu {
        pmu(&mut fdt, machine)?;
    }
    clock(&mut fdt)?;
    serial(&mut fdt)?;
    rtc(&mut fdt)?;
    for index in 0..machine.virtio {
        virtio(&mut fdt, index)?;
    }
    fdt.end_node(root)?;
    fdt.finish()
}

fn serial_path() -> String {
    format!("/serial@{:x}", layout::UART_BASE)
}

fn chosen(fdt: &mut FdtWriter, machine: &Machine<'_>) -> Result<(), Error> {
    let node = fdt.begin_node("chosen")?;
    fdt.property_string("bootargs", machine.bootargs)?;
    fdt.property_string("stdout-path", &serial_path())?;
    if let Some(initrd) = machine.initrd {
        fdt.property_u64("linux,initrd-start", initrd.start.0)?;
        fdt.property_u64("linux,initrd-end", initrd.end.0)?;
    }
    if let Some(seeds) = machine.seeds {
        fdt.property_u64("kaslr-seed", seeds.kaslr)?;
        fdt.property("rng-seed", &seeds.rng)?;
    }
    fdt.end_node(node)
}

fn memory(fdt: &mut FdtWriter, bytes: u64) -> Result<(), Error> {
    let node = fdt.begin_node(&format!("memory@{:x}", layout::RAM_BASE))?;
    fdt.property_string("device_type", "memory")?;
    fdt.property_array_u64("reg", &[layout::RAM_BASE, bytes])?;
    fdt.end_node(node)
}

fn cpus(fdt: &mut FdtWriter, mpidrs: &[u64]) -> Result<(), Error> {
    let cpus = fdt.begin_node("cpus")?;
    fdt.property_u32("#address-cells", 2)?;
    fdt.property_u32("#size-cells", 0)?;
    for mpidr in mpidrs {
        let node = fdt.begin_node(&format!("cpu@{mpidr:x}"))?;
        fdt.property_string("device_type", "cpu")?;
        fdt.property_string("compatible", "arm,armv8")?;
        fdt.property_string("enable-method", "psci")?;
        fdt.property_u64("reg", *mpidr)?;
        fdt.end_node(node)?;
    }
    fdt.end_node(cpus)
}

fn psci(fdt: &mut FdtWriter) -> Result<(), Error> {
    let node = fdt.begin_node("psci")?;
    fdt.property_string_list(
        "compatible",
        vec!["arm,psci-1.0".into(), "arm,psci-0.2".into()],
    )?;
    fdt.property_string("method", "hvc")?;
    fdt.end_node(node)
}

fn gic(fdt: &mut FdtWriter, machine: &Machine<'_>) -> Result<(), Error> {
    let node = fdt.begin_node(&format!("interrupt-controller@{:x}", layout::GIC_DIST_BASE))?;
    let distributor = [layout::GIC_DIST_BASE, layout::GIC_DIST_SIZE];
    let (compatible, other) = match machine.gic {
        Gic::V2 => (
            "arm,cortex-a15-gic",
            [layout::GICV2_CPU_BASE, layout::GICV2_CPU_SIZE],
        ),
        Gic::V3 => {
            let size = machine.mpidrs.len() as u64 * layout::GIC_REDIST_STRIDE;
            ("arm,gic-v3", [layout::GIC_REDIST_BASE, size])
        }
    };
    fdt.property_string("compatible", compatible)?;
    fdt.property_null("interrupt-controller")?;
    fdt.property_u32("#interrupt-cells", 3)?;
    fdt.property_array_u64("reg", &[distributor, other].concat())?;
    fdt.property_phandle(GIC_PHANDLE)?;
    fdt.end_node(node)
}

/// The third cell of a private interrupt. GICv2's says which CPUs it goes to.
fn private(machine: &Machine<'_>) -> u32 {
    let cpus = match machine.gic {
        Gic::V2 => ((1_u32 << machine.mpidrs.len().min(8)) - 1) << 8,
        Gic::V3 => 0,
    };
    LEVEL_HIGH | cpus
}

fn pmu(fdt: &mut FdtWriter, machine: &Machine<'_>) -> Result<(), Error> {
    let node = fdt.begin_node("pmu")?;
    fdt.property_string("compatible", "arm,armv8-pmuv3")?;
    let cells = [PPI, layout::PMU_PPI, private(machine)];
    fdt.property_array_u32("interrupts", &cells)?;
    fdt.end_node(node)
}

fn timer(fdt: &mut FdtWriter, machine: &Machine<'_>) -> Result<(), Error> {
    let ppis = [
        layout::TIMER_SECURE_PPI,
        layout::TIMER_PHYS_PPI,
        layout::TIMER_VIRT_PPI,
        layout::TIMER_HYP_PPI,
    ];
    let cells: Vec<u32> = ppis
        .iter()
        .flat_map(|ppi| [PPI, *ppi, private(machine)])
        .collect();
    let node = fdt.begin_node("timer")?;
    fdt.property_string("compatible", "arm,armv8-timer")?;
    fdt.property_null("always-on")?;
    fdt.property_array_u32("interrupts", &cells)?;
    fdt.end_node(node)
}

/// The clock that the UART's and the RTC's drivers insist on.
fn clock(fdt: &mut FdtWriter) -> Result<(), Error> {
    let node = fdt.begin_node("apb-pclk")?;
    fdt.property_string("compatible", "fixed-clock")?;
    fdt.property_u32("#clock-cells", 0)?;
    fdt.property_u32("clock-frequency", 24_000_000)?;
    fdt.property_string("clock-output-names", "clk24mhz")?;
    fdt.property_phandle(CLOCK_PHANDLE)?;
    fdt.end_node(node)
}

fn serial(fdt: &mut FdtWriter) -> Result<(), Error> {
    let node = fdt.begin_node(&serial_path()[1..])?;
    fdt.property_string("compatible", "ns16550a")?;
    fdt.property_array_u64("reg", &[layout::UART_BASE, uart::WINDOW])?;
    fdt.property_array_u32("interrupts", &[SPI, layout::UART_SPI, EDGE_RISING])?;
    fdt.property_u32("clock-frequency", uart::CLOCK)?;
    fdt.property_u32("current-speed", 115_200)?;
    fdt.property_u32("reg-shift", uart::REG_SHIFT)?;
    fdt.property_u32("fifo-size", uart::FIFO)?;
    fdt.end_node(node)
}

fn rtc(fdt: &mut FdtWriter) -> Result<(), Error> {
    let node = fdt.begin_node(&format!("rtc@{:x}", layout::RTC_BASE))?;
    fdt.property_string_list(
        "compatible",
        vec!["arm,pl031".into(), "arm,primecell".into()],
    )?;
    // So the guest need not read the eight identification registers: this saves eight exits.
    fdt.property_u32("arm,primecell-periphid", 0x0004_1031)?;
    fdt.property_array_u64("reg", &[layout::RTC_BASE, layout::RTC_SIZE])?;
    fdt.property_array_u32("interrupts", &[SPI, layout::RTC_SPI, EDGE_RISING])?;
    fdt.property_u32("clocks", CLOCK_PHANDLE)?;
    fdt.property_string("clock-names", "apb_pclk")?;
    fdt.end_node(node)
}

fn virtio(fdt: &mut FdtWriter, index: u32) -> Result<(), Error> {
    let base = layout::virtio_base(index);
    let node = fdt.begin_node(&format!("virtio_mmio@{base:x}"))?;
    fdt.property_string("compatible", "virtio,mmio")?;
    fdt.property_null("dma-coherent")?;
    fdt.property_array_u64("reg", &[base, layout::VIRTIO_STRIDE])?;
    fdt.property_array_u32("interrupts", &[SPI, layout::virtio_spi(index), EDGE_RISING])?;
    fdt.end_node(node)
}

/// The interrupt number that a person sees in /proc/interrupts' GIC column.
pub fn gic_number(spi: u32) -> u32 {
    SPI_BASE + spi
}

#[cfg(test)]
mod tests {
    use vm_memory::GuestAddress;

    use super::*;

    fn contains(haystack: &[u8], needle: &[u8]) -> bool {
        haystack
            .windows(needle.len())
            .any(|window| window == needle)
    }

    fn machine<'a>() -> Machine<'a> {
        Machine {
            mpidrs: &[0, 1, 0x100],
            memory: 512 << 20,
            gic: Gic::V3,
            pmu: false,
            bootargs: "console=ttyS0 quiet",
            initrd: None,
            virtio: 2,
            seeds: None,
        }
    }

    /// The tree as source, from the device tree compiler where this machine has it.
    fn decompile(tree: &[u8]) -> Option<String> {
        let mut child = std::process::Command::new("dtc")
            .args(["-q", "-I", "dtb", "-O", "dts"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .ok()?;
        std::io::Write::write_all(child.stdin.as_mut()?, tree).ok()?;
        let output = child.wait_with_output().ok()?;
        assert!(output.status.success());
        String::from_utf8(output.stdout).ok()
    }

    #[test]
    fn the_tree_is_one_and_names_its_parts() {
        let tree = build(&machine()).unwrap();
        assert_eq!(tree[..4], 0xd00d_feed_u32.to_be_bytes());
        for part in [
            "cpu@0",
            "cpu@100",
            "arm,gic-v3",
            "ns16550a",
            "arm,pl031",
            "virtio_mmio@a001000",
        ] {
            assert!(contains(&tree, part.as_bytes()), "{part}");
        }
        assert!(contains(&tree, b"console=ttyS0 quiet\0"));
        for absent in [
            "kaslr-seed",
            "rng-seed",
            "initrd-start",
            "virtio_mmio@a002000",
        ] {
            assert!(!contains(&tree, absent.as_bytes()), "{absent}");
        }
        if let Some(source) = decompile(&tree) {
            assert!(
                source.contains("stdout-path = \"/serial@9000000\""),
                "{source}"
            );
            assert!(source.contains("interrupts = <0x00 0x11 0x01>"), "{source}");
        }
    }

    #[test]
    fn the_same_machine_has_the_same_tree() {
        assert_eq!(build(&machine()).unwrap(), build(&machine()).unwrap());
    }

    #[test]
    fn seeds_and_the_initrd_are_told() {
        let seeds = Seeds {
            kaslr: 0x1122_3344_5566_7788,
            rng: [0xa5; 64],
        };
        let initrd = Initrd {
            start: GuestAddress(0x4200_0000),
            end: GuestAddress(0x4300_0001),
        };
        let machine = Machine {
            seeds: Some(&seeds),
            initrd: Some(initrd),
            ..machine()
        };
        let tree = build(&machine).unwrap();
        assert!(contains(&tree, &seeds.kaslr.to_be_bytes()));
        assert!(contains(&tree, &seeds.rng));
        assert!(contains(&tree, &0x4300_0001_u64.to_be_bytes()));
    }

    #[test]
    fn a_pmu_is_told_where_there_is_one() {
        let tree = build(&machine()).unwrap();
        assert!(!contains(&tree, b"arm,armv8-pmuv3"));
        let tree = build(&Machine {
            pmu: true,
            ..machine()
        })
        .unwrap();
        assert!(contains(&tree, b"arm,armv8-pmuv3\0"));
        let cells = [PPI, layout::PMU_PPI, LEVEL_HIGH].map(u32::to_be_bytes);
        assert!(contains(&tree, &cells.concat()));
    }

    #[test]
    fn gicv2_masks_name_the_cpus() {
        let tree = build(&Machine {
            gic: Gic::V2,
            ..machine()
        })
        .unwrap();
        assert!(contains(&tree, b"arm,cortex-a15-gic\0"));
        let cells = [PPI, layout::TIMER_VIRT_PPI, 0x704]
            .map(u32::to_be_bytes)
            .concat();
        assert!(contains(&tree, &cells));
    }

    #[test]
    fn arguments_with_a_nul_are_an_error() {
        assert!(
            build(&Machine {
                bootargs: "a\0b",
                ..machine()
            })
            .is_err()
        );
    }
}
