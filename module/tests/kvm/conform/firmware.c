// SPDX-License-Identifier: GPL-2.0
/* Firmware calls with the VMM's settings: versions, filters, events. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "conform.h"
#include "its_machine.h"

/* A call with the registers that it was given, and its answer to a device; HVC and SMC. */
GUEST(call, "mov x10, #0x0a000000\n hvc #0\n str x0, [x10]\n b .\n"
      "mov x10, #0x0a000000\n smc #0\n str x0, [x10]\n b .\n");
#define SMC		16

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
	if (run->exit_reason == KVM_EXIT_HYPERCALL) {
		note(run->hypercall.nr, "%s.nr", name);
		note(run->hypercall.args[0] | run->hypercall.args[5], "%s.args", name);
		note(run->hypercall.ret, "%s.ret", name);
		note((u32)run->hypercall.flags, "%s.flags", name);
		note(run->hypercall.flags >> 32, "%s.flags_high", name);
	}
	for (i = 0; i < 4; i++)
		note(get_reg(g->vcpu, REG_X(i)), "%s.x%d", name, i);
	note(get_reg(g->vcpu, REG_PC) - GUEST_BASE, "%s.pc", name);
}

/* One more call by the same vCPU, by the instruction at an offset. */
static void call_at(struct guest *g, u64 offset, u64 function, u64 x1, const char *name)
{
	set_reg(g->vcpu, REG_X(0), function);
	set_reg(g->vcpu, REG_X(1), x1);
	set_reg(g->vcpu, REG_X(2), 0x2222222222222222);
	set_reg(g->vcpu, REG_X(3), 0x3333333333333333);
	set_reg(g->vcpu, REG_PC, GUEST_BASE + offset);
	/* What an earlier exit left there is no answer. */
	memset(&g->run->hypercall, 0xff, sizeof(g->run->hypercall));
	/* A KVM that has no filter, as 6.1's, has turned the vCPU off. */
	alarm(3);
	if (!say(ioctl(g->vcpu, KVM_RUN, 0), "%s.run", name))
		say_answer(g, name);
	alarm(0);
	/* What the exit left to do is done before the next registers are set. */
	g->run->immediate_exit = 1;
	ioctl(g->vcpu, KVM_RUN, 0);
	g->run->immediate_exit = 0;
}

static void call(struct guest *g, u64 function, u64 x1, const char *name)
{
	call_at(g, 0, function, x1, name);
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
	call(&g, 0x84000000, 1, "old.version");
	call(&g, 0xc4000003, 1, "old.new_cpu_on");
	call(&g, 0x84000008, 1, "old.new_system_off");
	call(&g, 0x95c1ba5e, 1, "old.suspend");
	call(&g, 0x95c1ba61, 1, "old.migrate");
	call(&g, 0x95c1ba60, 7, "old.on_missing");
	call(&g, 0x95c1ba60, 1, "old.on");
	call(&g, 0x95c1ba60, 1, "old.on_again");
	note(get_reg(other, REG_PC), "old.other_pc");
	note(get_reg(other, REG_X(0)), "old.other_x0");
	ioctl(other, KVM_GET_MP_STATE, &state);
	note(state.mp_state, "old.other_state");
	call(&g, 0x8600ff01, 1, "old.vendor");
	close(other);
	free_guest(&g);
}

static long filter(int vm, u32 base, u32 nr, u8 action, u8 pad)
{
	struct kvm_smccc_filter f = { .base = base, .nr_functions = nr, .action = action };
	struct kvm_device_attr attr = {
		.group = KVM_ARM_VM_SMCCC_CTRL, .attr = KVM_ARM_VM_SMCCC_FILTER, .addr = (u64)&f,
	};

	f.pad[14] = pad;
	return ioctl(vm, KVM_SET_DEVICE_ATTR, &attr);
}

