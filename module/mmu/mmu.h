/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mmu/ for the rest of the module.
 *
 * The run loop, for each entry:
 *
 *	av_mmu_load(vcpu)		may sleep; chooses the shadow trees
 *	local_irq_disable()
 *	av_mmu_prepare_entry(vcpu, &e)	roots and ASIDs for the switch
 *	... enter, exit, local_irq_enable()
 *
 * Invalidations empty a tree that a vCPU has loaded, but never free it before the vCPU loads
 * another. So what av_mmu_prepare_entry() returns is valid as long as the vCPU runs with it.
 *
 * An abort ends in an answer (vm/answer.h), which cpu/ carries out.
 */
#ifndef AV_MMU_MMU_H
#define AV_MMU_MMU_H

#include <linux/kvm.h>
#include <linux/types.h>

#include "compat/kvm_uapi.h"
#include "mmu/stub.h"
#include "mmu/types.h"
#include "switch/switch.h"
#include "vm/answer.h"
#include "vm/regfile.h"
#include "vm/vcpu.h"

/* Module load and unload. */
int av_mmu_init(void);
void av_mmu_exit(void);

/* Set up vm->mmu. May sleep. 0 or an errno, with nothing left to undo. */
int av_mmu_vm_init(struct av_vm *vm);
/* After the last vCPU was destroyed, when nobody can reach the VM. May sleep. */
void av_mmu_vm_destroy(struct av_vm *vm);

/* Number of pages and 2 MiB blocks that the shadow tables map. May sleep. */
void av_mmu_count_leaves(struct av_vm *vm, u64 *pages, u64 *blocks);
/*
 * Call before the first vCPU is freed. Stops the host's notifier and shrinker, which flush what
 * vCPUs have cached, and unmaps all guest memory for good. May sleep.
 */
void av_mmu_vm_stop(struct av_vm *vm);
/* May sleep. 0 or -ENOMEM. */
int av_mmu_vcpu_init(struct av_vcpu *vcpu);
void av_mmu_vcpu_destroy(struct av_vcpu *vcpu);

/*
 * Memory slots, with KVM's rules and errnos. Takes vm->slots_lock. All slots of a protected VM
 * must be of a guest_memfd (-EPERM), neither logged nor read-only (-EINVAL), and cannot change
 * once it is sealed (-EPERM).
 */
int av_mmu_set_slot(struct av_vm *vm, const struct kvm_userspace_memory_region2 *mem);

/* KVM_CREATE_GUEST_MEMFD: returns a file descriptor, -EINVAL, -EMFILE or -ENOMEM. */
int av_mmu_create_gmem(struct av_vm *vm, u64 size, u64 flags);

/*
 * Seal a VM before its first run, with none of its ioctls under way: take its memory from
 * everybody else. Calls fn for each slot without a page, then for each page of the slot that is
 * not all zeroes, by address. 0; fn's errno; -EBUSY: somebody holds a page; -EHWPOISON; -EINTR.
 * On an error nothing has changed.
 */
typedef int av_measure_fn(void *ctx, u64 gpa, u64 size, const void *page);
int av_mmu_seal(struct av_vm *vm, av_measure_fn *fn, void *ctx);

/* Most pages that one call shares or takes back. */
#define AV_SHARE_MOST	64

/*
 * The guest of a sealed VM shares nr pages from gpa on, or takes them back; in constant time a
 * page. Returns how many were done, from the first on, which may be fewer, at least one. Of the
 * first, -EINVAL: not a page, or already in that state; -ENXIO (share): no memory there; -ENOMEM;
 * -EAGAIN: somebody holds the page, as a device's transfer does for a moment; or, without
 * may_sleep, only the full exit path can tell.
 */
s64 av_mmu_share(struct av_vm *vm, u64 gpa, u64 nr, bool may_sleep);
s64 av_mmu_unshare(struct av_vm *vm, u64 gpa, u64 nr, bool may_sleep);
int av_mmu_get_dirty_log(struct av_vm *vm, const struct kvm_dirty_log *log);
int av_mmu_clear_dirty_log(struct av_vm *vm, const struct kvm_clear_dirty_log *log);
/* KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2. -EINVAL: unknown flags. */
int av_mmu_enable_manual_protect(struct av_vm *vm, u64 flags);

