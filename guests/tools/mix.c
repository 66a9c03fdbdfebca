// SPDX-License-Identifier: GPL-2.0
/*
 * Random requests of a disk by several threads at once, each of them checked:
 *
 *	mix DEVICE SECONDS SEED [THREADS]
 *
 * A thread has its own part of the device, whose contents are lost, and knows how often it wrote
 * each sector. A sector must hold that number and its own. Every other thread uses O_DIRECT.
 * Requests are of one sector to 256 KiB, in up to eight pieces that begin anywhere in memory.
 *
 * Results are lines "result NAME VALUE UNIT".
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define SECTOR		512u
#define LARGEST		512u		/* sectors of a request */
#define PIECES		8u
#define GAP		4096u
#define BUFFER		(LARGEST * SECTOR + PIECES * GAP)
#define MAX_THREADS	16u
/* A part is small enough to be written and read many times. */
#define MAX_PART	8192u		/* sectors */

struct worker {
	pthread_t thread;
	int fd;
	bool direct, failed;
	uint64_t seed;
	uint32_t first, sectors;	/* its part of the device */
	uint32_t *written;		/* writes of each sector so far; 0: unknown */
	uint64_t *linear;		/* a request's sectors in one piece */
	char *buffer;
	uint64_t reads, writes, checked;
};

static time_t until;

static uint64_t hash(uint64_t x)
{
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93UL;
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93UL;
	return x ^ x >> 32;
}

/* A random number below n. */
static uint32_t draw(struct worker *w, uint32_t n)
{
	return (uint32_t)(hash(w->seed++) % n);
}

static bool over(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec >= until;
}

static void fill(uint64_t *words, uint32_t sector, uint32_t times)
{
	uint64_t x = hash((uint64_t)sector << 32 | times);
	unsigned int i;

	for (i = 0; i < SECTOR / 8; i++)
		words[i] = x + i * 0x9e3779b97f4a7c15UL;
}

static bool holds(struct worker *w, const uint64_t *words, uint32_t sector)
{
	uint64_t wanted[SECTOR / 8];
	uint32_t times = w->written[sector - w->first];
	unsigned int i;

	if (!times)
		return true;
	fill(wanted, sector, times);
	w->checked++;
	for (i = 0; i < SECTOR / 8; i++)
		if (words[i] != wanted[i])
			break;
	if (i == SECTOR / 8)
		return true;
	fprintf(stderr, "mix: sector %u, written %u times, %s: word %u is %" PRIx64 ", not %" PRIx64
		"\n", sector, times, w->direct ? "direct" : "cached", i, words[i], wanted[i]);
	return false;
}

/* Cuts this many bytes into pieces with gaps; returns the number of pieces. */
static int cut(struct worker *w, struct iovec *pieces, size_t bytes)
{
	size_t unit = w->direct ? SECTOR : 1, at = 0, part;
	unsigned int n = 1 + draw(w, PIECES), i;

	for (i = 0; i < n && bytes; i++) {
		at += draw(w, GAP) / unit * unit;
		part = i == n - 1 ? bytes : (1 + draw(w, (uint32_t)(bytes / unit))) * unit;
		pieces[i] = (struct iovec) { w->buffer + at, part };
		at += part;
		bytes -= part;
	}
	return (int)i;
}

/* Copy between `linear` and the pieces; out: to the pieces. */
static void move(const struct worker *w, const struct iovec *pieces, int n, bool out)
{
	char *at = (char *)w->linear;
	int i;

	for (i = 0; i < n; at += pieces[i++].iov_len) {
		if (out)
			memcpy(pieces[i].iov_base, at, pieces[i].iov_len);
		else
			memcpy(at, pieces[i].iov_base, pieces[i].iov_len);
	}
}

static bool put(struct worker *w, uint32_t first, uint32_t count)
{
	struct iovec pieces[PIECES];
	int n = cut(w, pieces, (size_t)count * SECTOR);
	uint32_t i;

	for (i = 0; i < count; i++)
		fill(w->linear + i * (SECTOR / 8), first + i, ++w->written[first + i - w->first]);
	move(w, pieces, n, true);
	w->writes++;
	return pwritev(w->fd, pieces, n, (off_t)first * SECTOR) == (ssize_t)count * SECTOR;
}

