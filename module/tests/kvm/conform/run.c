// SPDX-License-Identifier: GPL-2.0
/*
 * KVM_RUN with guests of a few instructions: MMIO in all sizes, hypercalls, system events, signals.
 * There is no interrupt controller.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "conform.h"

GUEST(mmio,
      "mov x1, #0x0a000000\n"
      "mov x2, #0x1122\n movk x2, #0x3344, lsl #16\n"
      "movk x2, #0x5566, lsl #32\n movk x2, #0x7788, lsl #48\n"
      "strb w2, [x1]\n strh w2, [x1, #2]\n str w2, [x1, #4]\n str x2, [x1, #8]\n"
      "str wzr, [x1, #4]\n str xzr, [x1, #16]\n"
      "str w2, [x1, #0x100]\n sturb w2, [x1, #1]\n"
      "ldrb w3, [x1]\n str x3, [x1, #0x800]\n"
      "ldrh w3, [x1, #2]\n str x3, [x1, #0x800]\n"
      "ldr w3, [x1, #4]\n str x3, [x1, #0x800]\n"
      "ldr x3, [x1, #8]\n str x3, [x1, #0x800]\n"
      "ldrsb w3, [x1]\n str x3, [x1, #0x800]\n"
      "ldrsb x3, [x1]\n str x3, [x1, #0x800]\n"
      "ldrsh w3, [x1, #2]\n str x3, [x1, #0x800]\n"
      "ldrsh x3, [x1, #2]\n str x3, [x1, #0x800]\n"
      "ldrsw x3, [x1, #4]\n str x3, [x1, #0x800]\n"
      "ldr wzr, [x1, #4]\n"
      "ldr x1, [x1]\n"
      "b .\n");

/* Post- and pre-index, pairs: no syndrome on hardware either. */
GUEST(writeback, "mov x1, #0x0a000000\n str w2, [x1], #4\n b .\n");
GUEST(pair, "mov x1, #0x0a000000\n stp x2, x3, [x1]\n b .\n");

GUEST(psci,
      "mov x1, #0x0a000000\n"
      "ldr w0, [x1]\n mov x2, #0\n mov x3, #0\n ldr x2, [x1, #8]\n"
      "mov x10, x1\n ldr x1, [x10, #16]\n"
      "hvc #0\n str x0, [x10]\n ldr x1, [x10, #0x800]\n mov x1, x10\n b guest_psci\n");

GUEST(smc, "mov x10, #0x0a000000\n mov x0, #0x84000000\n smc #0\n str x0, [x10]\n b .\n");
GUEST(hvc_imm, "mov x10, #0x0a000000\n mov x0, #0x84000000\n hvc #7\n str x0, [x10]\n b .\n");
GUEST(spin, "b .\n");
GUEST(wfi, "wfi\n b guest_wfi\n");
GUEST(current_el, "mov x10, #0x0a000000\n mrs x0, currentel\n str x0, [x10]\n"
      "mrs x0, daif\n str x0, [x10]\n mrs x0, spsel\n str x0, [x10]\n b .\n");
GUEST(nothing, "nop\n");
GUEST(fp, "mov x10, #0x0a000000\n mov x0, #3 << 20\n msr cpacr_el1, x0\n isb\n"
      "fmov d0, #1.5\n fmov x0, d0\n str x0, [x10]\n fadd d1, d0, d1\n str x0, [x10]\n b .\n");

static void say_exit(struct guest *g, long ret, const char *name)
{
	struct kvm_run *run = g->run;
	u64 data = 0;

	say(ret, "%s.run", name);
	if (ret && errno != EINTR)
		return;
	note(run->exit_reason, "%s.exit", name);
	switch (run->exit_reason) {
	case KVM_EXIT_MMIO:
		memcpy(&data, run->mmio.data, run->mmio.is_write ? run->mmio.len : 0);
		note(run->mmio.phys_addr, "%s.mmio_addr", name);
		note(run->mmio.len, "%s.mmio_len", name);
		note(run->mmio.is_write, "%s.mmio_is_write", name);
		note(data, "%s.mmio_data", name);
		break;
	case KVM_EXIT_SYSTEM_EVENT:
		note(run->system_event.type, "%s.event", name);
		note(run->system_event.ndata, "%s.event_ndata", name);
		break;
	case KVM_EXIT_INTERNAL_ERROR:
		note(run->internal.suberror, "%s.suberror", name);
		break;
	}
}

static long run_once(struct guest *g, const char *name)
{
	long ret = ioctl(g->vcpu, KVM_RUN, 0);

	say_exit(g, ret, name);
	return ret;
}

static void answer(struct guest *g, u64 value)
{
	memcpy(g->run->mmio.data, &value, 8);
}

