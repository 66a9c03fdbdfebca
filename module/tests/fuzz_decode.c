// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz target of the load/store decoder: any words, any register values. The decoder must not read
 * outside x0 to x30, must have no undefined shift or overflow (the sanitizers see those), and must
 * not describe an impossible transfer.
 */
#include <stdlib.h>

#include "mmio/decode.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u64 *x = malloc(31 * sizeof(*x));	/* exact: ASan guards the end */
	struct av_ldst ls;
	size_t i;
	u32 insn;

	if (!x)
		return 0;
	for (i = 0; i < 31; i++)
		x[i] = size ? 0x0101010101010101ULL * data[i % size] : 0;
	for (; size >= sizeof(insn); data += sizeof(insn), size -= sizeof(insn)) {
		memcpy(&insn, data, sizeof(insn));
		av_insn_decode(insn, &ls);
		if (!av_ldst_name(&ls) || ls.size > 3 || ls.rt > 31 || ls.rt2 > 31)
			abort();
		if (ls.kind != AV_LDST_SINGLE && ls.kind != AV_LDST_PAIR)
			continue;
		av_ldst_address(&ls, x, x[0], x[1]);
		av_ldst_extend(&ls, x[2]);
	}
	free(x);
	return 0;
}
