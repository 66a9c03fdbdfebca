/* SPDX-License-Identifier: GPL-2.0 */
/* its.c: a GIC's ITS, for the programs that link it (Makefile). */
#ifndef GUESTS_ITS_H
#define GUESTS_ITS_H

#include "guest.h"

#define FIRST_LPI 8192

/* What its_send() sends is this LPI, at this CPU, whose gic_init() has been. */
bool its_init(unsigned int cpu, u32 lpi);
/* Has the ITS send it, by a command, and waits until the command is done. */
void its_send(void);

#endif
