// SPDX-License-Identifier: GPL-2.0
/*
 * The ITS's worst case: all LPIs mapped and pending, a queue full of commands that visit all of
 * them, tables saved and restored, everything turned off. The VMM's writes do the same as the
 * guest's.
 *
 *	EVENTS=n	57,344: as many as there are LPIs
 */
#include <string.h>
#include <unistd.h>

#include "bounds.h"
#include "its_machine.h"

/* In the machine's memory, where its_machine.c has its smaller ones. */
#define BIG_QUEUE	(RAM + 0x200000)
#define BIG_QUEUE_SIZE	0x100000UL
#define COMMANDS	(BIG_QUEUE_SIZE / 32)
#define FIRST_LPI	8192
#define MOST_EVENTS	(65536 - FIRST_LPI)

static u32 events;

struct its {
	struct machine m;
	u64 queued;		/* bytes from the queue's start */
};

static void put(struct its *s, u64 w0, u64 w1, u64 w2, u64 w3)
{
	u64 *words = ram_at(&s->m, BIG_QUEUE + s->queued);

	words[0] = w0;
	words[1] = w1;
	words[2] = w2;
	words[3] = w3;
	s->queued = (s->queued + 32) % BIG_QUEUE_SIZE;
}

/* One write, and as many looks as it takes until all is done. */
static u64 run(struct its *s)
{
	u64 looks = 0;

	if (its_set(&s->m, CWRITER, s->queued))
		die("CWRITER");
	while (its_get(&s->m, CREADR) != s->queued) {
		its_set(&s->m, CWRITER, s->queued);
		looks++;
	}
	return looks;
}

static void boot(struct its *s)
{
	struct machine *m = &s->m;
	u64 cpu;

	new_machine(m);
	memset(m->ram + (PROP_TABLE - RAM), 0xa1, 0x10000);
	for (cpu = 0; cpu < 2; cpu++) {
		redist_set(m, cpu, 0x70, (u32)PROP_TABLE | 15);
		redist_set(m, cpu, 0x74, 0);
		redist_set(m, cpu, 0x78, (u32)(PEND_TABLE + cpu * 0x10000));
		redist_set(m, cpu, 0x7c, 0);
		redist_set(m, cpu, 0, 1);
	}
	its_set(m, BASER0, DEVICE_TABLE | VALID);
	its_set(m, BASER1, COLL_TABLE | VALID);
	its_set(m, CBASER, BIG_QUEUE | VALID | (BIG_QUEUE_SIZE / 0x1000 - 1));
	its_set(m, CTLR, 1);
	put(s, MAPD, 15, ITT | VALID, 0);
	put(s, MAPC, 0, 0 | 0 << 16 | VALID, 0);
	put(s, MAPC, 0, 1 | 1 << 16 | VALID, 0);
	run(s);
}

/* A command for every event, as many at a time as the queue takes. */
static void each_event(struct its *s, const char *name, u64 op)
{
	u32 event, i;

	meter_begin();
	for (event = 0; event < events;) {
		for (i = 0; i < COMMANDS - 1 && event < events; i++, event++)
			put(s, op, event | (u64)(FIRST_LPI + event) << 32, 0, 0);
		run(s);
	}
	meter_end("%s", name);
}

/* The same command again and again, which looks at all. */
static void repeated(struct its *s, const char *name, u64 op, u32 times)
{
	u32 i;

	for (i = 0; i < times; i++)
		put(s, op, 0, (op == MOVALL ? (u64)(i & 1) << 16 : 0),
		    op == MOVALL ? (u64)(~i & 1) << 16 : 0);
	meter_begin();
	run(s);
	meter_end("%s", name);
}

static void registers(struct its *s)
{
	struct machine *m = &s->m;

	meter_begin();
	attr_set(m->vgic, KVM_DEV_ARM_VGIC_GRP_CTRL, KVM_DEV_ARM_VGIC_SAVE_PENDING_TABLES, 0);
	meter_end("its.save_pending");
	meter_begin();
	redist_set(m, 0, 0, 0);
	meter_end("its.lpis_off");
	meter_begin();
	redist_set(m, 0, 0, 1);
	meter_end("its.lpis_on");
	meter_begin();
	its_set(m, CTLR, 0);
	its_set(m, CTLR, 1);
	meter_end("its.off_on");
}

static void tables(struct its *s)
{
	struct machine *m = &s->m;

	meter_begin();
	if (its_control(m, KVM_DEV_ARM_ITS_SAVE_TABLES))
		die("KVM_DEV_ARM_ITS_SAVE_TABLES");
	meter_end("its.save");
	its_set(m, CTLR, 0);
	meter_begin();
	its_control(m, KVM_DEV_ARM_ITS_CTRL_RESET);
	meter_end("its.reset");
	its_set(m, CBASER, BIG_QUEUE | VALID | (BIG_QUEUE_SIZE / 0x1000 - 1));
	its_set(m, BASER0, DEVICE_TABLE | VALID);
	its_set(m, BASER1, COLL_TABLE | VALID);
	meter_begin();
	if (its_control(m, KVM_DEV_ARM_ITS_RESTORE_TABLES))
		die("KVM_DEV_ARM_ITS_RESTORE_TABLES");
	meter_end("its.restore");
	its_set(m, CTLR, 1);
	s->queued = 0;
}

void bounds_its(void)
{
	struct its s = {};
	u32 i;

	events = setting("EVENTS", MOST_EVENTS);
	boot(&s);
	each_event(&s, "its.map", MAPTI);
	each_event(&s, "its.raise", INT);
	repeated(&s, "its.invall", INVALL, 4);
	repeated(&s, "its.movall", MOVALL, 4);
	registers(&s);
	tables(&s);
	meter_begin();
	for (i = 0; i < 1000; i++)
		if (send_msi(&s.m, 0, i) != 1)
			die("KVM_SIGNAL_MSI");
	meter_end("its.messages");
	/* Mapped again, the device forgets all that it had. */
	put(&s, MAPD, 15, ITT | VALID, 0);
	meter_begin();
	run(&s);
	meter_end("its.mapd");
	each_event(&s, "its.map_again", MAPTI);
	each_event(&s, "its.discard", DISCARD);
	each_event(&s, "its.map_third", MAPTI);
	meter_begin();
	free_machine(&s.m);
	meter_end("its.close");
}

/* 4,096 routes, all of messages, again and again. */
void bounds_routes(void)
{
	static struct {
		struct kvm_irq_routing head;
		struct kvm_irq_routing_entry entry[4096];
	} table;
	struct machine m;
	u32 i;

	new_machine(&m);
	table.head.nr = ARRAY_SIZE(table.entry);
	for (i = 0; i < table.head.nr; i++) {
		struct kvm_irq_routing_entry *e = &table.head.entries[i];

		e->gsi = i;
		e->type = KVM_IRQ_ROUTING_MSI;
		e->flags = KVM_MSI_VALID_DEVID;
		e->u.msi.address_lo = ITS_BASE + 0x10040;
		e->u.msi.data = i;
	}
	meter_begin();
	for (i = 0; i < 4; i++)
		if (ioctl(m.vm, KVM_SET_GSI_ROUTING, &table))
			die("KVM_SET_GSI_ROUTING");
	meter_end("routes");
	free_machine(&m);
}
