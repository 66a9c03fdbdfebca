// SPDX-License-Identifier: GPL-2.0
/*
 * ID registers and caches that a VMM may write: the masks, each field raised and lowered, and the
 * values that the guest then reads.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "conform.h"

#define MASKS		KVM_ARM_FEATURE_ID_RANGE_SIZE
#define CTR		ARM64_SYS_REG(3, 3, 0, 0, 1)
#define CLIDR		ARM64_SYS_REG(3, 1, 0, 0, 1)
#define CCSIDR(n)	(KVM_REG_ARM64 | KVM_REG_ARM_DEMUX | KVM_REG_SIZE_U32 | \
			 KVM_REG_ARM_DEMUX_ID_CCSIDR | (n))

/* From its kernel, and from user space with and without SCTLR_EL1.UCT. */
extern const u32 guest_caches[] __attribute__((visibility("hidden")));
extern const u32 guest_caches_end[] __attribute__((visibility("hidden")));
__asm__(".pushsection .rodata\n.balign 4\n"
	"guest_caches:\n"
	"mov x10, #0x0a000000\n"
	"adr x0, guest_caches + 0x800\n msr vbar_el1, x0\n"
	"mrs x0, ctr_el0\n str x0, [x10]\n mrs x0, clidr_el1\n str x0, [x10]\n"
	"mov x0, #2\n msr csselr_el1, x0\n isb\n mrs x0, ccsidr_el1\n str x0, [x10]\n"
	"mrs x0, sctlr_el1\n orr x0, x0, #1 << 15\n msr sctlr_el1, x0\n isb\n"
	"adr x0, 1f\n msr elr_el1, x0\n msr spsr_el1, xzr\n eret\n"
	"1: mrs x0, ctr_el0\n str x0, [x10]\n svc #0\n"
	"mrs x0, ctr_el0\n str x0, [x10, #8]\n b .\n"
	".org guest_caches + 0xc00\n"
	"mrs x0, esr_el1\n str x0, [x10, #16]\n"
	"mrs x0, sctlr_el1\n bic x0, x0, #1 << 15\n msr sctlr_el1, x0\n isb\n eret\n"
	"guest_caches_end:\n.popsection\n");

static void masks(int vm, u64 *mask)
{
	struct reg_mask_range range = { .addr = (u64)mask };
	char *edge = map_memory(8192);
	int i;

	munmap(edge + 4096, 4096);
	say(ioctl(vm, KVM_ARM_GET_REG_WRITABLE_MASKS, &range), "masks");
	for (i = 0; i < MASKS; i++)
		if (mask[i])
			note(mask[i], "masks.%d_%d_%d", i / 64, i / 8 % 8, i % 8);
	range.range = 1;
	say(ioctl(vm, KVM_ARM_GET_REG_WRITABLE_MASKS, &range), "masks.range");
	range.range = 0;
	range.reserved[12] = 1;
	say(ioctl(vm, KVM_ARM_GET_REG_WRITABLE_MASKS, &range), "masks.reserved");
	range.reserved[12] = 0;
	range.addr = (u64)edge + 4096 - MASKS * sizeof(u64);
	say(ioctl(vm, KVM_ARM_GET_REG_WRITABLE_MASKS, &range), "masks.fits");
	range.addr += sizeof(u64);
	say(ioctl(vm, KVM_ARM_GET_REG_WRITABLE_MASKS, &range), "masks.edge");
	range.addr = 0;
	say(ioctl(vm, KVM_ARM_GET_REG_WRITABLE_MASKS, &range), "masks.null");
	say(ioctl(vm, KVM_ARM_GET_REG_WRITABLE_MASKS, WILD_HIGH), "masks.wild");
	munmap(edge, 4096);
}

/* A field of a register one up and one down: accepted values, according to the mask. */
static void fields(int vcpu, const u64 *mask, int crm, int op2)
{
	u64 id = ARM64_SYS_REG(3, 0, 0, crm, op2), value, now, m = mask[crm * 8 + op2];
	u64 up = 0, down = 0, kept = 0, fixed_down = 0;
	int lsb;

	try_get_reg(vcpu, id, &value);
	for (lsb = 0; lsb < 64; lsb += 4) {
		u64 field = value >> lsb & 15, one = 1ULL << lsb;

		/* What may happen with more of it, not what can be done. */
		if (crm == 7 && op2 == 1 && lsb == 24)
			continue;
		/* EL0 and EL1, which may have AArch32: another line's. */
		if (crm == 4 && op2 == 0 && lsb < 8)
			continue;
		if (field < 14)
			up += !try_set_reg(vcpu, id, value + one);
		try_set_reg(vcpu, id, value);
		/* 15 is less than nothing in some: another line's. */
		if (!field || field == 15 || (crm == 5 && op2 == 0 && lsb == 0))
			continue;
		if (!(m & one)) {
			fixed_down += !try_set_reg(vcpu, id, value - one);
			continue;
		}
		down += !!try_set_reg(vcpu, id, value - one);
		try_get_reg(vcpu, id, &now);
		kept += now != value - one;
		try_set_reg(vcpu, id, value);
	}
	note(up, "up.%d_%d", crm, op2);
	note(down, "down_refused.%d_%d", crm, op2);
	note(kept, "down_not_kept.%d_%d", crm, op2);
	note(fixed_down, "fixed_down.%d_%d", crm, op2);
}

