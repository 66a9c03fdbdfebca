// SPDX-License-Identifier: GPL-2.0
/*
 * Reads instruction words (32 bits, little endian) from standard input and prints what the decoder
 * finds in each, one line a word, to compare with another decoder (decode_capstone.py reads the
 * format).
 */
#include <stdio.h>

#include "mmio/decode.h"

int main(void)
{
	struct av_ldst ls;
	u32 insn;

	while (fread(&insn, sizeof(insn), 1, stdin) == 1) {
		av_insn_decode(insn, &ls);
		printf("%u %u %u %u %u %u %u %u %u %u %u %u %u %d\n", ls.kind, ls.mode,
		       ls.write, ls.sign, ls.wide, ls.ordered, ls.size, ls.rt, ls.rt2,
		       ls.rn, ls.rm, ls.extend, ls.shift, ls.offset);
	}
	return 0;
}
