// SPDX-License-Identifier: GPL-2.0
/* The vGIC's and the ITS's attributes, while vCPUs run or between two runs. */
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "its_machine.h"

static void device(struct actor *a, int fd, unsigned long cmd, u32 group, u64 number, void *addr)
{
	struct kvm_device_attr attr = { .group = group, .attr = number, .addr = (u64)addr };

	call(a, fd, cmd, &attr);
}

static unsigned long any_direction(struct actor *a)
{
	static const unsigned long cmds[] = {
		KVM_SET_DEVICE_ATTR, KVM_SET_DEVICE_ATTR, KVM_GET_DEVICE_ATTR, KVM_HAS_DEVICE_ATTR,
	};

	return cmds[pick(a, ARRAY_SIZE(cmds))];
}

/* The vCPU's affinity in an attribute's upper half. */
static u64 any_cpu(struct actor *a)
{
	return (one_in(a, 16) ? rnd(&a->rng) & 0xffffffff : pick(a, MAX_CPUS)) << 32;
}

static void device_create(struct actor *a)
{
	bool its = one_in(a, 2);
	struct kvm_create_device dev = {
		.type = its ? KVM_DEV_TYPE_ARM_VGIC_ITS : KVM_DEV_TYPE_ARM_VGIC_V3,
	};

	if (call(a, get_file(&a->w->vm), KVM_CREATE_DEVICE, &dev) >= 0)
		put_file(its ? &a->w->its : &a->w->vgic, dev.fd);
}

static void vgic_address(struct actor *a)
{
	static const u64 places[] = { GUEST_DIST, GUEST_REDIST, GUEST_REDIST, 1ULL << 40, 0,
				      GUEST_REDIST | 2ULL << 52, GUEST_REDIST | 4ULL << 52 };
	u64 *value = any_buffer(a);

	/* Into the actor's own memory alone: an area's may not be there. */
	if ((char *)value == a->buffer)
		*value = places[pick(a, ARRAY_SIZE(places))] + (one_in(a, 8) ? PAGE : 0);
	device(a, get_file(&a->w->vgic), any_direction(a), KVM_DEV_ARM_VGIC_GRP_ADDR,
	       2 + pick(a, 4), value);
}

static void vgic_set_up(struct actor *a)
{
	u32 interrupts = 32 * pick(a, 34);
	u64 where[2] = { GUEST_DIST, GUEST_REDIST };
	int vgic = get_file(&a->w->vgic);

	device(a, vgic, KVM_SET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_NR_IRQS, 0, &interrupts);
	device(a, vgic, KVM_SET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_ADDR,
	       KVM_VGIC_V3_ADDR_TYPE_DIST, &where[0]);
	device(a, vgic, KVM_SET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_ADDR,
	       KVM_VGIC_V3_ADDR_TYPE_REDIST, &where[1]);
	device(a, vgic, KVM_SET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_CTRL,
	       KVM_DEV_ARM_VGIC_CTRL_INIT, NULL);
}

static void vgic_register_once(struct actor *a)
{
	u64 *value = any_buffer(a), number;
	u32 group;

	if ((char *)value == a->buffer)
		*value = one_in(a, 4) ? ~0ULL : rnd(&a->rng);
	switch (pick(a, 4)) {
	case 0:
		group = KVM_DEV_ARM_VGIC_GRP_DIST_REGS;
		number = any_cpu(a) | pick(a, 0x400) * 4;
		break;
	case 1:
		group = KVM_DEV_ARM_VGIC_GRP_REDIST_REGS;
		number = any_cpu(a) | (one_in(a, 2) ? 0x10000 + pick(a, 0x400) * 4 : pick(a, 0x40) * 4);
		break;
	case 2:		/* op0 3, op1 0, CRn 4 or 12 */
		group = KVM_DEV_ARM_VGIC_GRP_CPU_SYSREGS;
		number = any_cpu(a) | 0xc000 | (one_in(a, 4) ? 4 : 12) << 7 | pick(a, 128);
		break;
	default:
		group = KVM_DEV_ARM_VGIC_GRP_LEVEL_INFO;
		number = any_cpu(a) | pick(a, 34) * 32;
		break;
	}
	device(a, get_file(&a->w->vgic), any_direction(a), group, number, value);
}

