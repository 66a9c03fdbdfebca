// SPDX-License-Identifier: GPL-2.0
/*
 * Messages and the ITS's commands. The answers of KVM_SIGNAL_MSI and the tables that the ITS saves
 * show a command's result.
 */
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "its_machine.h"

static void messages(void)
{
	struct machine m;

	new_machine(&m);
	say(send_msi(&m, 5, 3), "msi.off");
	boot_machine(&m);
	say(send_msi(&m, 5, 3), "msi.nothing_mapped");
	its_mapd(&m, 5, ITT, 5, 1);
	say(send_msi(&m, 5, 3), "msi.device_mapped");
	its_mapti(&m, 5, 3, 8200, 0);
	say(send_msi(&m, 5, 3), "msi.event_mapped");
	its_mapc(&m, 0, 0, 1);
	say(send_msi(&m, 5, 3), "msi.all_mapped");
	note(pending_sum(&m), "msi.pending");
	say(send_msi_at(&m, ITS_BASE + 0x10040, 0, 5, 4), "msi.no_devid");
	say(send_msi_at(&m, ITS_BASE + 0x10040, 2, 5, 4), "msi.flags");
	say(send_msi_at(&m, ITS_BASE + 0x10040, ~0U, 5, 4), "msi.all_flags");
	say(send_msi_at(&m, ITS_BASE - 4, KVM_MSI_VALID_DEVID, 5, 3), "msi.below");
	say(send_msi_at(&m, ITS_BASE + 0x20000, KVM_MSI_VALID_DEVID, 5, 3), "msi.above");
	say(send_msi_at(&m, ITS_BASE, KVM_MSI_VALID_DEVID, 5, 3), "msi.registers");
	say(send_msi_at(&m, 1ULL << 63 | ITS_BASE, KVM_MSI_VALID_DEVID, 5, 3), "msi.far");
	say(send_msi(&m, 0x10005, 3), "msi.device_17_bits");
	say(send_msi(&m, 5, 0x10003), "msi.event_17_bits");
	say(send_msi(&m, ~0U, ~0U), "msi.all_ones");
	its_command(&m, CLEAR | 5ULL << 32, 3, 0, 0);
	note(pending_sum(&m), "msi.cleared");
	its_command(&m, INT | 5ULL << 32, 3, 0, 0);
	note(pending_sum(&m), "msi.int");
	redist_set(&m, 0, 0, 0);
	say(send_msi(&m, 5, 3), "msi.lpis_off");
	redist_set(&m, 0, 0, 1);
	say(send_msi(&m, 5, 3), "msi.lpis_on");
	its_set(&m, CTLR, 0);
	say(send_msi(&m, 5, 3), "msi.its_off");
	its_set(&m, CTLR, 1);
	say(send_msi(&m, 5, 3), "msi.its_on");
	its_mapc(&m, 0, 0, 0);
	say(send_msi(&m, 5, 3), "msi.collection_gone");
	its_mapc(&m, 0, 1, 1);
	say(send_msi(&m, 5, 3), "msi.collection_back");
	its_command(&m, DISCARD | 5ULL << 32, 3, 0, 0);
	say(send_msi(&m, 5, 3), "msi.discarded_without_collection");
	its_mapti(&m, 5, 6, 8206, 0);
	say(send_msi(&m, 5, 6), "msi.another");
	note(pending_sum(&m), "msi.another_pending");
	its_control(&m, KVM_DEV_ARM_ITS_CTRL_RESET);
	say(send_msi(&m, 5, 6), "msi.reset");
	free_machine(&m);
}

