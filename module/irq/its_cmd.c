// SPDX-License-Identifier: GPL-2.0
/*
 * The commands of an ITS, one row each. A command is four words, which decode()
 * splits into fields. An invalid command has no effect. Pure; rules in its.h.
 */
#include "irq/its.h"

#define CBASER_ADDRESS	GENMASK_ULL(51, 12)

struct cmd {
	u8 op;
	bool valid;
	u8 event_bits;		/* MAPD: size of the table */
	u32 device, event;
	u32 intid;		/* MAPTI */
	u16 collection;
	u32 target, to;		/* vCPU ids */
	u64 itt;
};

static struct cmd decode(const u64 words[4])
{
	return (struct cmd) {
		.op = (u8)words[0],
		.device = (u32)(words[0] >> 32),
		.event = (u32)words[1],
		.intid = (u32)(words[1] >> 32),
		.event_bits = (u8)((words[1] & 0x1f) + 1),
		.collection = (u16)words[2],
		.itt = words[2] & GENMASK_ULL(51, 8),
		.target = (u32)(words[2] >> 16),
		.valid = words[2] >> 63,
		.to = (u32)(words[3] >> 16),
	};
}

/* Mapping a device again drops its old mappings. */
static int mapd(struct av_its *its, const struct cmd *cmd)
{
	struct av_its_device *device;
	u64 entry;

	if (!av_its_has_room(its, AV_ITS_DEVICES, cmd->device, &entry))
		return AV_ITS_MAPD_DEVICE_OOR;
	if (cmd->valid && cmd->event_bits > AV_ITS_ID_BITS)
		return AV_ITS_MAPD_ITTSIZE_OOR;
	device = av_its_device(its, cmd->device);
	if (device)
		av_its_free_device(its, device);
	if (!cmd->valid)
		return av_its_write_entry(its, entry, 0);
	return av_its_add_device(its, cmd->device, cmd->itt, cmd->event_bits);
}

static int mapc(struct av_its *its, const struct cmd *cmd)
{
	struct av_its_collection *collection = av_its_collection(its, cmd->collection);

	if (!cmd->valid) {
		if (collection)
			av_its_free_collection(its, collection);
		return 0;
	}
	if (!av_vgic_cpu_by_id(its->vgic, cmd->target))
		return AV_ITS_MAPC_PROCNUM_OOR;
	if (collection) {
		av_its_set_target(its, collection, (s32)cmd->target);
		return 0;
	}
	if (!av_its_has_room(its, AV_ITS_COLLECTIONS, cmd->collection, NULL))
		return AV_ITS_MAPC_COLLECTION_OOR;
	return av_its_add_collection(its, cmd->collection, (s32)cmd->target, NULL);
}

/* An event may be mapped before its collection; it then waits for MAPC. */
static int map_event(struct av_its *its, const struct cmd *cmd, u32 intid)
{
	struct av_its_device *device = av_its_device(its, cmd->device);
	struct av_its_collection *collection, *made = NULL;
	int r;

	if (!device)
		return AV_ITS_MAPTI_UNMAPPED_DEVICE;
	if (!av_its_has_event_room(its, device, cmd->event))
		return AV_ITS_MAPTI_ID_OOR;
	if (intid < AV_LPI_MIN || intid >= av_lpi_limit(its->vgic))
		return AV_ITS_MAPTI_PHYSICALID_OOR;
	if (av_idmap_find(&device->events, cmd->event))
		return 0;	/* UNPREDICTABLE: keep the first mapping */
	collection = av_its_collection(its, cmd->collection);
	if (!collection) {
		if (!av_its_has_room(its, AV_ITS_COLLECTIONS, cmd->collection, NULL))
			return AV_ITS_MAPC_COLLECTION_OOR;
		r = av_its_add_collection(its, cmd->collection, -1, &made);
		if (r)
			return r;
		collection = made;
	}
	r = av_its_add_event(its, device, cmd->event, intid, collection);
	if (r && made)
		av_its_free_collection(its, made);
	return r;
}

static int mapti(struct av_its *its, const struct cmd *cmd)
{
	return map_event(its, cmd, cmd->intid);
}

static int mapi(struct av_its *its, const struct cmd *cmd)
{
	return map_event(its, cmd, cmd->event);
}

