// SPDX-License-Identifier: GPL-2.0
/*
 * Requests of a guest, each under the meter: every firmware call, by HVC, and every instruction
 * that traps. Figures are calls.NAME and traps.NAME; tests/data/bounds_api.toml says what each
 * stands for. The VM has the maximum number of vCPUs; most have never run.
 *
 *	VCPUS=n		254
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "bounds.h"

#define MAX_VCPUS	254

/* guests.S */
extern const u32 guest_caller[], guest_caller_end[], guest_caller_slot[];

#define VBAR	ARM64_SYS_REG(3, 0, 12, 0, 0)
#define SCTLR	ARM64_SYS_REG(3, 0, 1, 0, 0)
#define TCR	ARM64_SYS_REG(3, 0, 2, 0, 2)
#define CPACR	ARM64_SYS_REG(3, 0, 1, 0, 2)
#define VECTORS	0x800

struct caller {
	struct guest g;
	int nr, vcpu[MAX_VCPUS];
	u32 *slot;		/* its instruction */
};

static void begin(struct caller *c)
{
	struct rlimit files = { 1 << 12, 1 << 12 };
	struct kvm_enable_cap suspend = { .cap = KVM_CAP_ARM_SYSTEM_SUSPEND };
	int i;

	c->nr = setting("VCPUS", MAX_VCPUS);
	if (c->nr > MAX_VCPUS || setrlimit(RLIMIT_NOFILE, &files))
		die("%d vCPUs", c->nr);
	new_guest(&c->g, guest_caller, (char *)guest_caller_end - (char *)guest_caller);
	ioctl(c->g.vm, KVM_ENABLE_CAP, &suspend);
	c->vcpu[0] = c->g.vcpu;
	for (i = 1; i < c->nr; i++) {
		c->vcpu[i] = new_vcpu(c->g.vm, i);
		init_vcpu(c->vcpu[i]);
	}
	c->slot = (u32 *)c->g.memory + (guest_caller_slot - guest_caller);
}

static void end(struct caller *c)
{
	int i;

	for (i = 1; i < c->nr; i++)
		close(c->vcpu[i]);
	free_guest(&c->g);
}

/* The last store's exit is done with: what is set now holds for the next run. */
static void complete(struct caller *c)
{
	c->g.run->immediate_exit = 1;
	if (!ioctl(c->g.vcpu, KVM_RUN, 0) || errno != EINTR)
		die("immediate_exit");
	c->g.run->immediate_exit = 0;
}

/* The program runs one instruction, its vectors lead back, and each round ends at the device. */
static void restart(struct caller *c)
{
	u64 at;

	complete(c);
	for (at = VECTORS; at < 2 * VECTORS; at += 0x80)
		/* b 0 */
		*(u32 *)((char *)c->g.memory + at) = 0x14000000 | (-(at / 4) & 0x3ffffff);
	set_reg(c->g.vcpu, SCTLR, 0x30d00800);
	set_reg(c->g.vcpu, TCR, 0);
	set_reg(c->g.vcpu, CPACR, 3 << 20);
	set_reg(c->g.vcpu, VBAR, GUEST_BASE + VECTORS);
	set_reg(c->g.vcpu, REG_PSTATE, 0x3c5);
	set_reg(c->g.vcpu, REG_X(9), GUEST_MMIO);
	set_reg(c->g.vcpu, REG_X(10), GUEST_BASE + 2);
	set_reg(c->g.vcpu, REG_CORE(elr_el1), GUEST_BASE);
	set_reg(c->g.vcpu, REG_CORE(spsr[KVM_SPSR_EL1]), 0x3c5);
	set_reg(c->g.vcpu, REG_PC, GUEST_BASE + 4);
}

/* One that sleeps is woken by a signal. */
static void on_alarm(int sig)
{
}

static void alarm_in(u32 us)
{
	const struct itimerval once = { .it_value = { .tv_usec = us } };
	const struct sigaction action = { .sa_handler = on_alarm };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &once, NULL);
}

static void run(struct caller *c, u32 insn)
{
	*c->slot = insn;
	__builtin___clear_cache((char *)c->slot, (char *)(c->slot + 1));
	if (ioctl(c->g.vcpu, KVM_RUN, 0) && errno != EINTR && errno != ENOSYS)
		die("%08x", insn);
}

#define HVC	0xd4000002
#define SMC	0xd4000003

/* The arguments make it long, or any arguments do. */
static const struct call {
	const char *name;
	u64 args[4];
} calls[] = {
	{ "smccc_version", { 0x80000000 } },
	{ "arch_features", { 0x80000001, 0xc5000020 } },
	{ "pv_time_features", { 0xc5000020, 0xc5000021 } },
	{ "pv_time_st", { 0xc5000021 } },
	{ "trng_version", { 0x84000050 } },
	{ "trng_features", { 0x84000051, 0xc4000053 } },
	{ "trng_get_uuid", { 0x84000052 } },
	{ "trng_rnd32", { 0x84000053, 96 } },
	{ "trng_rnd64", { 0xc4000053, 192 } },
	{ "vendor_uid", { 0x8600ff01 } },
	{ "vendor_features", { 0x86000000 } },
	{ "vendor_ptp", { 0x86000001 } },
	{ "psci_version", { 0x84000000 } },
	{ "migrate_info_type", { 0x84000006 } },
	{ "psci_features", { 0x8400000a, 0x84000008 } },
	/* All vCPUs, of which none is on; the last one; on, and again. */
	{ "affinity_info", { 0xc4000004, 0, 3 } },
	{ "cpu_on", { 0xc4000003, 13 | 15 << 8, GUEST_BASE } },
	{ "cpu_on_again", { 0xc4000003, 13 | 15 << 8, GUEST_BASE } },
	{ "cpu_suspend", { 0xc4000001 } },
	{ "cpu_off", { 0x84000002 } },
	{ "system_suspend", { 0xc400000e, GUEST_BASE } },
	{ "system_off", { 0x84000008 } },
	{ "system_reset", { 0x84000009 } },
	{ "system_reset2", { 0xc4000012 } },
	{ "system_off2", { 0xc4000015 } },
	{ "unknown", { 0xdeadbeef } },
};

