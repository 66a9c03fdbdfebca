/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attempts of a VMM on a VM: `private GROUP [plain | gmem]`, as root on a host whose KVM makes
 * protected VMs. The rows of a group are tried in turn, each on its own VM (protected, plain, or
 * protected on memory of a guest_memfd), and each prints a line:
 *
 *     private GROUP ROW ANSWER…
 *
 * The reader decides whether an answer is good.
 */
#ifndef GUESTS_TOOLS_PRIVATE_H
#define GUESTS_TOOLS_PRIVATE_H

#include "puppet.h"

/* The origin and kind of a VM's memory. */
enum kind { PROTECTED, PLAIN, GMEM };

/* A VM, and its memory, which is a file's. */
struct subject {
	struct puppet puppet;
	enum kind kind;
	bool protected;
	int file;
	char *ram;
};

struct row {
	const char *name;
	/* Writes the result, some words, to `said`. */
	void (*run)(struct subject *subject, char *said);
};

#define SAID_SIZE	160

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

/* ways.c and its like; each ends with a row without name. */
extern const struct row ways[];
extern const struct row calls[];
extern const struct row limits[];
extern const struct row sharers[];
extern const struct row sieges[];

/* measured.c */
void try_measured(struct subject *subject, char *said);

/* Makes a VM and its memory, or fails; frees both. */
void make_subject(struct subject *subject, enum kind kind);
void free_subject(struct subject *subject);

/* The name of an errno, such as EFAULT; "0" for none. */
const char *error_name(int error);

/* Memory of `kind`, PUPPET_SIZE of it at a multiple of that; NULL where the host has none. */
enum memory_kind { SHARED_FILE, ANONYMOUS, HUGE_POOL };
char *map_memory(enum memory_kind kind, int *file);

/* Prints an error of the program itself, or of the host, and exits. */
__attribute__((noreturn)) void fail(const char *what);

#endif