static void filter_arguments(int vm)
{
	struct kvm_device_attr attr = { .group = KVM_ARM_VM_SMCCC_CTRL };

	say(ioctl(vm, KVM_HAS_DEVICE_ATTR, &attr), "filter.has");
	say(ioctl(vm, KVM_GET_DEVICE_ATTR, &attr), "filter.get");
	say(ioctl(vm, KVM_SET_DEVICE_ATTR, &attr), "filter.null");
	attr.addr = (u64)WILD_HIGH;
	say(ioctl(vm, KVM_SET_DEVICE_ATTR, &attr), "filter.wild");
	attr.flags = 1;
	say(ioctl(vm, KVM_HAS_DEVICE_ATTR, &attr), "filter.has_flags");
	attr.attr = 1;
	say(ioctl(vm, KVM_HAS_DEVICE_ATTR, &attr), "filter.has_1");
	say(ioctl(vm, KVM_SET_DEVICE_ATTR, &attr), "filter.set_1");
	say(filter(vm, 0x84000000, 0, 1, 0), "filter.nothing");
	say(filter(vm, 0xffffffff, 2, 1, 0), "filter.wraps");
	say(filter(vm, 0, 0xffffffff, 1, 0), "filter.all_but_one");
	say(filter(vm, 0x84000000, 1, 3, 0), "filter.action_3");
	say(filter(vm, 0x84000000, 1, 255, 0), "filter.action_255");
	say(filter(vm, 0x84000000, 1, 1, 1), "filter.pad");
	say(filter(vm, 0x80000000, 1, 1, 0), "filter.arch");
	say(filter(vm, 0x8000ffff, 1, 1, 0), "filter.arch_last");
	say(filter(vm, 0x80010000, 1, 1, 0), "filter.after_arch");
	say(filter(vm, 0xc0000000, 1, 2, 0), "filter.arch64");
	say(filter(vm, 0xbfffffff, 1, 2, 0), "filter.before_arch64");
	say(filter(vm, 0xffffffff, 1, 2, 0), "filter.last");
	say(filter(vm, 0, 1, 2, 0), "filter.first");
}

static void filters(void)
{
	struct guest g;

	new_caller(&g, 1 << KVM_ARM_VCPU_PSCI_0_2);
	filter_arguments(g.vm);
	say(filter(g.vm, 0x84000000, 4, KVM_SMCCC_FILTER_DENY, 0), "filter.deny");
	say(filter(g.vm, 0x84000003, 1, KVM_SMCCC_FILTER_FWD_TO_USER, 0), "filter.overlap");
	say(filter(g.vm, 0x84000008, 1, KVM_SMCCC_FILTER_FWD_TO_USER, 0), "filter.forward");
	say(filter(g.vm, 0x86000000, 0x10000, KVM_SMCCC_FILTER_FWD_TO_USER, 0),
	    "filter.forward_vendor");
	say(filter(g.vm, 0xc4000004, 1, KVM_SMCCC_FILTER_HANDLE, 0), "filter.handle");
	call(&g, 0x84000000, 1, "filter.version");
	call(&g, 0xffffffff84000000, 1, "filter.version_64");
	call(&g, 0x84000008, 1, "filter.system_off");
	call_at(&g, SMC, 0x84000008, 1, "filter.system_off_smc");
	call_at(&g, SMC, 0x84000000, 1, "filter.version_smc");
	call(&g, 0x8600ff01, 1, "filter.vendor");
	call(&g, 0x80000000, 1, "filter.smccc_version");
	call(&g, 0xc4000004, 0, "filter.affinity_info");
	call(&g, 0, 0, "filter.zero");
	call(&g, 0xffffffff, 0, "filter.all_ones");
	say(filter(g.vm, 0x85000000, 1, 1, 0), "filter.late");
	free_guest(&g);
}