static void mmio(void)
{
	struct guest g;
	char name[16] = "mmio_00";
	int i;

	NEW_GUEST(&g, mmio);
	for (i = 0; i < 28; i++) {
		name[5] = '0' + i / 10;
		name[6] = '0' + i % 10;
		if (run_once(&g, name))
			break;
		answer(&g, 0x8182838485868788);
	}
	/* The read is done before the next entry, even if there is none. */
	g.run->immediate_exit = 1;
	run_once(&g, "mmio_last");
	note(get_reg(g.vcpu, REG_X(1)), "mmio_last.x1");
	note(get_reg(g.vcpu, REG_PC) - GUEST_BASE, "mmio_last.pc");
	free_guest(&g);
}

/* A hypercall: its answer, or the event that it was. */
static void psci_call(u64 function, u64 x1, u64 x2, const char *name)
{
	struct guest g;

	NEW_GUEST(&g, psci);
	ioctl(g.vcpu, KVM_RUN, 0);
	answer(&g, function);
	ioctl(g.vcpu, KVM_RUN, 0);
	answer(&g, x2);
	ioctl(g.vcpu, KVM_RUN, 0);
	answer(&g, x1);
	run_once(&g, name);
	free_guest(&g);
}

/* What a vCPU was told by CPU_ON is in its registers before it runs, and only once. */
static void cpu_on(void)
{
	struct kvm_vcpu_init init = {
		.target = KVM_ARM_TARGET_GENERIC_V8,
		.features = { 1 << KVM_ARM_VCPU_PSCI_0_2 | 1 << KVM_ARM_VCPU_POWER_OFF },
	};
	static const u64 answers[] = { 0xc4000003, GUEST_BASE + 0x1000, 1 };
	struct kvm_mp_state state = { 0 };
	struct guest g;
	size_t i;
	int other;

	NEW_GUEST(&g, psci);
	other = new_vcpu(g.vm, 1);
	say(ioctl(other, KVM_ARM_VCPU_INIT, &init), "cpu_on.init");
	set_reg(other, REG_X(0), 5);
	for (i = 0; i < ARRAY_SIZE(answers); i++) {
		ioctl(g.vcpu, KVM_RUN, 0);
		answer(&g, answers[i]);
	}
	run_once(&g, "cpu_on");
	note(get_reg(other, REG_PC), "cpu_on.pc");
	note(get_reg(other, REG_X(0)), "cpu_on.x0");
	say(ioctl(other, KVM_GET_MP_STATE, &state), "cpu_on.get_state");
	note(state.mp_state, "cpu_on.state");
	set_reg(other, REG_PC, GUEST_BASE + 0x2000);
	note(get_reg(other, REG_PC), "cpu_on.pc_set");
	say(ioctl(other, KVM_ARM_VCPU_INIT, &init), "cpu_on.init_again");
	set_reg(other, REG_PC, GUEST_BASE + 0x3000);
	note(get_reg(other, REG_PC), "cpu_on.pc_set_again");
	close(other);
	free_guest(&g);
}

static void psci(void)
{
	psci_call(0x84000000, 0, 0, "psci_version");
	psci_call(0x84000003, 5, GUEST_BASE, "psci_cpu_on_missing_32");
	psci_call(0xc4000003, 5, GUEST_BASE, "psci_cpu_on_missing");
	psci_call(0xc4000003, 0, GUEST_BASE, "psci_cpu_on_self");
	psci_call(0xc4000003, ~0ULL, GUEST_BASE, "psci_cpu_on_all_ones");
	psci_call(0xc4000004, 0, 0, "psci_affinity_info");
	psci_call(0xc4000004, 5, 0, "psci_affinity_info_missing");
	psci_call(0xc4000004, 0, 9, "psci_affinity_info_level_9");
	psci_call(0x84000004, 0, 0, "psci_affinity_info_32");
	psci_call(0x84000005, 0, 0, "psci_migrate");
	psci_call(0x84000006, 0, 0, "psci_migrate_info");
	psci_call(0x84000008, 0, 0, "psci_system_off");
	psci_call(0x84000009, 0, 0, "psci_system_reset");
	psci_call(0xc4000012, 0, 0, "psci_system_reset2");
	psci_call(0xc4000012, 1, 0, "psci_system_reset2_other");
	psci_call(0x84000012, 0, 0, "psci_system_reset2_32");
	psci_call(0x8400000a, 0x84000000, 0, "psci_features_version");
	psci_call(0x8400000a, 0x80000000, 0, "psci_features_smccc");
	psci_call(0x8400000a, 0xc4000001, 0, "psci_features_suspend");
	psci_call(0x8400000a, 0xc400000e, 0, "psci_features_system_suspend");
	psci_call(0x8400000a, 0xc4000012, 0, "psci_features_reset2");
	psci_call(0x8400000a, 0x84000077, 0, "psci_features_unknown");
	psci_call(0xc400000e, 0, 0, "psci_system_suspend");
	psci_call(0x80000000, 0, 0, "smccc_version");
	psci_call(0x80000001, 0x80000000, 0, "smccc_features_version");
	psci_call(0x80000001, 0x80000001, 0, "smccc_features_features");
	psci_call(0x80000001, 0x80008000, 0, "smccc_features_wa1");
	psci_call(0x80000001, 0x80007fff, 0, "smccc_features_wa2");
	psci_call(0x80000001, 0x80003fff, 0, "smccc_features_wa3");
	psci_call(0x80000001, 0xc5000020, 0, "smccc_features_pv_time");
	psci_call(0x80000001, 0x84000053, 0, "smccc_features_trng");
	psci_call(0x80000002, 0, 0, "smccc_soc_id");
	psci_call(0x84000050, 0, 0, "trng_version");
	psci_call(0x84000051, 0x84000053, 0, "trng_features");
	psci_call(0x8600ff01, 0, 0, "vendor_uid");
	psci_call(0x86000000, 0, 0, "vendor_features");
	psci_call(0xc5000020, 0, 0, "pv_time_features");
	psci_call(0x95c1ba5e, 0, 0, "kvm_psci_0_1_suspend");
	psci_call(0x12345678, 0, 0, "smccc_unknown");
	psci_call(0xffffffff, 0, 0, "smccc_all_ones");
	psci_call(0, 0, 0, "smccc_zero");
}

