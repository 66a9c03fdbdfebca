// SPDX-License-Identifier: GPL-2.0
/*
 * An ITS that everybody uses at once: a guest sends it commands and turns it off and on without
 * end, while threads overwrite its queue and tables, take away the memory under them, send messages
 * in every way, and change routes. It must survive, and then work as if new.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"
#include "its_machine.h"

#define GSI	40

struct scene {
	struct machine m;
	struct runner r;
	int event;
	unsigned long arrived;	/* messages: the sender's own count */
	bool stop;
};

static bool over(const struct scene *s)
{
	return __atomic_load_n(&s->stop, __ATOMIC_ACQUIRE);
}

static u64 next(u64 *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* A command that means something, and junk in a table. */
static void scribble(struct machine *m, u64 *seed)
{
	static const u8 ops[] = { MOVI, INT, CLEAR, MAPD, MAPC, MAPTI, MAPTI, MAPI, INV, INVALL,
				  MOVALL, DISCARD };
	u64 *words = ram_at(m, QUEUE + next(seed) % 128 * 32);

	words[0] = ops[next(seed) % sizeof(ops)] | (next(seed) % 8) << 32;
	words[1] = next(seed) % 16 | (8190 + next(seed) % 100) << 32;
	words[2] = (next(seed) % 4 ? VALID : 0) | (next(seed) % 3) << 16 | next(seed) % 4;
	if ((u8)words[0] == MAPD)
		words[2] = ITT | VALID;
	words[3] = (next(seed) % 3) << 16;
	*ram_at(m, DEVICE_TABLE + next(seed) % 0x50000 / 8 * 8) = next(seed);
}

/* The same without end, and no memory at all. */
static void *scribbler(void *arg)
{
	struct scene *s = arg;
	u64 seed = 88172645463325252ULL;

	while (!over(s)) {
		scribble(&s->m, &seed);
		if (next(&seed) % 1000 == 0)
			madvise(s->m.ram + 0x10000, RAM_SIZE - 0x10000, MADV_DONTNEED);
		if (next(&seed) % 5000 == 0) {
			mprotect(s->m.ram + 0x20000, 0x40000, PROT_NONE);
			usleep(100);
			mprotect(s->m.ram + 0x20000, 0x40000, PROT_READ | PROT_WRITE);
		}
	}
	return NULL;
}

static void *sender(void *arg)
{
	struct scene *s = arg;
	u64 seed = 4101842887655102017ULL, one = 1;

	while (!over(s)) {
		s->arrived += send_msi(&s->m, next(&seed) % 8, next(&seed) % 16) == 1;
		if (write(s->event, &one, sizeof(one)) != sizeof(one))
			return NULL;
	}
	return NULL;
}

static void *router(void *arg)
{
	struct {
		struct kvm_irq_routing head;
		struct kvm_irq_routing_entry entry;
	} routes = { .head.nr = 1 };
	struct scene *s = arg;
	u64 seed = 2685821657736338717ULL;

	while (!over(s)) {
		routes.entry = (struct kvm_irq_routing_entry) {
			.gsi = GSI, .type = KVM_IRQ_ROUTING_MSI, .flags = next(&seed) % 2,
			.u.msi.address_lo = ITS_BASE + 0x10040, .u.msi.data = next(&seed) % 16,
			.u.msi.devid = next(&seed) % 8,
		};
		ioctl(s->m.vm, KVM_SET_GSI_ROUTING, &routes);
		/* Refused while the vCPU runs; now and then it does not. */
		its_control(&s->m, KVM_DEV_ARM_ITS_SAVE_TABLES);
		its_set(&s->m, CREADR, next(&seed) & 0xfff);
	}
	return NULL;
}

static void start(struct scene *s)
{
	struct kvm_irqfd irqfd = { .gsi = GSI };

	memset(s, 0, sizeof(*s));
	new_machine(&s->m);
	boot_machine(&s->m);
	memcpy(s->m.ram, guest_commander, (char *)guest_commander_end - (char *)guest_commander);
	s->r.g = (struct guest) { .kvm = s->m.kvm, .vm = s->m.vm, .vcpu = s->m.vcpu[0] };
	s->r.g.run = map_run(s->m.kvm, s->m.vcpu[0]);
	set_reg(s->m.vcpu[0], REG_PC, RAM);
	s->event = irqfd.fd = eventfd(0, EFD_NONBLOCK);
	expect(!ioctl(s->m.vm, KVM_IRQFD, &irqfd), "KVM_IRQFD: %s", strerror(errno));
}

/* After all that: off, and set up again, it works as an ITS. */
static void works_as_new(struct scene *s)
{
	its_control(&s->m, KVM_DEV_ARM_ITS_CTRL_RESET);
	redist_set(&s->m, 0, 0, 0);
	redist_set(&s->m, 1, 0, 0);
	boot_machine(&s->m);
	its_mapd(&s->m, 5, ITT, 5, 1);
	its_mapc(&s->m, 0, 0, 1);
	its_mapti(&s->m, 5, 3, 8200, 0);
	expect(send_msi(&s->m, 5, 3) == 1, "a message after it all: %s", strerror(errno));
	expect(send_msi(&s->m, 5, 4) == 0, "a message about nothing after it all");
}

/* Attributes by chance, with no vCPU in the way: registers, tables saved and restored. */
static void attributes(void)
{
	static const u64 offsets[] = { CTLR, CBASER, CWRITER, CREADR, BASER0, BASER1, 0x4 };
	struct scene s = { 0 };
	u64 seed = 1181783497276652981ULL, val;
	int i, fd;

	new_machine(&s.m);
	boot_machine(&s.m);
	for (i = 0; i < times(2000); i++) {
		scribble(&s.m, &seed);
		val = next(&seed) % 2 ? next(&seed) : RAM | VALID | next(&seed) % 0x400000;
		fd = next(&seed) % 4 ? s.m.its : s.m.vgic;
		if (next(&seed) % 2)
			its_set(&s.m, offsets[next(&seed) % ARRAY_SIZE(offsets)], val);
		else
			attr_call(fd, next(&seed) % 2 ? KVM_SET_DEVICE_ATTR : KVM_GET_DEVICE_ATTR,
				  next(&seed) % 10, next(&seed) % 256, &val);
		its_control(&s.m, next(&seed) % 8);
	}
	works_as_new(&s);
	free_machine(&s.m);
}

/* 65,536 devices, all with the same 65,536 empty events: hours of work to read them all. */
static void endless_tables(struct machine *m)
{
	const u64 table = RAM + 0x200000;
	u64 id;

	its_set(m, CTLR, 0);
	its_set(m, BASER0, table | VALID | 7);
	memset(ram_at(m, ITT), 0, 8 << 16);
	for (id = 0; id < 1 << 16; id++)
		*ram_at(m, table + id * 8) = VALID | 1ULL << 49 | ITT >> 8 << 5 | 15;
}

/* A VMM that is killed while its tables are restored is gone. */
static void killed_in_restore(void)
{
	struct machine m;
	pid_t child;
	int status;

	fflush(NULL);
	child = fork();
	if (!child) {
		new_machine(&m);
		boot_machine(&m);
		endless_tables(&m);
		its_control(&m, KVM_DEV_ARM_ITS_RESTORE_TABLES);
		_exit(0);
	}
	/* A moment is enough: all of it takes hours. */
	usleep(200000);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	expect(WIFSIGNALED(status), "endless tables are restored at once");
}

void hostile_messages(void)
{
	static void *(*const parts[])(void *arg) = { scribbler, sender, router };
	pthread_t threads[ARRAY_SIZE(parts)];
	struct scene s;
	size_t i;
	int round;

	for (round = 0; round < 2 * times(2); round++) {
		start(&s);
		run_in_thread(&s.r);
		for (i = 0; i < ARRAY_SIZE(parts); i++)
			if (pthread_create(&threads[i], NULL, parts[i], &s))
				die("pthread_create");
		expect(runner_progress(&s.r, 500), "the guest stands still: %s",
		       strerror(s.r.error));
		/* Every other time the VMM ends in the middle of it, eventfd first. */
		if (round % 2)
			close(s.event);
		__atomic_store_n(&s.stop, true, __ATOMIC_RELEASE);
		for (i = 0; i < ARRAY_SIZE(parts); i++)
			pthread_join(threads[i], NULL);
		stop_runner(&s.r);
		expect(s.arrived, "no message arrived at all");
		works_as_new(&s);
		munmap(s.r.g.run, 4096);
		free_machine(&s.m);
		if (round % 2 == 0)
			close(s.event);
	}
	attributes();
	killed_in_restore();
}
