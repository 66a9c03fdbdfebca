// SPDX-License-Identifier: GPL-2.0
/* Sites in copies, and their stubs: rules in annex.h. */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "compat/icache.h"
#include "mmu/code/annex.h"
#include "mmu/code/copies.h"
#include "mmu/code/face.h"
#include "mmu/stub/patch.h"
#include "switch/image.h"

#define GRANULE		(AV_STUB_GRANULE * sizeof(u32))
#define PER_PAGE	(PAGE_SIZE / GRANULE)
#define GRANULES	(AV_ANNEX_PAGES * PER_PAGE)

/* Most sites per VM and per list. A hundred serve a kernel's usual work, 500 a boot. */
#define MAX_SITES	4096
#define MAX_IN_LIST	128

struct av_patch_site {
	struct hlist_node hash;		/* by gfn */
	u64 gfn, va;
	u32 copied;			/* the instruction after av_patch(); 0: no sites allowed */
	u32 behind;			/* av_stub.next after av_patch(); 0: any */
	u32 word;			/* to put at the site */
	bool fits;			/* for av_patch_sites_patch() */
};

/* The guest's instruction at a site, and the next one; 0: unknown. */
struct av_pair {
	u32 insn, next;
};

/* The stub that a granule belongs to. */
struct av_granule {
	u64 site;
	u32 insn;			/* the guest's instruction; 0: the granule is free */
	u32 next;			/* av_stub.next */
	u16 first;
};

/* ---- sites ---- */

void av_patch_sites_none(struct av_vm *vm, u64 gfn)
{
	struct av_annex *annex = &vm->mmu->annex;
	struct av_patch_site *site;

	hash_for_each_possible(annex->sites, site, hash, gfn)
		if (site->gfn == gfn)
			site->copied = 0;
}

/* May a site be made here, and is there none yet? */
static bool wanted(const struct av_annex *annex, u64 gfn, u64 va)
{
	const struct av_patch_site *site;
	unsigned int n = 0;

	if (annex->nr_sites >= MAX_SITES)
		return false;
	hash_for_each_possible(annex->sites, site, hash, gfn)
		if (++n == MAX_IN_LIST ||
		    (site->gfn == gfn && (site->va == va || !site->copied)))
			return false;
	return true;
}

/* Does the code have the instructions that the site was made for? */
static bool fits(const struct av_patch_site *site, u64 gfn, u64 va, const u32 *words)
{
	unsigned int i = offset_in_page(site->va) / AV_INSN_SIZE;

	return site->gfn == gfn && !((site->va ^ va) & PAGE_MASK) &&
	       site->copied && words[i] == site->copied &&
	       (!site->behind || words[i + 1] == site->behind);
}

bool av_patch_sites_patch(struct av_vm *vm, u64 gfn, u64 va, u64 *code)
{
	struct av_annex *annex = &vm->mmu->annex;
	u32 *words = (u32 *)code;
	struct av_patch_site *site;
	bool any = false;

	/* Check all sites before replacing any: the word after a site may be a site too. */
	hash_for_each_possible(annex->sites, site, hash, gfn)
		site->fits = fits(site, gfn, va, words);
	hash_for_each_possible(annex->sites, site, hash, gfn) {
		if (!site->fits)
			continue;
		words[offset_in_page(site->va) / AV_INSN_SIZE] = site->word;
		any = true;
	}
	return any;
}

/* Under mmu_lock: forget some sites. True if there are more. */
static bool forget_some(struct av_vm *vm)
{
	struct av_annex *annex = &vm->mmu->annex;
	struct av_patch_site *site;
	struct hlist_node *tmp;
	unsigned int i, n = 0;

	hash_for_each_safe(annex->sites, i, tmp, site, hash) {
		if (n++ == 256)
			return true;
		hash_del(&site->hash);
		annex->nr_sites--;
		av_vm_stat_add(&vm->stats, AV_VM_CODE_SITES, -1);
		kfree(site);
	}
	return false;
}

void av_patch_sites_forget(struct av_vm *vm)
{
	bool more;

	do {
		spin_lock(&vm->mmu_lock);
		more = forget_some(vm);
		spin_unlock(&vm->mmu_lock);
		av_mmu_offer();
	} while (more);
}

/* ---- stubs ---- */

