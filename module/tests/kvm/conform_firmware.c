// SPDX-License-Identifier: GPL-2.0
/* Firmware calls, as the VMM set the firmware up: versions, filters, events. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "conform.h"

/* A call with the registers that it was given, and its answer to a device. */
GUEST(call, "mov x10, #0x0a000000\n hvc #0\n str x0, [x10]\n b .\n");

static void new_caller(struct guest *g, u32 features)
{
	struct kvm_vcpu_init init = {
		.target = KVM_ARM_TARGET_GENERIC_V8, .features = { features },
	};

	g->kvm = open_kvm();
	g->vm = new_vm(g->kvm);
	g->vcpu = new_vcpu(g->vm, 0);
	g->run = map_run(g->kvm, g->vcpu);
	g->memory = new_slot(g->vm, 0, GUEST_BASE, GUEST_SIZE);
	memcpy(g->memory, guest_call, (char *)guest_call_end - (char *)guest_call);
	if (ioctl(g->vcpu, KVM_ARM_VCPU_INIT, &init))
		die("KVM_ARM_VCPU_INIT");
}

static void say_answer(struct guest *g, const char *name)
{
	struct kvm_run *run = g->run;
	int i;

	note(run->exit_reason, "%s.exit", name);
	if (run->exit_reason == KVM_EXIT_SYSTEM_EVENT) {
		note(run->system_event.type, "%s.event", name);
		note(run->system_event.ndata, "%s.ndata", name);
	}
	for (i = 0; i < 4; i++)
		note(get_reg(g->vcpu, REG_X(i)), "%s.x%d", name, i);
	note(get_reg(g->vcpu, REG_PC) - GUEST_BASE, "%s.pc", name);
}

/* One more call by the same vCPU. */
static void call(struct guest *g, u64 function, u64 x1, u64 x2, u64 x3, const char *name)
{
	set_reg(g->vcpu, REG_X(0), function);
	set_reg(g->vcpu, REG_X(1), x1);
	set_reg(g->vcpu, REG_X(2), x2);
	set_reg(g->vcpu, REG_X(3), x3);
	set_reg(g->vcpu, REG_PC, GUEST_BASE);
	if (!say(ioctl(g->vcpu, KVM_RUN, 0), "%s.run", name))
		say_answer(g, name);
	/* What the exit left to do is done before the next registers are set. */
	g->run->immediate_exit = 1;
	ioctl(g->vcpu, KVM_RUN, 0);
	g->run->immediate_exit = 0;
}

/* The PSCI of a vCPU that was not given 0.2 has other numbers. */
static void old_psci(void)
{
	struct kvm_vcpu_init off = {
		.target = KVM_ARM_TARGET_GENERIC_V8, .features = { 1 << KVM_ARM_VCPU_POWER_OFF },
	};
	struct kvm_mp_state state = { 99 };
	struct guest g;
	int other;

	new_caller(&g, 0);
	other = new_vcpu(g.vm, 1);
	if (ioctl(other, KVM_ARM_VCPU_INIT, &off))
		die("KVM_ARM_VCPU_INIT");
	call(&g, 0x84000000, 1, 2, 3, "old.version");
	call(&g, 0xc4000003, 1, GUEST_BASE, 3, "old.new_cpu_on");
	call(&g, 0x84000008, 1, 2, 3, "old.new_system_off");
	call(&g, 0x95c1ba5e, 1, 2, 3, "old.suspend");
	call(&g, 0x95c1ba61, 1, 2, 3, "old.migrate");
	call(&g, 0x95c1ba60, 7, GUEST_BASE, 3, "old.on_missing");
	call(&g, 0x95c1ba60, 1, 0x123456789000, 3, "old.on");
	call(&g, 0x95c1ba60, 1, GUEST_BASE, 3, "old.on_again");
	note(get_reg(other, REG_PC), "old.other_pc");
	note(get_reg(other, REG_X(0)), "old.other_x0");
	ioctl(other, KVM_GET_MP_STATE, &state);
	note(state.mp_state, "old.other_state");
	call(&g, 0x8600ff01, 1, 2, 3, "old.vendor");
	close(other);
	free_guest(&g);
}

void conform_firmware(void)
{
	old_psci();
}