/* Each command right, and with each field in turn wrong. */
static const struct { const char *name; u64 words[4]; } wrong_commands[] = {
	{ "mapd", { MAPD | 5ULL << 32, 4, ITT | VALID } },
	{ "mapd_last", { MAPD | 8191ULL << 32, 4, ITT | 0x1000 | VALID } },
	{ "mapd_beyond", { MAPD | 8192ULL << 32, 4, ITT | VALID } },
	{ "mapd_17_bits", { MAPD | 6ULL << 32, 16, ITT | VALID } },
	{ "mapd_16_bits", { MAPD | 6ULL << 32, 15, ITT | VALID } },
	{ "mapd_hole", { MAPD | 7ULL << 32, 4, 0x1000 | VALID } },
	{ "mapc_0", { MAPC, 0, 0ULL << 16 | VALID } },
	{ "mapc_1", { MAPC, 0, 1ULL << 16 | 1 | VALID } },
	{ "mapc_no_cpu", { MAPC, 0, 2ULL << 16 | 2 | VALID } },
	{ "mapc_beyond", { MAPC, 0, 8192 | VALID } },
	{ "mapti", { MAPTI | 5ULL << 32, 3 | 8200ULL << 32, 0 } },
	{ "mapti_again", { MAPTI | 5ULL << 32, 3 | 8201ULL << 32, 1 } },
	{ "mapti_same_lpi", { MAPTI | 5ULL << 32, 4 | 8200ULL << 32, 1 } },
	{ "mapti_event_beyond", { MAPTI | 5ULL << 32, 32 | 8202ULL << 32, 0 } },
	{ "mapti_lpi_low", { MAPTI | 5ULL << 32, 5 | 8191ULL << 32, 0 } },
	{ "mapti_lpi_high", { MAPTI | 5ULL << 32, 5 | 65536ULL << 32, 0 } },
	{ "mapti_lpi_last", { MAPTI | 5ULL << 32, 5 | 65535ULL << 32, 0 } },
	{ "mapti_no_device", { MAPTI | 9ULL << 32, 3 | 8203ULL << 32, 0 } },
	{ "mapti_no_table", { MAPTI | 7ULL << 32, 3 | 8203ULL << 32, 0 } },
	{ "mapti_new_collection", { MAPTI | 5ULL << 32, 6 | 8204ULL << 32, 3 } },
	{ "mapti_collection_beyond", { MAPTI | 5ULL << 32, 7 | 8205ULL << 32, 9000 } },
	{ "mapi", { MAPI | 6ULL << 32, 8300, 1 } },
	{ "mapi_low", { MAPI | 6ULL << 32, 7, 1 } },
	{ "movi", { MOVI | 5ULL << 32, 3, 1 } },
	{ "movi_nowhere", { MOVI | 5ULL << 32, 3, 3 } },
	{ "movi_from_nowhere", { MOVI | 5ULL << 32, 6, 1 } },
	{ "movi_no_event", { MOVI | 5ULL << 32, 20, 1 } },
	{ "int", { INT | 5ULL << 32, 3 } },
	{ "int_6", { INT | 6ULL << 32, 8300 } },
	{ "int_none", { INT | 6ULL << 32, 8301 } },
	{ "clear_none", { CLEAR | 6ULL << 32, 8301 } },
	{ "inv", { INV | 5ULL << 32, 3 } },
	{ "invall", { INVALL, 0, 1 } },
	{ "invall_none", { INVALL, 0, 3 } },
	{ "movall", { MOVALL, 0, 1ULL << 16, 0 } },
	{ "movall_no_cpu", { MOVALL, 0, 0, 5ULL << 16 } },
	{ "movall_back", { MOVALL, 0, 0, 1ULL << 16 } },
	{ "sync", { SYNC, 0, 0 } },
	{ "unknown_2", { 2 } },
	{ "unknown_29", { 0x29 } },
	{ "mapc_0_moves", { MAPC, 0, 1ULL << 16 | 0 | VALID } },
	{ "discard", { DISCARD | 5ULL << 32, 4 } },
	{ "discard_no_collection", { DISCARD | 5ULL << 32, 6 } },
	{ "mapc_1_off", { MAPC, 0, 1 } },
	{ "discard_collection_gone", { DISCARD | 6ULL << 32, 8300 } },
	{ "mapd_again", { MAPD | 5ULL << 32, 3, ITT | VALID } },
	{ "mapd_off", { MAPD | 6ULL << 32, 0, 0 } },
	{ "mapd_off_beyond", { MAPD | 8192ULL << 32, 0, 0 } },
};

