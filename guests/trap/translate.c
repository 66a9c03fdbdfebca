// SPDX-License-Identifier: GPL-2.0
/* AT: the result of a walk, for each place and each kind of access. */
#include "trap.h"

#define AT_ROW(place, address, op) \
	TRAP_F("at." op "." place, EL1H, PAR, \
	       IMM("x20", address) "at " op ", x20\n\tisb\n\tmrs x1, par_el1")

#define AT_ROWS(place, address)		\
	AT_ROW(place, address, "s1e1r");	\
	AT_ROW(place, address, "s1e1w");	\
	AT_ROW(place, address, "s1e0r");	\
	AT_ROW(place, address, "s1e0w")

AT_ROWS("k-code", K_CODE);
AT_ROWS("k-data", K_DATA);
AT_ROWS("k-readonly", K_READONLY);
AT_ROWS("k-user", K_USER);
AT_ROWS("k-old", K_OLD);
AT_ROWS("k-device", K_DEVICE);
AT_ROWS("k-unmapped", K_UNMAPPED);
AT_ROWS("k-unmapped-2", K_UNMAPPED_2);
AT_ROWS("k-unmapped-1", K_UNMAPPED_1);
AT_ROWS("k-outside", K_OUTSIDE);
AT_ROWS("k-block", K_BLOCK);
AT_ROWS("k-table-readonly", K_TABLE_RO);
AT_ROWS("k-table-user", K_TABLE_USER);
AT_ROWS("u-code", U_CODE);
AT_ROWS("u-data", U_DATA);
AT_ROWS("u-readonly", U_READONLY);
AT_ROWS("u-kernel", U_KERNEL);
AT_ROWS("u-execute", U_EXECUTE);
AT_ROWS("u-unmapped", U_UNMAPPED);
AT_ROWS("u-outside", U_OUTSIDE);
AT_ROWS("hole", 0x0010000000000000);

TRAP_F("at.refused", EL0, SKIP, "at s1e1r, x0\n\tat s1e1w, x0\n\tat s1e0r, x0\n\tat s1e0w, x0");
TRAP_F("at.el2", EL1H, SKIP, "at s1e2r, x0\n\tat s1e2w, x0\n\tat s12e1r, x0\n\tat s12e0w, x0");
/*
 * A failed translation is reported in PAR_EL1 only: no exception, and ESR and FAR keep their
 * values.
 */
TRAP_F("at.quiet", EL1H, PAR,
       "mov x2, #0x77\n\tmsr far_el1, x2\n\tmsr esr_el1, x2\n\t" IMM("x20", K_UNMAPPED)
       "at s1e1r, x20\n\tisb\n\tmrs x1, par_el1\n\tmrs x3, far_el1\n\tmrs x4, esr_el1");
