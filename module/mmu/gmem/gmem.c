// SPDX-License-Identifier: GPL-2.0
/* A protected VM's memory as a file: rules in gmem.h. */
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/kvm.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/nospec.h>
#include <linux/pagemap.h>
#include <linux/pseudo_fs.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "compat/mm.h"
#include "mmu/gmem/face.h"
#include "mmu/gmem/gmem.h"
#include "mmu/gmem/gmem_plain.h"
#include "switch/image.h"
#include "vm/vm.h"

#define FLAGS_KNOWN	(GUEST_MEMFD_FLAG_MMAP | GUEST_MEMFD_FLAG_INIT_SHARED)

/* The VMM or guest causes these allocations: a failure is an errno and needs no log. */
#define GFP_GMEM	(GFP_KERNEL_ACCOUNT | __GFP_NOWARN)

/* "armv", for statfs(). */
#define GMEM_MAGIC	0x61726d76

/* Pages freed before the next cond_resched(). */
#define FREE_BATCH	128

/* ---- pages ------------------------------------------------------------------- */

int av_gmem_bind(struct av_gmem *gmem, u64 first, u64 npages)
{
	return av_ranges_insert(&gmem->bound, first, first + npages - 1, 0, GFP_GMEM);
}

void av_gmem_unbind(struct av_gmem *gmem, u64 first)
{
	av_ranges_remove(&gmem->bound, first);
}

u64 *av_gmem_make_word(struct av_gmem *gmem, u64 page)
{
	u64 *word = av_gmem_word(gmem, page), *table;

	if (likely(word))
		return word;
	table = (u64 *)get_zeroed_page(GFP_GMEM);
	if (!table)
		return NULL;
	if (cmpxchg(&gmem->tables[page / AV_GMEM_FANOUT], NULL, table))
		free_page((unsigned long)table);
	return av_gmem_word(gmem, page);
}

void *av_gmem_page(const struct av_gmem *gmem, u64 page)
{
	const u64 *word = av_gmem_word(gmem, page);
	u64 pa = word ? READ_ONCE(*word) & AV_OWNER_PAGE : 0;

	return pa ? phys_to_virt(pa) : NULL;
}

void *av_gmem_make_page(struct av_gmem *gmem, u64 page)
{
	u64 *word = av_gmem_make_word(gmem, page);
	unsigned long va;
	u64 pa, kept;

	if (!word)
		return NULL;
	kept = READ_ONCE(*word) & AV_OWNER_PAGE;
	if (kept)
		return phys_to_virt(kept);
	va = get_zeroed_page(GFP_GMEM);
	if (!va)
		return NULL;
	pa = virt_to_phys((void *)va);
	kept = av_page_state_put(word, pa);
	if (kept != pa)
		free_page(va);
	return phys_to_virt(kept);
}

/* Does only the file hold the page? One reference is its own. */
static bool alone(struct page *page)
{
	/*
	 * get_user_pages_fast() takes its reference, then reads the entry again. Pairs with
	 * that: either it sees that the entry is gone, or we see its reference.
	 */
	smp_mb();
	return page_count(page) == 1;
}

static void unmap(struct av_gmem *gmem, u64 page, u64 n)
{
	unmap_mapping_range(gmem->mapping, page << PAGE_SHIFT, n << PAGE_SHIFT, true);
}

/*
 * Wait for faults that have checked a page's owner and not mapped the page yet. -EINTR: the
 * caller is killed, and there may still be some.
 */
static int wait_for_faults(struct page *page)
{
	if (av_lock_page_killable(page))
		return -EINTR;
	unlock_page(page);
	return 0;
}

