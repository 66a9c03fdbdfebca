// SPDX-License-Identifier: GPL-2.0
/* A plain VM's memory as a file: rules in gmem_plain.h. */
#include <linux/kvm.h>
#include <linux/types.h>
#include <linux/falloc.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mempolicy.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "mmu/gmem/gmem_plain.h"
#include "vm/vm.h"

#if AV_KVM_GUEST_MEMFD

#define FLAGS_KNOWN	(GUEST_MEMFD_FLAG_MMAP | GUEST_MEMFD_FLAG_INIT_SHARED)

/* The VMM or guest causes these allocations: a failure is an errno and needs no log. */
#define GFP_STATE	(GFP_KERNEL_ACCOUNT | __GFP_NOWARN)
#define GFP_PAGE	(GFP_HIGHUSER_MOVABLE | __GFP_NOWARN)

/* Freed with the guest's file, which is released after the VMM's. */
struct plain {
	u64 flags;		/* GUEST_MEMFD_FLAG_* */
	unsigned int vm;	/* serial number of the VM that it belongs to */
	bool closed;		/* the VMM has closed the file: no page is made */
	struct av_ranges bound;	/* pages in slots, under the VM's slots_lock */
	struct file *guest;	/* until the VMM's file is released */
};

/* ---- pages ------------------------------------------------------------------- */

/*
 * The page at n, locked and held. It is allocated if there is none, by the mapping's policy if any.
 */
static struct folio *get_folio(struct address_space *mapping, pgoff_t n, struct vm_fault *vmf)
{
	struct folio *folio;
	int ret;

	do {
		folio = filemap_lock_folio(mapping, n);
		if (!IS_ERR(folio))
			return folio;
		if (vmf)
			folio = vma_alloc_folio(GFP_PAGE | __GFP_ZERO, 0, vmf->vma, vmf->address);
		else
			folio = folio_alloc(GFP_PAGE | __GFP_ZERO, 0);
		if (!folio)
			return ERR_PTR(-ENOMEM);
		ret = filemap_add_folio(mapping, folio, n, GFP_KERNEL | __GFP_NOWARN);
		if (!ret) {
			folio_mark_uptodate(folio);
			return folio;
		}
		folio_put(folio);
	} while (ret == -EEXIST);
	return ERR_PTR(ret);
}

static vm_fault_t fault(struct vm_fault *vmf)
{
	struct file *file = vmf->vma->vm_file;
	struct plain *plain = file->private_data;
	struct folio *folio;
	vm_fault_t ret = 0;

	if (vmf->pgoff >= i_size_read(file_inode(file)) >> PAGE_SHIFT)
		return VM_FAULT_SIGBUS;
	folio = get_folio(file->f_mapping, vmf->pgoff, vmf);
	if (IS_ERR(folio))
		return vmf_error(PTR_ERR(folio));
	/* Pairs with the one in release(): it finds the page, or we see that it is late. */
	smp_mb();
	if (READ_ONCE(plain->closed))
		ret = VM_FAULT_SIGBUS;
	else if (folio_test_hwpoison(folio))
		ret = VM_FAULT_HWPOISON;
	if (ret) {
		folio_unlock(folio);
		folio_put(folio);
		return ret;
	}
	vmf->page = folio_page(folio, 0);
	return VM_FAULT_LOCKED;
}

static vm_fault_t vmm_fault(struct vm_fault *vmf)
{
	struct plain *plain = vmf->vma->vm_file->private_data;

	return plain->flags & GUEST_MEMFD_FLAG_INIT_SHARED ? fault(vmf) : VM_FAULT_SIGBUS;
}

/* Bad memory stays where it is, so that nobody gets another page in its place. */
static int error_folio(struct address_space *mapping, struct folio *folio)
{
	return MF_DELAYED;
}

static const struct address_space_operations aops = {
	.dirty_folio = noop_dirty_folio,
	.migrate_folio = filemap_migrate_folio,
	.error_remove_folio = error_folio,
};

/* ---- the VMM's file ---------------------------------------------------------- */

static const struct vm_operations_struct vmm_vm_ops = {
	.fault = vmm_fault,
};

