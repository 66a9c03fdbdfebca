// SPDX-License-Identifier: GPL-2.0
/* The image of the host for light exits: image.h. Its stacks, its owners, what it learns. */
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/memory.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <asm/cpufeature.h>
#include <asm/pgtable-hwdef.h>
#include <asm/sysreg.h>

#include "compat/realm.h"
#include "switch/image.h"
#include "switch/image_tables.h"
#include "switch/leave.h"
#include "switch/offsets.h"
#include "switch/private.h"
#include "switch/switch.h"
#include "switch/tlb.h"
#include "switch/window_desc.h"
#include "vm/ranges.h"
#include "vm/regfile.h"

/*
 * A stack, then a page for its shadow call stack: more than THREAD_SIZE, so that they are aligned to
 * 2 * THREAD_SIZE.
 */
#define STACK_PAGES	(THREAD_SIZE / PAGE_SIZE + 1)

/* The linear map of a host with 48 bits; PAGE_OFFSET may be that of a kernel that can have 52. */
#define LINEAR		_PAGE_OFFSET(48)

/* The most that is looked at for the kernel's image, and for its .init. */
#define KERNEL_SIZE	SZ_128M
#define KERNEL_HOLE	SZ_32M

/* How long the image may keep what the host maps otherwise by now; how long a forgetful one does. */
#define DROP_AFTER	(60 * HZ)
#define FORGET_AFTER	(HZ / 100)

#define OFF		0
#define ON		1
#define FORGETFUL	2
static uint light_image = ON;
module_param(light_image, uint, 0444);
MODULE_PARM_DESC(light_image, "run light exits in an image of the host's kernel half, which needs no TLB flush: 0 no, 1 yes (default), 2 yes, but forget it again and again (for tests)");

static u64 host_ttbr1;			/* its root's address; 0: there is no image */

/* Under image_lock, for which other users' VMs wait: what cannot be had at once is missed again. */
#define GFP_SOON	(GFP_NOWAIT | __GFP_NOWARN)

static DEFINE_MUTEX(image_lock);
static bool loaded;
static struct av_image image;
static LIST_HEAD(vms);			/* those that have a root */
static DEFINE_PER_CPU(void *, stack);	/* for light exits, aligned to 2 * THREAD_SIZE */
static struct av_ranges owned;		/* our memory from vmalloc */
static struct av_ranges offline;	/* memory that may be gone, by its linear address */
static u64 kernel_from, kernel_end;	/* the kernel's image, in whole blocks */

static void relax(void)
{
	cond_resched();
}

static const u64 *host_root(void)
{
	return phys_to_virt(host_ttbr1 & GENMASK_ULL(47, 12));
}

bool av_image_here(void)
{
	return host_ttbr1 && ((read_sysreg(ttbr1_el1) ^ host_ttbr1) & GENMASK_ULL(47, 12));
}

static u64 stack_at(int cpu)
{
	return sign_extend64((u64)per_cpu(stack, cpu), 55);
}

/* ---- memory of ours from vmalloc ------------------------------------------------------ */

/* Without memory for the record it is only missed. */
void *av_image_own(void *p, size_t size)
{
	if (!p || !is_vmalloc_addr(p) || !host_ttbr1)
		return p;
	mutex_lock(&image_lock);
	av_ranges_insert(&owned, (u64)p, (u64)p + PAGE_ALIGN(size) - 1, 0,
			 GFP_SOON | __GFP_ACCOUNT);
	mutex_unlock(&image_lock);
	return p;
}

void *av_image_kvzalloc(size_t size, gfp_t gfp)
{
	return av_image_own(kvzalloc(size, gfp), size);
}

void *av_image_kvcalloc(size_t n, size_t size, gfp_t gfp)
{
	return av_image_own(kvcalloc(n, size, gfp), array_size(n, size));
}

