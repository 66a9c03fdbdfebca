// SPDX-License-Identifier: GPL-2.0
/* The guest's memory, through the VMM's mapping: rules in memory.h. */
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "compat/icache.h"
#include "compat/mm.h"
#include "mmu/gmem/gmem.h"
#include "mmu/memory/memory.h"
#include "switch/image.h"

/*
 * The slot was found by the address. A CPU that speculates past the search must not reach memory
 * outside the slot: the guest chooses the address and, by its tables, the use of the word there.
 */
static unsigned long hva_of(const struct av_slot *slot, u64 gpa)
{
	u64 frame = array_index_nospec((gpa >> PAGE_SHIFT) - slot->base_gfn, slot->npages);

	return slot->hva + (frame << PAGE_SHIFT) + offset_in_page(gpa);
}

/* The page of a protected VM's file that contains an address. */
static u64 gmem_page(const struct av_slot *slot, u64 gpa)
{
	return slot->gmem_first +
	       array_index_nospec((gpa >> PAGE_SHIFT) - slot->base_gfn, slot->npages);
}

/* An address in a page of the file; NULL if there is no page, or it has gone bad. */
static void *gmem_good(void *page, u64 gpa)
{
	return page && !av_gmem_is_bad(page) ? page + offset_in_page(gpa) : NULL;
}

/* The kernel's address of a word in the file; NULL if there is no good page yet. */
static void *gmem_at(const struct av_slot *slot, u64 gpa)
{
	return gmem_good(av_gmem_page(slot->gmem, gmem_page(slot, gpa)), gpa);
}

/* The same, but allocates the page. May sleep. NULL: gmem_failed() knows why. */
static void *gmem_make_at(const struct av_slot *slot, u64 gpa)
{
	return gmem_good(av_gmem_make_page(slot->gmem, gmem_page(slot, gpa)), gpa);
}

/* ---- memory that has gone bad ---------------------------------------------- */

/*
 * An address could not be read or held. User copies and the fast GUP do not distinguish bad
 * memory from none; the slow GUP does.
 */
static noinline __cold int failed(unsigned long hva)
{
	struct page *page;
	long n;

	hva &= PAGE_MASK;
	n = get_user_pages_unlocked(hva, 1, &page, FOLL_HWPOISON);
	if (n == 1)
		put_page(page);
	if (n != -EHWPOISON)
		return -EFAULT;
	send_sig_mceerr(BUS_MCEERR_AR, (void __user *)hva, av_mapping_shift(hva), current);
	return -EHWPOISON;
}

/* The same for a page of a protected VM. The signal has the VMM's address of the memory. */
static noinline __cold int gmem_failed(const struct av_slot *slot, u64 gpa)
{
	void __user *hva = (void __user *)(hva_of(slot, gpa) & PAGE_MASK);

	if (!av_gmem_page(slot->gmem, gmem_page(slot, gpa)))
		return -ENOMEM;
	send_sig_mceerr(BUS_MCEERR_AR, hva, PAGE_SHIFT, current);
	return -EHWPOISON;
}

/* ---- frames ------------------------------------------------------------------ */

