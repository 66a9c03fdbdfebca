/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Byte streams by name:
 *	tcp:ADDRESS:PORT	IPv4; listening, the address to listen on
 *	vsock:CID:PORT		listening, the CID is ignored
 *	unix:PATH		a Unix stream socket
 *	vsock-uds:PATH:PORT	connecting only: PORT of a VM whose vsock device is behind the
 *				Unix socket PATH (CONNECT PORT, OK …)
 */
#ifndef GUESTS_TOOLS_ENDPOINT_H
#define GUESTS_TOOLS_ENDPOINT_H

#include <stdbool.h>

/* Both return -1 when they fail and say why on standard error, unless quiet. */
int endpoint_connect(const char *name, bool quiet);
int endpoint_listen(const char *name);

#endif
