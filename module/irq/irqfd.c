// SPDX-License-Identifier: GPL-2.0
/*
 * KVM_IRQFD: a signal of an eventfd raises an interrupt.
 *
 * An irqfd is an entry in its eventfd's wait queue. The wake-up runs under the
 * eventfd's lock with interrupts off and injects at once: the vGIC needs only a
 * spinlock. An irqfd ends by KVM_IRQFD's deassign flag, when the last file of
 * its eventfd is closed, or with the VM. Ending it means to remove it from the
 * table, under irqfd_lock, and to queue its work.
 *
 * With a resample eventfd, a signal raises a level-sensitive line. The line
 * stays high until the guest deactivates the interrupt. Then the line is
 * lowered and the resample eventfd signalled, so that the VMM can raise it
 * again if the device still asserts it. All irqfds of a GSI with one share an
 * av_resampler.
 *
 * Locks, outermost first: vm->irq_lock (assign, end, resamplers), the
 * eventfd's, irqfd_lock, the vGIC's. Resamplers are read in vm->irq_srcu. The
 * work of an end takes irq_lock, so never wait for one with irq_lock held.
 */
#include <linux/bitmap.h>
#include <linux/file.h>
#include <linux/hashtable.h>
#include <linux/poll.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "compat/irq.h"
#include "compat/kvm_level.h"
#include "irq/irq.h"
#include "irq/route.h"

/* Bounds a hash bucket, searched with interrupts off, to 32 irqfds on average. */
#define AV_MAX_IRQFDS	(2 * AV_MAX_IRQ_ROUTES)

struct av_resampler {
	u32 gsi;
	struct list_head irqfds;	/* irq_lock, irq_srcu */
	struct list_head link;
};

struct av_irqfd {
	struct av_vm *vm;
	u32 gsi;
	struct eventfd_ctx *event;
	wait_queue_entry_t wait;
	poll_table table;
	int waiting;			/* 0: in the eventfd's wait queue, or why it is not */
	struct hlist_node link;		/* under irqfd_lock; unhashed: the irqfd is ending */
	struct work_struct end;

	struct av_resampler *resampler;	/* or NULL */
	struct eventfd_ctx *resample;
	struct list_head resampler_link;
};

/* Runs the ends of irqfds; flushed before a VM is freed. */
static struct workqueue_struct *av_irqfd_ends;