static int movi(struct av_its *its, const struct cmd *cmd)
{
	struct av_its_event *event = av_its_event(its, cmd->device, cmd->event);
	struct av_its_collection *collection = av_its_collection(its, cmd->collection);

	if (!event)
		return AV_ITS_MOVI_UNMAPPED_INTERRUPT;
	if (!av_its_target(its, event->collection) || !av_its_target(its, collection))
		return AV_ITS_MOVI_UNMAPPED_COLLECTION;
	av_its_set_collection(its, event, collection);
	av_lpi_move(its->vgic, event->lpi, NULL, av_its_target(its, collection));
	return 0;
}

static int discard(struct av_its *its, const struct cmd *cmd)
{
	struct av_its_device *device = av_its_device(its, cmd->device);
	struct av_its_event *event = av_its_event(its, cmd->device, cmd->event);

	if (!event || !av_its_target(its, event->collection))
		return AV_ITS_DISCARD_UNMAPPED_INTERRUPT;
	av_its_free_event(its, device, event);
	return av_its_write_entry(its, device->itt + (u64)cmd->event * AV_ITS_ENTRY, 0);
}

static int clear(struct av_its *its, const struct cmd *cmd)
{
	struct av_its_event *event = av_its_event(its, cmd->device, cmd->event);

	if (!event)
		return AV_ITS_CLEAR_UNMAPPED_INTERRUPT;
	av_lpi_clear(its->vgic, event->lpi);
	return 0;
}

static int int_(struct av_its *its, const struct cmd *cmd)
{
	int r;

	its->vgic->ops->lock(its->vgic);
	r = av_its_msi(its, cmd->device, cmd->event);
	its->vgic->ops->unlock(its->vgic);
	return r < 0 ? r : 0;
}

static int inv(struct av_its *its, const struct cmd *cmd)
{
	struct av_its_event *event = av_its_event(its, cmd->device, cmd->event);

	return event ? av_lpi_reload(its->vgic, event->lpi) : AV_ITS_INV_UNMAPPED_INTERRUPT;
}

static int invall(struct av_its *its, const struct cmd *cmd)
{
	struct av_vgic_cpu *cpu = av_its_target(its, av_its_collection(its, cmd->collection));

	if (!cpu)
		return AV_ITS_INVALL_UNMAPPED_COLLECTION;
	its->work += its->vgic->nr_events;
	av_lpi_reload_all(its->vgic, cpu);
	return 0;
}

/* Affects all LPIs of the VM, including those of other ITSs. */
static int movall(struct av_its *its, const struct cmd *cmd)
{
	struct av_vgic *vgic = its->vgic;
	struct av_vgic_cpu *from = av_vgic_cpu_by_id(vgic, cmd->target);
	struct av_vgic_cpu *to = av_vgic_cpu_by_id(vgic, cmd->to);
	struct av_lpi *lpi;
	u32 intid;

	if (!from || !to)
		return AV_ITS_MOVALL_PROCNUM_OOR;
	if (from == to)
		return 0;
	its->work += vgic->nr_events;
	av_idmap_for_each(&vgic->lpis, intid, lpi) {
		av_lpi_move(vgic, lpi, from, to);
		if (vgic->ops->rest(vgic))
			break;
	}
	return 0;
}

/* Earlier commands have completed already. */
static int sync(struct av_its *its, const struct cmd *cmd)
{
	return 0;
}

static const struct {
	u8 op;
	int (*run)(struct av_its *its, const struct cmd *cmd);
} commands[] = {
	{ 0x01, movi },
	{ 0x03, int_ },
	{ 0x04, clear },
	{ 0x05, sync },
	{ 0x08, mapd },
	{ 0x09, mapc },
	{ 0x0a, mapti },
	{ 0x0b, mapi },
	{ 0x0c, inv },
	{ 0x0d, invall },
	{ 0x0e, movall },
	{ 0x0f, discard },
};

int av_its_command(struct av_its *its, const u64 words[4])
{
	const struct cmd cmd = decode(words);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (commands[i].op == cmd.op)
			return commands[i].run(its, &cmd);
	return -ENODEV;
}

void av_its_run(struct av_its *its)
{
	struct av_vgic *vgic = its->vgic;
	u64 words[4];

	if (!its->enabled || !vgic->initialized)
		return;
	its->work = 0;
	while (!vgic->ops->rest(vgic) && its->creadr != its->cwriter &&
	       its->work < AV_ITS_BUDGET) {
		u64 at = (its->cbaser & CBASER_ADDRESS) + its->creadr;

		/* Skip a command that cannot be read or executed. */
		if (!vgic->ops->read(vgic, at, words, sizeof(words)))
			av_its_command(its, words);
		its->creadr += AV_ITS_CMD;
		if (its->creadr == av_its_queue_size(its))
			its->creadr = 0;
		its->work++;
	}
}
