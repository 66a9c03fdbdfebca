// SPDX-License-Identifier: GPL-2.0
/* The window moves out of the guest's way: rules in position.h. */
#include "mmu/base/regime.h"
#include "mmu/guest/switcher_tables.h"
#include "mmu/memory/memory.h"
#include "mmu/roots/face.h"
#include "mmu/roots/ttbr_cache.h"
#include "mmu/roots/roots.h"
#include "mmu/shadow/position.h"
#include "switch/switch.h"

struct tables {
	const struct av_regime *regime;
	struct av_mem_reader reader;
};

/* Do the guest's tables have a level-3 table or a leaf there? Yes if they cannot be read. */
static bool mapped(void *arg, unsigned int position)
{
	struct tables *t = arg;
	struct av_walk walk;

	return av_walk(t->regime, &av_mem_reader_ops, &t->reader, av_window_at(position),
		       &walk) <= 0 || walk.level == 3;
}

/* Under mmu_lock, by the vCPU's own thread. */
static void go_to(struct av_vcpu *vcpu, unsigned int position)
{
	struct av_vm *vm = vcpu->vm;

	if (position == vcpu->sw->position)
		return;
	av_sw_tables_position(vm);
	av_switch_set_position(vm->sw, vcpu->sw, vcpu->srf, vcpu->idx, position);
	av_root_cache_behind(vcpu);
	av_mmu_regime_changed(vcpu);
}

void av_window_give_way(struct av_vcpu *vcpu)
{
	struct av_vm *vm = vcpu->vm;
	struct av_shadow *sh = &vm->mmu->shadow;
	struct tables t = {
		.regime = &vcpu->mmu->regime,
		.reader = { .slots = av_vm_slots(vm) },
	};
	unsigned int from = vcpu->sw->position, to = READ_ONCE(sh->window), i;
	struct av_vcpu *other;
	bool moves;

	if (to == from)
		to = av_window_choose(sh->touched, from, mapped, &t);
	av_mmu_lock(vcpu);
	moves = sh->window == from;
	go_to(vcpu, av_window_move(sh, from, to));
	av_mmu_unlock(vcpu);
	if (!moves)
		return;
	av_for_each_vcpu(i, other, vm)
		if (other != vcpu)
			av_vcpu_request(other, AV_REQ_WINDOW);
}

void av_mmu_follow_move(struct av_vcpu *vcpu)
{
	av_mmu_lock(vcpu);
	go_to(vcpu, vcpu->vm->mmu->shadow.window);
	av_mmu_unlock(vcpu);
}
