// SPDX-License-Identifier: GPL-2.0
/*
 * KVM_GET_STATS_FD: the binary statistics format of KVM's ABI, a file with
 * header, id, descriptors and data. Only the data varies. The descriptors are
 * generated from the tables of classes.h. Each read gathers the data in the
 * same order: all single values, then the histograms.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kvm.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/uaccess.h>

#include "api/api.h"
#include "cpu/cpu.h"
#include "mmu/mmu.h"
#include "stats/stats.h"
#include "switch/private.h"
#include "switch/switch.h"

#define AV_STATS_NAME_SIZE	48

/*
 * struct kvm_stats_desc as user space has it, with the name appended: the
 * structure has another size inside newer kernels.
 */
struct av_stats_desc {
	u32 flags;
	s16 exponent;
	u16 size;
	u32 offset;
	u32 bucket_size;
	char name[AV_STATS_NAME_SIZE];
};

static_assert(offsetof(struct av_stats_desc, name) == offsetof(struct kvm_stats_desc, name));

#define AV_DESC_OF(kind, unit, base, exp, text, n) {			\
	.flags = KVM_STATS_TYPE_##kind | KVM_STATS_UNIT_##unit |	\
		 KVM_STATS_BASE_##base,					\
	.exponent = exp,						\
	.size = n,							\
	.name = text,							\
}
#define AV_DESC(kind, unit, base, exp, text)	AV_DESC_OF(kind, unit, base, exp, text, 1)
#define AV_DESC_COUNT(text)	AV_DESC(CUMULATIVE, NONE, POW10, 0, text)
#define AV_DESC_NS(text)	AV_DESC(CUMULATIVE, SECONDS, POW10, -9, text)

#define AV_DESC_HIST(text)						\
	AV_DESC_OF(LOG_HIST, SECONDS, POW10, -9, text "_hist", AV_HIST_BUCKETS)

#define X_GROUP(group, text)		AV_DESC_COUNT(text), AV_DESC_NS(text "_ns"),
#define X_CLASS(cls, text, group)	AV_DESC_COUNT(text), AV_DESC_NS(text "_ns"),
#define X_EVENT(event, text)		AV_DESC_COUNT(text),
#define X_PLACE(place, text)		AV_DESC_NS(text "_ns"),
#define X_HIST(cls, text, group)	AV_DESC_HIST(text),
#define X_PLACE_HIST(place, text)	AV_DESC_HIST(text),
#define X_TIMED(reg, text)		AV_DESC_NS(text "_timed_ns"),
#define X_FAST_HIST(reg, text)		AV_DESC_HIST(text),
#define X_FIGURE(figure, text, kind, unit) AV_DESC(kind, unit, POW10, 0, text),

static const struct av_stats_desc av_vcpu_descs[] = {
	AV_DESC_COUNT("exits"),
	AV_DESC_NS("guest_ns"),
	AV_PLACES(X_PLACE)
	AV_EXIT_GROUPS(X_GROUP)
	AV_EXIT_CLASSES(X_CLASS)
	AV_EVENTS(X_EVENT)
	AV_FAST_TRAPS(X_EVENT)
	AV_FAST_TRAPS(X_TIMED)
	AV_EXIT_CLASSES(X_HIST)
	AV_PLACES(X_PLACE_HIST)
	AV_FAST_TRAPS(X_FAST_HIST)
};

static const struct av_stats_desc av_vm_descs[] = {
	AV_VM_FIGURES(X_FIGURE)
};

#define X(group, text)	AV_GROUP_##group,
enum av_exit_group { AV_EXIT_GROUPS(X) AV_NR_GROUPS };
#undef X

/* The group of each class, indexed by enum av_exit_class. */
#define X(cls, text, group) AV_GROUP_##group,
static const u8 av_group_of[AV_NR_EXITS] = { AV_EXIT_CLASSES(X) };
#undef X

static u64 av_ticks_to_ns(u64 ticks)
{
	return mul_u64_u32_div(ticks, NSEC_PER_SEC, read_sysreg(cntfrq_el0));
}

/* A class's count and time are adjacent values. */
struct av_pair {
	u64 count;
	u64 ns;
};

static u64 av_fast_count(const struct av_vcpu_stats *s, unsigned int i)
{
	return READ_ONCE(s->fast[i]) - READ_ONCE(s->skipped[i]);
}

/* A class's count: count[] plus the switcher's counters. */
static u64 av_class_count(const struct av_vcpu_stats *s, unsigned int cls)
{
	u64 count = READ_ONCE(s->count[cls]);
	unsigned int i;

	/* As in KVM, this counts all calls by HVC. */
	if (cls == AV_EXIT_HVC)
		count += av_fast_count(s, AV_FAST_HVC);
	if (cls == AV_EXIT_DABT_TRUE)
		count += av_fast_count(s, AV_FAST_DABT);
	if (cls == AV_EXIT_PABT_TRUE)
		count += av_fast_count(s, AV_FAST_PABT);
	if (cls == AV_EXIT_FAST)
		for (i = 0; i < AV_FAST_HVC; i++)
			count += av_fast_count(s, i);
	return count;
}

