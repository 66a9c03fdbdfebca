// SPDX-License-Identifier: GPL-2.0
/*
 * KVM_SET_GUEST_DEBUG: software breakpoints, single step, hardware breakpoints
 * and watchpoints, in the guest's kernel and its user space.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "conform.h"

#define ON		KVM_GUESTDBG_ENABLE
#define STEP		(ON | KVM_GUESTDBG_SINGLESTEP)
#define SW		(ON | KVM_GUESTDBG_USE_SW_BP)
#define HW		(ON | KVM_GUESTDBG_USE_HW)
#define BOTH_LEVELS	(3 << 1)
#define BCR		(1 | BOTH_LEVELS | 0xf << 5)
#define WCR_STORE	(1 | BOTH_LEVELS | 2 << 3 | 0xff << 5)
#define WCR_LOAD	(1 | BOTH_LEVELS | 1 << 3 | 0xff << 5)
#define MDSCR		ARM64_SYS_REG(2, 0, 0, 2, 2)
#define DBGBVR0		ARM64_SYS_REG(2, 0, 0, 0, 4)
#define DBGBCR0		ARM64_SYS_REG(2, 0, 0, 0, 5)
#define RAM		(GUEST_BASE + 0x1000)

/* Offsets of the guest's instructions. */
enum { BRK = 0x20, LOAD = 0x28, STORE = 0x2c, SVC = 0x34, USER = 0x4c, USER_SVC = 0x58 };

/*
 * One instruction of each kind: executed, to a device, trapped by the hypervisor, a
 * breakpoint, an exception, a return to user space, one from there. Vectors say ESR.
 */
extern const u32 guest_debugged[] __attribute__((visibility("hidden")));
extern const u32 guest_debugged_end[] __attribute__((visibility("hidden")));
__asm__(".pushsection .rodata\n.balign 4\n"
	"guest_debugged:\n"
	"mov x10, #0x0a000000\n mov x11, #0x40000000\n add x11, x11, #1, lsl #12\n"
	"add x12, x11, #0x800\n sub x12, x12, #0x1000\n msr vbar_el1, x12\n"
	"mov x1, #5\n str x1, [x10]\n"
	"brk #0x123\n mrs x2, sctlr_el1\n"
	"ldr x3, [x11]\n str x1, [x11]\n ldr x4, [x10, #8]\n"
	"svc #7\n"
	"adr x0, 1f\n msr elr_el1, x0\n msr spsr_el1, xzr\n isb\n eret\n"
	"1: add x1, x1, #1\n ldr x3, [x11]\n str x1, [x11, #8]\n svc #8\n nop\n b .\n"
	".org guest_debugged + 0xa00\n"
	"mrs x5, esr_el1\n mrs x7, elr_el1\n add x7, x7, #4\n lsr x6, x5, #26\n"
	"cmp x6, #0x3c\n b.ne 2f\n msr elr_el1, x7\n"
	"2: str x5, [x10, #16]\n eret\n"
	".org guest_debugged + 0xc00\n"
	"mrs x5, esr_el1\n str x5, [x10, #24]\n b .\n"
	"guest_debugged_end:\n.popsection\n");

static long debug(int vcpu, u32 control, const struct kvm_guest_debug_arch *regs)
{
	struct kvm_guest_debug args = { .control = control };

	if (regs)
		args.arch = *regs;
	return ioctl(vcpu, KVM_SET_GUEST_DEBUG, &args);
}

/* ISV and EX say how the hypervisor came by a step: not the guest's affair. */
static u64 syndrome(u64 esr)
{
	return esr >> 26 == 0x32 ? esr & ~(1ULL << 24 | 1ULL << 6) : esr;
}

static void run(struct guest *g, const char *name, int n)
{
	struct kvm_run *run = g->run;
	u64 data = 0;

	run->debug.arch.far = 0x1234;
	if (say(ioctl(g->vcpu, KVM_RUN, 0), "%s.%d.run", name, n))
		return;
	note(run->exit_reason, "%s.%d.exit", name, n);
	note(get_reg(g->vcpu, REG_PC) - GUEST_BASE, "%s.%d.pc", name, n);
	note(get_reg(g->vcpu, REG_PSTATE), "%s.%d.pstate", name, n);
	if (run->exit_reason == KVM_EXIT_DEBUG) {
		note(run->flags, "%s.%d.flags", name, n);
		note(syndrome(run->debug.arch.hsr), "%s.%d.hsr", name, n);
		note(run->debug.arch.hsr_high, "%s.%d.hsr_high", name, n);
		if (run->debug.arch.hsr >> 26 == 0x34)
			note(run->debug.arch.far, "%s.%d.far", name, n);
	} else if (run->exit_reason == KVM_EXIT_MMIO) {
		memcpy(&data, run->mmio.data, run->mmio.is_write ? run->mmio.len : 0);
		note(run->mmio.phys_addr, "%s.%d.address", name, n);
		note(data, "%s.%d.data", name, n);
	}
}

