// SPDX-License-Identifier: GPL-2.0
/*
 * CPU hotplug and suspend of the host under a running guest that counts. Actions that a board does
 * not support are reported and skipped.
 */
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "hostile.h"

#define CPU1		"/sys/devices/system/cpu/cpu1/online"
#define WAKE		"/sys/class/rtc/rtc0/wakealarm"
#define STATE		"/sys/power/state"
#define SLEEPS		2

/* Let all threads of ours run on these CPUs only. */
static void allow(unsigned int first, unsigned int last)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	cpu_set_t set;

	CPU_ZERO(&set);
	for (; first <= last; first++)
		CPU_SET(first, &set);
	while (tasks && (task = readdir(tasks)))
		if (atoi(task->d_name))
			sched_setaffinity(atoi(task->d_name), sizeof(set), &set);
	closedir(tasks);
}

/* Everything to the CPU that then goes. */
static void cpu_off_and_on(char *memory, int round)
{
	allow(1, 1);
	usleep(5000);
	expect(write_file(CPU1, "0"), "CPU 1 does not go off");
	usleep(20000);
	expect(write_file(CPU1, "1"), "CPU 1 does not come back");
	allow(0, 1);
}

/* To idle, with all programs frozen, until the clock wakes it. */
static void sleep_a_second(char *memory, int round)
{
	if (round >= SLEEPS)
		return;
	write_file(WAKE, "0");
	expect(write_file(WAKE, "+2"), "the clock does not take an alarm");
	expect(write_file(STATE, "freeze"), "the machine does not sleep");
}

void hostile_power(void)
{
	if (access(CPU1, W_OK))
		printf("no CPU that could go off\n");
	else
		disturb("CPUs", private_memory(), cpu_off_and_on);
	if (access(WAKE, W_OK) || access(STATE, W_OK))
		printf("no clock that could wake the machine\n");
	else
		disturb("sleep", private_memory(), sleep_a_second);
}
