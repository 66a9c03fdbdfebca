// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include "private.h"

#include <errno.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void fail(const char *what)
{
	fprintf(stderr, "private: %s: %s\n", what, strerror(errno));
	exit(1);
}

const char *error_name(int error)
{
	const char *name = error ? strerrorname_np(error) : "0";

	return name ? name : "?";
}

static int open_file(enum memory_kind kind)
{
	if (kind == ANONYMOUS)
		return -1;
	return memfd_create("private", MFD_CLOEXEC |
			    (kind == HUGE_POOL ? MFD_HUGETLB | MFD_HUGE_2MB : 0));
}

char *map_memory(enum memory_kind kind, int *file)
{
	int flags = kind == ANONYMOUS ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	char *room, *at;

	*file = open_file(kind);
	if (kind != ANONYMOUS && (*file < 0 || ftruncate(*file, PUPPET_SIZE)))
		return NULL;
	/* The address space around it stays reserved until the program ends. */
	room = mmap(NULL, 2 * PUPPET_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		return NULL;
	at = (char *)(((uintptr_t)room + PUPPET_SIZE - 1) & -PUPPET_SIZE);
	at = mmap(at, PUPPET_SIZE, PROT_READ | PROT_WRITE, flags | MAP_FIXED, *file, 0);
	return at == MAP_FAILED ? NULL : at;
}

void make_subject(struct subject *subject, enum kind kind)
{
	const char *what;

	*subject = (struct subject){ .kind = kind, .protected = kind != PLAIN };
	if (kind == GMEM) {
		errno = puppet_new_on_gmem(&subject->puppet, &subject->file, &subject->ram, &what);
	} else {
		subject->ram = map_memory(SHARED_FILE, &subject->file);
		if (!subject->ram)
			fail("memory for a guest");
		errno = puppet_new(&subject->puppet, subject->protected, subject->ram, &what);
	}
	if (errno)
		fail(what);
}

void free_subject(struct subject *subject)
{
	puppet_free(&subject->puppet);
	munmap(subject->ram, PUPPET_SIZE);
	close(subject->file);
}

static void run_row(const char *group, const struct row *row, enum kind kind)
{
	char said[SAID_SIZE] = "";
	struct subject subject;

	make_subject(&subject, kind);
	row->run(&subject, said);
	printf("private %s %s %s\n", group, row->name, said);
	fflush(stdout);
	free_subject(&subject);
}

static const struct {
	const char *name;
	const struct row *rows;
} groups[] = {
	{ "ways", ways },
	{ "calls", calls },
	{ "limits", limits },
	{ "sharers", sharers },
	{ "sieges", sieges },
};

int main(int argc, char **argv)
{
	static const char *const kinds[] = { [PLAIN] = "plain", [GMEM] = "gmem" };
	enum kind kind = PROTECTED;
	const struct row *row;
	unsigned int i;

	for (i = PLAIN; i < ARRAY_SIZE(kinds); i++)
		if (argc == 3 && !strcmp(argv[2], kinds[i]))
			kind = i;
	for (i = 0; i < ARRAY_SIZE(groups); i++) {
		if (argc != 2 + (kind != PROTECTED) || strcmp(argv[1], groups[i].name))
			continue;
		for (row = groups[i].rows; row->name; row++)
			run_row(groups[i].name, row, kind);
		return 0;
	}
	fprintf(stderr, "usage: private ways|calls|limits|sharers|sieges [plain|gmem]\n");
	return 2;
}
