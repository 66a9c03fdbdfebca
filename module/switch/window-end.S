/* SPDX-License-Identifier: GPL-2.0 */
/* End of the window's code, of both copies: must be linked last. */
#include <linux/linkage.h>

	.section .av_window.text, "ax"
SYM_CODE_START(av_window_code_end)
	nop
SYM_CODE_END(av_window_code_end)

	.section .av_timed.text, "ax"
SYM_CODE_START(av_window_timed_code_end)
	nop
SYM_CODE_END(av_window_timed_code_end)
