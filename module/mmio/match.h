/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Does the instruction just read make the access that aborted?
 *
 * The instruction is read after the abort, and another vCPU may have
 * overwritten it in between. The guest's tables were checked for the access
 * that the syndrome describes, so only that one may be emulated. If the
 * instruction does not match, the guest executes it again, and it may or may
 * not abort.
 *
 * A stage 1 abort has no ISV, so only direction and address can be compared.
 * Pure.
 */
#ifndef AV_MMIO_MATCH_H
#define AV_MMIO_MATCH_H

#include "mmio/decode.h"
#include "mmu/walk/walk.h"

enum av_match {
	AV_MATCH_YES,		/* one register, within a page: emulate it */
	AV_MATCH_REFUSED,	/* an access that is not emulated */
	AV_MATCH_SPLIT,		/* crosses into another page: no bus does that */
	AV_MATCH_AGAIN,		/* not the instruction that aborted */
};

/* @ls: from av_insn_decode(); @iss: WnR and CM are used. */
enum av_match av_ldst_match(const struct av_ldst *ls, const struct av_regime *regime,
			    const struct av_srf *srf, u64 iss, u64 far);

/* The number of registers that a SINGLE or PAIR transfers, and the bytes of each. */
static inline unsigned int av_ldst_elements(const struct av_ldst *ls)
{
	return ls->kind == AV_LDST_PAIR ? 2 : 1;
}

static inline unsigned int av_ldst_bytes(const struct av_ldst *ls)
{
	return 1U << ls->size;
}

#endif /* AV_MMIO_MATCH_H */