static void arguments(void)
{
	int kvm = open_kvm(), vm = new_vm(kvm), vcpu = new_vcpu(vm, 0), i;
	struct kvm_guest_debug_arch regs;
	char *page = map_memory(8192);

	memset(&regs, 0xff, sizeof(regs));
	for (i = 0; i < 32; i++)
		say(debug(vcpu, ON | 1U << i, NULL), "control.bit_%d", i);
	say(debug(vcpu, 0, NULL), "control.0");
	say(debug(vcpu, STEP & ~ON, NULL), "control.step_without_enable");
	say(debug(vcpu, HW, &regs), "control.hw_ones");
	say(ioctl(vcpu, KVM_SET_GUEST_DEBUG, WILD_HIGH), "control.wild");
	munmap(page + 4096, 4096);
	say(ioctl(vcpu, KVM_SET_GUEST_DEBUG, page + 4096 - sizeof(struct kvm_guest_debug) + 8),
	    "control.edge");
	munmap(page, 4096);
	init_vcpu(vcpu);
	say(debug(vcpu, STEP, NULL), "control.initialised");
	close(vcpu);
	close(vm);
	close(kvm);
}

/* BRK is the guest's, until its VMM asks for it; which of the flags does not matter. */
static void software(void)
{
	static const struct { const char *name; u32 control; } how[] = {
		{ "brk.off", 0 }, { "brk.on", ON }, { "brk.sw", SW }, { "brk.hw", HW },
	};
	struct kvm_guest_debug_arch none = { 0 };
	struct guest g;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(how); i++) {
		NEW_GUEST(&g, debugged);
		debug(g.vcpu, how[i].control, &none);
		run(&g, how[i].name, 0);
		run(&g, how[i].name, 1);
		run(&g, how[i].name, 2);
		debug(g.vcpu, 0, NULL);
		run(&g, how[i].name, 3);
		run(&g, how[i].name, 4);
		free_guest(&g);
	}
}

/* Every instruction, with a debugger that steps over a BRK. */
static void steps(void)
{
	struct guest g;
	int i;

	NEW_GUEST(&g, debugged);
	debug(g.vcpu, STEP, NULL);
	for (i = 0; i < 40; i++) {
		run(&g, "step", i);
		if (g.run->exit_reason == KVM_EXIT_DEBUG && g.run->debug.arch.hsr >> 26 == 0x3c)
			set_reg(g.vcpu, REG_PC, get_reg(g.vcpu, REG_PC) + 4);
	}
	note(get_reg(g.vcpu, MDSCR), "step.mdscr");
	free_guest(&g);
}

/* A step that a signal or an access to a device interrupts is ended by the next run. */
static void interrupted(void)
{
	struct guest g;

	NEW_GUEST(&g, debugged);
	run(&g, "pending", 0);
	debug(g.vcpu, STEP, NULL);
	g.run->immediate_exit = 1;
	run(&g, "pending", 1);
	g.run->immediate_exit = 0;
	run(&g, "pending", 2);
	run(&g, "pending", 3);
	free_guest(&g);
	NEW_GUEST(&g, debugged);
	debug(g.vcpu, STEP, NULL);
	g.run->immediate_exit = 1;
	run(&g, "pending.first", 0);
	g.run->immediate_exit = 0;
	run(&g, "pending.first", 1);
	debug(g.vcpu, 0, NULL);
	run(&g, "pending.off", 0);
	debug(g.vcpu, STEP, NULL);
	run(&g, "pending.on", 0);
	run(&g, "pending.on", 1);
	free_guest(&g);
}

