// SPDX-License-Identifier: GPL-2.0
/* Compares an instruction with the syndrome of its abort: rules in match.h. */
#include "mmio/match.h"

#define PAGE_OFFSET_MASK	GENMASK_ULL(11, 0)

static u64 page_of(u64 va)
{
	return va & ~PAGE_OFFSET_MASK;
}

/* May an access to the bytes from va to last abort at far? */
static bool aborts_at(u64 far, u64 va, u64 last)
{
	/* Or the first byte was in memory, and the next page aborted. */
	return far == va || (page_of(far) == page_of(last) && page_of(far) != page_of(va) &&
			     far <= last);
}

enum av_match av_ldst_match(const struct av_ldst *ls, const struct av_regime *regime,
			    const struct av_srf *srf, u64 iss, u64 far)
{
	u64 va, last;

	switch (ls->kind) {
	case AV_LDST_SINGLE:
	case AV_LDST_PAIR:
		break;
	case AV_LDST_NONE:
	case AV_LDST_PREFETCH:	/* never aborts */
	case AV_LDST_CACHE:	/* the syndrome would say so */
		return AV_MATCH_AGAIN;
	default:
		return AV_MATCH_REFUSED;
	}
	if (iss & AV_ESR_CM || ls->write != !!(iss & AV_ESR_WNR))
		return AV_MATCH_AGAIN;
	va = av_ldst_address(ls, srf->regs, srf->sp, srf->pc);
	/* Whether FAR includes the address tag depends on the CPU. */
	if (unlikely(far != va)) {
		far = av_untag(regime, far);
		va = av_untag(regime, va);
	}
	last = va + av_ldst_elements(ls) * av_ldst_bytes(ls) - 1;
	if (!aborts_at(far, va, last))
		return AV_MATCH_AGAIN;
	/* The hardware describes neither to KVM. */
	if (ls->kind == AV_LDST_PAIR || av_ldst_writes_back(ls))
		return AV_MATCH_REFUSED;
	return page_of(last) == page_of(va) ? AV_MATCH_YES : AV_MATCH_SPLIT;
}
