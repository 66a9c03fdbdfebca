// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
/* The executor, on sequences of blocks as on boards. */
#include "check.h"
#include "follow.h"

#include <stddef.h>

#define KERNEL	0xffff800080010000ULL
#define GUEST	0xffff800080800000ULL
#define USER	0x400000ULL
#define BOOT	0x41aa0194ULL		/* a kernel before it has tables */
#define HYP	0x800000a00000ULL	/* EL2's own code */
#define FAR	0x7000c0000000ULL	/* EL2's vectors, elsewhere */
#define WINDOW	0xffffffffffa00000ULL
#define MOVED	0xffffffffc0400000ULL

struct row {
	struct block block;
	uint32_t left;		/* instructions that it did not begin */
	enum who who;
};

static void walk(enum regime regime, const struct row *rows, unsigned int n)
{
	struct follow follow;
	unsigned int i;

	follow_init(&follow, regime);
	for (i = 0; i < n; i++) {
		const struct row *prev = i ? &rows[i - 1] : NULL;
		uint32_t done = prev ? prev->block.insns - prev->left : 0;

		EQUAL(follow_step(&follow, prev ? &prev->block : NULL, done, &rows[i].block) * 100 + i,
		      rows[i].who * 100 + i);
	}
}

#define WALK(regime, rows) walk(regime, rows, sizeof(rows) / sizeof(*(rows)))

static void test_native(void)
{
	static const struct row rows[] = {
		{ { KERNEL, 4, BLOCK_ERET }, 0, WHO_KERNEL },
		{ { USER, 4, BLOCK_PLAIN }, 0, WHO_USER },
		{ { KERNEL + 0x400, 4, BLOCK_PLAIN }, 0, WHO_KERNEL },
	};

	WALK(REGIME_NATIVE, rows);
}

/* Xen is outside of its domains' memory, whether built for low addresses or for high ones. */
static void test_xen(void)
{
	static const struct row rows[] = {
		{ { 0x40000000, 4, BLOCK_HVC }, 0, WHO_GUEST_KERNEL },
		{ { 0x20000200400, 4, BLOCK_PLAIN }, 0, WHO_HYP },
		{ { 0x20000210000, 4, BLOCK_ERET }, 0, WHO_HYP },
		{ { 0x7ffffffc, 1, BLOCK_PLAIN }, 0, WHO_GUEST_KERNEL },
		{ { 0x200400, 4, BLOCK_ERET }, 0, WHO_HYP },
	};

	WALK(REGIME_XEN, rows);
}

/* A guest's memory begins where the host has no programs. */
static void test_vhe(void)
{
	static const struct row rows[] = {
		{ { KERNEL, 4, BLOCK_ERET }, 0, WHO_KERNEL },
		{ { USER, 4, BLOCK_PLAIN }, 0, WHO_USER },
		{ { KERNEL + 0x400, 4, BLOCK_ERET }, 0, WHO_KERNEL },
		{ { 0x40000000, 4, BLOCK_HVC }, 0, WHO_GUEST_USER },
		{ { KERNEL + 0x800, 4, BLOCK_PLAIN }, 0, WHO_KERNEL },
		{ { 0x7ffffffc, 1, BLOCK_PLAIN }, 0, WHO_GUEST_USER },
		{ { 0x80000000, 4, BLOCK_PLAIN }, 0, WHO_USER },
		{ { 0x3ffffffc, 1, BLOCK_PLAIN }, 0, WHO_USER },
	};

	WALK(REGIME_VHE, rows);
}

