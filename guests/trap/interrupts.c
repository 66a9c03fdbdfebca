// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts taken at EL1 and EL0, by vector and number. The time of an interrupt depends on the
 * machine, so the code waits on one instruction: the place where it is taken does not.
 */
#include "trap.h"

#define BRANCH_TO_SELF 0x14000000U
#define WFI 0xd503207fU
#define ISR_READ 0xd538c104U	/* mrs x4, isr_el1 */
/* The 64-bit PSCI_CPU_SUSPEND, to standby. */
#define SUSPEND_LOW 0xd2800020U	/* mov x0, #1 */
#define SUSPEND_HIGH 0xf2b88000U	/* movk x0, #0xc400, lsl #16 */
#define STATE_STANDBY 0xd2800001U	/* mov x1, #0 */
#define HVC 0xd4000002U
#define SMC 0xd4000003U
#define DAIFCLR_I 0xd50342ffU
#define BRK_END (0xd4200000U | END_IMMEDIATE << 5)
#define SGI 3
#define IRQ_MASK 0x80UL
#define NO_INTERRUPT 1023

static void fire_timer(void)
{
	write_sysreg(cntv_cval_el0, 0);
	write_sysreg(cntv_ctl_el0, 1);
	isb();
}

static void fire_sgi(void)
{
	u64 self = read_sysreg(mpidr_el1);

	write_sysreg(s3_0_c12_c11_5, (self >> 16 & 0xff) << 32 | (self >> 8 & 0xff) << 16 |
		     SGI << 24 | 1UL << (self & 15));
	isb();
}

static void acknowledge(void)
{
	u32 irq = gic_acknowledge();

	line_add(" irq=%u", irq);
	write_sysreg(cntv_ctl_el0, 0);
	isb();
	if (irq != NO_INTERRUPT)
		gic_end(irq);
	line_add(" then=%u", gic_acknowledge());
}

/* The code waits with the interrupt unmasked; exactly one must come. */
static void taken(const char *name, void (*fire)(void), unsigned int mode)
{
	u32 code[] = { BRANCH_TO_SELF, BRK_END };
	struct probe_state state;

	arena_load_code(code, sizeof(code));
	default_state(&state, mode);
	state.pstate &= ~IRQ_MASK;
	fire();
	line_add("trap interrupt.%s %s:", name, mode_name(mode));
	probe_run(&state);
	describe_event(&state, mode, 0);
	acknowledge();
	line_end();
	arena_restore();
}

static u64 interface_now(void)
{
	isb();
	return read_sysreg(s3_0_c12_c12_2) << 32 |	/* ICC_HPPIR1 */
	       read_sysreg(s3_0_c12_c11_3) << 8 |	/* ICC_RPR */
	       read_sysreg(s3_0_c4_c6_0);		/* ICC_PMR */
}

/* An interrupt that is not acknowledged is taken again whenever it is unmasked. */
static void taken_again(const char *name, void (*fire)(void), unsigned int mode)
{
	u32 code[] = { DAIFCLR_I, BRANCH_TO_SELF, BRK_END };
	struct probe_state state;
	unsigned int i;

	arena_load_code(code, sizeof(code));
	fire();
	line_add("trap interrupt.again.%s %s:", name, mode_name(mode));
	for (i = 0; i < 3; i++) {
		default_state(&state, mode);
		/* By the value of SPSR_EL1; by the instruction, twice. */
		state.pstate &= i ? ~0UL : ~IRQ_MASK;
		state.pc += i ? 0 : 4;
		probe_run(&state);
		describe_event(&state, mode, 0);
	}
	line_add(" icc=%lx", interface_now());
	write_sysreg(s3_0_c4_c6_0, 0);
	isb();
	line_add(" masked=%u", gic_acknowledge());
	write_sysreg(s3_0_c4_c6_0, 0xff);
	isb();
	acknowledge();
	line_add(" icc=%lx", interface_now());
	line_end();
	arena_restore();
}

/* Acknowledged at once; before its EOI come another EOI, another mask and another interrupt. */
static void ended_late(const char *name, void (*fire)(void), bool other)
{
	u32 code[] = { BRANCH_TO_SELF, BRK_END }, irq;
	struct probe_state state;

	arena_load_code(code, sizeof(code));
	default_state(&state, EL1H);
	state.pstate &= ~IRQ_MASK;
	fire();
	line_add("trap interrupt.late.%s.%u el1h:", name, other);
	probe_run(&state);
	irq = gic_acknowledge();
	line_add(" irq=%u icc=%lx", irq, interface_now());
	if (other)
		fire_sgi();
	write_sysreg(s3_0_c4_c6_0, 0x40);
	line_add(" icc=%lx", interface_now());
	write_sysreg(s3_0_c4_c6_0, 0xff);
	write_sysreg(cntv_ctl_el0, 0);
	isb();
	gic_end(irq);
	line_add(" icc=%lx then=%u", interface_now(), irq = gic_acknowledge());
	if (irq != NO_INTERRUPT)
		gic_end(irq);
	line_add(" icc=%lx", interface_now());
	line_end();
	arena_restore();
}

/* A wait ends at once if the interrupt is pending, even masked; ISR_EL1 shows the interrupt. */
static void masked_wait(const char *how, const char *name, void (*fire)(void), const u32 *code,
			u64 size)
{
	struct probe_state state, before;

	arena_load_code(code, size);
	default_state(&state, EL1H);
	before = state;
	fire();
	while (!(read_sysreg(isr_el1) & IRQ_MASK))
		;
	line_add("trap interrupt.%s.%s el1h:", how, name);
	probe_run(&state);
	describe_event(&state, EL1H, 0);
	describe_registers(&before, &state, 0);
	acknowledge();
	line_end();
	arena_restore();
}

void run_interrupts(void)
{
	static const unsigned int modes[] = { EL1H, EL1T, EL0 };
	static const u32 wait[] = { WFI, ISR_READ, BRK_END };
	const u32 suspend[] = { SUSPEND_LOW, SUSPEND_HIGH, STATE_STANDBY,
				machine.psci_smc ? SMC : HVC, ISR_READ, BRK_END };
	unsigned int i;

	arena_reset_memory();
	if (!gic_init(0))
		return;
	gic_enable(0, machine.virtual_timer_irq);
	gic_enable(0, SGI);
	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		taken("timer", fire_timer, modes[i]);
		taken("sgi", fire_sgi, modes[i]);
	}
	for (i = 0; i < 2; i++) {
		taken_again("timer", fire_timer, modes[i]);
		taken_again("sgi", fire_sgi, modes[i]);
		ended_late("timer", fire_timer, i);
		ended_late("sgi", fire_sgi, i);
	}
	masked_wait("wfi", "timer", fire_timer, wait, sizeof(wait));
	masked_wait("wfi", "sgi", fire_sgi, wait, sizeof(wait));
	masked_wait("suspend", "timer", fire_timer, suspend, sizeof(suspend));
	masked_wait("suspend", "sgi", fire_sgi, suspend, sizeof(suspend));
}
