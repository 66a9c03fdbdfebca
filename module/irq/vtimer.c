// SPDX-License-Identifier: GPL-2.0
/*
 * The timers of a vCPU on the host: one hrtimer for whichever expires first.
 *
 * Only the vCPU's own thread, or an ioctl under vcpu->mutex, accesses the
 * timers. A write sets recheck. Before the next entry av_timer_sync() passes
 * the lines to the vGIC and starts the hrtimer, once for any number of writes.
 * The hrtimer sets recheck and kicks; only the counter says whether a timer has
 * expired.
 */
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <asm/barrier.h>
#include <asm/sysreg.h>

#include "compat/irq.h"
#include "irq/irq.h"
#include "lib/counter.h"

/* PPIs of the timers, unless the VMM sets others. */
#define AV_PPI_VIRT	27
#define AV_PPI_PHYS	30

/* The longest sleep: keeps ticks × 10⁹ in range. */
#define AV_TIMER_MAX_SECONDS	3600

#define CNT(crm, op2)	AV_SYS(3, 3, 14, crm, op2)
#define CNTFRQ		CNT(0, 0)
#define CNTPCT		CNT(0, 1)
#define CNTVCT		CNT(0, 2)
#define CNTPCTSS	CNT(0, 5)
#define CNTVCTSS	CNT(0, 6)
#define CNTP_TVAL	CNT(2, 0)
#define CNTP_CTL	CNT(2, 1)
#define CNTP_CVAL	CNT(2, 2)
#define CNTV_TVAL	CNT(3, 0)
#define CNTV_CTL	CNT(3, 1)
#define CNTV_CVAL	CNT(3, 2)

/* The guest's virtual or physical counter: the host's, less the VMM's offset. */
static u64 guest_counter(struct av_vm *vm, enum av_timer_id id)
{
	return av_counter() - READ_ONCE(vm->irq->cnt_offset[id]);
}

static enum hrtimer_restart expired(struct hrtimer *hrtimer)
{
	struct av_vcpu *vcpu = container_of(hrtimer, struct av_vcpu_irq, hrtimer)->vcpu;

	/* Whoever sees recheck must also see the hrtimer dequeued: pairs with av_timer_sync(). */
	smp_mb();
	WRITE_ONCE(vcpu->irq->recheck, true);
	av_vcpu_kick(vcpu);
	return HRTIMER_NORESTART;
}

static u64 ticks_to_ns(u64 ticks)
{
	u32 freq = read_sysreg(cntfrq_el0);

	if (!freq || ticks / freq >= AV_TIMER_MAX_SECONDS)
		return (u64)AV_TIMER_MAX_SECONDS * NSEC_PER_SEC;
	/* Round up: waking up early would be useless. */
	return mul_u64_u32_div(ticks, NSEC_PER_SEC, freq) + 1;
}

/* Start the hrtimer to expire in @in ticks, or stop it. */
static void arm(struct av_vcpu *vcpu, bool any, u64 in)
{
	struct av_vcpu_irq *irq = vcpu->irq;
	u64 deadline = av_counter() + in;

	if (!any) {
		/* If the hrtimer expires right now, one extra check does no harm. */
		if (irq->armed)
			hrtimer_try_to_cancel(&irq->hrtimer);
		irq->armed = false;
		return;
	}
	if (irq->armed && irq->deadline == deadline && hrtimer_is_queued(&irq->hrtimer))
		return;
	irq->armed = true;
	irq->deadline = deadline;
	hrtimer_start(&irq->hrtimer, ns_to_ktime(ticks_to_ns(in)), HRTIMER_MODE_REL_PINNED);
}

static void set_line(struct av_vcpu *vcpu, enum av_timer_id id, bool level)
{
	struct av_vm *vm = vcpu->vm;

	if (vcpu->irq->line[id] == level)
		return;
	vcpu->irq->line[id] = level;
	if (vm->irq->ready)
		av_irq_inject(vm, vcpu, vm->irq->ppi[id], level, true);
}