/* The saved tables show the result of each. */
static void commands(void)
{
	struct machine m;
	size_t i;

	new_machine(&m);
	boot_machine(&m);
	for (i = 0; i < ARRAY_SIZE(wrong_commands); i++) {
		const u64 *w = wrong_commands[i].words;

		its_command(&m, w[0], w[1], w[2], w[3]);
		say(its_control(&m, KVM_DEV_ARM_ITS_SAVE_TABLES), "cmd.%s.save", wrong_commands[i].name);
		note(tables_sum(&m), "cmd.%s.tables", wrong_commands[i].name);
		note(pending_sum(&m), "cmd.%s.pending", wrong_commands[i].name);
	}
	note(its_get(&m, CREADR), "cmd.creadr");
	free_machine(&m);
}

static void two_levels(void)
{
	struct machine m;

	new_machine(&m);
	boot_machine(&m);
	its_set(&m, CTLR, 0);
	its_set(&m, BASER0, DEVICE_TABLE | VALID | 1ULL << 62);
	its_set(&m, CTLR, 1);
	its_mapc(&m, 0, 0, 1);
	its_mapd(&m, 9000, ITT, 5, 1);
	its_mapti(&m, 9000, 1, 8200, 0);
	say(send_msi(&m, 9000, 1), "two.no_page");
	*ram_at(&m, DEVICE_TABLE + 8) = SECOND_LEVEL | VALID;
	its_mapd(&m, 9000, ITT, 5, 1);
	its_mapti(&m, 9000, 1, 8200, 0);
	say(send_msi(&m, 9000, 1), "two.page");
	say(its_control(&m, KVM_DEV_ARM_ITS_SAVE_TABLES), "two.save");
	note(*ram_at(&m, SECOND_LEVEL + 808 * 8), "two.entry");
	say(its_control(&m, KVM_DEV_ARM_ITS_CTRL_RESET), "two.reset");
	its_set(&m, BASER0, DEVICE_TABLE | VALID | 1ULL << 62);
	its_set(&m, BASER1, COLL_TABLE | VALID);
	its_set(&m, CBASER, QUEUE | VALID);
	say(its_control(&m, KVM_DEV_ARM_ITS_RESTORE_TABLES), "two.restore");
	its_set(&m, CTLR, 1);
	say(send_msi(&m, 9000, 1), "two.restored");
	free_machine(&m);
}

/* ---- messages by irqfds ---------------------------------------------------------------- */

#define GSI	40

static long route(const struct machine *m, u32 flags, u64 address, u32 device, u32 event)
{
	struct {
		struct kvm_irq_routing head;
		struct kvm_irq_routing_entry entry;
	} routes = {
		.head.nr = 1,
		.entry = {
			.gsi = GSI, .type = KVM_IRQ_ROUTING_MSI, .flags = flags,
			.u.msi = { .address_lo = (u32)address, .address_hi = address >> 32,
				   .data = event, .devid = device },
		},
	};

	return ioctl(m->vm, KVM_SET_GSI_ROUTING, &routes);
}

/* Which of two events is pending after a signal, at once or a moment later; then neither. */
static void signal_and_look(struct machine *m, int event, const char *name)
{
	u64 one = 1, found = 0;
	int ms;

	if (write(event, &one, sizeof(one)) != sizeof(one))
		die("write to an eventfd");
	for (ms = 0; ms < 200 && !found; ms += 20) {
		usleep(20000);
		pending_sum(m);
		found = *ram_at(m, PEND_TABLE + 8200 / 8) & 3;
	}
	note(found, "irqfd.%s", name);
	its_command(m, CLEAR | 5ULL << 32, 3, 0, 0);
	its_command(m, CLEAR | 5ULL << 32, 4, 0, 0);
}

