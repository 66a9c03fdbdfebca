// SPDX-License-Identifier: GPL-2.0
/* The annex: its place, its mappings, and leaving a stub. Rules in annex.h. */
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "mmu/base/plain.h"
#include "mmu/base/regime.h"
#include "mmu/code/annex.h"
#include "mmu/code/copies.h"
#include "mmu/code/face.h"
#include "mmu/memory/memory.h"
#include "mmu/stub/patch.h"

/* A frame number so high that the reverse map has no head for it. */
#define NO_GFN		0x7fffffff

#define AREA_PAGES	(AV_STUB_AREA / PAGE_SIZE)
static_assert(AREA_PAGES == AV_ANNEX_PAGES + 1);

/* Which samples look for a place: the first FIRST, one in SOME up to BOOT, then one in MANY. */
#define FIRST		8
#define BOOT		8192
#define SOME		64
#define MANY		1024

void av_annex_init(struct av_vm *vm)
{
	hash_init(vm->mmu->annex.sites);
}

/* ---- looking at the guest ---- */

static int read_words(void *ctx, u64 ipa, u64 *words, unsigned int n)
{
	const struct av_mem_reader *reader = ctx;
	struct av_slot *slot = av_slot_find(reader->slots, ipa >> PAGE_SHIFT);

	return slot ? av_mem_load_words(slot, ipa, words, n) : -EFAULT;
}

int av_annex_read(struct av_vcpu *vcpu, u64 ipa, u64 *words, unsigned int n)
{
	struct av_mem_reader reader = { .slots = av_vm_slots(vcpu->vm) };

	return read_words(&reader, ipa, words, n);
}

static int walk(struct av_vcpu *vcpu, u64 va, u64 *ipa)
{
	struct av_mem_reader reader = { .slots = av_vm_slots(vcpu->vm) };
	struct av_walk at;
	int ret = av_walk(&vcpu->mmu->regime, &av_mem_reader_ops, &reader, va, &at);

	if (!ret)
		*ipa = at.ipa;
	return ret;
}

bool av_annex_translate(struct av_vcpu *vcpu, u64 va, u64 *ipa)
{
	return !walk(vcpu, va, ipa);
}

static void offer(void)
{
	cond_resched();
}

static bool find(struct av_vcpu *vcpu, struct av_annex_place *place)
{
	struct av_mem_reader reader = { .slots = av_vm_slots(vcpu->vm) };
	struct av_annex_search search = {
		.regime = &vcpu->mmu->regime, .mem = &av_mem_reader_ops, .ctx = &reader,
		.words = read_words, .offer = offer,
	};

	return av_annex_find(&search, av_srf_get(vcpu->srf, AV_VBAR_EL1), place);
}

/* ---- begin and end ---- */

/* Drop everything mapped in the area, in all trees. */
static void clear_area(struct av_vm *vm, u64 va)
{
	struct av_tlbi_walk walk = {
		.op = {
			.scope = AV_TLBI_VAA, .high = true, .start = va,
			.last = va + AV_STUB_AREA - 1,
		},
	};
	struct av_gather g;
	bool more;

	do {
		spin_lock(&vm->mmu_lock);
		av_gather_init(&g, &vm->mmu->shadow);
		more = av_shadow_tlbi(&vm->mmu->shadow, &walk, &g);
		av_gather_finish(&g);
		spin_unlock(&vm->mmu_lock);
		av_mmu_offer();
	} while (more);
}

/* Start an annex, unless there is one. Sites are possible once the area is cleared. */
static void begin(struct av_vm *vm, const struct av_annex_place *place)
{
	struct av_annex *annex = &vm->mmu->annex;
	bool begun;

	spin_lock(&vm->mmu_lock);
	begun = !annex->at.va && !annex->ending;
	if (begun) {
		WRITE_ONCE(annex->once, true);
		WRITE_ONCE(annex->stubs, place->va + PAGE_SIZE);
		WRITE_ONCE(annex->at.anchor, place->anchor);
		WRITE_ONCE(annex->at.ipa, place->ipa);
		WRITE_ONCE(annex->at.hole, place->hole);
		WRITE_ONCE(annex->at.va, place->va);
	}
	spin_unlock(&vm->mmu_lock);
	if (!begun)
		return;
	clear_area(vm, place->va);
	WRITE_ONCE(annex->ready, true);
	WRITE_ONCE(annex->tries, 0);
}

/*
 * The guest has another kernel. Drop copies before the stubs that their sites need. A vCPU that is
 * in a stub is moved out of it by its exit (av_annex.stubs).
 */