/*
 * Dirty rings. KVM_CAP_DIRTY_LOG_RING_ACQ_REL with the ring's size per vCPU;
 * KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP; KVM_RESET_DIRTY_RINGS: number of entries reset, or an
 * errno.
 */
int av_mmu_enable_ring(struct av_vm *vm, u32 bytes);
int av_mmu_enable_ring_bitmap(struct av_vm *vm);
int av_mmu_reset_rings(struct av_vm *vm);
/* Does this page offset of a vCPU's file belong to its ring? Which page is it? */
bool av_mmu_is_ring_page(const struct av_vm *vm, unsigned long pgoff);
struct page *av_mmu_ring_page(struct av_vcpu *vcpu, unsigned long pgoff);
/* AV_REQ_RING: must the vCPU stay out of the guest until its ring has room? Its own thread. */
bool av_mmu_ring_full(struct av_vcpu *vcpu);

/*
 * Where the vCPU enters: its trees' roots and ASIDs. After a successful av_mmu_load();
 * interrupts may be off.
 */
static inline void av_mmu_prepare_entry(struct av_vcpu *vcpu, struct av_entry *out)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;

	out->root0 = mmu->root[0]->pa;
	out->el = mmu->el;
	out->ttbr1[0] = mmu->ttbr1[0];
	out->ttbr1[1] = mmu->ttbr1[1];
	out->copies = mmu->copies;
	if (mmu->copies)
		mmu->stubs = READ_ONCE(vcpu->vm->mmu->annex.at.va) + AV_STUB_FIRST;
}

/* Load the shadow trees for the current registers and mode. 0 or -ENOMEM. May sleep. */
int av_mmu_load(struct av_vcpu *vcpu);

/*
 * The same at a light exit, after virtual EL1 wrote a TTBR and changed nothing else; interrupts
 * are off. False: call av_mmu_load() before the next entry.
 */
bool av_mmu_load_now(struct av_vcpu *vcpu);

/* AV_REQ_WINDOW: move the vCPU's window to the VM's position. Called by the vCPU's own thread. */
void av_mmu_follow_move(struct av_vcpu *vcpu);

/* The vCPU runs without copies: for how much longer? Called once per so many entries. */
#define AV_PLAIN_LOOK	32
void av_mmu_count_plain(struct av_vcpu *vcpu);

/*
 * Before av_mmu_load(): may virtual EL1 run from patched copies of its code (mmu/copies.h), may
 * the window switch trees itself, and may it read the guest's tables (mmu/shown.h)?
 */
static inline void av_mmu_want(struct av_vcpu *vcpu, bool copies, bool roots, bool shown)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;

	if (unlikely(mmu->plain) && !(--mmu->plain % AV_PLAIN_LOOK))
		av_mmu_count_plain(vcpu);
	if (unlikely(mmu->want_copies != copies || mmu->want_roots != roots ||
		     mmu->want_shown != shown)) {
		mmu->want_copies = copies;
		mmu->want_roots = roots;
		mmu->want_shown = shown;
		mmu->regimes++;
		mmu->stale |= AV_STALE_REGS;
	}
}

/* Drop all copies: the VMM may have written to the guest's code. May sleep. */
void av_mmu_forget_copies(struct av_vm *vm);

/* A vCPU is reset, maybe with a new kernel: drop copies and stubs. May sleep. */
void av_mmu_forget_code(struct av_vm *vm);

/*
 * Instruction insn of virtual EL1, at va, often traps in a copy: try to replace it with a
 * branch to a stub (mmu/annex.h). False: it will go on trapping. May sleep.
 */
bool av_mmu_want_stub(struct av_vcpu *vcpu, u64 va, u32 insn);

/* If PC is in a stub, move it out of the stub. May sleep. */
void av_mmu_settle(struct av_vcpu *vcpu);

static inline bool av_mmu_in_stub(const struct av_vcpu *vcpu)
{
	return vcpu->srf->in_place &&
	       unlikely(vcpu->srf->pc - vcpu->mmu->stubs < AV_STUB_AREA - AV_STUB_FIRST);
}

