// SPDX-License-Identifier: GPL-2.0
/*
 * Every TLBI executes at EL1 and is UNDEFINED at EL0, and each kind makes a changed entry take
 * effect. Tests write the entries of the CHANGE pages through their addresses in the identity map,
 * which setup() puts into x10 and x11.
 */
#include "trap.h"
#include "mmu.h"

#define OPERAND "mov x1, xzr\n\t"

#define TLBI(op) TRAP("tlbi." op, ALL, OPERAND "tlbi " op ", x1\n\tdsb sy")
#define TLBI_ALL(op) TRAP("tlbi." op, ALL, "tlbi " op "\n\tdsb sy")

TLBI_ALL("vmalle1");
TLBI_ALL("vmalle1is");
TLBI("vae1");
TLBI("vae1is");
TLBI("aside1");
TLBI("aside1is");
TLBI("vaae1");
TLBI("vaae1is");
TLBI("vale1");
TLBI("vale1is");
TLBI("vaale1");
TLBI("vaale1is");
TRAP_F("tlbi.el2", EL1H, SKIP, "tlbi alle1\n\ttlbi alle2\n\ttlbi vmalls12e1\n\ttlbi vae2, x0\n\t"
       "tlbi ipas2e1, x0\n\ttlbi alle3");
TRAP_ROW("tlbi.range", ALL, SKIP, FEATURE_TLBIRANGE, ".", "mov x1, xzr\n\t.inst 0xd5088621\n\t.inst 0xd5088221");

/* x10, x11: the addresses of the entries of K_CHANGE and U_CHANGE; x12: the TLBI operand. */
SETUP change_pages(struct probe_state *state)
{
	state->x[10] = (u64)arena_entry(K_CHANGE);
	state->x[11] = (u64)arena_entry(U_CHANGE);
	state->x[12] = K_CHANGE >> 12 & 0xfffffffffffUL;
	state->x[13] = U_CHANGE >> 12 | (u64)ARENA_ASID << 48;
	state->x[14] = (u64)ARENA_ASID << 48;
}

/* Loads through the old entry, removes it, invalidates, loads again: the last must fault. */
#define REMOVE(name, half, entry, invalidate)					\
	TRAP_SETUP("tlb.remove." name, EL1, 0, change_pages,			\
		   IMM("x20", half) "ldr x0, [x20]\n\tstr xzr, [" entry "]\n\tdsb ishst\n\t" \
		   invalidate "\n\tdsb ish\n\tisb\n\tldr x1, [x20]")

REMOVE("upper.vmalle1", K_CHANGE, "x10", "tlbi vmalle1");
REMOVE("upper.vmalle1is", K_CHANGE, "x10", "tlbi vmalle1is");
REMOVE("upper.vae1", K_CHANGE, "x10", "tlbi vae1, x12");
REMOVE("upper.vaae1is", K_CHANGE, "x10", "tlbi vaae1is, x12");
REMOVE("upper.vale1is", K_CHANGE, "x10", "tlbi vale1is, x12");
REMOVE("upper.vaale1", K_CHANGE, "x10", "tlbi vaale1, x12");
REMOVE("lower.vmalle1", U_CHANGE, "x11", "tlbi vmalle1");
REMOVE("lower.vae1is", U_CHANGE, "x11", "tlbi vae1is, x13");
REMOVE("lower.vaae1", U_CHANGE, "x11", "tlbi vaae1, x13");
REMOVE("lower.vale1", U_CHANGE, "x11", "tlbi vale1, x13");
REMOVE("lower.vaale1is", U_CHANGE, "x11", "tlbi vaale1is, x13");
REMOVE("lower.aside1", U_CHANGE, "x11", "tlbi aside1, x14");
REMOVE("lower.aside1is", U_CHANGE, "x11", "tlbi aside1is, x14");

/* The operand in another register: a hypervisor may save x19 and above by other code. */
#define REMOVE_BY(reg, half, entry, op, operand)				\
	REMOVE("by." op "." reg, half, entry, "mov " reg ", " operand "\n\ttlbi " op ", " reg	\
	       "\n\tmov " reg ", xzr")
REMOVE_BY("x4", K_CHANGE, "x10", "vaae1is", "x12");
REMOVE_BY("x17", K_CHANGE, "x10", "vaale1is", "x12");
REMOVE_BY("x18", K_CHANGE, "x10", "vae1is", "x12");
REMOVE_BY("x19", K_CHANGE, "x10", "vaale1", "x12");
REMOVE_BY("x21", K_CHANGE, "x10", "vaale1is", "x12");
REMOVE_BY("x28", K_CHANGE, "x10", "vaae1", "x12");
REMOVE_BY("x29", K_CHANGE, "x10", "vaale1is", "x12");
REMOVE_BY("x30", U_CHANGE, "x11", "vale1is", "x13");
REMOVE_BY("x27", U_CHANGE, "x11", "vale1", "x13");
REMOVE_BY("x23", U_CHANGE, "x11", "vae1is", "x13");
REMOVE_BY("x24", U_CHANGE, "x11", "aside1is", "x14");

