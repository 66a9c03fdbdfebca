/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mmu/ for the rest of the module.
 *
 * The run loop, for each entry:
 *
 *	av_mmu_load(vcpu)		may sleep; picks the shadow trees
 *	local_irq_disable()
 *	av_mmu_prepare_entry(vcpu, &e)	roots and identities for the switch
 *	... enter, exit, local_irq_enable()
 *
 * A tree that a vCPU has loaded is emptied by invalidations but never freed
 * before that vCPU loads another, so what prepare_entry gave stays good for
 * as long as the vCPU runs with it.
 *
 * Aborts end in an answer (vm/answer.h), which cpu/ carries out.
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

int av_mmu_vm_init(struct av_vm *vm);
void av_mmu_vm_destroy(struct av_vm *vm);

/* What the shadow tables map now, in pages and in blocks of 2 MiB. May sleep. */
void av_mmu_count_leaves(struct av_vm *vm, u64 *pages, u64 *blocks);
/*
 * Before the first vCPU is freed: the host's notifier and shrinker, which flush
 * what the vCPUs have cached, do not come any more; nothing of its memory is
 * mapped from here on.
 */
void av_mmu_vm_stop(struct av_vm *vm);
int av_mmu_vcpu_init(struct av_vcpu *vcpu);
void av_mmu_vcpu_destroy(struct av_vcpu *vcpu);

/*
 * Memory slots: KVM's rules and errnos. Take vm->slots_lock themselves. A protected VM's
 * are of a guest_memfd all, and neither logged nor read-only: -EPERM.
 */
int av_mmu_set_slot(struct av_vm *vm, const struct kvm_userspace_memory_region2 *mem);

/*
 * Protected VMs. KVM_CREATE_GUEST_MEMFD: a file's number, or -EINVAL, -EMFILE, -ENOMEM.
 */
int av_mmu_create_gmem(struct av_vm *vm, u64 size, u64 flags);

/*
 * Before the first run, with no ioctl of the VM under way: take its memory from all others,
 * and call fn for each slot, without a page, and then for each page of it that does not hold
 * zeroes, by address. 0; fn's errno; -EBUSY where somebody holds a page; -EINTR. After an
 * errno nothing has changed.
 */
typedef int av_measure_fn(void *ctx, u64 gpa, u64 size, const void *page);
int av_mmu_seal(struct av_vm *vm, av_measure_fn *fn, void *ctx);

/*
 * The guest of a sealed VM shares the page at gpa, or takes it back, in a time that does not
 * depend on its memory's size: 0; -EINVAL for what is no page, or is the other already;
 * -ENXIO, of sharing, where no memory is; -ENOMEM. -EAGAIN: without may_sleep, only the long
 * way can tell; else somebody holds the page, as a device's transfer does for a moment.
 */
int av_mmu_share(struct av_vm *vm, u64 gpa, bool may_sleep);
int av_mmu_unshare(struct av_vm *vm, u64 gpa, bool may_sleep);
int av_mmu_get_dirty_log(struct av_vm *vm, const struct kvm_dirty_log *log);
int av_mmu_clear_dirty_log(struct av_vm *vm, const struct kvm_clear_dirty_log *log);
/* KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2: -EINVAL for flags that are not known. */
int av_mmu_enable_manual_protect(struct av_vm *vm, u64 flags);

/*
 * Dirty rings. KVM_CAP_DIRTY_LOG_RING_ACQ_REL, of so many bytes for each vCPU;
 * KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP; KVM_RESET_DIRTY_RINGS: how many entries, or an errno.
 */
int av_mmu_enable_ring(struct av_vm *vm, u32 bytes);
int av_mmu_enable_ring_bitmap(struct av_vm *vm);
int av_mmu_reset_rings(struct av_vm *vm);
/* Is this page of a vCPU's file one of its ring? If so, which? */
bool av_mmu_is_ring_page(const struct av_vm *vm, unsigned long pgoff);
struct page *av_mmu_ring_page(struct av_vcpu *vcpu, unsigned long pgoff);
/* AV_REQ_RING: is the vCPU to stay out of the guest until its ring has room? Its own thread. */
bool av_mmu_ring_full(struct av_vcpu *vcpu);

/*
 * Where the vCPU goes on: the roots and serial numbers of its trees. After an
 * av_mmu_load() that succeeded; interrupts may be off.
 */
static inline void av_mmu_prepare_entry(struct av_vcpu *vcpu, struct av_entry *out)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;

	out->root0 = mmu->root[0]->pa;
	out->root1 = mmu->root[1]->pa;
	out->el = mmu->el;
	out->ttbr1[0] = mmu->ttbr1[0];
	out->ttbr1[1] = mmu->ttbr1[1];
	out->copies = mmu->copies;
	if (mmu->copies)
		mmu->stubs = READ_ONCE(vcpu->vm->mmu->annex.at.va) + AV_STUB_FIRST;
}

/* Load the shadow trees of the present registers and mode: 0 or -ENOMEM. */
int av_mmu_load(struct av_vcpu *vcpu);

/*
 * The same between two stays, after a write of a TTBR by virtual EL1 and nothing else: with
 * interrupts off. False: that takes more, and av_mmu_load() is to do it before the next stay.
 */
bool av_mmu_load_now(struct av_vcpu *vcpu);

