// SPDX-License-Identifier: GPL-2.0
/* One stay in the guest: its tables and ASID, and the host state saved around it. */
#include <linux/pgtable.h>
#include <asm/sysreg.h>
#include <asm/tlbflush.h>

#include "vm/regfile.h"
#include "switch/leave.h"
#include "switch/private.h"
#include "switch/switch.h"
#include "switch/tlb.h"

/* For a CPU that has state to save before the entry and to restore after it. */
static noinline void enter_by_steps(const struct av_leave *leave, struct av_private *priv,
				    struct av_srf *srf)
{
	/* Not on the stack, which the image does not map. */
	struct av_host_pstate *pstate = &priv->pstate;
	struct av_profiling held;

	/*
	 * A light exit would skip the firmware call that this CPU needs. Profilers stay stopped in
	 * one.
	 */
	if (!leave->light)
		srf->light = 0;
	/* quick.S returns to the guest without the workaround's TLBI. */
	if (srf->unpriv_tlbi)
		srf->quick = srf->quick_on = srf->quick_modes = srf->quick_made = 0;
	/* The guest relies on exits for firmware's mitigation (cpu/smccc.c). */
	if (av_mitigation_needs_exit(&leave->mitigation)) {
		srf->modes = srf->modes_same = srf->quick_modes = 0;
		/* In virtual EL0, quick.S handles only SVC and aborts, which change the mode. */
		if (!av_srf_el1(srf))
			srf->quick = 0;
	}
	av_host_pstate_save(leave, pstate);
	priv->light_pstate = pstate;

	av_profiling_hold(&leave->profilers, &held);
	av_switch_enter(priv);
	av_profiling_go_on(&held);

	priv->light_pstate = NULL;

	av_leave_firmware(leave);
	av_host_pstate_restore(leave, pstate);
}

static __always_inline void enter(const struct av_leave *leave, struct av_private *priv,
				  struct av_srf *srf)
{
	if (likely(leave->plain))
		av_switch_enter(priv);
	else
		enter_by_steps(leave, priv, srf);
}

static __always_inline void set_roots(struct av_vcpu_switch *csw, struct av_srf *srf,
				      const struct av_entry *entry)
{
	struct av_private *priv = csw->priv;

	priv->ttbr0 = entry->root0;
	priv->ttbr1 = entry->ttbr1[entry->el];
	srf->ttbr1[0] = entry->ttbr1[0];
	srf->ttbr1[1] = entry->ttbr1[1];
	srf->root0 = entry->root0;
}

void av_switch_set_roots(struct av_vcpu_switch *csw, struct av_srf *srf,
			 const struct av_entry *entry)
{
	set_roots(csw, srf, entry);
}

void av_switch_run(struct av_vcpu_switch *csw, struct av_srf *srf, const struct av_entry *entry)
{
	const struct av_leave *leave = av_leave_here();

	set_roots(csw, srf, entry);
	if (unlikely(csw->leave != leave)) {
		csw->leave = leave;
		srf->loops = leave->mitigation.loops;
		srf->unpriv_tlbi = leave->unpriv_tlbi;
		csw->priv->image_sp = leave->image_sp;
	}
	enter(leave, csw->priv, srf);
}

bool av_switch_flushes(void)
{
	return !arm64_use_ng_mappings;
}

void av_switch_again(struct av_vcpu_switch *csw, struct av_srf *srf)
{
	csw->priv->ttbr0 = srf->root0;
	csw->priv->ttbr1 = srf->ttbr1[av_srf_el1(srf)];
	enter(csw->leave, csw->priv, srf);
}

asmlinkage void av_switch_light_pstate(struct av_private *priv)
{
	av_host_pstate_light(av_leave_here(), priv->light_pstate);
}

void av_switch_set_light(struct av_vcpu_switch *csw, av_light_fn *light, void *data)
{
	csw->priv->light = light;
	csw->priv->light_data = data;
}
