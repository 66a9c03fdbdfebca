// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of a request and of a byte of a disk and of a network, by the counter: one line for each
 * of ROUNDS, after everything has been done once. The disk is read and written with O_DIRECT, in
 * requests of two sizes, and loses its contents. Over the network goes a stream in each direction,
 * and single bytes back and forth.
 */
#define _GNU_SOURCE
#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../lib/mark.h"
#include "counter.h"

#define ROUNDS		8
#define LARGE		(256u << 10)
#define SMALL		4096u
#define DISK		(8u << 20)

noreturn void io_fail(const char *what)
{
	fprintf(stderr, "io: %s: %s\n", what, strerror(errno));
	exit(1);
}

void io_report(const char *name, uint64_t ticks, uint64_t loops)
{
	uint64_t thousandths = ticks * 1000 / loops;

	printf("result io.%s %" PRIu64 ".%03u ticks\n", name, thousandths / 1000,
	       (unsigned int)(thousandths % 1000));
	fflush(stdout);
}

/* Reported at the end: a line to the console in between would be measured in part. */
void io_rounds(const char *name, uint64_t loops, void (*run)(void *), void *argument)
{
	uint64_t ticks[ROUNDS], start;
	int round;

	MARK_FEED;
	run(argument);
	for (round = 0; round < ROUNDS; round++) {
		MARK_COUNT;
		start = counter();
		run(argument);
		ticks[round] = counter() - start;
		MARK_PAUSE;
	}
	MARK_END;
	printf("result io.%s.loops %" PRIu64 " count\n", name, loops);
	for (round = 0; round < ROUNDS; round++)
		io_report(name, ticks[round], loops);
}

/* ---- the disk ------------------------------------------------------------------------------ */

struct disk {
	int fd;
	unsigned char *buffer;	/* LARGE bytes, whole pages */
	uint32_t request, total;
	bool writes;
};

static void requests(void *argument)
{
	const struct disk *disk = argument;
	uint32_t at;
	ssize_t n;

	for (at = 0; at < disk->total; at += disk->request) {
		n = disk->writes ? pwrite(disk->fd, disk->buffer, disk->request, at) :
				   pread(disk->fd, disk->buffer, disk->request, at);
		if (n != (ssize_t)disk->request)
			io_fail(disk->writes ? "cannot write to the disk" : "cannot read the disk");
	}
}

/* Each piece has its own number, which a later read must return. */
static void fill(unsigned char *buffer, uint32_t at, uint64_t round)
{
	uint32_t i;

	for (i = 0; i < LARGE; i += 8)
		*(uint64_t *)(buffer + i) = (at + i) * 0x9e3779b97f4a7c15UL + round;
}

/* The system call with `before` in vector registers; `after` gets their values after it. */
static long call_with_vectors(long call, const struct disk *disk, uint32_t at, const void *before,
			      void *after)
{
	register long x0 __asm__("x0") = disk->fd;
	register void *x1 __asm__("x1") = disk->buffer;
	register unsigned long x2 __asm__("x2") = LARGE;
	register unsigned long x3 __asm__("x3") = at;
	register const void *x4 __asm__("x4") = before;
	register void *x5 __asm__("x5") = after;
	register long x8 __asm__("x8") = call;

	__asm__ volatile("ldp	q0, q1, [x4]\n\t"
			 "ldp	q2, q3, [x4, #32]\n\t"
			 "ldp	q4, q5, [x4, #64]\n\t"
			 "ldp	q6, q7, [x4, #96]\n\t"
			 "svc	#0\n\t"
			 "stp	q0, q1, [x5]\n\t"
			 "stp	q2, q3, [x5, #32]\n\t"
			 "stp	q4, q5, [x5, #64]\n\t"
			 "stp	q6, q7, [x5, #96]"
			 : "+r"(x0)
			 : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(x8)
			 : "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7");
	return x0;
}

/* pread() or pwrite(). A kernel that copies by vector registers must restore them. */
static ssize_t transfer(long call, const struct disk *disk, uint32_t at)
{
	unsigned char before[128], after[128];
	long result;
	size_t i;

	for (i = 0; i < sizeof(before); i++)
		before[i] = (unsigned char)(i * 7 + at / LARGE + 1);
	result = call_with_vectors(call, disk, at, before, after);
	if (memcmp(before, after, sizeof(before))) {
		errno = EILSEQ;
		io_fail("vector registers");
	}
	errno = result < 0 ? (int)-result : 0;
	return result;
}

static void check_content(const struct disk *disk, uint64_t round)
{
	unsigned char *want = malloc(LARGE);
	uint32_t at;

	if (!want)
		io_fail("no memory");
	for (at = 0; at < DISK; at += LARGE) {
		fill(disk->buffer, at, round);
		if (transfer(SYS_pwrite64, disk, at) != LARGE)
			io_fail("cannot write to the disk");
	}
	for (at = 0; at < DISK; at += LARGE) {
		fill(want, at, round);
		if (transfer(SYS_pread64, disk, at) != LARGE)
			io_fail("cannot read the disk");
		if (memcmp(disk->buffer, want, LARGE)) {
			errno = EILSEQ;
			io_fail("the disk");
		}
	}
	free(want);
}

static struct disk open_disk(const char *path)
{
	struct disk disk = { .fd = open(path, O_RDWR | O_DIRECT) };

	if (disk.fd < 0)
		io_fail(path);
	disk.buffer = mmap(NULL, LARGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (disk.buffer == MAP_FAILED)
		io_fail("no memory");
	return disk;
}

static int check_disk(const char *path)
{
	struct disk disk = open_disk(path);

	check_content(&disk, 1);
	return 0;
}

static int measure_disk(const char *path)
{
	struct disk disk = open_disk(path);

	check_content(&disk, 1);
	disk.request = SMALL;
	disk.total = DISK / 8;
	io_rounds("read-small", disk.total / SMALL, requests, &disk);
	disk.writes = true;
	io_rounds("write-small", disk.total / SMALL, requests, &disk);
	disk.request = LARGE;
	disk.total = DISK;
	io_rounds("write-large", DISK / LARGE, requests, &disk);
	disk.writes = false;
	io_rounds("read-large", DISK / LARGE, requests, &disk);
	check_content(&disk, 2);
	printf("result io.request-small %u bytes\nresult io.request-large %u bytes\n", SMALL, LARGE);
	return 0;
}

static const char usage[] =
	"usage: io disk DEVICE      what requests take; the device loses what it holds\n"
	"       io check DEVICE     that it keeps what is written, and the kernel the vector registers\n"
	"       io net ENDPOINT     the same of a connection to an `io serve`\n"
	"       io serve ENDPOINT   listen, and serve one connection to its end\n"
	"ENDPOINT: tcp:ADDRESS:PORT and others, as for `stream`\n";

int main(int argc, char **argv)
{
	const char *verb = argc == 3 ? argv[1] : "";

	printf("result io.cntfrq %" PRIu64 " Hz\n", counter_frequency());
	if (!strcmp(verb, "disk"))
		return measure_disk(argv[2]);
	if (!strcmp(verb, "check"))
		return check_disk(argv[2]);
	if (!strcmp(verb, "net"))
		return io_net(argv[2]);
	if (!strcmp(verb, "serve"))
		return io_serve(argv[2]);
	fputs(usage, stderr);
	return 2;
}
