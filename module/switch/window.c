// SPDX-License-Identifier: GPL-2.0
/*
 * The window's tables and the host ASIDs it all runs under.
 *
 * Tables have the host's 4 KiB, four level geometry. One level 3 table holds
 * the window (the code first, behind it the vCPUs' register files by id); the same
 * chain of tables hangs under the last entry of each guest TTBR1 root and
 * under the first of the aux root, so the low alias of a window address is
 * its low 39 bits. Nothing in the window is accessible to EL0.
 *
 * ASIDs are borrowed from the host's allocator so that no process of the
 * host's ever has one of ours. arm64_mm_context_get() wants an mm_struct and
 * uses nothing of it but mm->context (so in 6.1, 6.12 and 7.2), which is why
 * an empty one will do as a token; one token gives one ASID.
 */
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/mmu_context.h>
#include <linux/slab.h>
#include <asm/mmu_context.h>
#include <asm/pgtable-hwdef.h>
#include <asm/tlbflush.h>

#include "compat/icache.h"
#include "compat/tlb.h"
#include "vm/regfile.h"
#include "switch/switch.h"

/* Pages of code at the window's start. */
#define CODE_PAGES	1

#define WINDOW_LOW	(AV_WINDOW_START & GENMASK_ULL(38, 0))

#define TABLE_DESC	(PMD_TYPE_TABLE)
#define PAGE_DESC	(PTE_TYPE_PAGE | PTE_AF | PTE_SHARED | PTE_NG | PTE_UXN | \
			 PTE_ATTRINDX(MT_NORMAL))
#define CODE_DESC	(PAGE_DESC | PTE_RDONLY)
/* PTE_DBM: where permissions are indirect (S1PIE), this is what makes it writable. */
#define DATA_DESC	(PAGE_DESC | PTE_PXN | PTE_DBM)

static void *window_code;

int av_window_init(void)
{
	size_t size = av_window_code_end - av_window_code;

	if (size > CODE_PAGES * PAGE_SIZE) {
		pr_err("armvisor: the window has no room for %zu bytes of code\n", size);
		return -EINVAL;
	}
	window_code = alloc_pages_exact(CODE_PAGES * PAGE_SIZE, GFP_KERNEL | __GFP_ZERO);
	if (!window_code)
		return -ENOMEM;
	memcpy(window_code, av_window_code, size);
	av_sync_icache_aliases((unsigned long)window_code, CODE_PAGES * PAGE_SIZE);
	return 0;
}

void av_window_exit(void)
{
	free_pages_exact(window_code, CODE_PAGES * PAGE_SIZE);
}

u64 av_window_root_desc(const struct av_vm_switch *vsw)
{
	return virt_to_phys(vsw->l1) | TABLE_DESC;
}

static int tables_init(struct av_vm_switch *vsw)
{
	u64 **tables[] = { &vsw->aux, &vsw->l1, &vsw->l2, &vsw->l3 };
	int i;

	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		*tables[i] = (u64 *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
		if (!*tables[i])
			return -ENOMEM;
	}
	vsw->aux[0] = virt_to_phys(vsw->l1) | TABLE_DESC;
	vsw->l1[511] = virt_to_phys(vsw->l2) | TABLE_DESC;
	vsw->l2[511] = virt_to_phys(vsw->l3) | TABLE_DESC;
	for (i = 0; i < CODE_PAGES; i++)
		vsw->l3[i] = (virt_to_phys(window_code) + i * PAGE_SIZE) | CODE_DESC;
	return 0;
}

static void asid_flush(const struct av_asid *a)
{
	dsb(ishst);
	__tlbi(aside1is, (u64)a->asid << 48);
	av_tlbi_sync();
}

/*
 * The host may have used the number for a process before its ASIDs last rolled
 * over, and a CPU flushes for that only when it next switches processes, which
 * going into the guest is not. So drop what is left of that process here.
 */
