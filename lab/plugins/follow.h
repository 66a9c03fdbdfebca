/* SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause */
/*
 * The executor: a board's CPU followed from block to block of instructions.
 *
 * QEMU's plugins of API version 1 cannot read registers. So a block's executor is derived from its
 * address and from the end of the block before it. That is enough for the software here. Linux, as
 * host and as guest, has its kernel in the upper half and its programs in the lower, once it has
 * its tables. armvisor's guests are entered by an ERET in the window and left by its vectors. KVM
 * without VHE is entered by HVC and by exceptions of its guest, and left by ERET. KVM with VHE runs
 * in the host kernel: a guest is code at the addresses of armvisor's VM memory, mapped 1:1, so it
 * must be bare-metal. Xen's domains are bare-metal, too: all other code is Xen, once it has
 * finished booting.
 *
 * Limits: before a kernel has its tables, and in bare-metal guests, kernel and program are not
 * distinguished; Linux guests of KVM with VHE are not recognized.
 */
#ifndef LAB_PLUGINS_FOLLOW_H
#define LAB_PLUGINS_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#define FOLLOW_WHOS(X)							\
	X(USER, "host-user")						\
	X(KERNEL, "host-kernel")					\
	X(HYP, "hypervisor")	/* EL2, or armvisor's window */		\
	X(GUEST_USER, "guest-user")					\
	X(GUEST_KERNEL, "guest-kernel")	/* at EL1, under armvisor at EL0 */

#define FOLLOW_WHO_ENUM(name, text) WHO_##name,
enum who { FOLLOW_WHOS(FOLLOW_WHO_ENUM) NR_WHOS };

extern const char *const follow_who_names[NR_WHOS];

enum regime { REGIME_NATIVE, REGIME_KVM, REGIME_VHE, REGIME_ARMVISOR, REGIME_XEN, NR_REGIMES };

extern const char *const follow_regime_names[NR_REGIMES];

enum block_end { BLOCK_PLAIN, BLOCK_HVC, BLOCK_ERET };

struct block {
	uint64_t pc;
	uint32_t insns;
	enum block_end end;	/* its last instruction */
};

#define FOLLOW_VECTORS	8

struct follow {
	enum regime regime;
	enum who now;
	uint64_t back;		/* where the host goes on after its last HVC */
	uint64_t hyp;		/* where the last HVC of the host led to */
	uint64_t window;	/* where armvisor's is; 0: not known yet */
	uint64_t slot;		/* the last place in a guest's lower half that may be a vector */
	unsigned int slot_age;	/* so many blocks ago */
	uint64_t vectors[FOLLOW_VECTORS];
	unsigned int nr_vectors;
};

void follow_init(struct follow *follow, enum regime regime);

/*
 * `prev` has begun `done` of its instructions, then `next` begins: returns its executor. The first
 * block of all has no `prev`.
 */
enum who follow_step(struct follow *follow, const struct block *prev, uint32_t done,
		     const struct block *next);

static inline bool who_is_guest(enum who who)
{
	return who == WHO_GUEST_USER || who == WHO_GUEST_KERNEL;
}

/* The model's address space of an executor: one per VMID or ASID. */
uint8_t follow_space(const struct follow *follow);

#endif
