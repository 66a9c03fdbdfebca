// SPDX-License-Identifier: GPL-2.0
/* The mappings of an ITS, and messages. Pure; rules in its.h. */
#include "irq/its.h"

#define BASER_TYPE(type)	((u64)(type) << 56)
#define BASER_ENTRY_SIZE	((u64)(AV_ITS_ENTRY - 1) << 48)
#define BASER_RESET		(AV_GIC_CACHE_RAWB << 59 | BASER_ENTRY_SIZE | \
				 AV_GIC_SHAREABLE | AV_ITS_BASER_PAGE_64K)

static void lock(struct av_its *its)
{
	its->vgic->ops->lock(its->vgic);
}

static void unlock(struct av_its *its)
{
	its->vgic->ops->unlock(its->vgic);
}

static const struct av_allocator *mem_of(const struct av_its *its)
{
	return its->vgic->ops->mem;
}

/* One step of an operation that a guest can make long. */
static void step(struct av_its *its)
{
	its->work++;
	its->vgic->ops->rest(its->vgic);
}

void av_its_init(struct av_its *its, struct av_vgic *vgic)
{
	memset(its, 0, sizeof(*its));
	its->vgic = vgic;
	its->baser[AV_ITS_DEVICES] = BASER_RESET | BASER_TYPE(1);
	its->baser[AV_ITS_COLLECTIONS] = BASER_RESET | BASER_TYPE(4);
}

void av_its_reset(struct av_its *its)
{
	its->baser[AV_ITS_DEVICES] &= ~AV_ITS_VALID;
	its->baser[AV_ITS_COLLECTIONS] &= ~AV_ITS_VALID;
	its->cbaser = 0;
	its->creadr = 0;
	its->cwriter = 0;
	lock(its);
	its->enabled = false;
	unlock(its);
	av_its_free_devices(its);
	av_its_free_collections(its);
}

/* ---- looking up --------------------------------------------------------------- */

struct av_its_event *av_its_event(const struct av_its *its, u32 device, u32 event)
{
	const struct av_its_device *dev = av_its_device(its, device);

	return dev ? av_idmap_find(&dev->events, event) : NULL;
}

struct av_vgic_cpu *av_its_target(const struct av_its *its,
				  const struct av_its_collection *collection)
{
	if (!collection || collection->target < 0)
		return NULL;
	return av_vgic_cpu_by_id(its->vgic, (u32)collection->target);
}

int av_its_msi(struct av_its *its, u32 device, u32 event)
{
	const struct av_its_event *ev;
	const struct av_vgic_cpu *cpu;

	if (!its->enabled)
		return -EBUSY;
	ev = av_its_event(its, device, event);
	cpu = ev ? av_its_target(its, ev->collection) : NULL;
	if (!cpu)
		return 0;
	if (!cpu->lpis_on)
		return -EBUSY;
	av_lpi_raise(its->vgic, ev->lpi);
	return 1;
}

/* ---- room in the guest's tables -------------------------------------------------- */

bool av_its_has_room(const struct av_its *its, enum av_its_table table, u32 id, u64 *entry)
{
	const struct av_vgic *vgic = its->vgic;
	u64 baser = its->baser[table], at = av_its_table_address(baser), page;
	u32 slots = av_its_table_size(baser) / AV_ITS_ENTRY;	/* of the only or the first level */

	if (id > AV_ITS_MAX_ID)
		return false;
	if (!(baser & AV_ITS_INDIRECT)) {
		if (id >= slots)
			return false;
		at += (u64)id * AV_ITS_ENTRY;
	} else {
		if (id / AV_ITS_PER_PAGE >= slots)
			return false;
		at += (u64)(id / AV_ITS_PER_PAGE) * sizeof(page);
		if (vgic->ops->read(its->vgic, at, &page, sizeof(page)) || !(page & AV_ITS_VALID))
			return false;
		at = (page & AV_ITS_PAGE_ADDRESS) + (u64)(id % AV_ITS_PER_PAGE) * AV_ITS_ENTRY;
	}
	if (entry)
		*entry = at;
	return vgic->ops->is_ram(its->vgic, at);
}

bool av_its_has_event_room(const struct av_its *its, const struct av_its_device *device,
			   u32 event)
{
	return event < 1U << device->event_bits &&
	       its->vgic->ops->is_ram(its->vgic, device->itt + (u64)event * AV_ITS_ENTRY);
}

/* ---- events ------------------------------------------------------------------------ */

