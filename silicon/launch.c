// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
/* Runs a program without a shell, which takes what the kernel cannot run for a script. */
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	execv(argv[1], argv + 1);
	perror(argv[1]);
	return 126;
}