static void set_mp_state(int vcpu, u32 what)
{
	struct kvm_mp_state state = { .mp_state = what };

	if (ioctl(vcpu, KVM_SET_MP_STATE, &state))
		die("KVM_SET_MP_STATE");
}

static void call(struct caller *c, const struct call *how)
{
	int i;

	for (i = 1; i < c->nr; i++)
		set_mp_state(c->vcpu[i], KVM_MP_STATE_STOPPED);
	set_mp_state(c->g.vcpu, KVM_MP_STATE_RUNNABLE);
	restart(c);
	for (i = 0; i < 4; i++)
		set_reg(c->g.vcpu, REG_X(i), how->args[i]);
	alarm_in(20000);
	meter_begin();
	run(c, HVC);
	meter_end("calls.%s", how->name);
	alarm_in(0);
	/* If the call returns a value, that is in x0 instead of the function. */
	if (c->g.run->exit_reason == KVM_EXIT_MMIO && get_reg(c->g.vcpu, REG_X(0)) == how->args[0])
		die("%s was not called", how->name);
}

void bounds_calls(void)
{
	struct caller c;
	size_t i;

	begin(&c);
	for (i = 0; i < ARRAY_SIZE(calls); i++)
		call(&c, &calls[i]);
	/* By SMC: the same functions. */
	restart(&c);
	set_reg(c.g.vcpu, REG_X(0), 0x84000000);
	meter_begin();
	run(&c, SMC);
	meter_end("calls.smc");
	end(&c);
}

#define MRS		0xd5200001U	/* and SYSL, to x1 */
#define MSR		0xd5000001U	/* and SYS, of x1 */
#define ENCODING(enc)	((enc) << 5)
/* op0 of 1 is an instruction, 2 and 3 are registers. */
#define FIRST_SYS	0x4000
#define FIRST_REG	0x8000
#define LAST		0xffff

#define SWEEP		0x10000	/* in the guest's memory */

/*
 * Every encoding of a system register is read and written back, or every one of an instruction
 * executed in both directions, in one run: what is UNDEFINED goes on behind.
 */
static void encodings(struct caller *c, const char *name, u32 first, u32 last)
{
	static const u32 skip[] = {
		0xd538402a,	/* mrs x10, elr_el1 */
		0x9100114a,	/* add x10, x10, #4 */
		0xd518402a,	/* msr elr_el1, x10 */
		0xd69f03e0,	/* eret */
	};
	u32 *at = (u32 *)((char *)c->g.memory + SWEEP), i;

	restart(c);
	for (i = VECTORS; i < 2 * VECTORS; i += 0x80)
		memcpy((char *)c->g.memory + i, skip, sizeof(skip));
	for (i = first; i <= last; i++) {
		*at++ = MRS | ENCODING(i);
		*at++ = MSR | ENCODING(i);
	}
	*at++ = 0xf9000120;	/* str x0, [x9] */
	__builtin___clear_cache(c->g.memory, (char *)at);
	/* Where DC ZVA does no harm. */
	set_reg(c->g.vcpu, REG_X(1), GUEST_BASE + GUEST_SIZE - 0x1000);
	set_reg(c->g.vcpu, REG_PC, GUEST_BASE + SWEEP);
	meter_begin();
	if (ioctl(c->g.vcpu, KVM_RUN, 0) || c->g.run->exit_reason != KVM_EXIT_MMIO)
		die("%s: exit %u", name, c->g.run->exit_reason);
	meter_end("traps.%s", name);
}

static void one(struct caller *c, const char *name, u32 insn)
{
	restart(c);
	set_reg(c->g.vcpu, REG_X(1), GUEST_BASE + 0x1000);
	alarm_in(20000);
	meter_begin();
	run(c, insn);
	meter_end("traps.%s", name);
	alarm_in(0);
}

void bounds_traps(void)
{
	static const struct {
		const char *name;
		u32 insn;
	} insns[] = {
		{ "svc", 0xd4000001 },
		{ "brk", 0xd4200000 },
		{ "hlt", 0xd4400000 },
		{ "udf", 0x00000000 },
		{ "wfi", 0xd503207f },
		{ "wfe", 0xd503205f },
		{ "eret", 0xd69f03e0 },
		{ "fp", 0x1e604000 },		/* fmov d0, d0 */
		{ "sve", 0x04e00000 },		/* add z0.d, z0.d, z0.d */
		{ "pc_align", 0xd61f0140 },	/* br x10 */
		{ "dabt_device", 0xf9000121 },	/* str x1, [x9] */
		{ "dabt_none", 0xf9400120 },	/* ldr x0, [x9] */
		{ "ldxr_device", 0xc85f7d20 },
		{ "daifset", 0xd50342df },
		{ "daifclr", 0xd50342ff },
		{ "spsel", 0xd50041bf },
		{ "pan", 0xd500409f },
	};
	struct caller c;
	size_t i;

	begin(&c);
	for (i = 0; i < ARRAY_SIZE(insns); i++)
		one(&c, insns[i].name, insns[i].insn);
	encodings(&c, "sysreg", FIRST_REG, LAST);
	encodings(&c, "sys", FIRST_SYS, FIRST_REG - 1);
	end(&c);
}