/* After a stay: if PC is in a stub, move it before or after the guest's instruction. */
static inline void av_mmu_leave_stub(struct av_vcpu *vcpu)
{
	if (av_mmu_in_stub(vcpu))
		av_mmu_settle(vcpu);
}

/*
 * Did the stub's own code end the last stay, for example by a fault of its push? The guest's
 * instruction cannot do that. If so, the guest runs without stubs for a while.
 */
bool av_mmu_stub_failed(struct av_vcpu *vcpu);

/* After a stay: follow if the window switched to the other exception level or to other TTBRs. */
void av_mmu_follow_window(struct av_vcpu *vcpu, int el);

static inline void av_mmu_follow(struct av_vcpu *vcpu)
{
	const struct av_srf *srf = vcpu->srf;
	int el = av_srf_el1(srf);

	if (unlikely(el != vcpu->mmu->el || !av_srf_at_pair(srf, vcpu->mmu->pair)))
		av_mmu_follow_window(vcpu, el);
}

/*
 * Call after a change of SCTLR_EL1, TCR_EL1 or MAIR_EL1; of a TTBR; of the virtual exception
 * level. Cheap: the next av_mmu_load() does the work.
 */
void av_mmu_regime_changed(struct av_vcpu *vcpu);
void av_mmu_ttbr_changed(struct av_vcpu *vcpu);
void av_mmu_mode_changed(struct av_vcpu *vcpu);

/*
 * An instruction or data abort from the guest (EC 0x20, 0x24), with ESR_EL1 and FAR_EL1 as the
 * hardware set them. May sleep.
 */
void av_mmu_fault(struct av_vcpu *vcpu, u64 esr, u64 far, struct av_answer *answer);

/* Is far in the page of the last device access? */
static inline bool av_mmu_near_device(const struct av_vcpu *vcpu, u64 far)
{
	return av_device_near(&vcpu->mmu->device, far);
}

/* An answer to resume or, with INJECT, to inject an abort. */
#define AV_LIGHT_DONE		BIT_ULL(0)		/* there is an answer */
#define AV_LIGHT_INJECT		BIT_ULL(1)
#define AV_LIGHT_CLASS		GENMASK_ULL(15, 8)	/* enum av_exit_class */
#define AV_LIGHT_ISS		GENMASK_ULL(63, 32)

/*
 * av_mmu_fault() at a light exit, with interrupts off. 0: not possible, use av_mmu_fault().
 * Aborts are injected only with may_inject.
 */
u64 av_mmu_fault_light(struct av_vcpu *vcpu, u64 esr, u64 far, bool may_inject);

/*
 * Fetch the instruction at va as the guest's current mode would. False: it cannot be fetched,
 * and *answer says what to do. May sleep.
 */
bool av_mmu_fetch_insn(struct av_vcpu *vcpu, u64 va, u32 *insn, struct av_answer *answer);

/* Access guest memory by physical address, in the VMM's context. -EFAULT: no memory there. */
int av_gpa_read(struct av_vm *vm, u64 gpa, void *buf, unsigned int len);
int av_gpa_write(struct av_vm *vm, u64 gpa, const void *buf, unsigned int len);
/* Is there memory at gpa, and, with write, is it writable? */
bool av_gpa_is_ram(struct av_vm *vm, u64 gpa, bool write);

/*
 * A trapped TLBI: sys is its encoding (AV_SYS()), xt its operand. May sleep. False: not a TLBI
 * of EL1 that this CPU has, inject UNDEF.
 */
bool av_mmu_tlbi(struct av_vcpu *vcpu, u32 sys, u64 xt);

/* The same at a light exit, with interrupts off. False: use av_mmu_tlbi(). */
bool av_mmu_tlbi_light(struct av_vcpu *vcpu, u32 sys, u64 xt);

/* A trapped AT S1E{0,1}{R,W}: *par is the new PAR_EL1. 0 or a negative errno. May sleep. */
int av_mmu_at(struct av_vcpu *vcpu, u32 sys, u64 va, u64 *par);

#endif /* AV_MMU_MMU_H */