/*
 * x10: the address of the entry that leads to a table of the upper half; x16: the address of the
 * table's second entry; x17: a descriptor for it. The table is unlinked and its memory reused.
 */
static void table_pages(struct probe_state *state, u64 address)
{
	u64 *entry = arena_table_entry(address);

	change_pages(state);
	state->x[10] = (u64)entry;
	state->x[12] = address >> 12 & 0xfffffffffffUL;
	state->x[16] = (*entry & PTE_ADDRESS) + sizeof(u64);
	state->x[17] = arena_data_physical() | PTE_PAGE | PTE_AF | PTE_UXN | PTE_PXN;
}

SETUP table_ro(struct probe_state *state)
{
	table_pages(state, K_TABLE_RO);
}

SETUP table_xn(struct probe_state *state)
{
	table_pages(state, K_TABLE_XN);
}

#define TABLE(name, setup, address, invalidate)				\
	TRAP_SETUP("tlb.table." name, EL1, 0, setup,				\
		   IMM("x20", address) "ldr x0, [x20]\n\tmov x0, #0\n\tstr xzr, [x10]\n\t"	\
		   "dsb ishst\n\ttlbi " invalidate "\n\tdsb ish\n\tisb\n\t"		\
		   "str x17, [x16]\n\tdsb ish\n\tisb\n\tmov x16, #0\n\tmov x17, #0\n\t"	\
		   "ldr x1, [x20, #4096]")

TABLE("ro.vaae1is", table_ro, K_TABLE_RO, "vaae1is, x12");
TABLE("ro.aside1is", table_ro, K_TABLE_RO, "aside1is, x14");
TABLE("ro.vmalle1is", table_ro, K_TABLE_RO, "vmalle1is");
TABLE("xn.aside1is", table_xn, K_TABLE_XN, "aside1is, x14");
TABLE("xn.aside1", table_xn, K_TABLE_XN, "aside1, x14");

/* An invalid entry may become valid without a TLBI. */
TRAP_SETUP("tlb.add.upper", EL1, 0, change_pages,
	   IMM("x20", K_CHANGE) "ldr x2, [x10]\n\tstr xzr, [x10]\n\tdsb ish\n\ttlbi vmalle1\n\t"
	   "dsb ish\n\tisb\n\tstr x2, [x10]\n\tdsb ish\n\tisb\n\tldr x1, [x20]\n\tmov x2, #0");
TRAP_SETUP("tlb.add.lower", EL1, 0, change_pages,
	   IMM("x20", U_CHANGE) "ldr x2, [x11]\n\tstr xzr, [x11]\n\tdsb ish\n\ttlbi vmalle1\n\t"
	   "dsb ish\n\tisb\n\tstr x2, [x11]\n\tdsb ish\n\tisb\n\tldr x1, [x20]\n\tmov x2, #0");

/* Permissions removed; and break-before-make. */
#define CHANGE(name, half, entry, change, invalidate, use)			\
	TRAP_SETUP("tlb.change." name, EL1, 0, change_pages,			\
		   IMM("x20", half) "ldr x0, [x20]\n\tldr x2, [" entry "]\n\t"	\
		   change "\n\tstr x2, [" entry "]\n\tmov x2, #0\n\tdsb ishst\n\t"	\
		   invalidate "\n\tdsb ish\n\tisb\n\t" use)

CHANGE("upper.readonly", K_CHANGE, "x10", "orr x2, x2, #0x80", "tlbi vaale1is, x12", "str x0, [x20]");
CHANGE("lower.readonly", U_CHANGE, "x11", "orr x2, x2, #0x80", "tlbi vale1is, x13", "str x0, [x20]");
CHANGE("upper.old", K_CHANGE, "x10", "and x2, x2, #~0x400", "tlbi vaae1is, x12", "ldr x1, [x20]");
CHANGE("lower.kernel", U_CHANGE, "x11", "and x2, x2, #~0x40", "tlbi vae1is, x13", "ldtr x1, [x20]");
CHANGE("lower.global", U_CHANGE, "x11", "and x2, x2, #~0x800", "tlbi vae1is, x13", "ldr x1, [x20]");

/*
 * A page of the GIC, with a register that identifies it. x15: a descriptor for the page. After an
 * access to it, another page or none is mapped in its place.
 */
#define ID "#0xfe8"

SETUP device_pages(struct probe_state *state)
{
	change_pages(state);
	state->x[15] = (machine.gic_distributor.base + 0xf000) | PTE_PAGE | PTE_AF | PTE_DEVICE |
		       PTE_UXN | PTE_PXN;
}