static void suspend(bool enabled)
{
	const char *when = enabled ? "suspend" : "no_suspend";
	struct kvm_enable_cap cap = { .cap = KVM_CAP_ARM_SYSTEM_SUSPEND };
	struct guest g;
	char name[64];

	new_caller(&g, 1 << KVM_ARM_VCPU_PSCI_0_2);
	if (enabled) {
		cap.flags = 1;
		say(ioctl(g.vm, KVM_ENABLE_CAP, &cap), "suspend.flags");
		cap.flags = 0;
		say(ioctl(g.vm, KVM_ENABLE_CAP, &cap), "suspend.enable");
	}
	call(&g, 0x8400000a, 0x8400000e, strcat(strcpy(name, when), ".features_32"));
	call(&g, 0x8400000a, 0xc400000e, strcat(strcpy(name, when), ".features"));
	call(&g, 0xc400000e, 0x123456789abcdef0, strcat(strcpy(name, when), ".call"));
	call(&g, 0x8400000e, 0x123456789abcdef0, strcat(strcpy(name, when), ".call_32"));
	set_reg(g.vcpu, KVM_REG_ARM_PSCI_VERSION, 0x2);
	call(&g, 0xc400000e, 1, strcat(strcpy(name, when), ".call_0_2"));
	free_guest(&g);
}

static void on_alarm(int number)
{
}

/* A vCPU that the VMM suspended: a wakeup event ends KVM_RUN, again and again. */
static void suspended(void)
{
	struct kvm_mp_state state = { KVM_MP_STATE_SUSPENDED };
	struct kvm_irq_level irq = {
		.irq = KVM_ARM_IRQ_TYPE_CPU << KVM_ARM_IRQ_TYPE_SHIFT, .level = 1,
	};
	struct guest g;

	new_caller(&g, 1 << KVM_ARM_VCPU_PSCI_0_2);
	say(ioctl(g.vcpu, KVM_SET_MP_STATE, &state), "suspended.set");
	state.mp_state = 77;
	ioctl(g.vcpu, KVM_GET_MP_STATE, &state);
	note(state.mp_state, "suspended.state");
	alarm(1);
	say(ioctl(g.vcpu, KVM_RUN, 0), "suspended.signal");
	note(get_reg(g.vcpu, REG_PC), "suspended.pc");
	ioctl(g.vm, KVM_IRQ_LINE, &irq);
	alarm(1);
	say(ioctl(g.vcpu, KVM_RUN, 0), "suspended.woken");
	say_answer(&g, "suspended.woken");
	say(ioctl(g.vcpu, KVM_RUN, 0), "suspended.woken_again");
	say_answer(&g, "suspended.woken_again");
	ioctl(g.vcpu, KVM_GET_MP_STATE, &state);
	note(state.mp_state, "suspended.state_after");
	state.mp_state = KVM_MP_STATE_RUNNABLE;
	say(ioctl(g.vcpu, KVM_SET_MP_STATE, &state), "suspended.runnable");
	alarm(0);
	set_reg(g.vcpu, REG_PC, GUEST_BASE);
	set_reg(g.vcpu, REG_X(0), 0x84000000);
	say(ioctl(g.vcpu, KVM_RUN, 0), "suspended.runs");
	note(g.run->exit_reason, "suspended.runs.exit");
	free_guest(&g);
}

#define GICD_CTLR	0
#define GICD_ISENABLER1	0x104
#define ICC_PMR		0xc230
#define ICC_IGRPEN1	0xc667
#define SPI		40

static void set_gic(int vgic, u32 group, u64 number, u32 value)
{
	if (attr_set(vgic, group, number, value))
		die("vGIC register %#llx", (unsigned long long)number);
}

/* WFI, then a store to a device. */
GUEST(wait, "mov x10, #0x0a000000\n wfi\n str x0, [x10]\n b .\n");

/*
 * Which pending SPIs wake a vCPU that the VMM suspended, or that is in WFI; a signal ends the wait
 * for the others.
 */
