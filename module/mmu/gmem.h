/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A protected VM's memory: a file of ours (KVM_CREATE_GUEST_MEMFD) that has pages and no
 * page cache. Of a sealed VM a process maps those of its pages only that the guest shares;
 * since no other page is in any process's tables, nothing that goes by a process's
 * addresses reaches one: get_user_pages(), ptrace, /proc/PID/mem, vmsplice, core dumps.
 * The pages are on no LRU list, so they are not swapped, migrated or merged.
 *
 * Life. The state is the file's. A slot holds the file; the file does not hold the VM.
 * Pages come when they are first used, zeroed and charged to who uses them, and stay where
 * they are until the file goes, so that an address of one is good as long as its slot is.
 *
 * Order. A process gets a page by a fault, which looks at its owner under the page's lock
 * and has it mapped before that lock is let go. Who takes pages back marks them first, takes
 * the page's lock once, and unmaps then: no fault is left that has looked before.
 *
 * Locks: the page's lock, and inside it those of the host's rmap. Nothing of armvisor's.
 */
#ifndef AV_MMU_GMEM_H
#define AV_MMU_GMEM_H

#include <linux/maple_tree.h>
#include <linux/mm.h>

#include "mmu/owner.h"

struct file;
struct av_vm;

/* Words of one table: the owners of 2 MiB. */
#define AV_GMEM_FANOUT	512

struct av_gmem {
	u64 **tables;		/* NULL, or AV_GMEM_FANOUT words each; never freed before the file */
	u64 nr;			/* of pages */
	u64 flags;		/* GUEST_MEMFD_FLAG_* */
	struct maple_tree bound;	/* pages that are in slots, under the VM's slots_lock */
	unsigned int vm;	/* serial number of the VM that it was made for */
	bool sealed;		/* pages are the guest's, but for those that it shares */
	struct address_space *mapping;	/* of its processes */
};

/*
 * The memory of a file that this process has as fd, and that was made for this VM: *file
 * is held. Else -EBADF or -EINVAL.
 */
int av_gmem_get(struct av_vm *vm, int fd, struct file **file, struct av_gmem **gmem);

/*
 * Pages are to be in a slot: a page has one address in the guest. 0; -EEXIST where a part of
 * them is in one already; -ENOMEM. Under slots_lock; may sleep. The file's pages are nobody's
 * again by the first of them.
 */
int av_gmem_bind(struct av_gmem *gmem, u64 first, u64 npages);
void av_gmem_unbind(struct av_gmem *gmem, u64 first);

/* The word of a page below nr, or NULL where none of its 2 MiB was used yet. Any context. */
static inline u64 *av_gmem_word(const struct av_gmem *gmem, u64 page)
{
	/* Pairs with the cmpxchg() that put the table there. */
	u64 *table = smp_load_acquire(&gmem->tables[page / AV_GMEM_FANOUT]);

	return table ? &table[page % AV_GMEM_FANOUT] : NULL;
}

/* The same, with a table for it. May sleep. NULL: no memory. */
u64 *av_gmem_make_word(struct av_gmem *gmem, u64 page);

/* The kernel's address of a page below nr; NULL where there is none yet. Any context. */
void *av_gmem_page(const struct av_gmem *gmem, u64 page);

/* The same, and the page is made if it is not there. May sleep. NULL: no memory. */
void *av_gmem_make_page(struct av_gmem *gmem, u64 page);

/*
 * Has the memory of a page gone bad (a machine check, MADV_HWPOISON)? Nobody reads it then, or
 * gets it, and its file keeps it. It may go bad at any time: a page that is mapped stays so.
 */
static inline bool av_gmem_is_bad(const void *page)
{
	return PageHWPoison(virt_to_page(page));
}

/*
 * Unmap a page that is leaving its processes; true when nobody holds it any more: no
 * device's transfer, no pipe, no ring. May sleep; false too for a caller that is killed.
 */
bool av_gmem_recall(struct av_gmem *gmem, u64 page);

/*
 * All that is in it is the guest's from now on, and nobody else has any of it: 0; -EBUSY
 * where somebody holds a page, -EHWPOISON where one is bad, -EINTR. The VM runs no guest and no ioctl.
 */
int av_gmem_seal(struct av_gmem *gmem);

/* The end of a sealed VM: what the guest did not share is zeroed. */
void av_gmem_unseal(struct av_gmem *gmem);

#endif /* AV_MMU_GMEM_H */
