// SPDX-License-Identifier: GPL-2.0
/*
 * Instruction words (32 bits, little endian) on standard input, what the
 * decoder makes of each on standard output, a line a word, for comparison
 * with another decoder (decode_capstone.py reads the format).
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
