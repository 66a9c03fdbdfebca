// SPDX-License-Identifier: GPL-2.0
/*
 * Where an annex may be (mmu/annex.h): found by what a guest's kernel has at its
 * vectors, in front of its code or in a hole. Under srcu; what is found may be
 * gone by then, and whoever fills a page there looks again.
 */
#include <linux/sched.h>
#include <linux/sizes.h>

#include "mmu/annex.h"

/* How far below the vectors an Image is looked for, and above them a hole. */
#define FAR_BELOW	(64 << 20)
#define FAR_ABOVE	(64 << 20)
/* No linker fills so much. */
#define HOLE		SZ_512K

#define IMAGE_MAGIC	0x644d5241	/* "ARM\x64", at byte 56 */
#define IMAGE_SIZE	2		/* words of the header */
#define IMAGE_MAGIC_AT	7

/* Words read at once. */
#define WORDS		64
#define NOPS		0xd503201fd503201f

int av_annex_read(struct av_vcpu *vcpu, u64 ipa, u64 *words, unsigned int n)
{
	struct av_slot *slot = av_vm_slot(vcpu->vm, ipa >> PAGE_SHIFT);

	return slot ? av_mem_load_words(slot, ipa, words, n) : -EFAULT;
}

static bool walk(struct av_vcpu *vcpu, u64 va, struct av_walk *walk)
{
	struct av_mem_reader reader = { .slots = av_vm_slots(vcpu->vm) };

	return !av_walk(&vcpu->mmu->regime, &av_mem_reader_ops, &reader, va, walk);
}

bool av_annex_translate(struct av_vcpu *vcpu, u64 va, u64 *ipa)
{
	struct av_walk at;

	if (!walk(vcpu, va, &at))
		return false;
	*ipa = at.ipa;
	return true;
}

static bool may_be_at(u64 va)
{
	return !(va % AV_STUB_AREA) && va < AV_WINDOW_START;
}

/* ---- in front of the code ---- */

/* The Image that the vectors, which are at ipa, are in: its address, or 0. */
static u64 find_image(struct av_vcpu *vcpu, u64 vbar, u64 ipa)
{
	u64 below, words[8];

	for (below = vbar % AV_STUB_AREA; below < FAR_BELOW && below <= ipa;
	     below += AV_STUB_AREA) {
		if (av_annex_read(vcpu, ipa - below, words, ARRAY_SIZE(words)))
			return 0;
		if ((u32)words[IMAGE_MAGIC_AT] == IMAGE_MAGIC && words[IMAGE_SIZE] > below)
			return vbar - below;
		if (!(below % SZ_1M))
			cond_resched();
	}
	return 0;
}

/* What a linker fills gaps with: zeroes, or NOPs. */
static bool is_gap(struct av_vcpu *vcpu, u64 ipa)
{
	u64 words[WORDS];
	unsigned int i, j;

	for (i = 0; i < PAGE_SIZE; i += sizeof(words)) {
		if (av_annex_read(vcpu, ipa + i, words, WORDS))
			return false;
		for (j = 0; j < WORDS; j++)
			if (words[j] && words[j] != NOPS)
				return false;
	}
	return true;
}

/*
 * Has an Image at va reserved what it does not use: all pages up to the code mapped
 * as they lie in memory, not to be executed, and but for the first, which has the
 * header, a gap? *ipa is where they are.
 */
static bool is_reserved(struct av_vcpu *vcpu, u64 va, u64 *ipa)
{
	struct av_walk at;
	u64 i;

	for (i = 0; i < AV_STUB_AREA; i += PAGE_SIZE) {
		if (!walk(vcpu, va + i, &at) || at.el1 & AV_X)
			return false;
		if (!i)
			*ipa = at.ipa;
		else if (at.ipa != *ipa + i || !is_gap(vcpu, at.ipa))
			return false;
	}
	return true;
}

static bool find_front(struct av_vcpu *vcpu, u64 vbar, u64 ipa, struct av_annex_place *place)
{
	u64 va = find_image(vcpu, vbar, ipa);

	if (!va || !may_be_at(va) || !is_reserved(vcpu, va, &ipa))
		return false;
	*place = (struct av_annex_place) { .va = va, .anchor = va, .ipa = ipa };
	return true;
}

/* ---- in a hole ---- */

static bool is_empty(struct av_vcpu *vcpu, u64 va)
{
	u64 i, ipa;

	for (i = 0; i < AV_STUB_AREA; i += PAGE_SIZE)
		if (av_annex_translate(vcpu, va + i, &ipa))
			return false;
	return true;
}

/* The first place between the page at anchor and end that has nothing mapped. */
static bool find_empty(struct av_vcpu *vcpu, u64 anchor, u64 end, struct av_annex_place *place)
{
	u64 va;

	for (va = round_down(anchor, AV_STUB_AREA) + AV_STUB_AREA; va + AV_STUB_AREA <= end;
	     va += AV_STUB_AREA) {
		if (!may_be_at(va) || !is_empty(vcpu, va))
			continue;
		*place = (struct av_annex_place) { .va = va, .anchor = anchor, .hole = true };
		return av_annex_translate(vcpu, anchor, &place->ipa);
	}
	return false;
}

/*
 * Between pages of one image, which lie in memory as they do in the address space:
 * something of it has been taken away. What begins elsewhere in memory is another's.
 */
static bool find_hole(struct av_vcpu *vcpu, u64 vbar, u64 ipa, struct av_annex_place *place)
{
	u64 last = vbar & PAGE_MASK, va = round_down(vbar, AV_STUB_AREA), end = va + FAR_ABOVE, at;

	for (va += AV_STUB_AREA; va < end && va > vbar; va += AV_STUB_AREA) {
		if (!(va % SZ_1M))
			cond_resched();
		if (!av_annex_translate(vcpu, va, &at))
			continue;
		if (at - va != ipa - vbar)
			return false;
		if (va - last > HOLE && find_empty(vcpu, last, va, place))
			return true;
		last = va;
	}
	return false;
}

bool av_annex_find(struct av_vcpu *vcpu, struct av_annex_place *place)
{
	u64 vbar = av_srf_get(vcpu->srf, AV_VBAR_EL1), ipa;

	/* Stubs are for a little-endian kernel. */
	if (av_srf_get(vcpu->srf, AV_SCTLR_EL1) & AV_SCTLR_EE)
		return false;
	if (!(vbar & BIT_ULL(55)) || !av_annex_translate(vcpu, vbar, &ipa))
		return false;
	return find_front(vcpu, vbar, ipa, place) || find_hole(vcpu, vbar, ipa, place);
}
