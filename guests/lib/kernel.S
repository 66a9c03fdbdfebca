/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of a kernel's Image before its code: the header, and unused space up to 64 KiB. From the
 * second page on it is filled like linkers fill gaps in code. Then come the vectors, by which a
 * hypervisor finds the Image.
 */
#include "kernel.h"

	/* Near the start of the program's image, which is an Image too. */
	.macro	to_kernel, n
	.rept	\n
	b	kernel_vectors + (. - kernel_first_vectors)
	.balign	128
	.endr
	.endm

	.text
	.balign	2048
	.globl	kernel_first_vectors
kernel_first_vectors:
	to_kernel 16

	.section .text.kernel, "ax"
	.balign	KERNEL_UNUSED
	.globl	kernel_image
kernel_image:
	.quad	0
	.quad	0			/* text offset */
	.quad	0x200000		/* the image's size */
	.quad	0xa			/* little endian, 4 KiB pages, anywhere */
	.quad	0, 0, 0
	.ascii	"ARM\x64"
	.long	0
	.set	filled, . - kernel_image
	.rept	(4096 - filled) / 8
	.quad	KERNEL_PATTERN + . - kernel_image	/* a value that nothing else has */
	.endr
	.rept	(KERNEL_UNUSED - 4096) / 8
	.quad	KERNEL_GAP
	.endr

	.macro	to_library, n
	.rept	\n
	b	vectors + (. - kernel_vectors)
	.balign	128
	.endr
	.endm

	.balign	2048
	.globl	kernel_vectors
kernel_vectors:
	to_library 4
	b	kernel_sync
	.balign	128
	b	kernel_irq
	.balign	128
	to_library 2
	b	kernel_user_sync
	.balign	128
	to_library 7

	/* Programs may have their own. */
	.weak	kernel_sync, kernel_irq, kernel_user_sync
kernel_sync:
	b	vectors + 0x200
kernel_irq:
	b	vectors + 0x280
kernel_user_sync:
	b	vectors + 0x400
