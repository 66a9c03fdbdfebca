// SPDX-License-Identifier: GPL-2.0
/* KVM_GET/SET_ONE_REG: core, FP/SIMD, firmware and timer registers. */
#include <string.h>
#include <unistd.h>

#include "conform.h"

static long get(int vcpu, u64 id, void *value)
{
	struct kvm_one_reg reg = { .id = id, .addr = (u64)value };

	return ioctl(vcpu, KVM_GET_ONE_REG, &reg);
}

static long set(int vcpu, u64 id, void *value)
{
	struct kvm_one_reg reg = { .id = id, .addr = (u64)value };

	return ioctl(vcpu, KVM_SET_ONE_REG, &reg);
}

/* Every index of the core group in every size: which are registers? */
static void core_indices(int vcpu)
{
	static const u64 sizes[] = { KVM_REG_SIZE_U32, KVM_REG_SIZE_U64, KVM_REG_SIZE_U128 };
	unsigned int words = sizeof(struct kvm_regs) / 4, off;
	u64 value[2];
	size_t s;

	for (s = 0; s < ARRAY_SIZE(sizes); s++)
		for (off = 0; off < words + 4; off += off < 84 || off > words - 8 ? 1 : 2)
			say(get(vcpu, KVM_REG_ARM64 | KVM_REG_ARM_CORE | sizes[s] | off, value),
			    "core.get_u%d_%u", 8 << (sizes[s] >> KVM_REG_SIZE_SHIFT), off);
}

/* What is written comes back, and the registers are distinct. */
static void core_values(int vcpu)
{
	unsigned int words = sizeof(struct kvm_regs) / 4, off;
	u64 ids[200], value[2], bad = 0;
	size_t n = 0, i;

	for (off = 0; off < words; off++) {
		u64 base = KVM_REG_ARM64 | KVM_REG_ARM_CORE | off;

		if (off == KVM_REG_ARM_CORE_REG(regs.pstate))
			continue;
		if (!get(vcpu, base | KVM_REG_SIZE_U64, value))
			ids[n++] = base | KVM_REG_SIZE_U64;
		else if (!get(vcpu, base | KVM_REG_SIZE_U128, value))
			ids[n++] = base | KVM_REG_SIZE_U128;
	}
	for (i = 0; i < n; i++) {
		value[0] = 0x123456789abcde00 + i;
		value[1] = ~value[0];
		set(vcpu, ids[i], value);
	}
	for (i = 0; i < n; i++) {
		memset(value, 0, sizeof(value));
		get(vcpu, ids[i], value);
		if (value[0] != 0x123456789abcde00 + i)
			bad++;
		if ((ids[i] & KVM_REG_SIZE_MASK) == KVM_REG_SIZE_U128 && value[1] != ~value[0])
			bad++;
	}
	note(n, "core.count");
	note(bad, "core.not_kept");
}

static void pstates(int vcpu)
{
	static const u64 values[] = { 0x3c5, 0x3c4, 0x0, 0x3c0, 0x3c1, 0x3c8, 0x3c9, 0x3cc,
				      0x3cd, 0xf00003c5, 0x13, 0x1f, 0x11, 0x12, 0x17, 0x1b,
				      0x200003c5, 0x1000003c5, 0x600003c5, 0x5 };
	u64 value;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		value = values[i];
		say(set(vcpu, REG_PSTATE, &value), "pstate.set_%#llx",
		    (unsigned long long)value);
		get(vcpu, REG_PSTATE, &value);
		note(value, "pstate.then");
	}
}

/* The stack pointers do not move when the mode changes. */
static void stack_pointers(int vcpu)
{
	static const u64 modes[] = { 0x3c5, 0x3c4, 0x3c0, 0x3c5 };
	u64 sp0 = KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE |
		  KVM_REG_ARM_CORE_REG(regs.sp);
	u64 sp1 = KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE |
		  KVM_REG_ARM_CORE_REG(sp_el1);
	u64 value;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		value = modes[i];
		set(vcpu, REG_PSTATE, &value);
		value = 0x1000 + i;
		set(vcpu, sp0, &value);
		value = 0x2000 + i;
		set(vcpu, sp1, &value);
		get(vcpu, sp0, &value);
		note(value, "sp.el0_in_%#llx", (unsigned long long)modes[i]);
		get(vcpu, sp1, &value);
		note(value, "sp.el1_in_%#llx", (unsigned long long)modes[i]);
		value = modes[(i + 1) % ARRAY_SIZE(modes)];
		set(vcpu, REG_PSTATE, &value);
		get(vcpu, sp0, &value);
		note(value, "sp.el0_after_%zu", i);
		get(vcpu, sp1, &value);
		note(value, "sp.el1_after_%zu", i);
	}
}