static void odd_fields(int vcpu)
{
	static const struct { const char *name; int crm, op2; u64 clear, bits; } odd[] = {
		{ "tgran4", 7, 0, 15ULL << 28, 15ULL << 28 },
		{ "specsei", 7, 1, 15ULL << 24, 1ULL << 24 },
		{ "specsei_all", 7, 1, 15ULL << 24, 15ULL << 24 },
		{ "doublelock", 5, 0, 15ULL << 36, 15ULL << 36 },
		{ "doublelock_1", 5, 0, 15ULL << 36, 1ULL << 36 },
		{ "debugver_5", 5, 0, 15, 5 },
		{ "pmuver_imp_def", 5, 0, 15ULL << 8, 15ULL << 8 },
		{ "pfr1_res0", 4, 1, 0, 1ULL << 20 },
		{ "fp", 4, 0, 15ULL << 16, 15ULL << 16 },
		{ "el0_3", 4, 0, 15, 3 },
		{ "el0_none", 4, 0, 15, 0 },
		{ "el1_none", 4, 0, 15ULL << 4, 0 },
	};
	u64 id, value;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(odd); i++) {
		id = ARM64_SYS_REG(3, 0, 0, odd[i].crm, odd[i].op2);
		try_get_reg(vcpu, id, &value);
		say(try_set_reg(vcpu, id, (value & ~odd[i].clear) | odd[i].bits), "odd.%s", odd[i].name);
		try_set_reg(vcpu, id, value);
	}
}

static void cache_registers(int vcpu)
{
	static const u64 clidrs[] = {
		0, 1, 1ULL << 24, 1ULL << 21, 1ULL << 27, 1ULL << 24 | 1ULL << 21,
		1ULL << 47, 1ULL << 46 | 1ULL << 24 | 1ULL << 27, ~0ULL >> 17, ~0ULL,
		0x9200023,
	};
	static const u32 ccsidrs[] = { 0, 1, 2, 3, 7, 0xf2, 0xffffffff, 0xfffffff8 };
	u64 value;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(clidrs); i++) {
		say(try_set_reg(vcpu, CLIDR, clidrs[i]), "clidr.set_%#llx", (unsigned long long)clidrs[i]);
		try_get_reg(vcpu, CLIDR, &value);
		note(value, "clidr.then");
	}
	for (i = 0; i < ARRAY_SIZE(ccsidrs); i++) {
		say(try_set_reg(vcpu, CCSIDR(2), ccsidrs[i]), "ccsidr.set_%#x", ccsidrs[i]);
		try_get_reg(vcpu, CCSIDR(2), &value);
		note(value, "ccsidr.then");
	}
	try_get_reg(vcpu, CCSIDR(3), &value);
	note(value, "ccsidr.other");
	say(try_set_reg(vcpu, CCSIDR(14), 2), "ccsidr.14");
	say(try_set_reg(vcpu, CCSIDR(0x100), 2), "ccsidr.0x100");
	say(try_get_reg(vcpu, CCSIDR(0) ^ KVM_REG_SIZE_U32 ^ KVM_REG_SIZE_U64, &value), "ccsidr.u64");
	/* A reset must not change them. */
	init_vcpu(vcpu);
	try_get_reg(vcpu, CLIDR, &value);
	note(value, "clidr.reset");
	try_get_reg(vcpu, CCSIDR(2), &value);
	note(value, "ccsidr.reset");
}

static void next(struct guest *g, u64 from, const char *name)
{
	u64 data = 0;

	say(ioctl(g->vcpu, KVM_RUN, 0), "%s.run", name);
	memcpy(&data, g->run->mmio.data, sizeof(data));
	note(g->run->mmio.phys_addr, "%s.address", name);
	note(from ? data ^ from : data, "%s", name);
}

