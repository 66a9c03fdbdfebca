// SPDX-License-Identifier: GPL-2.0
/* The rows of ops, and what they share. */
#include "ops.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct lat_row *const groups[] = {
	ops_calls, ops_timers, ops_faults, ops_signals, ops_memory, ops_mapping,
	ops_processes, ops_debug, ops_code, ops_trace, NULL,
};

char *ops_map(size_t size)
{
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ops_must(at != MAP_FAILED, "cannot map memory");
	ops_must(!madvise(at, size, MADV_NOHUGEPAGE), "MADV_NOHUGEPAGE");
	return at;
}

void ops_unmap(void *at, size_t size)
{
	ops_must(!munmap(at, size), "cannot unmap memory");
}

void ops_read(const volatile char *at, size_t size)
{
	size_t offset;

	for (offset = 0; offset < size; offset += OPS_PAGE)
		(void)at[offset];
}

void ops_write(volatile char *at, size_t size)
{
	size_t offset;

	for (offset = 0; offset < size; offset += OPS_PAGE)
		at[offset] = 1;
}

struct ops_area ops_area;

void ops_get_area(size_t size)
{
	ops_area = (struct ops_area){ ops_map(size), size };
	ops_write(ops_area.at, size);
}

void ops_get_4m(void)
{
	ops_get_area(4 * OPS_MIB);
}

void ops_drop_area(void)
{
	ops_unmap(ops_area.at, ops_area.size);
}

void ops_map_and_write(uint64_t loops, size_t size)
{
	char *at;

	while (loops--) {
		at = ops_map(size);
		ops_write(at, size);
		ops_unmap(at, size);
	}
}

void ops_tell(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_TRUNC | O_CLOEXEC);
	size_t length = strlen(text);

	ops_must(fd >= 0 && write(fd, text, length) == (ssize_t)length, file);
	close(fd);
}

int main(int argc, char **argv)
{
	(void)argc;
	return lat_main("ops", groups, argv);
}
