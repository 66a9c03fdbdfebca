// SPDX-License-Identifier: GPL-2.0
#include "check.h"

#include "../lib/types.h"

unsigned int wrong;

static void (*const tests[])(const char *folder) = {
	check_format, check_random_variety, check_random_repeats,
	check_fdt_virt, check_fdt_el2, check_fdt_damage,
};

int main(int argc, char **argv)
{
	unsigned int passed = 0, failed = 0, before;
	unsigned int i;

	if (argc != 2) {
		fprintf(stderr, "usage: check FOLDER-WITH-DTBS\n");
		return 2;
	}
	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		before = wrong;
		tests[i](argv[1]);
		if (wrong == before)
			passed++;
		else
			failed++;
	}
	printf("guests: %u passed, %u failed\n", passed, failed);
	return failed ? 1 : 0;
}
