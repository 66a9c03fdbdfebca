/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The host's files, as far as mmu/gmem makes one: a file system without names, open files, mappings
 * of a file in processes, and page locks. kernel.h includes it.
 */
#ifndef AV_TESTS_FAKE_FILE_H
#define AV_TESTS_FAKE_FILE_H

/* A type of the kernel's. */
#define vm_fault_t		unsigned int
#define VM_FAULT_OOM		1U
#define VM_FAULT_SIGBUS		2U
#define VM_FAULT_HWPOISON	4U
#define VM_FAULT_LOCKED		8U

#define VM_SHARED		1UL
#define VM_MAYSHARE		2UL
#define VM_DONTEXPAND		4UL
#define av_vma_set_flags(vma, flags)	((void)((vma)->vm_flags |= (flags)))

struct inode;
struct vm_area_struct;

struct file_operations {
	void *owner;
	int (*mmap)(struct file *file, struct vm_area_struct *vma);
	int (*release)(struct inode *inode, struct file *file);
	void (*llseek)(void);
};

struct file {
	const struct file_operations *f_op;
	void *private_data;
	unsigned int f_flags;
	struct inode *inode;
	int refs;
};

/* Of all processes that map the file: what is mapped. */
#define FAKE_FILE_PAGES		8192
struct address_space { struct page *mapped[FAKE_FILE_PAGES]; };

struct inode {
	struct address_space *i_mapping;
	u64 i_size;
};

struct vm_fault {
	struct vm_area_struct *vma;
	unsigned long pgoff;
	struct page *page;
};

struct vm_operations_struct { vm_fault_t (*fault)(struct vm_fault *vmf); };

struct vm_area_struct {
	struct file *vm_file;
	unsigned long vm_flags;
	const struct vm_operations_struct *vm_ops;
};

/* Drop what is mapped of a file, in all processes. */
void unmap_mapping_range(struct address_space *mapping, u64 start, u64 len, bool even_copies);

/* ---- the file system ---------------------------------------------------------------- */

struct super_block { int unused; };
struct vfsmount { struct super_block *mnt_sb; };
struct fs_context { int unused; };
struct file_system_type {
	const char *name;
	void *owner;
	int (*init_fs_context)(struct fs_context *fc);
	void (*kill_sb)(struct super_block *sb);
};

#define THIS_MODULE		NULL
#define __module_get(module)	((void)(module))
#define O_RDWR			2
#define O_LARGEFILE		4
#define init_pseudo(fc, magic)	((void)(magic), (fc))
static inline void kill_anon_super(struct super_block *sb) { }
static inline void noop_llseek(void) { }

int simple_pin_fs(struct file_system_type *type, struct vfsmount **mount, int *count);
void simple_release_fs(struct vfsmount **mount, int *count);
struct inode *alloc_anon_inode(struct super_block *sb);
void iput(struct inode *inode);
/* Takes over the inode's reference, if it succeeds. */
struct file *alloc_file_pseudo(struct inode *inode, struct vfsmount *mount, const char *name,
			       int flags, const struct file_operations *fops);

int get_unused_fd_flags(unsigned int flags);
void put_unused_fd(int fd);
void fd_install(int fd, struct file *file);
struct file *fget(int fd);
void fput(struct file *file);

/* ---- a page's lock, and signals ------------------------------------------------------ */

#define PageLocked(page)	((page)->locked)
#define unlock_page(page)	(fake_require((page)->locked), (void)((page)->locked = false))
/* Waits for others to unlock it. -EINTR: the process is killed. */
int av_lock_page_killable(struct page *page);
#define usleep_range(from, to)	fake_may_sleep()

/* ---- ranges of a file in slots --------------------------------------------------------- */

#define FAKE_RANGES		16
struct interval_tree_node {
	unsigned long start, last;
};

struct rb_root_cached {
	struct interval_tree_node *node[FAKE_RANGES];
};

void interval_tree_insert(struct interval_tree_node *node, struct rb_root_cached *root);
void interval_tree_remove(struct interval_tree_node *node, struct rb_root_cached *root);
/* A range with something between start and last. */
struct interval_tree_node *interval_tree_iter_first(struct rb_root_cached *root,
						    unsigned long start, unsigned long last);

#endif /* AV_TESTS_FAKE_FILE_H */
