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
	/* The room around it stays reserved until the program ends. */
	room = mmap(NULL, 2 * PUPPET_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		return NULL;
	at = (char *)(((uintptr_t)room + PUPPET_SIZE - 1) & -PUPPET_SIZE);
	at = mmap(at, PUPPET_SIZE, PROT_READ | PROT_WRITE, flags | MAP_FIXED, *file, 0);
	return at == MAP_FAILED ? NULL : at;
}

static void run_row(const char *group, const struct row *row, bool protected)
{
	struct subject subject = { .protected = protected };
	char said[SAID_SIZE] = "";
	const char *what;

	subject.ram = map_memory(SHARED_FILE, &subject.file);
	if (!subject.ram)
		fail("memory for a guest");
	errno = puppet_new(&subject.puppet, protected, subject.ram, &what);
	if (errno)
		fail(what);
	row->run(&subject, said);
	printf("private %s %s %s\n", group, row->name, said);
	fflush(stdout);
	puppet_free(&subject.puppet);
	munmap(subject.ram, PUPPET_SIZE);
	close(subject.file);
}

static const struct {
	const char *name;
	const struct row *rows;
} groups[] = {
	{ "ways", ways },
	{ "calls", calls },
	{ "limits", limits },
};

int main(int argc, char **argv)
{
	bool plain = argc == 3 && !strcmp(argv[2], "plain");
	const struct row *row;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(groups); i++) {
		if ((argc != 2 && !plain) || strcmp(argv[1], groups[i].name))
			continue;
		for (row = groups[i].rows; row->name; row++)
			run_row(groups[i].name, row, !plain);
		return 0;
	}
	fprintf(stderr, "usage: private ways|calls|limits [plain]\n");
	return 2;
}
