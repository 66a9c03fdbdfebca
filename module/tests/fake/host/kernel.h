/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A host for mmu/'s kernel side on a development machine: every kernel header that it includes
 * is empty here, and every source is compiled with `-include` of this file.
 *
 * The host has some memory, a VMM's address space, and one thread. Its other threads are a
 * function of the test's, fake_meanwhile(): it is called wherever they could run, with no
 * spinlock held. Whoever must not sleep says so (pagefault_disable()).
 *
 * A kernel address of guest memory has its top bit set, as on arm64. READ_ONCE() and memcpy()
 * clear it; a plain access to one fails.
 */
#ifndef AV_TESTS_FAKE_HOST_H
#define AV_TESTS_FAKE_HOST_H

#include <errno.h>
#include <limits.h>
#include <sys/select.h>		/* sigset_t */

#include <linux/types.h>

#include "lib/av_types.h"

/* As require.h, without a header that has names of the kernel's. */
void fake_failed(const char *file, int line, const char *cond);
#define REQUIRE(cond) do {							\
	if (!(cond))								\
		fake_failed(__FILE__, __LINE__, #cond);				\
} while (0)

/* ---- words ------------------------------------------------------------------ */

#define FAKE_KERNEL_HALF	BIT_ULL(63)

static inline void *fake_kva(const volatile void *p)
{
	return (void *)((uintptr_t)p & ~FAKE_KERNEL_HALF);
}

#undef READ_ONCE
#define READ_ONCE(x)		(*(const volatile typeof(x) *)fake_kva(&(x)))
#define memcpy(to, from, n)	__builtin_memcpy(fake_kva(to), fake_kva(from), n)

#define __rcu
#define __user
#define __acquire(lock)		((void)0)
#define __release(lock)		((void)0)
#define __must_hold(lock)
#define __cold
#define noinline_for_stack	noinline
#define U16_MAX			0xffff
#define BITS_PER_LONG		64
#define BIT_WORD(n)		((n) / BITS_PER_LONG)
#define BITS_TO_LONGS(n)	(((n) + BITS_PER_LONG - 1) / BITS_PER_LONG)
#define clamp(v, low, high)	min(max(v, low), high)
#define clamp_t(t, v, low, high)	((t)clamp((t)(v), (t)(low), (t)(high)))
#define ilog2(n)		((unsigned int)(fls64(n) - 1))
#define __ffs(x)		((unsigned int)__builtin_ctzl(x))
#define round_up(x, n)		ALIGN(x, n)
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define hweight32(x)		((unsigned int)__builtin_popcount(x))
#define ENOTSUPP		524
#define ERESTARTSYS		512
#define for_each_set_bit(bit, word, size)	\
	for ((bit) = 0; (bit) < (size); (bit)++)	\
		if (*(word) >> (bit) & 1)

static inline unsigned long array_index_mask_nospec(unsigned long index, unsigned long size)
{
	return index < size ? ~0UL : 0;
}

static inline bool fake_is_err(const void *p)
{
	return (unsigned long)p >= -4095UL;
}

#define ERR_PTR(err)		((void *)(long)(err))
#define PTR_ERR(p)		((long)(p))
#define ERR_CAST(p)		((void *)(p))
#define IS_ERR(p)		fake_is_err(p)
#define PTR_ERR_OR_ZERO(p)	(fake_is_err(p) ? (int)(long)(p) : 0)

#define module_param(name, type, mode)
#define MODULE_PARM_DESC(name, text)

/* ---- bits and atomics: one thread --------------------------------------------- */

static inline void set_bit(unsigned long nr, unsigned long *bits)
{
	bits[BIT_WORD(nr)] |= BIT(nr % BITS_PER_LONG);
}

static inline void clear_bit(unsigned long nr, unsigned long *bits)
{
	bits[BIT_WORD(nr)] &= ~BIT(nr % BITS_PER_LONG);
}

static inline bool test_bit(unsigned long nr, const unsigned long *bits)
{
	return bits[BIT_WORD(nr)] >> nr % BITS_PER_LONG & 1;
}

static inline bool test_and_set_bit(unsigned long nr, unsigned long *bits)
{
	bool was = test_bit(nr, bits);

	set_bit(nr, bits);
	return was;
}

static inline void bitmap_set(unsigned long *bits, unsigned long from, unsigned long nr)
{
	while (nr--)
		set_bit(from++, bits);
}

