/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two sets of vectors for code that masks all of DAIF meanwhile, so that only synchronous exceptions
 * from EL1 with SP_EL1 can come.
 */
#include <linux/linkage.h>
#include <asm/assembler.h>

#define EC_DATA_ABORT	0x25		/* from EL1 */
#define FSC_CONFLICT	0x30

	.macro	vectors sync
	.rept	4
	.balign	128
	b	.
	.endr
	.balign	128
	\sync
	.rept	11
	.balign	128
	b	.
	.endr
	.endm

	.text
	.balign	2048
costs_svc_vectors:
	vectors	eret

/* void costs_exceptions(unsigned long n): n times an SVC to these vectors, and back. */
SYM_FUNC_START(costs_exceptions)
	mrs	x3, vbar_el1
	mrs	x4, elr_el1
	mrs	x5, spsr_el1
	adr	x2, costs_svc_vectors
	msr	vbar_el1, x2
	isb
1:	svc	#0
	subs	x0, x0, #1
	b.ne	1b
	msr	vbar_el1, x3
	msr	elr_el1, x4
	msr	spsr_el1, x5
	isb
	ret
SYM_FUNC_END(costs_exceptions)

/* u64 costs_load(const u64 *at): the word there; ~0 after a TLB conflict abort, which is taken here. */
SYM_FUNC_START(costs_load)
.Lload:
	ldr	x0, [x0]
	ret
SYM_FUNC_END(costs_load)

	.balign	2048
SYM_CODE_START(costs_switch_vectors)
	vectors	"b .Lsync"
.Lsync:
	sub	sp, sp, #16
	stp	x15, x16, [sp]
	mrs	x15, elr_el1
	adr	x16, .Lload
	cmp	x15, x16
	b.ne	.Lhosts
	mrs	x15, esr_el1
	lsr	x16, x15, #26
	cmp	x16, #EC_DATA_ABORT
	b.ne	.Lhosts
	and	x15, x15, #0x3f
	cmp	x15, #FSC_CONFLICT
	b.ne	.Lhosts
	mrs	x15, elr_el1
	add	x15, x15, #4
	msr	elr_el1, x15
	mov	x0, #-1
	b	.Lreturn
	/* Not one that is expected: take it again, with the host's vectors and tables. */
.Lhosts:
	adr_l	x15, costs_host
	ldp	x15, x16, [x15]
	msr	ttbr1_el1, x16
	isb
	msr	vbar_el1, x15
.Lreturn:
	ldp	x15, x16, [sp]
	add	sp, sp, #16
	eret
SYM_CODE_END(costs_switch_vectors)
