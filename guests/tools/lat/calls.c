// SPDX-License-Identifier: GPL-2.0
/* System calls and signals of one process. */
#include "lat.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int zero = -1;
static int null = -1;

static void open_devices(void)
{
	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (zero < 0 || null < 0)
		lat_fail("cannot open /dev/zero and /dev/null");
}

static void close_devices(void)
{
	close(zero);
	close(null);
}

static void run_null(uint64_t loops)
{
	while (loops--)
		syscall(SYS_getppid);
}

static void run_read(uint64_t loops)
{
	char byte;

	while (loops--)
		if (read(zero, &byte, 1) != 1)
			lat_fail("cannot read /dev/zero");
}

static void run_write(uint64_t loops)
{
	while (loops--)
		if (write(null, "", 1) != 1)
			lat_fail("cannot write /dev/null");
}

static void run_open(uint64_t loops)
{
	int fd;

	while (loops--) {
		fd = open("/dev/null", O_RDONLY);
		if (fd < 0)
			lat_fail("cannot open /dev/null");
		close(fd);
	}
}

static void run_stat(uint64_t loops)
{
	struct stat about;

	while (loops--)
		if (stat("/dev/null", &about))
			lat_fail("cannot stat /dev/null");
}

/* Descriptors for a select(); all of them are ready. */
#define MOST_SELECTED 100
static int selected[MOST_SELECTED];
static int nr_selected;

static void open_selected(int number)
{
	int i;

	for (i = 0; i < number; i++) {
		selected[i] = open("/dev/null", O_WRONLY | O_CLOEXEC);
		if (selected[i] < 0 || selected[i] >= FD_SETSIZE)
			lat_fail("cannot open /dev/null often enough");
	}
	nr_selected = number;
}

static void open_10(void)
{
	open_selected(10);
}

static void open_100(void)
{
	open_selected(100);
}

static void close_selected(void)
{
	while (nr_selected)
		close(selected[--nr_selected]);
}

static void run_select(uint64_t loops)
{
	struct timeval at_once;
	fd_set every, ready;
	int i;

	FD_ZERO(&every);
	for (i = 0; i < nr_selected; i++)
		FD_SET(selected[i], &every);
	while (loops--) {
		ready = every;
		at_once = (struct timeval){ 0 };
		if (select(selected[nr_selected - 1] + 1, NULL, &ready, NULL, &at_once) !=
		    nr_selected)
			lat_fail("select() does not find all descriptors ready");
	}
}

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
	(void)number;
	caught++;
}

static void run_install(uint64_t loops)
{
	struct sigaction action = { .sa_handler = on_signal };

	while (loops--)
		if (sigaction(SIGUSR1, &action, NULL))
			lat_fail("cannot install a signal handler");
}

static void install(void)
{
	run_install(1);
}

static void run_catch(uint64_t loops)
{
	sig_atomic_t before = caught;
	uint64_t i;

	for (i = 0; i < loops; i++)
		kill(getpid(), SIGUSR1);
	if ((uint64_t)(caught - before) != loops)
		lat_fail("signals were lost");
}

/* Arithmetic that no compiler can shorten: the cost of a loop without traps. */
static void run_loop(uint64_t loops)
{
	uint64_t a = loops, b = 3;

	while (loops--)
		asm volatile("add %0, %0, %1\n\teor %1, %1, %0, ror #7\n\tadd %0, %0, #1\n\t"
			     : "+r" (a), "+r" (b));
}

const struct lat_row lat_calls[] = {
	{ "null", NULL, run_null, NULL, 1000 },
	{ "read", open_devices, run_read, close_devices, 1000 },
	{ "write", open_devices, run_write, close_devices, 1000 },
	{ "open-close", NULL, run_open, NULL, 300 },
	{ "stat", NULL, run_stat, NULL, 500 },
	{ "select-10", open_10, run_select, close_selected, 500 },
	{ "select-100", open_100, run_select, close_selected, 100 },
	{ "signal-install", NULL, run_install, NULL, 1000 },
	{ "signal-catch", install, run_catch, NULL, 300 },
	{ "arithmetic", NULL, run_loop, NULL, 100000 },
	{ 0 },
};
