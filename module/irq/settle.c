// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts that the window acknowledges and ends (cpu/fast.c): leases (vgic.h).
 *
 * srf->icc says what the guest did. The window changes it while the vCPU is in the guest, and C
 * code only outside, under vm->irq->lock. So another thread that holds the lock may settle a vCPU
 * that it keeps out of the guest: it raises AV_REQ_LEASE, and then finds in_guest clear. The vCPU
 * takes the lock for that request before it enters again.
 */
#include <linux/sched.h>

#include "irq/irq.h"

void av_irq_offer(struct av_vcpu *vcpu)
{
	struct av_vm *vm = vcpu->vm;
	u32 intid;

	if (!vm->irq->ready || READ_ONCE(vcpu->srf->icc))
		return;
	spin_lock_irq(&vm->irq->lock);
	intid = av_vgic_lease(&vm->irq->chip->vgic, &vcpu->irq->gic);
	if (intid != AV_VGIC_SPURIOUS)
		vcpu->srf->icc = AV_ICC_OFFERED | intid;
	spin_unlock_irq(&vm->irq->lock);
}

static void settle(struct av_vcpu *vcpu)
{
	struct av_vgic *vgic = &vcpu->vm->irq->chip->vgic;
	u64 icc = vcpu->srf->icc, pmr = vcpu->srf->icc_pmr;
	struct av_vgic_cpu *gic = &vcpu->irq->gic;

	WRITE_ONCE(vcpu->srf->icc, icc & AV_ICC_TAKEN ? icc & ~AV_ICC_UNSETTLED : 0);
	if (icc & AV_ICC_OFFERED) {
		av_vgic_lease_end(vgic, gic, AV_LEASE_BACK);
		WRITE_ONCE(gic->acknowledges, false);
	}
	if (icc & AV_ICC_ENDED)
		av_vgic_lease_end(vgic, gic, AV_LEASE_ENDED);
	if (icc & AV_ICC_MASKED)
		av_vgic_icc(vgic, gic, AV_ICC_PMR_EL1, true, &pmr);
	/* No SPI with a resampler is leased, so cpu->deactivated was not set. */
}

void av_irq_settle(struct av_vcpu *vcpu)
{
	spin_lock_irq(&vcpu->vm->irq->lock);
	settle(vcpu);
	spin_unlock_irq(&vcpu->vm->irq->lock);
}

static void give_back(struct av_vcpu *vcpu)
{
	settle(vcpu);
	if (!vcpu->srf->icc)
		return;
	WRITE_ONCE(vcpu->srf->icc, 0);
	av_vgic_lease_end(&vcpu->vm->irq->chip->vgic, &vcpu->irq->gic, AV_LEASE_KEPT);
}

void av_irq_give_back(struct av_vcpu *vcpu)
{
	spin_lock_irq(&vcpu->vm->irq->lock);
	give_back(vcpu);
	spin_unlock_irq(&vcpu->vm->irq->lock);
}

/* Is the vCPU in the guest, and has not taken the request yet? An IPI is on its way. */
static bool is_coming(struct av_vcpu *vcpu)
{
	/* Pairs with the release in enter_guest(). */
	return smp_load_acquire(&vcpu->in_guest) && test_bit(AV_REQ_LEASE, &vcpu->requests);
}

void av_irq_end_leases(struct av_vm *vm, u32 intid, u32 n)
	__must_hold(&vm->irq->lock)
{
	struct av_vgic *vgic = &vm->irq->chip->vgic;
	struct av_vgic_cpu *gic = av_vgic_lessee(vgic, intid, n);
	struct av_vcpu *vcpu;

	/* No new lease meanwhile: as many rounds as there are leases. */
	vgic->observers++;
	for (; gic; gic = av_vgic_lessee(vgic, intid, n)) {
		vcpu = av_vgic_vcpu(gic);
		av_vcpu_request(vcpu, AV_REQ_LEASE);
		av_vcpu_kick(vcpu);
		/* Pairs with the release in enter_guest(). */
		if (!smp_load_acquire(&vcpu->in_guest)) {
			give_back(vcpu);
			continue;
		}
		spin_unlock_irq(&vm->irq->lock);
		while (is_coming(vcpu)) {
			cpu_relax();
			cond_resched();
		}
		spin_lock_irq(&vm->irq->lock);
	}
	vgic->observers--;
}

void av_irq_observe_leased(struct av_vm *vm, const struct av_vgic_io *io, bool write)
{
	u32 intid, n = av_vgic_dist_observes(io, write, &intid);

	if (n)
		av_irq_end_leases(vm, intid, n);
}