void av_image_kvfree(const void *p)
{
	const struct av_range *own;

	if (is_vmalloc_addr(p) && host_ttbr1) {
		mutex_lock(&image_lock);
		own = av_ranges_find(&owned, (u64)p);
		if (own)
			av_image_clear(&image, own->node.start, own->node.last + 1, relax);
		av_ranges_remove(&owned, (u64)p);
		mutex_unlock(&image_lock);
	}
	kvfree(p);
}

static bool is_percpu(const void __percpu *percpu, size_t size, u64 va)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		u64 start = (u64)per_cpu_ptr(percpu, cpu);

		if (va >= ALIGN_DOWN(start, PAGE_SIZE) && va < PAGE_ALIGN(start + size))
			return true;
	}
	return false;
}

void av_image_forget_percpu(const void __percpu *percpu, size_t size)
{
	int cpu;

	if (!host_ttbr1)
		return;
	mutex_lock(&image_lock);
	for_each_possible_cpu(cpu) {
		const void *p = per_cpu_ptr(percpu, cpu);

		/* What others have in the same page is learned again. */
		if (is_vmalloc_addr(p))
			av_image_clear(&image, ALIGN_DOWN((u64)p, PAGE_SIZE),
				       PAGE_ALIGN((u64)p + size), NULL);
	}
	mutex_unlock(&image_lock);
}

/* ---- what may be in the image --------------------------------------------------------- */

static bool is_linear(u64 va)
{
	return va >= LINEAR && va < PAGE_END;
}

static bool is_kernel(u64 va)
{
	return va >= kernel_from && va < kernel_end;
}

/* The per-CPU memory of the VM that learns, under image_lock. */
static const void __percpu *learners;
static size_t learners_size;

/* From the linear map's first struct page: VMEMMAP_START, too, may be that of a kernel for 52 bits. */
static bool is_vmemmap(u64 va)
{
	return va >= (u64)virt_to_page((void *)LINEAR) && va < VMEMMAP_END;
}

/* Is the memory of an address in the linear map, or of a struct page, there to stay? */
static bool is_online(u64 va)
{
	u64 pfn = is_linear(va) ? PHYS_PFN(__pa(va)) : (va - (u64)vmemmap) / sizeof(struct page);

	return !av_ranges_find(&offline, (u64)pfn_to_kaddr(pfn)) && pfn_to_online_page(pfn);
}

/* Memory of this module's: it cannot go away, but by a function above. */
static bool is_ours(u64 va)
{
	return within_module_core(va, THIS_MODULE) || av_ranges_find(&owned, va) ||
	       (learners && is_percpu(learners, learners_size, va));
}

/*
 * Is it safe to walk the host's tables for this address? Those of vmalloc and of removed memory may
 * be freed, unless something that cannot go away is mapped at the address.
 */
static bool may_look(u64 va)
{
	if (is_linear(va) || is_vmemmap(va))
		return is_online(va);
	return is_kernel(va) || is_ours(va);
}

/* In the 2 MiB of the kernel's first and last pages, other pages may be of vmalloc. */
static bool may_map(u64 va, u64 pa)
{
	if (is_linear(va) || is_vmemmap(va))
		return is_online(va);
	return (is_kernel(va) && va - kimage_voffset == pa) || is_ours(va);
}

/* Does a stack begin there? */
static bool has_stack(u64 start, u64 end)
{
	int cpu;

	for_each_possible_cpu(cpu)
		if (stack_at(cpu) >= start && stack_at(cpu) < end)
			return true;
	return false;
}

/* At a page of a stack, or of the code that a light exit cannot miss? */
static bool keeps(u64 va)
{
	u64 page = ALIGN_DOWN(va, PAGE_SIZE);

	return page == ALIGN_DOWN((u64)av_switch_light_image, PAGE_SIZE) ||
	       has_stack(page - (STACK_PAGES - 1) * PAGE_SIZE, page + PAGE_SIZE);
}

static bool may_merge(u64 start)
{
	return is_linear(start);
}

/* A block with a stack could not be replaced while a light exit runs on the stack. */
static bool must_split(u64 start)
{
	return has_stack(start, start + AV_IMAGE_BLOCK);
}