/*
 * Let the window read CNTV_CTL_EL0 only while time cannot change it: the timer
 * is off, or has expired.
 */
static void show(struct av_vcpu *vcpu, u64 now)
{
	const struct av_timer *timer = &vcpu->irq->timer[AV_TIMER_VIRT];
	u64 ctl = av_timer_read(timer, AV_TIMER_CTL, now);
	bool known = !(ctl & AV_TIMER_ENABLE) || ctl & AV_TIMER_ISTATUS;

	vcpu->srf->cntv_ctl = ctl | (known ? AV_CNTV_KNOWN : 0);
	vcpu->srf->cntv_cval = timer->cval;
}

void av_timer_sync(struct av_vcpu *vcpu)
{
	struct av_vcpu_irq *irq = vcpu->irq;
	u64 now, in, first = ~0ULL;
	unsigned int id;
	bool any = false;

	WRITE_ONCE(irq->recheck, false);
	/* Clear recheck before reading timers and counter: a later expiry sets it again. */
	smp_mb();
	for (id = 0; id < AV_NR_TIMERS; id++) {
		now = guest_counter(vcpu->vm, id);
		set_line(vcpu, id, av_timer_line(&irq->timer[id], now));
		if (id == AV_TIMER_VIRT)
			show(vcpu, now);
		if (av_timer_armed(&irq->timer[id], now, &in)) {
			any = true;
			first = min(first, in);
		}
	}
	arm(vcpu, any, first);
}

static bool decode(u32 reg, enum av_timer_id *id, enum av_timer_reg *which)
{
	switch (reg) {
	case CNTP_TVAL:
	case CNTV_TVAL:
		*which = AV_TIMER_TVAL;
		break;
	case CNTP_CTL:
	case CNTV_CTL:
		*which = AV_TIMER_CTL;
		break;
	case CNTP_CVAL:
	case CNTV_CVAL:
		*which = AV_TIMER_CVAL;
		break;
	default:
		return false;
	}
	*id = FIELD_GET(AV_SYS_CRM, reg) == 3 ? AV_TIMER_VIRT : AV_TIMER_PHYS;
	return true;
}

static bool read_counter(struct av_vm *vm, u32 reg, u64 *val)
{
	switch (reg) {
	case CNTFRQ:
		*val = read_sysreg(cntfrq_el0);
		return true;
	case CNTPCT:
	case CNTPCTSS:
		*val = guest_counter(vm, AV_TIMER_PHYS);
		return true;
	case CNTVCT:
	case CNTVCTSS:
		*val = guest_counter(vm, AV_TIMER_VIRT);
		return true;
	}
	return false;
}

bool av_timer_access(struct av_vcpu *vcpu, u32 reg, bool write, u64 *val)
{
	struct av_timer *timer;
	enum av_timer_reg which;
	enum av_timer_id id;
	u64 now;

	if (!decode(reg, &id, &which))
		return !write && read_counter(vcpu->vm, reg, val);
	timer = &vcpu->irq->timer[id];
	now = guest_counter(vcpu->vm, id);
	if (write)
		av_timer_write(timer, which, *val, now);
	else
		*val = av_timer_read(timer, which, now);
	/* The hrtimer is late. Where ISTATUS was read as 1, the interrupt pends. */
	if (write || av_timer_line(timer, now) != vcpu->irq->line[id])
		WRITE_ONCE(vcpu->irq->recheck, true);
	return true;
}

/* ---- life -------------------------------------------------------------------- */

void av_timer_vm_init(struct av_vm *vm)
{
	vm->irq->ppi[AV_TIMER_VIRT] = AV_PPI_VIRT;
	vm->irq->ppi[AV_TIMER_PHYS] = AV_PPI_PHYS;
	vm->irq->cnt_created = av_counter();
}

