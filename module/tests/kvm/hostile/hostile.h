/* SPDX-License-Identifier: GPL-2.0 */
#ifndef AV_TESTS_KVM_HOSTILE_H
#define AV_TESTS_KVM_HOSTILE_H

#include <pthread.h>

#include "lib.h"
#include "random_guest.h"

/* A guest whose vCPU runs in a separate thread until it is stopped or fails. */
struct runner {
	struct guest g;
	pthread_t thread;
	int tid;		/* 0: has not begun */
	bool stop;
	bool tells;		/* the guest is one of those that report at GUEST_BAD */
	int error;		/* errno that ended it, 0 if stopped; EBADMSG: GUEST_BAD */
	unsigned long exits;
};

/* guests.S */
extern const u32 guest_counter[], guest_counter_end[];
extern const u32 guest_reader[], guest_reader_end[];
extern const u32 guest_commander[], guest_commander_end[];
#define GUEST_BAD	(GUEST_MMIO + 8)

/* Write all of memory but the first page, over and over; an MMIO write a round. */
extern const u32 guest_writer[32];
/* Nothing but MMIO reads. */
extern const u32 guest_mmio[32];

void start_runner(struct runner *r, const u32 *code, size_t size);
/* The same on memory of the caller's, GUEST_SIZE of it. */
void start_runner_on(struct runner *r, const u32 *code, size_t size, void *memory);
void run_in_thread(struct runner *r);
/* Make it leave, wait for it; errno that it ended with. */
int stop_runner(struct runner *r);
/* Wait until the guest has gone round n more times; false: it ended. */
bool runner_progress(struct runner *r, unsigned long n);
/* Wait for it to end by itself; false: it hangs. */
bool runner_ends(struct runner *r);

/* Private memory of GUEST_SIZE at a multiple of it. */
void *private_memory(void);
/*
 * Run guest_counter on this memory, do something to it a number of times, and
 * see the guest go on with all that it counted.
 */
#define DISTURBANCES	8
void disturb(const char *what, void *memory, void (*act)(char *memory, int round));

/* $PERCENT of n repetitions, or all; at least enough to see a fault. */
int times(int n);

/* Print an error and remember it. */
__attribute__((format(printf, 2, 3))) void expect(bool condition, const char *what, ...);

void hostile_memory(void);
void hostile_files(void);
void hostile_processes(void);
void hostile_arguments(void);
void hostile_many(void);
void hostile_swap(void);
void hostile_power(void);
void hostile_odd(void);
void hostile_close(void);
void hostile_guests(void);
void hostile_allocations(void);
void hostile_messages(void);
void hostile_changed(void);
void hostile_protected(void);
void hostile_gmem(void);

#endif /* AV_TESTS_KVM_HOSTILE_H */
