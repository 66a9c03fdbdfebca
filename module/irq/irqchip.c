// SPDX-License-Identifier: GPL-2.0
/*
 * The vGIC of a VM: its life, its lock, and its callers.
 *
 * vCPU threads, ioctls and eventfd wake-ups (under the eventfd's own lock) take
 * vm->irq->lock, always with interrupts off. Only av_vcpu_kick() is called
 * under it. LPIs and ITSs have another lock: msi.h. settle.c has what the window does.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "irq/inject.h"
#include "irq/irqchip.h"
#include "irq/irq.h"
#include "irq/route.h"

/* MPIDR_EL1 */
#define MPIDR_LOW	GENMASK_ULL(23, 0)	/* Aff2 to Aff0 */
#define MPIDR_AFF3	GENMASK_ULL(39, 32)

static_assert(AV_MAX_VCPUS <= AV_VGIC_MAX_CPUS);

/* The accessing vCPU needs no kick: it checks its outputs before the next entry. */
static void vgic_kick(struct av_vgic *vgic, struct av_vgic_cpu *gic)
{
	av_vcpu_kick(av_vgic_vcpu(gic));
}

static bool vgic_is_last(const struct av_vgic *vgic, const struct av_vgic_cpu *gic)
{
	const struct av_irqchip *chip = container_of(vgic, struct av_irqchip, vgic);

	return av_layout_is_last(&chip->layout, gic->index);
}

/* These ops take the lock in process context only, with interrupts on. */
static void vgic_lock(struct av_vgic *vgic) __acquires(&av_vgic_vm(vgic)->irq->lock)
{
	spin_lock_irq(&av_vgic_vm(vgic)->irq->lock);
}

static void vgic_unlock(struct av_vgic *vgic) __releases(&av_vgic_vm(vgic)->irq->lock)
{
	spin_unlock_irq(&av_vgic_vm(vgic)->irq->lock);
}

static bool vgic_rest(struct av_vgic *vgic)
{
	cond_resched();
	return fatal_signal_pending(current);
}

static const struct av_vgic_ops av_vgic_host_ops = {
	.kick = vgic_kick,
	.is_last = vgic_is_last,
	.lock = vgic_lock,
	.unlock = vgic_unlock,
	.rest = vgic_rest,
	.read = av_msi_read,
	.write = av_msi_write,
	.is_ram = av_msi_is_ram,
	.mem = &av_msi_allocator,
};

int av_irq_vm_init(struct av_vm *vm)
{
	spin_lock_init(&vm->irq->lock);
	mutex_init(&vm->irq->msi_lock);
	av_timer_vm_init(vm);
	av_irqfd_vm_init(vm);
	return 0;
}

void av_irq_vm_destroy(struct av_vm *vm)
{
	av_irqfd_vm_destroy(vm);
	av_route_destroy(vm);
	if (vm->irq->chip)
		kvfree(vm->irq->chip->vgic.spis);
	kvfree(vm->irq->chip);
	vm->irq->chip = NULL;
}

/* ---- vCPUs --------------------------------------------------------------- */

static int add_vcpu(struct av_vm *vm, struct av_vcpu *vcpu)
{
	struct av_irqchip *chip = vm->irq->chip;
	unsigned long flags;
	int r;

	if (chip->vgic.initialized)
		return -EBUSY;
	r = av_layout_add_cpu(&chip->layout, chip->vgic.nr_cpus + 1);
	if (r)
		return r;
	spin_lock_irqsave(&vm->irq->lock, flags);
	av_vgic_add_cpu(&chip->vgic, &vcpu->irq->gic);
	spin_unlock_irqrestore(&vm->irq->lock, flags);
	return 0;
}

int av_irq_vcpu_init(struct av_vcpu *vcpu)
{
	struct av_vm *vm = vcpu->vm;
	int r = 0;

	av_vgic_cpu_init(&vcpu->irq->gic, vcpu->id);
	/* As in KVM: before KVM_ARM_VCPU_INIT (av_mpidr_init()) its affinity is 0. */
	vcpu->irq->gic.mpidr = 0;
	vcpu->irq->vcpu = vcpu;
	av_timer_vcpu_init(vcpu);
	mutex_lock(&vm->config_lock);
	if (vm->irq->created)
		r = add_vcpu(vm, vcpu);
	mutex_unlock(&vm->config_lock);
	return r;
}

