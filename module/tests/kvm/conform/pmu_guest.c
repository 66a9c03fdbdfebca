// SPDX-License-Identifier: GPL-2.0
/*
 * The PMU as the guest sees it. Hardware counts do not repeat, so for cycles the output says only
 * whether there were any. Software increments are exact.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "pmu.h"

/* Where the guest tells: a value, whether it is 0, an exception, the end. */
enum { VALUE, ANY = 8, EXCEPTION = 16, INTERRUPT = 24, DONE = 32 };

#define TELL(reg)	"mrs x0, " reg "\n str x0, [x10]\n"
#define TELL_ANY(reg)	"mrs x0, " reg "\n str x0, [x10, #8]\n"
/* KVM's guests have NSH, which counts at EL2, in a CPU without it. */
#define TELL_TYPE(reg)	"mrs x0, " reg "\n bic x0, x0, #0x08000000\n str x0, [x10]\n"
#define WRITE(reg, val)	"ldr x0, =" val "\n msr " reg ", x0\n"
#define PMCR		"s3_3_c9_c12_0"
#define CNTENSET	"s3_3_c9_c12_1"
#define CNTENCLR	"s3_3_c9_c12_2"
#define OVSCLR		"s3_3_c9_c12_3"
#define SWINC		"s3_3_c9_c12_4"
#define SELR		"s3_3_c9_c12_5"
#define CEID0		"s3_3_c9_c12_6"
#define CEID1		"s3_3_c9_c12_7"
#define CCNTR		"s3_3_c9_c13_0"
#define XTYPE		"s3_3_c9_c13_1"
#define XCNTR		"s3_3_c9_c13_2"
#define USERENR		"s3_3_c9_c14_0"
#define OVSSET		"s3_3_c9_c14_3"
#define INTENSET	"s3_0_c9_c14_1"
#define INTENCLR	"s3_0_c9_c14_2"
#define CNTR(n)		"s3_3_c14_c8_" #n
#define TYPE(n)		"s3_3_c14_c12_" #n
#define CCFILTR		"s3_3_c14_c15_7"
#define LOOP		"mov x1, #2000\n 9: subs x1, x1, #1\n b.ne 9b\n"

/*
 * Vectors: an exception reports its syndrome and continues behind the instruction or, for SVC from
 * EL0, behind the ERET. An interrupt reports the overflow and clears it.
 */
#define VECTORS(name)								\
	"b .\n .ltorg\n"							\
	".org guest_" name " + 0x1000 + 0x200\n b 7f\n"				\
	".org guest_" name " + 0x1000 + 0x280\n b 8f\n"				\
	".org guest_" name " + 0x1000 + 0x400\n b 7f\n"				\
	".org guest_" name " + 0x1000 + 0x800\n"				\
	"7: mrs x5, esr_el1\n lsr x6, x5, #26\n cmp x6, #0x15\n b.eq 6f\n"	\
	"str x5, [x10, #16]\n mrs x5, elr_el1\n add x5, x5, #4\n msr elr_el1, x5\n eret\n" \
	"6: br x20\n"								\
	"8: mrs x5, s3_0_c12_c12_0\n mrs x6, " OVSSET "\n msr " OVSCLR ", x6\n isb\n" \
	"str x5, [x10, #24]\n str x6, [x10, #24]\n msr s3_0_c12_c12_1, x5\n isb\n eret\n"

