// SPDX-License-Identifier: GPL-2.0
#include "machine.h"

#define GIC_PPI 1
#define FIRST_PPI 16

/* Every bus of these machines has two cells of address and two of size. */
static bool region_of(const struct fdt *fdt, fdt_node node, u32 index, struct region *region)
{
	struct fdt_property reg;

	if (!fdt_property(fdt, node, "reg", &reg) || reg.size < (index + 1) * 16)
		return false;
	region->base = fdt_cells(&reg, index * 4, 2);
	region->size = fdt_cells(&reg, index * 4 + 2, 2);
	return true;
}

static void find_ram(struct machine *machine, const struct fdt *fdt)
{
	struct region region;
	fdt_node node = -1;
	u32 index;

	while ((node = fdt_device_type(fdt, node, "memory")) >= 0)
		for (index = 0; region_of(fdt, node, index, &region); index++)
			if (region.size && machine->ram_count < MAX_RAM_REGIONS)
				machine->ram[machine->ram_count++] = region;
}

static void find_cpus(struct machine *machine, const struct fdt *fdt)
{
	struct fdt_property reg;
	fdt_node node = -1;

	while ((node = fdt_device_type(fdt, node, "cpu")) >= 0)
		if (fdt_property(fdt, node, "reg", &reg) && machine->cpu_count < MAX_CPUS)
			machine->mpidr[machine->cpu_count++] = fdt_cells(&reg, 0, reg.size / 4);
}

static void find_serial(struct machine *machine, const struct fdt *fdt)
{
	struct fdt_property shift;
	fdt_node node = fdt_compatible(fdt, -1, "ns16550a");

	machine->serial_kind = SERIAL_16550;
	if (node < 0) {
		node = fdt_compatible(fdt, -1, "arm,pl011");
		machine->serial_kind = SERIAL_PL011;
	}
	if (node < 0 || !region_of(fdt, node, 0, &machine->serial))
		machine->serial_kind = SERIAL_NONE;
	else if (fdt_property(fdt, node, "reg-shift", &shift))
		machine->serial_shift = (unsigned int)fdt_cells(&shift, 0, 1) & 3;
}

/* Under Xen the serial port is the hypervisor's, which prints for its domains. */
static void find_xen(struct machine *machine, const struct fdt *fdt)
{
	struct fdt_property interrupts;
	fdt_node node = fdt_compatible(fdt, -1, "xen,xen");

	if (node < 0)
		return;
	machine->xen = true;
	if (machine->serial_kind == SERIAL_NONE)
		machine->serial_kind = SERIAL_XEN;
	if (fdt_property(fdt, node, "interrupts", &interrupts) &&
	    fdt_cells(&interrupts, 0, 1) == GIC_PPI)
		machine->xen_irq = (u32)fdt_cells(&interrupts, 1, 1) + FIRST_PPI;
}

static void find_timer(struct machine *machine, const struct fdt *fdt)
{
	struct fdt_property interrupts;
	fdt_node node = fdt_compatible(fdt, -1, "arm,armv8-timer");

	/* Secure, non-secure, virtual, hypervisor: three cells each. */
	if (node >= 0 && fdt_property(fdt, node, "interrupts", &interrupts) &&
	    fdt_cells(&interrupts, 6, 1) == GIC_PPI)
		machine->virtual_timer_irq = (u32)fdt_cells(&interrupts, 7, 1) + FIRST_PPI;
}

static void find_pmu(struct machine *machine, const struct fdt *fdt)
{
	struct fdt_property interrupts;
	fdt_node node = fdt_compatible(fdt, -1, "arm,armv8-pmuv3");

	if (node >= 0 && fdt_property(fdt, node, "interrupts", &interrupts) &&
	    fdt_cells(&interrupts, 0, 1) == GIC_PPI)
		machine->pmu_irq = (u32)fdt_cells(&interrupts, 1, 1) + FIRST_PPI;
}

static void find_virtio(struct machine *machine, const struct fdt *fdt)
{
	struct region region;
	fdt_node node = -1;

	while ((node = fdt_compatible(fdt, node, "virtio,mmio")) >= 0)
		if (machine->virtio_count < MAX_VIRTIO && region_of(fdt, node, 0, &region))
			machine->virtio[machine->virtio_count++] = region;
}

static void find_bootargs(struct machine *machine, const struct fdt *fdt)
{
	struct fdt_property bootargs;
	fdt_node node = -1;

	machine->bootargs = "";
	while ((node = fdt_next(fdt, node)) >= 0) {
		if (!fdt_property(fdt, node, "bootargs", &bootargs))
			continue;
		if (bootargs.size && !bootargs.data[bootargs.size - 1])
			machine->bootargs = (const char *)bootargs.data;
		return;
	}
}

bool machine_from_fdt(struct machine *machine, const void *blob, size_t limit)
{
	struct fdt_property method;
	struct fdt fdt;
	fdt_node node;

	*machine = (struct machine){ .bootargs = "" };
	if (!fdt_open(&fdt, blob, limit))
		return false;
	machine->fdt.base = (uintptr_t)blob;
	machine->fdt.size = (uintptr_t)fdt.structs + fdt.structs_size - (uintptr_t)blob;
	if ((uintptr_t)fdt.strings + fdt.strings_size > machine->fdt.base + machine->fdt.size)
		machine->fdt.size = (uintptr_t)fdt.strings + fdt.strings_size - (uintptr_t)blob;
	find_ram(machine, &fdt);
	find_cpus(machine, &fdt);
	find_serial(machine, &fdt);
	find_xen(machine, &fdt);
	find_timer(machine, &fdt);
	find_pmu(machine, &fdt);
	find_virtio(machine, &fdt);
	find_bootargs(machine, &fdt);
	node = fdt_compatible(&fdt, -1, "arm,pl031");
	if (node >= 0)
		region_of(&fdt, node, 0, &machine->rtc);
	node = fdt_compatible(&fdt, -1, "arm,gic-v3");
	if (node >= 0) {
		region_of(&fdt, node, 0, &machine->gic_distributor);
		region_of(&fdt, node, 1, &machine->gic_redistributor);
	}
	node = fdt_compatible(&fdt, -1, "arm,gic-v3-its");
	if (node >= 0)
		region_of(&fdt, node, 0, &machine->gic_its);
	node = fdt_compatible(&fdt, -1, "arm,psci-0.2");
	if (node >= 0 && fdt_property(&fdt, node, "method", &method))
		machine->psci_smc = fdt_string_is(&method, "smc");
	return true;
}

static u64 parse_number(const char *text)
{
	unsigned int base = 10;
	u64 value = 0;
	unsigned int digit;

	if (text[0] == '0' && (text[1] | 0x20) == 'x') {
		base = 16;
		text += 2;
	}
	for (;; text++) {
		if (*text >= '0' && *text <= '9')
			digit = (unsigned int)(*text - '0');
		else if ((*text | 0x20) >= 'a' && (*text | 0x20) <= 'f')
			digit = (unsigned int)((*text | 0x20) - 'a' + 10);
		else
			return value;
		if (digit >= base)
			return value;
		value = value * base + digit;
	}
}

u64 machine_option(const struct machine *machine, const char *name, u64 fallback)
{
	const char *at = machine->bootargs;
	const char *key;

	while (*at) {
		for (key = name; *key && *at == *key; at++, key++)
			;
		if (!*key && *at == '=')
			return parse_number(at + 1);
		while (*at && *at != ' ')
			at++;
		while (*at == ' ')
			at++;
	}
	return fallback;
}
