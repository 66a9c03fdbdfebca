// SPDX-License-Identifier: GPL-2.0
/* System registers by id: reset values, writable values, and the ordered list of all registers. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "conform.h"

#define SYS(op0, op1, crn, crm, op2) { #op0 "_" #op1 "_" #crn "_" #crm "_" #op2, \
				       ARM64_SYS_REG(op0, op1, crn, crm, op2) }

/* EL1's own, as every guest has them. */
static const struct { const char *name; u64 id; } plain[] = {
	SYS(3, 0, 1, 0, 0),	/* SCTLR_EL1 */
	SYS(3, 0, 1, 0, 1),	/* ACTLR_EL1 */
	SYS(3, 0, 1, 0, 2),	/* CPACR_EL1 */
	SYS(3, 0, 2, 0, 0),	/* TTBR0_EL1 */
	SYS(3, 0, 2, 0, 1),	/* TTBR1_EL1 */
	SYS(3, 0, 2, 0, 2),	/* TCR_EL1 */
	SYS(3, 0, 5, 1, 0),	/* AFSR0_EL1 */
	SYS(3, 0, 5, 1, 1),	/* AFSR1_EL1 */
	SYS(3, 0, 5, 2, 0),	/* ESR_EL1 */
	SYS(3, 0, 6, 0, 0),	/* FAR_EL1 */
	SYS(3, 0, 7, 4, 0),	/* PAR_EL1 */
	SYS(3, 0, 10, 2, 0),	/* MAIR_EL1 */
	SYS(3, 0, 10, 3, 0),	/* AMAIR_EL1 */
	SYS(3, 0, 12, 0, 0),	/* VBAR_EL1 */
	SYS(3, 0, 12, 1, 1),	/* DISR_EL1 */
	SYS(3, 0, 13, 0, 1),	/* CONTEXTIDR_EL1 */
	SYS(3, 0, 13, 0, 4),	/* TPIDR_EL1 */
	SYS(3, 0, 14, 1, 0),	/* CNTKCTL_EL1 */
	SYS(3, 2, 0, 0, 0),	/* CSSELR_EL1 */
	SYS(3, 3, 13, 0, 2),	/* TPIDR_EL0 */
	SYS(3, 3, 13, 0, 3),	/* TPIDRRO_EL0 */
	SYS(2, 0, 0, 2, 2),	/* MDSCR_EL1 */
	SYS(2, 0, 0, 2, 0),	/* MDCCINT_EL1 */
	SYS(2, 0, 0, 0, 4),	/* DBGBVR0_EL1 */
	SYS(2, 0, 0, 0, 5),	/* DBGBCR0_EL1 */
	SYS(2, 0, 0, 0, 6),	/* DBGWVR0_EL1 */
	SYS(2, 0, 0, 0, 7),	/* DBGWCR0_EL1 */
	SYS(2, 0, 1, 1, 4),	/* OSLSR_EL1 */
	SYS(3, 0, 0, 0, 0),	/* MIDR_EL1 */
	SYS(3, 0, 0, 0, 5),	/* MPIDR_EL1 */
	SYS(3, 0, 0, 0, 6),	/* REVIDR_EL1 */
	SYS(3, 1, 0, 0, 1),	/* CLIDR_EL1 */
	SYS(3, 1, 0, 0, 7),	/* AIDR_EL1 */
	SYS(3, 3, 0, 0, 1),	/* CTR_EL0 */
};

static void plain_registers(int vcpu)
{
	static const u64 patterns[] = { 0, 0x5555555555555555, ~0ULL };
	u64 reset, value;
	size_t i, p;

	for (i = 0; i < ARRAY_SIZE(plain); i++) {
		if (say(try_get_reg(vcpu, plain[i].id, &reset), "sys_%s.get", plain[i].name))
			continue;
		note(reset, "sys_%s.reset", plain[i].name);
		for (p = 0; p < ARRAY_SIZE(patterns); p++) {
			say(try_set_reg(vcpu, plain[i].id, patterns[p]), "sys_%s.set_%#llx",
			    plain[i].name, (unsigned long long)patterns[p]);
			try_get_reg(vcpu, plain[i].id, &value);
			note(value, "sys_%s.then", plain[i].name);
		}
		try_set_reg(vcpu, plain[i].id, reset);
	}
}