static void strange_ids(int vcpu)
{
	static const u64 ids[] = {
		0, ~0ULL, REG_PC & ~KVM_REG_ARM64, KVM_REG_X86 | KVM_REG_SIZE_U64,
		KVM_REG_ARM | KVM_REG_SIZE_U64, KVM_REG_ARM64, KVM_REG_ARM64 | KVM_REG_SIZE_U64,
		KVM_REG_ARM64 | KVM_REG_SIZE_U2048 | KVM_REG_ARM_CORE,
		KVM_REG_ARM64 | KVM_REG_SIZE_U8 | KVM_REG_ARM_CORE,
		KVM_REG_ARM64 | KVM_REG_SIZE_U16 | KVM_REG_ARM_CORE,
		REG_PC | 0xff00, REG_PC | (0xffULL << 32),
		KVM_REG_ARM64 | KVM_REG_SIZE_U256 | KVM_REG_ARM64_SYSREG | 0xc000,
		KVM_REG_ARM64 | KVM_REG_SIZE_U32 | KVM_REG_ARM64_SYSREG | 0xc000,
		KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM64_SYSREG | 0x1c000,
		KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM64_SYSREG | 0xffff,
		KVM_REG_ARM64 | KVM_REG_SIZE_U64 | (0x1bULL << 16),
		KVM_REG_ARM64_SVE_VLS, KVM_REG_ARM64_SVE_ZREG(0, 0),
		KVM_REG_ARM64_SVE_PREG(0, 0), KVM_REG_ARM64_SVE_FFR(0),
		KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM64_SVE | 0xffff,
	};
	u64 value[32] = { 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		say(get(vcpu, ids[i], value), "id.get_%#llx", (unsigned long long)ids[i]);
		say(set(vcpu, ids[i], value), "id.set_%#llx", (unsigned long long)ids[i]);
	}
	say(get(vcpu, REG_PC, WILD_LOW), "id.get_wild");
	say(set(vcpu, REG_PC, WILD_HIGH), "id.set_wild");
	say(set(vcpu, REG_PSTATE, WILD_HIGH), "id.set_wild_pstate");
}

static void firmware(int vcpu)
{
	static const u64 versions[] = { 0, 1, 2, 0x10000, 0x10001, 0x10002, 0x10003, 0x10004,
					0x20000, ~0ULL };
	static const u64 levels[] = { 0, 1, 2, 3, 4, 5, 0x11, 0x12, ~0ULL };
	u64 value, id;
	size_t i;
	int n;

	for (i = 0; i < ARRAY_SIZE(versions); i++) {
		value = versions[i];
		say(set(vcpu, KVM_REG_ARM_PSCI_VERSION, &value), "fw.psci_%#llx",
		    (unsigned long long)value);
		say(get(vcpu, KVM_REG_ARM_PSCI_VERSION, &value), "fw.psci_get");
		note(value, "fw.psci_then");
	}
	for (n = 1; n < 5; n++) {
		id = KVM_REG_ARM_FW_REG(n);
		if (!say(get(vcpu, id, &value), "fw.reg_%d", n))
			note(value, "fw.reg_%d_value", n);
		for (i = 0; i < ARRAY_SIZE(levels); i++) {
			value = levels[i];
			say(set(vcpu, id, &value), "fw.reg_%d_set_%#llx", n,
			    (unsigned long long)levels[i]);
		}
	}
	for (n = 0; n < 5; n++) {
		id = KVM_REG_ARM_FW_FEAT_BMAP_REG(n);
		if (!say(get(vcpu, id, &value), "fw.bmap_%d", n))
			note(value, "fw.bmap_%d_value", n);
		for (i = 0; i < ARRAY_SIZE(levels); i++) {
			value = levels[i];
			say(set(vcpu, id, &value), "fw.bmap_%d_set_%#llx", n,
			    (unsigned long long)levels[i]);
		}
	}
}

static void timer(int vcpu)
{
	static const struct { const char *name; u64 id; } regs[] = {
		{ "ctl", KVM_REG_ARM_TIMER_CTL }, { "cval", KVM_REG_ARM_TIMER_CVAL },
		{ "pctl", KVM_REG_ARM_PTIMER_CTL }, { "pcval", KVM_REG_ARM_PTIMER_CVAL },
	};
	static const u64 values[] = { 0, 1, 2, 3, 4, 7, 0xfffffffffffff000 };
	u64 value;
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(regs); i++) {
		for (j = 0; j < ARRAY_SIZE(values); j++) {
			value = values[j];
			say(set(vcpu, regs[i].id, &value), "timer.%s_set_%#llx", regs[i].name,
			    (unsigned long long)values[j]);
			say(get(vcpu, regs[i].id, &value), "timer.%s_get", regs[i].name);
			/* A deadline at 0 has passed, one at the end of time not. */
			note(value, "timer.%s_value", regs[i].name);
		}
	}
	value = 0x1000;
	say(set(vcpu, KVM_REG_ARM_TIMER_CNT, &value), "timer.cnt_set");
	say(get(vcpu, KVM_REG_ARM_TIMER_CNT, &value), "timer.cnt_get");
	note(value >= 0x1000 && value < 0x1000 + 62500000ULL * 60, "timer.cnt_runs_from_there");
	say(set(vcpu, KVM_REG_ARM_PTIMER_CNT, &value), "timer.pcnt_set");
	say(get(vcpu, KVM_REG_ARM_PTIMER_CNT, &value), "timer.pcnt_get");
}

void conform_regs(void)
{
	int kvm = open_kvm(), vm = new_vm(kvm), vcpu = new_vcpu(vm, 0);

	init_vcpu(vcpu);
	note(get_reg(vcpu, REG_PSTATE), "reset.pstate");
	note(get_reg(vcpu, REG_PC), "reset.pc");
	core_indices(vcpu);
	core_values(vcpu);
	pstates(vcpu);
	stack_pointers(vcpu);
	strange_ids(vcpu);
	firmware(vcpu);
	timer(vcpu);
	close(vcpu);
	close(vm);
	close(kvm);
}
