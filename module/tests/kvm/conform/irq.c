// SPDX-License-Identifier: GPL-2.0
/* KVM_IRQ_LINE, KVM_IRQFD, KVM_SET_GSI_ROUTING, with and without a vGIC. */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "conform.h"

static void lines(int vm, const char *when)
{
	static const u32 types[] = { KVM_ARM_IRQ_TYPE_CPU, KVM_ARM_IRQ_TYPE_SPI,
				     KVM_ARM_IRQ_TYPE_PPI, 3, 15 };
	static const u32 numbers[] = { 0, 1, 2, 15, 16, 27, 31, 32, 63, 64, 95, 96, 1000, 0xffff };
	struct kvm_irq_level level = { 0 };
	size_t t, n;

	for (t = 0; t < ARRAY_SIZE(types); t++) {
		for (n = 0; n < ARRAY_SIZE(numbers); n++) {
			level.irq = types[t] << KVM_ARM_IRQ_TYPE_SHIFT | numbers[n];
			level.level = 1;
			say(ioctl(vm, KVM_IRQ_LINE, &level), "%s.line_%u_%u", when, types[t],
			    numbers[n]);
			level.level = 0;
			ioctl(vm, KVM_IRQ_LINE, &level);
		}
	}
	level.irq = KVM_ARM_IRQ_TYPE_PPI << KVM_ARM_IRQ_TYPE_SHIFT |
		    5 << KVM_ARM_IRQ_VCPU_SHIFT | 20;
	say(ioctl(vm, KVM_IRQ_LINE, &level), "%s.line_no_vcpu", when);
	level.irq = KVM_ARM_IRQ_TYPE_PPI << KVM_ARM_IRQ_TYPE_SHIFT |
		    1U << KVM_ARM_IRQ_VCPU2_SHIFT | 20;
	say(ioctl(vm, KVM_IRQ_LINE, &level), "%s.line_no_vcpu2", when);
	level.irq = KVM_ARM_IRQ_TYPE_SPI << KVM_ARM_IRQ_TYPE_SHIFT | 40;
	level.level = 7;
	say(ioctl(vm, KVM_IRQ_LINE, &level), "%s.line_level_7", when);
	level.level = 0;
	say(ioctl(vm, KVM_IRQ_LINE, &level), "%s.line_level_0", when);
	say(ioctl(vm, KVM_IRQ_LINE_STATUS, &level), "%s.line_status", when);
}

static void irqfds(int vm, const char *when)
{
	int event = eventfd(0, EFD_NONBLOCK), other = eventfd(0, EFD_NONBLOCK), pipe_fd[2];
	struct kvm_irqfd args = { .fd = event, .gsi = 1 };

	if (pipe(pipe_fd))
		die("pipe");
	say(ioctl(vm, KVM_IRQFD, &args), "%s.irqfd", when);
	say(ioctl(vm, KVM_IRQFD, &args), "%s.irqfd_twice", when);
	args.gsi = 2;
	say(ioctl(vm, KVM_IRQFD, &args), "%s.irqfd_other_gsi", when);
	args.flags = 0x80;
	say(ioctl(vm, KVM_IRQFD, &args), "%s.irqfd_flags", when);
	args.flags = 0;
	args.gsi = 100000;
	args.fd = other;
	say(ioctl(vm, KVM_IRQFD, &args), "%s.irqfd_gsi_high", when);
	args.flags = KVM_IRQFD_FLAG_DEASSIGN;
	say(ioctl(vm, KVM_IRQFD, &args), "%s.irqfd_gsi_high_off", when);
	args.gsi = 1;
	say(ioctl(vm, KVM_IRQFD, &args), "%s.irqfd_off_missing", when);
	args.fd = event;
	say(ioctl(vm, KVM_IRQFD, &args), "%s.irqfd_off", when);
	say(ioctl(vm, KVM_IRQFD, &args), "%s.irqfd_off_twice", when);
	args.flags = 0;
	args.fd = -1;
	say(ioctl(vm, KVM_IRQFD, &args), "%s.irqfd_fd_-1", when);
	args.fd = pipe_fd[0];
	say(ioctl(vm, KVM_IRQFD, &args), "%s.irqfd_pipe", when);
	args.fd = 9999;
	say(ioctl(vm, KVM_IRQFD, &args), "%s.irqfd_closed", when);
	args.flags = KVM_IRQFD_FLAG_RESAMPLE;
	args.fd = event;
	args.gsi = 3;
	args.resamplefd = -1;
	say(ioctl(vm, KVM_IRQFD, &args), "%s.irqfd_resample_-1", when);
	args.resamplefd = other;
	say(ioctl(vm, KVM_IRQFD, &args), "%s.irqfd_resample", when);
	args.flags = KVM_IRQFD_FLAG_RESAMPLE | KVM_IRQFD_FLAG_DEASSIGN;
	say(ioctl(vm, KVM_IRQFD, &args), "%s.irqfd_resample_off", when);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	close(event);
	close(other);
}

