// SPDX-License-Identifier: GPL-2.0
/*
 * cpu/fast.c for the timed copy of the window (switch/timing.S): it notes which traps are to be
 * timed. Nothing in one copy may refer to the other.
 */
#define AV_FAST_TIMED		true
#define __window		__attribute__((__section__(".av_timed.text")))
#define av_fast			av_fast_timed
#define av_window_token_insns	av_window_timed_token_insns

#include "cpu/fast.c"
