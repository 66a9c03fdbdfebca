// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>

#include "its_world.h"

struct world w;

static void kick(struct av_vgic *vgic, struct av_vgic_cpu *cpu)
{
	w.kicks[cpu->index]++;
}

static bool is_last(const struct av_vgic *vgic, const struct av_vgic_cpu *cpu)
{
	return cpu->index == VCPUS - 1;
}

static void lock(struct av_vgic *vgic)
{
	w.broken += w.locked;
	w.locked = true;
}

static void unlock(struct av_vgic *vgic)
{
	w.broken += !w.locked;
	w.locked = false;
}

static bool rest(struct av_vgic *vgic)
{
	w.broken += w.locked;
	w.rests++;
	if (w.life > 0)
		w.life--;
	return !w.life;
}

static void *zalloc(size_t size)
{
	w.broken += w.locked;
	if (!w.allow)
		return NULL;
	if (w.allow > 0)
		w.allow--;
	w.allocated++;
	return calloc(1, size);
}

static void release(const void *p)
{
	w.allocated -= !!p;
	free((void *)p);
}

static bool in_ram(u64 gpa, u64 len)
{
	return gpa >= RAM && gpa - RAM < RAM_SIZE && len <= RAM_SIZE - (gpa - RAM);
}

static int read_ram(struct av_vgic *vgic, u64 gpa, void *buf, unsigned int len)
{
	w.broken += w.locked;
	if (!in_ram(gpa, len))
		return -EFAULT;
	memcpy(buf, ram_at(gpa), len);
	return 0;
}

static int write_ram(struct av_vgic *vgic, u64 gpa, const void *buf, unsigned int len)
{
	w.broken += w.locked;
	if (!in_ram(gpa, len))
		return -EFAULT;
	memcpy(ram_at(gpa), buf, len);
	return 0;
}

static bool is_ram(struct av_vgic *vgic, u64 gpa)
{
	w.broken += w.locked;
	return in_ram(gpa, 1);
}

static const struct av_allocator mem = { .zalloc = zalloc, .free = release };

static const struct av_vgic_ops ops = {
	.kick = kick, .is_last = is_last, .lock = lock, .unlock = unlock, .rest = rest,
	.read = read_ram, .write = write_ram, .is_ram = is_ram, .mem = &mem,
};

u8 *ram_at(u64 gpa)
{
	return w.ram + (gpa - RAM);
}

u64 ram64(u64 gpa)
{
	u64 val;

	memcpy(&val, ram_at(gpa), sizeof(val));
	return val;
}

void set_ram64(u64 gpa, u64 val)
{
	memcpy(ram_at(gpa), &val, sizeof(val));
}

void set_prop(u32 intid, u8 prop)
{
	*ram_at(PROP_TABLE + intid - AV_LPI_MIN) = prop;
}

static u8 *pending_byte(int cpu, u32 intid)
{
	return ram_at(PEND_TABLE + (u64)cpu * 0x10000 + intid / 8);
}

bool pending_bit(int cpu, u32 intid)
{
	return *pending_byte(cpu, intid) >> (intid % 8) & 1;
}

void set_pending_bit(int cpu, u32 intid)
{
	*pending_byte(cpu, intid) |= (u8)(1U << (intid % 8));
}

u64 its_get(u32 offset, u8 len)
{
	struct av_its_io io = { .its = &w.its, .offset = offset, .len = len };
	u64 val = 0xdeadbeef;

	av_its_read(&io, &val);
	return val;
}

int its_set(u32 offset, u8 len, u64 val)
{
	struct av_its_io io = { .its = &w.its, .offset = offset, .len = len };

	return av_its_write(&io, val);
}

static struct av_vgic_io redist_io(int cpu, u32 offset, u8 len)
{
	return (struct av_vgic_io) {
		.vgic = &w.vgic, .cpu = &w.cpus[cpu], .offset = offset, .len = len,
	};
}

void redist_lpi_set(int cpu, u32 offset, u8 len, u64 val)
{
	struct av_vgic_io io = redist_io(cpu, offset, len);

	w.broken += !av_vgic_redist_is_lpis(&io);
	w.broken += !!av_vgic_redist_write_lpis(&io, val);
}

u64 redist_get(int cpu, u32 offset, u8 len)
{
	struct av_vgic_io io = redist_io(cpu, offset, len);
	u64 val;

	w.broken += !!av_vgic_redist_read(&io, &val);
	return val;
}

u64 icc_get(int cpu, u32 reg)
{
	u64 val = 0;

	w.broken += !av_vgic_icc(&w.vgic, &w.cpus[cpu], reg, false, &val);
	return val;
}

void icc_put(int cpu, u32 reg, u64 val)
{
	w.broken += !av_vgic_icc(&w.vgic, &w.cpus[cpu], reg, true, &val);
}

void command(u64 w0, u64 w1, u64 w2, u64 w3)
{
	u32 at = w.its.cwriter, next = (at + AV_ITS_CMD) % av_its_queue_size(&w.its);
	const u64 words[4] = { w0, w1, w2, w3 };

	memcpy(ram_at(QUEUE + at), words, sizeof(words));
	its_set(0x88, 8, next);
	w.written++;
}

void mapd(u32 device, u64 itt, u32 bits, bool valid)
{
	command(0x08 | (u64)device << 32, bits - 1, itt | (u64)valid << 63, 0);
}

void mapc(u32 collection, u32 cpu, bool valid)
{
	command(0x09, 0, collection | (u64)cpu << 16 | (u64)valid << 63, 0);
}