static u64 *alloc_table(void)
{
	return (u64 *)get_zeroed_page(loaded ? GFP_SOON : GFP_KERNEL);
}

static void free_table(u64 *table)
{
	free_page((unsigned long)table);
}

static u64 pa_of(const u64 *table)
{
	return virt_to_phys((void *)table);
}

static u64 *table_at(u64 pa)
{
	return phys_to_virt(pa);
}

static void publish(void)
{
	dsb(ishst);
	isb();
}

static void flush_one(u64 va)
{
	av_tlb_flush_begin();
	av_tlb_flush_window(va);
	av_tlb_flush_end();
}

static void flush_all(void)
{
	const struct av_vm_switch *vsw;

	av_tlb_flush_begin();
	list_for_each_entry(vsw, &vms, image_node)
		av_tlb_flush_image(vsw);
	av_tlb_flush_end();
}

static const struct av_image_ops ops = {
	.alloc = alloc_table,
	.free = free_table,
	.pa_of = pa_of,
	.table_at = table_at,
	.may_map = may_map,
	.may_merge = may_merge,
	.must_split = must_split,
	.keeps = keeps,
	.publish = publish,
	.flush = flush_one,
	.flush_all = flush_all,
};

/* ---- the linear map changes ----------------------------------------------------------- */

static void drop_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(drop, drop_work);

/* Now, and again while there are VMs. */
static void drop_linear(void)
{
	if (light_image == FORGETFUL)
		av_image_clear(&image, AV_IMAGE_FIRST, ~0ULL, relax);
	else
		av_image_clear(&image, LINEAR, PAGE_END, relax);
	schedule_delayed_work(&drop, light_image == FORGETFUL ? FORGET_AFTER : DROP_AFTER);
}

static void drop_work(struct work_struct *work)
{
	mutex_lock(&image_lock);
	if (!list_empty(&vms))
		drop_linear();
	mutex_unlock(&image_lock);
}

/*
 * Memory goes offline, and its struct pages may go with it. Once the lock is free, no walk of the
 * host's tables for it is under way, and later ones keep out.
 */
static int leave_out(u64 pfn, u64 nr)
{
	u64 start = (u64)pfn_to_kaddr(pfn), end = start + (nr << PAGE_SHIFT);
	int ret = -EBUSY;

	mutex_lock(&image_lock);
	if (!has_stack(start, end))
		ret = av_ranges_insert(&offline, start, end - 1, 0, GFP_KERNEL);
	if (!ret) {
		av_image_clear(&image, start, end, relax);
		av_image_clear(&image, (u64)(vmemmap + pfn), (u64)(vmemmap + pfn + nr), relax);
	}
	mutex_unlock(&image_lock);
	return ret == -EEXIST ? 0 : ret;
}

static void take_back(u64 pfn)
{
	mutex_lock(&image_lock);
	av_ranges_remove(&offline, (u64)pfn_to_kaddr(pfn));
	mutex_unlock(&image_lock);
}

static int memory_changes(struct notifier_block *nb, unsigned long action, void *data)
{
	const struct memory_notify *what = data;

	switch (action) {
	case MEM_GOING_OFFLINE:
		return notifier_from_errno(leave_out(what->start_pfn, what->nr_pages));
	case MEM_CANCEL_OFFLINE:
	case MEM_ONLINE:
		take_back(what->start_pfn);
	}
	return NOTIFY_OK;
}

static struct notifier_block memory_notifier = {
	.notifier_call = memory_changes,
};

/* ---- learning ------------------------------------------------------------------------- */

static enum av_image_result copy(u64 va)
{
	return may_look(va) ? av_image_copy(&image, host_root(), va) : AV_IMAGE_REFUSED;
}

/* Other exceptions, as a BRK's, leave FAR_EL1 as it was. */
static bool is_abort(u64 esr)
{
	return av_esr_ec(esr) == AV_EC_IABT_CUR || av_esr_ec(esr) == AV_EC_DABT_CUR;
}

