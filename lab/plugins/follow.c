// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
#include "follow.h"

#include <string.h>

#define FOLLOW_TEXT(name, text) text,
const char *const follow_who_names[NR_WHOS] = { FOLLOW_WHOS(FOLLOW_TEXT) };
const char *const follow_regime_names[NR_REGIMES] = { "native", "kvm", "vhe",
							"armvisor", "xen" };

/* armvisor's window: 2 MiB of the last GiB (module/switch/window_desc.h). */
#define LAST_GIB	0xffffffffc0000000ULL
#define WINDOW_SIZE	(2ULL << 20)

/*
 * Memory of guests of armvisor's VMM (vmm/armvisor/src/layout.rs); no program is there. The board
 * has its own memory there, too, and Xen gives domains their part of it.
 */
#define GUEST_RAM	(1ULL << 30)
#define GUEST_RAM_END	(2ULL << 30)

/* How far hypervisor code may be from the target of an HVC. */
#define HYP_REACH	(16ULL << 20)

/* Vectors of exceptions from a lower EL in AArch64: one of four slots of 128 bytes. */
#define VECTORS_SIZE	2048
#define SLOT_SIZE	128
#define LOWER_EL	0x400
#define LOWER_EL_END	0x600

/* Blocks from a vector's slot to the code that all exceptions of its kind share. */
#define SLOT_AGE	4

static bool upper(uint64_t pc)
{
	return pc >> 63;
}

static enum who half(uint64_t pc, bool guest)
{
	if (guest)
		return upper(pc) ? WHO_GUEST_KERNEL : WHO_GUEST_USER;
	return upper(pc) ? WHO_KERNEL : WHO_USER;
}

void follow_init(struct follow *f, enum regime regime)
{
	memset(f, 0, sizeof(*f));
	f->regime = regime;
	f->now = WHO_KERNEL;
	f->slot_age = SLOT_AGE;
}

static bool ends(const struct block *prev, uint32_t done, enum block_end end)
{
	return prev && prev->end == end && done >= prev->insns;
}

static bool in_window(const struct follow *f, uint64_t pc)
{
	return f->window && pc - f->window < WINDOW_SIZE;
}

/*
 * Nothing of the host or a guest is at the window's place. The window may move: the way from its
 * low alias leads to its current place, or to the host, which has no code in the last GiB.
 */
static enum who step_armvisor(struct follow *f, const struct block *prev, uint32_t done,
			      const struct block *next)
{
	bool eret = ends(prev, done, BLOCK_ERET);

	if (f->now == WHO_HYP && !upper(prev->pc) && next->pc >= LAST_GIB)
		f->window = next->pc & ~(WINDOW_SIZE - 1);
	if (in_window(f, next->pc))
		return WHO_HYP;
	/* The host's kernel, too, does ERET at low addresses, when it boots. */
	if (eret && in_window(f, prev->pc))
		return half(next->pc, true);
	if (who_is_guest(f->now))
		return half(next->pc, true);
	/* The way between host and window has a low alias; only ERET leads to programs. */
	if (!upper(next->pc) && f->now != WHO_USER && !eret)
		return WHO_HYP;
	return half(next->pc, false);
}

static bool is_slot(uint64_t pc)
{
	uint64_t offset = pc % VECTORS_SIZE;

	return !upper(pc) && pc % SLOT_SIZE == 0 && offset >= LOWER_EL && offset < LOWER_EL_END;
}

static bool is_vector(const struct follow *f, uint64_t pc)
{
	unsigned int i;

	for (i = 0; is_slot(pc) && i < f->nr_vectors && i < FOLLOW_VECTORS; i++)
		if (f->vectors[i] == pc - pc % VECTORS_SIZE)
			return true;
	return false;
}

static void learn_vector(struct follow *f, uint64_t pc)
{
	if (!is_slot(pc) || is_vector(f, pc))
		return;
	f->vectors[f->nr_vectors % FOLLOW_VECTORS] = pc - pc % VECTORS_SIZE;
	f->nr_vectors++;
}

static bool near_hyp(const struct follow *f, uint64_t pc)
{
	return f->hyp && !upper(pc) && pc + HYP_REACH > f->hyp && pc < f->hyp + HYP_REACH;
}

/*
 * Vectors that are far from the other code of EL2, as with mitigations, are learned from the code
 * that follows them: at the first exit of a guest a few instructions count as the guest's.
 */
static enum who step_in_guest(struct follow *f, const struct block *next)
{
	if (is_vector(f, next->pc))
		return WHO_HYP;
	if (near_hyp(f, next->pc)) {
		if (f->slot_age < SLOT_AGE)
			learn_vector(f, f->slot);
		return WHO_HYP;
	}
	if (is_slot(next->pc)) {
		f->slot = next->pc;
		f->slot_age = 0;
	} else if (f->slot_age < SLOT_AGE) {
		f->slot_age++;
	}
	return half(next->pc, true);
}

static enum who step_kvm(struct follow *f, const struct block *prev, uint32_t done,
			 const struct block *next)
{
	if (f->now == WHO_HYP) {
		if (!ends(prev, done, BLOCK_ERET))
			return WHO_HYP;
		if (next->pc == f->back)
			return half(next->pc, false);
		return step_in_guest(f, next);
	}
	if (ends(prev, done, BLOCK_HVC)) {
		if (who_is_guest(f->now)) {
			learn_vector(f, next->pc);
		} else {
			f->back = prev->pc + 4ULL * prev->insns;
			f->hyp = next->pc;
		}
		return WHO_HYP;
	}
	if (who_is_guest(f->now))
		return step_in_guest(f, next);
	return half(next->pc, false);
}

static enum who step_vhe(const struct block *next)
{
	return half(next->pc, next->pc >= GUEST_RAM && next->pc < GUEST_RAM_END);
}

/* The programs in its domains have 1:1 memory; Xen itself is elsewhere. */
static enum who step_xen(const struct block *next)
{
	return next->pc >= GUEST_RAM && next->pc < GUEST_RAM_END ? WHO_GUEST_KERNEL : WHO_HYP;
}

enum who follow_step(struct follow *f, const struct block *prev, uint32_t done,
		     const struct block *next)
{
	switch (f->regime) {
	case REGIME_KVM:
		f->now = step_kvm(f, prev, done, next);
		break;
	case REGIME_VHE:
		f->now = step_vhe(next);
		break;
	case REGIME_ARMVISOR:
		f->now = step_armvisor(f, prev, done, next);
		break;
	case REGIME_XEN:
		f->now = step_xen(next);
		break;
	default:
		f->now = half(next->pc, false);
		break;
	}
	return f->now;
}

uint8_t follow_space(const struct follow *f)
{
	switch (f->now) {
	case WHO_USER:
	case WHO_KERNEL:
		return 1;
	case WHO_HYP:
		return 4;
	case WHO_GUEST_USER:
		return 2;
	default:
		/* Both modes of armvisor's guests run at EL0, each under an ASID of its own. */
		return f->regime == REGIME_ARMVISOR ? 3 : 2;
	}
}
