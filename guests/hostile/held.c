// SPDX-License-Identifier: GPL-2.0
/*
 * x18 is a second stack in many kernels (SHADOW_CALL_STACK), and exits may leave x19 to x28 as they
 * are. The guest holds what would harm a host that used one of these values: no address, an address
 * of the host's, one of the guest's that is to stay as it is. It still has them after each exit.
 */
#include "hostile.h"
#include "held.h"

#define ROUNDS		480
#define STEP		0x10000UL
#define FIRST		(16UL << 20)	/* after the image and the device tree */
#define ASIDS		255

#define PLACED(field, at) _Static_assert(__builtin_offsetof(struct held, field) == (at), "held_run.S")
PLACED(value, HELD_VALUE);
PLACED(fresh, HELD_FRESH);
PLACED(call, HELD_CALL);
PLACED(smc, HELD_SMC);
PLACED(ttbr, HELD_TTBR);
PLACED(device, HELD_DEVICE);
PLACED(nowhere, HELD_NOWHERE);
PLACED(seen, HELD_SEEN);

static u64 own[8];	/* nobody writes here */

static u64 value_of(unsigned int round)
{
	const u64 values[] = {
		0, ~0UL, 1, (u64)own, (u64)own | 7, hole(), machine.rtc.base,
		0xffff800080000000UL, 0xffffffc080000000UL,	/* Linux's images */
		0xffff000000000000UL, 0xffffff8000000000UL,	/* and all memory */
		0xfffffffffffff000UL, 0x0001000000000000UL, 0x7000000000UL,
	};
	unsigned int n = round % (ARRAY_SIZE(values) + 2);

	return n < ARRAY_SIZE(values) ? values[n] : next_random();
}

static void check_round(const struct held *held, const struct outcome *fault, unsigned int round)
{
	unsigned int i;

	check(fault->taken && fault->far == held->nowhere, "round %u: taken %u, far %lx", round,
	      fault->taken, fault->far);
	for (i = 0; i < HELD_REGISTERS; i++) {
		unsigned int n = i ? i + 19 : 18;

		check(held->seen[i] == held->value, "round %u: x%u is %lx, not %lx", round, n,
		      held->seen[i], held->value);
		check(caught_frame.x[n] == held->value, "round %u: a handler's x%u is %lx, not %lx",
		      round, n, caught_frame.x[n], held->value);
	}
}

void case_held(void)
{
	u64 ttbr = read_sysreg(ttbr0_el1);
	struct held held = {
		.call = PSCI_VERSION, .smc = machine.psci_smc, .device = machine.rtc.base,
		.nowhere = 0x7000000000UL,
	};
	struct outcome fault;
	unsigned int i;

	if (!check(machine.ram[0].size >= FIRST + ROUNDS * STEP, "too little memory"))
		return;
	for (i = 0; i < ROUNDS; i++) {
		held.value = value_of(i);
		held.fresh = machine.ram[0].base + FIRST + i * STEP;
		held.ttbr = ttbr | (u64)(i % ASIDS + 1) << 48;
		begin_try();
		held_run(&held);
		fault = end_try(0);
		check_round(&held, &fault, i);
	}
	for (i = 0; i < ARRAY_SIZE(own); i++)
		check(!own[i], "word %u has been written: %lx", i, own[i]);
	result("held.rounds", ROUNDS, "count");
}