static int vmm_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct plain *plain = file->private_data;

	if (!(plain->flags & GUEST_MEMFD_FLAG_MMAP))
		return -ENODEV;
	if ((vma->vm_flags & (VM_SHARED | VM_MAYSHARE)) != (VM_SHARED | VM_MAYSHARE))
		return -EINVAL;
	vma->vm_ops = &vmm_vm_ops;
	return 0;
}

static int allocate(struct inode *inode, loff_t offset, loff_t len)
{
	pgoff_t n = offset >> PAGE_SHIFT, end = (offset + len) >> PAGE_SHIFT;

	if (offset + len > i_size_read(inode))
		return -EINVAL;
	for (; n < end; n++) {
		struct folio *folio;

		if (signal_pending(current))
			return -EINTR;
		folio = get_folio(inode->i_mapping, n, NULL);
		if (IS_ERR(folio))
			return PTR_ERR(folio);
		folio_unlock(folio);
		folio_put(folio);
		cond_resched();
	}
	return 0;
}

/* KVM's rules. */
static long vmm_fallocate(struct file *file, int mode, loff_t offset, loff_t len)
{
	struct inode *inode = file_inode(file);
	int ret = 0;

	if (!(mode & FALLOC_FL_KEEP_SIZE) ||
	    mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE))
		return -EOPNOTSUPP;
	if (!PAGE_ALIGNED(offset) || !PAGE_ALIGNED(len))
		return -EINVAL;
	if (mode & FALLOC_FL_PUNCH_HOLE)
		truncate_inode_pages_range(inode->i_mapping, offset, offset + len - 1);
	else
		ret = allocate(inode, offset, len);
	if (!ret)
		file_modified(file);
	return ret;
}

static void free_plain(struct plain *plain)
{
	av_ranges_clear(&plain->bound);
	kfree(plain);
}

/* No process can reach the memory any more: free it, and unmap it from the guest. */
static int vmm_release(struct inode *inode, struct file *file)
{
	struct plain *plain = file->private_data;

	WRITE_ONCE(plain->closed, true);
	/* Pairs with the one in fault(). */
	smp_mb();
	truncate_inode_pages(inode->i_mapping, 0);
	if (plain->guest)
		fput(plain->guest);
	else
		free_plain(plain);
	av_gmem_unpin();
	return 0;
}

static const struct file_operations vmm_fops = {
	.owner		= THIS_MODULE,
	.mmap		= vmm_mmap,
	.fallocate	= vmm_fallocate,
	.release	= vmm_release,
};

static int refuse_setattr(struct mnt_idmap *idmap, struct dentry *dentry, struct iattr *attr)
{
	return -EINVAL;
}

static const struct inode_operations iops = {
	.setattr = refuse_setattr,
};

/* ---- the guest's file -------------------------------------------------------- */

static const struct vm_operations_struct guest_vm_ops = {
	.fault = fault,
};

/* Only av_gmem_plain_bind() maps it. */
static int guest_mmap(struct file *file, struct vm_area_struct *vma)
{
	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_ops = &guest_vm_ops;
	return 0;
}

static int guest_release(struct inode *inode, struct file *file)
{
	free_plain(file->private_data);
	return 0;
}

static const struct file_operations guest_fops = {
	.owner		= THIS_MODULE,
	.mmap		= guest_mmap,
	.release	= guest_release,
};

/* ---- making one -------------------------------------------------------------- */

static struct inode *new_inode_of(u64 size)
{
	struct inode *inode = av_gmem_new_inode(size);

	if (IS_ERR(inode))
		return inode;
	inode->i_mode |= S_IFREG;
	inode->i_op = &iops;
	inode->i_mapping->a_ops = &aops;
	mapping_set_gfp_mask(inode->i_mapping, GFP_PAGE);
	mapping_set_unevictable(inode->i_mapping);
	return inode;
}

/* The VMM's file, which takes over plain, also on failure. */
static struct file *open_plain(struct plain *plain, u64 size)
{
	struct inode *inode = new_inode_of(size);
	struct file *file, *guest;