static void vgic_register(struct actor *a)
{
	int i, times = pick(a, 8);

	for (i = 0; i <= times; i++)
		vgic_register_once(a);
}

static void vgic_control(struct actor *a)
{
	device(a, get_file(&a->w->vgic), KVM_SET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_CTRL,
	       one_in(a, 4) ? KVM_DEV_ARM_VGIC_CTRL_INIT : KVM_DEV_ARM_VGIC_SAVE_PENDING_TABLES,
	       NULL);
}

static void its_address(struct actor *a)
{
	u64 where = one_in(a, 4) ? 0x8090000 + pick(a, 16) * 0x10000 : ITS_BASE;

	device(a, get_file(&a->w->its), any_direction(a), KVM_DEV_ARM_VGIC_GRP_ADDR,
	       KVM_VGIC_ITS_ADDR_TYPE, &where);
}

static void its_register(struct actor *a)
{
	static const struct {
		u16 offset;
		u64 value;
	} rows[] = {
		{ CTLR, 1 }, { CTLR, 0 }, { CBASER, QUEUE | VALID }, { CBASER, 0 }, { CWRITER, 0x400 },
		{ CWRITER, 0xfe0 }, { CREADR, 0 }, { BASER0, DEVICE_TABLE | VALID },
		{ BASER0, VALID | 1ULL << 62 | SECOND_LEVEL }, { BASER1, COLL_TABLE | VALID },
		{ BASER1, 0 }, { 4, 0 }, { 8, ~0ULL }, { 0xffe8, 0 },
	};
	unsigned int row = pick(a, ARRAY_SIZE(rows));
	u64 value = one_in(a, 8) ? rnd(&a->rng) : rows[row].value;

	device(a, get_file(&a->w->its), any_direction(a), KVM_DEV_ARM_VGIC_GRP_ITS_REGS,
	       rows[row].offset, &value);
}

static void its_controls(struct actor *a)
{
	static const u8 controls[] = {
		KVM_DEV_ARM_ITS_SAVE_TABLES, KVM_DEV_ARM_ITS_RESTORE_TABLES,
		KVM_DEV_ARM_ITS_CTRL_RESET, KVM_DEV_ARM_VGIC_CTRL_INIT, 7,
	};

	device(a, get_file(&a->w->its), KVM_SET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_CTRL,
	       controls[pick(a, ARRAY_SIZE(controls))], NULL);
}

/*
 * What is refused while a vCPU runs, with none of them running; lines, messages
 * and eventfds go on.
 */
static void saved(struct actor *a)
{
	int i, times = pick(a, 12);

	pause_runners(a->w);
	for (i = 0; i <= times; i++) {
		switch (pick(a, 4)) {
		case 0:
			vgic_register(a);
			break;
		case 1:
			vgic_control(a);
			break;
		case 2:
			its_register(a);
			break;
		default:
			its_controls(a);
			break;
		}
	}
	if (one_in(a, 2))
		boot_its(a->w, &a->rng);
	resume_runners(a->w);
}

static void attribute(struct actor *a)
{
	const int *files[] = { &a->w->vgic, &a->w->its, &a->w->vm, &a->w->vcpu[pick(a, MAX_CPUS)] };
	const int *file = files[pick(a, ARRAY_SIZE(files))];

	device(a, get_file(file), any_direction(a), pick(a, 11), pick(a, 8), any_buffer(a));
}

const struct op device_ops[] = {
	{ "device_create",	5, device_create },
	{ "vgic_address",	3, vgic_address },
	{ "vgic_set_up",	3, vgic_set_up },
	{ "vgic_register",	10, vgic_register },
	{ "vgic_control",	4, vgic_control },
	{ "its_address",	2, its_address },
	{ "its_register",	10, its_register },
	{ "its_controls",	6, its_controls },
	{ "saved",		12, saved },
	{ "attribute",		4, attribute },
	{ }
};
