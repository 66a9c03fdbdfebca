// SPDX-License-Identifier: GPL-2.0
/* The VMM's address space on the host of host_world.h. */
#include "host_world.h"
#include "switch/image.h"

#define PTES_OF_PAGE	512

static struct vmm_page vmm[VMM_PAGES];
static struct mmu_notifier *notifier;
static struct mm_struct mm;

struct task_struct fake_task = { .mm = &mm };
unsigned int host_sigbus;

struct vmm_page *vmm_page(unsigned long hva)
{
	unsigned long n = (hva - VMM_BASE) / PAGE_SIZE;

	return hva >= VMM_BASE && n < VMM_PAGES ? &vmm[n] : NULL;
}

static unsigned long hva_of(const struct vmm_page *v)
{
	return VMM_BASE + (v - vmm) * PAGE_SIZE;
}

void vmm_map(unsigned long hva, u64 npages)
{
	u64 i;

	for (i = 0; i < npages; i++)
		vmm_page(hva + i * PAGE_SIZE)->mapped = true;
}

/* A change of a range, with the notifier around it. */
static struct mmu_notifier_range begin(unsigned long hva, u64 npages)
{
	struct mmu_notifier_range range = {
		.start = hva, .end = hva + npages * PAGE_SIZE, .may_block = true,
	};

	if (notifier)
		REQUIRE(!notifier->ops->invalidate_range_start(notifier, &range));
	return range;
}

static void end(struct mmu_notifier_range range)
{
	if (notifier)
		notifier->ops->invalidate_range_end(notifier, &range);
}

static void set_page(struct vmm_page *v, struct page *page)
{
	if (v->page && page)
		memcpy(host_memory_of(page), host_memory_of(v->page), PAGE_SIZE);
	/* A block goes as a whole. */
	if (v->page && !v->huge)
		host_give_page(v->page);
	v->page = page;
	v->huge = false;
}

static unsigned long block_of(unsigned long hva)
{
	return hva & PMD_MASK;
}

void vmm_split(unsigned long hva)
{
	unsigned long first = block_of(hva), at;
	struct mmu_notifier_range range;
	struct page *page, *from;

	if (!vmm_page(hva)->huge)
		return;
	range = begin(first, BLOCK_PAGES);
	host_give_block(vmm_page(first)->page);
	for (at = first; at < first + PMD_SIZE; at += PAGE_SIZE) {
		from = vmm_page(at)->page;
		page = host_new_page();
		REQUIRE(page);
		page->dirty = page_dirty(from);
		page->coherent = false;
		set_page(vmm_page(at), page);
	}
	end(range);
}

void vmm_unmap(unsigned long hva, u64 npages)
{
	struct mmu_notifier_range range;
	u64 i;

	for (i = 0; i < npages; i++)
		vmm_split(hva + i * PAGE_SIZE);
	range = begin(hva, npages);
	for (i = 0; i < npages; i++) {
		struct vmm_page *v = vmm_page(hva + i * PAGE_SIZE);

		set_page(v, NULL);
		*v = (struct vmm_page) {};
	}
	end(range);
}

void vmm_migrate(unsigned long hva)
{
	struct vmm_page *v = vmm_page(hva);
	struct mmu_notifier_range range;
	struct page *page;

	if (!v->present)
		return;
	vmm_split(hva);
	/* Somebody holds it. */
	if (v->page->refs)
		return;
	page = host_new_page();
	if (!page)
		return;
	range = begin(hva, 1);
	page->dirty = page_dirty(v->page);
	set_page(v, page);
	end(range);
}

/* A change of one page, out of its block. Returns false if the page is not present. */
static bool begin_page(unsigned long hva, struct mmu_notifier_range *range)
{
	if (!vmm_page(hva)->present)
		return false;
	vmm_split(hva);
	*range = begin(hva, 1);
	return true;
}

void vmm_swap_out(unsigned long hva)
{
	struct vmm_page *v = vmm_page(hva);
	struct mmu_notifier_range range;

	if (!begin_page(hva, &range))
		return;
	v->present = v->writable = false;
	end(range);
}

static void change(unsigned long hva, bool clean)
{
	struct vmm_page *v = vmm_page(hva);
	struct mmu_notifier_range range;

	if (!begin_page(hva, &range))
		return;
	v->writable = false;
	if (clean)
		v->page->dirty = false;
	end(range);
}

void vmm_write_protect(unsigned long hva)
{
	change(hva, false);
}

void vmm_clean(unsigned long hva)
{
	change(hva, true);
}

bool vmm_collapse(unsigned long hva)
{
	unsigned long first = block_of(hva);
	struct vmm_page *v = vmm_page(first);
	struct mmu_notifier_range range;
	struct page *block;
	unsigned int i;

	if (!v || v->huge)
		return false;
	for (i = 0; i < BLOCK_PAGES; i++)
		if (!v[i].mapped || (v[i].page && v[i].page->refs))
			return false;
	block = host_new_block();
	if (!block)
		return false;
	range = begin(first, BLOCK_PAGES);
	for (i = 0; i < BLOCK_PAGES; i++) {
		set_page(&v[i], &block[i]);
		v[i].huge = v[i].present = v[i].writable = true;
	}
	end(range);
	return true;
}

bool vmm_age(unsigned long hva, bool clear)
{
	if (!clear)
		return notifier->ops->test_young(notifier, &mm, hva);
	return notifier->ops->clear_young(notifier, &mm, hva, hva + PAGE_SIZE);
}