/* Traps that the window completed and that count in a class other than "fast". */
static u64 av_window_count(const struct av_vcpu_stats *s)
{
	u64 count = 0;
	unsigned int i;

	for (i = AV_FAST_HVC; i < AV_NR_FAST; i++)
		count += av_fast_count(s, i);
	return count;
}

/* Exceptions that the window took from virtual EL0 to virtual EL1. */
static u64 av_window_taken(const struct av_vcpu_stats *s)
{
	return av_fast_count(s, AV_FAST_SVC) + av_fast_count(s, AV_FAST_BRK) +
	       av_fast_count(s, AV_FAST_UNDEF) + av_fast_count(s, AV_FAST_DABT) +
	       av_fast_count(s, AV_FAST_PABT);
}

/* Light exits that have left the TLB alone. */
static u64 av_kept(const struct av_vcpu_stats *s)
{
	const struct av_vcpu *vcpu = container_of(s, struct av_vcpu, stats);

	return READ_ONCE(s->event[AV_EVENT_EXIT_SHORT]) - READ_ONCE(vcpu->sw->priv->nr_lost);
}

/* Counts of events that are kept elsewhere: by the window, and flushes at entry. */
static u64 av_event_elsewhere(const struct av_vcpu_stats *s, enum av_event event)
{
	switch (event) {
	case AV_EVENT_INJECT_SYNC:
		return av_window_taken(s);
	case AV_EVENT_MODE_SWITCH:
		return av_window_taken(s) + av_fast_count(s, AV_FAST_ERET_EL0);
	case AV_EVENT_WALK:
		return av_fast_count(s, AV_FAST_DABT) +
	       av_fast_count(s, AV_FAST_PABT);
	case AV_EVENT_ENTRY_FLUSH:
		return av_switch_flushes() ? READ_ONCE(s->account.exits) - av_kept(s) : 0;
	default:
		return 0;
	}
}

/* Includes the current idle period, which may be hours. */
static u64 av_idle_ticks(const struct av_vcpu_stats *s)
{
	u64 ticks = av_account_ticks(&s->account, AV_ROW_OF(AV_PLACE_IDLE));
	u64 since = READ_ONCE(s->idle_since);

	return since ? ticks + av_stats_now() - since : ticks;
}

static void av_vcpu_gather(void *object, u64 *data)
{
	const struct av_vcpu_stats *s = &((const struct av_vcpu *)object)->stats;
	const struct av_account *a = &s->account;
	struct av_pair *group, *cls;
	unsigned int i;

	*data++ = READ_ONCE(a->exits) + av_window_count(s);
	*data++ = av_ticks_to_ns(READ_ONCE(a->guest));
	for (i = 0; i < AV_NR_PLACES; i++)
		*data++ = av_ticks_to_ns(i == AV_PLACE_IDLE ? av_idle_ticks(s) :
					 av_account_ticks(a, AV_ROW_OF(i)));

	group = (struct av_pair *)data;
	cls = group + AV_NR_GROUPS;
	memset(group, 0, AV_NR_GROUPS * sizeof(*group));
	for (i = 0; i < AV_NR_EXITS; i++, cls++) {
		cls->count = av_class_count(s, i);
		cls->ns = av_ticks_to_ns(av_account_ticks(a, i));
		group[av_group_of[i]].count += cls->count;
		group[av_group_of[i]].ns += cls->ns;
	}

	data = (u64 *)cls;
	for (i = 0; i < AV_NR_EVENTS; i++)
		*data++ = READ_ONCE(s->event[i]) + av_event_elsewhere(s, i);
	for (i = 0; i < AV_NR_FAST; i++)
		*data++ = av_fast_count(s, i);
	for (i = 0; i < AV_NR_FAST; i++)
		*data++ = av_ticks_to_ns(READ_ONCE(s->times.row[i][0]));
	for (i = 0; i < AV_NR_ROWS; i++, data += AV_HIST_BUCKETS)
		av_hist_read(a->row[i], data);
	for (i = 0; i < AV_NR_FAST; i++, data += AV_HIST_BUCKETS)
		av_hist_read(s->times.row[i], data);
}

static void av_vm_gather(void *object, u64 *data)
{
	struct av_vm *vm = object;
	unsigned int i;

	for (i = 0; i < AV_NR_VM_FIGURES; i++)
		data[i] = atomic64_read(&vm->stats.figure[i]);
	data[AV_VM_ACCOUNTING] = READ_ONCE(vm->stats.accounting);
	data[AV_VM_SWITCH_PS] = av_cpu_switch_ps(false);
	data[AV_VM_SWITCH_SHORT_PS] = av_cpu_switch_ps(true);
	data[AV_VM_FAST_TIMED_EVERY] = AV_TIME_EVERY;
	data[AV_VM_FAST_PS] = av_cpu_fast_ps();
	/* Counted only when read. */
	av_mmu_count_leaves(vm, &data[AV_VM_PAGES_4K], &data[AV_VM_PAGES_2M]);
}

