/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stubs: instructions of virtual EL1 that are tokens in a copy (mmu/patch.h), done
 * without a trap. The shared page of a vCPU's register file (vm/regfile.h) is at an
 * address that its guest reads and writes at EL0, with code behind it that the guest
 * can only execute:
 *
 *	base				the page; base is aligned to AV_STUB_AREA
 *	base + AV_STUB_FIRST		stubs, whole granules each
 *	base + AV_STUB_AREA		the end
 *
 * N is the instruction's register; S is one that the stub takes, of X30, X29 and X28
 * the first that the instruction does not have. What stands at the site:
 *
 *	a read			LDR XN, =word, where the page is in AV_STUB_NEAR;
 *				NOP where N is XZR; else B stub
 *	a read of DAIF		NOP where N is XZR; else B stub
 *	all others		B stub
 *
 * and in the stub, which ends with a branch behind what it does:
 *
 *	a read			LDR XN, =word
 *	a read of DAIF		LDR XN, =word; AND XN, XN, #0x3c0
 *	a write, DAIFSet	push S; ADR S; store; pop S
 *	DAIFClr, MSR DAIF	push S; LDR S, =due; CBNZ S, 1f; ADR S; store; pop S;
 *				 B back; 1: pop S; the token
 *	two writes		push S; ADR S; store; store; pop S, or one store of a pair
 *
 * Two writes, none of them of DAIF, that stand side by side: next, the guest's
 * instruction behind the site, is the second. It keeps what stands for it alone.
 *
 * A dead register: where one write needs S, and next overwrites one of X0 to X28, but
 * not N, without reading it and without any way to fault, S is that one, and there is
 * neither push nor pop. Its value is lost as soon as the stub has begun, and where it
 * is undone too: next is still to come, and overwrites it. Who looks at all registers
 * in between, a dump or a debugger, sees another value there. A load is no such next,
 * as its fault's handler may look; and X29 and X30 are not taken, as who unwinds a
 * stack does.
 *
 * Only the bits of PSTATE.DAIF in its word mean something, the others may be anything
 * after a stub. A push is at SP - 16: kernels keep nothing below SP. Flags, and what
 * EL0 does not have, stay as they are.
 *
 * For the caller to see to: virtual EL1 is little-endian; a fault of a stub at SP is
 * none that the guest could have at this place; who does what AV_CHEAP_ROWS can turn
 * off does not ask for its stub. next is in the site's page. A stub that goes by
 * next (av_stub.next) is for as long as both instructions stand there: when either
 * changes, the site goes. For a vCPU that is in the stub at that time, or has left it
 * undone, a dead register is lost for good. But what a kernel changes where others may
 * be about to execute it are NOPs and branches, which overwrite none, or a BRK of a
 * probe, which has the instruction done after all.
 *
 * Outside the guest, PC is never in a stub: av_stub_rest() says how it is left. Pure.
 */
#ifndef AV_MMU_STUB_H
#define AV_MMU_STUB_H

#include "lib/av_types.h"

#define AV_STUB_AREA		0x10000	/* bytes */
#define AV_STUB_FIRST		0x1000
/* Of a branch and of a literal: bytes, from -reach to reach - 4. */
#define AV_STUB_REACH		0x8000000
#define AV_STUB_NEAR		0x100000

/* Words: the longest stub, and what stubs are aligned to and rounded up to with UDF. */
#define AV_STUB_MAX		10
#define AV_STUB_GRANULE		4
#define AV_STUB_GRANULES	((AV_STUB_MAX + AV_STUB_GRANULE - 1) / AV_STUB_GRANULE)

struct av_stub {
	u32 site;	/* the word for the site */
	u32 next;	/* what has to stand behind the site; 0: anything */
	u32 nr;		/* words of the stub; 0: none needed */
	u32 word[AV_STUB_GRANULES * AV_STUB_GRANULE];	/* whole granules are written */
};

/*
 * What stands for the guest's instruction insn at the address site, and in a stub at
 * the address at, which is not looked at if none is needed. next is the instruction
 * behind it; 0: not known. False, and *stub is nothing: insn has none, one address is
 * not aligned, the stub is not in the area, or a branch does not reach.
 */
bool av_stub_make(u32 insn, u32 next, u64 site, u64 base, u64 at, struct av_stub *stub);

/*
 * The granules that insn's stub takes. 0: none is needed, or none possible at some
 * place of the area; so after another answer av_stub_make() does not fail for a place
 * that has room.
 */
unsigned int av_stub_granules(u32 insn, u32 next, u64 site, u64 base);

/* What is to be done to leave a stub as if the instruction had never, or had wholly, been done. */
enum av_stub_how {
	AV_STUB_NOWHERE,	/* this is no place in a stub */
	AV_STUB_UNDO,		/* PC = site */
	AV_STUB_DONE,		/* PC = site + 4 */
	AV_STUB_POP_UNDO,	/* the register from the 8 bytes at SP, SP += 16, PC = site */
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
 * PC is at word index of insn's stub, which av_stub_make() made and which has not
 * executed that word. After the token, the trap's PC is behind it, where all is done.
 * next is what it was then, or av_stub.next.
 */
struct av_stub_rest av_stub_rest(u32 insn, u32 next, unsigned int index);

#endif /* AV_MMU_STUB_H */