static void irqfds(void)
{
	const u64 bell = ITS_BASE + 0x10040;
	int event = eventfd(0, EFD_NONBLOCK), again = eventfd(0, EFD_NONBLOCK);
	struct kvm_irqfd args = { .fd = event, .gsi = GSI };
	struct kvm_irq_level level = {
		.irq = KVM_ARM_IRQ_TYPE_SPI << KVM_ARM_IRQ_TYPE_SHIFT | 8200, .level = 1,
	};
	struct machine m;

	new_machine(&m);
	boot_machine(&m);
	its_mapd(&m, 5, ITT, 5, 1);
	its_mapc(&m, 0, 0, 1);
	its_mapti(&m, 5, 3, 8200, 0);
	its_mapti(&m, 5, 4, 8201, 0);
	say(route(&m, KVM_MSI_VALID_DEVID, bell, 5, 3), "irqfd.route");
	say(ioctl(m.vm, KVM_IRQFD, &args), "irqfd.assign");
	signal_and_look(&m, event, "first");
	say(route(&m, KVM_MSI_VALID_DEVID, bell, 5, 4), "irqfd.route_changed");
	signal_and_look(&m, event, "second");
	say(route(&m, KVM_MSI_VALID_DEVID, bell, 6, 3), "irqfd.route_no_device");
	signal_and_look(&m, event, "no_device");
	say(route(&m, 0, bell, 5, 5), "irqfd.route_no_devid");
	signal_and_look(&m, event, "no_devid");
	say(route(&m, KVM_MSI_VALID_DEVID, bell - 0x100000, 5, 3), "irqfd.route_elsewhere");
	signal_and_look(&m, event, "elsewhere");
	say(route(&m, 2, bell, 5, 3), "irqfd.route_flags");
	say(route(&m, KVM_MSI_VALID_DEVID, bell, 5, 3), "irqfd.route_back");
	its_set(&m, CTLR, 0);
	signal_and_look(&m, event, "its_off");
	its_set(&m, CTLR, 1);
	signal_and_look(&m, event, "its_on");
	args.flags = KVM_IRQFD_FLAG_DEASSIGN;
	say(ioctl(m.vm, KVM_IRQFD, &args), "irqfd.deassign");
	signal_and_look(&m, event, "deassigned");
	args.flags = KVM_IRQFD_FLAG_RESAMPLE;
	args.resamplefd = again;
	say(ioctl(m.vm, KVM_IRQFD, &args), "irqfd.resample");
	/* A number that is an LPI's. */
	say(ioctl(m.vm, KVM_IRQ_LINE, &level), "irqfd.line_8200");
	level.irq += 7;
	say(ioctl(m.vm, KVM_IRQ_LINE, &level), "irqfd.line_8207");
	note(pending_sum(&m), "irqfd.line_pending");
	free_machine(&m);
	close(event);
	close(again);
}

/* ---- tables that no ITS has written --------------------------------------------------- */

