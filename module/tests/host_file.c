// SPDX-License-Identifier: GPL-2.0
/* Files on the host of host_world.h, and a process that maps one. */
#include "host_world.h"

#define FDS		4

static struct file *fds[FDS];
static struct file reserved;	/* stands for a number that has no file yet */
static struct super_block super;
static struct vfsmount mounted = { .mnt_sb = &super };
static unsigned int pins;

/* ---- the file system ------------------------------------------------------------- */

int simple_pin_fs(struct file_system_type *type, struct vfsmount **mount, int *count)
{
	void *root = *mount ? NULL : fake_alloc(1, GFP_KERNEL);
	struct fs_context fc;

	if (!*mount && !root)
		return -ENOMEM;
	fake_free(root);
	REQUIRE(!type->init_fs_context(&fc));
	*mount = &mounted;
	++*count;
	pins++;
	return 0;
}

void simple_release_fs(struct vfsmount **mount, int *count)
{
	REQUIRE(*mount == &mounted && *count > 0 && pins);
	pins--;
	if (!--*count)
		*mount = NULL;
}

struct inode *alloc_anon_inode(struct super_block *sb)
{
	struct inode *inode = fake_alloc(sizeof(*inode), GFP_KERNEL);

	REQUIRE(sb == &super && pins);
	if (!inode)
		return ERR_PTR(-ENOMEM);
	inode->i_mapping = fake_alloc(sizeof(*inode->i_mapping), GFP_KERNEL);
	if (inode->i_mapping)
		return inode;
	fake_free(inode);
	return ERR_PTR(-ENOMEM);
}

void iput(struct inode *inode)
{
	unsigned int i;

	for (i = 0; i < FAKE_FILE_PAGES; i++)
		REQUIRE(!inode->i_mapping->mapped[i]);
	fake_free(inode->i_mapping);
	fake_free(inode);
}

struct file *alloc_file_pseudo(struct inode *inode, struct vfsmount *mount, const char *name,
			       int flags, const struct file_operations *fops)
{
	struct file *file = fake_alloc(sizeof(*file), GFP_KERNEL);

	REQUIRE(mount == &mounted);
	if (!file)
		return ERR_PTR(-ENOMEM);
	*file = (struct file) { .f_op = fops, .inode = inode, .refs = 1 };
	return file;
}

int get_unused_fd_flags(unsigned int flags)
{
	int fd;

	for (fd = 0; fd < FDS; fd++)
		if (!fds[fd]) {
			fds[fd] = &reserved;
			return fd;
		}
	return -EMFILE;
}

void put_unused_fd(int fd)
{
	REQUIRE(fds[fd] == &reserved);
	fds[fd] = NULL;
}

void fd_install(int fd, struct file *file)
{
	REQUIRE(fds[fd] == &reserved);
	fds[fd] = file;
}

struct file *fget(int fd)
{
	struct file *file = fd >= 0 && fd < FDS ? fds[fd] : NULL;

	if (!file || file == &reserved)
		return NULL;
	file->refs++;
	return file;
}

void fput(struct file *file)
{
	struct inode *inode = file->inode;

	REQUIRE(file->refs > 0);
	if (--file->refs)
		return;
	REQUIRE(!file->f_op->release(inode, file));
	iput(inode);
	fake_free(file);
}

void process_close(int fd)
{
	struct file *file = fds[fd];

	fds[fd] = NULL;
	fput(file);
}

/* ---- ranges ------------------------------------------------------------------------ */

static struct interval_tree_node **find_node(struct rb_root_cached *root,
					     struct interval_tree_node *node)
{
	int i;

	for (i = 0; i < FAKE_RANGES; i++)
		if (root->node[i] == node)
			return &root->node[i];
	REQUIRE(!"a range of the tree, or a free place");
	return NULL;
}

void interval_tree_insert(struct interval_tree_node *node, struct rb_root_cached *root)
{
	REQUIRE(node->start <= node->last);
	*find_node(root, NULL) = node;
}

void interval_tree_remove(struct interval_tree_node *node, struct rb_root_cached *root)
{
	*find_node(root, node) = NULL;
}

struct interval_tree_node *interval_tree_iter_first(struct rb_root_cached *root,
						    unsigned long start, unsigned long last)
{
	int i;

	REQUIRE(start <= last);
	for (i = 0; i < FAKE_RANGES; i++)
		if (root->node[i] && start <= root->node[i]->last && last >= root->node[i]->start)
			return root->node[i];
	return NULL;
}

/* ---- pages in processes ------------------------------------------------------------- */

void unmap_mapping_range(struct address_space *mapping, u64 start, u64 len, bool even_copies)
{
	u64 i;

	REQUIRE(PAGE_ALIGNED(start) && PAGE_ALIGNED(len) && len && even_copies);
	fake_may_sleep();
	for (i = start >> PAGE_SHIFT; i < (start + len) >> PAGE_SHIFT; i++) {
		if (mapping->mapped[i])
			put_page(mapping->mapped[i]);
		mapping->mapped[i] = NULL;
	}
}

int av_lock_page_killable(struct page *page)
{
	unsigned int tries;

	for (tries = 0; tries < 10; tries++) {
		fake_may_sleep();
		if (fake_killed)
			return -EINTR;
		if (!page->locked) {
			page->locked = true;
			return 0;
		}
	}
	/* Nobody is left who would unlock it. */
	REQUIRE(false);
	return -EINTR;
}

/* ---- a process ------------------------------------------------------------------------ */

static struct vm_area_struct vma;
static struct page *found[FAKE_FILE_PAGES];

int process_map(int fd, unsigned long vm_flags)
{
	int ret;

	REQUIRE(!vma.vm_file);
	vma = (struct vm_area_struct) { .vm_file = fget(fd), .vm_flags = vm_flags };
	ret = vma.vm_file->f_op->mmap(vma.vm_file, &vma);
	if (ret) {
		fput(vma.vm_file);
		vma.vm_file = NULL;
	}
	return ret;
}

static struct page **entry_of(u64 page)
{
	return &vma.vm_file->inode->i_mapping->mapped[page];
}

vm_fault_t process_fault(u64 page)
{
	struct vm_fault vmf = { .vma = &vma, .pgoff = page };
	vm_fault_t ret = vma.vm_ops->fault(&vmf);

	if (ret != VM_FAULT_LOCKED)
		return ret;
	REQUIRE(vmf.page->locked && vmf.page->refs);
	found[page] = vmf.page;
	return 0;
}

void process_fault_ends(u64 page)
{
	REQUIRE(!*entry_of(page));
	*entry_of(page) = found[page];
	unlock_page(found[page]);
}

bool process_has(u64 page)
{
	return *entry_of(page);
}

vm_fault_t process_access(u64 page)
{
	vm_fault_t ret;

	if (page < FAKE_FILE_PAGES && process_has(page))
		return 0;
	ret = process_fault(page);
	if (!ret)
		process_fault_ends(page);
	return ret;
}

void process_pin(u64 page)
{
	REQUIRE(process_has(page));
	found[page] = *entry_of(page);
	get_page(found[page]);
}

void process_unpin(u64 page)
{
	put_page(found[page]);
}

void process_unmap(void)
{
	unmap_mapping_range(vma.vm_file->inode->i_mapping, 0, FAKE_FILE_PAGES * PAGE_SIZE, true);
	fput(vma.vm_file);
	vma.vm_file = NULL;
}

void host_file_end(void)
{
	unsigned int fd;

	for (fd = 0; fd < FDS; fd++)
		REQUIRE(!fds[fd]);
	REQUIRE(!pins && !vma.vm_file);
}