void vmm_poison(unsigned long hva)
{
	struct vmm_page *v = vmm_page(hva);

	vmm_swap_out(hva);
	if (v->page)
		v->page->bad = true;
}

/* Make it present, and writable if asked. False: there is nothing, or nothing good. */
static bool fault_in(struct vmm_page *v, bool write)
{
	if (!v || !v->mapped || (v->page && v->page->bad))
		return false;
	if (!v->present) {
		/* From swap, to another page. */
		struct page *page = host_new_page();

		if (!page)
			return false;
		page->dirty = v->page && page_dirty(v->page);
		set_page(v, page);
		v->present = true;
		v->writable = write || (v - vmm) % 3;
	}
	if (write && !v->writable) {
		/* Copied, or made writable where it is. */
		if ((v - vmm) % 2)
			vmm_migrate(hva_of(v));
		v->writable = true;
	}
	return true;
}

void *fake_user(unsigned long hva, bool write)
{
	fake_meanwhile();
	return fake_user_now(hva, write);
}

bool fake_in_image;

void *fake_user_now(unsigned long hva, bool write)
{
	struct vmm_page *v = vmm_page(hva);

	REQUIRE(!fake_in_image);
	if (host_may_fault() ? !fault_in(v, write) :
			       !v || !v->present || (write && !v->writable))
		return NULL;
	return host_memory_of(v->page) + hva % PAGE_SIZE;
}

u64 *vmm_word(unsigned long hva)
{
	struct vmm_page *v = vmm_page(hva);

	return fault_in(v, true) ? (u64 *)(host_memory_of(v->page) + hva % PAGE_SIZE) : NULL;
}

const u64 *vmm_peek(unsigned long hva)
{
	static const u64 zeroes[PTES_OF_PAGE];
	const struct vmm_page *v = vmm_page(hva);

	return v && v->page ? (u64 *)(host_memory_of(v->page) + hva % PAGE_SIZE) :
			      &zeroes[hva % PAGE_SIZE / 8];
}

unsigned long copy_from_user(void *to, const void __user *from, unsigned long n)
{
	const void *at = fake_user((unsigned long)from, false);

	REQUIRE(offset_in_page(from) + n <= PAGE_SIZE);
	if (at)
		memcpy(to, at, n);
	return at ? 0 : n;
}

unsigned long copy_to_user(void __user *to, const void *from, unsigned long n)
{
	void *at = fake_user((unsigned long)to, true);

	REQUIRE(offset_in_page(to) + n <= PAGE_SIZE);
	if (at)
		memcpy(at, from, n);
	return at ? 0 : n;
}

int get_user_pages_fast_only(unsigned long hva, int n, unsigned int flags, struct page **to)
{
	int i;

	for (i = 0; i < n; i++) {
		const struct vmm_page *v = vmm_page(hva + i * PAGE_SIZE);

		if (!v || !v->present || (flags & FOLL_WRITE && !v->writable))
			break;
		to[i] = v->page;
		to[i]->refs++;
	}
	return i;
}

long get_user_pages_fast(unsigned long hva, int n, unsigned int flags, struct page **to)
{
	REQUIRE(n == 1);
	fake_may_sleep();
	if (!fault_in(vmm_page(hva), flags & FOLL_WRITE))
		return -EFAULT;
	REQUIRE(get_user_pages_fast_only(hva, n, flags, to) == 1);
	/* Held, but it need not be there any more. */
	fake_meanwhile();
	return 1;
}

long get_user_pages_unlocked(unsigned long hva, int n, struct page **to, unsigned int flags)
{
	const struct vmm_page *v = vmm_page(hva);

	if (v && v->page && v->page->bad)
		return -EHWPOISON;
	return get_user_pages_fast(hva, n, 0, to);
}

void send_sig_mceerr(int code, void __user *at, short shift, struct task_struct *task)
{
	host_sigbus++;
}

pgd_t *fake_table(unsigned long hva)
{
	static pgd_t tables[8];
	static unsigned int next;
	pgd_t *table = &tables[next++ % ARRAY_SIZE(tables)];

	table->hva = hva;
	return table;
}

bool pmd_leaf(pmd_t pmd)
{
	const struct vmm_page *v = vmm_page(pmd.hva);

	return v && v->huge;
}

u64 pmd_pfn(pmd_t pmd)
{
	return fake_page_to_phys(vmm_page(pmd.hva)->page) >> PAGE_SHIFT;
}

bool pmd_access_permitted(pmd_t pmd, bool write)
{
	const struct vmm_page *v = vmm_page(pmd.hva);

	return v->present && (v->writable || !write);
}

void fake_clean_instructions(unsigned long va, size_t size)
{
	struct page *page = fake_virt_to_page((void *)va);

	if (page)
		page->coherent = true;
}

int mmu_notifier_register(struct mmu_notifier *mn, struct mm_struct *mm)
{
	notifier = mn;
	return 0;
}

void mmu_notifier_unregister(struct mmu_notifier *mn, struct mm_struct *mm)
{
	REQUIRE(notifier == mn);
	notifier = NULL;
}

void fake_tlbi(const char *op, ...)
{
}

void host_vmm_start(void)
{
	memset(vmm, 0, sizeof(vmm));
	host_sigbus = 0;
}

void host_vmm_end(void)
{
	REQUIRE(!notifier);
}
