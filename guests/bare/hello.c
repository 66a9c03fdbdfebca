// SPDX-License-Identifier: GPL-2.0
/* Prints the machine from the device tree, with the MMU off. It needs the least from a VMM. */
#include "guest.h"

void guest_main(void)
{
	unsigned int i;

	print("hello from EL%lu, image at %lx, device tree at %lx\n",
	      read_sysreg(currentel) >> 2, (u64)image_start, machine.fdt.base);
	for (i = 0; i < machine.ram_count; i++)
		print("ram %lx + %lx\n", machine.ram[i].base, machine.ram[i].size);
	print("cpus %u, midr %lx, boot arguments \"%s\"\n", machine.cpu_count,
	      read_sysreg(midr_el1), machine.bootargs);
	check(read_sysreg(currentel) == 1 << 2, "a kernel is to be entered at EL1");
	check(machine.ram_count, "the device tree names no memory");
	check(machine.cpu_count, "the device tree names no CPU");
	check(machine.virtual_timer_irq, "the device tree names no virtual timer");
	result("hello.cpus", machine.cpu_count, "count");
	result("hello.memory", machine.ram[0].size, "bytes");
	result("hello.cntfrq", read_sysreg(cntfrq_el0), "Hz");
}
