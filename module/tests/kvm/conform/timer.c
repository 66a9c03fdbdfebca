// SPDX-License-Identifier: GPL-2.0
/*
 * Counters and timers that the VMM writes: the values that it reads back, and those that the guest
 * sees.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "conform.h"

/* In ticks, more than any board needs for this: its counter runs at 62.5 MHz. */
#define A_WHILE		(62500000ULL * 120)
#define FAR		0x100000000000ULL

/* The two counters to a device, then every timer interrupt that comes, and off with it. */
extern const u32 guest_timers[] __attribute__((visibility("hidden")));
extern const u32 guest_timers_end[] __attribute__((visibility("hidden")));
__asm__(".pushsection .rodata\n.balign 4\n"
	"guest_timers:\n"
	"mov x10, #0x0a000000\n mov x11, #0x08000000\n"
	"adr x0, guest_timers + 0x800\n msr vbar_el1, x0\n"
	"mov w0, #0x12\n str w0, [x11]\n"
	"mov x12, #0x080b0000\n mov w0, #0x48000000\n str w0, [x12, #0x100]\n"
	"mov x0, #0xf0\n msr s3_0_c4_c6_0, x0\n"
	"mov x0, #1\n msr s3_0_c12_c12_7, x0\n isb\n"
	"mrs x0, cntvct_el0\n str x0, [x10]\n mrs x0, cntpct_el0\n str x0, [x10, #8]\n"
	"msr daifclr, #2\n"
	"1: wfi\n b 1b\n"
	".org guest_timers + 0xa80\n"
	"mrs x0, s3_0_c12_c12_0\n mrs x1, cntv_ctl_el0\n mrs x2, cntp_ctl_el0\n"
	"msr cntv_ctl_el0, xzr\n msr cntp_ctl_el0, xzr\n isb\n"
	"str x0, [x10, #16]\n str x1, [x10, #24]\n str x2, [x10, #32]\n"
	"msr s3_0_c12_c12_1, x0\n isb\n eret\n"
	"guest_timers_end:\n.popsection\n");

/* Is a counter where it was set to, or a little later? */
static bool after(u64 value, u64 start)
{
	return value - start < A_WHILE;
}

static u64 next_store(struct guest *g, const char *name)
{
	u64 data = 0;

	/* Where writes mean nothing, as on KVM 6.1, no interrupt comes. */
	alarm(5);
	say(ioctl(g->vcpu, KVM_RUN, 0), "%s.run", name);
	alarm(0);
	note(g->run->exit_reason, "%s.exit", name);
	if (g->run->exit_reason == KVM_EXIT_MMIO)
		memcpy(&data, g->run->mmio.data, sizeof(data));
	return data;
}

static void new_timers(struct guest *g, int *vgic)
{
	NEW_GUEST(g, timers);
	*vgic = ready_vgic(g->vm);
}

static void say_counters(struct guest *g, u64 virt, u64 phys, const char *when)
{
	note(after(get_reg(g->vcpu, KVM_REG_ARM_TIMER_CNT), virt), "%s.virtual", when);
	note(after(reg_or_0(g->vcpu, KVM_REG_ARM_PTIMER_CNT), phys), "%s.physical", when);
}

/* ENABLE and ISTATUS, which of a timer that is off means nothing. */
static u64 status(u64 ctl)
{
	return ctl & 1 ? ctl & 5 : 0;
}

/* The guest's interrupt by a timer that the VMM set up. */
static void expire(struct guest *g, bool phys, const char *name)
{
	u64 cnt = reg_or_0(g->vcpu, phys ? KVM_REG_ARM_PTIMER_CNT : KVM_REG_ARM_TIMER_CNT);
	char line[64];

	say(try_set_reg(g->vcpu, phys ? KVM_REG_ARM_PTIMER_CVAL : KVM_REG_ARM_TIMER_CVAL, cnt + 1000),
	    "%s.cval", name);
	say(try_set_reg(g->vcpu, phys ? KVM_REG_ARM_PTIMER_CTL : KVM_REG_ARM_TIMER_CTL, 1),
	    "%s.ctl", name);
	strcat(strcpy(line, name), ".intid");
	note(next_store(g, line), "%s", line);
	strcat(strcpy(line, name), ".cntv_ctl");
	note(status(next_store(g, line)), "%s", line);
	strcat(strcpy(line, name), ".cntp_ctl");
	note(status(next_store(g, line)), "%s", line);
}