void av_timer_vcpu_init(struct av_vcpu *vcpu)
{
	/* Like the counter, this clock runs while the machine is suspended. */
	av_hrtimer_setup(&vcpu->irq->hrtimer, expired, CLOCK_BOOTTIME, HRTIMER_MODE_REL_PINNED);
}

void av_timer_vcpu_destroy(struct av_vcpu *vcpu)
{
	hrtimer_cancel(&vcpu->irq->hrtimer);
}

void av_timer_reset(struct av_vcpu *vcpu)
{
	memset(vcpu->irq->timer, 0, sizeof(vcpu->irq->timer));
	WRITE_ONCE(vcpu->irq->recheck, true);
}

/* A vCPU's PMU may own the PPI of a timer. */
static bool ppis_are_free(struct av_vm *vm)
{
	struct av_vcpu *vcpu;
	unsigned int i, id;

	av_for_each_vcpu(i, vcpu, vm)
		for (id = 0; id < AV_NR_TIMERS; id++)
			if (vcpu->irq->gic.private[vm->irq->ppi[id]].owned)
				return false;
	return true;
}

int av_timer_first_run(struct av_vm *vm)
{
	struct av_vcpu *vcpu;
	unsigned long flags;
	unsigned int i, id;

	if (vm->irq->ppi[AV_TIMER_VIRT] == vm->irq->ppi[AV_TIMER_PHYS] || !ppis_are_free(vm))
		return -EINVAL;
	av_for_each_vcpu(i, vcpu, vm) {
		spin_lock_irqsave(&vm->irq->lock, flags);
		for (id = 0; id < AV_NR_TIMERS; id++) {
			struct av_virq *irq = &vcpu->irq->gic.private[vm->irq->ppi[id]];

			/* From here on only av_timer_sync() drives the line. */
			irq->owned = true;
			irq->line = vcpu->irq->line[id];
			av_virq_changed(&vm->irq->chip->vgic, &vcpu->irq->gic, irq, vm->irq->ppi[id]);
		}
		spin_unlock_irqrestore(&vm->irq->lock, flags);
		WRITE_ONCE(vcpu->irq->recheck, true);
		cond_resched();
	}
	return 0;
}

/* ---- the VMM's registers and attributes ----------------------------------------- */

/* In KVM's ABI the ids of the virtual timer's CVAL and CNT are swapped. */
static bool decode_id(u64 id, enum av_timer_id *timer, enum av_timer_reg *which)
{
	switch (id) {
	case KVM_REG_ARM_TIMER_CTL:
	case KVM_REG_ARM_PTIMER_CTL:
		*which = AV_TIMER_CTL;
		break;
	case KVM_REG_ARM_TIMER_CVAL:
	case KVM_REG_ARM_PTIMER_CVAL:
		*which = AV_TIMER_CVAL;
		break;
	case KVM_REG_ARM_TIMER_CNT:
	case KVM_REG_ARM_PTIMER_CNT:
		*which = AV_TIMER_CNT;
		break;
	default:
		return false;
	}
	*timer = id == KVM_REG_ARM_PTIMER_CTL || id == KVM_REG_ARM_PTIMER_CVAL ||
		 id == KVM_REG_ARM_PTIMER_CNT ? AV_TIMER_PHYS : AV_TIMER_VIRT;
	return true;
}

int av_timer_reg_get(struct av_vcpu *vcpu, u64 id, u64 *val)
{
	enum av_timer_reg which;
	enum av_timer_id t;
	u64 now;

	if (!decode_id(id, &t, &which))
		return -ENOENT;
	now = guest_counter(vcpu->vm, t);
	if (which == AV_TIMER_CNT)
		*val = now;
	else if (which == AV_TIMER_CVAL)
		*val = vcpu->irq->timer[t].cval;
	else
		*val = av_timer_user_ctl(&vcpu->irq->timer[t], now);
	return 0;
}

