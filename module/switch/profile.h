/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SPE and TRBE write records to a buffer at a kernel address, as privileged stores through the
 * current tables, which are not the host's while the guest runs. So both units are stopped and
 * drained before an entry, as KVM does (nVHE's debug-sr.c). Interrupts are off throughout.
 *
 * No emulated board has either unit: this is untested.
 */
#ifndef AV_SWITCH_PROFILE_H
#define AV_SWITCH_PROFILE_H

#include <linux/bitfield.h>
#include <asm/barrier.h>
#include <asm/sysreg.h>

#define AV_DFR0_SPE		GENMASK_ULL(35, 32)	/* PMSVer */
#define AV_DFR0_TRACE_FILTER	GENMASK_ULL(43, 40)
#define AV_DFR0_TRBE		GENMASK_ULL(47, 44)	/* TraceBuffer */

/* By number: older assemblers have no names for them. */
#define AV_REG_PMSCR		sys_reg(3, 0, 9, 9, 0)
#define AV_REG_PMBLIMITR	sys_reg(3, 0, 9, 10, 0)
#define AV_REG_PMBIDR		sys_reg(3, 0, 9, 10, 7)
#define AV_REG_TRFCR		sys_reg(3, 0, 1, 2, 1)
#define AV_REG_TRBLIMITR	sys_reg(3, 0, 9, 11, 0)
#define AV_REG_TRBIDR		sys_reg(3, 0, 9, 11, 7)

#define AV_LIMITR_E		BIT_ULL(0)
#define AV_BUFFER_NOT_OURS	BIT_ULL(4)		/* P, in both ID registers */

/* The units of this CPU whose buffers belong to EL1. */
struct av_profilers {
	bool spe, trbe;
};

/* Saved control registers; 0: the unit was not in use. */
struct av_profiling {
	u64 pmscr, trfcr;
};

static inline void av_profilers_find(struct av_profilers *has)
{
	u64 dfr0 = read_sysreg(id_aa64dfr0_el1);

	has->spe = FIELD_GET(AV_DFR0_SPE, dfr0) &&
		   !(read_sysreg_s(AV_REG_PMBIDR) & AV_BUFFER_NOT_OURS);
	has->trbe = FIELD_GET(AV_DFR0_TRBE, dfr0) && FIELD_GET(AV_DFR0_TRACE_FILTER, dfr0) &&
		    !(read_sysreg_s(AV_REG_TRBIDR) & AV_BUFFER_NOT_OURS);
}

/* Stop and drain the units. *held is for av_profiling_go_on(). */
static inline void av_profiling_hold(const struct av_profilers *has, struct av_profiling *held)
{
	held->pmscr = 0;
	held->trfcr = 0;
	if (has->spe && read_sysreg_s(AV_REG_PMBLIMITR) & AV_LIMITR_E) {
		held->pmscr = read_sysreg_s(AV_REG_PMSCR);
		write_sysreg_s(0, AV_REG_PMSCR);
		isb();
		asm volatile("hint #17" ::: "memory");		/* PSB CSYNC */
	}
	if (has->trbe && read_sysreg_s(AV_REG_TRBLIMITR) & AV_LIMITR_E) {
		held->trfcr = read_sysreg_s(AV_REG_TRFCR);
		write_sysreg_s(0, AV_REG_TRFCR);
		isb();
		/* TSB CSYNC, twice: on some CPUs one may flush nothing. */
		asm volatile("hint #18\n\thint #18" ::: "memory");
	}
	if (held->pmscr || held->trfcr)
		dsb(nsh);
}

static inline void av_profiling_go_on(const struct av_profiling *held)
{
	if (!held->pmscr && !held->trfcr)
		return;
	isb();
	if (held->pmscr)
		write_sysreg_s(held->pmscr, AV_REG_PMSCR);
	if (held->trfcr)
		write_sysreg_s(held->trfcr, AV_REG_TRFCR);
}

#endif /* AV_SWITCH_PROFILE_H */
