// SPDX-License-Identifier: GPL-2.0
#include "check.h"

unsigned int checks, wrong;

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: check FOLDER-WITH-DTBS\n");
		return 2;
	}
	check_format();
	check_fdt(argv[1]);
	printf("guests: %u checks, %u wrong\n", checks, wrong);
	return wrong ? 1 : 0;
}
