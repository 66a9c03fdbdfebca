// SPDX-License-Identifier: GPL-2.0
/*
 * The window's tables.
 *
 * They have the guest's geometry: 4 KiB pages, four levels. One level-3 table maps the window: the
 * code, then the vCPUs' register files by index, then for each of the first vCPUs a few of the
 * guest's tables, to be read (mmu/guest/switcher_tables.h). Each guest tree for TTBR1 links that
 * table at one position. A level-2 table of the VM links it at all positions that its vCPUs have
 * used. The last entry of the hop root and the first entry of the aux root lead there, so a low
 * alias is the low 39 bits of the window's address. EL0 can access nothing in the window. The
 * vCPUs' private pages are linked only from the second entry of the aux root. The aux root is
 * walked with the host's geometry: switch/wide.h.
 *
 * vCPUs with the window at different positions may run at the same time: the tables that they
 * share map the same page at every address of the window.
 */
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <asm/pgtable-hwdef.h>

#include "compat/icache.h"
#include "vm/regfile.h"
#include "switch/image.h"
#include "switch/private.h"
#include "switch/switch.h"
#include "switch/tlb.h"
#include "switch/window_desc.h"
#include "vm/vm.h"

/* Pages of code: the plain copy at the start of the window, the timed one at its end. */
#define CODE_PAGES	4
#define SLOTS		512
#define TIMED_SLOT	(SLOTS - CODE_PAGES)

#define LOW_ALIAS	GENMASK_ULL(38, 0)

#define SRF_PAGES	(sizeof(struct av_srf) / PAGE_SIZE)

/* The first of the guest's tables, where the register files of more vCPUs would be. */
#define TABLES_SLOT	(TIMED_SLOT - AV_TABLE_VCPUS * AV_SRF_TABLES)

static_assert(CODE_PAGES + AV_TABLES_MOST_VCPUS * SRF_PAGES <= TABLES_SLOT);
static_assert(AV_TABLES_MOST_VCPUS >= AV_TABLE_VCPUS);
/* Register files in the window are aligned to their size: vectors.S finds one by rounding SP down. */
static_assert(CODE_PAGES % SRF_PAGES == 0);
static_assert(AV_WINDOW_SIZE % sizeof(struct av_srf) == 0);
static_assert(AV_WINDOW_SIZE == SLOTS * PAGE_SIZE);

#define PAGE_DESC	(PTE_TYPE_PAGE | PTE_AF | av_host_tables.shareable | PTE_NG | PTE_UXN | \
			 PTE_ATTRINDX(MT_NORMAL))
#define CODE_DESC	(PAGE_DESC | PTE_RDONLY)
/* PTE_DBM makes the page writable with indirect permissions (S1PIE). */
#define DATA_DESC	(PAGE_DESC | PTE_PXN | PTE_DBM)
#define TABLE_DESC	(PAGE_DESC | PTE_PXN | PTE_RDONLY)

static void *window_code[2];		/* plain, timed */
struct av_host_tables av_host_tables;

void av_host_tables_init(void)
{
	av_host_tables_of(read_sysreg(tcr_el1), &av_host_tables);
}

static int copy_code(void **code, const char *from, const char *end,
		     const struct av_wide_site *sites)
{
	size_t size = end - from;

	if (size > CODE_PAGES * PAGE_SIZE) {
		pr_err("armvisor: the window has no room for %zu bytes of code\n", size);
		return -EINVAL;
	}
	*code = alloc_pages_exact(CODE_PAGES * PAGE_SIZE, GFP_KERNEL | __GFP_ZERO);
	if (!*code)
		return -ENOMEM;
	memcpy(*code, from, size);
	av_wide_patch(&av_host_tables, *code, sites);
	av_sync_icache_aliases((unsigned long)*code, CODE_PAGES * PAGE_SIZE);
	return 0;
}

int av_window_init(void)
{
	int ret;

	av_host_tables_init();
	ret = copy_code(&window_code[0], av_window_code, av_window_code_end,
			av_window_wide_sites);
	if (!ret)
		ret = copy_code(&window_code[1], av_window_timed_code, av_window_timed_code_end,
				av_window_timed_wide_sites);
	if (ret)
		av_window_exit();
	return ret;
}