u64 av_gmem_recall(struct av_gmem *gmem, u64 first, u64 nr)
{
	const void *va;
	u64 i;

	/* Pairs with gmem_fault(): it sees that the page is leaving, or we see its lock. */
	smp_mb();
	for (i = 0; i < nr; i++) {
		va = av_gmem_page(gmem, first + i);
		if (va && PageLocked(virt_to_page(va)) && wait_for_faults(virt_to_page(va)))
			return 0;
	}
	/* What a fault had mapped before it released its lock is in the tables: see it. */
	smp_rmb();
	unmap(gmem, first, nr);
	for (i = 0; i < nr; i++) {
		va = av_gmem_page(gmem, first + i);
		if (va && !alone(virt_to_page(va)))
			break;
	}
	return i;
}

/* ---- sealing ----------------------------------------------------------------- */

/* Call fn for each allocated page; stop at an errno. May sleep. */
static int each_page(struct av_gmem *gmem, int (*fn)(u64 *word, struct page *page))
{
	u64 i, page;
	int ret;

	for (i = 0; i < DIV_ROUND_UP(gmem->nr, AV_GMEM_FANOUT); i++) {
		/* Pairs with the cmpxchg() of av_gmem_make_word(). */
		u64 *table = smp_load_acquire(&gmem->tables[i]);

		cond_resched();
		for (page = 0; table && page < AV_GMEM_FANOUT; page++) {
			u64 pa = READ_ONCE(table[page]) & AV_OWNER_PAGE;

			ret = pa ? fn(&table[page], phys_to_page(pa)) : 0;
			if (ret)
				return ret;
		}
	}
	return 0;
}

static int drain(u64 *word, struct page *page)
{
	return fatal_signal_pending(current) ? -EINTR : wait_for_faults(page);
}

/* How often, and at what interval, to check a page that somebody holds. */
#define LOOKS		100
#define LOOK_US		1000

/* A transfer from or to the page may be under way, and is over soon. */
static int wait_alone(u64 *word, struct page *page)
{
	unsigned int looks = 0;

	while (!alone(page)) {
		if (PageHWPoison(page))
			return -EHWPOISON;
		if (fatal_signal_pending(current))
			return -EINTR;
		if (++looks == LOOKS)
			return -EBUSY;
		usleep_range(LOOK_US, 2 * LOOK_US);
	}
	return 0;
}

int av_gmem_seal(struct av_gmem *gmem)
{
	int ret;

	WRITE_ONCE(gmem->sealed, true);
	/* A fault puts its page in before it checks: it sees sealed, or we see the page. */
	smp_mb();
	ret = each_page(gmem, drain);
	if (!ret) {
		unmap(gmem, 0, gmem->nr);
		ret = each_page(gmem, wait_alone);
	}
	if (ret)
		WRITE_ONCE(gmem->sealed, false);
	return ret;
}

/* Do not touch a bad page: the host never reuses it. */
static int wipe(u64 *word, struct page *page)
{
	if (PageHWPoison(page))
		return 0;
	if (av_page_state_of(READ_ONCE(*word)) == AV_OWNER_GUEST ||
	    av_page_state_of(READ_ONCE(*word)) == AV_OWNER_LEAVING)
		clear_highpage(page);
	return 0;
}

void av_gmem_unseal(struct av_gmem *gmem)
{
	if (!gmem->sealed)
		return;
	each_page(gmem, wipe);
	/* Write the zeroes before anybody can read the pages. */
	smp_wmb();
	WRITE_ONCE(gmem->sealed, false);
}

/* ---- the file ---------------------------------------------------------------- */

/* May a process map this page? Under the page's lock. */
static bool may_map(struct av_gmem *gmem, u64 page)
{
	if (READ_ONCE(gmem->sealed))
		return av_page_state_lend(av_gmem_word(gmem, page));
	return gmem->flags & GUEST_MEMFD_FLAG_INIT_SHARED;
}

/* The same without the lock, before a page is allocated: only a hint. */
static bool could_map(const struct av_gmem *gmem, u64 page)
{
	const u64 *word = av_gmem_word(gmem, page);

	if (READ_ONCE(gmem->sealed))
		return word && av_page_state_of(READ_ONCE(*word)) != AV_OWNER_GUEST;
	return gmem->flags & GUEST_MEMFD_FLAG_INIT_SHARED;
}

