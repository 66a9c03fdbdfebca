// SPDX-License-Identifier: GPL-2.0
/*
 * Two CPUs and a slow disk. While a write is under way, CPU 0 reads the disk's configuration and
 * status. CPU 1 acts as an interrupt handler: it reads and acknowledges the interrupt status, and
 * notifies. Each time that both CPUs have made progress, CPU 1 reports it. If a hypervisor makes
 * one CPU wait for the disk, or for the other CPU, there is no report until the disk has answered.
 */
#include "guest.h"

#define ROUNDS 64

enum {
	NOTIFY = 0x050, INTERRUPT_STATUS = 0x060, INTERRUPT_ACK = 0x064, STATUS = 0x070,
	CAPACITY = 0x100,
};

#define STARTED 15	/* ACKNOWLEDGE, DRIVER, FEATURES_OK and DRIVER_OK */

static char sector[512] __attribute__((aligned(512)));
static volatile u64 looks;
static volatile bool answered, off;

static void interrupt_handler(unsigned int cpu)
{
	u64 seen = 0, times = 0;
	unsigned int i;

	(void)cpu;
	while (!answered) {
		for (i = 0; i < ROUNDS; i++) {
			*disk_register(INTERRUPT_ACK) = *disk_register(INTERRUPT_STATUS);
			*disk_register(NOTIFY) = 0;
		}
		if (looks - seen < ROUNDS)
			continue;
		seen = looks;
		print("both CPUs get on: %lu\n", ++times);
	}
	off = true;
	dsb();
	psci(PSCI_CPU_OFF, 0, 0, 0);
}

void guest_main(void)
{
	u32 capacity, status = STARTED;
	s64 answer;

	mmu_enable();
	if (!check(machine.cpu_count == 2, "%u CPUs, not two", machine.cpu_count) ||
	    !check(disk_open(), "no disk"))
		return;
	capacity = *disk_register(CAPACITY);
	answer = cpu_start(1, interrupt_handler);
	if (!check(!answer, "CPU_ON answers %ld", (long)answer))
		return;
	disk_ask(sector, sizeof(sector));
	while (!disk_answered()) {
		if (*disk_register(CAPACITY) != capacity)
			capacity = 0;
		if (*disk_register(STATUS) != STARTED)
			status = 0;
		looks++;
	}
	answered = true;
	while (!off)
		;
	check(capacity, "the capacity has changed");
	check(status == STARTED, "the status has changed");
	result("stall.looks", looks, "count");
}
