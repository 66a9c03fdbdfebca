/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The arm64 boot protocol (Image header, device tree in x0) and the call of C code. The image runs
 * wherever it was loaded: it is linked at 0 and relocates itself. Nothing before guest_start() may
 * use an absolute address.
 */

	.section .head, "ax"
	b	start
	.long	0
	.quad	0			/* text offset */
	/* The linker script puts the image's size here. */
	.section .head.rest, "a"
	.quad	0xa			/* little endian, 4 KiB pages, anywhere */
	.quad	0, 0, 0
	.ascii	"ARM\x64"
	.long	0

	.text
start:
	msr	daifset, #0xf
	mov	x20, x0
	adrp	x0, vectors
	add	x0, x0, :lo12:vectors
	msr	vbar_el1, x0
	msr	spsel, #1
	isb

	adrp	x0, bss_start
	add	x0, x0, :lo12:bss_start
	adrp	x1, image_end
	add	x1, x1, :lo12:image_end
1:	stp	xzr, xzr, [x0], #16
	cmp	x0, x1
	b.lo	1b

	/* R_AARCH64_RELATIVE: a static image without symbols has no other kind. */
	adrp	x2, image_start
	adrp	x0, rela_start
	add	x0, x0, :lo12:rela_start
	adrp	x1, rela_end
	add	x1, x1, :lo12:rela_end
2:	cmp	x0, x1
	b.hs	3f
	ldp	x3, x4, [x0]
	ldr	x5, [x0, #16]
	add	x0, x0, #24
	cmp	w4, #1027
	b.ne	2b
	add	x5, x5, x2
	str	x5, [x2, x3]
	b	2b

3:	adrp	x0, boot_stack_end
	add	x0, x0, :lo12:boot_stack_end
	mov	sp, x0
	mov	x29, xzr
	mov	x30, xzr
	mov	x0, x20
	b	guest_start

/* A CPU that was switched on: x0 is its struct cpu_boot. */
	.globl	cpu_entry
cpu_entry:
	msr	daifset, #0xf
	mov	x20, x0
	adrp	x1, vectors
	add	x1, x1, :lo12:vectors
	msr	vbar_el1, x1
	msr	spsel, #1
	ldp	x1, x2, [x20, #40]	/* mair, ttbr0 */
	msr	mair_el1, x1
	msr	ttbr0_el1, x2
	ldp	x3, x4, [x20, #24]	/* sctlr, tcr */
	msr	tcr_el1, x4
	isb
	tlbi	vmalle1
	dsb	nsh
	msr	sctlr_el1, x3
	isb
	ldp	x1, x2, [x20]		/* stack, entry */
	mov	sp, x1
	ldr	x0, [x20, #16]
	mov	x29, xzr
	blr	x2
4:	wfi
	b	4b

	.bss
	.balign	16
	.space	16384
boot_stack_end:
