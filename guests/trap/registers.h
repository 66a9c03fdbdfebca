/* SPDX-License-Identifier: GPL-2.0 */
/* One row per system register: EL1's permitted accesses, and the defined bits. */
#ifndef GUESTS_TRAP_REGISTERS_H
#define GUESTS_TRAP_REGISTERS_H

#include "types.h"

enum register_kind {
	READ_WRITE,	/* patterns are written and must read back */
	TOGGLE,		/* the bits of the mask are inverted and must read back */
	READ_ONLY,	/* reads; a write is tried, and its effect is printed */
	WRITE_ONLY,	/* zero is written; a read is tried */
	IDENTITY,	/* as READ_ONLY; its value is printed on a line of its own */
	VOLATILE,	/* reads; writes are not tried */
};

struct register_row {
	const char *name;
	u16 encoding;
	enum register_kind kind;
	u64 mask;
};

#define REGISTER_ENCODING(op0, op1, crn, crm, op2) \
	((op0) << 14 | (op1) << 11 | (crn) << 7 | (crm) << 3 | (op2))

#define MRS(rt, encoding) (0xd5300000U | (u32)((encoding) & 0x7fff) << 5 | (rt))
#define MSR(rt, encoding) (0xd5100000U | (u32)((encoding) & 0x7fff) << 5 | (rt))

extern const struct register_row register_rows[];
extern const unsigned int register_row_count;

#endif
