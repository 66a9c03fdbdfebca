/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A virtual machine, made by KVM_CREATE_VM.
 *
 * vm/ is the bottom layer. All that it has of a folder above is a pointer to that folder's state.
 *
 * Lifetime. Each file of a VM (the VM's own, a vCPU's, a device's, a statistics file) holds one
 * reference (av_vm_get(), av_vm_put()). The last put destroys vCPUs, devices, memory and irqfds, in
 * the order that they need (api/vm.c). vCPUs are destroyed only with the VM, so a pointer to a vCPU
 * is valid as long as the VM is: vCPUs have no reference count. Guest memory belongs to vm->mm. The
 * VM pins the mm_struct (mmgrab()), not the address space: when the VMM dies, the MMU notifier's
 * release empties the shadow tables.
 *
 * Locks, outermost first. Take them in this order; skip those that you do not need:
 *
 *   vm->seal         rwsem     only protected VMs that are not sealed yet. read: each
 *                              ioctl of the VM and of its files; write: sealing, so
 *                              that no ioctl is under way (api/seal.c)
 *   vm->lock         mutex     vCPU creation, device creation, VM-wide ioctls
 *   vm->vcpus_sem    rwsem     read: each ioctl of a vCPU, for KVM_RUN its whole
 *                              length; write: av_vm_try_stop_vcpus(), which takes
 *                              vm->lock first, then only tries. One lock instead of
 *                              all vCPUs' mutexes: a VM may have more vCPUs than the
 *                              48 locks that lockdep can follow in a thread
 *   vcpu->mutex      mutex     ioctls of one vCPU, inside vcpus_sem; never two
 *   vm->slots_lock   mutex     changes to memory slots and to the device bus; reading
 *                              dirty bitmaps, resetting dirty rings
 *   vm->config_lock  mutex     VM-wide state that a vCPU's ioctl may also change
 *                              (vGIC set-up, ID registers, counter offset)
 *   vm->irq->msi_lock mutex    LPIs and ITSs (irq/msi.h); guest memory is read and
 *                              written under it
 *   vm->srcu         srcu      reading slots and bus. The function that looks takes it,
 *                              not its callers. Readers may fault on guest memory and
 *                              so wait as long as the VMM likes: synchronize_srcu()
 *                              is allowed under slots_lock, but not under a
 *                              vcpu->mutex or inside a read section
 *   vm->irq_srcu     srcu      reading interrupt routing. Readers must not sleep on
 *                              guest memory, because work that all VMs share waits
 *                              for them; synchronize_srcu() under irq_lock
 *   vm->irq_lock     mutex     irqfds and routing changes (never inside irq_srcu)
 *   vGIC spinlocks             see irq/; taken with interrupts off, also from
 *                              hrtimers and irqfd wake-ups
 *   vm->mmu_lock     spinlock  shadow tables, reverse map, mmu->seq. The MMU notifier
 *                              takes it: nothing under it may allocate with
 *                              GFP_KERNEL, or touch user memory unless page faults
 *                              are disabled
 *
 * Two locks are module-wide: asid_lock (switch/asid.c), inside every mutex above; vms_lock
 * (mmu/host/shrink.c), inside vm->lock and outside mmu_lock.
 *
 * mmap_lock (GUP, user copies) nests inside vcpu->mutex and slots_lock and outside mmu_lock. No
 * lock of this list is taken under a spinlock below it.
 *
 * Every ioctl first checks current->mm == vm->mm (-EIO).
 *
 * Staleness. Whoever remembers something keeps a copy of a token and compares it before use.
 * A token is a number of 64 bits that only grows, unless its row says otherwise. mmu_lock
 * protects it unless its row has a lock. tools/stale.py compares this table with the structs.
 *
 *   av_vm_mmu.seq
 *	grows	a notifier call or a slot change, after the change (av_mmu_bump_seq())
 *	copies	av_seq.host av_walk_cache.seq
 *	lock	writers: mmu_lock. A fault reads it before its walk (av_mmu_read_seq())
 *	guards	a host page found without mmu_lock: else the host's next owner of the page
 *		shares it with the guest
 *   av_tree.seq
 *	grows	a TLBI that reaches the tree; av_tree.recent has the last ranges. Not by one of a
 *		page for a tree of every ASID: av_shadow.seq_va counts those
 *	copies	av_seq.tree
 *	lock	as av_vm_mmu.seq
 *	guards	a descriptor read without mmu_lock: else a mapping survives its TLBI
 *   av_shadow.seq_va
 *	grows	a TLBI by address in that half; av_shadow.recent_va has the last ranges
 *	copies	av_seq.va
 *	lock	as av_vm_mmu.seq
 *	guards	the same for a global descriptor, which a TLBI of any ASID voids, also while
 *		the tree has no global entry yet
 *   av_tree.seq_tables
 *	grows	a TLBI of more than leaves that reaches the tree
 *	copies	av_seq.tables av_walk_cache.seq_tables, by av_tree_seq_tables()
 *	lock	as av_vm_mmu.seq
 *	guards	the address of a guest table: else a freed guest table is walked
 *   av_shadow.seq_asids
 *	grows	a TLBI by ASID. av_tree_seq_tables() adds it for a tree of every ASID
 *	copies	as av_tree.seq_tables
 *	lock	as av_vm_mmu.seq
 *	guards	the same for trees that the TLBI does not reach
 *   av_tree.gen
 *	grows	a TLBI by ASID that keeps the tables; a new key for the tree
 *	copies	av_pt.gen av_tree.first_gen
 *	guards	a kept table: else entries are used that nobody compared with the guest's
 *   av_tree.abandoned
 *	grows	is set where gen grows, cleared by a fill and when a kept table is linked
 *	lock	writers: mmu_lock. Readers need none: a wrong answer costs only work
 *	guards	nothing: says which place of a vCPU to give up first
 *   av_tree.serial
 *	grows	never: from av_shadow.next_serial for a new tree and for a new key
 *	copies	av_walk_cache.serial av_device_page.serial av_mode_trees.serial av_context.serial0
 *		av_context.serial1 av_tree_contexts.serial av_flush.serial av_zapped.serial
 *		av_code_table.serial
 *	lock	a context's: see switch/tlb.h
 *	guards	all that is remembered of a tree: else another tree at the same address has it
 *   av_shadow.shape
 *	grows	a table is unlinked, or gets a guest leaf larger than its entries
 *	copies	av_walk_cache.shape av_swept.shape av_code_table.shape
 *	guards	a pointer to a level-3 table: else a freed table is written
 *   av_tree.clean
 *	grows	is a page without an entry since its TLBI; AV_CLEAN_NONE from the next fill on
 *	guards	a TLBI that is skipped: else an entry survives it
 *   av_shadow.barren_round
 *	grows	any tree gets a table. 32 bits
 *	copies	av_tree.barren_round
 *	guards	reclaim's count of empty trees: else reclaim gives up too soon
 *   av_vcpu_mmu.regimes
 *	grows	a register of the regime changes, but for TTBRs; av_mmu_want() changes its mind;
 *		a tree no longer fits: it was split, needs an ASID or an owner, or the window moved
 *	copies	av_ttbr_pair.regimes av_vcpu_mmu.shown_regimes
 *	lock	the vCPU's own thread
 *	guards	a TTBR pair: else the guest runs on trees of another regime
 *   av_vcpu_mmu.stale
 *	grows	has a bit for each thing that changed since the last load (AV_STALE_*)
 *	lock	the vCPU's own thread
 *	guards	the loaded trees: else the guest runs on those of another mode or TTBR
 *   av_vm_switch.changes
 *	grows	a context gets other trees, before the vCPU runs with it
 *	copies	av_tree_contexts.changes
 *	lock	none; order: see switch/tlb.h
 *	guards	the contexts found for a tree: else a flush passes one over
 *
 * Whole walks are remembered with a struct av_seq: av_hidden.seq for the length of a fault,
 * av_fetch.seq for the page fetched last, av_vcpu_mmu.device_seq for the last device access.
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
 * The window's level-3 table has 512 entries: four for code and two per vCPU. Its other mappings
 * give way to the last vCPUs (switch/window.c). KVM allows 512 vCPUs with a GICv3; here, 254 fit.
 */
#define AV_MAX_VCPUS		254
#define AV_MAX_VCPU_ID		256
#define AV_IPA_BITS_DEFAULT	40
#define AV_IPA_BITS_MIN		32

/*
 * Size of the sentence that says why the VM died: the data of KVM_EXIT_INTERNAL_ERROR, after
 * AV_REASON_MAGIC.
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
	 * vCPUs by index, in order of creation; never removed. Written under lock: the entry
	 * first, then the count (release). Readers need no lock: av_vm_vcpu(),
	 * av_for_each_vcpu().
	 */
	unsigned int nr_vcpus;
	struct av_vcpu *vcpus[AV_MAX_VCPUS];

	u8 ipa_bits;			/* size of the VM's physical address space */
	u8 pa_bits;			/* ID_AA64MMFR0_EL1.PARange as the guest reads it */
	bool features_fixed;		/* under config_lock */
	bool has_run;			/* KVM_RUN was called once; under config_lock */
	u32 features;			/* of KVM_ARM_VCPU_INIT, the same for all vCPUs */
	struct list_head devices;	/* struct av_device, under lock */

	/*
	 * A protected VM (KVM_VM_TYPE_ARM_PROTECTED) is sealed at its first run, once, with seal
	 * held for writing. From then on its memory belongs to the guest, nobody can change its
	 * registers and devices, and measurement has the SHA-256 of its initial state.
	 */
	bool protected;
	bool sealed;
	struct crypto_shash *sha256;	/* api/seal.c */
	struct rw_semaphore seal;
	u8 measurement[AV_MEASUREMENT_LEN];

	bool refused;			/* incomplete vGIC at the first run: all is -EIO */

	/* av_vm_kill(): bit 0 of dying is set once; reason is complete once dead is set. */
	unsigned long dying;
	bool dead;
	char reason[AV_REASON_LEN];

	/*
	 * State of each folder, defined in its types.h. Allocated with the VM, set before any
	 * folder is called, never changed.
	 */
	struct av_vm_switch *sw;
	struct av_vm_mmu *mmu;
	struct av_vm_irq *irq;
	struct av_vm_mmio *mmio;
	struct av_vm_cpu *cpu;
	struct av_vm_stats stats;

	/* Called by the last av_vm_put(): api/vm.c. */
	void (*destroy)(struct av_vm *vm);
};

