// SPDX-License-Identifier: GPL-2.0
/*
 * Saving an ITS's mappings to the guest's tables and restoring them. The layout
 * is KVM's documented revision 0, with entries of eight bytes:
 *
 *   device       63 valid · 62:49 distance to the next · 48:5 table's address
 *                over 256 · 4:0 bits of event numbers, less one
 *   event        63:48 distance to the next · 47:16 LPI · 15:0 collection's number
 *   collection   63 valid · 51:16 vCPU · 15:0 number; in order, up to an
 *                entry that is not valid
 *
 * The distance is 0 in the last entry. If the next entry is too far away, the
 * distance is the largest that fits, and entries are read one by one from there.
 * Pure; rules in its.h.
 */
#include "irq/its.h"

#define DEVICE_NEXT		GENMASK_ULL(62, 49)
#define DEVICE_ITT		GENMASK_ULL(48, 5)
#define DEVICE_BITS		GENMASK_ULL(4, 0)
#define EVENT_NEXT		GENMASK_ULL(63, 48)
#define EVENT_INTID		GENMASK_ULL(47, 16)
#define COLLECTION_TARGET	GENMASK_ULL(47, 16)
#define ENTRY_COLLECTION	GENMASK_ULL(15, 0)
#define MAX_DEVICE_NEXT		0x3fffU
#define MAX_EVENT_NEXT		0xffffU

static int read_entry(struct av_its *its, u64 gpa, u64 *entry)
{
	return its->vgic->ops->read(its->vgic, gpa, entry, sizeof(*entry));
}

int av_its_write_entry(struct av_its *its, u64 gpa, u64 entry)
{
	return its->vgic->ops->write(its->vgic, gpa, &entry, sizeof(entry));
}

/* Returns -EINTR if a fatal signal is pending: a VMM can make tables very long. */
static int rest(struct av_its *its)
{
	return its->vgic->ops->rest(its->vgic) ? -EINTR : 0;
}

/* ---- saving ----------------------------------------------------------------------- */

static int save_event(struct av_its *its, struct av_its_device *device,
		      const struct av_its_event *event)
{
	u64 at = device->itt + (u64)event->id * AV_ITS_ENTRY, entry = 0;
	u32 next = event->id + 1, distance = 0;

	/* An event without a collection has no representation in the table. */
	if (event->collection) {
		if (av_idmap_next(&device->events, &next))
			distance = min(next - event->id, MAX_EVENT_NEXT);
		entry = FIELD_PREP(EVENT_NEXT, (u64)distance) |
			FIELD_PREP(EVENT_INTID, (u64)event->lpi->intid) |
			event->collection->id;
	}
	return av_its_write_entry(its, at, entry);
}

static int save_events(struct av_its *its, struct av_its_device *device)
{
	struct av_its_event *event;
	u32 id;
	int r;

	av_idmap_for_each(&device->events, id, event) {
		r = save_event(its, device, event);
		if (!r)
			r = rest(its);
		if (r)
			return r;
	}
	return 0;
}

/* Returns the distance to the next device that has room in the table, 0 if none, or an errno. */
static int device_distance(struct av_its *its, const struct av_its_device *device)
{
	u32 next;
	int r;

	for (next = device->id + 1; av_idmap_next(&its->devices, &next); next++) {
		if (av_its_has_room(its, AV_ITS_DEVICES, next, NULL))
			return (int)min(next - device->id, MAX_DEVICE_NEXT);
		r = rest(its);
		if (r)
			return r;
	}
	return 0;
}

static int save_device(struct av_its *its, struct av_its_device *device, u64 at)
{
	int r = save_events(its, device), distance;

	if (r)
		return r;
	distance = device_distance(its, device);
	if (distance < 0)
		return distance;
	return av_its_write_entry(its, at, AV_ITS_VALID |
				  FIELD_PREP(DEVICE_NEXT, (u64)distance) |
				  FIELD_PREP(DEVICE_ITT, device->itt >> 8) |
				  FIELD_PREP(DEVICE_BITS, (u64)device->event_bits - 1));
}

static int save_devices(struct av_its *its)
{
	struct av_its_device *device;
	u64 at;
	u32 id;
	int r;

	if (!(its->baser[AV_ITS_DEVICES] & AV_ITS_VALID))
		return 0;
	av_idmap_for_each(&its->devices, id, device) {
		r = rest(its);
		/* The VMM may have removed the table's memory: leave the device out. */
		if (!r && av_its_has_room(its, AV_ITS_DEVICES, id, &at))
			r = save_device(its, device, at);
		if (r)
			return r;
	}
	return 0;
}

static int save_collections(struct av_its *its)
{
	u64 baser = its->baser[AV_ITS_COLLECTIONS], at = av_its_table_address(baser);
	u64 end = at + av_its_table_size(baser);
	struct av_its_collection *collection;
	u32 id;
	int r;

	if (!(baser & AV_ITS_VALID))
		return 0;
	av_idmap_for_each(&its->collections, id, collection) {
		r = av_its_write_entry(its, at, AV_ITS_VALID | id |
				       FIELD_PREP(COLLECTION_TARGET, (u64)(u32)collection->target));
		if (!r)
			r = rest(its);
		if (r)
			return r;
		at += AV_ITS_ENTRY;
	}
	return at == end ? 0 : av_its_write_entry(its, at, 0);
}

