// SPDX-License-Identifier: GPL-2.0
/*
 * Memory for shadow tables. A vCPU preallocates tables before it takes mmu_lock
 * (av_memcache_fill()), because nothing may be allocated under the lock.
 */
#include <linux/atomic.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "mmu/base/base.h"

static void pt_free(struct av_pt *pt)
{
	free_page((unsigned long)pt->desc);
	free_page((unsigned long)pt->pte);
	free_page((unsigned long)pt->aux);
	kfree(pt);
}

static struct av_pt *pt_alloc(void)
{
	struct av_pt *pt = kzalloc(sizeof(*pt), GFP_KERNEL_ACCOUNT);

	if (!pt)
		return NULL;
	pt->pte = (u64 *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	pt->aux = (union av_aux *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	if (!pt->pte || !pt->aux) {
		pt_free(pt);
		return NULL;
	}
	pt->pa = virt_to_phys(pt->pte);
	return pt;
}

static void put_desc(struct av_memcache *pool, u64 *desc)
{
	desc[0] = (u64)(uintptr_t)pool->descs;
	pool->descs = desc;
	pool->nr_descs++;
}

static u64 *take_desc(struct av_memcache *pool)
{
	u64 *desc = pool->descs;

	pool->descs = (u64 *)(uintptr_t)desc[0];
	pool->nr_descs--;
	return desc;
}

int av_memcache_fill(struct av_memcache *pool)
{
	while (pool->nr < AV_POOL_PTS) {
		struct av_pt *pt = pt_alloc();

		if (!pt)
			return -ENOMEM;
		av_list_add_tail(&pt->node, &pool->pts);
		pool->nr++;
	}
	while (pool->nr_descs < AV_POOL_DESCS) {
		u64 *desc = (u64 *)get_zeroed_page(GFP_KERNEL_ACCOUNT);

		if (!desc)
			return -ENOMEM;
		put_desc(pool, desc);
	}
	if (!pool->tree)
		pool->tree = kzalloc(sizeof(*pool->tree), GFP_KERNEL_ACCOUNT);
	return pool->tree ? 0 : -ENOMEM;
}

void av_memcache_empty(struct av_memcache *pool)
{
	struct av_pt *pt, *tmp;

	av_list_for_each(pt, tmp, &pool->pts, node)
		pt_free(pt);
	av_list_init(&pool->pts);
	pool->nr = 0;
	while (pool->nr_descs)
		free_page((unsigned long)take_desc(pool));
	kfree(pool->tree);
	pool->tree = NULL;
}

/* Give the table to the pool if it has room: empty tables are as good as new. */
void av_memcache_give_pt(struct av_memcache *pool, struct av_pt *pt)
{
	if (!pool || pool->nr >= AV_POOL_MAX) {
		pt_free(pt);
		return;
	}
	/* Not every table that is taken needs a desc page: do not let them pile up. */
	if (pt->desc && pool->nr_descs < AV_POOL_MAX)
		put_desc(pool, pt->desc);
	else
		free_page((unsigned long)pt->desc);
	pt->desc = NULL;
	av_list_add_tail(&pt->node, &pool->pts);
	pool->nr++;
}

void av_memcache_give_tree(struct av_memcache *pool, struct av_tree *tree)
{
	if (pool && !pool->tree)
		pool->tree = tree;
	else
		kfree(tree);
}

static atomic_long_t pages_held = ATOMIC_LONG_INIT(0);

void av_shrink_count(long pages)
{
	atomic_long_add(pages, &pages_held);
}

long av_shrink_counted(void)
{
	return atomic_long_read(&pages_held);
}