struct fake_atomic { int counter; };
struct fake_atomic64 { s64 counter; };
struct fake_atomic_long { long counter; };
#define atomic_t		struct fake_atomic
#define atomic64_t		struct fake_atomic64
#define atomic_long_t		struct fake_atomic_long
#define ATOMIC_LONG_INIT(n)	{ n }
#define atomic_read(v)		((v)->counter)
#define atomic_inc(v)		((void)(v)->counter++)
#define atomic64_read(v)	((v)->counter)
#define atomic64_set(v, n)	((void)((v)->counter = (n)))
#define atomic64_add(n, v)	((void)((v)->counter += (n)))
#define atomic64_inc_return_release(v)	(++(v)->counter)
#define atomic64_read_acquire(v)	((v)->counter)
#define atomic_long_read(v)	((v)->counter)
#define atomic_long_add(n, v)	((void)((v)->counter += (n)))

static inline long atomic_long_fetch_andnot(unsigned long mask, atomic_long_t *v)
{
	long was = v->counter;

	v->counter &= ~mask;
	return was;
}

#define fake_barrier()		__sync_synchronize()
#define smp_mb			fake_barrier
#define smp_rmb			fake_barrier
#define smp_wmb			fake_barrier
#define smp_mb__after_atomic	fake_barrier
#define dsb(domain)		fake_barrier()

/* ---- lists -------------------------------------------------------------------- */

struct list_head { struct list_head *next, *prev; };
struct hlist_node { struct hlist_node *next, **pprev; };
struct hlist_head { struct hlist_node *first; };

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head->prev = head;
}

static inline void list_add_tail(struct list_head *node, struct list_head *head)
{
	node->next = head;
	node->prev = head->prev;
	head->prev->next = node;
	head->prev = node;
}

static inline void list_del(struct list_head *node)
{
	node->next->prev = node->prev;
	node->prev->next = node->next;
}

static inline void list_move_tail(struct list_head *node, struct list_head *head)
{
	list_del(node);
	list_add_tail(node, head);
}

#define LIST_HEAD(name)		struct list_head name = { &(name), &(name) }
#define list_entry(p, t, m)	container_of(p, t, m)
#define list_first_entry_or_null(head, t, m) \
	((head)->next == (head) ? NULL : list_entry((head)->next, t, m))
#define list_for_each_entry_safe(at, tmp, head, m)					\
	for ((at) = list_entry((head)->next, typeof(*(at)), m),				\
	     (tmp) = list_entry((at)->m.next, typeof(*(at)), m);			\
	     &(at)->m != (head);							\
	     (at) = (tmp), (tmp) = list_entry((at)->m.next, typeof(*(at)), m))

static inline void fake_hash_add(struct hlist_head *head, struct hlist_node *node)
{
	node->next = head->first;
	if (node->next)
		node->next->pprev = &node->next;
	node->pprev = &head->first;
	head->first = node;
}

static inline void hash_del(struct hlist_node *node)
{
	*node->pprev = node->next;
	if (node->next)
		node->next->pprev = node->pprev;
}

#define DECLARE_HASHTABLE(name, bits)	struct hlist_head name[1 << (bits)]
#define fake_bucket(table, key)	(&(table)[(u64)(key) % ARRAY_SIZE(table)])
#define hash_init(table)	memset(table, 0, sizeof(table))
#define hash_add(table, node, key)	fake_hash_add(fake_bucket(table, key), node)
#define fake_hash_entry(p, t, m)	((p) ? container_of(p, t, m) : NULL)
#define hash_for_each_possible(table, at, m, key)					\
	for ((at) = fake_hash_entry(fake_bucket(table, key)->first, typeof(*(at)), m);	\
	     (at); (at) = fake_hash_entry((at)->m.next, typeof(*(at)), m))
#define hash_for_each(table, i, at, m)							\
	for ((i) = 0; (i) < ARRAY_SIZE(table); (i)++)					\
		for ((at) = fake_hash_entry((table)[i].first, typeof(*(at)), m); (at);	\
		     (at) = fake_hash_entry((at)->m.next, typeof(*(at)), m))
#define hash_for_each_safe(table, i, tmp, at, m)					\
	for ((i) = 0; (i) < ARRAY_SIZE(table); (i)++)					\
		for ((at) = fake_hash_entry((table)[i].first, typeof(*(at)), m);	\
		     (at) && ((tmp) = (at)->m.next, true);				\
		     (at) = fake_hash_entry(tmp, typeof(*(at)), m))

