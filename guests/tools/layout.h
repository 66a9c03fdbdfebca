/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One layout of a program's address space. The places of its stack and mappings determine how many
 * page tables a fork copies: 4 % of a fork natively, more under a hypervisor with shadow page
 * tables. A program whose forks are counted executes itself again without randomization, so that
 * systems are compared on the same work.
 */
#ifndef GUESTS_TOOLS_LAYOUT_H
#define GUESTS_TOOLS_LAYOUT_H

#include <stdbool.h>
#include <sys/personality.h>
#include <unistd.h>

#define PERSONALITY_AS_IT_IS 0xffffffffUL

/* The program's children have that layout, too. Returns true if it has it, false with errno. */
static inline bool have_one_layout(char **argv)
{
	int now = personality(PERSONALITY_AS_IT_IS);

	if (now < 0)
		return false;
	if (now & ADDR_NO_RANDOMIZE)
		return true;
	if (personality((unsigned int)now | ADDR_NO_RANDOMIZE) < 0)
		return false;
	execv("/proc/self/exe", argv);
	return false;
}

#endif