int av_its_save(struct av_its *its)
{
	int r = save_devices(its);

	return r ? r : save_collections(its);
}

/* ---- restoring ---------------------------------------------------------------------- */

struct scan {
	struct av_its *its;
	struct av_its_device *device;
	/* Returns the distance to the next entry, 0 for the last one, or an errno. */
	int (*visit)(struct scan *scan, u32 id, u64 entry);
};

/* Returns 0 after the last entry, 1 at the table's end, or an errno. Stops after AV_ITS_MAX_ID. */
static int scan_table(struct scan *scan, u64 at, u32 entries, u32 id)
{
	const u32 end = min(id + entries, AV_ITS_MAX_ID + 1);
	u64 entry;
	int r;

	while (id < end) {
		r = rest(scan->its);
		if (!r)
			r = read_entry(scan->its, at, &entry);
		if (r)
			return r;
		r = scan->visit(scan, id, entry);
		if (r <= 0)
			return r;
		id += (u32)r;
		at += (u64)r * AV_ITS_ENTRY;
	}
	return 1;
}

static int restore_event(struct scan *scan, u32 id, u64 entry)
{
	u32 intid = (u32)FIELD_GET(EVENT_INTID, entry), next = (u32)FIELD_GET(EVENT_NEXT, entry);
	struct av_its_collection *collection;
	int r;

	if (!intid)
		return 1;
	if (intid < AV_LPI_MIN || id + next >= 1U << scan->device->event_bits)
		return -EINVAL;
	collection = av_its_collection(scan->its, entry & ENTRY_COLLECTION);
	if (!collection || !av_its_has_event_room(scan->its, scan->device, id))
		return -EINVAL;
	r = av_its_add_event(scan->its, scan->device, id, intid, collection);
	return r ? r : (int)next;
}

static int restore_events(struct av_its *its, struct av_its_device *device)
{
	struct scan scan = { .its = its, .device = device, .visit = restore_event };
	int r = scan_table(&scan, device->itt, 1U << device->event_bits, 0);

	return min(r, 0);
}

static int restore_device(struct scan *scan, u32 id, u64 entry)
{
	u8 event_bits = (u8)(FIELD_GET(DEVICE_BITS, entry) + 1);
	struct av_its *its = scan->its;
	int r;

	if (!(entry & AV_ITS_VALID))
		return 1;
	if (event_bits > AV_ITS_ID_BITS || !av_its_has_room(its, AV_ITS_DEVICES, id, NULL))
		return -EINVAL;
	r = av_its_add_device(its, id, FIELD_GET(DEVICE_ITT, entry) << 8, event_bits);
	if (!r)
		r = restore_events(its, av_its_device(its, id));
	return r ? r : (int)FIELD_GET(DEVICE_NEXT, entry);
}

/* A first-level entry. */
static int restore_page(struct scan *scan, u32 id, u64 entry)
{
	struct scan second = { .its = scan->its, .visit = restore_device };

	if (!(entry & AV_ITS_VALID) || id >= AV_IDMAP_IDS / AV_ITS_PER_PAGE)
		return 1;
	return scan_table(&second, entry & AV_ITS_PAGE_ADDRESS, AV_ITS_PER_PAGE,
			  id * AV_ITS_PER_PAGE);
}

static int restore_devices(struct av_its *its)
{
	u64 baser = its->baser[AV_ITS_DEVICES];
	struct scan scan = { .its = its, .visit = restore_device };
	int r;

	if (!(baser & AV_ITS_VALID))
		return 0;
	if (baser & AV_ITS_INDIRECT)
		scan.visit = restore_page;
	r = scan_table(&scan, av_its_table_address(baser),
		       av_its_table_size(baser) / AV_ITS_ENTRY, 0);
	if (r < 0)
		av_its_free_devices(its);
	return min(r, 0);
}

/* 1: restored, 0: invalid entry, or an errno. */
static int restore_collection(struct av_its *its, u64 entry)
{
	s32 target = (s32)FIELD_GET(COLLECTION_TARGET, entry);
	u32 id = entry & ENTRY_COLLECTION;
	int r;

	if (!(entry & AV_ITS_VALID))
		return 0;
	if (target != -1 && !av_vgic_cpu_by_id(its->vgic, (u32)target))
		return -EINVAL;
	if (av_its_collection(its, id))
		return -EEXIST;
	if (!av_its_has_room(its, AV_ITS_COLLECTIONS, id, NULL))
		return -EINVAL;
	r = av_its_add_collection(its, id, target, NULL);
	return r ? r : 1;
}

static int restore_collections(struct av_its *its)
{
	u64 baser = its->baser[AV_ITS_COLLECTIONS], at = av_its_table_address(baser);
	u64 end = at + av_its_table_size(baser), entry;
	int r = 1;

	if (!(baser & AV_ITS_VALID))
		return 0;
	for (; r > 0 && at < end; at += AV_ITS_ENTRY) {
		r = rest(its);
		if (!r)
			r = read_entry(its, at, &entry);
		if (!r)
			r = restore_collection(its, entry);
	}
	if (r < 0)
		av_its_free_collections(its);
	return min(r, 0);
}

int av_its_restore(struct av_its *its)
{
	int r = restore_collections(its);

	if (r)
		return r;
	r = restore_devices(its);
	if (r)
		av_its_free_collections(its);
	return r;
}
