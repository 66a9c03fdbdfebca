/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Aborts of virtual EL0 that belong to the guest, found by those of its tables that the window can
 * read (mmu/guest/switcher_tables.h). Part of switch/quick.S, whose rules apply.
 */
#define ESR_EC		0xfc000000
#define ESR_DATA_BIT	28			/* EC: a data abort, not an instruction abort */
#define ESR_CM_BIT	8
#define ESR_WNR_BIT	6
#define FSC		0x3f
#define FSC_WALKED	4			/* translation, access flag, permission … */
#define FSC_WALKED_LAST	15			/* … by level */

	/*
	 * An abort from virtual EL0, while an SVC could be taken to a copy. If the guest's table
	 * for the address is mapped here (mmu/guest/switcher_tables.h), its descriptor tells
	 * whether the guest takes this abort: it is no page, lacks the access flag, or is read-only
	 * on a write. C handles aborts on execution. x2 is FAR_EL1.
	 */
.Labort_of_el0:
	and	w1, w0, #FSC
	sub	w1, w1, #FSC_WALKED
	cmp	w1, #FSC_WALKED_LAST - FSC_WALKED
	b.hi	.Llight
	lsr	x1, x2, #TABLE_REGION_SHIFT	/* a tag makes it no region */
	and	x3, x1, #(1 << TABLES_BITS) - 1
	add	x3, sp, x3, lsl #TABLE_SHIFT
	stp	x0, x2, [sp, #SRF_ESR]
	ldr	x0, [x3, #SRF_TABLES + TABLE_REGION]
	cmp	x0, x1
	b.ne	.Llight
	ldr	x0, [x3, #SRF_TABLES + TABLE_ROOT0]
	ldr	x1, [sp, #SRF_ROOT0]
	cmp	x0, x1
	b.ne	.Llight
	/* If the read fails, all four are lost. */
	mrs	x0, elr_el1
	mrs	x1, spsr_el1
	stp	x0, x1, [sp, #SRF_PC]
	ldr	x0, [sp, #SRF_TABLES_AT]
	ubfx	x1, x2, #12, #TABLE_REGION_SHIFT - 12 + TABLES_BITS
SYM_INNER_LABEL(WINDOW(quick_table), SYM_L_GLOBAL)
	ldr	x1, [x0, x1, lsl #3]
	ldr	w0, [sp, #SRF_ESR]
	tbz	w1, #DESC_VALID_BIT, .Lno_page
	tbz	w1, #DESC_PAGE_BIT, .Llight
	tst	x1, #DESC_FAR_AWAY
	b.ne	.Llight
	tbz	w1, #DESC_AF_BIT, .Lno_access
	tbz	w0, #ESR_WNR_BIT, .Llight
	tbz	w1, #DESC_READ_ONLY_BIT, .Llight
	tbnz	x1, #DESC_DBM_BIT, .Llight
	mov	w1, #FSC_PERMISSION
.Lguests_fault:
	tbnz	w0, #ESR_CM_BIT, .Llight
	/* Was it still the guest's table? Pairs with the guest's DSB after its TLBI. */
	dmb	ishld
	ldr	x3, [x3, #SRF_TABLES + TABLE_REGION]
	cmp	x3, x2, lsr #TABLE_REGION_SHIFT
	b.ne	.Llight
	and	w3, w0, #1 << ESR_WNR_BIT
	and	w0, w0, #ESR_EC
	orr	w1, w1, w3
	orr	w0, w0, #ESR_IL
	orr	w0, w0, w1
	ubfx	x1, x0, #ESR_DATA_BIT, #1
	sub	x1, sp, x1, lsl #3
	ldr	x3, [x1, #SRF_FAST + 8 * FAST_PABT]
	add	x3, x3, #1
	str	x3, [x1, #SRF_FAST + 8 * FAST_PABT]
	time_this x3, x1, SRF_FAST+8*FAST_PABT
	add	x3, sp, #SRF_SHARED
	str	x2, [x3, #SHARED_FAR_EL1]
	b	.Lto_copy
.Lno_page:
	mov	w1, #FSC_TRANSLATION
	b	.Lguests_fault
.Lno_access:
	mov	w1, #FSC_ACCESS
	b	.Lguests_fault