static long routes(int vm, u32 nr, u32 flags, const struct kvm_irq_routing_entry *entries,
		   u32 filled)
{
	struct kvm_irq_routing *table;
	long ret;

	table = calloc(1, sizeof(*table) + (filled + 1) * sizeof(*entries));
	table->nr = nr;
	table->flags = flags;
	memcpy(table->entries, entries, filled * sizeof(*entries));
	ret = ioctl(vm, KVM_SET_GSI_ROUTING, table);
	free(table);
	return ret;
}

static void routing(int vm, const char *when)
{
	struct kvm_irq_routing_entry one[2] = {
		{ .gsi = 5, .type = KVM_IRQ_ROUTING_IRQCHIP, .u.irqchip = { 0, 5 } },
		{ .gsi = 5, .type = KVM_IRQ_ROUTING_IRQCHIP, .u.irqchip = { 0, 5 } },
	};

	say(routes(vm, 0, 0, one, 0), "%s.routing_none", when);
	say(routes(vm, 0, 1, one, 0), "%s.routing_flags", when);
	say(routes(vm, 4097, 0, one, 1), "%s.routing_4097", when);
	say(routes(vm, ~0U, 0, one, 1), "%s.routing_all_ones", when);
	say(routes(vm, 1, 0, one, 1), "%s.routing_one", when);
	say(routes(vm, 2, 0, one, 2), "%s.routing_same_twice", when);
	one[1].u.irqchip.pin = 6;
	say(routes(vm, 2, 0, one, 2), "%s.routing_gsi_twice", when);
	one[0].u.irqchip.irqchip = 1;
	say(routes(vm, 1, 0, one, 1), "%s.routing_chip_1", when);
	one[0].u.irqchip.irqchip = 0;
	one[0].u.irqchip.pin = 5000;
	say(routes(vm, 1, 0, one, 1), "%s.routing_pin_5000", when);
	one[0].u.irqchip.pin = 5;
	one[0].gsi = 4095;
	say(routes(vm, 1, 0, one, 1), "%s.routing_gsi_4095", when);
	one[0].gsi = 5000;
	say(routes(vm, 1, 0, one, 1), "%s.routing_gsi_5000", when);
	one[0].gsi = 5;
	one[0].flags = 2;
	say(routes(vm, 1, 0, one, 1), "%s.routing_entry_flags", when);
	one[0].flags = 0;
	one[0].type = 77;
	say(routes(vm, 1, 0, one, 1), "%s.routing_type_77", when);
	one[0].type = KVM_IRQ_ROUTING_MSI;
	say(routes(vm, 1, 0, one, 1), "%s.routing_msi", when);
}

