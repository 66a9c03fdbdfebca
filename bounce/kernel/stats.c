// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/armvisor_bounce/stats: lines `name value`, cumulative since the module was
 * loaded except for what is in use now. Read without locks: lines may differ slightly in age.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "bounce.h"
#include "wide.h"

static struct dentry *folder;

static void show_counts(struct seq_file *file)
{
	struct av_use use = av_pool_use(&av_bounce.pool);
	struct av_counts sum = {};
	int cpu;

	for_each_possible_cpu(cpu) {
		const struct av_counts *one = per_cpu_ptr(&av_counts, cpu);
		size_t i;

		/* All fields are of one type. */
		for (i = 0; i < sizeof(sum) / sizeof(u64); i++)
			((u64 *)&sum)[i] += READ_ONCE(((u64 *)one)[i]);
	}
	/* given includes coherent buffers, which are not mappings. */
	seq_printf(file, "mapped %llu\nunmapped %llu\nleft %llu\ndirect %llu\n",
		   use.given - sum.coherent, use.given - use.used - sum.freed - sum.left, sum.left,
		   sum.direct);
	seq_printf(file, "to_device_bytes %llu\nfrom_device_bytes %llu\nzeroed_bytes %llu\n",
		   sum.to_device, sum.from_device, sum.zeroed);
	seq_printf(file, "exhausted %llu\ntoo_large %llu\nsenseless %llu\n", sum.exhausted,
		   sum.too_large, sum.senseless);
	seq_printf(file, "coherent %llu\ncoherent_apart %llu\n", sum.coherent, sum.apart);
}

static void show_slots(struct seq_file *file, const struct av_slots *slots, u64 *got)
{
	u64 used = 0, looked = 0, failed = 0, contended = 0;
	u32 i, n;

	for (i = 0; i < slots->areas; i++) {
		const struct av_area *area = &slots->area[i];

		used += READ_ONCE(area->used);
		looked += READ_ONCE(area->looked);
		failed += READ_ONCE(area->failed);
		contended += READ_ONCE(area->lock.contended);
		for (n = 0; n < AV_SIZE_CLASSES; n++)
			got[n] += READ_ONCE(area->got[n]);
		seq_printf(file, "area%u.used %u\narea%u.most %u\n", i, READ_ONCE(area->used), i,
			   READ_ONCE(area->most));
	}
	seq_printf(file, "slots.count %u\nslots.used %llu\nslots.looked %llu\nslots.failed %llu\nslots.contended %llu\n",
		   slots->areas * slots->per_area, used, looked, failed, contended);
}

/* The lists of one size. */
static void show_order(struct seq_file *file, const struct av_cache *cache, u32 order, u64 *got)
{
	u64 used = 0, most = 0, hits = 0, misses = 0, lent = 0, contended = 0;
	u32 each = BIT(cache->log), i;

	for (i = 0; i < cache->areas; i++) {
		const struct av_list *list = &cache->list[i * AV_CACHE_ORDERS + order];

		used += each - READ_ONCE(list->free);
		most += each - READ_ONCE(list->least);
		hits += READ_ONCE(list->hits);
		misses += READ_ONCE(list->misses);
		lent += READ_ONCE(list->lent);
		contended += READ_ONCE(list->lock.contended);
	}
	got[order] += hits + lent;
	seq_printf(file, "list%u.count %u\nlist%u.used %llu\nlist%u.most %llu\n", order,
		   each * cache->areas, order, used, order, most);
	/* fallbacks: no list had a buffer, so the slots were searched. */
	seq_printf(file, "list%u.hits %llu\nlist%u.misses %llu\nlist%u.lent %llu\nlist%u.fallbacks %llu\nlist%u.contended %llu\n",
		   order, hits, order, misses, order, lent, order, misses - lent, order, contended);
}

static void show_shares(struct seq_file *file, const struct av_shares *shares)
{
	u64 shared = 0, unshared = 0, joined = 0, full = 0, failed = 0, contended = 0;
	u32 i;

	for (i = 0; i < BIT(shares->log); i++) {
		const struct av_share_set *set = &shares->set[i];

		shared += READ_ONCE(set->shared);
		unshared += READ_ONCE(set->unshared);
		joined += READ_ONCE(set->joined);
		full += READ_ONCE(set->full);
		failed += READ_ONCE(set->failed);
		contended += READ_ONCE(set->lock.contended);
	}
	seq_printf(file, "pages.shared %llu\npages.unshared %llu\npages.joined %llu\n", shared,
		   unshared, joined);
	seq_printf(file, "pages.full %llu\npages.failed %llu\npages.contended %llu\n", full, failed,
		   contended);
}

static void show_device(void *context, const struct av_device *device)
{
	seq_printf(context, "device %s\n", dev_name(device->dev));
}

static int stats_show(struct seq_file *file, void *data)
{
	const struct av_plan *plan = &av_bounce.pool.plan;
	u64 got[AV_SIZE_CLASSES] = {};
	u32 n;

	seq_printf(file, "mode %s\nsharing %d\npool_bytes %llu\nareas %u\n", av_mode_names[plan->mode],
		   av_bounce.region.sharing, plan->bytes, plan->areas);
	seq_printf(file, "wide_copy %d\nwide_clear %d\n", av_wide.copy, av_wide.clear);
	show_counts(file);
	show_slots(file, &av_bounce.pool.slots, got);
	if (plan->cache_bytes) {
		for (n = 0; n < AV_CACHE_ORDERS; n++)
			show_order(file, &av_bounce.pool.cache, n, got);
	}
	if (plan->mode == AV_MODE_HYBRID)
		show_shares(file, &av_bounce.shares);
	seq_printf(file, "pages.lost %lld\n", (s64)atomic64_read(&av_bounce.region.lost));
	/* Buffers given out, by size rounded up to a power of two. */
	for (n = 0; n < AV_SIZE_CLASSES; n++)
		seq_printf(file, "size%lu %llu\n", BIT(n), got[n]);
	av_devices_show(show_device, file);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

void av_stats_begin(void)
{
	folder = debugfs_create_dir("armvisor_bounce", NULL);
	debugfs_create_file("stats", 0400, folder, NULL, &stats_fops);
}

void av_stats_end(void)
{
	debugfs_remove(folder);
}
