// SPDX-License-Identifier: GPL-2.0
/*
 * Moves bytes over a stream and checks them: over TCP, vsock, or the Unix socket that a vsock
 * device has on its host's side. Each side computes a checksum of the data; the caller of both
 * compares.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "endpoint.h"

#define CHUNK 65536
#define RETRIES 6000

struct sum {
	uint64_t hash;
	uint64_t bytes;
};

static uint64_t words[CHUNK / 8];

/* FNV-1a over bytes would be slow on an emulated machine; this takes a word a step. */
static void add(struct sum *sum, const void *data, size_t size)
{
	const unsigned char *p = data;
	uint64_t word;

	/* Words are aligned to the stream, however it was cut into pieces. */
	while (size && sum->bytes % 8) {
		sum->hash ^= (uint64_t)*p++ << 8 * (sum->bytes % 8);
		if (++sum->bytes % 8 == 0)
			sum->hash *= 0x9e3779b97f4a7c15UL;
		size--;
	}
	for (; size >= 8; size -= 8, p += 8, sum->bytes += 8) {
		memcpy(&word, p, 8);
		sum->hash = ((sum->hash << 7 | sum->hash >> 57) ^ word) * 0x9e3779b97f4a7c15UL;
	}
	if (size)
		sum->hash = sum->hash << 7 | sum->hash >> 57;
	while (size--)
		sum->hash ^= (uint64_t)*p++ << 8 * (sum->bytes++ % 8);
}

static void pattern(uint64_t position)
{
	uint64_t x;
	size_t i;

	for (i = 0; i < CHUNK / 8; i++) {
		x = (position + i * 8) * 0xd6e8feb86659fd93UL;
		words[i] = (x ^ x >> 32) * 0xd6e8feb86659fd93UL;
	}
}

static bool write_all(int fd, const char *data, size_t size)
{
	ssize_t n;

	for (; size; data += n, size -= (size_t)n) {
		n = write(fd, data, size);
		if (n < 0 && errno == EINTR)
			n = 0;
		if (n < 0) {
			perror("stream: cannot write");
			return false;
		}
	}
	return true;
}

static void report(const char *name, const struct sum *sum)
{
	printf("result %s.bytes %" PRIu64 " bytes\n", name, sum->bytes);
	printf("result %s.checksum %016" PRIx64 " hash\n", name, sum->hash);
	fflush(stdout);
}

static int send_stream(int fd, uint64_t bytes)
{
	struct sum sum = { 0 };
	size_t part;
	char ended;

	while (sum.bytes < bytes) {
		pattern(sum.bytes);
		part = bytes - sum.bytes < CHUNK ? (size_t)(bytes - sum.bytes) : CHUNK;
		if (!write_all(fd, (char *)words, part))
			return 1;
		add(&sum, words, part);
	}
	shutdown(fd, SHUT_WR);
	/* The other side closes when it has read everything. */
	while (read(fd, &ended, 1) > 0)
		;
	report("send", &sum);
	return 0;
}

static int receive_stream(int fd)
{
	struct sum sum = { 0 };
	ssize_t n;

	while ((n = read(fd, words, CHUNK)) > 0)
		add(&sum, words, (size_t)n);
	if (n < 0) {
		perror("stream: cannot read");
		return 1;
	}
	report("receive", &sum);
	return 0;
}

/* Sends a piece, wants the same piece back, and so on. */
static int check_echo(int fd, uint64_t bytes)
{
	static char back[4096];
	uint64_t done = 0;
	size_t part, got;
	ssize_t n;

	for (; done < bytes; done += part) {
		pattern(done);
		part = bytes - done < sizeof(back) ? (size_t)(bytes - done) : sizeof(back);
		if (!write_all(fd, (char *)words, part))
			return 1;
		for (got = 0; got < part; got += (size_t)n) {
			n = read(fd, back + got, part - got);
			if (n <= 0) {
				fprintf(stderr, "stream: the echo ended after %" PRIu64 " bytes\n",
					done + got);
				return 1;
			}
		}
		if (memcmp(back, words, part)) {
			fprintf(stderr, "stream: the echo differs near byte %" PRIu64 "\n", done);
			return 1;
		}
	}
	printf("result echo.bytes %" PRIu64 " bytes\n", done);
	return 0;
}

static int echo(int fd)
{
	ssize_t n;

	while ((n = read(fd, words, CHUNK)) > 0)
		if (!write_all(fd, (char *)words, (size_t)n))
			return 1;
	return n < 0;
}

/* The other side may still be starting: tries for ten minutes. */
static int connect_patiently(const char *name)
{
	const struct timespec pause = { .tv_nsec = 100000000 };
	int fd, try;

	for (try = 0; try < RETRIES; try++) {
		fd = endpoint_connect(name, try < RETRIES - 1);
		if (fd >= 0)
			return fd;
		nanosleep(&pause, NULL);
	}
	return -1;
}

static int accept_one(const char *name)
{
	int listener = endpoint_listen(name);
	int fd;

	if (listener < 0)
		return -1;
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		perror("stream: cannot accept");
	close(listener);
	return fd;
}

static const char usage[] =
	"usage: stream send ENDPOINT BYTES    connect and send a pattern\n"
	"       stream receive ENDPOINT       listen, take one connection to its end\n"
	"       stream echo ENDPOINT          listen, send one connection its bytes back\n"
	"       stream check ENDPOINT BYTES   connect to an echo and compare\n"
	"ENDPOINT: tcp:ADDRESS:PORT, vsock:CID:PORT, unix:PATH, vsock-uds:PATH:PORT\n";

int main(int argc, char **argv)
{
	const char *verb = argc > 2 ? argv[1] : "";
	bool sends = !strcmp(verb, "send") || !strcmp(verb, "check");
	bool listens = !strcmp(verb, "receive") || !strcmp(verb, "echo");
	uint64_t bytes;
	int fd;

	if ((!sends && !listens) || argc != (sends ? 4 : 3)) {
		fputs(usage, argc > 1 && !strcmp(argv[1], "--help") ? stdout : stderr);
		return argc > 1 && !strcmp(argv[1], "--help") ? 0 : 2;
	}
	signal(SIGPIPE, SIG_IGN);
	fd = sends ? connect_patiently(argv[2]) : accept_one(argv[2]);
	if (fd < 0)
		return 1;
	bytes = sends ? strtoull(argv[3], NULL, 10) : 0;
	if (!strcmp(verb, "send"))
		return send_stream(fd, bytes);
	if (!strcmp(verb, "check"))
		return check_echo(fd, bytes);
	return listens && !strcmp(verb, "echo") ? echo(fd) : receive_stream(fd);
}