/* ---- locks, and other threads -------------------------------------------------- */

/* Other threads run, unless one does so already. */
void fake_meanwhile(void);

struct fake_spinlock { int held; };
#define spinlock_t		struct fake_spinlock
void fake_lock(spinlock_t *lock);
bool fake_trylock(spinlock_t *lock);
void fake_unlock(spinlock_t *lock);
#define spin_lock(lock)		fake_lock(lock)
#define spin_trylock(lock)	fake_trylock(lock)
#define spin_unlock(lock)	fake_unlock(lock)
#define lockdep_is_held(lock)	((lock)->held)
#define lockdep_assert_held(lock)	REQUIRE((lock)->held)
#define cond_resched_lock(lock)	(fake_unlock(lock), fake_lock(lock))
#define cpu_relax()		((void)0)

struct mutex { int held; };
struct rw_semaphore { int held; };
struct kref { int refs; };
#define kref_get(k)		((void)(k)->refs++)
static inline void fake_require(bool cond)
{
	REQUIRE(cond);
}

#define mutex_lock(m)		(fake_may_sleep(), fake_require(!(m)->held), (void)((m)->held = 1))
#define mutex_lock_killable(m)	(fake_killed ? -EINTR : (mutex_lock(m), 0))
#define mutex_unlock(m)		((void)((m)->held = 0))

#define DEFINE_MUTEX(name)	struct mutex name
#define mutex_trylock(m)	((m)->held ? 0 : ((m)->held = 1))

struct srcu_struct { int readers; };
int fake_read_lock(struct srcu_struct *srcu);
void fake_read_unlock(struct srcu_struct *srcu);
/* Waits for readers: other threads run. */
void fake_synchronize(struct srcu_struct *srcu);
#define srcu_read_lock(s)	fake_read_lock(s)
#define srcu_read_unlock(s, i)	((void)(i), fake_read_unlock(s))
#define synchronize_srcu_expedited(s)	fake_synchronize(s)
#define srcu_dereference_check(p, s, held)	\
	(fake_require((s)->readers || (held)), READ_ONCE(p))
#define rcu_dereference_protected(p, cond)	(fake_require(cond), (p))
#define rcu_assign_pointer(p, v)	WRITE_ONCE(p, v)
#define RCU_INIT_POINTER(p, v)	((p) = (v))

/* May this thread sleep here? Other threads run. */
void fake_may_sleep(void);
#define cond_resched()		fake_may_sleep()

void fake_pagefaults(int change);
#define pagefault_disable()	fake_pagefaults(-1)
#define pagefault_enable()	fake_pagefaults(1)
#define local_irq_save(flags)	((void)((flags) = 0))
#define local_irq_restore(flags)	((void)(flags))

/* ---- allocations --------------------------------------------------------------- */

#define gfp_t			unsigned int
#define GFP_KERNEL		1U
#define GFP_KERNEL_ACCOUNT	1U
#define GFP_NOWAIT		0U
#define __GFP_NOWARN		0U
#define __GFP_NOMEMALLOC	0U

/* Zeroed, aligned to a page if it is one; may sleep with GFP_KERNEL. NULL: now and then. */
void *fake_alloc(size_t size, gfp_t how);
void fake_free(const void *mem);
#define KMALLOC_MAX_SIZE	BIT(22)
#define kmalloc(size, how)	fake_alloc(size, how)
#define kzalloc(size, how)	fake_alloc(size, how)
#define kvzalloc(size, how)	fake_alloc(size, how)
#define kcalloc(n, size, how)	fake_alloc((n) * (size), how)
#define kvcalloc(n, size, how)	fake_alloc((n) * (size), how)
#define av_vcalloc(n, size, how)	fake_alloc((n) * (size), how)
unsigned long fake_alloc_page(gfp_t how);
void fake_free_page(unsigned long va);
#define get_zeroed_page(how)	fake_alloc_page(how)
#define kfree(p)		fake_free(p)
#define kvfree(p)		fake_free(p)
#define vfree(p)		fake_free(p)
#define free_page(va)		fake_free_page(va)

/* ---- memory --------------------------------------------------------------------- */

