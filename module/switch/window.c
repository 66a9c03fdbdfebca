// SPDX-License-Identifier: GPL-2.0
/*
 * The window's tables and the host ASIDs it all runs under.
 *
 * Tables have the host's 4 KiB, four level geometry. One level 3 table holds
 * the window (slot 0 the code, slot id + 1 a vCPU's register file); the same
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
#include <asm/cacheflush.h>
#include <asm/mmu_context.h>
#include <asm/pgtable-hwdef.h>
#include <asm/tlbflush.h>

#include "cpu/regs.h"
#include "switch/switch.h"

#define WINDOW_LOW	(AV_WINDOW_START & GENMASK_ULL(38, 0))

#define TABLE_DESC	(PMD_TYPE_TABLE)
#define PAGE_DESC	(PTE_TYPE_PAGE | PTE_AF | PTE_SHARED | PTE_NG | PTE_UXN | \
			 PTE_ATTRINDX(MT_NORMAL))
#define CODE_DESC	(PAGE_DESC | PTE_RDONLY)
#define DATA_DESC	(PAGE_DESC | PTE_PXN)

static void *window_code;

int av_window_init(void)
{
	size_t size = av_window_code_end - av_window_code;

	if (WARN_ON(size > PAGE_SIZE))
		return -EINVAL;
	window_code = (void *)get_zeroed_page(GFP_KERNEL);
	if (!window_code)
		return -ENOMEM;
	memcpy(window_code, av_window_code, size);
	caches_clean_inval_pou((unsigned long)window_code,
			       (unsigned long)window_code + PAGE_SIZE);
	return 0;
}

void av_window_exit(void)
{
	free_page((unsigned long)window_code);
}

u64 av_window_root_desc(const struct av_vm_switch *sw)
{
	return virt_to_phys(sw->l1) | TABLE_DESC;
}

u16 av_context_asid(const struct av_vm_switch *sw, unsigned int context)
{
	return sw->asid[AV_ASID_CONTEXT0 + context];
}

static int tables_init(struct av_vm_switch *sw)
{
	u64 **tables[] = { &sw->aux, &sw->l1, &sw->l2, &sw->l3 };
	int i;

	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		*tables[i] = (u64 *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
		if (!*tables[i])
			return -ENOMEM;
	}
	sw->aux[0] = virt_to_phys(sw->l1) | TABLE_DESC;
	sw->l1[511] = virt_to_phys(sw->l2) | TABLE_DESC;
	sw->l2[511] = virt_to_phys(sw->l3) | TABLE_DESC;
	sw->l3[0] = virt_to_phys(window_code) | CODE_DESC;
	return 0;
}

static int asids_init(struct av_vm_switch *sw)
{
	size_t size = sizeof(struct mm_struct) + 2 * cpumask_size();
	int i;

	for (i = 0; i < AV_NR_ASIDS; i++) {
		struct mm_struct *token = kzalloc(size, GFP_KERNEL_ACCOUNT);
		unsigned long asid;

		if (!token)
			return -ENOMEM;
		asid = arm64_mm_context_get(token);
		if (!asid) {
			kfree(token);
			pr_warn_ratelimited("armvisor: the host has no more ASIDs to pin: end other VMs first\n");
			return -ENOSPC;
		}
		sw->token[i] = token;
		sw->asid[i] = asid;
	}
	return 0;
}

/* Of a VM that never ran or never will again. */
void av_switch_vm_destroy(struct av_vm_switch *sw)
{
	int i;

	/* Walks through the tables must not outlive them. */
	dsb(ishst);
	for (i = 0; i < AV_NR_ASIDS && sw->token[i]; i++)
		__tlbi(aside1is, (u64)sw->asid[i] << 48);
	dsb(ish);
	for (i = 0; i < AV_NR_ASIDS && sw->token[i]; i++) {
		arm64_mm_context_put(sw->token[i]);
		kfree(sw->token[i]);
		sw->token[i] = NULL;
	}
	free_page((unsigned long)sw->aux);
	free_page((unsigned long)sw->l1);
	free_page((unsigned long)sw->l2);
	free_page((unsigned long)sw->l3);
}

int av_switch_vm_init(struct av_vm_switch *sw)
{
	int ret;

	ret = tables_init(sw);
	if (!ret)
		ret = asids_init(sw);
	if (ret)
		av_switch_vm_destroy(sw);
	return ret;
}

void av_switch_vcpu_init(struct av_vm_switch *sw, struct av_srf *srf, unsigned int id)
{
	u64 data = (u64)(id + 1) * PAGE_SIZE;

	srf->sw.ttbr_none = page_to_phys(ZERO_PAGE(0));
	srf->sw.ttbr0_aux = virt_to_phys(sw->aux);
	srf->sw.asid_host_hop = sw->asid[AV_ASID_HOST_HOP];
	srf->sw.high_code = AV_WINDOW_START;
	srf->sw.high_data = AV_WINDOW_START + data;
	srf->sw.low_code = WINDOW_LOW;
	srf->sw.low_data = WINDOW_LOW + data;

	WRITE_ONCE(sw->l3[id + 1], virt_to_phys(srf) | DATA_DESC);
	/* Walks of any CPU see it before the vCPU is first entered. */
	dsb(ishst);
	isb();
}