static void end(struct av_vm *vm, u64 va)
{
	struct av_annex *annex = &vm->mmu->annex;
	u32 *code[AV_ANNEX_PAGES];
	unsigned int i;
	bool ends;

	spin_lock(&vm->mmu_lock);
	ends = annex->at.va == va && annex->ready;
	if (ends) {
		annex->ending = true;
		WRITE_ONCE(annex->ready, false);
	}
	spin_unlock(&vm->mmu_lock);
	if (!ends)
		return;
	av_patch_sites_forget(vm);
	av_mmu_forget_copies(vm);
	spin_lock(&vm->mmu_lock);
	WRITE_ONCE(annex->at.va, 0);
	spin_unlock(&vm->mmu_lock);
	clear_area(vm, va);
	spin_lock(&vm->mmu_lock);
	memcpy(code, annex->code, sizeof(code));
	memset(annex->code, 0, sizeof(annex->code));
	WRITE_ONCE(annex->pages, 0);
	annex->used = 0;
	annex->ending = false;
	spin_unlock(&vm->mmu_lock);
	for (i = 0; i < ARRAY_SIZE(code); i++)
		free_page((unsigned long)code[i]);
}

enum presence { GONE, AWAY, THERE };

/*
 * AWAY: not in these tables, as in a kernel's tables for user space. In a hole, check that the
 * first n pages are empty.
 */
static enum presence look_there(struct av_vcpu *vcpu, const struct av_annex_place *at,
				unsigned int n)
{
	unsigned int i;
	u64 ipa;

	if (!at->va || !av_annex_translate(vcpu, at->anchor, &ipa) || ipa != at->ipa)
		return AWAY;
	for (i = 0; at->hole && i < n; i++)
		if (!av_walk_empty(walk(vcpu, at->va + i * PAGE_SIZE, &ipa)))
			return GONE;
	return THERE;
}

static struct av_annex_place place_now(struct av_vm *vm)
{
	struct av_annex_place at;

	spin_lock(&vm->mmu_lock);
	at = vm->mmu->annex.at;
	spin_unlock(&vm->mmu_lock);
	return at;
}

static bool may_try(struct av_annex *annex)
{
	unsigned int tries = READ_ONCE(annex->tries);

	WRITE_ONCE(annex->tries, tries + 1);
	return tries < FIRST || !(tries % (tries < BOOT ? SOME : MANY));
}

bool av_annex_have(struct av_vcpu *vcpu)
{
	struct av_annex *annex = &vcpu->vm->mmu->annex;
	struct av_annex_place at = place_now(vcpu->vm), place;

	switch (look_there(vcpu, &at, 1)) {
	case THERE:
		WRITE_ONCE(annex->aways, 0);
		return READ_ONCE(annex->ready);
	case GONE:
		end(vcpu->vm, at.va);
		return false;
	case AWAY:
		break;
	}
	if (!may_try(annex) || !find(vcpu, &place) || av_annex_same(&place, &at))
		return false;
	if (at.va)
		end(vcpu->vm, at.va);
	begin(vcpu->vm, &place);
	return READ_ONCE(annex->ready);
}

/* After this many checks in a row without the annex, another kernel must run, as after a kexec. */
#define AWAYS		16

bool av_annex_check(struct av_vcpu *vcpu)
{
	struct av_annex *annex = &vcpu->vm->mmu->annex;
	struct av_annex_place at = place_now(vcpu->vm);
	unsigned int pages = READ_ONCE(annex->pages);
	enum presence presence;
	int idx;

	if (!at.va)
		return true;
	idx = srcu_read_lock(&vcpu->vm->srcu);
	presence = look_there(vcpu, &at, pages + 1);
	WRITE_ONCE(annex->aways, presence == AWAY ? READ_ONCE(annex->aways) + 1 : 0);
	if (presence == GONE || READ_ONCE(annex->aways) >= AWAYS) {
		WRITE_ONCE(annex->aways, 0);
		presence = GONE;
		end(vcpu->vm, at.va);
	}
	srcu_read_unlock(&vcpu->vm->srcu, idx);
	return presence != AWAY;
}

/* ---- mappings ---- */

/* The page for an access to the annex, and its rights. */
static void page_of(struct av_vcpu *vcpu, u64 at, struct av_fill *fill)
{
	const struct av_annex *annex = &vcpu->vm->mmu->annex;

	if (at < PAGE_SIZE) {
		fill->rights = AV_R | AV_W;
		fill->pa = virt_to_phys(&vcpu->srf->sys[AV_SRF_SHARED]);
	} else {
		fill->rights = AV_X;
		fill->pa = virt_to_phys(annex->code[at / PAGE_SIZE - 1]);
	}
}

/* Does the guest map the same there as when the annex was found? */
static bool unchanged(const struct av_annex *annex, const struct av_classified *r, u64 at)
{
	return annex->at.hole ? r->empty : !r->empty && r->walk.ipa == annex->at.ipa + at;
}

