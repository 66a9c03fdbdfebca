// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctls that a protected VM's VMM may use: rules in seal.h.
 *
 * The lists name allowed ioctls, so a new one is refused until someone has thought about it.
 * vm->seal is the outermost lock: ioctls of a VM that is not sealed yet hold it for reading,
 * sealing holds it for writing. A sealed VM stays sealed, so its ioctls skip the lock.
 *
 * The measurement is a SHA-256 of 64-bit little-endian words, and of pages:
 *
 *	"armvisor VM 2", padded with zeroes to 16 bytes
 *	bits of the IPA space; the features of KVM_ARM_VCPU_INIT
 *	the counters' offset; INTIDs of the virtual and of the physical timer
 *	number of vGICs (0 or 1); of the vGIC: the distributor's address; number of INTIDs,
 *		including the first 32; number of redistributor regions; of each: address,
 *		KVM's count
 *	number of ITSs; number of those with an address; their addresses, in order of placement
 *	number of vCPUs; of each, in order of creation: id, KVM_MP_STATE_* (all ones without
 *		KVM_ARM_VCPU_INIT), x0 to x30, SP_EL0, SP_EL1, PC, PSTATE
 *	of each slot, by address: address, size; and of each of its pages that is not all
 *		zeroes, by address: address, 4096, the page
 *
 * That must be everything that a VMM can choose before the first run and the guest can see:
 * anything else that could be set must not be in the lists below.
 */
#include <crypto/hash.h>
#include <linux/kvm.h>
#include <linux/rwsem.h>

#include "api/api.h"
#include "api/seal.h"
#include "cpu/cheap.h"
#include "cpu/cpu.h"
#include "irq/irq.h"
#include "mmu/mmu.h"
#include "stats/stats.h"
#include "vm/regfile.h"

/* ---- rules --------------------------------------------------------------------- */

enum when { BEFORE, ALWAYS };

struct rule {
	unsigned int cmd;
	enum when when;
};

static const struct rule vm_rules[] = {
	{ KVM_CHECK_EXTENSION,		ALWAYS },
	{ KVM_ENABLE_CAP,		ALWAYS },	/* av_seal_takes_cap() */
	{ KVM_GET_STATS_FD,		ALWAYS },
	{ KVM_HAS_DEVICE_ATTR,		ALWAYS },
	{ KVM_IOEVENTFD,		ALWAYS },
	{ KVM_IRQFD,			ALWAYS },
	{ KVM_IRQ_LINE,			ALWAYS },
	{ KVM_IRQ_LINE_STATUS,		ALWAYS },
	{ KVM_REGISTER_COALESCED_MMIO,	ALWAYS },
	{ KVM_UNREGISTER_COALESCED_MMIO, ALWAYS },
	{ KVM_SET_GSI_ROUTING,		ALWAYS },
	{ KVM_SIGNAL_MSI,		ALWAYS },
	{ KVM_ARM_PREFERRED_TARGET,	ALWAYS },
	{ KVM_ARM_GET_REG_WRITABLE_MASKS, ALWAYS },
	{ KVM_ARM_SET_COUNTER_OFFSET,	BEFORE },
	{ KVM_ARM_SET_DEVICE_ADDR,	BEFORE },
	{ KVM_CREATE_DEVICE,		BEFORE },
	{ KVM_CREATE_GUEST_MEMFD,	BEFORE },
	{ KVM_CREATE_IRQCHIP,		BEFORE },
	{ KVM_CREATE_VCPU,		BEFORE },
	{ KVM_SET_USER_MEMORY_REGION,	BEFORE },
	{ KVM_SET_USER_MEMORY_REGION2,	BEFORE },
};

static const struct rule vcpu_rules[] = {
	{ KVM_RUN,			ALWAYS },
	{ KVM_GET_MP_STATE,		ALWAYS },
	{ KVM_GET_STATS_FD,		ALWAYS },
	{ KVM_HAS_DEVICE_ATTR,		ALWAYS },
	{ KVM_SET_SIGNAL_MASK,		ALWAYS },
	{ KVM_ARM_VCPU_FINALIZE,	BEFORE },
	{ KVM_ARM_VCPU_INIT,		BEFORE },
	{ KVM_GET_DEVICE_ATTR,		BEFORE },
	{ KVM_GET_ONE_REG,		BEFORE },
	{ KVM_GET_REG_LIST,		BEFORE },
	{ KVM_GET_VCPU_EVENTS,		BEFORE },
	{ KVM_SET_DEVICE_ATTR,		BEFORE },
	{ KVM_SET_MP_STATE,		BEFORE },
	{ KVM_SET_ONE_REG,		BEFORE },	/* limited by av_vcpu_set_one_reg() */
};