static void calls(void)
{
	struct guest g;

	NEW_GUEST(&g, smc);
	run_once(&g, "smc");
	free_guest(&g);
	NEW_GUEST(&g, hvc_imm);
	run_once(&g, "hvc_immediate");
	free_guest(&g);
	NEW_GUEST(&g, current_el);
	run_once(&g, "current_el");
	run_once(&g, "daif");
	run_once(&g, "spsel");
	free_guest(&g);
	NEW_GUEST(&g, fp);
	run_once(&g, "fp");
	run_once(&g, "fp_again");
	free_guest(&g);
	NEW_GUEST(&g, writeback);
	run_once(&g, "writeback");
	free_guest(&g);
	NEW_GUEST(&g, pair);
	run_once(&g, "pair");
	free_guest(&g);
}

static void on_signal(int number)
{
}

static void *kick(void *thread)
{
	usleep(200000);
	pthread_kill(*(pthread_t *)thread, SIGUSR1);
	return NULL;
}

/* A signal ends KVM_RUN; by KVM_SET_SIGNAL_MASK also one that is blocked. */
static void signalled(struct guest *g, const char *name)
{
	pthread_t self = pthread_self(), thread;

	pthread_create(&thread, NULL, kick, &self);
	run_once(g, name);
	pthread_join(thread, NULL);
}

static void signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct {
		struct kvm_signal_mask head;
		u64 set;
	} __attribute__((packed)) mask = { .head = { .len = 8 } };
	struct guest g;
	sigset_t set, pending;

	sigaction(SIGUSR1, &action, NULL);
	NEW_GUEST(&g, spin);
	g.run->immediate_exit = 1;
	run_once(&g, "immediate_exit");
	g.run->immediate_exit = 0;
	signalled(&g, "spin_signal");
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (ioctl(g.vcpu, KVM_SET_SIGNAL_MASK, &mask))
		die("KVM_SET_SIGNAL_MASK");
	signalled(&g, "spin_blocked_signal");
	sigpending(&pending);
	note(sigismember(&pending, SIGUSR1), "spin_blocked_signal.pending");
	run_once(&g, "spin_still_pending");
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	free_guest(&g);

	NEW_GUEST(&g, wfi);
	signalled(&g, "wfi_signal");
	note((get_reg(g.vcpu, REG_PC) - GUEST_BASE) & ~4ULL, "wfi_signal.pc");
	free_guest(&g);
}

/* Code that is not there: an abort whose vector is not there either. */
static void nowhere(void)
{
	struct guest g;
	struct kvm_mp_state state = { KVM_MP_STATE_STOPPED };

	NEW_GUEST(&g, nothing);
	set_reg(g.vcpu, REG_PC, 0x10000000);
	signalled(&g, "nowhere");
	free_guest(&g);

	NEW_GUEST(&g, spin);
	ioctl(g.vcpu, KVM_SET_MP_STATE, &state);
	signalled(&g, "stopped");
	free_guest(&g);
}

void conform_run(void)
{
	mmio();
	psci();
	cpu_on();
	calls();
	signals();
	nowhere();
}
