/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Saves and loads the 32 vector registers, FPSR and FPCR; x0 points to a
 * user_fpsimd_state. The kernel does not export its own routines.
 */
#include <linux/linkage.h>
#include <asm/assembler.h>

	.arch_extension fp
	.arch_extension simd

	.macro	all_pairs op
	\op	q0, q1, [x0, #16 * 0]
	\op	q2, q3, [x0, #16 * 2]
	\op	q4, q5, [x0, #16 * 4]
	\op	q6, q7, [x0, #16 * 6]
	\op	q8, q9, [x0, #16 * 8]
	\op	q10, q11, [x0, #16 * 10]
	\op	q12, q13, [x0, #16 * 12]
	\op	q14, q15, [x0, #16 * 14]
	\op	q16, q17, [x0, #16 * 16]
	\op	q18, q19, [x0, #16 * 18]
	\op	q20, q21, [x0, #16 * 20]
	\op	q22, q23, [x0, #16 * 22]
	\op	q24, q25, [x0, #16 * 24]
	\op	q26, q27, [x0, #16 * 26]
	\op	q28, q29, [x0, #16 * 28]
	\op	q30, q31, [x0, #16 * 30]
	.endm

SYM_FUNC_START(av_fp_state_save)
	all_pairs stp
	mrs	x1, fpsr
	mrs	x2, fpcr
	add	x0, x0, #512
	stp	w1, w2, [x0]
	ret
SYM_FUNC_END(av_fp_state_save)

SYM_FUNC_START(av_fp_state_load)
	all_pairs ldp
	add	x0, x0, #512
	ldp	w1, w2, [x0]
	msr	fpsr, x1
	msr	fpcr, x2
	ret
SYM_FUNC_END(av_fp_state_load)
