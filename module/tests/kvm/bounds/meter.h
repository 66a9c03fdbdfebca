/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The longest time for which the kernel let nobody else run, on a counted board of one CPU, where a
 * nanosecond is an instruction.
 *
 * A process of the highest real-time priority wakes up every METER_PERIOD. From the moment when it
 * goes to sleep until it runs again, nothing that keeps it off the CPU can have lasted longer than
 * that: interrupts off, preemption off, a held spinlock; and on a kernel that is not preemptible
 * (Debian's 6.1 and 6.12) all work of a system call between two offers of the CPU by
 * cond_resched(). The longest such time is the figure. So it is never too small, and at most
 * METER_PERIOD and one wake-up too large. Mutexes and other sleeping locks do not count: a waiter
 * for one sleeps.
 */
#ifndef AV_TESTS_KVM_METER_H
#define AV_TESTS_KVM_METER_H

#include "lib.h"

#define METER_PERIOD	20000	/* ns */

/* Before the program has memory or threads: the meter is a process of its own. */
void meter_init(void);

void meter_begin(void);
/*
 * End, and say it:
 *
 *	result NAME.longest N instructions	the figure
 *	result NAME.at N instructions		when in the operation that was
 *	result NAME.total N instructions	the whole of the operation
 */
__attribute__((format(printf, 1, 2))) u64 meter_end(const char *name, ...);

#endif /* AV_TESTS_KVM_METER_H */