/* ID registers, CRm 1 to 7: the same value again, and one that cannot be. */
static void id_registers(int vcpu)
{
	int crm, op2;
	u64 id, value;

	for (crm = 1; crm < 8; crm++) {
		for (op2 = 0; op2 < 8; op2++) {
			id = ARM64_SYS_REG(3, 0, 0, crm, op2);
			if (say(try_get_reg(vcpu, id, &value), "id_%d_%d.get", crm, op2))
				continue;
			note(value, "id_%d_%d.value", crm, op2);
			say(try_set_reg(vcpu, id, value), "id_%d_%d.set_same", crm, op2);
			say(try_set_reg(vcpu, id, ~value), "id_%d_%d.set_inverse", crm, op2);
			try_set_reg(vcpu, id, value);
		}
	}
}

/* CCSIDR_EL1 by level, each behind one id. */
static void demux(int vcpu)
{
	u64 base = KVM_REG_ARM64 | KVM_REG_ARM_DEMUX | KVM_REG_SIZE_U32 |
		   KVM_REG_ARM_DEMUX_ID_CCSIDR, value;
	int i;

	for (i = 0; i < 16; i++) {
		value = 0;
		if (!say(try_get_reg(vcpu, base | i, &value), "ccsidr_%d.get", i))
			note(value, "ccsidr_%d.value", i);
		say(try_set_reg(vcpu, base | i, value), "ccsidr_%d.set_same", i);
		say(try_set_reg(vcpu, base | i, value + 8), "ccsidr_%d.set_other", i);
	}
	say(try_get_reg(vcpu, base | 0x100, &value), "demux_other.get");
}

void conform_sysregs(void)
{
	int kvm = open_kvm(), vm = new_vm(kvm), vcpu = new_vcpu(vm, 0);

	init_vcpu(vcpu);
	plain_registers(vcpu);
	id_registers(vcpu);
	demux(vcpu);
	close(vcpu);
	close(vm);
	close(kvm);
}

static void list_errors(int vcpu, u64 n)
{
	struct kvm_reg_list *list = calloc(1, sizeof(*list) + n * sizeof(u64));

	list->n = 0;
	say(ioctl(vcpu, KVM_GET_REG_LIST, list), "room_0");
	note(list->n == n, "room_0.count");
	list->n = n - 1;
	say(ioctl(vcpu, KVM_GET_REG_LIST, list), "room_short");
	list->n = ~0ULL;
	say(ioctl(vcpu, KVM_GET_REG_LIST, list), "room_endless");
	note(list->n == n, "room_endless.count");
	free(list);
}

void conform_reglist(void)
{
	int kvm = open_kvm(), vm = new_vm(kvm), vcpu = new_vcpu(vm, 0);
	struct kvm_reg_list *list, head = { .n = 0 };
	u64 i, value[32], unreadable = 0;

	init_vcpu(vcpu);
	ioctl(vcpu, KVM_GET_REG_LIST, &head);
	list_errors(vcpu, head.n);
	list = calloc(1, sizeof(*list) + head.n * sizeof(u64));
	list->n = head.n;
	say(ioctl(vcpu, KVM_GET_REG_LIST, list), "list");
	for (i = 0; i < list->n; i++) {
		note(list->reg[i], "reg_%#llx", (unsigned long long)list->reg[i]);
		if (try_get_reg(vcpu, list->reg[i], value))
			unreadable++;
	}
	note(unreadable, "unreadable");
	free(list);
	close(vcpu);
	close(vm);
	close(kvm);
}
