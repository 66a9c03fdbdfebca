/* SPDX-License-Identifier: GPL-2.0 */
/*
 * System registers as rows.
 *
 * A row says what a register is called, how it is encoded, what it is after a
 * reset, who sees it, and what an access from virtual EL1 does. A register
 * that is plain memory needs no function. An encoding without a row is
 * UNDEFINED for the guest and not there for the VMM.
 *
 * Rows live in tables by subject (regs_*.c), each in ascending order of
 * encoding and none in two; av_sysreg_init() checks that at load.
 */
#ifndef AV_CPU_SYSREG_H
#define AV_CPU_SYSREG_H

#include "cpu/cpu.h"
#include "cpu/rows.h"

struct av_sysreg {
	u16 enc;
	u8 flags;
	u8 cls;			/* enum av_exit_class, what its trap counts as */
	u16 vreg;		/* enum av_vreg, if it is plain memory; else AV_NR_VREGS */
	const char *name;
	u64 reset;
	/* An access by virtual EL1; false: UNDEFINED after all. NULL: plain memory. */
	bool (*access)(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val);
	/* The VMM's view where it differs: 0 or an errno. NULL: plain memory. */
	int (*get)(struct av_vcpu *vcpu, const struct av_sysreg *reg, u64 *val);
	int (*set)(struct av_vcpu *vcpu, const struct av_sysreg *reg, u64 val);
};

struct av_sysreg_table {
	const struct av_sysreg *rows;
	unsigned int nr;
};

extern const struct av_sysreg_table av_regs_vm, av_regs_debug, av_regs_time, av_regs_id,
	av_regs_cache, av_regs_pmu;

/* Build the index; -EINVAL if a table is out of order. At module load. */
int av_sysreg_init(void);
void av_sysreg_reset(struct av_vcpu *vcpu);

/* The row of an encoding, or NULL. */
const struct av_sysreg *av_sysreg_find(u16 enc);

/* regs_id.c */
u64 av_host_idreg(unsigned int n);	/* the host's, where the guest sees some of it */
void av_idregs_init(struct av_vm *vm);
/* The VM's vCPUs have a PMU; config_lock held, and nobody has read one yet. */
void av_idregs_set_pmu(struct av_vm *vm);

/* Once in a vCPU's life, for no reset changes what the VMM wrote: regs_id.c, regs_cache.c. */
void av_mpidr_init(struct av_vcpu *vcpu);
void av_caches_init(struct av_vcpu *vcpu);

/* The rows of a register that is memory, and of one that has a function. */
#define AV_MEM(sys, flags_, cls_, reg_, reset_)					\
	{ .enc = sys, .flags = flags_, .cls = AV_EXIT_##cls_, .vreg = AV_##reg_,	\
	  .name = #reg_, .reset = reset_ }
#define AV_FN(sys, flags_, cls_, name_, access_)					\
	{ .enc = sys, .flags = flags_, .cls = AV_EXIT_##cls_, .vreg = AV_NR_VREGS,	\
	  .name = name_, .access = access_ }

/* The same of a row of cpu/rows.h, which says the rest. */
#define AV_FAST_ROW(name_, sys, flags_, cls_)						\
	AV_FAST_SYS_##name_ = sys, AV_FAST_FLAGS_##name_ = flags_,			\
	AV_FAST_CLS_##name_ = AV_EXIT_##cls_,
enum { AV_FAST_ROWS(AV_FAST_ROW, AV_FAST_ROW, AV_FAST_ROW) };
#undef AV_FAST_ROW

#define AV_FAST_MEM(reg_)								\
	{ .enc = AV_FAST_SYS_##reg_, .flags = AV_FAST_FLAGS_##reg_,			\
	  .cls = AV_FAST_CLS_##reg_, .vreg = AV_##reg_, .name = #reg_ }
#define AV_FAST_FN(reg_, access_)							\
	{ .enc = AV_FAST_SYS_##reg_, .flags = AV_FAST_FLAGS_##reg_,			\
	  .cls = AV_FAST_CLS_##reg_, .vreg = AV_NR_VREGS, .name = #reg_,		\
	  .access = access_ }

#endif /* AV_CPU_SYSREG_H */