/* A counter has jumped: every vCPU's timers may be due. */
static void recheck_all(struct av_vm *vm)
{
	struct av_vcpu *vcpu;
	unsigned int i;

	av_for_each_vcpu(i, vcpu, vm) {
		WRITE_ONCE(vcpu->irq->recheck, true);
		av_vcpu_kick(vcpu);
	}
}

/*
 * With an offset, each read of the virtual counter traps. Before the first run
 * a VMM may write back a value that it read from this VM, as QEMU does. That is
 * not a restore: the offset stays zero.
 */
static void set_counter(struct av_vm *vm, enum av_timer_id id, u64 val)
{
	u64 now = av_counter();

	mutex_lock(&vm->config_lock);
	if (!vm->irq->cnt_fixed) {
		if (vm->has_run || val < vm->irq->cnt_created || val > now)
			WRITE_ONCE(vm->irq->cnt_offset[id], now - val);
		else
			WRITE_ONCE(vm->irq->cnt_offset[id], 0);
	}
	mutex_unlock(&vm->config_lock);
	recheck_all(vm);
}

int av_timer_set_offset(struct av_vm *vm, u64 offset)
{
	if (!av_vm_try_stop_vcpus(vm))
		return -EBUSY;
	mutex_lock(&vm->config_lock);
	vm->irq->cnt_fixed = true;
	WRITE_ONCE(vm->irq->cnt_offset[AV_TIMER_VIRT], offset);
	WRITE_ONCE(vm->irq->cnt_offset[AV_TIMER_PHYS], offset);
	mutex_unlock(&vm->config_lock);
	recheck_all(vm);
	av_vm_release_vcpus(vm);
	return 0;
}

int av_timer_reg_set(struct av_vcpu *vcpu, u64 id, u64 val)
{
	enum av_timer_reg which;
	enum av_timer_id t;

	if (!decode_id(id, &t, &which))
		return -ENOENT;
	if (which == AV_TIMER_CNT)
		set_counter(vcpu->vm, t, val);
	else
		av_timer_write(&vcpu->irq->timer[t], which, val, 0);
	WRITE_ONCE(vcpu->irq->recheck, true);
	return 0;
}

static int attr_timer(const struct kvm_device_attr *attr, enum av_timer_id *id)
{
	switch (attr->attr) {
	case KVM_ARM_VCPU_TIMER_IRQ_VTIMER:
		*id = AV_TIMER_VIRT;
		return 0;
	case KVM_ARM_VCPU_TIMER_IRQ_PTIMER:
		*id = AV_TIMER_PHYS;
		return 0;
	}
	return -ENXIO;
}

int av_timer_set_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr)
{
	int __user *uaddr = u64_to_user_ptr(attr->addr);
	struct av_vm *vm = vcpu->vm;
	enum av_timer_id id;
	int ppi, r;

	if (!av_irqchip_created(vm))
		return -EINVAL;
	if (get_user(ppi, uaddr))
		return -EFAULT;
	if (ppi < AV_VGIC_SGIS || ppi >= AV_VGIC_PRIVATE)
		return -EINVAL;
	mutex_lock(&vm->config_lock);
	if (vm->has_run) {
		r = -EBUSY;
	} else {
		r = attr_timer(attr, &id);
		if (!r)
			vm->irq->ppi[id] = ppi;
	}
	mutex_unlock(&vm->config_lock);
	return r;
}

int av_timer_get_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr)
{
	int __user *uaddr = u64_to_user_ptr(attr->addr);
	enum av_timer_id id;
	int r = attr_timer(attr, &id);

	return r ? r : put_user((int)vcpu->vm->irq->ppi[id], uaddr);
}

int av_timer_has_attr(struct av_vcpu *vcpu, const struct kvm_device_attr *attr)
{
	enum av_timer_id id;

	return attr_timer(attr, &id);
}
