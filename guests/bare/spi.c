// SPDX-License-Identifier: GPL-2.0
/*
 * An SPI that one CPU handles, seen by another through the distributor's registers: pending, active,
 * pending again while active, deactivated, routed away, ended. The second CPU handles it without a
 * device access in between, so that a hypervisor may let it run all the while; what the first CPU
 * reads must be as if it did not. `spi.unseen` counts reads that found the interrupt in neither
 * state, though its handler had not begun: KVM shows none that is pending in a list register.
 */
#include "guest.h"

#define SPI 40
#define BIT_OF_SPI (1U << (SPI % 32))
#define GICD_IGROUPR 0x84
#define GICD_ISENABLER 0x104
#define GICD_ISPENDR 0x204
#define GICD_ISACTIVER 0x304
#define GICD_ICACTIVER 0x384
#define GICD_IPRIORITYR 0x400
#define GICD_ICFGR 0xc00
#define GICD_IROUTER 0x6000
#define ROUNDS 200
#define SPURIOUS 1023
#define VECTOR_IRQ 0x280

static volatile u64 taken, may_end, ended;
static volatile bool ready;

static volatile u32 *distributor(u64 offset)
{
	return (volatile u32 *)(machine.gic_distributor.base + offset);
}

static bool reads(u64 offset)
{
	return *distributor(offset) & BIT_OF_SPI;
}

/* Nothing in it but ICC_IAR1_EL1 and ICC_EOIR1_EL1 can trap. */
static bool on_interrupt(struct frame *frame)
{
	u64 number;
	u32 irq;

	if (frame->vector != VECTOR_IRQ)
		return false;
	irq = gic_acknowledge();
	if (irq != SPI) {
		gic_end(irq);
		return irq == SPURIOUS;
	}
	number = ++taken;
	while (may_end < number)
		asm volatile("yield");
	gic_end(irq);
	ended = number;
	return true;
}

static void handle(unsigned int cpu)
{
	if (!gic_init(cpu))
		return;
	ready = true;
	asm volatile("msr daifclr, #2" : : : "memory");
	for (;;)
		asm volatile("yield");
}

static void until(volatile u64 *counter, u64 value)
{
	while (*counter < value)
		asm volatile("yield");
}

static void pend(void)
{
	*distributor(GICD_ISPENDR) = BIT_OF_SPI;
	dsb();
}

static void route(unsigned int cpu)
{
	volatile u64 *router = (volatile u64 *)distributor(GICD_IROUTER + SPI * 8);

	*router = machine.mpidr[cpu] & 0xff00ffffffUL;
	dsb();
}

/* Nothing of the interrupt is left. */
static void quiet(u64 number)
{
	until(&ended, number);
	check(taken == number, "taken %lu times, not %lu", taken, number);
	check(!reads(GICD_ISACTIVER), "still active after its end");
	check(!reads(GICD_ISPENDR), "still pending after its end");
}

static void begin(u64 number)
{
	pend();
	until(&taken, number);
	check(reads(GICD_ISACTIVER), "not active in its handler");
	check(!reads(GICD_ISPENDR), "pending in its handler");
}

/* Once, and once more that becomes pending while the first is active. */
static void again(void)
{
	u64 number = taken + 1;

	begin(number);
	pend();
	check(reads(GICD_ISPENDR) && reads(GICD_ISACTIVER), "not active and pending");
	check(taken == number, "taken while active");
	may_end = number;
	until(&taken, number + 1);
	check(reads(GICD_ISACTIVER), "not active in its second handler");
	may_end = number + 1;
	quiet(number + 1);
}

/* Deactivated under its handler, and pending again: it waits for the priority to drop. */
static u64 deactivated(void)
{
	u64 number = taken + 1, n;

	begin(number);
	*distributor(GICD_ICACTIVER) = BIT_OF_SPI;
	dsb();
	check(!reads(GICD_ISACTIVER), "active after ICACTIVER");
	pend();
	n = !reads(GICD_ISPENDR);
	check(taken == number, "taken before the priority dropped");
	may_end = number + 1;
	quiet(number + 1);
	return n;
}

/*
 * Active on the other CPU while it is routed to this one. It is not made pending before its end:
 * the other CPU's list register on KVM would then have it, and take it once more.
 */
static void routed_away(void)
{
	u64 number = taken + 1;
	u32 irq;

	begin(number);
	route(0);
	check(reads(GICD_ISACTIVER), "not active after it was routed away");
	may_end = number;
	quiet(number);
	pend();
	while ((irq = gic_acknowledge()) == SPURIOUS)
		asm volatile("yield");
	check(irq == SPI, "interrupt %u", irq);
	check(reads(GICD_ISACTIVER), "not active on this CPU");
	gic_end(irq);
	quiet(number);
	route(1);
}

/* Ended at once: how often is it in neither state? */
static u64 unseen(void)
{
	u64 number = taken + 1, n = 0;

	may_end = number;
	pend();
	while (ended < number) {
		bool pending = reads(GICD_ISPENDR), active = reads(GICD_ISACTIVER);

		n += !pending && !active && taken < number;
	}
	quiet(number);
	return n;
}

static void set_up(void)
{
	*distributor(GICD_IGROUPR) |= BIT_OF_SPI;
	*((volatile u8 *)distributor(GICD_IPRIORITYR) + SPI) = 0x80;
	*distributor(GICD_ICFGR + SPI / 16 * 4) |= 2U << SPI % 16 * 2;
	route(1);
	*distributor(GICD_ISENABLER) = BIT_OF_SPI;
	dsb();
}

void guest_main(void)
{
	u64 rounds = machine_option(&machine, "rounds", ROUNDS), i, n = 0;

	mmu_enable();
	exception_hook = on_interrupt;
	if (!check(machine.cpu_count > 1, "this takes two CPUs") || !gic_init(0))
		return;
	set_up();
	if (!check(!cpu_start(1, handle), "the second CPU does not start"))
		return;
	while (!ready)
		asm volatile("yield");
	for (i = 0; i < rounds; i++) {
		again();
		n += deactivated();
		routed_away();
		n += unseen();
	}
	result("spi.taken", taken, "count");
	result("spi.unseen", n, "count");
}