static bool get(struct worker *w, uint32_t first, uint32_t count)
{
	struct iovec pieces[PIECES];
	int n = cut(w, pieces, (size_t)count * SECTOR);
	uint32_t i;

	if (preadv(w->fd, pieces, n, (off_t)first * SECTOR) != (ssize_t)count * SECTOR)
		return false;
	move(w, pieces, n, false);
	w->reads++;
	for (i = 0; i < count; i++)
		if (!holds(w, w->linear + i * (SECTOR / 8), first + i))
			w->failed = true;
	return true;
}

static bool request(struct worker *w)
{
	uint32_t count = 1 + draw(w, 1u << draw(w, 10)), first;

	if (count > w->sectors)
		count = w->sectors;
	first = w->first + draw(w, w->sectors - count + 1);
	switch (draw(w, 16)) {
	case 0:
		/* The next read comes from the device, not from the cache. */
		return !fdatasync(w->fd) &&
		       !posix_fadvise(w->fd, (off_t)w->first * SECTOR,
				      (off_t)w->sectors * SECTOR, POSIX_FADV_DONTNEED);
	case 1 ... 8:
		return put(w, first, count);
	default:
		return get(w, first, count);
	}
}

static void *work(void *argument)
{
	struct worker *w = argument;

	while (!w->failed && !over()) {
		if (!request(w)) {
			perror("mix: a request failed");
			w->failed = true;
		}
	}
	if (fsync(w->fd))
		w->failed = true;
	return NULL;
}

static void *memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("mix: no memory");
		exit(1);
	}
	return p;
}

static void start(struct worker *w, const char *device, unsigned int number, uint32_t part)
{
	w->direct = number % 2 == 0;
	w->fd = open(device, O_RDWR | (w->direct ? O_DIRECT : 0));
	if (w->fd < 0) {
		perror(device);
		exit(1);
	}
	/* Parts are whole pages of the cache, so that no two share a page. */
	w->sectors = part < MAX_PART ? part / 8 * 8 : MAX_PART;
	w->first = number * w->sectors;
	w->written = memory(w->sectors * sizeof(*w->written));
	w->linear = memory(LARGEST * SECTOR);
	w->buffer = memory(BUFFER);
	if (pthread_create(&w->thread, NULL, work, w)) {
		fputs("mix: no thread\n", stderr);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	static struct worker workers[MAX_THREADS];
	unsigned int n = argc > 4 ? (unsigned int)atoi(argv[4]) : 4, i;
	uint64_t reads = 0, writes = 0, checked = 0;
	struct timespec now;
	bool failed = false;
	off_t size;
	int fd;

	if (argc < 4 || argc > 5 || !n || n > MAX_THREADS) {
		fputs("usage: mix DEVICE SECONDS SEED [THREADS], of 1 to 16\n", stderr);
		return 2;
	}
	fd = open(argv[1], O_RDONLY);
	size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	if (size < (off_t)n * 8 * SECTOR) {
		fprintf(stderr, "mix: %s: no device that is large enough\n", argv[1]);
		return 1;
	}
	close(fd);
	clock_gettime(CLOCK_MONOTONIC, &now);
	until = now.tv_sec + atoi(argv[2]);
	for (i = 0; i < n; i++) {
		workers[i].seed = hash(strtoull(argv[3], NULL, 10)) + ((uint64_t)i << 48);
		start(&workers[i], argv[1], i, (uint32_t)(size / SECTOR / n));
	}
	for (i = 0; i < n; i++) {
		pthread_join(workers[i].thread, NULL);
		failed |= workers[i].failed;
		reads += workers[i].reads;
		writes += workers[i].writes;
		checked += workers[i].checked;
	}
	printf("result mix.reads %" PRIu64 " count\nresult mix.writes %" PRIu64 " count\n",
	       reads, writes);
	printf("result mix.checked %" PRIu64 " sectors\n", checked);
	return failed;
}