/* Look at one miss. Returns where it counts. */
static u64 *look_at(const struct av_image_miss *miss, struct av_image_misses *misses)
{
	/* FAR_EL1 has the tag of the pointer. */
	u64 va = sign_extend64(miss->far, 55);

	if (!is_abort(miss->esr))
		return &misses->other;
	if (copy(va) == AV_IMAGE_COPIED)
		return &misses->learned;
	if (!(va & BIT_ULL(55)))
		return &misses->user;
	return is_vmalloc_addr((void *)va) && !is_kernel(va) ? &misses->vmalloc : &misses->other;
}

/* Tables that the image got since the VM's root was made. */
static void follow(struct av_vm_switch *vsw, u64 va)
{
	unsigned int i = va >> 39 & (AV_IMAGE_ENTRIES - 1);

	if (i != AV_WINDOW_INDEX)
		WRITE_ONCE(vsw->image[i], image.root[i]);
}

void av_image_learn(struct av_vm_switch *vsw, struct av_private *priv, const void __percpu *percpu,
		    size_t size, struct av_image_misses *misses)
{
	u64 to = READ_ONCE(priv->misses), nr = to - priv->learned;
	u64 n = min_t(u64, nr, AV_IMAGE_MISSES);

	mutex_lock(&image_lock);
	learners = percpu;
	learners_size = size;
	/* Those that are not remembered any more count with the oldest that is. */
	for (nr -= n - 1; n; n--, nr = 1) {
		const struct av_image_miss *miss = &priv->miss[(to - n) % AV_IMAGE_MISSES];

		*look_at(miss, misses) += nr;
		follow(vsw, miss->far);
		relax();
	}
	learners = NULL;
	priv->hopeless = !misses->learned;
	publish();
	mutex_unlock(&image_lock);
	priv->learned = to;
}

/* ---- VMs and vCPUs -------------------------------------------------------------------- */

void av_image_vm_destroy(struct av_vm_switch *vsw)
{
	if (!vsw->image)
		return;
	mutex_lock(&image_lock);
	list_del(&vsw->image_node);
	mutex_unlock(&image_lock);
	free_page((unsigned long)vsw->image);
	free_page((unsigned long)vsw->image1);
}

