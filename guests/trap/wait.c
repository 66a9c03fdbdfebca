// SPDX-License-Identifier: GPL-2.0
/* WFE and WFI that must not wait, and that EL0 may not use. */
#include "trap.h"
#include "mmu.h"

TRAP("wait.wfe.event", EL1, "sevl\n\twfe");
TRAP("wait.wfe.sev", EL1, "sev\n\twfe");
TRAP("wait.el0.wfi-refused", EL0, "wfi");
TRAP("wait.el0.wfe-refused", EL0, "wfe");
TRAP_F("wait.el0.skipped", EL0, SKIP, "wfi\n\tadd x0, x0, #1\n\twfe\n\tadd x0, x0, #1");