#define PROGRAM(name, text)							\
	extern const u32 guest_##name[] __attribute__((visibility("hidden")));	\
	extern const u32 guest_##name##_end[] __attribute__((visibility("hidden"))); \
	__asm__(".pushsection .rodata\n.balign 4096\n"				\
		"guest_" #name ":\n"						\
		"mov x10, #0x0a000000\n mov x11, #0x08000000\n"			\
		"adr x0, guest_" #name " + 0x1000\n msr vbar_el1, x0\n"		\
		"mov w0, #0x12\n str w0, [x11]\n"				\
		"mov x12, #0x080b0000\n mov w0, #0x00800000\n str w0, [x12, #0x100]\n" \
		"movn w0, #0\n str w0, [x12, #0x80]\n"				\
		"mov x0, #0xf0\n msr s3_0_c4_c6_0, x0\n"			\
		"mov x0, #1\n msr s3_0_c12_c12_7, x0\n isb\n"			\
		text								\
		"str x0, [x10, #32]\n" VECTORS(#name)				\
		"guest_" #name "_end:\n.popsection\n")

/* Registers as they are written and read, in EL1. */
PROGRAM(words,
	WRITE(PMCR, "0x40") TELL(PMCR) WRITE(PMCR, "0xffffffffffffffff") TELL(PMCR)
	WRITE(PMCR, "0x40")
	WRITE(CNTENCLR, "0xffffffffffffffff") TELL(CNTENSET)
	WRITE(CNTENSET, "0xffffffffffffffff") TELL(CNTENSET) TELL(CNTENCLR)
	WRITE(CNTENCLR, "0x80000005") TELL(CNTENSET)
	WRITE(INTENCLR, "0xffffffffffffffff") TELL(INTENSET)
	WRITE(INTENSET, "0xffffffffffffffff") TELL(INTENSET) TELL(INTENCLR)
	WRITE(OVSCLR, "0xffffffffffffffff") TELL(OVSSET)
	WRITE(OVSSET, "0xffffffffffffffff") TELL(OVSSET) TELL(OVSCLR)
	WRITE(INTENCLR, "0xffffffffffffffff") WRITE(CNTENCLR, "0xffffffffffffffff")
	WRITE(SELR, "0xffffffffffffffe3") TELL(SELR)
	WRITE(XTYPE, "0xffffffffffffffff") TELL_TYPE(XTYPE) TELL_TYPE(TYPE(3)) WRITE(TYPE(3), "0") TELL(XTYPE)
	WRITE(XCNTR, "0xffffffffffffffff") TELL(XCNTR) TELL(CNTR(3)) WRITE(CNTR(3), "5") TELL(XCNTR)
	WRITE(SELR, "31") WRITE(XTYPE, "0xffffffffffffffff") TELL_TYPE(CCFILTR) TELL_TYPE(XTYPE)
	WRITE(XCNTR, "0x123456789a") TELL(CCNTR) TELL(XCNTR)
	WRITE(CCFILTR, "0") TELL(XTYPE)
	WRITE(SELR, "6") TELL(XTYPE) TELL(XCNTR) WRITE(XCNTR, "0") WRITE(XTYPE, "0")
	TELL(TYPE(6)) TELL(CNTR(6)) TELL("s3_3_c14_c11_6") TELL("s3_3_c14_c11_7")
	TELL(CEID0) TELL(CEID1) WRITE(CEID0, "0") TELL(SWINC)
	WRITE(USERENR, "0xffffffffffffffff") TELL(USERENR) WRITE(USERENR, "0"));

/* Software increments: overflows, chains, what is off, what PMCR clears. */
PROGRAM(increments,
	WRITE(PMCR, "0x46") WRITE(OVSCLR, "0xffffffffffffffff") WRITE(INTENCLR, "0xffffffff")
	WRITE(CNTENCLR, "0xffffffffffffffff")
	WRITE(TYPE(0), "0") WRITE(TYPE(2), "0") WRITE(TYPE(3), "0x1e")
	WRITE(TYPE(4), "0x1e") WRITE(TYPE(5), "0x1e") WRITE(TYPE(1), "0x1e")
	WRITE(SWINC, "1") TELL(CNTR(0))				/* all off */
	WRITE(CNTENSET, "0x1f") WRITE(SWINC, "1") TELL(CNTR(0))	/* PMCR.E off */
	WRITE(PMCR, "0x41") WRITE(SWINC, "1") TELL(CNTR(0))
	WRITE(SWINC, "0xffffffff") TELL(CNTR(0)) TELL(CNTR(2)) TELL(CNTR(3))
	WRITE(CNTR(0), "0xffffffff") WRITE(CNTR(2), "0xffffffff") WRITE(CNTR(3), "0xffffffff")
	WRITE(SWINC, "5") TELL(CNTR(0)) TELL(CNTR(1)) TELL(CNTR(2)) TELL(CNTR(3)) TELL(CNTR(4))
	TELL(OVSSET)
	WRITE(CNTENCLR, "2") WRITE(CNTR(0), "0xffffffff") WRITE(SWINC, "1") TELL(CNTR(1))
	WRITE(PMCR, "0x43") TELL(CNTR(0)) TELL(CNTR(3)) TELL(PMCR)
	WRITE(CCNTR, "77") WRITE(PMCR, "0x45") TELL(CCNTR)
	WRITE(PMCR, "0x40"));

/* Interrupts by software increments, masked and not, and level. */
PROGRAM(line,
	WRITE(PMCR, "0x46") WRITE(OVSCLR, "0xffffffffffffffff") WRITE(INTENCLR, "0xffffffff")
	WRITE(CNTENCLR, "0xffffffffffffffff") WRITE(TYPE(3), "0")
	WRITE(CNTENSET, "8") WRITE(INTENSET, "8") WRITE(PMCR, "0x41")
	"msr daifclr, #2\n"
	WRITE(CNTR(3), "0xfffffffe") WRITE(SWINC, "8") "isb\n" TELL(CNTR(3))
	WRITE(SWINC, "8") "isb\n" TELL(OVSSET)
	"msr daifset, #2\n"
	WRITE(OVSSET, "8") "isb\n" TELL("isr_el1") WRITE(OVSCLR, "8") "isb\n" TELL("isr_el1")
	WRITE(OVSSET, "8") "isb\n" TELL("isr_el1") WRITE(INTENCLR, "8") "isb\n" TELL("isr_el1")
	WRITE(INTENSET, "8") "isb\n" TELL("isr_el1") WRITE(PMCR, "0x40") "isb\n" TELL("isr_el1")
	WRITE(PMCR, "0x41") "isb\n" TELL("isr_el1") "msr daifclr, #2\n isb\n" TELL(OVSSET)
	WRITE(OVSSET, "1") "isb\n" TELL(OVSSET) WRITE(PMCR, "0x40"));

/* Cycles: counted, filtered by level, overflowing, by either kind of counter. */
PROGRAM(cycles,
	WRITE(PMCR, "0x46") WRITE(OVSCLR, "0xffffffffffffffff") WRITE(INTENCLR, "0xffffffff")
	WRITE(CNTENCLR, "0xffffffffffffffff") WRITE(CCFILTR, "0") WRITE(TYPE(1), "0x11")
	WRITE(PMCR, "0x41") LOOP TELL(CCNTR) TELL(CNTR(1))	/* not enabled */
	WRITE(CNTENSET, "0x80000002") "isb\n" LOOP TELL_ANY(CCNTR) TELL_ANY(CNTR(1))
	WRITE(CNTENCLR, "0x80000002") "isb\n"
	"mrs x2, " CCNTR "\n mrs x3, " CNTR(1) "\n" LOOP
	"mrs x4, " CCNTR "\n sub x0, x4, x2\n str x0, [x10]\n"
	"mrs x4, " CNTR(1) "\n sub x0, x4, x3\n str x0, [x10]\n"
	WRITE(CCFILTR, "0x80000000") WRITE(TYPE(1), "0x80000011") WRITE(PMCR, "0x47")
	WRITE(CNTENSET, "0x80000002") "isb\n" LOOP TELL(CCNTR) TELL(CNTR(1))
	WRITE(CCFILTR, "0x40000000") WRITE(TYPE(1), "0x40000011") "isb\n" LOOP
	TELL_ANY(CCNTR) TELL_ANY(CNTR(1))
	/* One at a time: two that count cycles are more than an emulated PMU can. */
	WRITE(CNTENCLR, "2") WRITE(TYPE(1), "0x11") WRITE(CCFILTR, "0")
	WRITE(OVSCLR, "0xffffffffffffffff") WRITE(INTENSET, "0x80000000")
	WRITE(CCNTR, "0xffffffffffff0000") "isb\n msr daifclr, #2\n"
	"5: mrs x0, " CCNTR "\n tbnz x0, #63, 5b\n isb\n" LOOP LOOP
	"msr daifset, #2\n" WRITE(INTENCLR, "0x80000000") WRITE(CNTENCLR, "0x80000000")
	WRITE(INTENSET, "2") WRITE(CNTENSET, "2")
	WRITE(CNTR(1), "0xffff0000") "isb\n msr daifclr, #2\n"
	"5: mrs x0, " CNTR(1) "\n tbnz x0, #31, 5b\n isb\n" LOOP LOOP
	"msr daifset, #2\n" WRITE(PMCR, "0x40"));

/*
 * Cycles of EL0 alone. Accesses that PMUSERENR_EL0 allows there are not tested: QEMU 7.2 does not
 * trap them to EL2, so KVM has no influence on them.
 */
PROGRAM(user,
	WRITE(CNTENCLR, "0xffffffffffffffff") WRITE(PMCR, "0x47")
	WRITE(CCFILTR, "0x80000000") WRITE(TYPE(1), "0x40000011") WRITE(CNTENSET, "0x80000000")
	"adr x20, 4f\n adr x0, 3f\n msr elr_el1, x0\n mov x0, #0x3c0\n msr spsr_el1, x0\n"
	LOOP TELL(CCNTR) "isb\n eret\n"
	"3:" LOOP "svc #0\n"
	"4:" TELL_ANY(CCNTR) WRITE(CNTENCLR, "0x80000000") WRITE(CNTENSET, "2")
	"adr x20, 4f\n adr x0, 3f\n msr elr_el1, x0\n mov x0, #0x3c0\n msr spsr_el1, x0\n"
	"isb\n eret\n"
	"3: svc #0\n"
	"4:" TELL_ANY(CNTR(1)) WRITE(PMCR, "0x40"));

/* The cycle counter, again and again. */
PROGRAM(watch,
	WRITE(CNTENCLR, "0xffffffffffffffff") WRITE(PMCR, "0x47") WRITE(CCFILTR, "0")
	WRITE(CNTENSET, "0x80000000") "5:" LOOP TELL(CCNTR) "b 5b\n");

static void new_pmu_guest(struct guest *g, const u32 *code, size_t size)
{
	g->kvm = open_kvm();
	g->vm = new_vm(g->kvm);
	g->vcpu = new_pmu_vcpu(g->vm, 0);
	g->run = map_run(g->kvm, g->vcpu);
	g->memory = new_slot(g->vm, 0, GUEST_BASE, GUEST_SIZE);
	memcpy(g->memory, code, size);
	set_reg(g->vcpu, REG_PC, GUEST_BASE);
}

/* Run to the end, and say all that the guest tells. */
static void listen(struct guest *g, const char *name)
{
	struct kvm_run *run = g->run;
	u64 data, last = ~0ULL;
	int n;

	for (n = 0; n < 1000; n++) {
		alarm(20);
		if (ioctl(g->vcpu, KVM_RUN, 0) || run->exit_reason != KVM_EXIT_MMIO) {
			say(-1, "%s.%d.run", name, n);
			note(run->exit_reason, "%s.%d.exit", name, n);
			break;
		}
		alarm(0);
		memcpy(&data, run->mmio.data, sizeof(data));
		switch (run->mmio.phys_addr - GUEST_MMIO) {
		case VALUE:
			note(data, "%s.%d", name, n);
			break;
		case ANY:
			note(!!data, "%s.%d.any", name, n);
			break;
		case EXCEPTION:
			note(data, "%s.%d.exception", name, n);
			break;
		case INTERRUPT:
			note(data, "%s.%d.interrupt", name, n);
			break;
		default:
			note(n, "%s.end", name);
			last = n;
			break;
		}
		if (last != ~0ULL)
			break;
	}
	alarm(0);
}

static void run_program(const u32 *code, const u32 *end, const char *name)
{
	int vgic, irq = 23;
	struct guest g;

	new_pmu_guest(&g, code, (const char *)end - (const char *)code);
	vgic = ready_vgic(g.vm);
	say(pmu_attr(g.vcpu, KVM_ARM_VCPU_PMU_V3_IRQ, &irq), "%s.irq", name);
	say(pmu_attr(g.vcpu, KVM_ARM_VCPU_PMU_V3_INIT, NULL), "%s.init", name);
	listen(&g, name);
	close(vgic);
	free_guest(&g);
}

/* An event that the VMM does not allow stands still; others go on. */
static void filtered(void)
{
	struct kvm_pmu_event_filter deny = {
		.base_event = 0x11, .nevents = 1, .action = KVM_PMU_EVENT_DENY,
	};
	int vgic, irq = 23;
	struct guest g;

	new_pmu_guest(&g, guest_words, (const char *)guest_words_end - (const char *)guest_words);
	vgic = ready_vgic(g.vm);
	say(pmu_attr(g.vcpu, KVM_ARM_VCPU_PMU_V3_FILTER, &deny), "filtered.set");
	pmu_attr(g.vcpu, KVM_ARM_VCPU_PMU_V3_IRQ, &irq);
	pmu_attr(g.vcpu, KVM_ARM_VCPU_PMU_V3_INIT, NULL);
	listen(&g, "filtered");
	close(vgic);
	free_guest(&g);
}

static u64 watch_one(struct guest *g)
{
	u64 data = 0;

	if (!ioctl(g->vcpu, KVM_RUN, 0) && g->run->exit_reason == KVM_EXIT_MMIO)
		memcpy(&data, g->run->mmio.data, sizeof(data));
	return data;
}

/* Did it count from one look to the next, the first of which ends an earlier stretch? */
static void *watch(void *arg)
{
	static const char *const who[] = { "first", "other", "first_again" };
	static unsigned int n;
	struct guest *g = arg;
	u64 before;

	watch_one(g);
	before = watch_one(g);
	note(watch_one(g) > before, "threads.%s", who[n++]);
	return NULL;
}

/* One thread after the other runs the vCPU. */
static void threads(void)
{
	int vgic, irq = 23;
	pthread_t other;
	struct guest g;

	new_pmu_guest(&g, guest_watch, (const char *)guest_watch_end - (const char *)guest_watch);
	vgic = ready_vgic(g.vm);
	pmu_attr(g.vcpu, KVM_ARM_VCPU_PMU_V3_IRQ, &irq);
	pmu_attr(g.vcpu, KVM_ARM_VCPU_PMU_V3_INIT, NULL);
	watch(&g);
	if (pthread_create(&other, NULL, watch, &g))
		die("pthread_create");
	pthread_join(other, NULL);
	watch(&g);
	close(vgic);
	free_guest(&g);
}

static void stop(int signal)
{
}

void conform_pmu_guest(void)
{
	struct sigaction action = { .sa_handler = stop };

	sigaction(SIGALRM, &action, NULL);
	run_program(guest_words, guest_words_end, "words");
	run_program(guest_increments, guest_increments_end, "increments");
	run_program(guest_line, guest_line_end, "line");
	run_program(guest_cycles, guest_cycles_end, "cycles");
	run_program(guest_user, guest_user_end, "user");
	filtered();
	threads();
}