/* Where the next stub goes, whatever its length: none crosses a page. GRANULES: no room. */
static unsigned int next_granule(const struct av_annex *annex)
{
	if (annex->used % PER_PAGE > PER_PAGE - AV_STUB_GRANULES)
		return round_up(annex->used, PER_PAGE);
	return annex->used;
}

/* Allocate a page for the next stub, if necessary. */
static int prepare_page(struct av_vcpu *vcpu)
{
	struct av_annex *annex = &vcpu->vm->mmu->annex;
	unsigned int i;
	u32 *page;

	spin_lock(&vcpu->vm->mmu_lock);
	i = next_granule(annex) / PER_PAGE;
	spin_unlock(&vcpu->vm->mmu_lock);
	if (i == AV_ANNEX_PAGES)
		return -ENOSPC;
	if (i < READ_ONCE(annex->pages))
		return 0;
	page = (u32 *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	if (!page)
		return -ENOMEM;
	spin_lock(&vcpu->vm->mmu_lock);
	if (annex->pages == i) {
		swap(annex->code[i], page);
		WRITE_ONCE(annex->pages, i + 1);
	}
	spin_unlock(&vcpu->vm->mmu_lock);
	free_page((unsigned long)page);
	return 0;
}

/* Write a stub into a page that others may execute. */
static void write_stub(struct av_annex *annex, u64 va, const struct av_pair *pair,
		       const struct av_stub *stub)
{
	unsigned int n = DIV_ROUND_UP(stub->nr, AV_STUB_GRANULE), first = next_granule(annex), i;
	u32 *to = annex->code[first / PER_PAGE] + first % PER_PAGE * AV_STUB_GRANULE;

	for (i = 0; i < stub->nr; i++)
		WRITE_ONCE(to[i], stub->word[i]);
	av_sync_icache_aliases((unsigned long)to, n * GRANULE);
	for (i = 0; i < n; i++)
		annex->rows[first + i] = (struct av_granule) {
			.site = va, .insn = pair->insn, .next = stub->next, .first = first,
		};
	annex->used = first + n;
}

/*
 * May the site's word be written to a copy that other vCPUs may be about to execute? All of them
 * must be outside the guest, so that each enters it before it executes the copy or its stubs. An
 * entry is a context synchronization event: no fetch after it returns older memory. A vCPU that
 * enters before the word is written executes the token or the word, if the architecture permits
 * that for the two; otherwise there must be no other vCPU. (A new vCPU's first entry needs
 * mmu_lock.)
 */
static bool may_patch(struct av_vcpu *vcpu, u32 word)
{
	bool while_executed = av_stub_replaces_token(word);
	struct av_vcpu *other;
	unsigned int i;

	/* Pairs with the barrier after in_guest is set. */
	smp_mb();
	av_for_each_vcpu(i, other, vcpu->vm)
		if (other != vcpu && (!while_executed || READ_ONCE(other->in_guest)))
			return false;
	return true;
}

/* Put the site's word into the copy that the guest runs from. The stub has been written. */
static bool patch_in_place(struct av_vcpu *vcpu, const struct av_patch_site *site)
{
	u32 *words = (u32 *)av_copy_code(vcpu->vm, site->gfn);
	u32 *word;

	if (!words || !fits(site, site->gfn, site->va, words) || !may_patch(vcpu, site->word))
		return false;
	word = words + offset_in_page(site->va) / AV_INSN_SIZE;
	WRITE_ONCE(*word, site->word);
	av_sync_icache_aliases((unsigned long)word, sizeof(*word));
	return true;
}

/* Result of an attempt to make a site. */
enum made { NOT_MADE, MADE, MADE_IN_PLACE };

/* Under mmu_lock: make a site and its stub. If only MADE, a new copy must be made. */
static enum made add_site(struct av_vcpu *vcpu, u64 gfn, u64 va, const struct av_pair *pair,
			  struct av_patch_site *site)
{
	struct av_annex *annex = &vcpu->vm->mmu->annex;
	unsigned int first = next_granule(annex);
	u64 at = annex->at.va + PAGE_SIZE + (u64)first * GRANULE;
	struct av_stub stub;

	if (!annex->ready || !wanted(annex, gfn, va) ||
	    !av_copy_only_at(vcpu->vm, vcpu->mmu->tree[1], va, gfn) ||
	    !av_stub_make(pair->insn, pair->next, va, annex->at.va, at, &stub))
		return NOT_MADE;
	if (stub.nr && first / PER_PAGE >= annex->pages)
		return NOT_MADE;
	if (stub.nr)
		write_stub(annex, va, pair, &stub);
	*site = (struct av_patch_site) {
		.gfn = gfn, .va = va, .copied = av_patch(pair->insn),
		.behind = stub.next ? av_patch(stub.next) : 0, .word = stub.site,
	};
	hash_add(annex->sites, &site->hash, gfn);
	annex->nr_sites++;
	av_vm_stat_add(&vcpu->vm->stats, AV_VM_CODE_SITES, 1);
	return patch_in_place(vcpu, site) ? MADE_IN_PLACE : MADE;
}

static bool make_site(struct av_vcpu *vcpu, struct av_slot *slot, u64 gfn, u64 va,
		      const struct av_pair *pair)
{
	struct av_vm *vm = vcpu->vm;
	struct av_patch_site *site = kzalloc(sizeof(*site), GFP_KERNEL_ACCOUNT);
	enum made made = NOT_MADE;

	if (!site || prepare_page(vcpu)) {
		kfree(site);
		return false;
	}
	spin_lock(&vm->mmu_lock);
	if (!slot->dying)
		made = add_site(vcpu, gfn, va, pair, site);
	spin_unlock(&vm->mmu_lock);
	if (made == MADE)
		av_copy_written(vm, slot, gfn);
	if (made == NOT_MADE)
		kfree(site);
	return made != NOT_MADE;
}

static int make_rows(struct av_vm *vm)
{
	struct av_granule *rows;

	if (READ_ONCE(vm->mmu->annex.rows))
		return 0;
	rows = av_image_kvcalloc(GRANULES, sizeof(*rows), GFP_KERNEL_ACCOUNT);
	if (!rows)
		return -ENOMEM;
	spin_lock(&vm->mmu_lock);
	if (!vm->mmu->annex.rows)
		swap(vm->mmu->annex.rows, rows);
	spin_unlock(&vm->mmu_lock);
	av_image_kvfree(rows);
	return 0;
}

/* The guest's instruction after the one at ipa; 0: it is in another page. */
static u32 word_behind(struct av_vcpu *vcpu, u64 ipa)
{
	u64 at = ipa + AV_INSN_SIZE, words;

	if (!offset_in_page(at) || av_annex_read(vcpu, at & ~(u64)AV_INSN_SIZE, &words, 1))
		return 0;
	return at & AV_INSN_SIZE ? words >> 32 : words;
}

bool av_mmu_want_stub(struct av_vcpu *vcpu, u64 va, u32 insn)
{
	struct av_pair pair = { .insn = insn };
	struct av_vm *vm = vcpu->vm;
	struct av_slot *slot;
	bool made = false;
	int idx;
	u64 ipa;

	if (!(va & BIT_ULL(55)) || !vcpu->mmu->copies || vcpu->mmu->stale)
		return false;
	idx = srcu_read_lock(&vm->srcu);
	if (av_annex_have(vcpu) && !make_rows(vm) && av_annex_translate(vcpu, va, &ipa)) {
		slot = av_vm_slot(vm, ipa >> PAGE_SHIFT);
		pair.next = word_behind(vcpu, ipa);
		made = slot && make_site(vcpu, slot, ipa >> PAGE_SHIFT, va, &pair);
	}
	srcu_read_unlock(&vm->srcu, idx);
	return made;
}

bool av_patch_sites_rest(struct av_vm *vm, u64 stubs, u64 pc, u64 *site, struct av_stub_rest *rest)
{
	const struct av_annex *annex = &vm->mmu->annex;
	const struct av_granule *rows = READ_ONCE(annex->rows), *row;
	u64 word = (pc - stubs) / AV_INSN_SIZE;

	if (word >= GRANULES * AV_STUB_GRANULE || !rows || stubs != READ_ONCE(annex->stubs))
		return false;
	row = &rows[array_index_nospec(word / AV_STUB_GRANULE, GRANULES)];
	if (!row->insn)
		return false;
	*site = row->site;
	*rest = av_stub_rest(row->insn, row->next, word - row->first * AV_STUB_GRANULE);
	return rest->how != AV_STUB_NOWHERE;
}

/* Nobody can run the VM any more. */
void av_patch_sites_free(struct av_vm *vm)
{
	av_patch_sites_forget(vm);
	av_image_kvfree(vm->mmu->annex.rows);
}