static vm_fault_t gmem_fault(struct vm_fault *vmf)
{
	struct av_gmem *gmem = vmf->vma->vm_file->private_data;
	u64 nr = vmf->pgoff;
	struct page *page;
	void *va;

	if (nr >= gmem->nr)
		return VM_FAULT_SIGBUS;
	nr = array_index_nospec(nr, gmem->nr);
	if (!could_map(gmem, nr))
		return VM_FAULT_SIGBUS;
	va = av_gmem_make_page(gmem, nr);
	if (!va)
		return VM_FAULT_OOM;
	page = virt_to_page(va);
	/* If the process is killed, the result of its access does not matter. */
	if (av_lock_page_killable(page))
		return VM_FAULT_SIGBUS;
	if (av_gmem_is_bad(va)) {
		/* The kernel would search the page cache for other mappings. */
		unlock_page(page);
		return VM_FAULT_HWPOISON;
	}
	/* Pairs with av_gmem_recall(). */
	smp_mb();
	if (!may_map(gmem, nr)) {
		unlock_page(page);
		return VM_FAULT_SIGBUS;
	}
	get_page(page);
	vmf->page = page;
	return VM_FAULT_LOCKED;
}

static const struct vm_operations_struct gmem_vm_ops = {
	.fault = gmem_fault,
};

static int gmem_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct av_gmem *gmem = file->private_data;

	if (!(gmem->flags & GUEST_MEMFD_FLAG_MMAP))
		return -ENODEV;
	/* KVM's rule: a process's private copy would not be the guest's memory. */
	if ((vma->vm_flags & (VM_SHARED | VM_MAYSHARE)) != (VM_SHARED | VM_MAYSHARE))
		return -EINVAL;
	/* mlock() is not possible: it is for pages on LRU lists. */
	av_vma_set_flags(vma, VM_DONTEXPAND);
	vma->vm_ops = &gmem_vm_ops;
	return 0;
}

static void free_tables(struct av_gmem *gmem)
{
	u64 i, n = DIV_ROUND_UP(gmem->nr, AV_GMEM_FANOUT);
	unsigned int page;

	for (i = 0; i < n; i++) {
		u64 *table = gmem->tables[i];

		for (page = 0; table && page < AV_GMEM_FANOUT; page++) {
			u64 pa = table[page] & AV_OWNER_PAGE;

			if (pa)
				put_page(phys_to_page(pa));
			if (!(page % FREE_BATCH))
				cond_resched();
		}
		free_page((unsigned long)table);
		cond_resched();
	}
	av_ranges_clear(&gmem->bound);
	av_image_kvfree(gmem->tables);
	kfree(gmem);
}

static struct vfsmount *gmem_mount;
static int gmem_mounts;

void av_gmem_unpin(void)
{
	simple_release_fs(&gmem_mount, &gmem_mounts);
}

/* No slot and no process has the file, so it is not sealed: its pages were zeroed or shared. */
static int gmem_release(struct inode *inode, struct file *file)
{
	free_tables(file->private_data);
	av_gmem_unpin();
	return 0;
}

static const struct file_operations gmem_fops = {
	.owner		= THIS_MODULE,
	.mmap		= gmem_mmap,
	.release	= gmem_release,
	.llseek		= noop_llseek,
};

static int gmem_init_fs_context(struct fs_context *fc)
{
	return init_pseudo(fc, GMEM_MAGIC) ? 0 : -ENOMEM;
}

/* Each file has its own inode, for finding its mappings. */
static struct file_system_type gmem_fs = {
	.name		 = "armvisor-gmem",
	.owner		 = THIS_MODULE,
	.init_fs_context = gmem_init_fs_context,
	.kill_sb	 = kill_anon_super,
};