#define INVALIDATE "dsb ishst\n\ttlbi vaae1is, x12\n\tdsb ish\n\tisb\n\t"
#define DEVICE(name, change, after, use)					\
	TRAP_SETUP("tlb.device." name, EL1, 0, device_pages,			\
		   IMM("x20", K_CHANGE) "ldr x2, [x10]\n\tstr xzr, [x10]\n\t" INVALIDATE \
		   change "\n\tstr x15, [x10]\n\tdsb ish\n\tisb\n\tldr w0, [x20, " ID "]\n\t" \
		   "ldr w4, [x20, " ID "]\n\t" after use)
#define TO_MEMORY "str xzr, [x10]\n\t" INVALIDATE "str x2, [x10]\n\tdsb ish\n\tisb\n\tmov x2, #0\n\t"

DEVICE("twice", "", "mov x2, #0\n\t", "ldr w5, [x20, " ID "]");
DEVICE("written", "", "mov x2, #0\n\tstr wzr, [x20, " ID "]\n\t", "ldr w5, [x20, " ID "]");
DEVICE("readonly", "orr x15, x15, #0x80", "mov x2, #0\n\t", "str wzr, [x20, " ID "]");
DEVICE("removed", "", "mov x2, #0\n\tstr xzr, [x10]\n\t" INVALIDATE, "ldr w5, [x20, " ID "]");
DEVICE("to-memory", "", TO_MEMORY, "ldr w5, [x20]");
DEVICE("to-memory-written", "", "str wzr, [x20, " ID "]\n\t" TO_MEMORY,
       "ldr x5, [x20]\n\tstr x5, [x20]\n\tldr x6, [x20]");
/* A non-global page of the upper half: a TLBI of its ASID drops it, other ASIDs do not have it. */
DEVICE("one-asids", "orr x15, x15, #0x800",
       "mov x2, #0\n\tstr xzr, [x10]\n\tdsb ishst\n\ttlbi aside1is, x14\n\tdsb ish\n\tisb\n\t",
       "ldr w5, [x20, " ID "]");
DEVICE("one-asids-to-memory", "orr x15, x15, #0x800",
       "str xzr, [x10]\n\tdsb ishst\n\ttlbi aside1, x14\n\tdsb ish\n\tisb\n\t"
       "str x2, [x10]\n\tdsb ish\n\tisb\n\tmov x2, #0\n\t", "ldr w5, [x20]");
DEVICE("one-asids-page", "orr x15, x15, #0x800",
       "mov x2, #0\n\tstr xzr, [x10]\n\tdsb ishst\n\tmov x3, x14\n\torr x3, x3, x12\n\t"
       "tlbi vae1is, x3\n\tdsb ish\n\tisb\n\tmov x3, #0\n\t", "ldr w5, [x20, " ID "]");
DEVICE("all", "", "mov x2, #0\n\tstr xzr, [x10]\n\tdsb ishst\n\ttlbi vmalle1\n\tdsb ish\n\tisb\n\t",
       "ldr w5, [x20, " ID "]");
DEVICE("to-user", "orr x15, x15, #0x40", "mov x2, #0\n\t", "ldtr w5, [x20, #0xf8]");

/* Another ASID does not see non-global entries; the return needs no invalidation. */
#define ASID(n) "mrs x2, ttbr0_el1\n\tand x2, x2, #0x0000ffffffffffff\n\tmov x3, #" #n "\n\t" \
	"orr x3, x2, x3, lsl #48\n\tmsr ttbr0_el1, x3\n\tisb\n\tmov x2, #0\n\tmov x3, #0\n\t"
TRAP_SETUP("tlb.asid.other", EL1, 0, change_pages,
	   IMM("x20", U_CHANGE) "ldr x0, [x20]\n\tstr xzr, [x11]\n\tdsb ish\n\t" ASID(7)
	   "ldr x1, [x20]");
TRAP_SETUP("tlb.asid.same-page", EL1, 0, change_pages,
	   IMM("x20", U_CHANGE) "ldr x0, [x20]\n\t" ASID(7) "ldr x1, [x20]\n\t" ASID(1)
	   "ldr x4, [x20]");
/* With a firmware call in between, which a hypervisor may answer on the current tables. */
TRAP_SETUP("tlb.asid.call", EL1, 0, change_pages,
	   IMM("x20", U_CHANGE) "ldr x5, [x20]\n\t" ASID(7) IMM("x0", 0x84000006) "hvc #0\n\t"
	   "mov x6, x0\n\tldr x7, [x20]\n\t" ASID(1) IMM("x0", 0x84000050) "hvc #0\n\t"
	   "ldr x4, [x20]");