int av_irq_init(void)
{
	av_irqfd_ends = alloc_workqueue("armvisor-irqfd", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	return av_irqfd_ends ? 0 : -ENOMEM;
}

void av_irq_exit(void)
{
	destroy_workqueue(av_irqfd_ends);
}

void av_irqfd_vm_init(struct av_vm *vm)
{
	spin_lock_init(&vm->irq->irqfd_lock);
	hash_init(vm->irq->irqfds);
	INIT_LIST_HEAD(&vm->irq->resamplers);
}

/*
 * A signal raises the line. As in KVM, if it is level-sensitive and has no
 * resampler, the VMM must lower it with KVM_IRQ_LINE.
 */
static void inject(struct av_irqfd *irqfd)
{
	struct av_vm *vm = irqfd->vm;
	int idx = srcu_read_lock(&vm->irq_srcu);

	av_route_set(vm, irqfd->gsi, true);
	srcu_read_unlock(&vm->irq_srcu, idx);
}

/* Signalled before the irqfd existed: as in KVM, still an edge. */
static void inject_early(struct av_irqfd *irqfd)
{
	struct av_vm *vm = irqfd->vm;
	int idx = srcu_read_lock(&vm->irq_srcu);

	av_route_set(vm, irqfd->gsi, true);
	if (!irqfd->resampler)
		av_route_set(vm, irqfd->gsi, false);
	srcu_read_unlock(&vm->irq_srcu, idx);
}

/* ---- resampling --------------------------------------------------------------- */

/* Called by the vCPU that deactivated the SPI, before its next entry. */
void av_irqfd_deactivated(struct av_vm *vm, u32 intid)
{
	struct av_resampler *resampler;
	struct av_irqfd *irqfd;
	int idx = srcu_read_lock(&vm->irq_srcu);

	list_for_each_entry_srcu(resampler, &vm->irq->resamplers, link,
				 srcu_read_lock_held(&vm->irq_srcu)) {
		cond_resched();
		if (av_route_intid(vm, resampler->gsi) != intid)
			continue;
		av_route_set(vm, resampler->gsi, false);
		list_for_each_entry_srcu(irqfd, &resampler->irqfds, resampler_link,
					 srcu_read_lock_held(&vm->irq_srcu)) {
			av_eventfd_signal(irqfd->resample);
			cond_resched();
		}
	}
	srcu_read_unlock(&vm->irq_srcu, idx);
}

void av_irqfd_mark(struct av_vm *vm)
{
	DECLARE_BITMAP(marked, AV_VGIC_MAX_IRQS);
	struct av_irqchip *chip = vm->irq->chip;
	struct av_resampler *resampler;
	int intid, idx;
	u32 i;

	if (!av_irqchip_ready(vm))
		return;
	/* There may be thousands of resamplers: walk them before taking the spinlock. */
	bitmap_zero(marked, AV_VGIC_MAX_IRQS);
	idx = srcu_read_lock(&vm->irq_srcu);
	list_for_each_entry(resampler, &vm->irq->resamplers, link) {
		intid = av_route_intid(vm, resampler->gsi);
		if (intid >= 0)
			__set_bit(intid, marked);
		cond_resched();
	}
	srcu_read_unlock(&vm->irq_srcu, idx);
	for (i = 0; i < chip->vgic.nr_spis; i++) {
		spin_lock_irq(&vm->irq->lock);
		if (test_bit(AV_VGIC_PRIVATE + i, marked))
			av_irq_end_leases(vm, AV_VGIC_PRIVATE + i, 1);
		chip->vgic.spis[i].notify = test_bit(AV_VGIC_PRIVATE + i, marked);
		spin_unlock_irq(&vm->irq->lock);
	}
}

/* irq_lock held. */
static int join_resampler(struct av_irqfd *irqfd)
{
	struct av_vm *vm = irqfd->vm;
	struct av_resampler *resampler;

	list_for_each_entry(resampler, &vm->irq->resamplers, link)
		if (resampler->gsi == irqfd->gsi)
			goto found;
	resampler = kzalloc(sizeof(*resampler), GFP_KERNEL_ACCOUNT);
	if (!resampler)
		return -ENOMEM;
	resampler->gsi = irqfd->gsi;
	INIT_LIST_HEAD(&resampler->irqfds);
	list_add_rcu(&resampler->link, &vm->irq->resamplers);
	av_irqfd_mark(vm);
found:
	list_add_rcu(&irqfd->resampler_link, &resampler->irqfds);
	irqfd->resampler = resampler;
	return 0;
}

/* irq_lock held, the wait queue entry removed. */
static void leave_resampler(struct av_irqfd *irqfd)
{
	struct av_resampler *resampler = irqfd->resampler;
	struct av_vm *vm = irqfd->vm;
	bool last;
	int idx;

	if (!resampler)
		return;
	list_del_rcu(&irqfd->resampler_link);
	last = list_empty(&resampler->irqfds);
	if (last)
		list_del_rcu(&resampler->link);
	synchronize_srcu_expedited(&vm->irq_srcu);
	if (!last)
		return;
	av_irqfd_mark(vm);
	/* No irqfd is left to lower the line. */
	idx = srcu_read_lock(&vm->irq_srcu);
	av_route_set(vm, resampler->gsi, false);
	srcu_read_unlock(&vm->irq_srcu, idx);
	kfree(resampler);
}

/* ---- an irqfd's life -------------------------------------------------------------- */

static void put_irqfd(struct av_irqfd *irqfd)
{
	if (irqfd->resample)
		eventfd_ctx_put(irqfd->resample);
	eventfd_ctx_put(irqfd->event);
	kfree(irqfd);
}

static void end_work(struct work_struct *work)
{
	struct av_irqfd *irqfd = container_of(work, struct av_irqfd, end);
	struct av_vm *vm = irqfd->vm;
	u64 count;

	mutex_lock(&vm->irq_lock);
	/* No wake-up runs after this. */
	eventfd_ctx_remove_wait_queue(irqfd->event, &irqfd->wait, &count);
	leave_resampler(irqfd);
	/* Not earlier: an irqfd counts against the limit until it has ended. */
	spin_lock_irq(&vm->irq->irqfd_lock);
	vm->irq->nr_irqfds--;
	spin_unlock_irq(&vm->irq->irqfd_lock);
	mutex_unlock(&vm->irq_lock);
	put_irqfd(irqfd);
}

/* irqfd_lock held, the irqfd in the table. */
static void end(struct av_irqfd *irqfd)
{
	hash_del(&irqfd->link);
	queue_work(av_irqfd_ends, &irqfd->end);
}

static int wake(wait_queue_entry_t *wait, unsigned int mode, int sync, void *key)
{
	struct av_irqfd *irqfd = container_of(wait, struct av_irqfd, wait);
	struct av_vm *vm = irqfd->vm;
	__poll_t flags = key_to_poll(key);
	unsigned long irqflags;
	int woken = 0;
	u64 count;

	if (flags & EPOLLIN) {
		/* Reset the count, which nobody reads. The eventfd's lock is held. */
		eventfd_ctx_do_read(irqfd->event, &count);
		inject(irqfd);
		woken = 1;
	}
	if (flags & EPOLLHUP) {
		spin_lock_irqsave(&vm->irq->irqfd_lock, irqflags);
		if (hash_hashed(&irqfd->link))
			end(irqfd);
		spin_unlock_irqrestore(&vm->irq->irqfd_lock, irqflags);
	}
	return woken;
}

static void enqueue(struct file *file, wait_queue_head_t *head, poll_table *table)
{
	struct av_irqfd *irqfd = container_of(table, struct av_irqfd, table);

	irqfd->waiting = av_add_irqfd_waiter(head, &irqfd->wait);
}

/* The irqfd of an eventfd, or NULL. irqfd_lock held. */
static struct av_irqfd *find_irqfd(struct av_vm *vm, const struct eventfd_ctx *event)
{
	struct av_irqfd *irqfd;

	hash_for_each_possible(vm->irq->irqfds, irqfd, link, (unsigned long)event)
		if (irqfd->event == event)
			return irqfd;
	return NULL;
}

/* Enter it in the table: at most one irqfd per eventfd. */
static int enter_irqfd(struct av_irqfd *irqfd)
{
	struct av_vm *vm = irqfd->vm;
	int r = 0;

	spin_lock_irq(&vm->irq->irqfd_lock);
	if (find_irqfd(vm, irqfd->event))
		r = -EBUSY;
	else if (vm->irq->nr_irqfds >= AV_MAX_IRQFDS)
		r = -ENOSPC;
	if (!r) {
		hash_add(vm->irq->irqfds, &irqfd->link, (unsigned long)irqfd->event);
		vm->irq->nr_irqfds++;
	}
	spin_unlock_irq(&vm->irq->irqfd_lock);
	return r;
}

/* Undo enter_irqfd(): irq_lock held, the irqfd in no wait queue. */
static void withdraw_irqfd(struct av_irqfd *irqfd)
{
	spin_lock_irq(&irqfd->vm->irq->irqfd_lock);
	hash_del(&irqfd->link);
	irqfd->vm->irq->nr_irqfds--;
	spin_unlock_irq(&irqfd->vm->irq->irqfd_lock);
}

/* Called with irq_lock held: if the irqfd ends at once, its work waits for us. */
static int start(struct av_irqfd *irqfd, struct file *file, bool resample)
{
	__poll_t events;
	int r;

	r = enter_irqfd(irqfd);
	if (r)
		return r;
	if (resample) {
		r = join_resampler(irqfd);
		if (r) {
			withdraw_irqfd(irqfd);
			return r;
		}
	}
	events = vfs_poll(file, &irqfd->table);
	/* The eventfd is another VM's, or those of too many. */
	if (irqfd->waiting) {
		withdraw_irqfd(irqfd);
		leave_resampler(irqfd);
		return irqfd->waiting;
	}
	/* A signal from before the poll counts. */
	if (events & EPOLLIN)
		inject_early(irqfd);
	return 0;
}

static struct av_irqfd *alloc_irqfd(struct av_vm *vm, const struct kvm_irqfd *args,
				    struct file *file)
{
	struct av_irqfd *irqfd = kzalloc(sizeof(*irqfd), GFP_KERNEL_ACCOUNT);
	struct eventfd_ctx *ctx;

	if (!irqfd)
		return ERR_PTR(-ENOMEM);
	irqfd->vm = vm;
	irqfd->gsi = args->gsi;
	INIT_WORK(&irqfd->end, end_work);
	init_waitqueue_func_entry(&irqfd->wait, wake);
	init_poll_funcptr(&irqfd->table, enqueue);
	ctx = eventfd_ctx_fileget(file);
	if (IS_ERR(ctx)) {
		kfree(irqfd);
		return ERR_CAST(ctx);
	}
	irqfd->event = ctx;
	if (!(args->flags & KVM_IRQFD_FLAG_RESAMPLE))
		return irqfd;
	ctx = eventfd_ctx_fdget(args->resamplefd);
	if (IS_ERR(ctx)) {
		put_irqfd(irqfd);
		return ERR_CAST(ctx);
	}
	irqfd->resample = ctx;
	return irqfd;
}

static int assign(struct av_vm *vm, const struct kvm_irqfd *args)
{
	struct av_irqfd *irqfd;
	struct file *file;
	int r;

	if (!av_irqchip_ready(vm))
		return -EAGAIN;
	file = fget(args->fd);
	if (!file)
		return -EBADF;
	irqfd = alloc_irqfd(vm, args, file);
	if (IS_ERR(irqfd)) {
		r = PTR_ERR(irqfd);
		goto put_file;
	}
	mutex_lock(&vm->irq_lock);
	r = start(irqfd, file, irqfd->resample);
	mutex_unlock(&vm->irq_lock);
	if (r)
		put_irqfd(irqfd);
put_file:
	fput(file);
	return r;
}

static int deassign(struct av_vm *vm, const struct kvm_irqfd *args)
{
	struct eventfd_ctx *ctx = eventfd_ctx_fdget(args->fd);
	struct av_irqfd *irqfd;

	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	/* irq_lock: no other thread assigns it meanwhile. */
	mutex_lock(&vm->irq_lock);
	spin_lock_irq(&vm->irq->irqfd_lock);
	irqfd = find_irqfd(vm, ctx);
	if (irqfd && irqfd->gsi == args->gsi)
		end(irqfd);
	spin_unlock_irq(&vm->irq->irqfd_lock);
	mutex_unlock(&vm->irq_lock);
	eventfd_ctx_put(ctx);
	/* From here on no signal of the eventfd raises an interrupt. */
	flush_workqueue(av_irqfd_ends);
	return 0;
}

int av_irqfd(struct av_vm *vm, const struct kvm_irqfd *args)
{
	/* Any GSI is accepted: one beyond the routes raises nothing. */
	if (args->flags & ~(KVM_IRQFD_FLAG_DEASSIGN | KVM_IRQFD_FLAG_RESAMPLE))
		return -EINVAL;
	return args->flags & KVM_IRQFD_FLAG_DEASSIGN ? deassign(vm, args) : assign(vm, args);
}

/* Drop the lock after each irqfd, as each queues a work item. */
static void end_bucket(struct av_vm *vm, struct hlist_head *bucket)
{
	struct av_irqfd *irqfd;

	do {
		spin_lock_irq(&vm->irq->irqfd_lock);
		irqfd = hlist_entry_safe(bucket->first, struct av_irqfd, link);
		if (irqfd)
			end(irqfd);
		spin_unlock_irq(&vm->irq->irqfd_lock);
		cond_resched();
	} while (irqfd);
}

void av_irqfd_vm_destroy(struct av_vm *vm)
{
	unsigned int i;

	for (i = 0; i < HASH_SIZE(vm->irq->irqfds); i++)
		end_bucket(vm, &vm->irq->irqfds[i]);
	/* Includes irqfds whose eventfd was closed just before. */
	flush_workqueue(av_irqfd_ends);
}
