// SPDX-License-Identifier: GPL-2.0
/*
 * The effect of an irqfd's signal on its interrupt: line, pending state, and the state afterwards.
 */
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "conform.h"

#define GSI		8
#define SPI		(32 + GSI)
#define DIST_ISPENDR1	0x204
#define DIST_ICPENDR1	0x284
#define DIST_ICFGR2	0xc08
#define ICFGR_EDGE	(2U << 2 * (SPI - 32))

static u32 dist_reg(int vgic, u64 offset, bool write, u32 value)
{
	struct kvm_device_attr attr = {
		.group = KVM_DEV_ARM_VGIC_GRP_DIST_REGS, .attr = offset, .addr = (u64)&value,
	};

	if (ioctl(vgic, write ? KVM_SET_DEVICE_ATTR : KVM_GET_DEVICE_ATTR, &attr))
		die("KVM_DEV_ARM_VGIC_GRP_DIST_REGS");
	return value;
}

static void say_state(int vgic, const char *when)
{
	u64 line = 0;
	struct kvm_device_attr attr = {
		.group = KVM_DEV_ARM_VGIC_GRP_LEVEL_INFO,
		.attr = (u64)VGIC_LEVEL_INFO_LINE_LEVEL << KVM_DEV_ARM_VGIC_LINE_LEVEL_INFO_SHIFT |
			32,
		.addr = (u64)&line,
	};

	/* KVM injects early signals from a work queue. */
	usleep(100000);
	say(ioctl(vgic, KVM_GET_DEVICE_ATTR, &attr), "%s.level_info", when);
	note(line, "%s.lines", when);
	note(dist_reg(vgic, DIST_ISPENDR1, false, 0), "%s.pending", when);
}

static void signal_event(int event)
{
	u64 one = 1;

	if (write(event, &one, sizeof(one)) != sizeof(one))
		die("write to an eventfd");
}

static void lower(int vm)
{
	struct kvm_irq_level level = {
		.irq = KVM_ARM_IRQ_TYPE_SPI << KVM_ARM_IRQ_TYPE_SHIFT | SPI, .level = 0,
	};

	if (ioctl(vm, KVM_IRQ_LINE, &level))
		die("KVM_IRQ_LINE");
}

static void one_kind(bool edge, bool early, bool resample)
{
	int kvm = open_kvm(), vm = new_vm(kvm), vcpu = new_vcpu(vm, 0), vgic;
	int event = eventfd(0, EFD_NONBLOCK), again = eventfd(0, EFD_NONBLOCK);
	struct kvm_irqfd args = {
		.fd = event, .gsi = GSI, .resamplefd = again,
		.flags = resample ? KVM_IRQFD_FLAG_RESAMPLE : 0,
	};
	char name[64], when[96];
	u64 count;

	strcpy(name, edge ? "edge" : "level");
	strcat(name, early ? ".early" : ".late");
	strcat(name, resample ? ".resampled" : ".plain");
	init_vcpu(vcpu);
	vgic = ready_vgic(vm);
	dist_reg(vgic, DIST_ICFGR2, true, edge ? ICFGR_EDGE : 0);
	if (early)
		signal_event(event);
	say(ioctl(vm, KVM_IRQFD, &args), "%s.assign", name);
	say_state(vgic, strcat(strcpy(when, name), ".assigned"));
	signal_event(event);
	say_state(vgic, strcat(strcpy(when, name), ".signalled"));
	note(read(event, &count, sizeof(count)) == sizeof(count), "%s.event_left", name);
	note(read(again, &count, sizeof(count)) == sizeof(count), "%s.resampled", name);
	signal_event(event);
	say_state(vgic, strcat(strcpy(when, name), ".signalled_again"));
	lower(vm);
	say_state(vgic, strcat(strcpy(when, name), ".lowered"));
	dist_reg(vgic, DIST_ICPENDR1, true, 1U << (SPI - 32));
	say_state(vgic, strcat(strcpy(when, name), ".cleared"));
	signal_event(event);
	say_state(vgic, strcat(strcpy(when, name), ".after"));
	args.flags = KVM_IRQFD_FLAG_DEASSIGN;
	say(ioctl(vm, KVM_IRQFD, &args), "%s.off", name);
	say_state(vgic, strcat(strcpy(when, name), ".off"));
	signal_event(event);
	say_state(vgic, strcat(strcpy(when, name), ".signalled_off"));
	close(event);
	close(again);
	close(vgic);
	close(vcpu);
	close(vm);
	close(kvm);
}

void conform_irqfd(void)
{
	int kind;

	for (kind = 0; kind < 8; kind++)
		one_kind(kind & 1, kind & 2, kind & 4);
}
