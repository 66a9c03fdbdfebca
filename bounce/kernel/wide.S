/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The loops of wide.h. Vector registers are left as they were, so it does not matter whose values
 * they hold.
 */
#include <linux/linkage.h>
#include <asm/assembler.h>

	.arch_extension fp
	.arch_extension simd

/* x0: to, x1: from, x2: bytes, a multiple of 256 and not 0 */
SYM_FUNC_START(av_wide_copy)
	sub	sp, sp, #128
	mov	x3, sp
	st1	{v0.16b - v3.16b}, [x3], #64
	st1	{v4.16b - v7.16b}, [x3]
1:	ld1	{v0.16b - v3.16b}, [x1], #64
	ld1	{v4.16b - v7.16b}, [x1], #64
	st1	{v0.16b - v3.16b}, [x0], #64
	st1	{v4.16b - v7.16b}, [x0], #64
	ld1	{v0.16b - v3.16b}, [x1], #64
	ld1	{v4.16b - v7.16b}, [x1], #64
	subs	x2, x2, #256
	st1	{v0.16b - v3.16b}, [x0], #64
	st1	{v4.16b - v7.16b}, [x0], #64
	b.ne	1b
	mov	x3, sp
	ld1	{v0.16b - v3.16b}, [x3], #64
	ld1	{v4.16b - v7.16b}, [x3]
	add	sp, sp, #128
	ret
SYM_FUNC_END(av_wide_copy)

/* x0: at, a multiple of 64, x1: bytes, a multiple of 256 and not 0 */
SYM_FUNC_START(av_wide_clear)
1:	dc	zva, x0
	add	x0, x0, #64
	dc	zva, x0
	add	x0, x0, #64
	subs	x1, x1, #256
	dc	zva, x0
	add	x0, x0, #64
	dc	zva, x0
	add	x0, x0, #64
	b.ne	1b
	ret
SYM_FUNC_END(av_wide_clear)
