// SPDX-License-Identifier: GPL-2.0
/*
 * Creates a persistent TAP interface, gives it an IPv4 address and brings it up: a board's host
 * needs it before a VM can have a network.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <linux/if_tun.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int fail(const char *what, const char *name)
{
	fprintf(stderr, "tap: cannot %s %s: %s\n", what, name, strerror(errno));
	return 1;
}

static int create(struct ifreq *request)
{
	int tun = open("/dev/net/tun", O_RDWR | O_CLOEXEC);

	if (tun < 0)
		return fail("open", "/dev/net/tun (is the module tun loaded?)");
	request->ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
	if (ioctl(tun, TUNSETIFF, request) || ioctl(tun, TUNSETPERSIST, 1))
		return fail("create", request->ifr_name);
	close(tun);
	return 0;
}

static int set_address(int sock, struct ifreq *request, unsigned long command, uint32_t address)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(address) };

	memcpy(&request->ifr_addr, &in, sizeof(in));
	return ioctl(sock, command, request);
}

static int configure(struct ifreq *request, uint32_t address, unsigned int prefix)
{
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (sock < 0)
		return fail("open a socket for", request->ifr_name);
	if (set_address(sock, request, SIOCSIFADDR, address) ||
	    set_address(sock, request, SIOCSIFNETMASK, prefix ? ~0U << (32 - prefix) : 0))
		return fail("address", request->ifr_name);
	request->ifr_flags = IFF_UP;
	if (ioctl(sock, SIOCSIFFLAGS, request))
		return fail("bring up", request->ifr_name);
	close(sock);
	return 0;
}

int main(int argc, char **argv)
{
	struct ifreq request = { 0 };
	struct in_addr address;
	unsigned int prefix;
	char *slash;

	slash = argc == 3 ? strchr(argv[2], '/') : NULL;
	if (!slash || strlen(argv[1]) >= IFNAMSIZ) {
		fprintf(stderr, "usage: tap NAME ADDRESS/PREFIX\n");
		return 2;
	}
	*slash = '\0';
	prefix = (unsigned int)atoi(slash + 1);
	if (prefix > 32 || !inet_aton(argv[2], &address)) {
		fprintf(stderr, "tap: %s/%s is no IPv4 address with a prefix\n", argv[2], slash + 1);
		return 2;
	}
	strcpy(request.ifr_name, argv[1]);
	return create(&request) || configure(&request, ntohl(address.s_addr), prefix);
}