	if (IS_ERR(inode)) {
		free_plain(plain);
		return ERR_CAST(inode);
	}
	file = av_gmem_new_file(inode, &vmm_fops, plain);
	if (IS_ERR(file)) {
		free_plain(plain);
		av_gmem_unpin();
		return file;
	}
	ihold(inode);
	guest = av_gmem_new_file(inode, &guest_fops, plain);
	if (IS_ERR(guest)) {
		fput(file);
		return guest;
	}
	plain->guest = guest;
	return file;
}

int av_gmem_plain_create(struct av_vm *vm, u64 size, u64 flags)
{
	struct plain *plain;
	struct file *file;
	int fd;

	if (flags & ~FLAGS_KNOWN)
		return -EINVAL;
	if ((s64)size <= 0 || !PAGE_ALIGNED(size))
		return -EINVAL;
	/* Not close-on-exec, as in KVM: the new program gets no mapping with it. */
	fd = get_unused_fd_flags(0);
	if (fd < 0)
		return fd;
	plain = kzalloc(sizeof(*plain), GFP_STATE);
	if (!plain) {
		put_unused_fd(fd);
		return -ENOMEM;
	}
	plain->flags = flags;
	plain->vm = vm->serial;
	file = open_plain(plain, size);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	fd_install(fd, file);
	return fd;
}

/* ---- slots ------------------------------------------------------------------- */

struct file *av_gmem_plain_get(struct av_vm *vm, const struct av_private *from, u64 npages)
{
	struct file *file = fget(from->fd);
	struct plain *plain;
	u64 nr;

	if (!file)
		return ERR_PTR(-EBADF);
	plain = file->private_data;
	if (file->f_op != &vmm_fops || plain->vm != vm->serial || !PAGE_ALIGNED(from->offset)) {
		fput(file);
		return ERR_PTR(-EINVAL);
	}
	nr = i_size_read(file_inode(file)) >> PAGE_SHIFT;
	if (from->offset >> PAGE_SHIFT > nr || npages > nr - (from->offset >> PAGE_SHIFT)) {
		fput(file);
		return ERR_PTR(-EINVAL);
	}
	return file;
}

int av_gmem_plain_bind(struct av_slot *slot, struct file *file, u64 offset)
{
	u64 first = offset >> PAGE_SHIFT, size = slot->npages << PAGE_SHIFT;
	struct plain *plain = file->private_data;
	unsigned long hva;
	int ret;

	if (!(plain->flags & GUEST_MEMFD_FLAG_MMAP))
		return -EINVAL;
	ret = av_ranges_insert(&plain->bound, first, first + slot->npages - 1, 0, GFP_STATE);
	if (ret)
		return ret;
	hva = vm_mmap(plain->guest, 0, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		      offset);
	if (IS_ERR_VALUE(hva)) {
		av_ranges_remove(&plain->bound, first);
		return hva;
	}
	slot->hva = hva;
	slot->gmem_first = first;
	slot->gmem_file = get_file(plain->guest);
	slot->gmem_mm = current->mm;
	return 0;
}

/* The first part of the slot's mapping that is still there, from *start on. */
static bool find_part(const struct av_slot *slot, unsigned long *start, unsigned long *end)
{
	unsigned long limit = slot->hva + (slot->npages << PAGE_SHIFT);
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	bool found = false;

	down_read(&mm->mmap_lock);
	for (vma = find_vma(mm, *start); vma && vma->vm_start < limit;
	     vma = find_vma(mm, vma->vm_end)) {
		if (vma->vm_file != slot->gmem_file)
			continue;
		*start = max(*start, vma->vm_start);
		*end = min(limit, vma->vm_end);
		found = true;
		break;
	}
	up_read(&mm->mmap_lock);
	return found;
}

void av_gmem_plain_unbind(struct av_slot *slot)
{
	struct plain *plain;
	unsigned long start = slot->hva, end;

	if (!slot->gmem_mm)
		return;
	/* The VMM may have unmapped some of it, and mapped something else there. */
	if (current->mm == slot->gmem_mm)
		for (; find_part(slot, &start, &end); start = end)
			vm_munmap(start, end - start);
	plain = slot->gmem_file->private_data;
	av_ranges_remove(&plain->bound, slot->gmem_first);
	fput(slot->gmem_file);
}

#endif /* AV_KVM_GUEST_MEMFD */
