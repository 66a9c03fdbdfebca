// SPDX-License-Identifier: GPL-2.0
/* Every ioctl that takes an address, with addresses that lead nowhere. */
#include <sys/mman.h>
#include <unistd.h>

#include "conform.h"

struct row {
	const char *name;
	unsigned long cmd;
};

static const struct row vm_rows[] = {
	{ "set_memory", KVM_SET_USER_MEMORY_REGION },
	{ "get_dirty_log", KVM_GET_DIRTY_LOG },
	{ "irq_line", KVM_IRQ_LINE },
	{ "irqfd", KVM_IRQFD },
	{ "ioeventfd", KVM_IOEVENTFD },
	{ "gsi_routing", KVM_SET_GSI_ROUTING },
	{ "create_device", KVM_CREATE_DEVICE },
	{ "device_addr", KVM_ARM_SET_DEVICE_ADDR },
	{ "preferred_target", KVM_ARM_PREFERRED_TARGET },
	{ "enable_cap", KVM_ENABLE_CAP },
	{ "has_attr", KVM_HAS_DEVICE_ATTR },
	{ "set_attr", KVM_SET_DEVICE_ATTR },
	{ "counter_offset", KVM_ARM_SET_COUNTER_OFFSET },
	{ "signal_msi", KVM_SIGNAL_MSI },
};

static const struct row vcpu_rows[] = {
	{ "init", KVM_ARM_VCPU_INIT },
	{ "get_one_reg", KVM_GET_ONE_REG },
	{ "set_one_reg", KVM_SET_ONE_REG },
	{ "get_reg_list", KVM_GET_REG_LIST },
	{ "get_mp_state", KVM_GET_MP_STATE },
	{ "set_mp_state", KVM_SET_MP_STATE },
	{ "get_events", KVM_GET_VCPU_EVENTS },
	{ "set_events", KVM_SET_VCPU_EVENTS },
	{ "finalize", KVM_ARM_VCPU_FINALIZE },
	{ "set_attr", KVM_SET_DEVICE_ATTR },
	{ "get_attr", KVM_GET_DEVICE_ATTR },
	{ "has_attr", KVM_HAS_DEVICE_ATTR },
	{ "guest_debug", KVM_SET_GUEST_DEBUG },
	{ "get_regs", KVM_GET_REGS },
	{ "set_regs", KVM_SET_REGS },
	{ "get_sregs", KVM_GET_SREGS },
	{ "set_sregs", KVM_SET_SREGS },
	{ "translate", KVM_TRANSLATE },
	{ "get_fpu", KVM_GET_FPU },
	{ "set_fpu", KVM_SET_FPU },
	{ "interrupt", KVM_INTERRUPT },
	{ "nmi", KVM_NMI },
	{ "signal_mask", KVM_SET_SIGNAL_MASK },
};

static const struct row device_rows[] = {
	{ "set_attr", KVM_SET_DEVICE_ATTR },
	{ "get_attr", KVM_GET_DEVICE_ATTR },
	{ "has_attr", KVM_HAS_DEVICE_ATTR },
	{ "unknown", _IO(KVMIO, 0xff) },
	{ "foreign", _IO('x', 1) },
};

static void try_row(const char *file, int fd, const struct row *row)
{
	static const struct { const char *name; void *at; } places[] = {
		{ "low", WILD_LOW }, { "high", WILD_HIGH }, { "end", WILD_END },
	};
	size_t i;
	void *hole = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	for (i = 0; i < ARRAY_SIZE(places); i++)
		say(ioctl(fd, row->cmd, places[i].at), "%s.%s.%s", file, row->name,
		    places[i].name);
	/* Four bytes that can be read, and then none. */
	munmap((char *)hole + 4096, 4096);
	say(ioctl(fd, row->cmd, (char *)hole + 4092), "%s.%s.torn", file, row->name);
	munmap(hole, 4096);
}

void conform_wild(void)
{
	struct kvm_create_device dev = { .type = KVM_DEV_TYPE_ARM_VGIC_V3 };
	int kvm = open_kvm(), vm = new_vm(kvm), raw, vcpu;
	size_t i;

	raw = new_vcpu(vm, 1);
	vcpu = new_vcpu(vm, 0);
	init_vcpu(vcpu);
	for (i = 0; i < ARRAY_SIZE(vm_rows); i++)
		try_row("vm", vm, &vm_rows[i]);
	for (i = 0; i < ARRAY_SIZE(vcpu_rows); i++) {
		try_row("uninit", raw, &vcpu_rows[i]);
		try_row("vcpu", vcpu, &vcpu_rows[i]);
	}
	if (say(ioctl(vm, KVM_CREATE_DEVICE, &dev), "create_device") < 0)
		return;
	for (i = 0; i < ARRAY_SIZE(device_rows); i++)
		try_row("vgic", dev.fd, &device_rows[i]);
	close(dev.fd);
	close(raw);
	close(vcpu);
	close(vm);
	close(kvm);
}