static void woken_by_spi(bool suspended)
{
	const char *what = suspended ? "suspended" : "wfi";
	static const struct { const char *name; u32 on, enabled, pmr, group; } rows[] = {
		{ "all_on", 2, 1, 0xf8, 1 },
		{ "group_off", 2, 1, 0xf8, 0 },
		{ "masked", 2, 1, 0, 1 },
		{ "disabled", 2, 0, 0xf8, 1 },
		{ "distributor_off", 0, 1, 0xf8, 1 },
	};
	struct kvm_mp_state state = { KVM_MP_STATE_SUSPENDED };
	struct kvm_irq_level irq = {
		.irq = KVM_ARM_IRQ_TYPE_SPI << KVM_ARM_IRQ_TYPE_SHIFT | SPI, .level = 1,
	};
	struct guest g;
	size_t i;
	int vgic;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		NEW_GUEST(&g, wait);
		vgic = ready_vgic(g.vm);
		set_gic(vgic, KVM_DEV_ARM_VGIC_GRP_DIST_REGS, GICD_CTLR, rows[i].on);
		set_gic(vgic, KVM_DEV_ARM_VGIC_GRP_DIST_REGS, GICD_ISENABLER1,
			rows[i].enabled << (SPI - 32));
		set_gic(vgic, KVM_DEV_ARM_VGIC_GRP_CPU_SYSREGS, ICC_PMR, rows[i].pmr);
		set_gic(vgic, KVM_DEV_ARM_VGIC_GRP_CPU_SYSREGS, ICC_IGRPEN1, rows[i].group);
		if (suspended)
			ioctl(g.vcpu, KVM_SET_MP_STATE, &state);
		ioctl(g.vm, KVM_IRQ_LINE, &irq);
		alarm(1);
		say(ioctl(g.vcpu, KVM_RUN, 0), "woken.%s.%s", what, rows[i].name);
		alarm(0);
		note(g.run->exit_reason, "woken.%s.%s.exit", what, rows[i].name);
		close(vgic);
		free_guest(&g);
	}
}

/* The vendor's calls as their bits have them; a PTP call's time is now. */
static void vendor(void)
{
	static const u64 bits[] = { 3, 2, 1, 0 };
	struct timespec now;
	struct guest g;
	char name[64];
	u64 real, cnt;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bits); i++) {
		new_caller(&g, 1 << KVM_ARM_VCPU_PSCI_0_2);
		set_reg(g.vcpu, KVM_REG_ARM_VENDOR_HYP_BMAP, bits[i]);
		snprintf(name, sizeof(name), "vendor_%d.uid", (int)bits[i]);
		call(&g, 0x8600ff01, 1, name);
		snprintf(name, sizeof(name), "vendor_%d.features", (int)bits[i]);
		call(&g, 0x86000000, 1, name);
		snprintf(name, sizeof(name), "vendor_%d.ptp_other", (int)bits[i]);
		call(&g, 0x86000001, 2, name);
		free_guest(&g);
	}
	new_caller(&g, 1 << KVM_ARM_VCPU_PSCI_0_2);
	set_reg(g.vcpu, KVM_REG_ARM_TIMER_CNT, 0x100000000000);
	for (i = 0; i < 2; i++) {
		set_reg(g.vcpu, REG_X(0), 0x86000001);
		set_reg(g.vcpu, REG_X(1), i);
		set_reg(g.vcpu, REG_PC, GUEST_BASE);
		say(ioctl(g.vcpu, KVM_RUN, 0), "ptp_%d.run", (int)i);
		clock_gettime(CLOCK_REALTIME, &now);
		real = get_reg(g.vcpu, REG_X(0)) << 32 | get_reg(g.vcpu, REG_X(1));
		cnt = get_reg(g.vcpu, REG_X(2)) << 32 | get_reg(g.vcpu, REG_X(3));
		note(now.tv_sec - real / 1000000000 < 60, "ptp_%d.real", (int)i);
		note(reg_or_0(g.vcpu, i ? KVM_REG_ARM_PTIMER_CNT : KVM_REG_ARM_TIMER_CNT) - cnt <
		     62500000ULL * 60, "ptp_%d.counter", (int)i);
		g.run->immediate_exit = 1;
		ioctl(g.vcpu, KVM_RUN, 0);
		g.run->immediate_exit = 0;
	}
	free_guest(&g);
}

static long stolen_attr(int vcpu, unsigned long request, u64 *base)
{
	struct kvm_device_attr attr = {
		.group = KVM_ARM_VCPU_PVTIME_CTRL, .attr = KVM_ARM_VCPU_PVTIME_IPA,
		.addr = (u64)base,
	};

	return ioctl(vcpu, request, &attr);
}

