// SPDX-License-Identifier: GPL-2.0
/*
 * Context switches as in LMBench's lat_ctx: processes in a ring pass a token by pipes. Each reads
 * its own memory, one cache line at a time, before it passes the token on. An operation is one
 * pass: a write, a switch, a read, the memory.
 */
#include "lat.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 16
#define LINE 64
#define KIB 1024

static int pipes[MOST][2];	/* from which each reads, and to it */
static unsigned int members;
static size_t size;
static char *memory;

static void touch(void)
{
	size_t at;

	for (at = 0; at < size; at += LINE)
		(void)*(volatile char *)(memory + at);
}

static void get_memory(void)
{
	if (!size)
		return;
	memory = malloc(size);
	if (!memory)
		lat_fail("no memory for a process of the ring");
	memset(memory, 1, size);
}

static void member(unsigned int self)
{
	unsigned int next = (self + 1) % members, i;
	char token;

	for (i = 0; i < members; i++) {
		if (i != self)
			close(pipes[i][0]);
		if (i != next)
			close(pipes[i][1]);
	}
	get_memory();
	while (read(pipes[self][0], &token, 1) == 1) {
		touch();
		if (write(pipes[next][1], &token, 1) != 1)
			break;
	}
	_exit(0);
}

static void start_ring(unsigned int number, size_t kib)
{
	unsigned int i;
	pid_t pid;

	members = number;
	size = kib * KIB;
	for (i = 0; i < members; i++)
		if (pipe(pipes[i]))
			lat_fail("cannot make a pipe");
	for (i = 1; i < members; i++) {
		pid = fork();
		if (pid < 0)
			lat_fail("cannot fork");
		if (!pid)
			member(i);
	}
	for (i = 0; i < members; i++) {
		if (i)
			close(pipes[i][0]);
		if (i != 1)
			close(pipes[i][1]);
	}
	get_memory();
}

/* A member ends when nobody can write to it any more, and the next one after it. */
static void stop_ring(void)
{
	close(pipes[1][1]);
	close(pipes[0][0]);
	while (wait(NULL) > 0)
		;
	free(memory);
	memory = NULL;
}

/* Whole turns of the token, at least one. */
static void run_ring(uint64_t loops)
{
	uint64_t turns = loops < members ? 1 : loops / members;
	char token = 0;

	while (turns--) {
		if (write(pipes[1][1], &token, 1) != 1 || read(pipes[0][0], &token, 1) != 1)
			lat_fail("the ring of processes is broken");
		touch();
	}
}

#define RING(number, kib)						\
	static void start_##number##p_##kib##k(void)			\
	{								\
		start_ring(number, kib);				\
	}
RING(2, 0)
RING(2, 16)
RING(2, 64)
RING(8, 16)
RING(8, 64)
RING(16, 16)
RING(16, 64)

/* Loops are of whole turns. */
const struct lat_row lat_context[] = {
	{ "ctx-2p-0k", start_2p_0k, run_ring, stop_ring, 200 },
	{ "ctx-2p-16k", start_2p_16k, run_ring, stop_ring, 200 },
	{ "ctx-2p-64k", start_2p_64k, run_ring, stop_ring, 200 },
	{ "ctx-8p-16k", start_8p_16k, run_ring, stop_ring, 160 },
	{ "ctx-8p-64k", start_8p_64k, run_ring, stop_ring, 160 },
	{ "ctx-16p-16k", start_16p_16k, run_ring, stop_ring, 160 },
	{ "ctx-16p-64k", start_16p_64k, run_ring, stop_ring, 160 },
	{ 0 },
};
