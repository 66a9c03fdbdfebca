// SPDX-License-Identifier: GPL-2.0
/* Interrupts from outside, and signals of guests: lines, eventfds, routes, messages. */
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "its_machine.h"

#define MAX_ROUTES	64

static int any_event(struct actor *a)
{
	return get_file(&a->w->event[pick(a, NR_EVENTS)]);
}

static void irq_line(struct actor *a)
{
	struct kvm_irq_level level = {
		.irq = pick(a, 3) << KVM_ARM_IRQ_TYPE_SHIFT | pick(a, 5) << KVM_ARM_IRQ_VCPU_SHIFT |
		       (one_in(a, 8) ? pick(a, 1100) : pick(a, 96)),
		.level = pick(a, 2),
	};

	call(a, get_file(&a->w->vm), one_in(a, 2) ? KVM_IRQ_LINE : KVM_IRQ_LINE_STATUS, &level);
}

/* Lines up and down as fast as can be. */
static void irq_storm(struct actor *a)
{
	struct kvm_irq_level level = {
		.irq = KVM_ARM_IRQ_TYPE_SPI << KVM_ARM_IRQ_TYPE_SHIFT | (32 + pick(a, 64)),
	};
	int i;

	for (i = 0; i < 100; i++) {
		level.level = i & 1;
		call(a, get_file(&a->w->vm), KVM_IRQ_LINE, &level);
	}
}

/* An eventfd has its usual interrupt, or another one. */
static void irqfd(struct actor *a, u32 flags)
{
	unsigned int n = pick(a, NR_EVENTS);
	struct kvm_irqfd args = {
		.fd = get_file(&a->w->event[n]),
		.gsi = one_in(a, 16) ? rnd(&a->rng) : one_in(a, 4) ? pick(a, 8) : n,
		.flags = flags | (one_in(a, 3) ? KVM_IRQFD_FLAG_RESAMPLE : 0),
		.resamplefd = any_event(a),
	};

	call(a, get_file(&a->w->vm), KVM_IRQFD, &args);
}

static void irqfd_assign(struct actor *a)
{
	irqfd(a, 0);
}

static void irqfd_deassign(struct actor *a)
{
	irqfd(a, KVM_IRQFD_FLAG_DEASSIGN);
}

static void event_signal(struct actor *a)
{
	u64 n = one_in(a, 16) ? ~1ULL : 1 + pick(a, 3);
	int i, times = pick(a, 20);

	for (i = 0; i <= times; i++)
		judge(a, write(any_event(a), &n, 8));
}

static void event_read(struct actor *a)
{
	u64 n;

	judge(a, read(any_event(a), &n, 8));
}

static void event_renew(struct actor *a)
{
	put_file(&a->w->event[pick(a, NR_EVENTS)], new_event());
	a->done = true;
}

/* One of eight of the world's own, or any. */
static void ioeventfd(struct actor *a, u32 flags)
{
	static const u32 lengths[] = { 0, 1, 2, 4, 8, 8, 3, 16 };
	unsigned int n = pick(a, 8);
	struct kvm_ioeventfd args = {
		.addr = BELLS + n * 8, .len = n & 1 ? 8 : 0,
		.fd = get_file(&a->w->event[n % NR_EVENTS]), .flags = flags,
	};

	if (one_in(a, 4)) {
		args.addr = one_in(a, 2) ? GUEST_DIST + pick(a, 512) * 8 : BELLS + pick(a, 8) * 8;
		args.len = lengths[pick(a, ARRAY_SIZE(lengths))];
		args.flags |= pick(a, 16);
		args.datamatch = pick(a, 4);
	}
	call(a, get_file(&a->w->vm), KVM_IOEVENTFD, &args);
}

static void bell_assign(struct actor *a)
{
	ioeventfd(a, 0);
}

static void bell_deassign(struct actor *a)
{
	ioeventfd(a, KVM_IOEVENTFD_FLAG_DEASSIGN);
}

static struct kvm_irq_routing_entry any_route(struct actor *a, u32 gsi)
{
	struct kvm_irq_routing_entry entry = {
		.gsi = one_in(a, 64) ? rnd(&a->rng) : gsi,
		.type = one_in(a, 2) ? KVM_IRQ_ROUTING_MSI : KVM_IRQ_ROUTING_IRQCHIP,
	};

	if (entry.type == KVM_IRQ_ROUTING_MSI) {
		entry.flags = one_in(a, 8) ? 0 : KVM_MSI_VALID_DEVID;
		entry.u.msi.address_lo = (u32)(one_in(a, 8) ? rnd(&a->rng) : ITS_BASE + 0x10040);
		entry.u.msi.data = pick(a, 32);
		entry.u.msi.devid = pick(a, 4);
	} else {
		entry.u.irqchip.pin = one_in(a, 16) ? pick(a, 2000) : pick(a, 64);
	}
	return entry;
}

static void routing(struct actor *a)
{
	struct kvm_irq_routing *table = (struct kvm_irq_routing *)a->buffer;
	u32 nr = one_in(a, 8) ? 0 : pick(a, MAX_ROUTES), i;

	memset(table, 0, sizeof(*table));
	table->nr = nr;
	for (i = 0; i < nr; i++)
		table->entries[i] = any_route(a, i);
	call(a, get_file(&a->w->vm), KVM_SET_GSI_ROUTING, table);
}

static void message(struct actor *a)
{
	struct kvm_msi msi = {
		.address_lo = (u32)ITS_BASE + (one_in(a, 16) ? 0 : 0x10040),
		.data = one_in(a, 8) ? rnd(&a->rng) : pick(a, 32),
		.flags = one_in(a, 16) ? pick(a, 4) : KVM_MSI_VALID_DEVID,
		.devid = one_in(a, 8) ? rnd(&a->rng) : pick(a, 4),
	};
	int i, times = pick(a, 10);

	for (i = 0; i <= times; i++)
		call(a, get_file(&a->w->vm), KVM_SIGNAL_MSI, &msi);
}

const struct op irq_ops[] = {
	{ "irq_line",		10, irq_line },
	{ "irq_storm",		4, irq_storm },
	{ "irqfd_assign",	12, irqfd_assign },
	{ "irqfd_deassign",	10, irqfd_deassign },
	{ "event_signal",	14, event_signal },
	{ "event_read",		2, event_read },
	{ "event_renew",	8, event_renew },
	{ "bell_assign",	8, bell_assign },
	{ "bell_deassign",	6, bell_deassign },
	{ "routing",		8, routing },
	{ "message",		10, message },
	{ }
};