void av_window_exit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(window_code); i++)
		if (window_code[i])
			free_pages_exact(window_code[i], CODE_PAGES * PAGE_SIZE);
}

static void map_code(struct av_vm_switch *vsw, unsigned int slot, const void *code)
{
	unsigned int i;

	for (i = 0; i < CODE_PAGES; i++)
		WRITE_ONCE(vsw->l3[slot + i], (virt_to_phys(code) + i * PAGE_SIZE) | CODE_DESC);
}

/* Map the window at a position in the VM's own tables; it stays there. */
static void use_position(struct av_vm_switch *vsw, unsigned int position)
{
	unsigned int n = vsw->nr_positions;

	if (vsw->l2[position])
		return;
	vsw->positions[n] = position;
	/* Pairs with the acquire in flush_slot(). */
	smp_store_release(&vsw->nr_positions, n + 1);
	/* A flush that misses the position clears entries before a table walker gets there. */
	dsb(ishst);
	av_window_hang(vsw->l2, position, virt_to_phys(vsw->l3));
}

static int tables_init(struct av_vm_switch *vsw)
{
	u64 **tables[] = {
		&vsw->aux, &vsw->hop, &vsw->l1, &vsw->l2, &vsw->l3, &vsw->p1, &vsw->p2, &vsw->p3,
		&vsw->top,	/* last: only for hosts with 52 bits */
	};
	struct av_aux_tables aux;
	int i;

	for (i = 0; i < ARRAY_SIZE(tables) - (av_host_tables.t0sz != AV_TSZ_52); i++) {
		*tables[i] = (u64 *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
		if (!*tables[i])
			return -ENOMEM;
	}
	aux = (struct av_aux_tables) {
		.aux = vsw->aux, .top = vsw->top,
		.top_pa = vsw->top ? virt_to_phys(vsw->top) : 0,
		.window1_pa = virt_to_phys(vsw->l1), .window2_pa = virt_to_phys(vsw->l2),
		.private1_pa = virt_to_phys(vsw->p1), .private2_pa = virt_to_phys(vsw->p2),
	};
	av_aux_fill(&av_host_tables, &aux);
	vsw->p1[0] = av_table_desc(virt_to_phys(vsw->p2));
	vsw->p2[0] = av_table_desc(virt_to_phys(vsw->p3));
	vsw->hop[AV_WINDOW_INDEX] = av_table_desc(virt_to_phys(vsw->l1));
	vsw->l1[AV_WINDOW_INDEX] = av_table_desc(virt_to_phys(vsw->l2));
	use_position(vsw, AV_WINDOW_HOME);
	map_code(vsw, 0, window_code[0]);
	return 0;
}

/* Also for a VM that is only half made. The trees that link these tables must be gone. */
void av_switch_vm_destroy(struct av_vm_switch *vsw)
{
	av_asid_put(&vsw->host_hop);
	av_asid_put(&vsw->guest_hop);
	av_asid_put(&vsw->own_image);
	av_image_vm_destroy(vsw);
	av_asid_shares_put(vsw->share);
	free_page((unsigned long)vsw->aux);
	free_page((unsigned long)vsw->top);
	free_page((unsigned long)vsw->hop);
	free_page((unsigned long)vsw->l1);
	free_page((unsigned long)vsw->l2);
	free_page((unsigned long)vsw->l3);
	free_page((unsigned long)vsw->p1);
	free_page((unsigned long)vsw->p2);
	free_page((unsigned long)vsw->p3);
}

int av_switch_vm_init(struct av_vm_switch *vsw)
{
	int ret;

	ret = av_asid_shares_get(vsw->share);
	if (ret)
		return ret;
	ret = tables_init(vsw);
	if (!ret)
		ret = av_asid_get(&vsw->host_hop, vsw->share);
	if (!ret)
		ret = av_asid_get(&vsw->guest_hop, vsw->share);
	if (!ret)
		ret = av_image_vm_init(vsw);
	if (ret)
		av_switch_vm_destroy(vsw);
	return ret;
}

struct av_srf *av_srf_alloc(void)
{
	struct av_srf *srf = alloc_pages_exact(sizeof(*srf), GFP_KERNEL_ACCOUNT | __GFP_ZERO);

	/*
	 * No device page yet. Any value would do: it only makes aborts of that page take the full
	 * exit.
	 */
	if (srf)
		srf->device_page = U32_MAX;
	return srf;
}

void av_srf_free(struct av_srf *srf)
{
	if (srf)
		free_pages_exact(srf, sizeof(*srf));
}

/* Flush a page of the window, wherever it was mapped, and its low aliases from all ASIDs. */
static void flush_slot(const struct av_vm_switch *vsw, unsigned int slot)
{
	/* Pairs with use_position(). */
	unsigned int nr = smp_load_acquire(&vsw->nr_positions), i;

	for (i = 0; i < nr; i++) {
		u64 va = av_window_at(vsw->positions[i]) + (u64)slot * PAGE_SIZE;

		av_tlb_flush_window(va);
		av_tlb_flush_window(va & LOW_ALIAS);
	}
}

void av_switch_vm_end(struct av_vm *vm)
{
	if (vm->sw->nr_positions == 1)
		return;
	av_tlb_flush_begin();
	av_tlb_flush_vm(vm);
	av_tlb_flush_hops(vm);
	av_tlb_flush_end();
	vm->sw->ended = true;
}

/* Unmap a vCPU's pages from all ASIDs. Only then may they be freed. */
static void unmap_pages(struct av_vm_switch *vsw, unsigned int idx)
{
	unsigned int slot = CODE_PAGES + idx * SRF_PAGES, i;

	for (i = 0; i < SRF_PAGES; i++)
		WRITE_ONCE(vsw->l3[slot + i], 0);
	WRITE_ONCE(vsw->p3[idx], 0);
	if (vsw->ended)
		return;
	av_tlb_flush_begin();
	for (i = 0; i < SRF_PAGES; i++)
		flush_slot(vsw, slot + i);
	av_tlb_flush_window(av_host_tables.private_low + (u64)idx * PAGE_SIZE);
	av_image_flush_private(idx);
	av_tlb_flush_end();
}

static unsigned int table_slot(unsigned int idx, unsigned int n)
{
	return TABLES_SLOT + idx * AV_SRF_TABLES + n;
}

void av_switch_show_table(struct av_vm_switch *vsw, unsigned int idx, unsigned int n, u64 pa)
{
	WRITE_ONCE(vsw->l3[table_slot(idx, n)], pa | TABLE_DESC);
	/* Visible to this CPU's table walks; the exception return is the ISB. */
	dsb(ishst);
}

void av_switch_hide_table(struct av_vm_switch *vsw, unsigned int idx, unsigned int n)
{
	WRITE_ONCE(vsw->l3[table_slot(idx, n)], 0);
}

void av_switch_flush_table(const struct av_vm_switch *vsw, unsigned int idx, unsigned int n)
{
	flush_slot(vsw, table_slot(idx, n));
}

void av_switch_vcpu_destroy(struct av_vm_switch *vsw, struct av_vcpu_switch *csw,
			    unsigned int idx)
{
	unmap_pages(vsw, idx);
	atomic_sub(csw->nr_contexts, &vsw->nr_contexts);
	while (csw->nr_contexts)
		av_asid_put(&csw->context[--csw->nr_contexts].asid);
	free_page((unsigned long)csw->priv);
}

/* Replace the bits of high_code in mask: its position in the window, or the window's. */
static void set_high_code(struct av_private *priv, u64 mask, u64 bits)
{
	u64 old = READ_ONCE(priv->high_code);

	while (!try_cmpxchg(&priv->high_code, &old, (old & ~mask) | bits))
		;
}

void av_switch_set_position(struct av_vm_switch *vsw, struct av_vcpu_switch *csw,
			    struct av_srf *srf, unsigned int idx, unsigned int position)
{
	struct av_private *priv = csw->priv;
	u64 at = av_window_at(position);

	use_position(vsw, position);
	csw->position = position;
	set_high_code(priv, ~(AV_WINDOW_SIZE - 1), at);
	priv->high_data = at + (CODE_PAGES + (u64)idx * SRF_PAGES) * PAGE_SIZE;
	priv->low_code = at & LOW_ALIAS;
	if (idx < AV_TABLE_VCPUS)
		srf->tables_at = at + (u64)table_slot(idx, 0) * PAGE_SIZE;
	/* Visible to table walks of all CPUs before the vCPU goes there. */
	dsb(ishst);
}

/* Fill in the fields of both structures that never change. */
static void fill_pages(const struct av_vm_switch *vsw, struct av_private *priv,
		       struct av_srf *srf, unsigned int idx)
{
	unsigned int n;

	priv->srf = srf;
	priv->ttbr_none = page_to_phys(ZERO_PAGE(0));
	priv->ttbr0_aux = virt_to_phys(vsw->aux);
	priv->ttbr1_hop = virt_to_phys(vsw->hop) | (u64)vsw->guest_hop.asid << 48;
	priv->asid_host_hop = vsw->host_hop.asid;
	priv->flush = av_switch_flushes();
	priv->low_private = av_host_tables.private_low + (u64)idx * PAGE_SIZE;
	priv->h_light = av_switch_light;
	priv->self = priv;
	srf->ttbr_none = priv->ttbr_none;
	srf->ttbr1_hop = priv->ttbr1_hop;
	srf->ttbr0_aux = priv->ttbr0_aux;
	srf->low_private = priv->low_private;
	for (n = 0; n < AV_SRF_TABLES; n++)
		srf->tables[n].region = AV_NO_REGION;
	srf->roots[AV_SRF_IDLE].ttbr0 = AV_NO_TTBR;
}

int av_switch_vcpu_init(struct av_vm_switch *vsw, struct av_vcpu_switch *csw,
			struct av_srf *srf, unsigned int idx)
{
	unsigned int slot = CODE_PAGES + idx * SRF_PAGES, i;
	int ret;

	if (vsw->timed && slot >= TIMED_SLOT)
		return -EINVAL;
	csw->priv = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	if (!csw->priv)
		return -ENOMEM;
	ret = av_asid_get(&csw->context[0].asid, vsw->share);
	if (ret) {
		free_page((unsigned long)csw->priv);
		return ret;
	}
	csw->nr_contexts = 1;
	atomic_inc(&vsw->nr_contexts);
	fill_pages(vsw, csw->priv, srf, idx);
	av_image_vcpu_init(vsw, csw, srf, idx);
	av_switch_set_position(vsw, csw, srf, idx, AV_WINDOW_HOME);
	for (i = 0; i < SRF_PAGES; i++)
		WRITE_ONCE(vsw->l3[slot + i],
			   (virt_to_phys(srf) + i * PAGE_SIZE) | DATA_DESC);
	WRITE_ONCE(vsw->p3[idx], virt_to_phys(csw->priv) | DATA_DESC);
	/* Make the entries visible to table walks of all CPUs before the vCPU is first entered. */
	dsb(ishst);
	isb();
	return 0;
}

bool av_switch_map_timed(struct av_vm_switch *vsw, unsigned int nr_vcpus)
{
	if (vsw->timed)
		return true;
	if (CODE_PAGES + nr_vcpus * SRF_PAGES > TIMED_SLOT)
		return false;
	map_code(vsw, TIMED_SLOT, window_code[1]);
	/* Visible to table walks of all CPUs before a vCPU goes there. */
	dsb(ishst);
	vsw->timed = true;
	return true;
}

void av_switch_set_timed(struct av_vcpu_switch *csw, bool timed)
{
	u64 slot = timed ? TIMED_SLOT : 0;

	set_high_code(csw->priv, AV_WINDOW_SIZE - 1, slot * PAGE_SIZE);
}
