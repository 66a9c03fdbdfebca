// SPDX-License-Identifier: GPL-2.0
/* Sequences: calls of a vCPU. */
#include <errno.h>
#include <string.h>

#include "sequence.h"

static int any_vcpu(struct world *w, unsigned int *index)
{
	*index = pick(w, 3) == 2;
	return w->vcpu[*index];
}

static void init(struct world *w)
{
	static const u32 targets[] = { 5, 5, 5, 5, 5, 5, 0, 4, 6, ~0U };
	/* Not the PMU's, nor AArch32's: tests/data/module_api.toml. */
	static const u8 features[] = { KVM_ARM_VCPU_POWER_OFF, 4, 5, 6, 7, 8, 31 };
	struct kvm_vcpu_init init = { .target = pick_of(w, targets) };
	unsigned int index;
	int vcpu = any_vcpu(w, &index);

	if (pick(w, 6))
		init.features[0] |= 1 << KVM_ARM_VCPU_PSCI_0_2;
	if (!pick(w, 4))
		init.features[0] |= 1U << pick_of(w, features);
	if (!pick(w, 16))
		init.features[pick(w, 7)] |= 1U << 31;
	say(ioctl(vcpu, KVM_ARM_VCPU_INIT, &init), "%u_%d_%#x", index, (int)init.target,
	    init.features[0]);
}

/* The vGIC goes by it. */
#define MPIDR	ARM64_SYS_REG(3, 0, 0, 0, 5)

static const u64 registers[] = {
	REG_X(0), REG_X(30), REG_CORE(regs.sp), REG_CORE(sp_el1), REG_CORE(elr_el1),
	REG_CORE(spsr[0]), REG_CORE(spsr[1]), REG_CORE(spsr[4]),
	REG_CORE(regs.regs[0]) + 1,
	KVM_REG_ARM64 | KVM_REG_SIZE_U128 | KVM_REG_ARM_CORE | KVM_REG_ARM_CORE_REG(fp_regs.vregs[3]),
	KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE | KVM_REG_ARM_CORE_REG(fp_regs.vregs[3]),
	KVM_REG_ARM64 | KVM_REG_SIZE_U32 | KVM_REG_ARM_CORE | KVM_REG_ARM_CORE_REG(fp_regs.fpsr),
	KVM_REG_ARM64 | KVM_REG_SIZE_U32 | KVM_REG_ARM_CORE | KVM_REG_ARM_CORE_REG(fp_regs.fpcr),
	ARM64_SYS_REG(3, 0, 2, 0, 0), ARM64_SYS_REG(3, 0, 2, 0, 1), ARM64_SYS_REG(3, 0, 2, 0, 2),
	ARM64_SYS_REG(3, 0, 4, 1, 0), ARM64_SYS_REG(3, 0, 5, 1, 0), ARM64_SYS_REG(3, 0, 5, 2, 0),
	ARM64_SYS_REG(3, 0, 6, 0, 0), ARM64_SYS_REG(3, 0, 10, 2, 0), ARM64_SYS_REG(3, 0, 10, 3, 0),
	ARM64_SYS_REG(3, 0, 12, 0, 0), ARM64_SYS_REG(3, 0, 13, 0, 1), ARM64_SYS_REG(3, 0, 13, 0, 4),
	ARM64_SYS_REG(3, 0, 14, 1, 0), ARM64_SYS_REG(3, 0, 1, 0, 2), ARM64_SYS_REG(3, 3, 13, 0, 2),
	ARM64_SYS_REG(3, 3, 13, 0, 3), ARM64_SYS_REG(3, 0, 7, 4, 0), ARM64_SYS_REG(3, 2, 0, 0, 0),
	MPIDR, MPIDR, ARM64_SYS_REG(2, 0, 0, 2, 2), ARM64_SYS_REG(2, 0, 0, 0, 4),
	ARM64_SYS_REG(2, 0, 0, 0, 5), ARM64_SYS_REG(2, 0, 0, 0, 6), ARM64_SYS_REG(2, 0, 0, 0, 7),
	KVM_REG_ARM_TIMER_CTL, KVM_REG_ARM_TIMER_CVAL, KVM_REG_ARM_PSCI_VERSION,
	KVM_REG_ARM_FW_REG(1), KVM_REG_ARM_FW_REG(3), KVM_REG_ARM_FW_REG(9),
	KVM_REG_ARM_FW_FEAT_BMAP_REG(0), KVM_REG_ARM_FW_FEAT_BMAP_REG(1),
	KVM_REG_ARM_FW_FEAT_BMAP_REG(2), KVM_REG_ARM_FW_FEAT_BMAP_REG(3),
	ARM64_SYS_REG(3, 7, 15, 15, 7), 0, ~0ULL,
};

/* Set and read back: the value before that may be anything. */
static void set_one(struct world *w)
{
	static const u64 values[] = { 0, 1, 2, 3, 0x10000, 0x10001, 0x10003, 0x80000000,
				      0x5555555555555555, ~0ULL };
	u64 id = pick_of(w, registers), value[2] = { pick_of(w, values), 0 }, back[2] = { 0 };
	struct kvm_one_reg reg = { .id = id, .addr = (u64)value };
	unsigned int index;
	int vcpu = any_vcpu(w, &index);
	long ret;

	/* A timer that fires wakes at a time of its own. */
	if (id == KVM_REG_ARM_TIMER_CTL)
		value[0] &= ~1ULL;
	ret = say(ioctl(vcpu, KVM_SET_ONE_REG, &reg), "%u_%#llx_%#llx", index,
		  (unsigned long long)id, (unsigned long long)value[0]);
	reg.addr = (u64)back;
	if (!ret)
		say(ioctl(vcpu, KVM_GET_ONE_REG, &reg), "get");
	note(back[0], "value");
	note(back[1], "high");
}

