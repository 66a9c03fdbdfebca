/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The machine by its device tree: guests have no addresses of their own, so they run on armvisor,
 * on QEMU's virt machine and on others.
 */
#ifndef GUESTS_MACHINE_H
#define GUESTS_MACHINE_H

#include "fdt.h"

#define MAX_CPUS 64
#define MAX_RAM_REGIONS 8
#define MAX_VIRTIO 32

struct region {
	u64 base;
	u64 size;
};

enum serial_kind { SERIAL_NONE, SERIAL_16550, SERIAL_PL011, SERIAL_XEN };

struct machine {
	struct region ram[MAX_RAM_REGIONS];
	unsigned int ram_count;
	u64 mpidr[MAX_CPUS];
	unsigned int cpu_count;
	enum serial_kind serial_kind;
	struct region serial;
	unsigned int serial_shift;
	struct region rtc;
	struct region gic_distributor;
	struct region gic_redistributor;
	struct region gic_its;
	u32 virtual_timer_irq;
	u32 pmu_irq;
	struct region virtio[MAX_VIRTIO];
	unsigned int virtio_count;
	bool psci_smc;
	bool xen;
	u32 xen_irq;	/* its event channels' */
	struct region fdt;
	const char *bootargs;
};

/* Returns false if the blob is no device tree; fields that it does not name stay zero. */
bool machine_from_fdt(struct machine *machine, const void *blob, size_t limit);

/* The value of `name=` on the kernel command line, or the fallback. */
u64 machine_option(const struct machine *machine, const char *name, u64 fallback);

#endif
