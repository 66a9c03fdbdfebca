/* SPDX-License-Identifier: GPL-2.0 */
/* Work that all CPUs begin at once, counted and timed as a whole. */
#ifndef GUESTS_TOGETHER_H
#define GUESTS_TOGETHER_H

#include "guest.h"

/* Add one to a value that other CPUs add to as well. Returns the old value. */
unsigned int fetch_add_one(volatile unsigned int *to);

/*
 * Run work(cpu) on every CPU of the machine, and wait until all are done. The other CPUs are
 * started, and wait, before the count begins. Returns the ticks that the work took. May be called
 * once.
 */
u64 together(void (*work)(unsigned int cpu));

#endif