void av_irq_set_mpidr(struct av_vcpu *vcpu, u64 mpidr)
{
	u32 affinity = (u32)(FIELD_GET(MPIDR_AFF3, mpidr) << 24 | (mpidr & MPIDR_LOW));

	WRITE_ONCE(vcpu->irq->gic.mpidr, affinity);
}

void av_irq_suspend(struct av_vcpu *vcpu, bool suspended)
{
	struct av_vm_irq *irq = vcpu->vm->irq;
	unsigned long flags;

	if (!READ_ONCE(irq->ready))
		return;
	spin_lock_irqsave(&irq->lock, flags);
	vcpu->irq->gic.suspended = suspended;
	av_vgic_update_cpu(&irq->chip->vgic, &vcpu->irq->gic);
	spin_unlock_irqrestore(&irq->lock, flags);
}

/* Remove a vCPU whose creation failed later; it is always the last one. */
static void del_vcpu(struct av_vm *vm, struct av_vcpu *vcpu)
{
	struct av_irqchip *chip = vm->irq->chip;
	unsigned long flags;

	if (!chip->vgic.nr_cpus || chip->vgic.cpus[chip->vgic.nr_cpus - 1] != &vcpu->irq->gic)
		return;
	spin_lock_irqsave(&vm->irq->lock, flags);
	chip->vgic.cpus[--chip->vgic.nr_cpus] = NULL;
	spin_unlock_irqrestore(&vm->irq->lock, flags);
	av_layout_unplace(&chip->layout, chip->vgic.nr_cpus);
}

void av_irq_vcpu_destroy(struct av_vcpu *vcpu)
{
	struct av_vm *vm = vcpu->vm;

	av_timer_vcpu_destroy(vcpu);
	mutex_lock(&vm->config_lock);
	if (vm->irq->created && !vm->irq->chip->vgic.initialized)
		del_vcpu(vm, vcpu);
	mutex_unlock(&vm->config_lock);
}

/* ---- the device ----------------------------------------------------------- */

/* Get the vGIC's state. An ITS needs it even before the vGIC is created. config_lock held. */
static struct av_irqchip *get_chip(struct av_vm *vm)
{
	struct av_irqchip *chip = vm->irq->chip;

	if (chip)
		return chip;
	chip = kvzalloc(sizeof(*chip), GFP_KERNEL_ACCOUNT);
	if (!chip)
		return NULL;
	chip->vm = vm;
	chip->vgic.ops = &av_vgic_host_ops;
	vm->irq->chip = chip;
	return chip;
}

int av_irqchip_add_its(struct av_vm *vm)
{
	struct av_irqchip *chip = get_chip(vm);

	if (!chip)
		return -ENOMEM;
	spin_lock_irq(&vm->irq->lock);
	chip->vgic.has_its = true;
	chip->vgic.propbaser = AV_LPI_BASE_RESET;
	spin_unlock_irq(&vm->irq->lock);
	WRITE_ONCE(vm->irq->its_created, vm->irq->its_created + 1);
	return 0;
}

/* Creating the ITS's file failed, or the VM is being destroyed. */
void av_irqchip_del_its(struct av_vm *vm)
{
	mutex_lock(&vm->config_lock);
	WRITE_ONCE(vm->irq->its_created, vm->irq->its_created - 1);
	spin_lock_irq(&vm->irq->lock);
	vm->irq->chip->vgic.has_its = vm->irq->its_created;
	spin_unlock_irq(&vm->irq->lock);
	mutex_unlock(&vm->config_lock);
}

/* Start with the ITSs and vCPUs that exist already. config_lock held. */
static void init_chip(struct av_vm *vm, struct av_irqchip *chip)
{
	struct av_vcpu *vcpu;
	unsigned int i;

	memset(&chip->vgic, 0, sizeof(chip->vgic));
	chip->vgic.ops = &av_vgic_host_ops;
	if (vm->irq->its_created) {
		chip->vgic.has_its = true;
		chip->vgic.propbaser = AV_LPI_BASE_RESET;
	}
	av_layout_init(&chip->layout, vm->ipa_bits);
	av_for_each_vcpu(i, vcpu, vm)
		av_vgic_add_cpu(&chip->vgic, &vcpu->irq->gic);
}

