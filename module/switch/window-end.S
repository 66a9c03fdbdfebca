/* SPDX-License-Identifier: GPL-2.0 */
/* The end of the window's code: linked behind all that belongs to it. */
#include <linux/linkage.h>

	.section .av_window.text, "ax"
SYM_CODE_START(av_window_code_end)
	nop
SYM_CODE_END(av_window_code_end)
