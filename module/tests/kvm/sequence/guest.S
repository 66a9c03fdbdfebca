/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A guest that executes a list of operations from its memory and stores the result of each. An
 * operation that faults has ESR_EL1 as its result.
 *
 *	x19 next operation	struct guest_op of guest.c
 *	x20 next result		x22 the first
 *	x21 end of the operations
 *
 * It is at GUEST_BASE, with its vectors at 2 KiB. The MMU is off and interrupts are masked. It ends
 * with a store outside all memory.
 */
	.macro	sysreg_read reg
	mrs	x0, \reg
	b	.Ldone
	.endm

	.macro	sysreg_write reg
	msr	\reg, x3
	b	.Lsynchronise
	.endm

	.macro	access insn
	\insn
	b	.Ldone
	.endm

	.section .rodata
	.balign	2048
	.globl	sequence_guest
	.hidden	sequence_guest
sequence_guest:
.Lnext:
	cmp	x19, x21
	b.eq	.Lfinish
	ldp	w4, w5, [x19]
	ldp	x2, x3, [x19, #8]
	mov	x0, xzr
	cbz	w5, 1f
	sub	w5, w5, #1
	ldr	x3, [x22, x5, lsl #3]
1:	adr	x6, .Lkinds
	add	x6, x6, x4, lsl #3
	br	x6
.Lsynchronise:
	isb
.Ldone:
	dsb	sy
	str	x0, [x20], #8
	add	x19, x19, #24
	b	.Lnext
.Lfinish:
	mov	x1, #0x0a000000
	str	x20, [x1]
	b	.Lfinish
.Lcall:
	mov	x0, x3
	mov	x1, x2
	mov	x2, #0x40000000
	mov	x3, xzr
	hvc	#0
	b	.Ldone

	/* In the order of enum guest_kind, two instructions each. */
.Lkinds:
	access	"ldrb w0, [x2]"
	access	"ldrh w0, [x2]"
	access	"ldr w0, [x2]"
	access	"ldr x0, [x2]"
	access	"strb w3, [x2]"
	access	"strh w3, [x2]"
	access	"str w3, [x2]"
	access	"str x3, [x2]"
	b	.Lcall
	nop
	sysreg_read S3_0_C12_C8_0	// ICC_IAR0_EL1
	sysreg_read S3_0_C12_C12_0	// ICC_IAR1_EL1
	sysreg_read S3_0_C12_C8_2	// ICC_HPPIR0_EL1
	sysreg_read S3_0_C12_C12_2	// ICC_HPPIR1_EL1
	sysreg_read S3_0_C12_C11_3	// ICC_RPR_EL1
	sysreg_read S3_0_C4_C6_0	// ICC_PMR_EL1
	sysreg_read S3_0_C12_C8_3	// ICC_BPR0_EL1
	sysreg_read S3_0_C12_C12_3	// ICC_BPR1_EL1
	sysreg_read S3_0_C12_C12_4	// ICC_CTLR_EL1
	sysreg_read S3_0_C12_C12_6	// ICC_IGRPEN0_EL1
	sysreg_read S3_0_C12_C12_7	// ICC_IGRPEN1_EL1
	sysreg_read S3_0_C12_C8_4	// ICC_AP0R0_EL1
	sysreg_read S3_0_C12_C9_0	// ICC_AP1R0_EL1
	sysreg_read S3_0_C12_C12_5	// ICC_SRE_EL1
	sysreg_read isr_el1
	sysreg_write S3_0_C12_C8_1	// ICC_EOIR0_EL1
	sysreg_write S3_0_C12_C12_1	// ICC_EOIR1_EL1
	sysreg_write S3_0_C12_C11_1	// ICC_DIR_EL1
	sysreg_write S3_0_C4_C6_0	// ICC_PMR_EL1
	sysreg_write S3_0_C12_C8_3	// ICC_BPR0_EL1
	sysreg_write S3_0_C12_C12_3	// ICC_BPR1_EL1
	sysreg_write S3_0_C12_C12_4	// ICC_CTLR_EL1
	sysreg_write S3_0_C12_C12_6	// ICC_IGRPEN0_EL1
	sysreg_write S3_0_C12_C12_7	// ICC_IGRPEN1_EL1
	sysreg_write S3_0_C12_C12_5	// ICC_SRE_EL1
	sysreg_write S3_0_C12_C11_5	// ICC_SGI1R_EL1
	sysreg_write S3_0_C12_C11_6	// ICC_ASGI1R_EL1
	sysreg_write S3_0_C12_C11_7	// ICC_SGI0R_EL1

	.balign	2048
	.rept	16
	.balign	128
	mrs	x0, esr_el1
	mrs	x7, elr_el1
	add	x7, x7, #4
	msr	elr_el1, x7
	eret
	.endr
	.globl	sequence_guest_end
	.hidden	sequence_guest_end
sequence_guest_end:
