// SPDX-License-Identifier: GPL-2.0
/*
 * Data aborts: each kind of access to each kind of place. Registers that the access would have
 * written, including its base, must be unchanged.
 */
#include "trap.h"
#include "mmu.h"

#define TO(address) IMM("x20", address)

#define ACCESS_ROWS(place, address, modes)						\
	TRAP("abort." place ".ldr", modes, TO(address) "ldr x0, [x20, #8]");		\
	TRAP("abort." place ".str", modes, TO(address) "str x1, [x20]\n\tldr x2, [x20]");	\
	TRAP("abort." place ".ldrb", modes, TO(address) "ldrb w0, [x20, #3]");		\
	TRAP("abort." place ".ldrsh", modes, TO(address) "ldrsh x0, [x20, #6]");	\
	TRAP("abort." place ".strh", modes, TO(address) "strh w1, [x20, #2]");		\
	TRAP("abort." place ".ldp", modes, TO(address) "ldp x0, x1, [x20, #16]");	\
	TRAP("abort." place ".stp-pre", modes, TO(address) "stp x1, x2, [x20, #16]!");	\
	TRAP("abort." place ".ldr-post", modes, TO(address) "ldr x0, [x20], #8");	\
	TRAP("abort." place ".ldxr", modes, TO(address) "ldxr x0, [x20]\n\tclrex");	\
	TRAP("abort." place ".ldar", modes, TO(address) "ldar w0, [x20]");		\
	TRAP("abort." place ".stlr", modes, TO(address) "stlr x1, [x20]");		\
	TRAP("abort." place ".prfm", modes, TO(address) "prfm pldl1keep, [x20]");	\
	TRAP("abort." place ".ldtr", modes, TO(address) "ldtr x0, [x20]");		\
	TRAP("abort." place ".sttr", modes, TO(address) "sttr x1, [x20]");		\
	TRAP("abort." place ".dc-cvac", modes, TO(address) "dc cvac, x20");		\
	TRAP("abort." place ".dc-civac", modes, TO(address) "dc civac, x20");		\
	TRAP("abort." place ".dc-zva", modes, TO(address) "dc zva, x20");		\
	TRAP("abort." place ".ic-ivau", modes, TO(address) "ic ivau, x20")

ACCESS_ROWS("k-data", K_DATA, ALL);
ACCESS_ROWS("k-readonly", K_READONLY, EL1);
ACCESS_ROWS("k-user", K_USER, ALL);
ACCESS_ROWS("k-unmapped", K_UNMAPPED, ALL);
ACCESS_ROWS("k-unmapped-2", K_UNMAPPED_2, EL1);
ACCESS_ROWS("k-unmapped-1", K_UNMAPPED_1, EL1);
ACCESS_ROWS("k-outside", K_OUTSIDE, ALL);
ACCESS_ROWS("k-block", K_BLOCK, EL1);
ACCESS_ROWS("k-cont", K_CONT, EL1);
ACCESS_ROWS("k-table-readonly", K_TABLE_RO, EL1);
ACCESS_ROWS("k-table-user", K_TABLE_USER, ALL);
ACCESS_ROWS("u-data", U_DATA, ALL);
ACCESS_ROWS("u-readonly", U_READONLY, ALL);
ACCESS_ROWS("u-kernel", U_KERNEL, ALL);
ACCESS_ROWS("u-unmapped", U_UNMAPPED, ALL);
ACCESS_ROWS("u-unmapped-2", U_UNMAPPED_2, EL0);
ACCESS_ROWS("u-unmapped-1", U_UNMAPPED_1, EL0);
ACCESS_ROWS("u-outside", U_OUTSIDE, ALL);
ACCESS_ROWS("u-execute", U_EXECUTE, EL0);

/* Code that has just run is read; what its page has behind the RET could be anything. */
#define READ_CODE(name, text) \
	TRAP("code." name, EL1, TO(K_FUNCTION) "blr x20\n\tmov x21, #-16\n\tmov x2, #-1\n\t" text)