/* KVM_CREATE_DEVICE; vm->lock held. */
int av_irqchip_create(struct av_vm *vm)
{
	struct av_irqchip *chip;
	int r = 0;

	if (vm->irq->created)
		return -EEXIST;
	mutex_lock(&vm->config_lock);
	if (vm->has_run) {
		r = -EBUSY;
		goto unlock;
	}
	chip = get_chip(vm);
	if (!chip) {
		r = -ENOMEM;
		goto unlock;
	}
	init_chip(vm, chip);
	/* Pairs with the acquire in av_irqchip_of(). */
	smp_store_release(&vm->irq->created, true);
unlock:
	mutex_unlock(&vm->config_lock);
	return r;
}

/* Creating the vGIC's file failed: the VM has no vGIC, but keeps the memory. */
void av_irqchip_undo(struct av_vm *vm)
{
	mutex_lock(&vm->config_lock);
	WRITE_ONCE(vm->irq->created, false);
	mutex_unlock(&vm->config_lock);
}

/* KVM_DEV_ARM_VGIC_CTRL_INIT; config_lock held. */
int av_irqchip_init(struct av_vm *vm)
{
	struct av_vgic *vgic = &vm->irq->chip->vgic;
	struct av_virq *spis;
	unsigned long flags;
	int r;

	if (vgic->initialized)
		return 0;
	if (!vgic->nr_spis)
		vgic->nr_spis = AV_VGIC_NR_DEFAULT - AV_VGIC_PRIVATE;
	spis = kvcalloc(vgic->nr_spis, sizeof(*spis), GFP_KERNEL_ACCOUNT);
	if (!spis)
		return -ENOMEM;
	r = av_route_default(vm, vgic->nr_spis);
	if (r) {
		kvfree(spis);
		return r;
	}
	spin_lock_irqsave(&vm->irq->lock, flags);
	av_vgic_init(vgic, spis);
	spin_unlock_irqrestore(&vm->irq->lock, flags);
	return 0;
}

bool av_irq_has_icc(struct av_vm *vm)
{
	return !READ_ONCE(vm->has_run) || av_irqchip_created(vm);
}

int av_irq_first_run(struct av_vcpu *vcpu, int other)
{
	struct av_vm *vm = vcpu->vm;
	struct av_irqchip *chip;
	int r = 0;

	mutex_lock(&vm->config_lock);
	chip = av_irqchip_of(vm);
	if (chip && !vm->irq->ready) {
		r = av_layout_check(&chip->layout, chip->vgic.nr_cpus);
		if (!r && !chip->vgic.initialized)
			r = -EBUSY;
		if (r)
			WRITE_ONCE(vm->refused, true);
		else
			r = av_timer_first_run(vm);
		if (!r)
			/* Pairs with the acquire in av_vgic_mmio(). */
			smp_store_release(&vm->irq->ready, true);
	}
	r = r ?: other;
	if (!r)
		WRITE_ONCE(vm->has_run, true);
	mutex_unlock(&vm->config_lock);
	return r;
}

/* ---- callers ---------------------------------------------------------------- */

/* ICC_SGI1R_EL1, ICC_ASGI1R_EL1, ICC_SGI0R_EL1 */
static bool is_sgi(u32 reg)
{
	return reg >= AV_ICC(11, 5) && reg <= AV_ICC(11, 7);
}

bool av_icc_access(struct av_vcpu *vcpu, u32 reg, bool write, u64 *val)
{
	struct av_vm *vm = vcpu->vm;
	struct av_vgic_cpu *gic = &vcpu->irq->gic;
	u32 deactivated;
	bool known;

	if (!vm->irq->ready)
		return false;
	spin_lock_irq(&vm->irq->lock);
	/* With EOImode 1 it ends another vCPU's interrupt, too. */
	if (unlikely(reg == AV_ICC_DIR_EL1) && write)
		av_irq_end_leases(vm, *val & GENMASK(23, 0), 1);
	/* End the lease: later accesses for this interrupt trap too. SGIs concern others. */
	if (vcpu->srf->icc && !is_sgi(reg)) {
		vcpu->srf->icc = 0;
		av_vgic_lease_end(&vm->irq->chip->vgic, gic, AV_LEASE_KEPT);
	}
	known = av_vgic_icc(&vm->irq->chip->vgic, gic, reg, write, val);
	deactivated = gic->deactivated;
	gic->deactivated = 0;
	spin_unlock_irq(&vm->irq->lock);
	if (unlikely(deactivated))
		av_irqfd_deactivated(vm, deactivated);
	return known;
}