static const struct rule device_rules[] = {
	{ KVM_HAS_DEVICE_ATTR,		ALWAYS },
	{ KVM_GET_DEVICE_ATTR,		BEFORE },	/* av_seal_has_group() */
	{ KVM_SET_DEVICE_ATTR,		BEFORE },
};

static const struct {
	const struct rule *rules;
	unsigned int n;
} files[] = {
	[AV_SEAL_VM]	 = { vm_rules, ARRAY_SIZE(vm_rules) },
	[AV_SEAL_VCPU]	 = { vcpu_rules, ARRAY_SIZE(vcpu_rules) },
	[AV_SEAL_DEVICE] = { device_rules, ARRAY_SIZE(device_rules) },
};

static bool allowed(enum av_seal_file file, unsigned int cmd, bool sealed)
{
	unsigned int i;

	for (i = 0; i < files[file].n; i++)
		if (files[file].rules[i].cmd == cmd)
			return !sealed || files[file].rules[i].when == ALWAYS;
	return false;
}

int av_seal_enter_protected(struct av_vm *vm, enum av_seal_file file, unsigned int cmd)
{
	/* Pairs with the release in seal(): whoever sees sealed also sees the sealed state. */
	if (smp_load_acquire(&vm->sealed))
		return allowed(file, cmd, true) ? 0 : -EPERM;
	if (!allowed(file, cmd, false))
		return -EPERM;
	if (down_read_killable(&vm->seal))
		return -EINTR;
	if (!vm->sealed)
		return 1;
	up_read(&vm->seal);
	return allowed(file, cmd, true) ? 0 : -EPERM;
}

void av_seal_leave_protected(struct av_vm *vm)
{
	up_read(&vm->seal);
}

/* The capabilities that a protected VM's VMM sees. Others read 0, whether or not refused. */
static const unsigned int caps[] = {
	KVM_CAP_USER_MEMORY, KVM_CAP_USER_MEMORY2, KVM_CAP_DESTROY_MEMORY_REGION_WORKS,
	KVM_CAP_JOIN_MEMORY_REGIONS_WORKS, KVM_CAP_NR_MEMSLOTS, KVM_CAP_ONE_REG,
	KVM_CAP_MP_STATE, KVM_CAP_IMMEDIATE_EXIT, KVM_CAP_VCPU_ATTRIBUTES, KVM_CAP_ARM_PSCI,
	KVM_CAP_ARM_PSCI_0_2, KVM_CAP_ARM_IRQ_LINE_LAYOUT_2, KVM_CAP_ARM_SET_DEVICE_ADDR,
	KVM_CAP_COUNTER_OFFSET, KVM_CAP_ARM_SUPPORTED_REG_MASK_RANGES, KVM_CAP_IRQCHIP,
	KVM_CAP_IRQFD, KVM_CAP_IRQFD_RESAMPLE, KVM_CAP_IRQ_ROUTING, KVM_CAP_SIGNAL_MSI,
	KVM_CAP_MSI_DEVID, KVM_CAP_IOEVENTFD, KVM_CAP_IOEVENTFD_ANY_LENGTH,
	KVM_CAP_COALESCED_MMIO, KVM_CAP_COALESCED_PIO, KVM_CAP_DEVICE_CTRL,
	KVM_CAP_INTERNAL_ERROR_DATA, KVM_CAP_SYSTEM_EVENT_DATA, KVM_CAP_ENABLE_CAP_VM,
	KVM_CAP_CHECK_EXTENSION_VM, KVM_CAP_BINARY_STATS_FD, KVM_CAP_HALT_POLL,
	KVM_CAP_NR_VCPUS, KVM_CAP_MAX_VCPUS, KVM_CAP_MAX_VCPU_ID, KVM_CAP_ARM_VM_IPA_SIZE,
	AV_CAP_CHEAP_TRAPS, AV_CAP_ACCOUNTING,
};

bool av_seal_has_cap(unsigned long cap)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(caps); i++)
		if (caps[i] == cap)
			return true;
	return false;
}

/* These affect how a VM is run, but nothing that the guest or the VMM can observe. */
bool av_seal_takes_cap(unsigned int cap)
{
	return cap == KVM_CAP_HALT_POLL || cap == AV_CAP_CHEAP_TRAPS || cap == AV_CAP_ACCOUNTING;
}