/* CTR_EL0 of another CPU, from where a guest reads it. */
static void ctr(bool changed)
{
	const char *when = changed ? "ctr.changed" : "ctr";
	struct guest g;
	u64 value;

	NEW_GUEST(&g, caches);
	try_get_reg(g.vcpu, CTR, &value);
	say(try_set_reg(g.vcpu, CTR, value + 1), "%s.set_more", when);
	say(try_set_reg(g.vcpu, CTR, value ^ 1 << 20), "%s.set_erg", when);
	say(try_set_reg(g.vcpu, CTR, value ^ 1 << 14), "%s.set_l1ip", when);
	say(try_set_reg(g.vcpu, CTR, value ^ 1ULL << 32), "%s.set_high", when);
	if (changed)
		say(try_set_reg(g.vcpu, CTR, value - 1), "%s.set_less", when);
	next(&g, value, "ctr.el1");
	next(&g, 0, "ctr.clidr");
	next(&g, 0, "ctr.ccsidr");
	next(&g, value, "ctr.el0");
	next(&g, 0, "ctr.svc");
	next(&g, 0, "ctr.el0_denied");
	say(try_set_reg(g.vcpu, CTR, value), "%s.set_back_late", when);
	say(try_set_reg(g.vcpu, CTR, value - 1), "%s.set_less_late", when);
	free_guest(&g);
}

#define CAP_WRITABLE_IMP_ID_REGS	239

/* The CPU's identity: it is the machine's own, so only changes are printed. */
static void set_implementation(int vcpu, const char *when)
{
	static const struct { const char *name; u64 id, too_much; } regs[] = {
		{ "midr", ARM64_SYS_REG(3, 0, 0, 0, 0), 1ULL << 32 },
		{ "revidr", ARM64_SYS_REG(3, 0, 0, 0, 6), 0 },
		{ "aidr", ARM64_SYS_REG(3, 1, 0, 0, 7), 0 },
	};
	u64 value, now;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(regs); i++) {
		try_get_reg(vcpu, regs[i].id, &value);
		say(try_set_reg(vcpu, regs[i].id, value), "%s.%s.same", when, regs[i].name);
		if (regs[i].too_much)
			say(try_set_reg(vcpu, regs[i].id, value | regs[i].too_much),
			    "%s.%s.too_much", when, regs[i].name);
		say(try_set_reg(vcpu, regs[i].id, value + 1), "%s.%s.other", when, regs[i].name);
		try_get_reg(vcpu, regs[i].id, &now);
		note(now - value, "%s.%s.then", when, regs[i].name);
	}
}

GUEST(who, "mov x10, #0x0a000000\n"
      "mrs x0, midr_el1\n str x0, [x10]\n mrs x0, revidr_el1\n str x0, [x10]\n"
      "mrs x0, aidr_el1\n str x0, [x10]\n mrs x0, midr_el1\n str x0, [x10]\n b .\n");

static void implementation(void)
{
	struct kvm_enable_cap cap = { .cap = CAP_WRITABLE_IMP_ID_REGS, .args = { 1, 2, 3, 4 } };
	u64 midr, revidr, aidr;
	struct guest g;
	int second;

	NEW_GUEST(&g, who);
	set_implementation(g.vcpu, "imp.invariant");
	say(ioctl(g.vm, KVM_ENABLE_CAP, &cap), "imp.enable_late");
	free_guest(&g);

	g.kvm = open_kvm();
	g.vm = new_vm(g.kvm);
	cap.flags = 1;
	say(ioctl(g.vm, KVM_ENABLE_CAP, &cap), "imp.enable_flags");
	cap.flags = 0;
	say(ioctl(g.vm, KVM_ENABLE_CAP, &cap), "imp.enable");
	say(ioctl(g.vm, KVM_ENABLE_CAP, &cap), "imp.enable_again");
	fill_guest(&g, guest_who, (const char *)guest_who_end - (const char *)guest_who);
	second = new_vcpu(g.vm, 1);
	init_vcpu(second);
	set_implementation(second, "imp.writable");
	init_vcpu(g.vcpu);
	set_reg(g.vcpu, REG_PC, GUEST_BASE);
	midr = get_reg(g.vcpu, ARM64_SYS_REG(3, 0, 0, 0, 0));
	revidr = get_reg(g.vcpu, ARM64_SYS_REG(3, 0, 0, 0, 6));
	aidr = get_reg(g.vcpu, ARM64_SYS_REG(3, 1, 0, 0, 7));
	next(&g, midr, "imp.guest.midr");
	next(&g, revidr, "imp.guest.revidr");
	next(&g, aidr, "imp.guest.aidr");
	next(&g, midr, "imp.guest.midr_again");
	set_implementation(g.vcpu, "imp.ran");
	close(second);
	free_guest(&g);
}

void conform_ids(void)
{
	int kvm = open_kvm(), vm = new_vm(kvm), vcpu = new_vcpu(vm, 0), crm, op2;
	u64 mask[MASKS];

	masks(vm, mask);
	init_vcpu(vcpu);
	for (crm = 1; crm < 8; crm++)
		for (op2 = 0; op2 < 8; op2++)
			fields(vcpu, mask, crm, op2);
	odd_fields(vcpu);
	cache_registers(vcpu);
	close(vcpu);
	close(vm);
	close(kvm);
	ctr(false);
	ctr(true);
	implementation();
}