bool av_vgic_mmio(struct av_vcpu *vcpu, u64 gpa, unsigned int len, bool write, u64 *val)
{
	struct av_vm *vm = vcpu->vm;
	struct av_vgic_io io = { .cpu = &vcpu->irq->gic, .len = len };
	enum av_frame frame;
	u32 cpu = 0;
	int r;

	/* Pairs with the release in av_irq_first_run(). */
	if (!smp_load_acquire(&vm->irq->ready))
		return false;
	frame = av_layout_find(&vm->irq->chip->layout, gpa, &io.offset, &cpu);
	if (frame == AV_FRAME_NONE)
		return av_its_mmio(vm, gpa, len, write, val);
	io.vgic = &vm->irq->chip->vgic;
	if (frame == AV_FRAME_REDIST) {
		io.cpu = io.vgic->cpus[cpu];
		if (write && av_lpi_mmio_write(vm, &io, *val, &r))
			return true;
	}
	spin_lock_irq(&vm->irq->lock);
	if (frame == AV_FRAME_REDIST) {
		if (write)
			av_vgic_redist_write(&io, *val);
		else
			av_vgic_redist_read(&io, val);
	} else {
		av_irq_observe(vm, &io, write);
		if (write)
			av_vgic_dist_write(&io, *val);
		else
			av_vgic_dist_read(&io, val);
	}
	spin_unlock_irq(&vm->irq->lock);
	return true;
}

/* KVM_IRQ_LINE of type CPU: the IRQ and FIQ inputs of a vCPU without a vGIC. */
static int cpu_line(struct av_vm *vm, struct av_vcpu *vcpu, u32 num, bool level)
{
	unsigned int bit = num == KVM_ARM_IRQ_CPU_IRQ ? ilog2(AV_VGIC_IRQ) : ilog2(AV_VGIC_FIQ);

	if (av_irqchip_created(vm))
		return -ENXIO;
	if (!vcpu || num > KVM_ARM_IRQ_CPU_FIQ)
		return -EINVAL;
	if (level ? test_and_set_bit(bit, &vcpu->irq->lines) :
		    !test_and_clear_bit(bit, &vcpu->irq->lines))
		return 0;
	av_vcpu_kick(vcpu);
	return 0;
}

int av_irq_line(struct av_vm *vm, const struct kvm_irq_level *level)
{
	u32 irq = level->irq;
	u32 num = (irq >> KVM_ARM_IRQ_NUM_SHIFT) & KVM_ARM_IRQ_NUM_MASK;
	u32 idx = ((irq >> KVM_ARM_IRQ_VCPU_SHIFT) & KVM_ARM_IRQ_VCPU_MASK) +
		  ((irq >> KVM_ARM_IRQ_VCPU2_SHIFT) & KVM_ARM_IRQ_VCPU2_MASK) *
		  (KVM_ARM_IRQ_VCPU_MASK + 1);
	struct av_vcpu *vcpu = av_vm_vcpu_by_id(vm, idx);

	switch ((irq >> KVM_ARM_IRQ_TYPE_SHIFT) & KVM_ARM_IRQ_TYPE_MASK) {
	case KVM_ARM_IRQ_TYPE_CPU:
		return cpu_line(vm, vcpu, num, level->level);
	case KVM_ARM_IRQ_TYPE_PPI:
		if (!av_irqchip_created(vm))
			return -ENXIO;
		if (!vcpu || num < AV_VGIC_SGIS || num >= AV_VGIC_PRIVATE)
			return -EINVAL;
		return av_irq_inject(vm, vcpu, num, level->level, false);
	case KVM_ARM_IRQ_TYPE_SPI:
		if (!av_irqchip_created(vm))
			return -ENXIO;
		if (num < AV_VGIC_PRIVATE)
			return -EINVAL;
		return av_irq_inject(vm, NULL, num, level->level, false);
	}
	return -EINVAL;
}