int av_its_add_event(struct av_its *its, struct av_its_device *device, u32 id, u32 intid,
		     struct av_its_collection *collection)
{
	const struct av_allocator *mem = mem_of(its);
	struct av_its_event *event;
	int r;

	if (its->vgic->nr_events >= AV_ITS_MAX_EVENTS)
		return -ENOSPC;
	event = mem->zalloc(sizeof(*event));
	if (!event)
		return -ENOMEM;
	event->id = id;
	event->collection = collection;
	av_list_init(&event->link);
	r = av_lpi_map(its->vgic, intid, av_its_target(its, collection), &event->lpi);
	if (r)
		goto free;
	/* Messages find the event from here on. */
	r = av_idmap_insert(&device->events, mem, id, event);
	if (r)
		goto unmap;
	av_list_add_tail(&event->link, &collection->events);
	its->vgic->nr_events++;
	return 0;
unmap:
	av_lpi_unmap(its->vgic, event->lpi);
free:
	mem->free(event);
	return r;
}

void av_its_free_event(struct av_its *its, struct av_its_device *device,
		       struct av_its_event *event)
{
	lock(its);
	av_idmap_remove(&device->events, mem_of(its), event->id);
	unlock(its);
	av_list_del(&event->link);
	av_lpi_unmap(its->vgic, event->lpi);
	its->vgic->nr_events--;
	mem_of(its)->free(event);
}

/* Move an event to another collection or to none; the caller moves its LPI. */
void av_its_set_collection(struct av_its *its, struct av_its_event *event,
			   struct av_its_collection *collection)
{
	av_list_del(&event->link);
	if (collection)
		av_list_add_tail(&event->link, &collection->events);
	lock(its);
	event->collection = collection;
	unlock(its);
}

/* ---- devices ------------------------------------------------------------------------ */

int av_its_add_device(struct av_its *its, u32 id, u64 itt, u8 event_bits)
{
	const struct av_allocator *mem = mem_of(its);
	struct av_its_device *device = mem->zalloc(sizeof(*device));
	int r;

	if (!device)
		return -ENOMEM;
	device->id = id;
	device->itt = itt;
	device->event_bits = event_bits;
	r = av_idmap_insert(&its->devices, mem, id, device);
	if (r)
		mem->free(device);
	return r;
}

void av_its_free_device(struct av_its *its, struct av_its_device *device)
{
	struct av_its_event *event;
	u32 id;

	av_idmap_for_each(&device->events, id, event) {
		av_its_free_event(its, device, event);
		step(its);
	}
	lock(its);
	av_idmap_remove(&its->devices, mem_of(its), device->id);
	unlock(its);
	mem_of(its)->free(device);
}

void av_its_free_devices(struct av_its *its)
{
	struct av_its_device *device;
	u32 id;

	av_idmap_for_each(&its->devices, id, device) {
		av_its_free_device(its, device);
		step(its);
	}
}

/* ---- collections --------------------------------------------------------------------- */

int av_its_add_collection(struct av_its *its, u32 id, s32 target,
			  struct av_its_collection **out)
{
	const struct av_allocator *mem = mem_of(its);
	struct av_its_collection *collection = mem->zalloc(sizeof(*collection));
	int r;

	if (!collection)
		return -ENOMEM;
	collection->id = id;
	collection->target = target;
	av_list_init(&collection->events);
	r = av_idmap_insert(&its->collections, mem, id, collection);
	if (r)
		mem->free(collection);
	else if (out)
		*out = collection;
	return r;
}

void av_its_free_collection(struct av_its *its, struct av_its_collection *collection)
{
	struct av_its_event *event, *next;

	av_list_for_each(event, next, &collection->events, link) {
		av_its_set_collection(its, event, NULL);
		step(its);
	}
	lock(its);
	av_idmap_remove(&its->collections, mem_of(its), collection->id);
	unlock(its);
	mem_of(its)->free(collection);
}

void av_its_free_collections(struct av_its *its)
{
	struct av_its_collection *collection;
	u32 id;

	av_idmap_for_each(&its->collections, id, collection) {
		av_its_free_collection(its, collection);
		step(its);
	}
}

void av_its_set_target(struct av_its *its, struct av_its_collection *collection, s32 target)
{
	struct av_its_event *event, *next;

	lock(its);
	collection->target = target;
	unlock(its);
	av_list_for_each(event, next, &collection->events, link) {
		av_lpi_move(its->vgic, event->lpi, NULL, av_its_target(its, collection));
		step(its);
	}
}
