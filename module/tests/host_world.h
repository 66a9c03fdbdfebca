/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The host that fake/host/kernel.h declares: its memory, a VMM's address space with an MMU
 * notifier, and other threads, which run wherever the module's code lets them.
 */
#ifndef AV_TESTS_HOST_WORLD_H
#define AV_TESTS_HOST_WORLD_H

#include "lib/av_types.h"

#define VMM_BASE	0x7000000000ULL
#define VMM_PAGES	8192
#define BLOCK_PAGES	512

/* A page of the VMM's address space. */
struct vmm_page {
	bool mapped;		/* there is a mapping */
	bool present, writable;	/* in the host's tables */
	bool huge;		/* with its whole 2 MiB */
	struct page *page;	/* or NULL: not used yet */
};

/* What other threads do; NULL: there are none. */
extern void (*host_others)(void);
/* Allocations that succeed until one fails; negative: all do. */
extern int host_allocs;
/* mmu_lock is taken by others for so many tries. */
extern unsigned int host_lock_busy;
/* SIGBUS was sent so often. */
extern unsigned int host_sigbus;

void host_start(void);
/* Nothing is held, and nothing was lost. */
void host_end(void);

struct vmm_page *vmm_page(unsigned long hva);
void vmm_map(unsigned long hva, u64 npages);
/* The notifier is called for each of these, as the host does. */
void vmm_unmap(unsigned long hva, u64 npages);
void vmm_migrate(unsigned long hva);
void vmm_swap_out(unsigned long hva);
void vmm_write_protect(unsigned long hva);
/* Write the page back: it is clean, and not writable. */
void vmm_clean(unsigned long hva);
/* Make 2 MiB one page, or pages again. False: no memory. */
bool vmm_collapse(unsigned long hva);
void vmm_split(unsigned long hva);
/* Was the page used? clear: ask anew from now on. */
bool vmm_age(unsigned long hva, bool clear);
void vmm_poison(unsigned long hva);

/* The VMM's own access. NULL: none is possible. */
u64 *vmm_word(unsigned long hva);
/* What is there, in memory or elsewhere; changes nothing. */
const u64 *vmm_peek(unsigned long hva);

bool page_dirty(const struct page *page);
/* The host is short of memory, and takes pages back. Returns how many. */
unsigned long host_shrink(unsigned long wanted);
/* A page of a file; NULL: no memory. */
struct page *host_new_page(void);
void host_give_page(struct page *page);

/* Run a function in a thread that may wait for readers; it has ended, or waits, on return. */
void host_thread(void (*fn)(void));
/* Does one wait? */
bool host_thread_waits(void);

/* ---- a process that maps a file of the module's ---------------------------------- */

/* Map the whole file, as mmap() with these flags would. 0 or its errno. */
int process_map(int fd, unsigned long vm_flags);
/* The process accesses a page of it. 0, or VM_FAULT_*. */
vm_fault_t process_access(u64 page);
/* The same in two parts, so that others may run in between. */
vm_fault_t process_fault(u64 page);
void process_fault_ends(u64 page);
bool process_has(u64 page);
/* A device transfers from or to a page that the process has. */
void process_pin(u64 page);
void process_unpin(u64 page);
void process_unmap(void);
void process_close(int fd);

/* ---- between the host's files -------------------------------------------------- */

void host_memory_start(void);
void host_memory_end(void);
void host_vmm_start(void);
void host_vmm_end(void);
void host_file_end(void);
u8 *host_memory_of(const struct page *page);
/* BLOCK_PAGES in a row. NULL: no memory. */
struct page *host_new_block(void);
void host_give_block(struct page *first);
/* May an access to the VMM's memory wait for the host? */
bool host_may_fault(void);

#endif /* AV_TESTS_HOST_WORLD_H */