READ_CODE("ldr", "ldr x0, [x20, #16]\n\tldr x1, [x20, #4088]");
READ_CODE("ldr-w", "ldr w0, [x20, #20]\n\tldr w2, [x20]");
READ_CODE("ldrb", "ldrb w0, [x20, #4095]\n\tldrb w2, [x20, #7]");
READ_CODE("ldrh", "ldrh w0, [x20, #4094]\n\tldrh w2, [x20, #6]");
READ_CODE("ldrsb", "ldrsb w0, [x20, #13]\n\tldrsb x1, [x20, #14]\n\tldrsb x2, [x20, #15]");
READ_CODE("ldrsh", "ldrsh w0, [x20, #12]\n\tldrsh x1, [x20, #14]\n\tldrsh x2, [x20, #22]");
READ_CODE("ldrsw", "ldrsw x0, [x20, #12]\n\tldrsw x1, [x20, #16]");
READ_CODE("ldur", "add x20, x20, #64\n\tldur x0, [x20, #-16]\n\tldur w1, [x20, #-20]");
READ_CODE("unaligned", "ldur x0, [x20, #3]\n\tldur x1, [x20, #12]\n\tldur w2, [x20, #7]");
READ_CODE("page-end", "add x20, x20, #4092\n\tldur w0, [x20]\n\tldur x1, [x20, #-5]\n\t"
	  "ldurh w2, [x20, #2]");
READ_CODE("next-page", "add x20, x20, #4092\n\tldr x0, [x20]");
READ_CODE("index", "ldr x0, [x20, x2, lsl #3]");
READ_CODE("index-in", "mov x21, #40\n\tldr x0, [x20, x21]\n\tldr w1, [x20, w21, uxtw #2]\n\t"
	  "neg w2, w21\n\tadd x20, x20, #512\n\tldr x2, [x20, w2, sxtw #3]");
READ_CODE("kept-registers", "ldr x27, [x20, #24]\n\tmov x22, x20\n\tldr x0, [x22, #32]\n\t"
	  "mov x23, #5\n\tldr x1, [x20, x23, lsl #3]");
READ_CODE("zero", "ldr xzr, [x20, #24]\n\tldr wzr, [x20, #28]");
READ_CODE("to-itself", "mov x0, x20\n\tldr x0, [x0, #48]");
READ_CODE("pair", "ldp x0, x1, [x20, #16]\n\tldp w21, w2, [x20, #40]");
READ_CODE("write-back", "ldr x0, [x20], #16\n\tldr x1, [x20, #8]!\n\tldp x2, x21, [x20], #16");
READ_CODE("ordered", "add x20, x20, #32\n\tldar x0, [x20]\n\tldarb w1, [x20]\n\tldxr w2, [x20]\n\t"
	  "clrex");
READ_CODE("simd", "ldr q0, [x20, #16]\n\tfmov x0, d0\n\tldr d1, [x20, #8]\n\tfmov x1, d1");
READ_CODE("unprivileged", "ldtr x0, [x20, #16]");
READ_CODE("unprivileged-b", "ldtrb w0, [x20, #16]");
READ_CODE("write", "str x0, [x20, #16]");
READ_CODE("again", "ldr x0, [x20, #16]\n\tblr x20\n\tldr x0, [x20, #16]\n\tldr x1, [x20, #16]\n\t"
	  "blr x20");
READ_CODE("all", "mov x0, #0\n\tmov x1, #512\n1:\tldr x2, [x20]\n\teor x0, x2, x0, ror #3\n\t"
	  "add x20, x20, #8\n\tsubs x1, x1, #1\n\tb.ne 1b\n\tsub x20, x20, #4096\n\tblr x20");
READ_CODE("tagged", "movk x20, #0x5aff, lsl #48\n\tldr x0, [x20, #16]");

/* TCR_EL1.HA is 0, so hardware does not set the access flag. */
TRAP("abort.k-old.ldr", EL1, TO(K_OLD) "ldr x0, [x20]");
TRAP("abort.k-old.str", EL1, TO(K_OLD) "str x1, [x20]");
TRAP("abort.u-old.ldr", ALL, TO(U_OLD) "ldr x0, [x20]");
TRAP("abort.u-old.str", ALL, TO(U_OLD) "str x1, [x20]");

