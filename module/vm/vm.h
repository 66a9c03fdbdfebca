/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A virtual machine: what /dev/kvm's KVM_CREATE_VM makes.
 *
 * The object only: vm/ is the bottom layer, and knows of the folders above it
 * no more than a pointer to the state of each.
 *
 * Lifetime. A VM lives while any file of it does: the VM's own, a vCPU's, a
 * device's, a statistics file. Each holds one reference (av_vm_get/av_vm_put);
 * the last one destroys vCPUs, devices, memory and irqfds, in that order of
 * need (api/vm.c). vCPUs are never destroyed before the VM, so a pointer to
 * one stays good as long as the VM does: no reference count of their own.
 * The guest's memory belongs to vm->mm, of which the VM holds a reference on
 * the structure (mmgrab), not on the address space: when the VMM dies, the
 * MMU notifier's release empties the shadow tables.
 *
 * Locks, outermost first. Take them in this order, skip what you do not need:
 *
 *   vm->seal         rwsem     of protected VMs that are not sealed: read: each ioctl of
 *                              the VM and what belongs to it; write: sealing, which so
 *                              finds none under way (api/seal.c)
 *   vm->lock         mutex     vCPU creation, device creation, VM-wide ioctls
 *   vm->vcpus_sem    rwsem     read: each ioctl of a vCPU, KVM_RUN for its whole
 *                              length; write: av_vm_try_stop_vcpus(), which takes
 *                              vm->lock first and never waits. One lock, as a
 *                              thread cannot hold as many mutexes as a VM may
 *                              have vCPUs: lockdep follows 48
 *   vcpu->mutex      mutex     one vCPU's ioctls, inside vcpus_sem; never two
 *   vm->slots_lock   mutex     changes to memory slots and to the device bus; dirty
 *                              bitmaps that are read, dirty rings that are reset
 *   vm->config_lock  mutex     VM-wide state that a vCPU's ioctl may also change
 *                              (vGIC set-up, ID registers, counter offset)
 *   vm->irq->msi_lock mutex     LPIs and ITSs (irq/msi.h); guest memory is read and
 *                              written under it
 *   vm->srcu         srcu      reading slots and bus; taken by the function that
 *                              looks, not by its callers; its readers wait for
 *                              the guest's memory, so for ever if the VMM likes:
 *                              synchronize_srcu() is allowed under slots_lock,
 *                              under a vcpu->mutex or inside a read section it
 *                              is not
 *   vm->irq_srcu     srcu      reading interrupt routing; no reader sleeps on the
 *                              guest's memory, for what all VMs share waits for
 *                              them; synchronize_srcu() under irq_lock
 *   vm->irq_lock     mutex     irqfds and routing changes (never inside irq_srcu)
 *   vGIC's spinlocks           as irq/ says; taken with interrupts off, and
 *                              from hrtimers and irqfd wake-ups
 *   vm->mmu_lock     spinlock  shadow tables, reverse map, mmu_seq; taken inside
 *                              the MMU notifier, so nothing under it allocates
 *                              with GFP_KERNEL or touches user memory, but with
 *                              page faults disabled
 *
 * Two are the module's: asid_lock (switch/asid.c), inside every mutex above;
 * vms_lock (mmu/shrink.c), outside mmu_lock, inside vm->lock.
 *
 * mmap_lock (GUP, user copies) nests inside vcpu->mutex and slots_lock and
 * outside mmu_lock. Nothing above is taken under a spinlock below it.
 *
 * Every ioctl first checks current->mm == vm->mm (-EIO).
 */
#ifndef AV_VM_VM_H
#define AV_VM_VM_H

#include <linux/kref.h>
#include <linux/kvm.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>

#include "stats/types.h"

struct av_vcpu;
struct crypto_shash;
struct av_vm_cpu;
struct av_vm_irq;
struct av_vm_mmio;
struct av_vm_mmu;
struct av_vm_switch;

/*
 * The window's table has 512 pages: four of code and two a vCPU. KVM's limit
 * for a GICv3 is 512; ours is what the table has room for.
 */
#define AV_MAX_VCPUS		254
#define AV_MAX_VCPU_ID		256
#define AV_IPA_BITS_DEFAULT	40
#define AV_IPA_BITS_MIN		32