void mapti(u32 device, u32 event, u32 intid, u32 collection)
{
	command(0x0a | (u64)device << 32, event | (u64)intid << 32, collection, 0);
}

void on_event(u8 op, u32 device, u32 event)
{
	command(op | (u64)device << 32, event, 0, 0);
}

int msi(u32 device, u32 event)
{
	int r;

	lock(&w.vgic);
	r = av_its_msi(&w.its, device, event);
	unlock(&w.vgic);
	return r;
}

void world_reset(void)
{
	int cpu;

	memset(&w, 0, sizeof(w));
	w.allow = -1;
	w.life = -1;
	w.vgic.ops = &ops;
	w.vgic.nr_spis = 32;
	for (cpu = 0; cpu < VCPUS; cpu++) {
		av_vgic_cpu_init(&w.cpus[cpu], (u32)cpu);
		av_vgic_add_cpu(&w.vgic, &w.cpus[cpu]);
	}
	w.vgic.has_its = true;
	w.vgic.propbaser = AV_LPI_BASE_RESET;
	av_vgic_init(&w.vgic, w.spis);
	av_its_init(&w.its, &w.vgic);
}

void world_boot(void)
{
	int cpu;

	world_reset();
	w.vgic.enabled = true;
	for (cpu = 0; cpu < VCPUS; cpu++) {
		icc_put(cpu, AV_SYS(3, 0, 4, 6, 0), 0xf8);
		icc_put(cpu, AV_SYS(3, 0, 12, 12, 7), 1);
		redist_lpi_set(cpu, 0x70, 8, PROP_TABLE | 15);
		redist_lpi_set(cpu, 0x78, 8, PEND_TABLE + (u64)cpu * 0x10000);
		redist_lpi_set(cpu, 0, 4, 1);
	}
	memset(ram_at(PROP_TABLE), 0xa1, 0x10000 - AV_LPI_MIN);
	its_set(0x100, 8, DEVICE_TABLE | AV_ITS_VALID);
	its_set(0x108, 8, COLL_TABLE | AV_ITS_VALID);
	its_set(0x80, 8, QUEUE | AV_ITS_VALID);
	its_set(0, 4, 1);
}

bool world_end(void)
{
	av_its_reset(&w.its);
	return !w.vgic.nr_events && av_idmap_empty(&w.vgic.lpis) && !w.allocated && !w.broken &&
	       !w.cpus[0].lpi_levels && !w.cpus[1].lpi_levels;
}

/* ---- consistency ------------------------------------------------------------- */

static unsigned int queued_on(const struct av_vgic_cpu *cpu)
{
	unsigned int level, n = 0;

	for (level = 0; level < AV_VGIC_LEVELS; level++) {
		const struct av_list *head = &cpu->lpis[level], *at;

		if (!av_list_empty(head) != (cpu->lpi_levels >> level & 1))
			return ~0U;
		for (at = head->next; at != head; at = at->next)
			n++;
	}
	return n;
}

static bool lpi_consistent(const struct av_lpi *lpi, unsigned int *queued)
{
	const struct av_virq *irq = &lpi->irq;
	const struct av_vgic_cpu *want = irq->enabled && irq->latch && irq->target >= 0 ?
						 &w.cpus[irq->target] : NULL;

	if (lpi->queued != want || irq->active || !lpi->users)
		return false;
	if (want) {
		queued[want->index]++;
		return lpi->level == irq->priority >> 3;
	}
	return true;
}

static long members(const struct av_its_collection *collection)
{
	const struct av_list *at;
	long n = 0;

	for (at = collection->events.next; at != &collection->events; at = at->next) {
		if (av_list_entry(at, struct av_its_event, link)->collection != collection)
			return -1;
		n++;
	}
	return n;
}

/* Events of the devices are what collections and LPIs count. */
static bool counts_consistent(u32 users)
{
	struct av_its_collection *collection;
	struct av_its_device *device;
	struct av_its_event *event;
	u32 d, e, c, total = 0;
	long in = 0;

	av_idmap_for_each(&w.its.collections, c, collection)
		in += members(collection);
	av_idmap_for_each(&w.its.devices, d, device) {
		av_idmap_for_each(&device->events, e, event) {
			total++;
			in -= !!event->collection;
			if (event->id != e || av_lpi_find(&w.vgic, event->lpi->intid) != event->lpi)
				return false;
			if (event->collection &&
			    av_its_collection(&w.its, event->collection->id) != event->collection)
				return false;
		}
	}
	return total == users && total == w.vgic.nr_events && !in;
}

bool consistent(void)
{
	unsigned int queued[VCPUS] = { 0 };
	u32 intid, users = 0;
	struct av_lpi *lpi;
	int cpu;

	av_idmap_for_each(&w.vgic.lpis, intid, lpi) {
		if (lpi->intid != intid || !lpi_consistent(lpi, queued))
			return false;
		users += lpi->users;
	}
	for (cpu = 0; cpu < VCPUS; cpu++)
		if (queued_on(&w.cpus[cpu]) != queued[cpu] ||
		    w.cpus[cpu].out != av_vgic_output(&w.vgic, &w.cpus[cpu]))
			return false;
	return counts_consistent(users) && !w.broken && !w.locked;
}

void world_boot_mapped(void)
{
	world_boot();
	mapd(5, ITT, 5, true);
	mapc(0, 0, true);
	mapc(1, 1, true);
	mapti(5, 3, 8200, 0);
}
