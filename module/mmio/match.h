/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Does the instruction that was read make the access that faulted?
 *
 * The instruction is read after the fault, and another vCPU may have written it
 * in between. The guest's tables were asked about the access that the syndrome
 * tells of: only that one may be emulated. Where the instruction differs from
 * it, it is executed again, and faults or not by itself.
 *
 * A fault of stage 1 has no ISV, so direction and address are all there is to
 * compare. Pure.
 */
#ifndef AV_MMIO_MATCH_H
#define AV_MMIO_MATCH_H

#include "mmio/decode.h"
#include "mmu/walk.h"

enum av_match {
	AV_MATCH_YES,		/* one or two registers, in one page: to be emulated */
	AV_MATCH_REFUSED,	/* a kind that can't be */
	AV_MATCH_SPLIT,		/* part of the access is in another page: no bus carries it */
	AV_MATCH_AGAIN,		/* another instruction than the one that faulted */
};

/* @ls is what av_insn_decode() made of it; @iss has WnR and CM. */
enum av_match av_ldst_match(const struct av_ldst *ls, const struct av_regime *regime,
			    const struct av_srf *srf, u64 iss, u64 far);

/* Registers that a SINGLE or PAIR transfers, and the bytes of each. */
static inline unsigned int av_ldst_elements(const struct av_ldst *ls)
{
	return ls->kind == AV_LDST_PAIR ? 2 : 1;
}

static inline unsigned int av_ldst_bytes(const struct av_ldst *ls)
{
	return 1U << ls->size;
}

#endif /* AV_MMIO_MATCH_H */
