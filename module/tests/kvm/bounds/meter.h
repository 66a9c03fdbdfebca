/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The longest time that the kernel let nobody else run, on a counted board of
 * one CPU, where a nanosecond is an instruction.
 *
 * A process of the highest real-time priority wakes up every METER_PERIOD. From
 * the moment when it goes to sleep until it runs again nothing that keeps it off
 * the CPU can have lasted longer than that: interrupts off, preemption off, a
 * spinning lock held; and on a kernel that is not preemptible (Debian's 6.1 and
 * 6.12) all that a system call does from one offer of the CPU, cond_resched(),
 * to the next. The longest such time is the figure, so it is never too small,
 * and too large by METER_PERIOD and what a wake-up takes, at most. Mutexes and
 * other sleeping locks are not meant, and not seen: who waits for one sleeps.
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