static int asid_get(struct av_asid *a)
{
	a->token = kzalloc(sizeof(struct mm_struct) + 2 * cpumask_size(), GFP_KERNEL_ACCOUNT);
	if (!a->token)
		return -ENOMEM;
	a->asid = arm64_mm_context_get(a->token);
	if (a->asid) {
		asid_flush(a);
		return 0;
	}
	kfree(a->token);
	a->token = NULL;
	return -ENOSPC;
}

/* Nothing runs under it any more, nor ever will before the host's allocator flushed it. */
static void asid_put(struct av_asid *a)
{
	if (!a->token)
		return;
	asid_flush(a);
	arm64_mm_context_put(a->token);
	kfree(a->token);
	a->token = NULL;
}

/* Also of one that was half made. The trees that lead here are gone. */
void av_switch_vm_destroy(struct av_vm_switch *vsw)
{
	asid_put(&vsw->host_hop);
	asid_put(&vsw->guest_hop);
	free_page((unsigned long)vsw->aux);
	free_page((unsigned long)vsw->l1);
	free_page((unsigned long)vsw->l2);
	free_page((unsigned long)vsw->l3);
}

int av_switch_vm_init(struct av_vm_switch *vsw)
{
	int ret;

	ret = tables_init(vsw);
	if (!ret)
		ret = asid_get(&vsw->host_hop);
	if (!ret)
		ret = asid_get(&vsw->guest_hop);
	if (ret)
		av_switch_vm_destroy(vsw);
	return ret;
}

/* One ASID will do; more save flushes. A machine may have no more than 256 in all. */
static int contexts_init(struct av_vcpu_switch *csw)
{
	int ret = 0;

	while (csw->nr_contexts < AV_NR_CONTEXTS) {
		ret = asid_get(&csw->context[csw->nr_contexts].asid);
		if (ret)
			break;
		csw->nr_contexts++;
	}
	if (csw->nr_contexts)
		return 0;
	if (ret == -ENOSPC)
		pr_warn_ratelimited("armvisor: the host has no more ASIDs to give: end other VMs first\n");
	return ret;
}

/* A register file's page is not freed before no TLB can lead there, under any ASID. */
static void unmap_register_file(struct av_vm_switch *vsw, unsigned int id)
{
	unsigned int slot = CODE_PAGES + id;
	u64 page = AV_WINDOW_START / PAGE_SIZE + slot, low = WINDOW_LOW / PAGE_SIZE + slot;

	WRITE_ONCE(vsw->l3[slot], 0);
	dsb(ishst);
	__tlbi(vaae1is, page & GENMASK_ULL(43, 0));
	__tlbi(vaae1is, low);
	av_tlbi_sync();
}

void av_switch_vcpu_destroy(struct av_vm_switch *vsw, struct av_vcpu_switch *csw,
			    unsigned int id)
{
	unmap_register_file(vsw, id);
	while (csw->nr_contexts)
		asid_put(&csw->context[--csw->nr_contexts].asid);
}

int av_switch_vcpu_init(struct av_vm_switch *vsw, struct av_vcpu_switch *csw,
			struct av_srf *srf, unsigned int id)
{
	unsigned int slot = CODE_PAGES + id;
	u64 data = (u64)slot * PAGE_SIZE;
	int ret;

	ret = contexts_init(csw);
	if (ret)
		return ret;
	srf->sw.ttbr_none = page_to_phys(ZERO_PAGE(0));
	srf->sw.ttbr0_aux = virt_to_phys(vsw->aux);
	srf->sw.asid_host_hop = vsw->host_hop.asid;
	srf->sw.high_code = AV_WINDOW_START;
	srf->sw.high_data = AV_WINDOW_START + data;
	srf->sw.low_code = WINDOW_LOW;
	srf->sw.low_data = WINDOW_LOW + data;

	WRITE_ONCE(vsw->l3[slot], virt_to_phys(srf) | DATA_DESC);
	/* Walks of any CPU see it before the vCPU is first entered. */
	dsb(ishst);
	isb();
	return 0;
}