static void wrong_tables(void)
{
	const u64 device = VALID | ITT >> 8 << 5 | 4;
	const struct { const char *name; u64 coll[2], device, event; } rows[] = {
		{ "good", { VALID }, device, 8200ULL << 16 },
		{ "empty", { 0 }, 0, 0 },
		{ "no_cpu", { VALID | 2ULL << 16 }, 0, 0 },
		{ "unmapped", { VALID | 0xffffffffULL << 16 }, device, 8200ULL << 16 },
		{ "twice", { VALID, VALID }, device, 0 },
		{ "collection_beyond", { VALID | 9000 }, 0, 0 },
		{ "17_bits", { VALID }, VALID | ITT >> 8 << 5 | 16, 0 },
		{ "no_collection", { 0 }, device, 8200ULL << 16 },
		{ "no_lpi", { VALID }, device, 100ULL << 16 },
		{ "next_outside", { VALID }, device, 8200ULL << 16 | 32ULL << 48 },
		{ "next_device_outside", { VALID }, device | 0x3fffULL << 49, 8200ULL << 16 },
		{ "itt_hole", { VALID }, VALID | 0x1000 >> 8 << 5 | 4, 8200ULL << 16 },
	};
	struct machine m;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		new_machine(&m);
		boot_machine(&m);
		its_set(&m, CTLR, 0);
		*ram_at(&m, COLL_TABLE) = rows[i].coll[0];
		*ram_at(&m, COLL_TABLE + 8) = rows[i].coll[1];
		*ram_at(&m, DEVICE_TABLE) = rows[i].device;
		*ram_at(&m, ITT) = rows[i].event;
		say(its_control(&m, KVM_DEV_ARM_ITS_RESTORE_TABLES), "restore.%s", rows[i].name);
		its_set(&m, CTLR, 1);
		say(send_msi(&m, 0, 0), "restore.%s.msi", rows[i].name);
		memset(ram_at(&m, DEVICE_TABLE), 0, 0x20000);
		say(its_control(&m, KVM_DEV_ARM_ITS_SAVE_TABLES), "restore.%s.save", rows[i].name);
		note(tables_sum(&m), "restore.%s.tables", rows[i].name);
		free_machine(&m);
	}
}

/* ---- absurd commands ---------------------------------------------------------------------- */

static u64 seed;

static u64 rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void random_command(struct machine *m)
{
	static const u8 ops[] = { MOVI, INT, INT, CLEAR, MAPD, MAPC, MAPC, MAPTI, MAPTI, MAPTI,
				  MAPI, INV, INVALL, MOVALL, DISCARD };
	u64 op = ops[rnd() % ARRAY_SIZE(ops)], device = rnd() % 5, event = rnd() % 10;
	u64 lpi = 8190 + rnd() % 12, cpu = rnd() % 8 ? rnd() % 2 : 2;

	switch (op) {
	case MAPD:
		its_mapd(m, device, ITT + device * 0x1000, 1 + rnd() % 5, rnd() % 4 != 0);
		break;
	case MAPC:
		its_mapc(m, rnd() % 4, cpu, rnd() % 4 != 0);
		break;
	case MOVALL:
		its_command(m, op, 0, cpu << 16, (rnd() % 2) << 16);
		break;
	default:
		its_command(m, op | device << 32, event | lpi << 32, rnd() % 4, 0);
	}
}

/*
 * Collections are saved in the order that the ITS keeps them in, which is its
 * own affair: their table is left out here.
 */
static void random_sequences(void)
{
	struct machine m;
	u64 sum = 0;
	int round, i;

	for (round = 1; round <= 20; round++) {
		seed = 0x9e3779b97f4a7c15ULL * round;
		new_machine(&m);
		boot_machine(&m);
		for (i = 0; i < 200; i++) {
			random_command(&m);
			if (rnd() % 8 == 0)
				m.ram[PROP_TABLE - RAM + rnd() % 12] ^= 1;
			sum = sum * 31 + (u64)send_msi(&m, rnd() % 5, rnd() % 10);
			if (i % 40 == 39) {
				note(pending_sum(&m), "random.%d.%d.pending", round, i);
				its_control(&m, KVM_DEV_ARM_ITS_SAVE_TABLES);
				memset(ram_at(&m, COLL_TABLE), 0, 0x10000);
				note(tables_sum(&m), "random.%d.%d.tables", round, i);
			}
		}
		free_machine(&m);
	}
	note(sum, "random.messages");
}

void conform_msi(void)
{
	messages();
	commands();
	two_levels();
	irqfds();
	wrong_tables();
	random_sequences();
}
