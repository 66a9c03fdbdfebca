/* SPDX-License-Identifier: GPL-2.0 */
#ifndef AV_TESTS_KVM_HOSTILE_H
#define AV_TESTS_KVM_HOSTILE_H

#include <pthread.h>

#include "lib.h"

/* A guest whose vCPU runs in a thread of its own until stopped or failing. */
struct runner {
	struct guest g;
	pthread_t thread;
	bool stop;
	int error;		/* errno that ended it, 0 if stopped */
	unsigned long exits;
};

/* Write all of memory but the first page, over and over; an MMIO write a round. */
extern const u32 guest_writer[32];
/* Nothing but MMIO reads. */
extern const u32 guest_mmio[32];

void start_runner(struct runner *r, const u32 *code, size_t size);
void run_in_thread(struct runner *r);
/* Make it leave, wait for it; errno that it ended with. */
int stop_runner(struct runner *r);
/* Wait until the guest has gone round n more times; false: it ended. */
bool runner_progress(struct runner *r, unsigned long n);
/* Wait at most some seconds for it to end by itself. */
bool runner_ends(struct runner *r);

/* Say what went wrong and remember it. */
__attribute__((format(printf, 2, 3))) void expect(bool condition, const char *what, ...);

void hostile_memory(void);
void hostile_files(void);
void hostile_processes(void);
void hostile_arguments(void);
void hostile_many(void);

#endif /* AV_TESTS_KVM_HOSTILE_H */