static void *alloc_piece(size_t size)
{
	/* The guest causes these allocations: a failure is an errno and needs no log. */
	return av_image_kvzalloc(size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
}

static void free_piece(void *mem, size_t size)
{
	av_image_kvfree(mem);
	cond_resched();
}

static const struct av_gfn_info_ops frames_ops = {
	.alloc = alloc_piece,
	.free = free_piece,
};

int av_mem_prepare(struct av_slot *slot, u64 gfn)
{
	return av_gfn_info_make(&slot->frames, gfn - slot->base_gfn, &frames_ops);
}

int av_mem_prepare_block(struct av_slot *slot, u64 gfn)
{
	return av_gfn_info_make_block(&slot->frames, av_slot_block(slot, gfn), &frames_ops);
}

void av_mem_free_frames(struct av_slot *slot)
{
	av_gfn_info_free(&slot->frames, &frames_ops);
}

/* *rights stays as it is: nobody write-protects the page. */
static noinline int hold_gmem(const struct av_slot *slot, u64 gfn, struct page **page)
{
	void *va = gmem_make_at(slot, gfn << PAGE_SHIFT);

	if (!va)
		return gmem_failed(slot, gfn << PAGE_SHIFT);
	*page = virt_to_page(va);
	get_page(*page);
	return 0;
}

int av_mem_hold(const struct av_slot *slot, u64 gfn, u8 access, u8 *rights, struct page **page)
{
	unsigned long hva = hva_of(slot, gfn << PAGE_SHIFT);
	bool write = access & AV_W;
	long n;

	if (slot->gmem)
		return hold_gmem(slot, gfn, page);
	if (*rights & AV_W && !write) {
		if (get_user_page_fast_only(hva, FOLL_WRITE, page))
			return 0;
		*rights &= ~AV_W;
	}
	n = get_user_pages_fast(hva, 1, write ? FOLL_WRITE : 0, page);
	switch (n) {
	case 1:
		return 0;
	case -ENOMEM:
		return -ENOMEM;
	case -EINTR:
	case -ERESTARTSYS:
		return -EINTR;
	default:
		/* The VMM has unmapped the page in the slot. KVM's answer. */
		return failed(hva);
	}
}

static noinline unsigned int hold_gmem_present(const struct av_slot *slot, u64 gfn, unsigned int n,
					       struct page **pages)
{
	unsigned int i;
	void *va;

	for (i = 0; i < n && gfn + i - slot->base_gfn < slot->npages; i++) {
		va = gmem_at(slot, (gfn + i) << PAGE_SHIFT);
		if (!va)
			break;
		pages[i] = virt_to_page(va);
		get_page(pages[i]);
	}
	return i;
}

unsigned int av_mem_hold_present(const struct av_slot *slot, u64 gfn, unsigned int n, u8 *rights,
				 struct page **pages)
{
	unsigned long hva = hva_of(slot, gfn << PAGE_SHIFT);
	bool write = *rights & AV_W;
	int got;

	if (slot->gmem)
		return hold_gmem_present(slot, gfn, n, pages);
	got = get_user_pages_fast_only(hva, n, write ? FOLL_WRITE : 0, pages);
	if (got <= 0 && write) {
		/* Maybe the pages are not writable yet: hold them for reading. */
		got = get_user_pages_fast_only(hva, n, 0, pages);
		*rights &= ~AV_W;
	}
	return max(got, 0);
}

void av_mem_release(struct page *page, u8 rights)
{
	if (rights & AV_W)
		SetPageDirty(page);
	put_page(page);
}

bool av_mem_raced(struct av_vm *vm, const struct av_slot *slot, u64 gfn, struct av_seq seq)
{
	/* Not at an address of any process, so the host cannot take it back. */
	if (slot->gmem)
		return vm->mmu->seq != seq.host;
	return av_mmu_raced(vm, seq, hva_of(slot, gfn << PAGE_SHIFT));
}

bool av_mem_block_raced(struct av_vm *vm, const struct av_slot *slot, u64 gfn, struct av_seq seq)
{
	return av_mmu_raced_within(vm, seq, hva_of(slot, gfn << PAGE_SHIFT), PMD_SIZE);
}

/* The VMM's leaf for a block's address, of block size or larger. Call with interrupts off. */
static bool large_leaf(unsigned long hva, u64 *pfn, bool *writable)
{
	pgd_t *pgdp = pgd_offset(current->mm, hva), pgd = READ_ONCE(*pgdp);
	p4d_t *p4dp, p4d;
	pud_t *pudp, pud;
	pmd_t pmd;

	if (pgd_none(pgd) || pgd_bad(pgd))
		return false;
	p4dp = p4d_offset_lockless(pgdp, pgd, hva);
	p4d = READ_ONCE(*p4dp);
	if (p4d_none(p4d) || p4d_bad(p4d))
		return false;
	pudp = pud_offset_lockless(p4dp, p4d, hva);
	pud = READ_ONCE(*pudp);
	if (pud_leaf(pud)) {
		*pfn = pud_pfn(pud) + ((hva & ~PUD_MASK) >> PAGE_SHIFT);
		*writable = pud_access_permitted(pud, true);
		return pud_access_permitted(pud, false);
	}
	if (pud_none(pud) || pud_bad(pud))
		return false;
	pmd = READ_ONCE(*pmd_offset_lockless(pudp, pud, hva));
	if (!pmd_leaf(pmd))
		return false;
	*pfn = pmd_pfn(pmd);
	*writable = pmd_access_permitted(pmd, true);
	return pmd_access_permitted(pmd, false);
}

bool av_mem_host_block(unsigned long hva, u64 *pa, bool *writable)
{
	unsigned long flags;
	bool found;
	u64 pfn;

	static_assert(PMD_SIZE == AV_BLOCK_FRAMES * PAGE_SIZE);
	/* Tables are freed only after all CPUs had interrupts on, as for get_user_pages_fast(). */
	local_irq_save(flags);
	found = large_leaf(hva, &pfn, writable);
	local_irq_restore(flags);
	if (found)
		*pa = pfn << PAGE_SHIFT;
	return found;
}

bool av_mem_block(const struct av_slot *slot, u64 gfn, u64 *pa, bool *writable)
{
	return av_mem_host_block(hva_of(slot, gfn << PAGE_SHIFT), pa, writable);
}

bool av_mem_frames(const struct av_slot *slot, unsigned long start, unsigned long end,
		   u64 *first, u64 *last)
{
	u64 slot_end = slot->hva + (slot->npages << PAGE_SHIFT);
	u64 from = max_t(u64, start, slot->hva), to = min_t(u64, end, slot_end);

	if (slot->gmem || from >= to)
		return false;
	*first = slot->base_gfn + ((from - slot->hva) >> PAGE_SHIFT);
	*last = slot->base_gfn + ((to - 1 - slot->hva) >> PAGE_SHIFT);
	return true;
}

void av_mem_clean_for_execution(const struct av_slot *slot, u64 gfn, struct page *page)
{
	unsigned long va = (unsigned long)page_address(page);

	if (!av_mem_executed(slot, gfn))
		av_sync_icache_aliases(va, PAGE_SIZE);
}

void av_mem_set_executed(const struct av_slot *slot, u64 gfn)
{
	u8 *state = av_gfn_info_state(&slot->frames, gfn - slot->base_gfn);

	if (state)
		WRITE_ONCE(*state, *state | AV_FRAME_EXECUTED);
}

/* ---- words ------------------------------------------------------------------- */

/* A walk allocates the page, so that cached addresses of it never change. */
static noinline int load64_gmem(const struct av_slot *slot, u64 gpa, u64 *val)
{
	const u64 *at = gmem_make_at(slot, gpa);

	if (!at)
		return gmem_failed(slot, gpa);
	*val = READ_ONCE(*at);
	return 0;
}

/* The same, must not sleep. */
static noinline int load64_gmem_now(const struct av_slot *slot, u64 gpa, u64 *val)
{
	const u64 *at = gmem_at(slot, gpa);

	if (!at)
		return -EAGAIN;
	*val = READ_ONCE(*at);
	return 0;
}

/* av_mmu_set_slot() has checked that the slot is in user space. */
static __always_inline int load64(const struct av_slot *slot, u64 gpa, u64 *val)
{
	unsigned long hva = hva_of(slot, gpa);

	if (unlikely(slot->gmem))
		return load64_gmem(slot, gpa, val);
	/* One single-copy atomic load. */
	if (likely(!__get_user(*val, (u64 __user *)hva)))
		return 0;
	return failed(hva);
}

static bool holds(const struct av_slot *slot, u64 gfn)
{
	return slot && gfn - slot->base_gfn < slot->npages;
}

/* The slot of an address: usually the same as before. */
static __always_inline const struct av_slot *reader_slot(struct av_mem_reader *reader, u64 ipa)
{
	if (!holds(reader->slot, ipa >> PAGE_SHIFT))
		reader->slot = av_slot_find(reader->slots, ipa >> PAGE_SHIFT);
	return reader->slot;
}

static int read64(void *ctx, u64 ipa, u64 *val)
{
	const struct av_slot *slot = reader_slot(ctx, ipa);

	return likely(slot) ? load64(slot, ipa, val) : 1;
}

const struct av_mem_ops av_mem_reader_ops = {
	.read64 = read64,
};

static int read64_learning(void *ctx, u64 ipa, u64 *val)
{
	const struct av_slot *slot = reader_slot(ctx, ipa);
	struct av_mem_reader *reader = ctx;

	if (!slot)
		return 1;
	if (!av_pfn_cache_page(slot, ipa >> PAGE_SHIFT))
		reader->unknown[reader->nr++ % AV_MEM_UNKNOWN] = ipa >> PAGE_SHIFT;
	return load64(slot, ipa, val);
}

const struct av_mem_ops av_mem_reader_learning_ops = {
	.read64 = read64_learning,
};

static int read64_now(void *ctx, u64 ipa, u64 *val)
{
	const struct av_slot *slot = reader_slot(ctx, ipa);

	if (!slot)
		return 1;
	if (unlikely(slot->gmem))
		return load64_gmem_now(slot, ipa, val);
	if (av_image_here())
		return -EAGAIN;
	return __get_user(*val, (u64 __user *)hva_of(slot, ipa)) ? -EAGAIN : 0;
}

const struct av_mem_ops av_mem_reader_now_ops = {
	.read64 = read64_now,
};

static void learn(struct av_vcpu *vcpu, u64 gfn, struct av_seq seq)
{
	struct av_slot *slot = av_vm_slot(vcpu->vm, gfn);
	struct page *page;
	u8 rights = AV_R;
	u64 pa;

	/* Pages of a file of ours are found without being known. */
	if (!slot || slot->gmem || av_mem_prepare(slot, gfn) ||
	    av_mem_hold_present(slot, gfn, 1, &rights, &page) != 1)
		return;
	pa = page_to_phys(page);
	av_mmu_lock(vcpu);
	if (!slot->dying && !(pa & ~AV_PTE_ADDR) && !av_mem_raced(vcpu->vm, slot, gfn, seq))
		av_pfn_cache_note(slot, gfn, pa, false);
	av_mmu_unlock(vcpu);
	av_mem_release(page, rights);
}

void av_mem_learn(struct av_vcpu *vcpu, const struct av_mem_reader *reader, struct av_seq seq)
{
	unsigned int i;

	for (i = 0; i < min_t(unsigned int, reader->nr, AV_MEM_UNKNOWN); i++)
		learn(vcpu, reader->unknown[i], seq);
}

static int load_words(const u64 __user *from, u64 *words, unsigned int n)
{
	unsigned int i;

	if (!IS_ALIGNED((unsigned long)from, sizeof(*from)) ||
	    offset_in_page(from) + n * sizeof(*from) > PAGE_SIZE)
		return -EINVAL;
	if (av_image_here() || !user_access_begin(from, n * sizeof(*from)))
		return -EFAULT;
	for (i = 0; i < n; i++)
		unsafe_get_user(words[i], from + i, fault);
	user_access_end();
	return 0;
fault:
	user_access_end();
	return -EFAULT;
}

static int load_words_gmem(const struct av_slot *slot, u64 gpa, u64 *words, unsigned int n)
{
	const u64 *from = gmem_at(slot, gpa);
	unsigned int i;

	if (!IS_ALIGNED(gpa, sizeof(*from)) || offset_in_page(gpa) + n * sizeof(*from) > PAGE_SIZE)
		return -EINVAL;
	if (!from)
		return -EFAULT;
	for (i = 0; i < n; i++)
		words[i] = READ_ONCE(from[i]);
	return 0;
}

int av_mem_load_words(const struct av_slot *slot, u64 gpa, u64 *words, unsigned int n)
{
	if (unlikely(slot->gmem))
		return load_words_gmem(slot, gpa, words, n);
	return load_words((const u64 __user *)hva_of(slot, gpa), words, n);
}

const u64 *av_mem_look(struct av_mem_page page, unsigned int offset, u64 *copy, unsigned int n)
{
	unsigned long at = page.hva + offset;

	if (likely((long)at < 0))
		return (const u64 *)at;
	if (!page.hva || !copy)
		return NULL;
	return load_words((const u64 __user *)at, copy, n) ? NULL : copy;
}

struct av_mem_page av_mem_page(const struct av_slot *slot, u64 gpa)
{
	void *page;

	if (likely(!slot->gmem))
		return (struct av_mem_page) { .hva = hva_of(slot, gpa) & PAGE_MASK };
	/* Without memory, use zeroes, which are no instruction. */
	page = gmem_make_at(slot, gpa & PAGE_MASK);
	return (struct av_mem_page) { .hva = (unsigned long)(page ?: page_address(ZERO_PAGE(0))) };
}

struct av_mem_page av_mem_words(const struct av_slot *slot, u64 gpa)
{
	u64 pa = av_pfn_cache_page(slot, gpa >> PAGE_SHIFT) & AV_FRAME_PAGE;

	if (pa)
		return (struct av_mem_page) { .hva = (unsigned long)phys_to_virt(pa) };
	if (unlikely(slot->gmem))
		return (struct av_mem_page) { .hva = (unsigned long)gmem_at(slot, gpa & PAGE_MASK) };
	return av_mem_page(slot, gpa);
}

struct av_mem_word av_mem_load_word_user(struct av_mem_page page, unsigned int offset)
{
	struct av_mem_word word;

	pagefault_disable();
	word.loaded = !av_image_here() &&
		      !__get_user(word.val, (u64 __user *)(page.hva + offset));
	pagefault_enable();
	return word;
}

int av_mem_load_insn_user(struct av_mem_page page, unsigned int offset, u32 *insn)
{
	unsigned long hva = page.hva + offset;

	if (likely(!__get_user(*insn, (u32 __user *)hva)))
		return 0;
	return failed(hva);
}

/* ---- bytes ------------------------------------------------------------------- */

int av_mem_read(const struct av_slot *slot, u64 gpa, void *buf, unsigned int len)
{
	const void *at;

	if (likely(!slot->gmem))
		return copy_from_user(buf, (void __user *)hva_of(slot, gpa), len) ? -EFAULT : 0;
	at = gmem_make_at(slot, gpa);
	if (!at)
		return -EFAULT;
	memcpy(buf, at, len);
	return 0;
}

int av_mem_write(const struct av_slot *slot, u64 gpa, const void *buf, unsigned int len)
{
	void *at;

	if (likely(!slot->gmem))
		return copy_to_user((void __user *)hva_of(slot, gpa), buf, len) ? -EFAULT : 0;
	at = gmem_make_at(slot, gpa);
	if (!at)
		return -EFAULT;
	memcpy(at, buf, len);
	return 0;
}
