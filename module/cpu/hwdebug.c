// SPDX-License-Identifier: GPL-2.0
/* Computes breakpoints and watchpoints for the hardware. Pure: see cpu/hwdebug.h. */
#include "cpu/hwdebug.h"

/* DBGBCR<n>_EL1.BT; the linked forms are one higher. The others need EL2 or AArch32. */
enum { BT_ADDRESS, BT_ADDRESS_LINKED, BT_CONTEXT, BT_CONTEXT_LINKED };

bool av_srf_matching(const struct av_srf *srf)
{
	if (!av_srf_debugging(srf) || !(av_srf_get(srf, AV_MDSCR_EL1) & AV_MDSCR_MDE))
		return false;
	if (!av_srf_el1(srf))
		return true;
	return av_srf_get(srf, AV_MDSCR_EL1) & AV_MDSCR_KDE && !(av_srf_daif(srf) & AV_PSR_D);
}

/* Is it enabled for the current virtual level? The guest is non-secure. */
static bool is_for_level(const struct av_srf *srf, u64 control)
{
	if (!(control & AV_DBG_E) || FIELD_GET(AV_DBG_SSC, control) == AV_DBG_SSC_SECURE)
		return false;
	return control & (av_srf_el1(srf) ? AV_DBG_EL1 : AV_DBG_EL0);
}

static bool is_context_aware(const struct av_hwdebug *hw, unsigned int n)
{
	return n < hw->breakpoints && n + hw->context_aware >= hw->breakpoints;
}

static bool context_matches(const struct av_srf *srf, unsigned int n)
{
	return (u32)av_srf_get(srf, AV_DBGBVR0_EL1 + n) == (u32)av_srf_get(srf, AV_CONTEXTIDR_EL1);
}

static bool link_matches(const struct av_srf *srf, const struct av_hwdebug *hw, u64 control)
{
	unsigned int n = FIELD_GET(AV_DBG_LBN, control);
	u64 linked = av_srf_get(srf, AV_DBGBCR0_EL1 + n);

	return is_context_aware(hw, n) && linked & AV_DBG_E &&
	       FIELD_GET(AV_DBGB_BT, linked) == BT_CONTEXT_LINKED && context_matches(srf, n);
}

struct av_hwdebug_pair av_srf_breakpoint(const struct av_srf *srf, const struct av_hwdebug *hw,
					 unsigned int n)
{
	u64 control = av_srf_get(srf, AV_DBGBCR0_EL1 + n);
	struct av_hwdebug_pair off = { 0, 0 };
	struct av_hwdebug_pair on = {
		.value = av_srf_get(srf, AV_DBGBVR0_EL1 + n),
		.control = AV_DBG_E | AV_DBG_EL0 | (control & AV_DBGB_BAS),
	};

	if (!is_for_level(srf, control))
		return off;
	switch (FIELD_GET(AV_DBGB_BT, control)) {
	case BT_ADDRESS:
		return on;
	case BT_ADDRESS_LINKED:
		return link_matches(srf, hw, control) ? on : off;
	case BT_CONTEXT:
		if (!is_context_aware(hw, n) || !context_matches(srf, n))
			return off;
		/*
		 * Match every instruction: the hardware always runs under its
		 * own CONTEXTIDR_EL1.
		 */
		on.value = hw->contextidr;
		on.control |= FIELD_PREP(AV_DBGB_BT, BT_CONTEXT);
		return on;
	default:
		return off;
	}
}

struct av_hwdebug_pair av_srf_watchpoint(const struct av_srf *srf, const struct av_hwdebug *hw,
					 unsigned int n)
{
	u64 control = av_srf_get(srf, AV_DBGWCR0_EL1 + n);
	struct av_hwdebug_pair off = { 0, 0 };
	struct av_hwdebug_pair on = {
		.value = av_srf_get(srf, AV_DBGWVR0_EL1 + n),
		.control = AV_DBG_E | AV_DBG_EL0 |
			   (control & (AV_DBGW_LSC | AV_DBGW_BAS | AV_DBGW_MASK)),
	};

	if (!is_for_level(srf, control))
		return off;
	if (control & AV_DBGW_WT && !link_matches(srf, hw, control))
		return off;
	return on;
}

struct av_hwdebug_pair av_vmm_breakpoint(const struct av_srf *srf, u64 value, u64 control)
{
	struct av_hwdebug_pair off = { 0, 0 };
	struct av_hwdebug_pair on = {
		.value = value,
		.control = AV_DBG_E | AV_DBG_EL0 | (control & AV_DBGB_BAS),
	};

	if (!is_for_level(srf, control) || FIELD_GET(AV_DBGB_BT, control) != BT_ADDRESS)
		return off;
	return on;
}

struct av_hwdebug_pair av_vmm_watchpoint(const struct av_srf *srf, u64 value, u64 control)
{
	struct av_hwdebug_pair off = { 0, 0 };
	struct av_hwdebug_pair on = {
		.value = value,
		.control = AV_DBG_E | AV_DBG_EL0 |
			   (control & (AV_DBGW_LSC | AV_DBGW_BAS | AV_DBGW_MASK)),
	};

	return is_for_level(srf, control) && !(control & AV_DBGW_WT) ? on : off;
}

/* BAS selects a halfword by two bits; the second copies the first. */
u64 av_dbgbcr_written(u64 val)
{
	u64 first = val & (BIT_ULL(5) | BIT_ULL(7));

	return (val & AV_DBGBCR_BITS & ~AV_DBGB_BAS) | first | first << 1;
}

u64 av_dbgwcr_written(u64 val)
{
	return val & AV_DBGWCR_BITS;
}