static void test_armvisor(void)
{
	static const struct row rows[] = {
		/* The host's kernel sets up EL1 before it has its tables. */
		{ { BOOT, 2, BLOCK_ERET }, 0, WHO_HYP },
		{ { BOOT - 64, 4, BLOCK_PLAIN }, 0, WHO_USER },
		{ { KERNEL, 4, BLOCK_ERET }, 0, WHO_KERNEL },
		{ { USER, 4, BLOCK_PLAIN }, 0, WHO_USER },
		{ { KERNEL, 4, BLOCK_PLAIN }, 0, WHO_KERNEL },
		/* The way into the window, by its low alias. */
		{ { 0x7fffa00000, 4, BLOCK_PLAIN }, 0, WHO_HYP },
		{ { WINDOW + 0x1000, 9, BLOCK_ERET }, 0, WHO_HYP },
		{ { GUEST, 4, BLOCK_PLAIN }, 0, WHO_GUEST_KERNEL },
		{ { WINDOW + 0x400, 9, BLOCK_ERET }, 0, WHO_HYP },
		{ { USER, 4, BLOCK_PLAIN }, 0, WHO_GUEST_USER },
		{ { WINDOW + 0x480, 9, BLOCK_PLAIN }, 0, WHO_HYP },
		/* An ERET that was not reached leads nowhere. */
		{ { WINDOW + 0x600, 9, BLOCK_ERET }, 2, WHO_HYP },
		{ { 0x7fffa00800, 4, BLOCK_PLAIN }, 0, WHO_HYP },
		{ { KERNEL + 64, 4, BLOCK_ERET }, 0, WHO_KERNEL },
		{ { USER, 4, BLOCK_PLAIN }, 0, WHO_USER },
		{ { KERNEL, 4, BLOCK_PLAIN }, 0, WHO_KERNEL },
		/* The window has moved: its old place is the guest's. */
		{ { 0x7fc0400000, 4, BLOCK_PLAIN }, 0, WHO_HYP },
		{ { MOVED + 0x1000, 9, BLOCK_ERET }, 0, WHO_HYP },
		{ { WINDOW, 4, BLOCK_PLAIN }, 0, WHO_GUEST_KERNEL },
		{ { MOVED + 0x400, 9, BLOCK_ERET }, 0, WHO_HYP },
		{ { WINDOW + 0x1ffffc, 1, BLOCK_PLAIN }, 0, WHO_GUEST_KERNEL },
		{ { MOVED + 0x1ffffc, 1, BLOCK_PLAIN }, 0, WHO_HYP },
		{ { MOVED - 4, 1, BLOCK_PLAIN }, 0, WHO_KERNEL },
	};

	WALK(REGIME_ARMVISOR, rows);
}

static void test_kvm(void)
{
	static const struct row rows[] = {
		{ { KERNEL, 4, BLOCK_HVC }, 0, WHO_KERNEL },
		{ { HYP + 0x400, 4, BLOCK_ERET }, 0, WHO_HYP },
		{ { GUEST, 4, BLOCK_ERET }, 0, WHO_GUEST_KERNEL },
		{ { USER, 4, BLOCK_PLAIN }, 0, WHO_GUEST_USER },
		{ { GUEST + 0x480, 4, BLOCK_PLAIN }, 0, WHO_GUEST_KERNEL },
		/* An exit: the first has its slot counted as the guest's. */
		{ { FAR + 0x480, 4, BLOCK_PLAIN }, 0, WHO_GUEST_USER },
		{ { HYP + 0x9000, 4, BLOCK_ERET }, 0, WHO_HYP },
		{ { KERNEL + 16, 4, BLOCK_ERET }, 0, WHO_KERNEL },
		{ { USER, 4, BLOCK_PLAIN }, 0, WHO_USER },
		{ { KERNEL, 4, BLOCK_HVC }, 0, WHO_KERNEL },
		{ { HYP + 0x400, 4, BLOCK_ERET }, 0, WHO_HYP },
		{ { USER + 0x1400, 4, BLOCK_PLAIN }, 2, WHO_GUEST_USER },
		/* From then on it is known. */
		{ { FAR + 0x400, 4, BLOCK_PLAIN }, 0, WHO_HYP },
		{ { HYP + 0x9000, 4, BLOCK_ERET }, 0, WHO_HYP },
		{ { GUEST, 4, BLOCK_HVC }, 0, WHO_GUEST_KERNEL },
		{ { FAR + 0x400, 4, BLOCK_ERET }, 0, WHO_HYP },
		/* Entered, and left before the first instruction. */
		{ { FAR + 0x480, 4, BLOCK_PLAIN }, 0, WHO_HYP },
		{ { HYP, 4, BLOCK_ERET }, 0, WHO_HYP },
		{ { KERNEL + 16, 4, BLOCK_PLAIN }, 0, WHO_KERNEL },
	};

	WALK(REGIME_KVM, rows);
}

static void test_spaces(void)
{
	struct follow follow;

	follow_init(&follow, REGIME_KVM);
	follow.now = WHO_GUEST_KERNEL;
	EQUAL(follow_space(&follow), 2);
	follow.now = WHO_GUEST_USER;
	EQUAL(follow_space(&follow), 2);
	follow.regime = REGIME_ARMVISOR;
	EQUAL(follow_space(&follow), 2);
	follow.now = WHO_GUEST_KERNEL;
	EQUAL(follow_space(&follow), 3);
	follow.now = WHO_KERNEL;
	EQUAL(follow_space(&follow), 1);
}

int main(void)
{
	RUN(test_native);
	RUN(test_vhe);
	RUN(test_xen);
	RUN(test_armvisor);
	RUN(test_kvm);
	RUN(test_spaces);
	return END();
}
