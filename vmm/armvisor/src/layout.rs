// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The guest's physical address space. The guest learns all of it from the device tree. The
//! addresses follow QEMU's `virt` machine where both have the device.

use crate::size::{GIB, KIB};

/// Interrupt numbers: what the GIC calls a shared peripheral interrupt (SPI) starts at 32.
pub const SPI_BASE: u32 = 32;
/// SPIs that the VM's GIC has. KVM wants SPIs + 32 to be a multiple of 32.
pub const SPI_COUNT: u32 = 96;

/// Distributor (GICD).
pub const GIC_DIST_BASE: u64 = 0x0800_0000;
/// Bytes of the distributor (KVM_VGIC_V3_DIST_SIZE).
pub const GIC_DIST_SIZE: u64 = 64 * KIB;
/// GICv2's CPU interface; a VM has this or redistributors.
pub const GICV2_CPU_BASE: u64 = 0x0801_0000;
/// Bytes of the CPU interface (KVM_VGIC_V2_CPU_SIZE).
pub const GICV2_CPU_SIZE: u64 = 8 * KIB;
/// CPUs that a GICv2 has (GIC Architecture Specification v2, GICD_TYPER.CPUNumber).
pub const GICV2_MAX_CPUS: u32 = 8;
/// GICv3's redistributors, one frame pair a vCPU.
pub const GIC_REDIST_BASE: u64 = 0x080a_0000;
/// Bytes from one vCPU's redistributor to the next (KVM_VGIC_V3_REDIST_SIZE).
pub const GIC_REDIST_STRIDE: u64 = 128 * KIB;
/// As many vCPUs as redistributors fit below the UART.
pub const MAX_CPUS: u32 = ((UART_BASE - GIC_REDIST_BASE) / GIC_REDIST_STRIDE) as u32;

/// PL011.
pub const UART_BASE: u64 = 0x0900_0000;
/// SPI of the PL011, from 0.
pub const UART_SPI: u32 = 1;

/// PL031.
pub const RTC_BASE: u64 = 0x0901_0000;
/// Bytes of the PL031's registers.
pub const RTC_SIZE: u64 = 4 * KIB;
/// SPI of the PL031, from 0.
pub const RTC_SPI: u32 = 2;

/// Registers of the first virtio-mmio device.
pub const VIRTIO_BASE: u64 = 0x0a00_0000;
/// One page each, so that the registers of two devices never share a page.
pub const VIRTIO_STRIDE: u64 = 4 * KIB;
/// SPI of the first virtio-mmio device, from 0.
pub const VIRTIO_FIRST_SPI: u32 = 16;
/// As many virtio-mmio devices as a VM may have.
pub const VIRTIO_MAX: u32 = 32;

/// The guest's memory, in one piece.
pub const RAM_BASE: u64 = GIB;

// The virtual timer's per-CPU interrupts (PPIs), as the architecture recommends them.
/// Secure EL1 physical timer; the device tree names it, and no guest can use it.
pub const TIMER_SECURE_PPI: u32 = 13;
/// Non-secure EL1 physical timer.
pub const TIMER_PHYS_PPI: u32 = 14;
/// Virtual timer.
pub const TIMER_VIRT_PPI: u32 = 11;
/// Non-secure EL2 physical timer, for a guest with EL2.
pub const TIMER_HYP_PPI: u32 = 10;
/// The PMU's, as the architecture recommends it too.
pub const PMU_PPI: u32 = 7;
/// What the GIC calls a per-CPU interrupt starts at 16.
pub const PPI_BASE: u32 = 16;

/// Address of the registers of virtio device `index`.
pub const fn virtio_base(index: u32) -> u64 {
    VIRTIO_BASE + index as u64 * VIRTIO_STRIDE
}

/// SPI (counted from 0) of virtio device `index`.
pub const fn virtio_spi(index: u32) -> u32 {
    VIRTIO_FIRST_SPI + index
}

/// Bits of guest physical address that a machine with this much memory needs. KVM's least is 32.
pub fn ipa_bits(memory: u64) -> u32 {
    let last = RAM_BASE.saturating_add(memory).saturating_sub(1);
    (u64::BITS - last.leading_zeros()).max(32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::{MEMORY_BLOCK, TIB};

    #[test]
    fn nothing_overlaps() {
        let ranges = [
            (GIC_DIST_BASE, GIC_DIST_SIZE),
            (GIC_REDIST_BASE, u64::from(MAX_CPUS) * GIC_REDIST_STRIDE),
            (UART_BASE, crate::uart::WINDOW),
            (RTC_BASE, RTC_SIZE),
            (VIRTIO_BASE, u64::from(VIRTIO_MAX) * VIRTIO_STRIDE),
            (RAM_BASE, MEMORY_BLOCK),
        ];
        for pair in ranges.windows(2) {
            assert!(pair[0].0 + pair[0].1 <= pair[1].0, "{pair:x?}");
        }
        const { assert!(GIC_DIST_BASE + GIC_DIST_SIZE <= GICV2_CPU_BASE) };
        const { assert!(GICV2_CPU_BASE + GICV2_CPU_SIZE <= GIC_REDIST_BASE) };
    }

    #[test]
    fn interrupts_fit_the_gic() {
        const { assert!(UART_SPI < RTC_SPI && RTC_SPI < VIRTIO_FIRST_SPI) };
        assert!(virtio_spi(VIRTIO_MAX - 1) < SPI_COUNT);
        assert_eq!((SPI_COUNT + SPI_BASE) % 32, 0);
    }

    #[test]
    fn address_bits_follow_the_memory() {
        assert_eq!(ipa_bits(512 << 20), 32);
        assert_eq!(ipa_bits(3 * GIB), 32);
        assert_eq!(ipa_bits(3 * GIB + MEMORY_BLOCK), 33);
        assert_eq!(ipa_bits(TIB), 41);
    }
}