static void *burn(void *done)
{
	while (!*(volatile bool *)done)
		;
	return NULL;
}

#define STOLEN		0x2000
#define READONLY	0x50000000ULL

/* The guest's memory once more, to be read only. */
static void set_readonly(struct guest *g, u64 gpa)
{
	struct kvm_userspace_memory_region mem = {
		.slot = 1, .flags = KVM_MEM_READONLY, .guest_phys_addr = gpa,
		.memory_size = 0x1000, .userspace_addr = (u64)g->memory,
	};

	if (ioctl(g->vm, KVM_SET_USER_MEMORY_REGION, &mem))
		die("KVM_SET_USER_MEMORY_REGION");
}

/* On a machine with one CPU, of which another thread has its share. */
static void stolen(void)
{
	u64 base = GUEST_BASE + STOLEN + 8, *at;
	bool done = false;
	pthread_t thread;
	struct guest g;
	int i;

	new_caller(&g, 1 << KVM_ARM_VCPU_PSCI_0_2);
	at = (u64 *)((char *)g.memory + STOLEN);
	say(stolen_attr(g.vcpu, KVM_HAS_DEVICE_ATTR, NULL), "stolen.has");
	say(stolen_attr(g.vcpu, KVM_GET_DEVICE_ATTR, &base), "stolen.get");
	note(base, "stolen.base");
	call(&g, 0x80000001, 0xc5000020, "stolen.arch_features");
	call(&g, 0xc5000020, 0xc5000021, "stolen.no_features");
	call(&g, 0xc5000021, 0, "stolen.no_st");
	base = GUEST_BASE + STOLEN + 8;
	say(stolen_attr(g.vcpu, KVM_SET_DEVICE_ATTR, &base), "stolen.unaligned");
	base = GUEST_MMIO;
	say(stolen_attr(g.vcpu, KVM_SET_DEVICE_ATTR, &base), "stolen.no_memory");
	say(stolen_attr(g.vcpu, KVM_SET_DEVICE_ATTR, NULL), "stolen.null");
	base = READONLY;
	set_readonly(&g, base);
	say(stolen_attr(g.vcpu, KVM_SET_DEVICE_ATTR, &base), "stolen.readonly");
	base = GUEST_BASE + STOLEN;
	say(stolen_attr(g.vcpu, KVM_SET_DEVICE_ATTR, &base), "stolen.set");
	say(stolen_attr(g.vcpu, KVM_SET_DEVICE_ATTR, &base), "stolen.set_again");
	memset(at, 0xff, 64);
	call(&g, 0xc5000020, 0xc5000020, "stolen.features_self");
	call(&g, 0xc5000020, 0xc5000021, "stolen.features");
	call(&g, 0xc5000020, 0xc5000022, "stolen.features_other");
	call(&g, 0xc5000021, 0, "stolen.st");
	note(at[0], "stolen.revision");
	note(at[1] < 1000000000, "stolen.small");
	note(at[2] | at[7], "stolen.padding");
	pthread_create(&thread, NULL, burn, &done);
	set_reg(g.vcpu, REG_PC, GUEST_BASE + 12);
	alarm(1);
	say(ioctl(g.vcpu, KVM_RUN, 0), "stolen.spin");
	/* On a busy board a second may be too short for both to have their turn. */
	for (i = 0; i < 20 && at[1] <= 10000000; i++) {
		alarm(1);
		ioctl(g.vcpu, KVM_RUN, 0);
	}
	done = true;
	pthread_join(thread, NULL);
	note(at[1] > 10000000, "stolen.some");
	init_vcpu(g.vcpu);
	say(stolen_attr(g.vcpu, KVM_GET_DEVICE_ATTR, &base), "stolen.get_reset");
	note(base, "stolen.base_reset");
	free_guest(&g);
}

void conform_firmware(void)
{
	struct sigaction action = { .sa_handler = on_alarm };

	sigaction(SIGALRM, &action, NULL);
	old_psci();
	filters();
	suspend(false);
	suspend(true);
	suspended();
	woken_by_spi(true);
	woken_by_spi(false);
	vendor();
	stolen();
}