static inline void av_vm_get(struct av_vm *vm)
{
	kref_get(&vm->users);
}

void av_vm_put(struct av_vm *vm);

/* The vCPU with this index, or NULL. Any context. */
static inline struct av_vcpu *av_vm_vcpu(struct av_vm *vm, unsigned int idx)
{
	/* Pairs with the release in av_vm_create_vcpu(). */
	if (idx >= smp_load_acquire(&vm->nr_vcpus))
		return NULL;
	return vm->vcpus[idx];
}

/* The vCPU with this id (KVM_CREATE_VCPU's argument), or NULL. */
struct av_vcpu *av_vm_vcpu_by_id(struct av_vm *vm, int id);

/* The vCPU whose KVM_RUN the current thread is in, or NULL. */
struct av_vcpu *av_vm_running_vcpu(struct av_vm *vm);

#define av_for_each_vcpu(idx, vcpu, vm) \
	for ((idx) = 0; ((vcpu) = av_vm_vcpu(vm, idx)); (idx)++)

/*
 * Keep every vCPU out of its ioctls and prevent the creation of more. False, with nothing held,
 * if a vCPU is in an ioctl or a fatal signal came. KVM does the same around accesses to vGIC
 * state.
 */
bool av_vm_try_stop_vcpus(struct av_vm *vm);
void av_vm_release_vcpus(struct av_vm *vm);

/* Raise a request (vm/vcpu.h) on every vCPU and kick them all. Any context. */
void av_vm_request_all(struct av_vm *vm, unsigned int req);

#endif /* AV_VM_VM_H */
