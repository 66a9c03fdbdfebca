/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A protected VM's memory: a file of the module (KVM_CREATE_GUEST_MEMFD) that has pages and no page
 * cache. Once the VM is sealed, processes can map only the pages that the guest shares. No other
 * page is in any process's tables, so nothing that uses a process's addresses reaches one:
 * get_user_pages(), ptrace, /proc/PID/mem, vmsplice, core dumps. The pages are on no LRU list: they
 * are not swapped, migrated or merged.
 *
 * Lifetime. The file owns the state. A slot holds the file; the file does not hold the VM. A
 * page is allocated at its first use, zeroed and charged to the user. It stays where it is
 * until the file is released, so that a page's address is valid as long as its slot exists.
 *
 * Order. A process gets a page by a fault, which checks the owner under the page's lock and
 * maps the page before it releases that lock. To take a page back, mark it first, then wait until
 * the page's lock is free, then unmap: no fault is left that checked before the mark.
 *
 * Locks: the page's lock and, inside it, those of the host's rmap. None of the module's.
 */
#ifndef AV_MMU_GMEM_H
#define AV_MMU_GMEM_H

#include <linux/fs.h>
#include <linux/mm.h>

#include "mmu/gmem/page_state.h"
#include "vm/ranges.h"

struct av_vm;

/* Words per table: the owners of 2 MiB. */
#define AV_GMEM_FANOUT	512

struct av_gmem {
	u64 **tables;		/* each NULL, or AV_GMEM_FANOUT words; freed with the file */
	u64 nr;			/* pages */
	u64 flags;		/* GUEST_MEMFD_FLAG_* */
	struct av_ranges bound;	/* pages in slots, under the VM's slots_lock */
	unsigned int vm;	/* serial number of the VM that it belongs to */
	bool sealed;		/* pages are the guest's unless it shares them */
	struct address_space *mapping;	/* for its mappings in processes */
};

/*
 * Get the memory of the file that this process has open as fd, if it was made for this VM. On
 * success *file is held. -EBADF, -EINVAL.
 */
int av_gmem_get(struct av_vm *vm, int fd, struct file **file, struct av_gmem **gmem);

/*
 * Put pages in a slot; a page has one address in the guest. 0; -EEXIST: some of them are in a
 * slot already; -ENOMEM. Under slots_lock, may sleep. av_gmem_unbind() takes the first page of
 * the same range.
 */
int av_gmem_bind(struct av_gmem *gmem, u64 first, u64 npages);
void av_gmem_unbind(struct av_gmem *gmem, u64 first);

/* The word of a page below nr; NULL: none of its 2 MiB was used yet. Any context. */
static inline u64 *av_gmem_word(const struct av_gmem *gmem, u64 page)
{
	/* Pairs with the cmpxchg() that put the table there. */
	u64 *table = smp_load_acquire(&gmem->tables[page / AV_GMEM_FANOUT]);

	return table ? &table[page % AV_GMEM_FANOUT] : NULL;
}

/* The same, but allocates the table. May sleep. NULL: no memory. */
u64 *av_gmem_make_word(struct av_gmem *gmem, u64 page);

/* The kernel's address of a page below nr; NULL: not allocated yet. Any context. */
void *av_gmem_page(const struct av_gmem *gmem, u64 page);

/* The same, but allocates the page. May sleep. NULL: no memory. */
void *av_gmem_make_page(struct av_gmem *gmem, u64 page);

/*
 * Has the page's memory failed (machine check, MADV_HWPOISON)? Then nobody may read or get it,
 * and the file keeps it. It may fail at any time, and then stays mapped where it is.
 */
static inline bool av_gmem_is_bad(const void *page)
{
	return PageHWPoison(virt_to_page(page));
}

/*
 * Unmap pages that are leaving their processes. Returns the number of pages, from the first on,
 * that nobody holds any more: no device's transfer, pipe or ring. May sleep. 0 if the caller is
 * killed.
 */
u64 av_gmem_recall(struct av_gmem *gmem, u64 first, u64 nr);

/*
 * Give all pages of the file to the guest, with nobody else holding any. 0; -EBUSY: somebody holds
 * a page; -EHWPOISON: a page is bad; -EINTR. May sleep. The VM must not run, with no ioctl under
 * way.
 */
int av_gmem_seal(struct av_gmem *gmem);

/*
 * For gmem_plain.c: an inode of this size, which keeps the file system until av_gmem_unpin(); a
 * file of it, which takes over the inode's reference, also on failure. ERR_PTR() on failure.
 */
struct inode *av_gmem_new_inode(u64 size);
struct file *av_gmem_new_file(struct inode *inode, const struct file_operations *fops,
			      void *private);
void av_gmem_unpin(void);

/* At the end of a sealed VM: zero all pages that the guest did not share. May sleep. */
void av_gmem_unseal(struct av_gmem *gmem);

#endif /* AV_MMU_GMEM_H */