/*
 * Room for the reason of a VM's death, a sentence: what fits the data of
 * KVM_EXIT_INTERNAL_ERROR behind AV_REASON_MAGIC.
 */
#define AV_REASON_LEN		120
#define AV_REASON_MAGIC		0x726f7369766d7261ULL	/* "armvisor" in memory */

#define AV_MEASUREMENT_LEN	32

struct av_vm {
	struct mm_struct *mm;
	struct kref users;
	unsigned int serial;		/* for logs and traces */

	struct mutex lock;
	struct mutex slots_lock;
	struct mutex config_lock;
	struct mutex irq_lock;
	struct rw_semaphore vcpus_sem;
	struct srcu_struct srcu;
	struct srcu_struct irq_srcu;
	spinlock_t mmu_lock;

	/*
	 * vCPUs by index, in order of creation: written under lock, with the
	 * entry before the count (release), never removed. Readers need no
	 * lock: av_vm_vcpu(), av_for_each_vcpu().
	 */
	unsigned int nr_vcpus;
	struct av_vcpu *vcpus[AV_MAX_VCPUS];

	u8 ipa_bits;			/* of the VM's own address space */
	u8 pa_bits;			/* ID_AA64MMFR0_EL1.PARange as the guest reads it */
	bool features_fixed;		/* under config_lock */
	bool has_run;			/* KVM_RUN was entered once; under config_lock */
	u32 features;			/* of KVM_ARM_VCPU_INIT, of all vCPUs */
	struct list_head devices;	/* struct av_device, under lock */

	/*
	 * A protected VM (KVM_VM_TYPE_ARM_PROTECTED). Sealed at its first run, once and
	 * under seal: its memory is the guest's, its registers and devices are nobody's.
	 * The measurement is there then, SHA-256 of what it was started with.
	 */
	bool protected;
	bool sealed;
	struct crypto_shash *sha256;	/* api/seal.c */
	struct rw_semaphore seal;
	u8 measurement[AV_MEASUREMENT_LEN];

	bool refused;			/* a first run found a vGIC half set up: all is -EIO */

	/* av_vm_kill(): dying is bit 0, set once; reason is whole once dead is. */
	unsigned long dying;
	bool dead;
	char reason[AV_REASON_LEN];

	/*
	 * The state of each folder, which defines it in its types.h. Set before
	 * any of them is called, never changed; allocated with the VM.
	 */
	struct av_vm_switch *sw;
	struct av_vm_mmu *mmu;
	struct av_vm_irq *irq;
	struct av_vm_mmio *mmio;
	struct av_vm_cpu *cpu;
	struct av_vm_stats stats;

	/* The last reference is gone: api/vm.c. */
	void (*destroy)(struct av_vm *vm);
};

static inline void av_vm_get(struct av_vm *vm)
{
	kref_get(&vm->users);
}

void av_vm_put(struct av_vm *vm);

/* The index'th vCPU, or NULL. Any context. */
static inline struct av_vcpu *av_vm_vcpu(struct av_vm *vm, unsigned int idx)
{
	/* Pairs with the release in av_vm_create_vcpu(). */
	if (idx >= smp_load_acquire(&vm->nr_vcpus))
		return NULL;
	return vm->vcpus[idx];
}

/* The vCPU with this id (KVM_CREATE_VCPU's argument), or NULL. */
struct av_vcpu *av_vm_vcpu_by_id(struct av_vm *vm, int id);

/* The vCPU that this thread runs, in KVM_RUN, or NULL. */
struct av_vcpu *av_vm_running_vcpu(struct av_vm *vm);

#define av_for_each_vcpu(idx, vcpu, vm) \
	for ((idx) = 0; ((vcpu) = av_vm_vcpu(vm, idx)); (idx)++)

/*
 * Keep every vCPU out of its ioctls, and none from being created, or nothing:
 * false when one is in there. What KVM does around accesses to the vGIC's state.
 */
bool av_vm_try_stop_vcpus(struct av_vm *vm);
void av_vm_release_vcpus(struct av_vm *vm);

/* Raise a request (vm/vcpu.h) on every vCPU and get them out of the guest. */
void av_vm_request_all(struct av_vm *vm, unsigned int req);

#endif /* AV_VM_VM_H */
