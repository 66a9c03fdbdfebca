// SPDX-License-Identifier: GPL-2.0
/* An SError that the VMM makes pending: seen while masked, taken once it is not. */
#include <string.h>

#include "conform.h"

#define VECTORS		0x800
#define VECTOR_SERROR	0x380	/* of the current EL, with its own stack pointer */

GUEST(masked, "mov x1, #0x0a000000\n mrs x3, isr_el1\n str w3, [x1]\n"
	      "msr daifclr, #4\n nop\n b .\n");
/* mov x1, #0x0a000000; mrs x4, isr_el1; str w4, [x1, #4]; b . */
static const u32 handler[] = { 0xd2a14001, 0xd538c104, 0xb9000424, 0x14000000 };

static void say_store(struct guest *g, const char *when)
{
	u32 value;

	say(ioctl(g->vcpu, KVM_RUN, 0), "%s.run", when);
	note(g->run->exit_reason, "%s.exit", when);
	memcpy(&value, g->run->mmio.data, sizeof(value));
	note(g->run->mmio.phys_addr, "%s.address", when);
	note(value, "%s.isr_el1", when);
}

void conform_serror(void)
{
	struct kvm_vcpu_events events = { .exception.serror_pending = 1 };
	struct guest g;

	NEW_GUEST(&g, masked);
	memcpy((char *)g.memory + VECTORS + VECTOR_SERROR, handler, sizeof(handler));
	set_reg(g.vcpu, ARM64_SYS_REG(3, 0, 12, 0, 0), GUEST_BASE + VECTORS);
	say(ioctl(g.vcpu, KVM_SET_VCPU_EVENTS, &events), "set");
	say_store(&g, "masked");
	say_store(&g, "taken");
	note(get_reg(g.vcpu, ARM64_SYS_REG(3, 0, 5, 2, 0)) >> 26, "taken.esr_class");
	note(get_reg(g.vcpu, REG_CORE(elr_el1)) - GUEST_BASE, "taken.elr");
	note(get_reg(g.vcpu, REG_CORE(spsr[0])), "taken.spsr");
	say(ioctl(g.vcpu, KVM_GET_VCPU_EVENTS, &events), "get");
	note(events.exception.serror_pending, "taken.pending");
	free_guest(&g);
}
