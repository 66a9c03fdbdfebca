// SPDX-License-Identifier: GPL-2.0
#include "endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <linux/vm_sockets.h>
#include <unistd.h>

struct endpoint {
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_un un;
		struct sockaddr_vm vm;
	} address;
	socklen_t size;
	bool handshake;
	unsigned int port;
};

/* Splits PREFIX:HOST:PORT behind the prefix; the host may hold colons. */
static bool split(const char *rest, char *host, size_t room, unsigned int *port)
{
	const char *colon = strrchr(rest, ':');
	char *end;

	if (!colon || (size_t)(colon - rest) >= room)
		return false;
	memcpy(host, rest, (size_t)(colon - rest));
	host[colon - rest] = '\0';
	*port = (unsigned int)strtoul(colon + 1, &end, 10);
	return end != colon + 1 && !*end;
}

static bool unix_path(struct endpoint *endpoint, const char *path)
{
	if (!*path || strlen(path) >= sizeof(endpoint->address.un.sun_path))
		return false;
	endpoint->address.un.sun_family = AF_UNIX;
	strcpy(endpoint->address.un.sun_path, path);
	endpoint->size = sizeof(endpoint->address.un);
	return true;
}

static bool parse(const char *name, struct endpoint *endpoint)
{
	char host[sizeof(endpoint->address.un.sun_path)];

	memset(endpoint, 0, sizeof(*endpoint));
	if (!strncmp(name, "unix:", 5))
		return unix_path(endpoint, name + 5);
	if (!strncmp(name, "vsock-uds:", 10)) {
		endpoint->handshake = true;
		return split(name + 10, host, sizeof(host), &endpoint->port) &&
		       unix_path(endpoint, host);
	}
	if (!strncmp(name, "vsock:", 6)) {
		endpoint->size = sizeof(endpoint->address.vm);
		endpoint->address.vm.svm_family = AF_VSOCK;
		if (!split(name + 6, host, sizeof(host), &endpoint->address.vm.svm_port))
			return false;
		endpoint->address.vm.svm_cid = (unsigned int)strtoul(host, NULL, 10);
		return true;
	}
	if (!strncmp(name, "tcp:", 4)) {
		endpoint->size = sizeof(endpoint->address.in);
		endpoint->address.in.sin_family = AF_INET;
		if (!split(name + 4, host, sizeof(host), &endpoint->port) ||
		    endpoint->port > 65535)
			return false;
		endpoint->address.in.sin_port = htons((uint16_t)endpoint->port);
		return inet_aton(host, &endpoint->address.in.sin_addr);
	}
	return false;
}

static int open_socket(const char *name, struct endpoint *endpoint)
{
	int sock;

	if (!parse(name, endpoint)) {
		fprintf(stderr, "stream: %s is no endpoint: see --help\n", name);
		return -1;
	}
	sock = socket(endpoint->address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sock < 0)
		fprintf(stderr, "stream: no socket for %s: %s\n", name, strerror(errno));
	return sock;
}

/* Asks the vsock device behind the socket for the port and reads its one line. */
static bool shake_hands(int sock, const char *name, unsigned int port, bool quiet)
{
	char line[64];
	size_t at = 0;
	int length = snprintf(line, sizeof(line), "CONNECT %u\n", port);

	if (write(sock, line, (size_t)length) != length)
		return false;
	while (at < sizeof(line) - 1 && read(sock, line + at, 1) == 1 && line[at] != '\n')
		at++;
	line[at] = '\0';
	if (!strncmp(line, "OK ", 3))
		return true;
	if (!quiet)
		fprintf(stderr, "stream: %s answers \"%s\" and not OK\n", name, line);
	return false;
}

int endpoint_connect(const char *name, bool quiet)
{
	struct endpoint endpoint;
	int sock = open_socket(name, &endpoint);

	if (sock < 0)
		return -1;
	if (connect(sock, &endpoint.address.any, endpoint.size)) {
		if (!quiet)
			fprintf(stderr, "stream: cannot connect to %s: %s\n", name,
				strerror(errno));
		close(sock);
		return -1;
	}
	if (endpoint.handshake && !shake_hands(sock, name, endpoint.port, quiet)) {
		close(sock);
		return -1;
	}
	return sock;
}

int endpoint_listen(const char *name)
{
	struct endpoint endpoint;
	int sock = open_socket(name, &endpoint);
	int one = 1;

	if (sock < 0)
		return -1;
	if (endpoint.address.any.sa_family == AF_VSOCK)
		endpoint.address.vm.svm_cid = VMADDR_CID_ANY;
	if (endpoint.address.any.sa_family == AF_UNIX)
		unlink(endpoint.address.un.sun_path);
	setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (endpoint.handshake || bind(sock, &endpoint.address.any, endpoint.size) ||
	    listen(sock, 8)) {
		fprintf(stderr, "stream: cannot listen on %s: %s\n", name,
			endpoint.handshake ? "connecting only" : strerror(errno));
		close(sock);
		return -1;
	}
	return sock;
}