#define PAGE_SHIFT		12
#define PAGE_SIZE		BIT(PAGE_SHIFT)
#define PAGE_MASK		(~(PAGE_SIZE - 1))
#define PMD_SIZE		BIT(21)
#define PMD_MASK		(~(PMD_SIZE - 1))
#define PUD_MASK		(~(BIT(30) - 1))
#define PAGE_ALIGNED(x)		IS_ALIGNED((unsigned long)(x), PAGE_SIZE)
#define offset_in_page(p)	((unsigned long)(p) & ~PAGE_MASK)

struct page {
	int refs;		/* held, beside the owner's reference */
	bool dirty;
	bool coherent;		/* instruction caches have what is in it */
	bool used;		/* by the VMM */
	bool module;		/* the module has allocated it, and is the owner */
	bool bad;
	bool locked;
	unsigned long private;
};

void fake_set_dirty(struct page *page);
u64 fake_page_to_phys(const struct page *page);
struct page *fake_virt_to_page(const void *at);
struct page *fake_phys_to_page(u64 pa);
void fake_put_page(struct page *page);
void *fake_phys_to_virt(u64 pa);
u64 fake_virt_to_phys(const volatile void *at);
#define page_to_phys(page)	fake_page_to_phys(page)
#define page_address(page)	fake_kva(fake_phys_to_virt(fake_page_to_phys(page)))
#define virt_to_page(at)	fake_virt_to_page(at)
#define phys_to_virt(pa)	fake_phys_to_virt(pa)
#define virt_to_phys(at)	fake_virt_to_phys(at)
#define get_page(page)		((void)(page)->refs++)
#define put_page(page)		fake_put_page(page)
#define page_count(page)	((page)->refs + 1)
#define phys_to_page(pa)	fake_phys_to_page(pa)
#define page_private(page)	((page)->private)
#define set_page_private(page, val) ((void)((page)->private = (val)))
#define clear_highpage(page)	memset(page_address(page), 0, PAGE_SIZE)
#define SetPageDirty(page)	fake_set_dirty(page)
#define PageHWPoison(page)	((page)->bad)
#define vmalloc_to_page(at)	fake_virt_to_page(at)
extern struct page fake_zero_page;
#define ZERO_PAGE(at)		(&fake_zero_page)
#define MT_NORMAL		0

void fake_clean_instructions(unsigned long va, size_t size);
#define av_sync_icache_aliases(va, size)	fake_clean_instructions(va, size)

/* ---- the VMM's address space ------------------------------------------------------ */

struct mm_struct { int unused; };
struct file;
struct task_struct { struct mm_struct *mm; };
extern struct task_struct fake_task;
#define current			(&fake_task)
/* The thread was sent SIGKILL. */
extern bool fake_killed;
#define fatal_signal_pending(t)	((void)(t), fake_killed)

/* A page's memory by the VMM's address; NULL: it cannot be accessed. Faults it in if allowed. */
void *fake_user(unsigned long hva, bool write);
/* The same, with nothing in between since the last one. */
void *fake_user_now(unsigned long hva, bool write);

#define fake_get_user(val, at, from)						\
	({									\
		const typeof(*(at)) *_from = (from);				\
		if (_from)							\
			(val) = *_from;						\
		_from ? 0 : -EFAULT;						\
	})
#define __get_user(val, at)	fake_get_user(val, at, fake_user((unsigned long)(at), false))
/* Within a page: all of it can be read, or nothing. */
#define user_access_begin(at, n)	(!!fake_user((unsigned long)(at), false))
#define user_access_end()	((void)0)
#define unsafe_get_user(val, at, label)	\
	((void)&&label, (val) = *(typeof(at))fake_user_now((unsigned long)(at), false))
#define access_ok(at, n)	(((u64)(at) | ((u64)(at) + (n))) < BIT_ULL(47))
#define untagged_addr(at)	(at)
/* Return what was not copied, within a page. */
unsigned long copy_from_user(void *to, const void __user *from, unsigned long n);
unsigned long copy_to_user(void __user *to, const void *from, unsigned long n);

#define FOLL_WRITE		1U
#define FOLL_HWPOISON		2U
long get_user_pages_fast(unsigned long hva, int n, unsigned int flags, struct page **pages);
int get_user_pages_fast_only(unsigned long hva, int n, unsigned int flags, struct page **pages);
long get_user_pages_unlocked(unsigned long hva, int n, struct page **pages, unsigned int flags);
#define get_user_page_fast_only(hva, flags, page)	\
	(get_user_pages_fast_only(hva, 1, flags, page) == 1)
