// SPDX-License-Identifier: GPL-2.0
/*
 * Loads the debug registers of a guest that uses them, and restores the host's
 * afterwards. Interrupts are off throughout.
 *
 * All loaded breakpoints and watchpoints match at EL0 only. So they do not
 * disturb the host's own path into the guest and back, whatever its MDSCR_EL1
 * enables; cpu/controls.c sets MDSCR_EL1 for the guest.
 */
#include <asm/barrier.h>
#include <asm/cpufeature.h>
#include <asm/sysreg.h>

#include "cpu/cpu.h"
#include "cpu/hwdebug.h"
#include "cpu/debug_load.h"

#define DFR0_BRPS	GENMASK_ULL(15, 12)
#define DFR0_WRPS	GENMASK_ULL(23, 20)
#define DFR0_CTX_CMPS	GENMASK_ULL(31, 28)

/* The instruction encodes the register's number: one case each. */
#define EACH_CASE(X) \
	X(0); X(1); X(2); X(3); X(4); X(5); X(6); X(7); \
	X(8); X(9); X(10); X(11); X(12); X(13); X(14); X(15)

#define READ_PAIR(n, kind) \
	case n: \
		return (struct av_hwdebug_pair) { read_sysreg(dbg##kind##vr##n##_el1), \
						  read_sysreg(dbg##kind##cr##n##_el1) }
#define WRITE_PAIR(n, kind) \
	case n: \
		write_sysreg(p.value, dbg##kind##vr##n##_el1); \
		write_sysreg(p.control, dbg##kind##cr##n##_el1); \
		break

#define READ_BREAK(n)	READ_PAIR(n, b)
#define READ_WATCH(n)	READ_PAIR(n, w)
#define WRITE_BREAK(n)	WRITE_PAIR(n, b)
#define WRITE_WATCH(n)	WRITE_PAIR(n, w)

static struct av_hwdebug_pair read_breakpoint(unsigned int n)
{
	switch (n) {
	EACH_CASE(READ_BREAK);
	}
	return (struct av_hwdebug_pair) { 0, 0 };
}

static struct av_hwdebug_pair read_watchpoint(unsigned int n)
{
	switch (n) {
	EACH_CASE(READ_WATCH);
	}
	return (struct av_hwdebug_pair) { 0, 0 };
}

static void write_breakpoint(unsigned int n, struct av_hwdebug_pair p)
{
	switch (n) {
	EACH_CASE(WRITE_BREAK);
	}
}

static void write_watchpoint(unsigned int n, struct av_hwdebug_pair p)
{
	switch (n) {
	EACH_CASE(WRITE_WATCH);
	}
}

static void describe_cpu(struct av_hwdebug *hw)
{
	u64 dfr0 = read_sanitised_ftr_reg(SYS_ID_AA64DFR0_EL1);

	hw->breakpoints = FIELD_GET(DFR0_BRPS, dfr0) + 1;
	hw->watchpoints = FIELD_GET(DFR0_WRPS, dfr0) + 1;
	hw->context_aware = FIELD_GET(DFR0_CTX_CMPS, dfr0) + 1;
	hw->contextidr = read_sysreg(contextidr_el1);
}

unsigned int av_nr_breakpoints(void)
{
	struct av_hwdebug hw;

	describe_cpu(&hw);
	return hw.breakpoints;
}

unsigned int av_nr_watchpoints(void)
{
	struct av_hwdebug hw;

	describe_cpu(&hw);
	return hw.watchpoints;
}

void av_debug_enter(const struct av_srf *srf, const struct kvm_guest_debug_arch *vmm,
		    struct av_host_debug *host)
{
	struct av_hwdebug hw;
	unsigned int n;

	describe_cpu(&hw);
	for (n = 0; n < hw.breakpoints; n++) {
		host->breakpoint[n] = read_breakpoint(n);
		write_breakpoint(n, vmm ? av_vmm_breakpoint(srf, vmm->dbg_bvr[n], vmm->dbg_bcr[n]) :
					  av_srf_breakpoint(srf, &hw, n));
	}
	for (n = 0; n < hw.watchpoints; n++) {
		host->watchpoint[n] = read_watchpoint(n);
		write_watchpoint(n, vmm ? av_vmm_watchpoint(srf, vmm->dbg_wvr[n], vmm->dbg_wcr[n]) :
					  av_srf_watchpoint(srf, &hw, n));
	}
	host->breakpoints = hw.breakpoints;
	host->watchpoints = hw.watchpoints;
	isb();
}

void av_debug_leave(const struct av_host_debug *host)
{
	unsigned int n;

	for (n = 0; n < host->breakpoints; n++)
		write_breakpoint(n, host->breakpoint[n]);
	for (n = 0; n < host->watchpoints; n++)
		write_watchpoint(n, host->watchpoint[n]);
	isb();
}
