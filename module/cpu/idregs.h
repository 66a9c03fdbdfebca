/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ID registers: 3, 0, c0, c1 to c7, 0 to 7, most of them unallocated. Pure.
 */
#ifndef AV_CPU_IDREGS_H
#define AV_CPU_IDREGS_H

#include "lib/av_types.h"

#define AV_NR_IDREGS		56
#define AV_IDREG(crm, op2)	(((crm) - 1) * 8 + (op2))

#define AV_ID_PFR0		AV_IDREG(4, 0)
#define AV_ID_PFR1		AV_IDREG(4, 1)
#define AV_ID_DFR0		AV_IDREG(5, 0)
#define AV_ID_ISAR0		AV_IDREG(6, 0)
#define AV_ID_ISAR1		AV_IDREG(6, 1)
#define AV_ID_MMFR0		AV_IDREG(7, 0)
#define AV_ID_MMFR2		AV_IDREG(7, 2)

#define AV_ID_MMFR0_PARANGE	GENMASK_ULL(3, 0)
#define AV_ID_PFR0_GIC		GENMASK_ULL(27, 24)
#define AV_ID_PFR0_CSV3		GENMASK_ULL(63, 60)
#define AV_ID_DFR0_BRPS		GENMASK_ULL(15, 12)
#define AV_ID_DFR0_WRPS		GENMASK_ULL(23, 20)

/* What the guest sees of a register, given the host's own. */
u64 av_idreg_compose(unsigned int reg, u64 host);

/* Does the guest see anything of the host's own in it? Only then is it read. */
bool av_idreg_uses_host(unsigned int reg);

/*
 * May a VMM show val where limit is what we can give? Each field may be less:
 * fields count upwards, but for those where 15 means that it is not there.
 */
bool av_idreg_may_be(unsigned int reg, u64 limit, u64 val);

#endif /* AV_CPU_IDREGS_H */
