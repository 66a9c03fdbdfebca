/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fuzzer's guest: a small kernel that draws from x28 and forever does one of sixteen things
 * that trap or that the hypervisor has to follow. It is at GUEST_BASE, with vectors at 0x800, the
 * program at 0x1000, and user code in a separate page at 0x2000; guest.c has the tables. It
 * runs with the MMU on or off, with a vGIC or without: it skips operations on parts that do not
 * exist.
 *
 * x26 = GUEST_MMIO, x27 = GUEST_BASE; x20 to x24 are the handlers'.
 */
	.section .rodata
	.balign	4096
	.globl	fuzz_guest, fuzz_guest_end
fuzz_guest:
	b	begin

	.macro	vector target
	.balign	0x80
	b	\target
	.endm

	.balign	0x800
	vector	synchronous
	vector	interrupt
	vector	interrupt
	vector	synchronous
	vector	synchronous
	vector	interrupt
	vector	interrupt
	vector	synchronous
	vector	from_user
	vector	user_interrupt
	vector	user_interrupt
	vector	from_user
	vector	from_user
	vector	from_user
	vector	from_user
	vector	from_user

	.balign	0x800
begin:
	mov	x27, #0x40000000
	mov	x26, #0x0a000000
	add	x0, x27, #0x800
	msr	vbar_el1, x0
	mov	x0, #0x300000
	msr	cpacr_el1, x0
	isb
	mov	x0, #0xff
	msr	S3_0_C4_C6_0, x0		/* ICC_PMR_EL1 */
	mov	x0, #1
	msr	S3_0_C12_C12_7, x0		/* ICC_IGRPEN1_EL1 */
	isb
	mrs	x1, mpidr_el1
	and	x1, x1, #0xf
	mov	x2, #0x080a0000
	add	x2, x2, x1, lsl #17
	mov	w0, #-1
	str	wzr, [x2, #0x14]		/* GICR_WAKER */
	add	x2, x2, #0x10000
	str	w0, [x2, #0x80]			/* GICR_IGROUPR0 */
	str	w0, [x2, #0x100]		/* GICR_ISENABLER0 */
	mov	x2, #0x08000000
	mov	w1, #0x12
	str	w1, [x2]			/* GICD_CTLR: affinity routing, group 1 */
	str	w0, [x2, #0x84]
	str	w0, [x2, #0x88]
	str	w0, [x2, #0x104]
	str	w0, [x2, #0x108]
	msr	daifclr, #2

next:
	eor	x28, x28, x28, lsl #13
	eor	x28, x28, x28, lsr #7
	eor	x28, x28, x28, lsl #17
	ubfx	x9, x28, #20, #4
	lsr	x10, x28, #32
	adr	x0, actions
	add	x0, x0, x9, lsl #2
	br	x0
actions:
	b	touch
	b	touch
	b	extra
	b	device
	b	bell
	b	invalidate
	b	remap
	b	remap
	b	sgi
	b	timer
	b	wait
	b	power
	b	gic
	b	user
	b	tables
	b	odds

touch:	/* a word in each page from 0x40140000 to 0x40180000, up to 256 times without a trap */
	ubfx	x4, x10, #12, #8
1:	mov	x1, #0x40140000
	and	x2, x10, #0xff8
	add	x1, x1, x2
	mov	x2, #64
2:	ldr	x3, [x1]
	str	x28, [x1]
	add	x1, x1, #0x1000
	subs	x2, x2, #1
	b.ne	2b
	subs	x4, x4, #1
	b.hi	1b
	b	next

extra:	/* where other slots come and go: the start of two of them, mostly */
	and	x1, x10, #0x3fff8
	and	x2, x10, #0x400000
	orr	x1, x1, x2
	tbz	w10, #31, 1f
	and	x1, x10, #0xfffff8
1:	mov	x2, #0x50000000
	add	x1, x1, x2
	tbz	w10, #30, 2f
	str	x28, [x1]
2:	ldr	x3, [x1]
	b	next

device:
	and	x1, x10, #0xff8
	add	x1, x1, x26
	tbz	w10, #31, 1f
	str	w28, [x1]
	b	next
1:	ldr	x3, [x1]
	b	next

bell:
	and	x1, x10, #0x38
	add	x1, x1, x26
	add	x1, x1, #0x1000
	str	x10, [x1]
	b	next

invalidate:
	dsb	ishst
	tbz	w10, #0, 1f
	tlbi	vmalle1is
	b	4f
1:	tbz	w10, #1, 2f
	lsl	x1, x10, #48
	tlbi	aside1is, x1
	b	4f
2:	mov	x1, #0x40000
	bfi	x1, x10, #0, #11
	tbz	w10, #31, 3f
	tlbi	vaae1is, x1
	b	4f
3:	tlbi	vae1is, x1
4:	dsb	ish
	isb
	b	next

remap:	/* one of 512 pages at 0x40400000, by the table at 0x40204000 */
	and	x1, x10, #0x1ff
	movz	x2, #0x4020, lsl #16
	movk	x2, #0x4000
	add	x2, x2, x1, lsl #3
	ubfx	x4, x10, #9, #2
	cbz	x4, 1f
	movz	x4, #0x4014, lsl #16
	movk	x4, #0x707
	bfi	x4, x10, #12, #6
	bfi	x4, x10, #6, #2
	ubfx	x5, x10, #14, #1
	bfi	x4, x5, #11, #1
1:	str	x4, [x2]
	dsb	ishst
	movz	x3, #0x4, lsl #16
	movk	x3, #0x400
	add	x3, x3, x1
	tlbi	vaae1is, x3
	dsb	ish
	isb
	lsl	x3, x3, #12
	ldr	x5, [x3]
	str	x28, [x3]
	b	next

sgi:
	and	x1, x10, #0xf
	lsl	x1, x1, #24
	orr	x1, x1, #0xf
	msr	S3_0_C12_C11_5, x1		/* ICC_SGI1R_EL1 */
	b	next

timer:
	and	x1, x10, #0xffff
	mov	x2, #1
	tbz	w10, #31, 1f
	msr	cntv_tval_el0, x1
	msr	cntv_ctl_el0, x2
	b	next
1:	msr	cntp_tval_el0, x1
	msr	cntp_ctl_el0, x2
	b	next

wait:
	mov	x1, #0x2000
	mov	x2, #1
	msr	cntv_tval_el0, x1
	msr	cntv_ctl_el0, x2
	tbz	w10, #0, 1f
	wfi
	b	next
1:	wfe
	b	next

power:	/* AFFINITY_INFO, CPU_ON; seldom CPU_SUSPEND, CPU_OFF, SYSTEM_RESET; or sharing */
	ubfx	x9, x10, #8, #7
	cmp	x9, #80
	b.hi	share
	movz	x0, #0xc400, lsl #16
	movk	x0, #4
	and	x1, x10, #3
	mov	x2, xzr
	cmp	x9, #40
	b.hi	1f
	movk	x0, #3
	add	x2, x27, #0x1000
	mov	x3, x28
	cmp	x9, #4
	b.hi	1f
	movk	x0, #1
	cmp	x9, #2
	b.hi	1f
	movz	x0, #0x8400, lsl #16
	movk	x0, #2
	cbnz	x9, 1f
	movk	x0, #9
1:	hvc	#0
	b	next

share:	/* a page is shared or taken back; nearly always one that is touched */
	movz	x0, #0xc600, lsl #16
	movk	x0, #3
	tbz	w10, #6, 1f
	movk	x0, #4
1:	mov	x1, #0x40140000
	bfi	x1, x10, #12, #6
	cmp	x9, #84
	csel	x1, x28, x1, lo
	mov	x2, xzr
	mov	x3, xzr
	hvc	#0
	b	next

gic:	/* a distributor's, a redistributor's or an ITS's register */
	ubfx	x9, x10, #28, #2
	mov	x2, #0x08000000
	and	x1, x10, #0xffc
	cbz	x9, 2f
	mov	x2, #0x080a0000
	and	x1, x10, #0x7fffc
	cmp	x9, #1
	b.eq	2f
	mov	x2, #0x08080000
	and	x1, x10, #0xfe0
	str	x1, [x2, #0x88]			/* GITS_CWRITER */
	ldr	x3, [x2, #0x90]			/* GITS_CREADR */
	ubfx	x9, x10, #16, #4
	cbnz	x9, next
	str	wzr, [x2]
	mov	w3, #1
	str	w3, [x2]
	b	next
2:	add	x1, x1, x2
	tbz	w10, #30, 3f
	str	w28, [x1]
3:	ldr	w3, [x1]
	b	next

user:	/* at 0x40600000, with its memory behind it */
	tbz	w10, #0, 1f
	svc	#0
	b	next
1:	mov	x1, #0x40600000
	msr	elr_el1, x1
	msr	spsr_el1, xzr
	eret

tables:	/* one of two tables, two ASIDs */
	mov	x1, #0x40200000
	ubfx	x2, x10, #0, #1
	add	x1, x1, x2, lsl #12
	ubfx	x2, x10, #1, #1
	bfi	x1, x2, #48, #1
	tbz	w10, #2, 1f
	msr	ttbr1_el1, x1
1:	msr	ttbr0_el1, x1
	isb
	/* The kernel's half shows the same. */
	and	x1, x10, #0x3fff8
	movk	x1, #0x4014, lsl #16
	orr	x1, x1, #0xffffff8000000000
	ldr	x3, [x1]
	b	next

odds:
	mrs	x1, id_aa64mmfr0_el1
	mrs	x1, cntvct_el0
	mrs	x1, S3_0_C12_C11_3		/* ICC_RPR_EL1 */
	mov	x1, #0x40140000
	bfi	x1, x10, #3, #10
	dc	civac, x1
	fmov	d0, x10
	fadd	d0, d0, d0
	ldxr	x2, [x1]
	add	x2, x2, #1
	stxr	w3, x2, [x1]
	tbz	w10, #31, next
	ic	iallu
	dsb	ish
	isb
	sev
	wfe
	b	next

/* On with the next instruction, or with something else if it cannot be had. */
synchronous:
	mrs	x20, esr_el1
	lsr	x20, x20, #26
	cmp	x20, #0x15
	b.eq	1f
	and	x21, x20, #0x3e
	cmp	x21, #0x20
	b.eq	2f
	mrs	x21, elr_el1
	add	x21, x21, #4
	msr	elr_el1, x21
1:	eret
2:	adr	x21, next
	msr	elr_el1, x21
	eret

from_user:
	adr	x21, next
	msr	elr_el1, x21
	mov	x21, #5
	msr	spsr_el1, x21
	eret

	.macro	acknowledge
	mrs	x20, S3_0_C12_C12_0		/* ICC_IAR1_EL1 */
	msr	S3_0_C12_C12_1, x20		/* ICC_EOIR1_EL1 */
	mov	x21, #2
	msr	cntv_ctl_el0, x21
	msr	cntp_ctl_el0, x21
	.endm

interrupt:
	acknowledge
	eret

user_interrupt:
	acknowledge
	eret

	.balign	0x1000
	/* User code: memory from its next page on, a device, a call. */
	movz	x1, #0x4060, lsl #16
	movk	x1, #0x1000
	and	x2, x10, #0x3fff8
	add	x1, x1, x2
	ldr	x3, [x1]
	str	x28, [x1]
	tbz	w10, #31, 1f
	mrs	x3, cntvct_el0
	mov	x1, #0x0a000000
	ldr	x3, [x1]
1:	svc	#0
	b	.
fuzz_guest_end:

	.section .note.GNU-stack, "", %progbits
