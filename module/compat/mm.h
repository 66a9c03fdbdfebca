/* SPDX-License-Identifier: GPL-2.0 */
/* Memory management: differences between kernels. */
#ifndef AV_COMPAT_MM_H
#define AV_COMPAT_MM_H

#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/pagemap.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/types.h>
#include <linux/vmalloc.h>

/* The return type of an MMU notifier's young callbacks. */
#if AV_HAS_YOUNG_BOOL
#define av_young_t	bool
#else
#define av_young_t	int
#endif

/* Since 6.3 a function sets the flags of a mapping. */
#if AV_HAS_VM_FLAGS_SET
#define av_vma_set_flags(vma, flags)	vm_flags_set(vma, flags)
#else
#define av_vma_set_flags(vma, flags)	((vma)->vm_flags |= (flags))
#endif

/* As vcalloc() with flags, which is of 5.18. */
static inline void *av_vcalloc(size_t n, size_t size, gfp_t how)
{
	return __vmalloc(array_size(n, size), how | __GFP_ZERO);
}

/* Lock a page, unless the caller is killed meanwhile. */
#if AV_HAS_FOLIO_LOCK_KILLABLE
#define av_lock_page_killable(page)	folio_lock_killable(page_folio(page))
#else
#define av_lock_page_killable(page)	lock_page_killable(page)
#endif

/* Returns log2 of the mapping's page size at addr, as KVM reports it for a poisoned page. */
static inline short av_mapping_shift(unsigned long addr)
{
	struct vm_area_struct *vma;
	short shift = PAGE_SHIFT;

	down_read(&current->mm->mmap_lock);
	vma = find_vma(current->mm, addr);
	if (vma && vma->vm_start <= addr && is_vm_hugetlb_page(vma))
		shift = huge_page_shift(hstate_vma(vma));
	up_read(&current->mm->mmap_lock);
	return shift;
}

/* Since 6.7 shrinkers are allocated. */
#if AV_HAS_SHRINKER_ALLOC

static inline struct shrinker *av_shrinker_alloc(const char *name)
{
	return shrinker_alloc(0, "%s", name);
}

static inline int av_shrinker_register(struct shrinker *shrinker, const char *name)
{
	shrinker_register(shrinker);
	return 0;
}

static inline void av_shrinker_free(struct shrinker *shrinker)
{
	shrinker_free(shrinker);
}

/* Free a shrinker that was never registered. */
static inline void av_shrinker_discard(struct shrinker *shrinker)
{
	shrinker_free(shrinker);
}

#else

/* Since 6.0 shrinkers have names. */
#if AV_HAS_SHRINKER_NAME
#define av_register_shrinker(shrinker, name)	register_shrinker(shrinker, "%s", name)
#else
#define av_register_shrinker(shrinker, name)	register_shrinker(shrinker)
#endif

static inline struct shrinker *av_shrinker_alloc(const char *name)
{
	return kzalloc(sizeof(struct shrinker), GFP_KERNEL);
}

static inline int av_shrinker_register(struct shrinker *shrinker, const char *name)
{
	return av_register_shrinker(shrinker, name);
}

static inline void av_shrinker_free(struct shrinker *shrinker)
{
	unregister_shrinker(shrinker);
	kfree(shrinker);
}

static inline void av_shrinker_discard(struct shrinker *shrinker)
{
	kfree(shrinker);
}

#endif

#endif /* AV_COMPAT_MM_H */