/* Not canonical, and canonical except for the top byte. */
TRAP("abort.hole.ldr", ALL, TO(0x0010000000000000) "ldr x0, [x20]");
TRAP("abort.hole.str", ALL, TO(0xff0fffffffffff00) "str x0, [x20]");
TRAP("abort.tagged.upper", EL1, TO(0x12ffff8000202000) "ldr x0, [x20]");
TRAP("abort.tagged.lower", ALL, TO(0x3400007000202000) "ldr x0, [x20]");
TRAP("abort.null.ldr", ALL, TO(0) "ldr x0, [x20]");
TRAP("abort.null.str", ALL, TO(0) "str x0, [x20, #16]");
TRAP("abort.top.ldr", ALL, TO(0xfffffffffffffff8) "ldr x0, [x20]");
TRAP("abort.cross.ldr", EL1, TO(0xffffff8000206ffc) "ldr x0, [x20]");
TRAP("abort.cross.ldp", EL1, TO(0xffffff8000203ff8) "ldp x0, x1, [x20, #-8]");
TRAP("abort.cross.u-stp", ALL, TO(0x7000202ff8) "stp x0, x1, [x20]");

TRAP("align.normal.ldr", ALL, TO(U_DATA) "ldr x0, [x20, #1]");
TRAP("align.normal.str", ALL, TO(U_DATA) "str x0, [x20, #3]\n\tldr x1, [x20]");
TRAP("align.normal.stp", ALL, TO(U_DATA) "add x20, x20, #5\n\tstp x0, x1, [x20]");
TRAP("align.normal.ldxr", ALL, TO(U_DATA) "add x20, x20, #4\n\tldxr x0, [x20]");
TRAP("align.normal.stxr", ALL, TO(U_DATA) "add x20, x20, #2\n\tstxr w0, x1, [x20]");
TRAP("align.normal.ldar", ALL, TO(U_DATA) "add x20, x20, #1\n\tldar w0, [x20]");
TRAP("align.device.ldr", EL1, TO(K_DEVICE) "ldr x0, [x20, #8]");
TRAP("align.device.odd", EL1, TO(K_DEVICE) "ldr x0, [x20, #1]");
TRAP("align.device.odd-str", EL1, TO(K_DEVICE) "add x20, x20, #2\n\tstr w0, [x20, #1]");
TRAP("align.device.zva", EL1, TO(K_DEVICE) "dc zva, x20");

SETUP strict_alignment(struct probe_state *state)
{
	(void)state;
	write_sysreg(sctlr_el1, SCTLR_MMU_ON | SCTLR_A);
	isb();
}

TRAP_SETUP("align.strict.ldr", ALL, 0, strict_alignment, TO(U_DATA) "ldr x0, [x20, #1]");
TRAP_SETUP("align.strict.ldrh", ALL, 0, strict_alignment, TO(U_DATA) "ldrh w0, [x20, #1]");
TRAP_SETUP("align.strict.aligned", ALL, 0, strict_alignment, TO(U_DATA) "ldr x0, [x20, #8]");
TRAP_SETUP("align.strict.before-fault", ALL, 0, strict_alignment,
	   TO(U_UNMAPPED) "ldr x0, [x20, #1]");

/* Exclusives and atomics that work, and the monitor across an exception. */
TRAP("exclusive.pair", ALL, TO(U_DATA) "1: ldxr x0, [x20]\n\tadd x0, x0, #1\n\t"
     "stxr w1, x0, [x20]\n\tcbnz w1, 1b\n\tldr x2, [x20]");
TRAP("exclusive.cleared", ALL, TO(U_DATA) "ldxr x0, [x20]\n\tclrex\n\tstxr w1, x0, [x20]");
TRAP("exclusive.readonly", ALL, TO(U_READONLY) "ldxr x0, [x20]\n\tstxr w1, x0, [x20]");
TRAP_IF("atomic.ldadd", ALL, FEATURE_LSE, TO(U_DATA) "mov x0, #5\n\t.inst 0xf8200281\n\tldr x2, [x20]");
TRAP_IF("atomic.ldadd-readonly", ALL, FEATURE_LSE, TO(U_READONLY) "mov x0, #5\n\t.inst 0xf8200281");
TRAP_IF("atomic.ldadd-unmapped", ALL, FEATURE_LSE, TO(U_UNMAPPED) "mov x0, #5\n\t.inst 0xf8200281");
TRAP_IF("atomic.cas-readonly", ALL, FEATURE_LSE, TO(U_READONLY) "mov x0, #5\n\t.inst 0xc8a07e81");
