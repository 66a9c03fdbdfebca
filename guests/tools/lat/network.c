// SPDX-License-Identifier: GPL-2.0
/* Two processes that talk by network protocols on the machine itself. */
#include "lat.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t partner;
static int ours = -1;

/* The machine's init may not have set up the loopback device. */
static void loopback_up(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request))
		lat_fail("there is no loopback device");
	request.ifr_flags |= IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &request))
		lat_fail("the loopback device cannot be started");
	close(fd);
}

/* A socket at an address of its own. */
static int bound(int type, struct sockaddr_in *at)
{
	socklen_t size = sizeof(*at);
	int fd = socket(AF_INET, type, 0);

	*at = (struct sockaddr_in){ .sin_family = AF_INET };
	at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)at, size) ||
	    getsockname(fd, (struct sockaddr *)at, &size))
		lat_fail("cannot have a socket on the loopback device");
	return fd;
}

static void echo(int fd)
{
	char byte;

	while (read(fd, &byte, 1) == 1)
		if (write(fd, &byte, 1) != 1)
			break;
	_exit(0);
}

static void start_partner(int fd, int others)
{
	partner = fork();
	if (partner < 0)
		lat_fail("cannot fork");
	if (!partner) {
		close(others);
		echo(fd);
	}
	close(fd);
}

static void no_delay(int fd)
{
	int one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		lat_fail("TCP_NODELAY");
}

static void start_tcp(void)
{
	struct sockaddr_in at;
	int listener, theirs;

	loopback_up();
	listener = bound(SOCK_STREAM, &at);
	ours = socket(AF_INET, SOCK_STREAM, 0);
	if (listen(listener, 1) || connect(ours, (struct sockaddr *)&at, sizeof(at)))
		lat_fail("cannot connect");
	theirs = accept(listener, NULL, NULL);
	if (theirs < 0)
		lat_fail("cannot accept");
	no_delay(ours);
	no_delay(theirs);
	close(listener);
	start_partner(theirs, ours);
}

static void start_udp(void)
{
	struct sockaddr_in here, there;
	int theirs;

	loopback_up();
	ours = bound(SOCK_DGRAM, &here);
	theirs = bound(SOCK_DGRAM, &there);
	if (connect(ours, (struct sockaddr *)&there, sizeof(there)) ||
	    connect(theirs, (struct sockaddr *)&here, sizeof(here)))
		lat_fail("cannot connect");
	start_partner(theirs, ours);
}

/* Closing a datagram socket does not end the other side, so kill it. */
static void stop(void)
{
	if (write(ours, "", 0) < 0)
		lat_fail("cannot end the other process");
	close(ours);
	waitpid(partner, NULL, 0);
}

static void run_round_trip(uint64_t loops)
{
	char byte = 0;

	while (loops--)
		if (write(ours, &byte, 1) != 1 || read(ours, &byte, 1) != 1)
			lat_fail("the other process does not answer");
}

const struct lat_row lat_network[] = {
	{ "tcp", start_tcp, run_round_trip, stop, 100 },
	{ "udp", start_udp, run_round_trip, stop, 100 },
	{ 0 },
};
