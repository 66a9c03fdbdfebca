/* SPDX-License-Identifier: GPL-2.0 */
/* Unit tests on the development machine: count what is wrong, say where. */
#ifndef GUESTS_CHECK_H
#define GUESTS_CHECK_H

#include <stdio.h>

extern unsigned int checks, wrong;

#define EXPECT(condition) do {						\
	checks++;							\
	if (!(condition)) {						\
		wrong++;						\
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);	\
	}								\
} while (0)

void check_format(void);
void check_fdt(const char *folder);

#endif
