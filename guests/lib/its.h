/* SPDX-License-Identifier: GPL-2.0 */
/* its.c: a GIC's ITS, for the programs that link it (Makefile). */
#ifndef GUESTS_ITS_H
#define GUESTS_ITS_H

#include "guest.h"

#define FIRST_LPI 8192

/* its_send() sends this LPI to this CPU, whose gic_init() has been called. */
bool its_init(unsigned int cpu, u32 lpi);
/* Makes the ITS send the LPI by a command, and waits until the command is done. */
void its_send(void);

#endif
