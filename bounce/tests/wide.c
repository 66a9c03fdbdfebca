// SPDX-License-Identifier: GPL-2.0
/* A version of wide.S for this machine, and checks of its callers' rules. */
#include "dma_world.h"
#include "wide.h"

static void check_size(size_t bytes)
{
	REQUIRE(bytes && bytes % AV_WIDE_BYTES == 0);
}

void av_wide_copy(void *to, const void *from, size_t bytes)
{
	check_size(bytes);
	REQUIRE(irqs_are_off && bytes <= AV_WIDE_MOST);
	memcpy(to, from, bytes);
	wide_copied += bytes;
}

void av_wide_clear(void *at, size_t bytes)
{
	check_size(bytes);
	REQUIRE(!((unsigned long)at % AV_WIDE_LINE));
	memset(at, 0, bytes);
	wide_cleared += bytes;
}