/*
 * A VMM may place a vGIC or ITS and complete its set-up. The device's registers belong to the
 * guest: through them a VMM could have tables in the guest's memory read and written.
 */
bool av_seal_has_group(const struct kvm_device_attr *attr)
{
	switch (attr->group) {
	case KVM_DEV_ARM_VGIC_GRP_ADDR:
	case KVM_DEV_ARM_VGIC_GRP_NR_IRQS:
		return true;
	case KVM_DEV_ARM_VGIC_GRP_CTRL:
		return attr->attr == KVM_DEV_ARM_VGIC_CTRL_INIT;
	default:
		return false;
	}
}

/* ---- sealing ------------------------------------------------------------------- */

int av_seal_vm_init(struct av_vm *vm)
{
	struct crypto_shash *sha256;

	if (!vm->protected)
		return 0;
	sha256 = crypto_alloc_shash("sha256", 0, 0);
	if (IS_ERR(sha256))
		return PTR_ERR(sha256);
	vm->sha256 = sha256;
	return 0;
}

void av_seal_vm_destroy(struct av_vm *vm)
{
	if (vm->sha256)
		crypto_free_shash(vm->sha256);
}

static int add_word(void *hash, u64 val)
{
	__le64 word = cpu_to_le64(val);

	return crypto_shash_update(hash, (const u8 *)&word, sizeof(word));
}

static int add_part(void *ctx, u64 gpa, u64 size, const void *page)
{
	return add_word(ctx, gpa) ?: add_word(ctx, size) ?:
	       (page ? crypto_shash_update(ctx, page, PAGE_SIZE) : 0);
}

/* A stack pointer, whether or not it is the current one. */
static u64 get_sp(const struct av_srf *srf, enum av_vreg sp)
{
	return av_mode_sp(srf->vmode) == sp ? srf->sp : av_srf_get(srf, sp);
}

static int add_vcpu(struct shash_desc *hash, struct av_vcpu *vcpu)
{
	const struct av_srf *srf = vcpu->srf;
	unsigned int i;
	int ret;

	if (!vcpu->initialized)
		return add_word(hash, vcpu->id) ?: add_word(hash, ~0ULL);
	av_vcpu_load_start(vcpu);
	ret = add_word(hash, vcpu->id) ?: add_word(hash, av_vcpu_get_mp_state(vcpu));
	for (i = 0; i < ARRAY_SIZE(srf->regs) && !ret; i++)
		ret = add_word(hash, srf->regs[i]);
	return ret ?: add_word(hash, get_sp(srf, AV_SP_EL0)) ?:
	       add_word(hash, get_sp(srf, AV_SP_EL1)) ?: add_word(hash, srf->pc) ?:
	       add_word(hash, av_srf_spsr(srf));
}

static int add_machine(struct shash_desc *hash, struct av_vm *vm)
{
	return add_word(hash, vm->ipa_bits) ?: add_word(hash, vm->features) ?:
	       av_irq_measure(vm, add_word, hash);
}

static int add_vcpus(struct shash_desc *hash, struct av_vm *vm)
{
	int ret = add_word(hash, vm->nr_vcpus);
	struct av_vcpu *vcpu;
	unsigned int i;

	av_for_each_vcpu(i, vcpu, vm)
		ret = ret ?: add_vcpu(hash, vcpu);
	return ret;
}

static int seal(struct av_vm *vm)
{
	static const u8 title[16] = "armvisor VM 2";
	SHASH_DESC_ON_STACK(hash, vm->sha256);
	int ret;

	hash->tfm = vm->sha256;
	ret = crypto_shash_init(hash) ?: crypto_shash_update(hash, title, sizeof(title)) ?:
	      add_machine(hash, vm) ?: add_vcpus(hash, vm) ?: av_mmu_seal(vm, add_part, hash) ?:
	      crypto_shash_final(hash, vm->measurement);
	shash_desc_zero(hash);
	if (!ret)
		/* Pairs with the acquires in functions that do not take vm->seal. */
		smp_store_release(&vm->sealed, true);
	return ret;
}

int av_seal_run(struct av_vcpu *vcpu)
{
	struct av_vm *vm = vcpu->vm;
	int ret = 0;

	/* Pairs with the release in seal(). */
	if (likely(!vm->protected || smp_load_acquire(&vm->sealed)))
		return 0;
	if (down_write_killable(&vm->seal))
		return -EINTR;
	if (!vm->sealed)
		ret = vcpu->initialized ? seal(vm) : -ENOEXEC;
	up_write(&vm->seal);
	return ret;
}
