// SPDX-License-Identifier: GPL-2.0
/* The table of switch/quick.S: the instructions of tokens. */
#include "vm/token.h"

#define TOKEN_OTHER(name)	AV_WORD_##name,
#define TOKEN_READ(name)	AV_WORD_READ(name),
#define TOKEN_WRITE(name)	AV_WORD_WRITE(name),
#define INSNS {								\
	AV_TOKENS_ALWAYS(TOKEN_OTHER, TOKEN_READ, TOKEN_WRITE)		\
	AV_TOKENS_ROWS(TOKEN_OTHER, TOKEN_READ, TOKEN_WRITE)		\
}

extern const u32 av_window_timed_token_insns[AV_NR_TOKENS];
const u32 av_window_token_insns[] = INSNS, av_window_timed_token_insns[] = INSNS;
