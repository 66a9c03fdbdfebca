/* SPDX-License-Identifier: GPL-2.0 */
/*
 * System registers as table rows.
 *
 * A row has a register's name, encoding, reset value, permitted accesses, and the effect of an
 * access by virtual EL1. A register that is plain memory needs no function. An encoding without a
 * row is UNDEFINED for the guest and does not exist for the VMM.
 *
 * Each regs_*.c is a table for one subject, in ascending order of encoding; no
 * encoding is in two tables. av_sysreg_init() checks that at load.
 */
#ifndef AV_CPU_SYSREG_H
#define AV_CPU_SYSREG_H

#include "cpu/cpu.h"
#include "cpu/rows.h"

struct av_sysreg {
	u16 enc;
	u8 flags;
	u8 cls;			/* enum av_exit_class: how its trap is counted */
	u16 vreg;		/* enum av_vreg for plain memory, else AV_NR_VREGS */
	const char *name;
	u64 reset;
	/* An access by virtual EL1; returns false if UNDEFINED after all. NULL: plain memory. */
	bool (*access)(struct av_vcpu *vcpu, const struct av_sysreg *reg, bool write, u64 *val);
	/* An access by the VMM; returns 0 or a negative errno. NULL: plain memory. */
	int (*get)(struct av_vcpu *vcpu, const struct av_sysreg *reg, u64 *val);
	int (*set)(struct av_vcpu *vcpu, const struct av_sysreg *reg, u64 val);
};

struct av_sysreg_table {
	const struct av_sysreg *rows;
	unsigned int nr;
};

extern const struct av_sysreg_table av_regs_vm, av_regs_debug, av_regs_time, av_regs_id,
	av_regs_cache, av_regs_pmu;

/* Build the index at module load. Returns -EINVAL if a table is out of order. */
int av_sysreg_init(void);
void av_sysreg_reset(struct av_vcpu *vcpu);

/* Returns the row of an encoding, or NULL. */
const struct av_sysreg *av_sysreg_find(u16 enc);

/* regs_id.c */
int av_imp_ids_init(void);
u64 av_host_idreg(unsigned int n);	/* the host's value; 0 if the guest sees none of it */
void av_idregs_init(struct av_vm *vm);
/* The VM's vCPUs get a PMU. config_lock is held and no vCPU has read the register yet. */
void av_idregs_set_pmu(struct av_vm *vm);

/* Called once per vCPU: a reset keeps the VMM's values. In regs_id.c and regs_cache.c. */
void av_mpidr_init(struct av_vcpu *vcpu);
void av_caches_init(struct av_vcpu *vcpu);

/* A row for a register in memory, and one for a register with an access function. */
#define AV_MEM(sys, flags_, cls_, reg_, reset_)					\
	{ .enc = sys, .flags = flags_, .cls = AV_EXIT_##cls_, .vreg = AV_##reg_,	\
	  .name = #reg_, .reset = reset_ }
#define AV_FN(sys, flags_, cls_, name_, access_)					\
	{ .enc = sys, .flags = flags_, .cls = AV_EXIT_##cls_, .vreg = AV_NR_VREGS,	\
	  .name = name_, .access = access_ }

/* The same for rows that cpu/rows.h defines. */
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