int av_image_vm_init(struct av_vm_switch *vsw)
{
	u64 *tables[2];
	unsigned int i;
	int ret;

	if (!host_ttbr1)
		return 0;
	ret = av_switch_flushes() ? av_asid_get(&vsw->own_image, vsw->share) : 0;
	if (ret)
		return ret;
	tables[0] = (u64 *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	tables[1] = (u64 *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	if (!tables[0] || !tables[1]) {
		free_page((unsigned long)tables[0]);
		free_page((unsigned long)tables[1]);
		return -ENOMEM;
	}
	vsw->image = tables[0];
	vsw->image1 = tables[1];
	vsw->image1[AV_WINDOW_INDEX] = av_table_desc(virt_to_phys(vsw->l2));
	vsw->image1[AV_IMAGE_PRIVATE_INDEX] = av_table_desc(virt_to_phys(vsw->p2));
	vsw->image[AV_WINDOW_INDEX] = av_table_desc(virt_to_phys(vsw->image1));
	/* Under one ASID an address must not have two tables either: TLBs may keep those. */
	vsw->hop[AV_WINDOW_INDEX] = vsw->image[AV_WINDOW_INDEX];
	mutex_lock(&image_lock);
	if (list_empty(&vms))
		drop_linear();
	for (i = 0; i < AV_WINDOW_INDEX; i++)
		vsw->image[i] = image.root[i];
	list_add(&vsw->image_node, &vms);
	mutex_unlock(&image_lock);
	return 0;
}

static u64 private_at(unsigned int idx)
{
	return AV_IMAGE_PRIVATE + (u64)idx * PAGE_SIZE;
}

void av_image_flush_private(unsigned int idx)
{
	if (host_ttbr1)
		av_tlb_flush_window(private_at(idx));
}

void av_image_vcpu_init(const struct av_vm_switch *vsw, struct av_vcpu_switch *csw,
			struct av_srf *srf, unsigned int idx)
{
	struct av_private *priv = csw->priv;

	if (!vsw->image)
		return;
	priv->h_light = av_switch_light_image;
	priv->h_missed = av_switch_image_missed;
	priv->image = virt_to_phys(vsw->image) | (u64)av_image_asid(vsw) << 48;
	priv->kept = priv->image;
	srf->image = priv->image;
	srf->image_private = private_at(idx);
}

/* ---- module load ---------------------------------------------------------------------- */

/* Does the kernel's image have a page in these 2 MiB? */
static bool has_kernel(u64 start)
{
	u64 va;

	for (va = start; va < start + AV_IMAGE_BLOCK; va += PAGE_SIZE)
		if (av_image_host_pa(&image, host_root(), va) == va - kimage_voffset)
			return true;
	return false;
}

/* The kernel's image around a function of its text: in the middle is a hole, the freed .init. */
static void find_kernel(void)
{
	u64 start = ALIGN_DOWN((u64)&schedule, AV_IMAGE_BLOCK), va;

	kernel_from = start;
	kernel_end = start + AV_IMAGE_BLOCK;
	for (va = start - AV_IMAGE_BLOCK; start - va <= KERNEL_SIZE && has_kernel(va);
	     va -= AV_IMAGE_BLOCK)
		kernel_from = va;
	for (va = kernel_end; va - start <= KERNEL_SIZE && va - kernel_end <= KERNEL_HOLE;
	     va += AV_IMAGE_BLOCK)
		if (has_kernel(va))
			kernel_end = va + AV_IMAGE_BLOCK;
}

u64 av_image_stack_of(int cpu)
{
	return stack_at(cpu) + THREAD_SIZE - SW_FRAME;
}

/* The stacks, and what .Limage_vectors and light exits need before they can miss anything. */
static int map_first(void)
{
	u64 at;
	int cpu;

	for_each_possible_cpu(cpu) {
		per_cpu(stack, cpu) = alloc_pages_exact(STACK_PAGES * PAGE_SIZE,
							GFP_KERNEL | __GFP_ZERO);
		if (!per_cpu(stack, cpu))
			return -ENOMEM;
	}
	for_each_possible_cpu(cpu)
		for (at = 0; at < STACK_PAGES * PAGE_SIZE; at += PAGE_SIZE)
			if (copy(stack_at(cpu) + at) > AV_IMAGE_SAME)
				return -ENOMEM;
	return copy((u64)av_switch_light_image) > AV_IMAGE_SAME ? -ENOMEM : 0;
}

static bool possible(void)
{
	/* With very much memory, struct pages are where the image has private pages. */
	return light_image != OFF && av_host_tables.t0sz == AV_TSZ_48 &&
	       av_host_tables.t1sz == AV_TSZ_48 && !av_is_realm() && !system_uses_ttbr0_pan() &&
	       (u64)virt_to_page(high_memory - 1) < AV_IMAGE_PRIVATE;
}

int av_image_init(void)
{
	int ret;

	if (!possible())
		return 0;
	if (!av_image_begin(&image, &ops))
		return 0;
	host_ttbr1 = read_sysreg(ttbr1_el1) & GENMASK_ULL(47, 12);
	find_kernel();
	ret = map_first();
	if (!ret)
		ret = register_memory_notifier(&memory_notifier);
	loaded = !ret;
	if (ret) {
		pr_info("armvisor: no image of the host (%d): light exits run on its own tables\n", ret);
		av_image_exit();
	}
	return 0;
}

/* No VM is left: each has flushed its ASIDs. */
void av_image_exit(void)
{
	int cpu;

	if (!host_ttbr1)
		return;
	unregister_memory_notifier(&memory_notifier);
	cancel_delayed_work_sync(&drop);
	av_ranges_clear(&offline);
	av_image_end(&image);
	for_each_possible_cpu(cpu)
		if (stack_at(cpu))
			free_pages_exact(per_cpu(stack, cpu), STACK_PAGES * PAGE_SIZE);
	host_ttbr1 = 0;
}
