// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a fuzz target on the files of a corpus where there is no libFuzzer, then on as many random
 * inputs from a fixed seed. Arguments: directories.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned char buf[1 << 16];

static int replay(const char *dir, const char *name)
{
	char path[4096];
	size_t size;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	if (!f) {
		perror(path);
		exit(1);
	}
	size = fread(buf, 1, sizeof(buf), f);
	fclose(f);
	LLVMFuzzerTestOneInput(buf, size);
	return 1;
}

static int replay_dir(const char *path)
{
	struct dirent *entry;
	DIR *dir = opendir(path);
	int count = 0;

	if (!dir) {
		perror(path);
		exit(1);
	}
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			count += replay(path, entry->d_name);
	closedir(dir);
	return count;
}

static void random_inputs(int count)
{
	uint64_t state = 88172645463325252ULL;
	size_t size, i;

	while (count--) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		size = state % 4096;
		for (i = 0; i < size; i++) {
			state = state * 6364136223846793005ULL + 1442695040888963407ULL;
			buf[i] = (unsigned char)(state >> 56);
		}
		LLVMFuzzerTestOneInput(buf, size);
	}
}

int main(int argc, char **argv)
{
	int i, count = 0;

	for (i = 1; i < argc; i++)
		count += replay_dir(argv[i]);
	if (!count) {
		fprintf(stderr, "%s: no input: give directories of a corpus\n", argv[0]);
		return 1;
	}
	random_inputs(2000);
	printf("%d passed, 0 failed\n", count + 2000);
	return 0;
}
