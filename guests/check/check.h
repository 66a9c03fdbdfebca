/* SPDX-License-Identifier: GPL-2.0 */
/* Unit tests on the development machine: counts failures and prints their places. */
#ifndef GUESTS_CHECK_H
#define GUESTS_CHECK_H

#include <stdio.h>

extern unsigned int wrong;

#define EXPECT(condition) do {						\
	if (!(condition)) {						\
		wrong++;						\
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);	\
	}								\
} while (0)

/* Each is a test; FOLDER holds QEMU's device trees, virt.dtb and virt-el2.dtb. */
void check_format(const char *folder);
void check_random_variety(const char *folder);
void check_random_repeats(const char *folder);
void check_fdt_virt(const char *folder);
void check_fdt_el2(const char *folder);
void check_fdt_damage(const char *folder);

#endif