/* *gone: the annex that the guest has mapped something over. */
static int fill_locked(struct av_hidden *f, u64 *gone)
{
	const struct av_walk *walk = &f->r->walk;
	struct av_vcpu *vcpu = f->vcpu;
	const struct av_annex *annex = &vcpu->vm->mmu->annex;
	struct av_shadow *sh = &vcpu->vm->mmu->shadow;
	struct av_fill fill = {
		.va = walk->va & PAGE_MASK, .gfn = NO_GFN, .level = 3,
		.gspan = walk->span, .global = walk->global,
	};
	u64 at = walk->va - annex->at.va;
	int ret;

	/* Invalidated, or a different annex since the walk: the guest faults again. */
	if (av_hidden_voided(f, fill.va, fill.gspan) ||
	    !av_annex_same(&annex->at, &f->r->annex) || at >= (annex->pages + 1) * PAGE_SIZE)
		return 0;
	if (!unchanged(annex, f->r, at)) {
		*gone = annex->at.va;
		return 0;
	}
	page_of(vcpu, at, &fill);
	ret = av_shadow_fill(sh, vcpu->mmu->tree[1], &fill, &vcpu->mmu->pool);
	if (ret == -ENOSPC && av_mmu_reclaim(vcpu->vm, &vcpu->mmu->pool))
		ret = 0;
	if (ret == -ESTALE) {
		av_mmu_regime_changed(vcpu);
		ret = 0;
	}
	av_shadow_publish(sh);
	return ret;
}

int av_annex_fill(struct av_hidden *f)
{
	struct av_vcpu *vcpu = f->vcpu;
	u64 gone = 0;
	int ret;

	/* A tree from before the annex, which others may also run on. */
	if (vcpu->mmu->tree[1]->key.owner != av_tree_owner(vcpu)) {
		av_mmu_regime_changed(vcpu);
		return 0;
	}
	ret = av_mmu_fill_memcache(vcpu);
	if (ret)
		return ret;
	av_mmu_lock(vcpu);
	ret = fill_locked(f, &gone);
	av_mmu_unlock(vcpu);
	if (gone)
		end(vcpu->vm, gone);
	return ret;
}

bool av_annex_failed(struct av_vcpu *vcpu, u64 far)
{
	u64 va = READ_ONCE(vcpu->vm->mmu->annex.at.va);

	/* Virtual EL0 has no sites. */
	if (!va || !vcpu->srf->in_place || far - va >= PAGE_SIZE)
		return false;
	av_mmu_go_plain(vcpu);
	return true;
}

void av_mmu_forget_code(struct av_vm *vm)
{
	u64 va = READ_ONCE(vm->mmu->annex.at.va);

	if (va)
		end(vm, va);
	WRITE_ONCE(vm->mmu->annex.tries, 0);
	av_mmu_forget_copies(vm);
}

/* ---- leaving a stub ---- */

/* A guest that unmaps the stack that it is using loses the register. */
static void pop(struct av_vcpu *vcpu, unsigned int reg)
{
	struct av_srf *srf = vcpu->srf;
	int idx = srcu_read_lock(&vcpu->vm->srcu);
	u64 ipa, word;

	if (av_annex_translate(vcpu, srf->sp, &ipa) && !av_annex_read(vcpu, ipa, &word, 1))
		srf->regs[reg] = word;
	srcu_read_unlock(&vcpu->vm->srcu, idx);
	srf->sp += 16;
}

/* Number of the guest's instructions that are done. */
static unsigned int done(u8 how)
{
	switch (how) {
	case AV_STUB_UNDO:
	case AV_STUB_POP_UNDO:
		return 0;
	case AV_STUB_DONE2:
	case AV_STUB_POP_DONE2:
		return 2;
	default:
		return 1;
	}
}

void av_mmu_settle(struct av_vcpu *vcpu)
{
	struct av_srf *srf = vcpu->srf;
	struct av_stub_rest rest;
	u64 site;

	if (!av_patch_sites_rest(vcpu->vm, vcpu->mmu->stubs, srf->pc, &site, &rest))
		return;
	switch (rest.how) {
	case AV_STUB_POP_UNDO:
	case AV_STUB_POP_DONE:
	case AV_STUB_POP_DONE2:
		pop(vcpu, rest.reg);
		break;
	case AV_STUB_MASK:
		srf->regs[rest.reg] &= AV_PSR_DAIF;
		break;
	}
	srf->pc = site + done(rest.how) * AV_INSN_SIZE;
	vcpu->mmu->settled = true;
	vcpu->mmu->settled_pc = srf->pc;
}

/* If PC differs, an earlier stay in the guest ended in the stub, not this one. */
bool av_mmu_stub_failed(struct av_vcpu *vcpu)
{
	bool failed = vcpu->mmu->settled && vcpu->mmu->settled_pc == vcpu->srf->pc;

	vcpu->mmu->settled = false;
	if (!failed)
		return false;
	av_mmu_go_plain(vcpu);
	return true;
}

/* Nobody can run the VM any more. */
void av_annex_free(struct av_vm *vm)
{
	struct av_annex *annex = &vm->mmu->annex;
	unsigned int i;

	av_patch_sites_free(vm);
	for (i = 0; i < ARRAY_SIZE(annex->code); i++)
		free_page((unsigned long)annex->code[i]);
}