#define av_mapping_shift(hva)	PAGE_SHIFT
#define BUS_MCEERR_AR		4
void send_sig_mceerr(int code, void __user *at, short shift, struct task_struct *task);

/* The VMM's tables: of four levels, only the last but one says anything. */
struct fake_entry { unsigned long hva; };
#define pgd_t			struct fake_entry
#define p4d_t			struct fake_entry
#define pud_t			struct fake_entry
#define pmd_t			struct fake_entry
pgd_t *fake_table(unsigned long hva);
#define pgd_offset(mm, hva)	fake_table(hva)
#define pgd_none(pgd)		((void)(pgd), false)
#define pgd_bad(pgd)		false
#define p4d_offset_lockless(at, pgd, hva)	((p4d_t *)fake_table(hva))
#define p4d_none(p4d)		((void)(p4d), false)
#define p4d_bad(p4d)		false
#define pud_offset_lockless(at, p4d, hva)	((pud_t *)fake_table(hva))
#define pud_none(pud)		((void)(pud), false)
#define pud_bad(pud)		false
#define pud_leaf(pud)		false
#define pud_pfn(pud)		0ULL
#define pud_access_permitted(pud, write)	false
#define pmd_offset_lockless(at, pud, hva)	((pmd_t *)fake_table(hva))
bool pmd_leaf(pmd_t pmd);
u64 pmd_pfn(pmd_t pmd);
bool pmd_access_permitted(pmd_t pmd, bool write);

struct mmu_notifier { const struct mmu_notifier_ops *ops; };
struct mmu_notifier_range { unsigned long start, end; bool may_block; };
#define mmu_notifier_range_blockable(range)	((range)->may_block)
#define av_young_t		bool
struct mmu_notifier_ops {
	int (*invalidate_range_start)(struct mmu_notifier *mn, const struct mmu_notifier_range *r);
	void (*invalidate_range_end)(struct mmu_notifier *mn, const struct mmu_notifier_range *r);
	bool (*clear_flush_young)(struct mmu_notifier *mn, struct mm_struct *mm,
				  unsigned long start, unsigned long end);
	bool (*clear_young)(struct mmu_notifier *mn, struct mm_struct *mm,
			    unsigned long start, unsigned long end);
	bool (*test_young)(struct mmu_notifier *mn, struct mm_struct *mm, unsigned long at);
	void (*release)(struct mmu_notifier *mn, struct mm_struct *mm);
};
int mmu_notifier_register(struct mmu_notifier *mn, struct mm_struct *mm);
void mmu_notifier_unregister(struct mmu_notifier *mn, struct mm_struct *mm);

struct shrink_control { unsigned long nr_to_scan; };
struct shrinker {
	unsigned long (*count_objects)(struct shrinker *s, struct shrink_control *sc);
	unsigned long (*scan_objects)(struct shrinker *s, struct shrink_control *sc);
	int seeks;
};
#define DEFAULT_SEEKS		2
#define SHRINK_STOP		(~0UL)
#define SHRINK_EMPTY		(~0UL - 1)
extern struct shrinker fake_shrinker;
#define av_shrinker_alloc(name)	(&fake_shrinker)
#define av_shrinker_register(s, name)	0
#define av_shrinker_free(s)	((void)(s))
#define av_shrinker_discard(s)	((void)(s))

/* ---- the TLB, and the rest of the kernel -------------------------------------------- */

/* Of what is passed, nothing is looked at. */
void fake_tlbi(const char *op, ...);
#define __tlbi(op, ...)		fake_tlbi(#op, ## __VA_ARGS__)
#define __repeat_tlbi_sync(op, ...)	fake_tlbi(#op, ## __VA_ARGS__)
#define pr_warn_ratelimited(...)	((void)0)
struct fake_wait_queue { int unused; };
#define wait_queue_head_t	struct fake_wait_queue
#define min3(a, b, c)		min(min(a, b), c)
#define asmlinkage
#define ____cacheline_aligned
#define trace_av_fault(...)	((void)0)

static inline const void *memchr_inv(const void *at, int c, size_t n)
{
	const u8 *byte = fake_kva(at);

	for (; n--; byte++)
		if (*byte != c)
			return byte;
	return NULL;
}

#include "file.h"

#endif /* AV_TESTS_FAKE_HOST_H */