/* The differences between a vCPU's file and a VM's. */
struct av_stats_kind {
	const struct av_stats_desc *descs;
	unsigned int n;
	void (*gather)(void *object, u64 *data);
};

static const struct av_stats_kind av_vcpu_kind = {
	av_vcpu_descs, ARRAY_SIZE(av_vcpu_descs), av_vcpu_gather,
};

static const struct av_stats_kind av_vm_kind = {
	av_vm_descs, ARRAY_SIZE(av_vm_descs), av_vm_gather,
};

struct av_stats_file {
	const struct av_stats_kind *kind;
	struct av_vm *vm;	/* referenced */
	void *object;
	char id[AV_STATS_NAME_SIZE];
};

/* The layout of the constant parts; data comes last. */
static struct kvm_stats_header av_stats_header(const struct av_stats_kind *kind)
{
	u32 desc = sizeof(struct kvm_stats_header) + AV_STATS_NAME_SIZE;

	return (struct kvm_stats_header) {
		.name_size = AV_STATS_NAME_SIZE,
		.num_desc = kind->n,
		.id_offset = sizeof(struct kvm_stats_header),
		.desc_offset = desc,
		.data_offset = desc + kind->n * sizeof(struct av_stats_desc),
	};
}

static void *av_stats_image(const struct av_stats_file *sf, size_t *size)
{
	const struct av_stats_kind *kind = sf->kind;
	struct kvm_stats_header header = av_stats_header(kind);
	struct av_stats_desc *desc;
	unsigned int i, offset = 0;
	void *image;

	for (i = 0; i < kind->n; i++)
		offset += kind->descs[i].size * sizeof(u64);
	*size = header.data_offset + offset;
	image = kvmalloc(*size, GFP_KERNEL_ACCOUNT);
	if (!image)
		return NULL;
	memcpy(image, &header, sizeof(header));
	memcpy(image + header.id_offset, sf->id, AV_STATS_NAME_SIZE);
	desc = image + header.desc_offset;
	memcpy(desc, kind->descs, kind->n * sizeof(*desc));
	for (i = 0, offset = 0; i < kind->n; i++) {
		desc[i].offset = offset;
		offset += desc[i].size * sizeof(u64);
	}
	kind->gather(sf->object, image + header.data_offset);
	return image;
}

static ssize_t av_stats_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	ssize_t r;
	size_t size;
	void *image = av_stats_image(file->private_data, &size);

	if (!image)
		return -ENOMEM;
	r = simple_read_from_buffer(buf, len, pos, image, size);
	kvfree(image);
	return r;
}

static int av_stats_release(struct inode *inode, struct file *file)
{
	struct av_stats_file *sf = file->private_data;

	av_vm_put(sf->vm);
	kfree(sf);
	return 0;
}

static const struct file_operations av_stats_fops = {
	.owner		= THIS_MODULE,
	.read		= av_stats_read,
	.release	= av_stats_release,
	.llseek		= noop_llseek,
};

static int av_stats_fd(struct av_vm *vm, const struct av_stats_kind *kind,
		       void *object, const char *name, const char *id)
{
	struct av_stats_file *sf = kzalloc(sizeof(*sf), GFP_KERNEL_ACCOUNT);
	struct file *file;
	int fd;

	if (!sf)
		return -ENOMEM;
	sf->kind = kind;
	sf->vm = vm;
	sf->object = object;
	strscpy(sf->id, id, sizeof(sf->id));

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		goto free;
	file = anon_inode_getfile(name, &av_stats_fops, sf, O_RDONLY);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		fd = PTR_ERR(file);
		goto free;
	}
	/* Readers use pread() to read the data alone. */
	file->f_mode |= FMODE_PREAD;
	av_vm_get(vm);
	fd_install(fd, file);
	return fd;

free:
	kfree(sf);
	return fd;
}

int av_stats_vm_fd(struct av_vm *vm)
{
	char id[AV_STATS_NAME_SIZE];

	snprintf(id, sizeof(id), "kvm-%d", task_pid_nr(current));
	return av_stats_fd(vm, &av_vm_kind, vm, "kvm-vm-stats", id);
}

int av_stats_vcpu_fd(struct av_vcpu *vcpu)
{
	char id[AV_STATS_NAME_SIZE];

	snprintf(id, sizeof(id), "kvm-%d/vcpu-%d", task_pid_nr(current), vcpu->id);
	return av_stats_fd(vcpu->vm, &av_vcpu_kind, vcpu, "kvm-vcpu-stats", id);
}
