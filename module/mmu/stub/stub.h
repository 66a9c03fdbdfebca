/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stubs: do instructions of virtual EL1 that are tokens in a copy (patch.h) without a trap.
 * The guest can access the shared page of its vCPU's register file (vm/regfile.h) at EL0, and
 * can execute the code behind it:
 *
 *	base				the page; base is aligned to AV_STUB_AREA
 *	base + AV_STUB_FIRST		stubs, whole granules each
 *	base + AV_STUB_AREA		the end
 *
 * N is the instruction's register; S is a scratch register: the first of X30, X29 and X28 that
 * the instruction does not use. The site becomes:
 *
 *	a read			LDR XN, =word, if the page is in AV_STUB_NEAR;
 *				NOP if N is XZR; otherwise B stub
 *	a read of DAIF		NOP if N is XZR; otherwise B stub
 *	all others		B stub
 *
 * The stub, which ends with a branch to the next instruction after the site:
 *
 *	a read			LDR XN, =word
 *	a read of DAIF		LDR XN, =word; AND XN, XN, #0x3c0
 *	a write, DAIFSet	push S; ADR S; store; pop S
 *	DAIFClr, MSR DAIF	push S; LDR S, =due; CBNZ S, 1f; ADR S; store; pop S;
 *				 B back; 1: pop S; the token
 *	two writes		push S; ADR S; store; store; pop S, or one store of a pair
 *
 * Two writes: the guest's instruction after the site (next) is a write too, and neither writes
 * DAIF. What the copy has in place of next stays.
 *
 * Dead register: if S is needed for one write, and next overwrites one of X0 to X28 other than
 * N, without reading it and without any possible fault, then S is that register and needs no
 * push and pop. The register's value is lost once the stub has begun, even if the stub is
 * undone: next is still to come and overwrites it. Whoever looks at all registers in between (a
 * dump, a debugger) sees another value. A load does not count as such a next, because its fault
 * handler may look; X29 and X30 do not, because a stack unwinder may.
 *
 * After a stub, only the DAIF bits of PSTATE.DAIF's word are defined. A push is at SP - 16:
 * kernels keep nothing below SP. Flags and registers unknown to EL0 do not change.
 *
 * The caller must ensure that virtual EL1 is little-endian; that a stub's fault at SP is not given
 * to the guest, whose instruction could not fault there; that no stub is made for registers that
 * AV_CHEAP_ROWS turns off; and that next is in the site's page. A stub that depends on next
 * (av_stub.next) is valid while both instructions are unchanged: if either changes, the site is
 * removed. A vCPU that is then in the stub, or has left it undone, loses the dead register for
 * good. But code that a kernel changes while others may execute it is NOPs and branches, which
 * overwrite no register, or the BRK of a probe, which executes the original instruction later.
 *
 * Outside the guest, PC is never in a stub: av_stub_rest() says how to leave one. Pure.
 */
#ifndef AV_MMU_STUB_H
#define AV_MMU_STUB_H

#include "lib/av_types.h"

#define AV_STUB_AREA		0x10000	/* bytes */
#define AV_STUB_FIRST		0x1000
/* Reach of a branch and of a literal load, in bytes: from -reach to reach - 4. */
#define AV_STUB_REACH		0x8000000
#define AV_STUB_NEAR		0x100000

/* In words: the longest stub; the alignment of stubs, whose rest is filled with UDF. */
#define AV_STUB_MAX		10
#define AV_STUB_GRANULE		4
#define AV_STUB_GRANULES	((AV_STUB_MAX + AV_STUB_GRANULE - 1) / AV_STUB_GRANULE)

struct av_stub {
	u32 site;	/* the word to put at the site */
	u32 next;	/* the required instruction after the site; 0: any */
	u32 nr;		/* words of the stub; 0: none needed */
	u32 word[AV_STUB_GRANULES * AV_STUB_GRANULE];	/* written in whole granules */
};

/*
 * Make the word for the site of the guest's instruction insn, and a stub at address at, which
 * is ignored if no stub is needed. next is the instruction after the site; 0: unknown. False,
 * with *stub undefined: insn has no stub, an address is not aligned, the stub is outside the
 * area, or a branch does not reach.
 */
bool av_stub_make(u32 insn, u32 next, u64 site, u64 base, u64 at, struct av_stub *stub);

/*
 * May a site's word replace the token while a CPU executes it? Arm ARM, B2.2.5: SVC, B and NOP may
 * replace each other, loads may not.
 */
bool av_stub_replaces_token(u32 site);

/*
 * Granules that insn's stub needs. 0: none needed, or not possible everywhere in the area.
 * After any other result, av_stub_make() succeeds wherever there is room.
 */
unsigned int av_stub_granules(u32 insn, u32 next, u64 site, u64 base);

/* How to leave a stub, as if the instruction had not been executed, or had been completely. */
enum av_stub_how {
	AV_STUB_NOWHERE,	/* not in a stub */
	AV_STUB_UNDO,		/* PC = site */
	AV_STUB_DONE,		/* PC = site + 4 */
	AV_STUB_POP_UNDO,	/* load the register from SP, SP += 16, PC = site */
	AV_STUB_POP_DONE,	/* the same, PC = site + 4 */
	AV_STUB_MASK,		/* the register &= AV_PSR_DAIF, PC = site + 4 */
	/* both writes are done */
	AV_STUB_DONE2,		/* PC = site + 8 */
	AV_STUB_POP_DONE2,	/* as AV_STUB_POP_DONE, PC = site + 8 */
};

struct av_stub_rest {
	u8 how;			/* enum av_stub_how */
	u8 reg;			/* of X0 to X30, for AV_STUB_POP_* and AV_STUB_MASK */
};

/*
 * How to leave insn's stub with PC at word index, which has not been executed. After a token
 * trapped, PC is behind it, where everything is done. next: as given to av_stub_make(), or
 * av_stub.next.
 */
struct av_stub_rest av_stub_rest(u32 insn, u32 next, unsigned int index);

#endif /* AV_MMU_STUB_H */