static void written(void)
{
	struct guest g;
	int vgic, other;

	new_timers(&g, &vgic);
	say(try_set_reg(g.vcpu, KVM_REG_ARM_TIMER_CNT, FAR), "set.virtual");
	say(try_set_reg(g.vcpu, KVM_REG_ARM_PTIMER_CNT, 2 * FAR), "set.physical");
	say_counters(&g, FAR, 2 * FAR, "set");
	note(after(next_store(&g, "set.guest_virtual"), FAR), "set.guest_virtual");
	note(after(next_store(&g, "set.guest_physical"), 2 * FAR), "set.guest_physical");
	expire(&g, true, "set.ptimer");
	expire(&g, false, "set.vtimer");
	say(try_set_reg(g.vcpu, KVM_REG_ARM_PTIMER_CNT, 3 * FAR), "set.running");
	say_counters(&g, FAR, 3 * FAR, "set.running");
	/* A deadline that a jump of the counter passes. */
	try_set_reg(g.vcpu, KVM_REG_ARM_PTIMER_CVAL, 4 * FAR);
	try_set_reg(g.vcpu, KVM_REG_ARM_PTIMER_CTL, 1);
	try_set_reg(g.vcpu, KVM_REG_ARM_PTIMER_CNT, 5 * FAR);
	note(next_store(&g, "set.jump"), "set.jump.intid");
	close(vgic);
	free_guest(&g);
	/* What one vCPU writes holds for all that there are. */
	NEW_GUEST(&g, timers);
	other = new_vcpu(g.vm, 1);
	init_vcpu(other);
	try_set_reg(g.vcpu, KVM_REG_ARM_TIMER_CNT, FAR);
	try_set_reg(other, KVM_REG_ARM_PTIMER_CNT, 2 * FAR);
	say_counters(&g, FAR, 2 * FAR, "set.others");
	close(other);
	free_guest(&g);
}

static long set_offset(int vm, u64 offset, u64 reserved)
{
	struct kvm_arm_counter_offset args = { .counter_offset = offset, .reserved = reserved };

	return ioctl(vm, KVM_ARM_SET_COUNTER_OFFSET, &args);
}

struct busy {
	int vm;
	pthread_t runner;
};

static void *while_it_runs(void *arg)
{
	struct busy *busy = arg;

	usleep(200000);
	say(set_offset(busy->vm, 0, 0), "offset.busy");
	pthread_kill(busy->runner, SIGUSR1);
	return NULL;
}

static void offset(void)
{
	u64 start, back = 2 * FAR;
	struct busy busy;
	pthread_t thread;
	struct guest g;
	int vgic;

	new_timers(&g, &vgic);
	say(set_offset(g.vm, 0, 1), "offset.reserved");
	say(set_offset(g.vm, 0, 0), "offset.zero");
	start = reg_or_0(g.vcpu, KVM_REG_ARM_PTIMER_CNT);
	note(after(get_reg(g.vcpu, KVM_REG_ARM_TIMER_CNT), start), "offset.zero.same");
	say(set_offset(g.vm, -back, 0), "offset.set");
	say_counters(&g, start + back, start + back, "offset.set");
	say(try_set_reg(g.vcpu, KVM_REG_ARM_TIMER_CNT, 5 * FAR), "offset.virtual");
	say(try_set_reg(g.vcpu, KVM_REG_ARM_PTIMER_CNT, 6 * FAR), "offset.physical");
	say_counters(&g, start + back, start + back, "offset.ignored");
	note(after(next_store(&g, "offset.guest_virtual"), start + back), "offset.guest_virtual");
	note(after(next_store(&g, "offset.guest_physical"), start + back),
	     "offset.guest_physical");
	say(set_offset(g.vm, -FAR, 0), "offset.after_run");
	say_counters(&g, start + FAR, start + FAR, "offset.after_run");
	expire(&g, true, "offset.ptimer");
	expire(&g, false, "offset.vtimer");
	busy.vm = g.vm;
	busy.runner = pthread_self();
	pthread_create(&thread, NULL, while_it_runs, &busy);
	say(ioctl(g.vcpu, KVM_RUN, 0), "offset.wfi");
	pthread_join(thread, NULL);
	say_counters(&g, start + FAR, start + FAR, "offset.busy");
	close(vgic);
	free_guest(&g);
}

/* Set before there is a vCPU, and another one added after. */
static void offset_first(void)
{
	int kvm = open_kvm(), vm = new_vm(kvm), vcpu;

	say(set_offset(vm, -FAR, 0), "offset_first.set");
	vcpu = new_vcpu(vm, 0);
	init_vcpu(vcpu);
	note(get_reg(vcpu, KVM_REG_ARM_TIMER_CNT) > FAR, "offset_first.virtual");
	note(reg_or_0(vcpu, KVM_REG_ARM_PTIMER_CNT) > FAR, "offset_first.physical");
	close(vcpu);
	close(vm);
	close(kvm);
}

static void on_signal(int number)
{
}

void conform_timer(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	written();
	offset();
	offset_first();
}
