// SPDX-License-Identifier: GPL-2.0
/*
 * Accesses without memory that end as an abort: of those that the VMM was given, and of those that
 * the hardware does not describe (pairs, write-back, SIMD, exclusives, DC ZVA). For the latter
 * KVM_RUN returns an errno or, with KVM_CAP_ARM_NISV_TO_USER, an exit, after which the VMM may
 * inject an abort.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "conform.h"

#define DEVICE	"mov x1, #0x0a000000\n mov x0, #3 << 20\n msr cpacr_el1, x0\n isb\n"
#define VECTORS	0x800
#define FSC_LEVEL 3UL	/* of a stage 2 that only KVM has */

GUEST(simd_load, DEVICE "ldr q0, [x1, #16]\n b .\n");
GUEST(simd_store, DEVICE "str d0, [x1, #8]!\n b .\n");
GUEST(simd_pair, DEVICE "stp q0, q1, [x1]\n b .\n");
GUEST(exclusive_load, DEVICE "ldxr x2, [x1]\n b .\n");
GUEST(zva, DEVICE "dc zva, x1\n b .\n");
GUEST(preindexed, DEVICE "ldr x2, [x1, #8]!\n b .\n");
GUEST(postindexed, DEVICE "strb w2, [x1], #1\n b .\n");
GUEST(pair_load, DEVICE "ldp x2, x3, [x1]\n b .\n");
GUEST(pair_store, DEVICE "stp x2, x3, [x1, #16]!\n b .\n");
/* The same of read-only memory. */
#define ROM	"mov x1, #0x0b000000\n mov x0, #3 << 20\n msr cpacr_el1, x0\n isb\n"
#define ROM_BASE	0x0b000000ULL

GUEST(rom_preindexed, ROM "str x2, [x1, #8]!\n b .\n");
GUEST(rom_postindexed, ROM "strb w2, [x1], #1\n b .\n");
GUEST(rom_pair, ROM "stp x2, x3, [x1]\n b .\n");
GUEST(rom_simd, ROM "str q0, [x1]\n b .\n");
GUEST(rom_plain, ROM "str x2, [x1]\n b guest_rom_plain\n");
GUEST(rom_load, ROM "ldp x2, x3, [x1], #16\n str x2, [x1]\n b guest_rom_load\n");

GUEST(described, DEVICE "mov x2, #7\n ldr x2, [x1, #16]\n b .\n");

static void say_nisv(struct guest *g, const char *name, const char *when)
{
	long ret = ioctl(g->vcpu, KVM_RUN, 0);

	say(ret, "%s.%s.run", name, when);
	note(g->run->exit_reason, "%s.%s.exit", name, when);
	if (!ret && g->run->exit_reason == KVM_EXIT_ARM_NISV) {
		note(g->run->arm_nisv.esr_iss & ~FSC_LEVEL, "%s.%s.esr_iss", name, when);
		note(g->run->arm_nisv.fault_ipa, "%s.%s.fault_ipa", name, when);
	}
	note(get_reg(g->vcpu, REG_PC) - GUEST_BASE, "%s.%s.pc", name, when);
}

#define SYSREG(op0, op1, crn, crm, op2) ARM64_SYS_REG(op0, op1, crn, crm, op2)

static void inject(struct guest *g, const char *name)
{
	struct kvm_vcpu_events events = { .exception.ext_dabt_pending = 1 };

	set_reg(g->vcpu, SYSREG(3, 0, 12, 0, 0), GUEST_BASE + VECTORS);
	say(ioctl(g->vcpu, KVM_SET_VCPU_EVENTS, &events), "%s.inject", name);
	/* A store at the vector, so that there is an exit to look from. */
	say_nisv(g, name, "injected");
	note(get_reg(g->vcpu, SYSREG(3, 0, 5, 2, 0)), "%s.esr", name);
	note(get_reg(g->vcpu, SYSREG(3, 0, 6, 0, 0)), "%s.far", name);
}

static const u32 store[] = { 0xb900003f, 0x14000000 };	/* str wzr, [x1]; b . */

/* A load that the VMM was given and answers with an abort does not end as a load. */
static void described(void)
{
	struct guest g;

	NEW_GUEST(&g, described);
	memcpy((char *)g.memory + VECTORS + 0x200, store, sizeof(store));
	say_nisv(&g, "described", "told");
	memset(g.run->mmio.data, 0x55, 8);
	inject(&g, "described");
	note(get_reg(g.vcpu, REG_X(2)), "described.x2");
	free_guest(&g);
}

#define ROM_SIZE	0x1000

static void *read_only_slot(int vm)
{
	struct kvm_userspace_memory_region mem = {
		.slot = 1, .flags = KVM_MEM_READONLY, .guest_phys_addr = ROM_BASE,
		.memory_size = ROM_SIZE, .userspace_addr = (u64)map_memory(ROM_SIZE),
	};

	if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &mem))
		die("KVM_SET_USER_MEMORY_REGION");
	return (void *)mem.userspace_addr;
}

static void one(const char *name, const u32 *code, const u32 *end)
{
	struct kvm_enable_cap cap = { .cap = KVM_CAP_ARM_NISV_TO_USER };
	struct guest g;
	void *rom;

	new_guest(&g, code, (const char *)end - (const char *)code);
	rom = read_only_slot(g.vm);
	memcpy((char *)g.memory + VECTORS + 0x200, store, sizeof(store));
	say_nisv(&g, name, "refused");
	say_nisv(&g, name, "again");
	say(ioctl(g.vm, KVM_ENABLE_CAP, &cap), "%s.enable", name);
	say_nisv(&g, name, "told");
	inject(&g, name);
	munmap(rom, ROM_SIZE);
	free_guest(&g);
}

#define ONE(name) one(#name, guest_##name, guest_##name##_end)

void conform_nisv(void)
{
	ONE(simd_load);
	ONE(simd_store);
	ONE(simd_pair);
	ONE(exclusive_load);
	ONE(zva);
	ONE(preindexed);
	ONE(postindexed);
	ONE(pair_load);
	ONE(pair_store);
	ONE(rom_preindexed);
	ONE(rom_postindexed);
	ONE(rom_pair);
	ONE(rom_simd);
	ONE(rom_plain);
	ONE(rom_load);
	described();
}