/*
 * An array that kmalloc() could not provide may have huge pages: mapping it by 4 KiB pages would
 * take long. Smaller arrays get 4 KiB pages, because clearing a huge page takes long.
 */
static u64 **alloc_tables(u64 n)
{
	if (n * sizeof(u64 *) > KMALLOC_MAX_SIZE)
		return av_image_kvcalloc(n, sizeof(u64 *), GFP_GMEM);
	return av_image_own(av_vcalloc(n, sizeof(u64 *), GFP_GMEM), n * sizeof(u64 *));
}

static struct av_gmem *alloc_gmem(const struct av_vm *vm, u64 size, u64 flags)
{
	struct av_gmem *gmem = kzalloc(sizeof(*gmem), GFP_GMEM);

	if (!gmem)
		return NULL;
	gmem->nr = size >> PAGE_SHIFT;
	gmem->flags = flags;
	gmem->vm = vm->serial;
	gmem->tables = alloc_tables(DIV_ROUND_UP(gmem->nr, AV_GMEM_FANOUT));
	if (gmem->tables)
		return gmem;
	kfree(gmem);
	return NULL;
}

struct inode *av_gmem_new_inode(u64 size)
{
	struct inode *inode;
	int ret = simple_pin_fs(&gmem_fs, &gmem_mount, &gmem_mounts);

	if (ret)
		return ERR_PTR(ret);
	inode = alloc_anon_inode(gmem_mount->mnt_sb);
	if (IS_ERR(inode))
		av_gmem_unpin();
	else
		inode->i_size = size;
	return inode;
}

struct file *av_gmem_new_file(struct inode *inode, const struct file_operations *fops,
			      void *private)
{
	struct file *file = alloc_file_pseudo(inode, gmem_mount, "[kvm-gmem]", O_RDWR, fops);

	if (IS_ERR(file)) {
		iput(inode);
		return file;
	}
	/* fput() drops this reference to the module. anon_inode_getfile() would have taken it. */
	__module_get(THIS_MODULE);
	file->private_data = private;
	file->f_flags |= O_LARGEFILE;
	return file;
}

/* Open a file with an inode of its own. The file takes over gmem. */
static struct file *open_gmem(struct av_gmem *gmem)
{
	struct inode *inode = av_gmem_new_inode(gmem->nr << PAGE_SHIFT);
	struct file *file;

	if (IS_ERR(inode))
		return ERR_CAST(inode);
	file = av_gmem_new_file(inode, &gmem_fops, gmem);
	if (IS_ERR(file))
		av_gmem_unpin();
	else
		gmem->mapping = inode->i_mapping;
	return file;
}

int av_mmu_create_gmem(struct av_vm *vm, u64 size, u64 flags)
{
	struct av_gmem *gmem;
	struct file *file;
	int fd;

	if (!vm->protected)
		return av_gmem_plain_create(vm, size, flags);
	if (flags & ~FLAGS_KNOWN)
		return -EINVAL;
	if (!size || !PAGE_ALIGNED(size) || size >> PAGE_SHIFT > AV_SLOT_PAGES_MAX)
		return -EINVAL;
	/* Not close-on-exec, as in KVM: the new program gets no mapping with it. */
	fd = get_unused_fd_flags(0);
	if (fd < 0)
		return fd;
	gmem = alloc_gmem(vm, size, flags);
	file = gmem ? open_gmem(gmem) : ERR_PTR(-ENOMEM);
	if (IS_ERR(file)) {
		if (gmem)
			free_tables(gmem);
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	fd_install(fd, file);
	return fd;
}

int av_gmem_get(struct av_vm *vm, int fd, struct file **file, struct av_gmem **gmem)
{
	*file = fget(fd);
	if (!*file)
		return -EBADF;
	*gmem = (*file)->private_data;
	if ((*file)->f_op == &gmem_fops && (*gmem)->vm == vm->serial)
		return 0;
	fput(*file);
	return -EINVAL;
}