/* Copies have been left: for how much longer? Asked after so many entries. */
#define AV_PLAIN_LOOK	32
void av_mmu_count_plain(struct av_vcpu *vcpu);

/*
 * May virtual EL1 run from patched copies of its code (mmu/copies.h), and the
 * window change the trees by itself? Before av_mmu_load().
 */
static inline void av_mmu_want(struct av_vcpu *vcpu, bool copies, bool roots)
{
	struct av_vcpu_mmu *mmu = vcpu->mmu;

	if (unlikely(mmu->plain) && !(--mmu->plain % AV_PLAIN_LOOK))
		av_mmu_count_plain(vcpu);
	if (unlikely(mmu->want_copies != copies || mmu->want_roots != roots)) {
		mmu->want_copies = copies;
		mmu->want_roots = roots;
		mmu->regimes++;
		mmu->stale |= AV_STALE_REGS;
	}
}

/* The VMM may have written to the guest's code by its own mapping. May sleep. */
void av_mmu_forget_copies(struct av_vm *vm);

/* A vCPU starts anew, maybe with another kernel: that, and no stubs. May sleep. */
void av_mmu_forget_code(struct av_vm *vm);

/*
 * The instruction insn at va, of virtual EL1's, trapped in a copy, and often: see
 * to it that it does not any more (mmu/annex.h). False: it will. May sleep.
 */
bool av_mmu_want_stub(struct av_vcpu *vcpu, u64 va, u32 insn);

/* Take PC out of a stub, if it is in one. May sleep. */
void av_mmu_settle(struct av_vcpu *vcpu);

static inline bool av_mmu_in_stub(const struct av_vcpu *vcpu)
{
	return vcpu->srf->in_place &&
	       unlikely(vcpu->srf->pc - vcpu->mmu->stubs < AV_STUB_AREA - AV_STUB_FIRST);
}

/* After a stay: if PC is in a stub, it is before or after the guest's instruction now. */
static inline void av_mmu_leave_stub(struct av_vcpu *vcpu)
{
	if (av_mmu_in_stub(vcpu))
		av_mmu_settle(vcpu);
}

/*
 * Was what the last stay ended with a stub's own, as a fault of its push? The guest's
 * instruction has no such thing. If so, the guest runs without stubs for a while.
 */
bool av_mmu_stub_failed(struct av_vcpu *vcpu);

/* After a stay: has the window gone to the other exception level, or to other TTBRs? */
void av_mmu_follow_window(struct av_vcpu *vcpu, int el);

static inline void av_mmu_follow(struct av_vcpu *vcpu)
{
	const struct av_srf *srf = vcpu->srf;
	int el = av_srf_el1(srf);

	if (unlikely(el != vcpu->mmu->el || srf->roots_at != vcpu->mmu->pair))
		av_mmu_follow_window(vcpu, el);
}

/*
 * After a change of SCTLR, TCR, MAIR; of TTBRn; of the virtual exception level.
 * Cheap: the next av_mmu_load() looks.
 */
void av_mmu_regime_changed(struct av_vcpu *vcpu);
void av_mmu_ttbr_changed(struct av_vcpu *vcpu);
void av_mmu_mode_changed(struct av_vcpu *vcpu);

/*
 * An instruction or data abort from the guest (EC 0x20 and 0x24), with ESR_EL1
 * and FAR_EL1 as the hardware set them. May sleep.
 */
void av_mmu_fault(struct av_vcpu *vcpu, u64 esr, u64 far, struct av_answer *answer);

/* Is far in the page of the device accessed last? */
static inline bool av_mmu_near_device(const struct av_vcpu *vcpu, u64 far)
{
	return av_device_near(&vcpu->mmu->device, far);
}

/*
 * The same between two stays, with interrupts off. NULL: not at hand, to be done
 * the long way. Else the answer is to resume, or with may_inject an abort to inject.
 */
const struct av_answer *av_mmu_fault_light(struct av_vcpu *vcpu, u64 esr, u64 far, bool may_inject);

/*
 * The instruction at va, as the guest's present mode would fetch it. False: it
 * cannot be had, and the answer says what to do.
 */
bool av_mmu_fetch_insn(struct av_vcpu *vcpu, u64 va, u32 *insn, struct av_answer *answer);

/* Guest memory by physical address, in the VMM's context; -EFAULT on a hole. */
int av_gpa_read(struct av_vm *vm, u64 gpa, void *buf, unsigned int len);
int av_gpa_write(struct av_vm *vm, u64 gpa, const void *buf, unsigned int len);
/* Is there memory at gpa, and with write not only to be read? */
bool av_gpa_is_ram(struct av_vm *vm, u64 gpa, bool write);

/*
 * A trapped TLBI: sys is its encoding (AV_SYS()), xt its operand. False when
 * the encoding is no TLBI of EL1 that this CPU has: inject UNDEF.
 */
bool av_mmu_tlbi(struct av_vcpu *vcpu, u32 sys, u64 xt);

/* The same between two stays, with interrupts off. False: it is to be done the long way. */
bool av_mmu_tlbi_light(struct av_vcpu *vcpu, u32 sys, u64 xt);

/* A trapped AT S1E{0,1}{R,W}: *par as PAR_EL1 then reads. 0 or a negative errno. */
int av_mmu_at(struct av_vcpu *vcpu, u32 sys, u64 va, u64 *par);

#endif /* AV_MMU_MMU_H */
