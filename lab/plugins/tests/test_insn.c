// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
/* Classes of instructions, by the words that an assembler generates. */
#include "check.h"
#include "insn.h"

static void test_classes(void)
{
	static const struct {
		uint32_t insn;
		enum insn_class class;
	} rows[] = {
		{ 0xd503201f, INSN_ORDINARY },	/* nop */
		{ 0xd503207f, INSN_ORDINARY },	/* wfi */
		{ 0xd503305f, INSN_ORDINARY },	/* clrex */
		{ 0xf9400020, INSN_ORDINARY },	/* ldr x0, [x1] */
		{ 0xd65f03c0, INSN_ORDINARY },	/* ret */
		{ 0xd503309f, INSN_DSB },	/* ssbb */
		{ 0xd5033f9f, INSN_DSB },	/* dsb sy */
		{ 0xd5033e3f, INSN_DSB },	/* dsb synxs */
		{ 0xd5033bbf, INSN_DMB },	/* dmb ish */
		{ 0xd5033fdf, INSN_ISB },	/* isb */
		{ 0xd50330ff, INSN_ISB },	/* sb */
		{ 0xd4000001, INSN_CALL },	/* svc #0 */
		{ 0xd4000002, INSN_CALL },	/* hvc #0 */
		{ 0xd4000003, INSN_CALL },	/* smc #0 */
		{ 0xd4210000, INSN_CALL },	/* brk #0x800 */
		{ 0xd69f03e0, INSN_ERET },	/* eret */
		{ 0xd69f0bff, INSN_ERET },	/* eretaa */
		{ 0xd69f0fff, INSN_ERET },	/* eretab */
		{ 0xd53be040, INSN_READ },	/* mrs x0, cntvct_el0 */
		{ 0xd5182000, INSN_WRITE },	/* msr ttbr0_el1, x0 */
		{ 0xd50342df, INSN_WRITE },	/* msr daifset, #2 */
		{ 0xd508871f, INSN_TLBI },	/* tlbi vmalle1 */
		{ 0xd508971f, INSN_TLBI },	/* tlbi vmalle1nxs */
		{ 0xd50b7420, INSN_CACHE },	/* dc zva, x0 */
		{ 0xd508751f, INSN_CACHE },	/* ic iallu */
		{ 0xd5087800, INSN_CACHE },	/* at s1e1r, x0 */
		{ 0x00000000, INSN_ORDINARY },	/* udf #0 */
	};
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		EQUAL(insn_class(rows[i].insn), rows[i].class);
}

static void test_tlbis(void)
{
	static const struct {
		uint32_t insn;
		enum insn_tlbi tlbi;
	} rows[] = {
		{ 0xd508871f, TLBI_VMID },	/* vmalle1 */
		{ 0xd508831f, TLBI_VMID },	/* vmalle1is */
		{ 0xd5088340, TLBI_ASID },	/* aside1is, x0 */
		{ 0xd5088320, TLBI_VA },	/* vae1is, x0 */
		{ 0xd50883a0, TLBI_VA },	/* vale1is, x0 */
		{ 0xd50883e0, TLBI_VA },	/* vaale1is, x0 */
		{ 0xd5088220, TLBI_VA },	/* rvae1is, x0 */
		{ 0xd50c871f, TLBI_EL2 },	/* alle2 */
		{ 0xd50c8320, TLBI_VA },	/* vae2is, x0 */
		{ 0xd50c879f, TLBI_EL1 },	/* alle1 */
		{ 0xd50c83df, TLBI_VMID_BOTH },	/* vmalls12e1is */
		{ 0xd50c8020, TLBI_IPA },	/* ipas2e1is, x0 */
		{ 0xd50c8420, TLBI_IPA },	/* ipas2e1, x0 */
		{ 0xd503201f, TLBI_NONE },	/* nop */
		{ 0xd50e871f, TLBI_NONE },	/* alle3 */
	};
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		EQUAL(insn_tlbi(rows[i].insn), rows[i].tlbi);
}

static void test_hints(void)
{
	EQUAL(insn_hint(0xd503201f), 0);
	EQUAL(insn_hint(0xd5032e1f), 0x70);
	EQUAL(insn_hint(0xd5032e7f), 0x73);
	EQUAL(insn_hint(0xd5033fdf) + 1, 0);
	EQUAL(insn_hint(0xf9400020) + 1, 0);
}

int main(void)
{
	RUN(test_classes);
	RUN(test_tlbis);
	RUN(test_hints);
	return END();
}
