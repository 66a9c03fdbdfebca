// SPDX-License-Identifier: GPL-2.0
#include "lat.h"

static const struct lat_row *const groups[] = {
	lat_calls, lat_processes, lat_context, lat_network, lat_memory, lat_reads, 0,
};

int main(int argc, char **argv)
{
	(void)argc;
	return lat_main("lat", groups, argv);
}
