// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz target of the walker: any registers, any tables. The input is the registers, an address, and
 * guest memory. Memory repeats the input's bytes without end, so tables point anywhere: to holes
 * and to themselves.
 */
#include <stdlib.h>

#include "mmu/walk/walk.h"

#define HOLE	BIT_ULL(20)	/* addresses with this bit are no memory */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	u64 sctlr, tcr, ttbr0, ttbr1, mair, va, ipa_bits;
};

struct memory {
	const u8 *bytes;
	size_t size;
	unsigned int reads;
};

#define REQUIRE(cond) do { if (!(cond)) abort(); } while (0)

static int read64(void *ctx, u64 ipa, u64 *val)
{
	struct memory *m = ctx;
	unsigned int i;

	REQUIRE(!(ipa & 7));
	REQUIRE(++m->reads <= 4);
	*val = 0;
	if (ipa & HOLE)
		return 1;
	for (i = 0; i < 8 && m->size; i++)
		*val |= (u64)m->bytes[(ipa + i) % m->size] << (8 * i);
	return 0;
}

static const struct av_mem_ops ops = { .read64 = read64 };

static void check_leaf(const struct av_regime *r, const struct av_walk *w, u64 va)
{
	REQUIRE(!(w->ipa >> r->ipa_bits));
	REQUIRE(!((w->ipa ^ va) & 0xfff));
	REQUIRE(w->span >= 12 && w->span <= 34);
	REQUIRE(w->level <= 3);
	REQUIRE(!(w->el0 & AV_W && w->el1 & AV_X && av_regime_mmu_on(r)));
	REQUIRE(!(w->e0pd && w->el0));
	/* The leaf's range is the same offset in both spaces. */
	REQUIRE(!av_regime_mmu_on(r) || w->high == !!(va & BIT_ULL(55)));
	REQUIRE(av_walk_permits(w, 0, 1, AV_R) == 0 || !(w->el1 & AV_R));
}

/* A neighbour by the short way is what a walk of its own says. */
static void check_sibling(const struct av_regime *r, const struct memory *m,
			  const struct av_walk *w)
{
	struct memory again = *m;
	struct av_walk_table table;
	struct av_walk walked, sibling;
	u64 desc, va = w->va ^ 0x3000;
	int ret;

	/* Pages of 4 KiB only, where an address and its descriptor go together. */
	if (!w->desc_ipa || !av_walk_keep(r, w, &table))
		return;
	again.reads = 0;
	REQUIRE(!read64(&again, w->desc_ipa ^ 0x18, &desc));
	again.reads = 0;
	ret = av_walk(r, &ops, &again, va, &walked);
	REQUIRE(av_walk_page(r, &table, va, desc, &sibling) == ret);
	if (ret)
		return;
	REQUIRE(sibling.ipa == walked.ipa && sibling.el0 == walked.el0);
	REQUIRE(sibling.el1 == walked.el1 && sibling.global == walked.global);
	REQUIRE(sibling.span == walked.span && sibling.attr == walked.attr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const u8 bits[] = { 32, 36, 40, 42 };
	struct memory m;
	struct input in;
	struct av_regime r;
	struct av_walk w;
	int ret;

	if (size < sizeof(in))
		return 0;
	memcpy(&in, data, sizeof(in));
	m = (struct memory) { .bytes = data + sizeof(in), .size = size - sizeof(in) };
	r = (struct av_regime) {
		.sctlr = in.sctlr, .tcr = in.tcr, .ttbr0 = in.ttbr0, .ttbr1 = in.ttbr1,
		.mair = in.mair, .ipa_bits = bits[in.ipa_bits % ARRAY_SIZE(bits)],
	};
	ret = av_walk(&r, &ops, &m, in.va, &w);
	REQUIRE(ret >= 0);
	if (!ret) {
		check_leaf(&r, &w, in.va);
		check_sibling(&r, &m, &w);
		return 0;
	}
	REQUIRE(ret & AV_FAULT && !(ret & ~(AV_FAULT | 0x3f)));
	REQUIRE((AV_FAULT_FSC(ret) & ~3) == AV_FSC_ADDRESS_SIZE ||
		(AV_FAULT_FSC(ret) & ~3) == AV_FSC_TRANSLATION ||
		(AV_FAULT_FSC(ret) & ~3) == AV_FSC_ACCESS_FLAG ||
		(AV_FAULT_FSC(ret) & ~3) == AV_FSC_EXTERNAL_WALK);
	return 0;
}