/* CPU_ON of the vCPU with id 1 at x2, which reports to a device; or only the report. */
extern const u32 guest_starts[] __attribute__((visibility("hidden")));
extern const u32 guest_starts_end[] __attribute__((visibility("hidden")));
__asm__(".pushsection .rodata\n.balign 4\n"
	"guest_starts:\n"
	"movz x0, #0xc400, lsl #16\n add x0, x0, #3\n mov x1, #1\n mov x3, #7\n"
	"hvc #0\n mov x10, #0x0a000000\n str x0, [x10]\n b .\n"
	"mov x10, #0x0a000000\n add x0, x0, #1\n str x0, [x10]\n str x0, [x10, #8]\n b .\n"
	"movz x0, #0x8400, lsl #16\n add x0, x0, #2\n hvc #0\n b .\n"
	"guest_starts_end:\n.popsection\n");
enum { STARTED = 0x20, CPU_OFF = 0x34 };
#define PSTATE_SS	(1ULL << 21)

static void init_with(int vcpu, u32 features)
{
	struct kvm_vcpu_init init = {
		.target = KVM_ARM_TARGET_GENERIC_V8,
		.features = { features | 1 << KVM_ARM_VCPU_PSCI_0_2 },
	};

	if (ioctl(vcpu, KVM_ARM_VCPU_INIT, &init))
		die("KVM_ARM_VCPU_INIT");
}

/* The second vCPU, off, in the place of the first one; the first starts it. */
static void start_second(struct guest *g, struct guest *second)
{
	NEW_GUEST(g, starts);
	init_with(g->vcpu, 0);
	*second = *g;
	second->vcpu = new_vcpu(g->vm, 1);
	second->run = map_run(g->kvm, second->vcpu);
	init_with(second->vcpu, 1 << KVM_ARM_VCPU_POWER_OFF);
	set_reg(g->vcpu, REG_PC, GUEST_BASE);
	set_reg(g->vcpu, REG_X(2), GUEST_BASE + STARTED);
}

/* A vCPU that is started within a run: whose step that is, and what it had before. */
static void started(void)
{
	static const struct { const char *name; u64 ss; u32 control; } how[] = {
		{ "started", 0, STEP }, { "started.ss", PSTATE_SS, STEP }, { "started.hw", PSTATE_SS, HW },
	};
	struct kvm_guest_debug_arch none = { 0 };
	struct guest g, second;
	size_t i;
	int n;

	for (i = 0; i < ARRAY_SIZE(how); i++) {
		start_second(&g, &second);
		set_reg(second.vcpu, REG_PSTATE, get_reg(second.vcpu, REG_PSTATE) | how[i].ss);
		debug(second.vcpu, how[i].control, &none);
		run(&g, "starter", i);
		/* Where nothing steps, both stores. */
		for (n = 0; n < (how[i].control == STEP ? 4 : 2); n++)
			run(&second, how[i].name, n);
		debug(second.vcpu, 0, NULL);
		note(get_reg(second.vcpu, REG_PSTATE), "%s.pstate", how[i].name);
		close(second.vcpu);
		free_guest(&g);
	}
}

/* A vCPU steps over the call that turns it off, and is started again; or the VMM resets it. */
static void stepped_off(void)
{
	struct kvm_mp_state on = { KVM_MP_STATE_RUNNABLE };
	struct guest g, second;
	int n;

	start_second(&g, &second);
	/* Not by other features: KVM takes those of the first time only, before 6.5. */
	if (ioctl(second.vcpu, KVM_SET_MP_STATE, &on))
		die("KVM_SET_MP_STATE");
	set_reg(second.vcpu, REG_PC, GUEST_BASE + CPU_OFF);
	debug(second.vcpu, STEP, NULL);
	for (n = 0; n < 2; n++)
		run(&second, "off", n);
	alarm(1);
	run(&second, "off", n);
	alarm(0);
	run(&g, "off.starter", 0);
	for (n = 0; n < 3; n++)
		run(&second, "off.again", n);
	close(second.vcpu);
	free_guest(&g);

	NEW_GUEST(&g, debugged);
	run(&g, "init", 0);
	debug(g.vcpu, STEP, NULL);
	g.run->immediate_exit = 1;
	run(&g, "init", 1);
	g.run->immediate_exit = 0;
	init_with(g.vcpu, 0);
	set_reg(g.vcpu, REG_PC, GUEST_BASE);
	for (n = 2; n < 5; n++)
		run(&g, "init", n);
	free_guest(&g);
}

