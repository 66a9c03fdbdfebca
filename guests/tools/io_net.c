// SPDX-License-Identifier: GPL-2.0
/*
 * The network's part of `io`. A client makes one request after the other: receive this many bytes
 * and confirm, send this many bytes, or echo each byte.
 */
#include "io.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "endpoint.h"

#define STREAM	(8u << 20)
#define CHUNK	(64u << 10)
#define ECHOES	256u
#define RETRIES	6000

enum what { TAKE, SEND, ECHO };

struct order {
	uint64_t what, bytes;
};

struct stream {
	int fd;
	struct order order;
};

static char chunk[CHUNK];

static void write_all(int fd, const void *data, size_t size)
{
	const char *from = data;
	ssize_t n;

	for (; size; from += n, size -= (size_t)n) {
		n = write(fd, from, size);
		if (n <= 0)
			io_fail("cannot send");
	}
}

static void read_all(int fd, void *data, size_t size)
{
	char *to = data;
	ssize_t n;

	for (; size; to += n, size -= (size_t)n) {
		n = read(fd, to, size);
		if (n <= 0)
			io_fail("cannot receive");
	}
}

static void send_bytes(int fd, uint64_t bytes)
{
	size_t part;

	for (; bytes; bytes -= part) {
		part = bytes < CHUNK ? (size_t)bytes : CHUNK;
		write_all(fd, chunk, part);
	}
}

static void take_bytes(int fd, uint64_t bytes)
{
	size_t part;
	ssize_t n;

	for (; bytes; bytes -= (uint64_t)n) {
		part = bytes < CHUNK ? (size_t)bytes : CHUNK;
		n = read(fd, chunk, part);
		if (n <= 0)
			io_fail("cannot receive");
	}
}

static void run(void *argument)
{
	const struct stream *stream = argument;
	uint64_t i;
	char byte = 0;

	write_all(stream->fd, &stream->order, sizeof(stream->order));
	switch (stream->order.what) {
	case TAKE:
		send_bytes(stream->fd, stream->order.bytes);
		read_all(stream->fd, &byte, 1);
		break;
	case SEND:
		take_bytes(stream->fd, stream->order.bytes);
		break;
	default:
		for (i = 0; i < stream->order.bytes; i++) {
			write_all(stream->fd, &byte, 1);
			read_all(stream->fd, &byte, 1);
		}
	}
}

static void serve_one(int fd, const struct order *order)
{
	uint64_t i;
	char byte = 0;

	switch (order->what) {
	case TAKE:
		take_bytes(fd, order->bytes);
		write_all(fd, &byte, 1);
		break;
	case SEND:
		send_bytes(fd, order->bytes);
		break;
	default:
		for (i = 0; i < order->bytes; i++) {
			read_all(fd, &byte, 1);
			write_all(fd, &byte, 1);
		}
	}
}

/* TCP_NODELAY: send each byte at once. */
static void at_once(int fd)
{
	const int on = 1;

	signal(SIGPIPE, SIG_IGN);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

int io_serve(const char *endpoint)
{
	int listener = endpoint_listen(endpoint), fd;
	struct order order;

	fd = listener < 0 ? -1 : accept(listener, NULL, NULL);
	if (fd < 0)
		io_fail("cannot accept");
	at_once(fd);
	while (recv(fd, &order, sizeof(order), MSG_WAITALL) == sizeof(order))
		serve_one(fd, &order);
	return 0;
}

/* The other side may still be starting: tries for ten minutes. */
static int connect_patiently(const char *endpoint)
{
	const struct timespec pause = { .tv_nsec = 100000000 };
	int fd = -1, try;

	for (try = 0; try < RETRIES && fd < 0; try++) {
		fd = endpoint_connect(endpoint, try < RETRIES - 1);
		if (fd < 0)
			nanosleep(&pause, NULL);
	}
	return fd;
}

int io_net(const char *endpoint)
{
	struct stream stream = { .fd = connect_patiently(endpoint) };

	if (stream.fd < 0)
		return 1;
	at_once(stream.fd);
	stream.order = (struct order){ .what = TAKE, .bytes = STREAM };
	io_rounds("send-kib", STREAM >> 10, run, &stream);
	stream.order = (struct order){ .what = SEND, .bytes = STREAM };
	io_rounds("receive-kib", STREAM >> 10, run, &stream);
	stream.order = (struct order){ .what = ECHO, .bytes = ECHOES };
	io_rounds("echo", ECHOES, run, &stream);
	close(stream.fd);
	return 0;
}
