/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A protected VM under siege. Its guest has a secret word in its pages and registers. It shares one
 * page after the other, cleared, for a moment. Attackers look for the word wherever a program may
 * read, and write another one wherever it may write. The guest checks that memory that it did not
 * share is unchanged.
 *
 * The VMM and its children share the guest_memfd and its mapping. Where the host makes no such VMs,
 * such as KVM without pKVM, the part says so and ends.
 */
#ifndef AV_TESTS_KVM_SIEGE_H
#define AV_TESTS_KVM_SIEGE_H

#include "hostile.h"

#define SECRET		0x5ec2e7a11ba5e5edULL
#define EVIL		0xe71e71e71e71e71eULL

#define SIEGE_PAGE	4096UL
#define SIEGE_CPUS	3
/* Pages of each sharing vCPU, and those that the last one contends for; behind the code. */
#define SIEGE_PAGES	6
#define SIEGE_FIRST	0x100000UL

extern const u32 guest_sharer[], guest_sharer_end[];
extern const u32 guest_contender[], guest_contender_end[];
extern const u32 guest_millions[], guest_millions_end[];

struct siege {
	int kvm, vm, file;
	char *memory;
	size_t size;
	struct runner cpu[SIEGE_CPUS];
	unsigned int nr_cpus;
};

/* A guest_memfd of a VM; -1 with errno. */
int new_gmem(int vm, u64 size, u64 flags);
int set_gmem(int vm, u32 slot, u64 gpa, u64 size, int file, u64 offset);

/* A VM of so much memory, without vCPUs; false where the host has no such VMs. */
bool new_siege(struct siege *s, size_t size);
/* A vCPU that is to run the code with its pages; all are there before the first one runs. */
void add_cpu(struct siege *s, const u32 *code, const u32 *end, u64 first, u64 pages);
/* The usual ones: two that share and one that contends. */
void add_garrison(struct siege *s);
/* Let them run until they are told to stop; false: one reported an error. */
void start_cpus(struct siege *s);
bool stop_cpus(struct siege *s);
void free_siege(struct siege *s);

/* Was the word read? Then this way has failed. */
void look_for_secret(const char *way, const void *what, size_t size);

/* siege_ways.c: besiege by all ways in turn, until told to stop. rng is the caller's own. */
void besiege(struct siege *s, u64 rng, pid_t vmm, const bool *stop);

/* The same of those that write, of memory that is still the VMM's own. */
void fill_by_all_ways(struct siege *s, u64 rng, const bool *stop);

/* siege_debug.c: a debugger of the vCPUs' threads, and a profiler. */
void debug_siege(struct siege *s, pid_t vmm, const bool *stop);
void profile_siege(struct siege *s, unsigned int ms);

#endif /* AV_TESTS_KVM_SIEGE_H */