void conform_irq(void)
{
	struct kvm_create_device dev = { .type = KVM_DEV_TYPE_ARM_VGIC_V3 };
	struct kvm_device_attr attr = { .group = KVM_DEV_ARM_VGIC_GRP_CTRL };
	struct kvm_msi msi = { .address_lo = 0x8080040 };
	int kvm = open_kvm(), vm = new_vm(kvm), vcpu = new_vcpu(vm, 0);

	init_vcpu(vcpu);
	lines(vm, "none");
	irqfds(vm, "none");
	routing(vm, "none");
	say(ioctl(vm, KVM_SIGNAL_MSI, &msi), "none.signal_msi");
	if (ioctl(vm, KVM_CREATE_DEVICE, &dev))
		die("KVM_CREATE_DEVICE");
	lines(vm, "created");
	irqfds(vm, "created");
	routing(vm, "created");
	say(ioctl((int)dev.fd, KVM_SET_DEVICE_ATTR, &attr), "init");
	lines(vm, "ready");
	irqfds(vm, "ready");
	routing(vm, "ready");
	say(ioctl(vm, KVM_SIGNAL_MSI, &msi), "ready.signal_msi");
	close(dev.fd);
	close(vcpu);
	close(vm);
	close(kvm);
}

static long ioeventfd(int vm, int fd, u64 addr, u32 len, u32 flags, u64 match)
{
	struct kvm_ioeventfd args = {
		.fd = fd, .addr = addr, .len = len, .flags = flags, .datamatch = match,
	};

	return ioctl(vm, KVM_IOEVENTFD, &args);
}

void conform_ioeventfd(void)
{
	const u32 match = KVM_IOEVENTFD_FLAG_DATAMATCH, pio = KVM_IOEVENTFD_FLAG_PIO;
	const u32 off = KVM_IOEVENTFD_FLAG_DEASSIGN;
	int kvm = open_kvm(), vm = new_vm(kvm), len, flag;
	int a = eventfd(0, 0), b = eventfd(0, 0);

	for (len = 0; len < 18; len++)
		say(ioeventfd(vm, a, 0x1000 + 0x100 * len, len, 0, 0), "len_%d", len);
	for (flag = 3; flag < 32; flag += 7)
		say(ioeventfd(vm, a, 0x9000, 4, 1U << flag, 0), "flag_%d", flag);
	say(ioeventfd(vm, -1, 0x9000, 4, 0, 0), "fd_-1");
	say(ioeventfd(vm, kvm, 0x9000, 4, 0, 0), "fd_kvm");
	say(ioeventfd(vm, a, 0xfffffffffffffffe, 4, 0, 0), "wraps");
	say(ioeventfd(vm, a, 0xfffffffffffffffc, 4, 0, 0), "last");
	say(ioeventfd(vm, a, 0x9000, 4, 0, 0), "assign");
	say(ioeventfd(vm, a, 0x9000, 4, 0, 0), "assign_twice");
	say(ioeventfd(vm, b, 0x9000, 4, 0, 0), "assign_other_fd");
	say(ioeventfd(vm, b, 0x9000, 4, match, 7), "match_under_any");
	say(ioeventfd(vm, b, 0x9000, 8, 0, 0), "other_length");
	say(ioeventfd(vm, b, 0xa000, 4, match, 7), "match_7");
	say(ioeventfd(vm, a, 0xa000, 4, match, 7), "match_7_other_fd");
	say(ioeventfd(vm, a, 0xa000, 4, match, 8), "match_8");
	say(ioeventfd(vm, a, 0xa000, 4, 0, 0), "any_over_match");
	say(ioeventfd(vm, a, 0xb000, 0, match, 7), "length_0_match");
	say(ioeventfd(vm, a, 0xc000, 4, pio, 0), "pio");
	say(ioeventfd(vm, b, 0x9000, 4, off, 0), "off_other_fd");
	say(ioeventfd(vm, a, 0x9000, 2, off, 0), "off_other_length");
	say(ioeventfd(vm, a, 0x9004, 4, off, 0), "off_other_address");
	say(ioeventfd(vm, a, 0x9000, 4, off, 0), "off");
	say(ioeventfd(vm, a, 0x9000, 4, off, 0), "off_twice");
	say(ioeventfd(vm, b, 0xa000, 4, off | match, 8), "off_other_match");
	say(ioeventfd(vm, b, 0xa000, 4, off | match, 7), "off_match");
	say(ioeventfd(vm, -1, 0xa000, 4, off, 0), "off_fd_-1");
	close(a);
	close(b);
	close(vm);
	close(kvm);
}