static void breakpoints(void)
{
	static const u64 at[] = { 0x18, LOAD, SVC, 0xa00, 0xa04, USER, USER_SVC };
	struct kvm_guest_debug_arch regs = { 0 };
	struct guest g;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		char name[32];
		int n;

		snprintf(name, sizeof(name), "break.%#llx", (unsigned long long)at[i]);
		NEW_GUEST(&g, debugged);
		set_reg(g.vcpu, DBGBVR0, 0x1230);
		set_reg(g.vcpu, DBGBCR0, 0x1e5);
		memset(&regs, 0, sizeof(regs));
		regs.dbg_bvr[1] = GUEST_BASE + at[i];
		regs.dbg_bcr[1] = BCR;
		debug(g.vcpu, HW, &regs);
		for (n = 0; n < 6; n++) {
			run(&g, name, n);
			if (g.run->exit_reason != KVM_EXIT_DEBUG)
				continue;
			if (g.run->debug.arch.hsr >> 26 == 0x3c) {
				set_reg(g.vcpu, REG_PC, get_reg(g.vcpu, REG_PC) + 4);
				continue;
			}
			/* Over it, and on. */
			debug(g.vcpu, STEP, NULL);
			run(&g, name, 100 + n);
			debug(g.vcpu, HW, &regs);
		}
		note(get_reg(g.vcpu, DBGBVR0), "%s.bvr", name);
		note(get_reg(g.vcpu, DBGBCR0), "%s.bcr", name);
		note(get_reg(g.vcpu, MDSCR), "%s.mdscr", name);
		free_guest(&g);
	}
}

/* At one level only, of both, and not at all. */
static void levels(void)
{
	static const struct { const char *name; u64 bcr; } how[] = {
		{ "level.el1", 1 | 1 << 1 | 0xf << 5 }, { "level.el0", 1 | 2 << 1 | 0xf << 5 },
		{ "level.none", 1 | 0xf << 5 }, { "level.off", BCR & ~1 },
	};
	struct kvm_guest_debug_arch regs = { 0 };
	struct guest g;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(how); i++) {
		NEW_GUEST(&g, debugged);
		set_reg(g.vcpu, REG_PC, GUEST_BASE + SVC + 4);
		set_reg(g.vcpu, REG_X(10), GUEST_MMIO);
		set_reg(g.vcpu, REG_X(11), RAM);
		regs.dbg_bvr[0] = GUEST_BASE + SVC + 4 + 8;
		regs.dbg_bcr[0] = how[i].bcr;
		regs.dbg_bvr[3] = GUEST_BASE + USER + 4;
		regs.dbg_bcr[3] = how[i].bcr;
		debug(g.vcpu, HW, &regs);
		alarm_ms(200);
		run(&g, how[i].name, 0);
		alarm_ms(0);
		free_guest(&g);
	}
}

static void watchpoints(void)
{
	static const struct { const char *name; u64 at, wcr; } how[] = {
		{ "watch.store", RAM, WCR_STORE }, { "watch.load", RAM, WCR_LOAD },
		{ "watch.user", RAM + 8, WCR_STORE }, { "watch.other", RAM + 16, WCR_STORE },
		{ "watch.mask", RAM & ~0xfffULL, (WCR_STORE & ~(0xff << 5)) | 0xff << 5 | 12 << 24 },
	};
	struct kvm_guest_debug_arch regs = { 0 };
	struct guest g;
	size_t i;
	int n;

	for (i = 0; i < ARRAY_SIZE(how); i++) {
		NEW_GUEST(&g, debugged);
		memset(&regs, 0, sizeof(regs));
		regs.dbg_wvr[2] = how[i].at;
		regs.dbg_wcr[2] = how[i].wcr;
		debug(g.vcpu, HW, &regs);
		alarm_ms(300);
		for (n = 0; n < 6; n++) {
			run(&g, how[i].name, n);
			if (g.run->exit_reason != KVM_EXIT_DEBUG)
				continue;
			if (g.run->debug.arch.hsr >> 26 == 0x3c)
				set_reg(g.vcpu, REG_PC, get_reg(g.vcpu, REG_PC) + 4);
			else
				debug(g.vcpu, ON, NULL);
		}
		alarm_ms(0);
		free_guest(&g);
	}
}

static void on_alarm(int number)
{
}

void conform_debug(void)
{
	struct sigaction action = { .sa_handler = on_alarm };

	sigaction(SIGALRM, &action, NULL);
	arguments();
	software();
	steps();
	interrupted();
	started();
	stepped_off();
	breakpoints();
	levels();
	watchpoints();
}
