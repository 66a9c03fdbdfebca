// SPDX-License-Identifier: GPL-2.0
/* The ITS's attributes and registers, and the LPI registers of the redistributors. */
#include <unistd.h>

#include "its_machine.h"

static void attributes(int kvm)
{
	static const struct { const char *name; u64 addr; } places[] = {
		{ "unaligned", ITS_BASE + 0x1000 }, { "far", 1ULL << 40 },
		{ "end", 0xffffffffffff0000 }, { "good", ITS_BASE }, { "again", ITS_BASE },
	};
	int vm = new_vm(kvm), its, group, number;
	u64 val = 0;
	size_t i;

	say(ioctl(vm, KVM_CHECK_EXTENSION, KVM_CAP_MSI_DEVID), "cap_devid_before");
	its = say_fd(new_device(vm, KVM_DEV_TYPE_ARM_VGIC_ITS), "create_first");
	say(ioctl(vm, KVM_CHECK_EXTENSION, KVM_CAP_MSI_DEVID), "cap_devid_after");
	for (group = 0; group < 12; group++)
		for (number = 0; number < 8; number++)
			say(attr_call(its, KVM_HAS_DEVICE_ATTR, group, number, NULL), "has_%d_%d",
			    group, number);
	say(attr_get(its, KVM_DEV_ARM_VGIC_GRP_ITS_REGS, 0, &val), "reg_before_place");
	say(attr_get(its, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_ITS_ADDR_TYPE, &val), "get_no_place");
	note(val, "no_place");
	for (i = 0; i < ARRAY_SIZE(places); i++)
		say(attr_set(its, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_ITS_ADDR_TYPE, places[i].addr),
		    "place.%s", places[i].name);
	say(attr_set(its, KVM_DEV_ARM_VGIC_GRP_ADDR, 0, ITS_BASE), "place.other_type");
	say(attr_get(its, KVM_DEV_ARM_VGIC_GRP_ADDR, 0, &val), "place.get_other_type");
	say(attr_get(its, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_ITS_ADDR_TYPE, &val), "place.get");
	note(val, "place.value");
	say(attr_call(its, KVM_SET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_ITS_ADDR_TYPE,
		      WILD_LOW), "place.wild");
	for (i = 0; i < 8; i++)
		say(attr_set(its, KVM_DEV_ARM_VGIC_GRP_CTRL, i, 0), "ctrl_%zu", i);
	say(attr_get(its, KVM_DEV_ARM_VGIC_GRP_CTRL, 0, &val), "get_ctrl");
	say(attr_set(its, KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 0, 0), "other_group");
	say(attr_call(its, KVM_SET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_ITS_REGS, 0, WILD_HIGH),
	    "reg_wild");
	close(its);
	close(vm);
}

static void registers(void)
{
	static const struct { u64 offset; u64 values[3]; } rows[] = {
		{ 0x0, { 1, 0, ~0ULL } }, { 0x4, { 0, 0x1000, 0x4b00043b } },
		{ 0x8, { ~0ULL, 0, 0 } }, { 0xc, { 0, 0, 0 } }, { 0x2, { 0, 0, 0 } },
		{ 0x10, { 1, 1, 1 } }, { 0x40, { 1, 1, 1 } },
		{ CBASER, { ~0ULL, 0x123456789abcdef0, 0 } }, { CBASER + 4, { 0, 0, 0 } },
		{ CWRITER, { 0x20, 0x1000, ~0ULL } }, { CREADR, { 0x7f, 0x1000, 0xfffe0 } },
		{ BASER0, { ~0ULL, 0x123456789abcdef0, 0x800 } },
		{ BASER1, { ~0ULL, 0x0edcba9876543210, 0xc00 } },
		{ BASER0 + 16, { ~0ULL, 0, 1 } }, { BASER0 + 0x38, { ~0ULL, 0, 1 } },
		{ BASER0 + 0x40, { 1, 1, 1 } }, { 0xffd0, { 1, 1, 1 } }, { 0xffe0, { 1, 1, 1 } },
		{ 0xffe4, { 1, 1, 1 } }, { 0xffe8, { 1, 1, 1 } }, { 0xfff0, { 1, 1, 1 } },
		{ 0xfff4, { 1, 1, 1 } }, { 0xfffc, { 1, 1, 1 } }, { 0xffca, { 1, 1, 1 } },
		{ 0x10040, { 1, 1, 1 } }, { 0x1fff8, { 1, 1, 1 } }, { 0x20000, { 1, 1, 1 } },
		{ 1ULL << 32, { 1, 1, 1 } },
	};
	struct machine m;
	size_t i, v;
	u64 val;

	new_machine(&m);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		val = 0x7777;
		say(attr_call(m.its, KVM_HAS_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_ITS_REGS,
			      rows[i].offset, NULL), "reg_%#llx.has", (long long)rows[i].offset);
		say(attr_get(m.its, KVM_DEV_ARM_VGIC_GRP_ITS_REGS, rows[i].offset, &val), "reg_%#llx.get",
		    (long long)rows[i].offset);
		note(val, "reg_%#llx.value", (long long)rows[i].offset);
		for (v = 0; v < 3; v++) {
			say(its_set(&m, rows[i].offset, rows[i].values[v]), "reg_%#llx.set_%zu",
			    (long long)rows[i].offset, v);
			note(its_get(&m, rows[i].offset), "reg_%#llx.then_%zu",
			     (long long)rows[i].offset, v);
		}
	}
	/* On, with tables: the registers that cannot change then. */
	boot_machine(&m);
	note(its_get(&m, CTLR), "on.ctlr");
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].offset == CTLR || rows[i].offset > BASER1)
			continue;
		say(its_set(&m, rows[i].offset, rows[i].values[0] & 0xfe0), "on.%#llx.set",
		    (long long)rows[i].offset);
		note(its_get(&m, rows[i].offset), "on.%#llx.then", (long long)rows[i].offset);
	}
	say(its_control(&m, KVM_DEV_ARM_ITS_CTRL_RESET), "reset");
	for (i = 0; i <= 0x108; i += 8)
		note(its_get(&m, i), "after_reset.%#zx", i);
	free_machine(&m);
}

static void redistributor(void)
{
	static const u32 offsets[] = { 0x0, 0x8, 0x70, 0x74, 0x78, 0x7c, 0xa0, 0xb0, 0xc0 };
	static const u32 values[] = { 0, ~0U, 0x12345678, 0x0, 1, 0x40050009 };
	struct machine m;
	size_t i, v;
	u64 cpu;

	new_machine(&m);
	for (v = 0; v < ARRAY_SIZE(values); v++) {
		for (i = 0; i < ARRAY_SIZE(offsets); i++) {
			say(redist_set(&m, 1, offsets[i], values[v]), "redist.%#x.set_%#x", offsets[i],
			    values[v]);
			for (cpu = 0; cpu < 2; cpu++)
				note(redist_get(&m, cpu, offsets[i]), "redist.%#x.then_%#x.cpu_%d",
				     offsets[i], values[v], (int)cpu);
		}
	}
	i = 0;
	attr_call(m.vgic, KVM_GET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 4, &i);
	note(i, "dist.typer");
	free_machine(&m);
}

void conform_its(void)
{
	int kvm = open_kvm();

	attributes(kvm);
	close(kvm);
	registers();
	redistributor();
}