static void mp_state(struct world *w)
{
	static const u32 states[] = { 0, 0, 0, 1, 2, 3, 5, 9, 10, 100 };
	struct kvm_mp_state state = { .mp_state = pick_of(w, states) };
	unsigned int index;
	int vcpu = any_vcpu(w, &index);

	if (pick(w, 3) == 0)
		say(ioctl(vcpu, KVM_SET_MP_STATE, &state), "%u_set_%u", index, state.mp_state);
	state.mp_state = 77;
	say(ioctl(vcpu, KVM_GET_MP_STATE, &state), "%u_get", index);
	note(state.mp_state, "state");
}

static void events(struct world *w)
{
	struct kvm_vcpu_events ev = { 0 };
	unsigned int index;
	int vcpu = any_vcpu(w, &index);

	ev.exception.serror_pending = !pick(w, 4);
	ev.exception.serror_has_esr = !pick(w, 6);
	ev.exception.ext_dabt_pending = !pick(w, 6);
	ev.exception.pad[0] = !pick(w, 16);
	if (pick(w, 2))
		say(ioctl(vcpu, KVM_SET_VCPU_EVENTS, &ev), "%u_%u_%u_%u", index,
		    ev.exception.serror_pending, ev.exception.serror_has_esr,
		    ev.exception.ext_dabt_pending);
	memset(&ev, 0, sizeof(ev));
	say(ioctl(vcpu, KVM_GET_VCPU_EVENTS, &ev), "%u_get", index);
	note(ev.exception.serror_pending | ev.exception.serror_has_esr << 1 |
	     ev.exception.ext_dabt_pending << 2, "pending");
}

static void attr(struct world *w)
{
	static const unsigned long calls[] = { KVM_SET_DEVICE_ATTR, KVM_SET_DEVICE_ATTR,
					       KVM_GET_DEVICE_ATTR, KVM_HAS_DEVICE_ATTR };
	static const u64 numbers[] = { 16, 20, 20, 22, 26, 27, 30, 31, 32, 0, 15 };
	static const u64 bases[] = { GUEST_BASE + 0x1000, SPARE_BASE, GUEST_BASE + 1, 1ULL << 45 };
	unsigned int index, which = pick(w, 4);
	int vcpu = any_vcpu(w, &index), value = pick_of(w, numbers);
	struct kvm_device_attr attr = { .group = KVM_ARM_VCPU_TIMER_CTRL, .attr = pick(w, 2),
					.addr = (u64)&value };
	u64 base = pick_of(w, bases);

	if (!pick(w, 3)) {
		attr = (struct kvm_device_attr){ .group = KVM_ARM_VCPU_PVTIME_CTRL,
						 .attr = !pick(w, 4), .addr = (u64)&base };
	}
	say(ioctl(vcpu, calls[which], &attr), "%u_%u_%u_%llu_%d_%#llx", index, which, attr.group,
	    attr.attr, value, (unsigned long long)base);
	if (which == 2)
		note(attr.group == KVM_ARM_VCPU_TIMER_CTRL ? (u64)value : base, "value");
}

static void immediate(struct world *w)
{
	unsigned int index;
	int vcpu = any_vcpu(w, &index);

	if (vcpu >= 0)
		w->run[index]->immediate_exit = 1;
	say(ioctl(vcpu, KVM_RUN, 0), "%u", index);
	if (vcpu >= 0)
		w->run[index]->immediate_exit = 0;
}

static void guest_debug(struct world *w)
{
	static const u32 controls[] = { 0, 0, 1, 3, 0x10001, 0x20001, 0x40000, 4, 1U << 31 };
	struct kvm_guest_debug debug = { .control = pick_of(w, controls) };
	unsigned int index;
	int vcpu = any_vcpu(w, &index);

	say(ioctl(vcpu, KVM_SET_GUEST_DEBUG, &debug), "%u_%#x", index, debug.control);
	memset(&debug, 0, sizeof(debug));
	/* Nothing is to stop the programs that follow. */
	ioctl(vcpu, KVM_SET_GUEST_DEBUG, &debug);
}

static void other(struct world *w)
{
	static const unsigned long calls[] = {
		KVM_GET_REGS, KVM_GET_SREGS, KVM_GET_FPU, KVM_INTERRUPT, KVM_NMI, KVM_TRANSLATE,
		KVM_KVMCLOCK_CTRL, KVM_RUN + 0x1000, KVM_ENABLE_CAP, KVM_SET_SIGNAL_MASK,
		KVM_GET_TSC_KHZ, KVM_SMI,
	};
	unsigned int index, which = pick(w, ARRAY_SIZE(calls));
	int vcpu = any_vcpu(w, &index);

	say(ioctl(vcpu, calls[which], NULL), "%u_%u", index, which);
}

const struct op vcpu_ops[] = {
	{ "init", 12, init },
	{ "set_one", 40, set_one },
	{ "mp_state", 8, mp_state },
	{ "events", 8, events },
	{ "attr", 10, attr },
	{ "immediate", 6, immediate },
	{ "guest_debug", 4, guest_debug },
	{ "other", 4, other },
	{ 0 }
};
