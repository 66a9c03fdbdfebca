// SPDX-License-Identifier: GPL-2.0
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "its_machine.h"

long attr_call(int fd, unsigned long cmd, u32 group, u64 number, void *addr)
{
	struct kvm_device_attr attr = { .group = group, .attr = number, .addr = (u64)addr };

	return ioctl(fd, cmd, &attr);
}

long attr_set(int fd, u32 group, u64 number, u64 val)
{
	return attr_call(fd, KVM_SET_DEVICE_ATTR, group, number, &val);
}

long attr_get(int fd, u32 group, u64 number, u64 *val)
{
	return attr_call(fd, KVM_GET_DEVICE_ATTR, group, number, val);
}

long its_set(const struct machine *m, u64 offset, u64 val)
{
	return attr_set(m->its, KVM_DEV_ARM_VGIC_GRP_ITS_REGS, offset, val);
}

u64 its_get(const struct machine *m, u64 offset)
{
	u64 val = 0x7777;

	attr_get(m->its, KVM_DEV_ARM_VGIC_GRP_ITS_REGS, offset, &val);
	return val;
}

long its_control(const struct machine *m, u64 what)
{
	return attr_set(m->its, KVM_DEV_ARM_VGIC_GRP_CTRL, what, 0);
}

/* A redistributor's register of 32 bits. */
long redist_set(const struct machine *m, u64 cpu, u64 offset, u32 val)
{
	return attr_call(m->vgic, KVM_SET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_REDIST_REGS,
			 cpu << 32 | offset, &val);
}

u32 redist_get(const struct machine *m, u64 cpu, u64 offset)
{
	u32 val = 0x7777;

	attr_call(m->vgic, KVM_GET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_REDIST_REGS,
		  cpu << 32 | offset, &val);
	return val;
}

u64 *ram_at(const struct machine *m, u64 gpa)
{
	return (u64 *)(m->ram + (gpa - RAM));
}

int new_device(int vm, u32 type)
{
	struct kvm_create_device dev = { .type = type };

	return ioctl(vm, KVM_CREATE_DEVICE, &dev) ? -1 : (int)dev.fd;
}

/* Two vCPUs, a vGIC that is ready, an ITS with its place. */
void new_machine(struct machine *m)
{
	new_machine_in(m, NULL);
}

void new_machine_in(struct machine *m, void (*prepare)(int vm))
{
	u64 none = 0;
	int i;

	memset(m, 0, sizeof(*m));
	m->kvm = open_kvm();
	m->vm = new_vm(m->kvm);
	if (prepare)
		prepare(m->vm);
	m->ram = new_slot(m->vm, 0, RAM, RAM_SIZE);
	for (i = 0; i < 2; i++) {
		m->vcpu[i] = new_vcpu(m->vm, i);
		init_vcpu(m->vcpu[i]);
	}
	m->vgic = new_device(m->vm, KVM_DEV_TYPE_ARM_VGIC_V3);
	m->its = new_device(m->vm, KVM_DEV_TYPE_ARM_VGIC_ITS);
	if (m->vgic < 0 || m->its < 0)
		die("KVM_CREATE_DEVICE");
	attr_set(m->vgic, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_V3_ADDR_TYPE_DIST, 0x8000000);
	attr_set(m->vgic, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_V3_ADDR_TYPE_REDIST, 0x80a0000);
	attr_set(m->its, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_ITS_ADDR_TYPE, ITS_BASE);
	if (attr_call(m->vgic, KVM_SET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_CTRL,
		      KVM_DEV_ARM_VGIC_CTRL_INIT, &none))
		die("KVM_DEV_ARM_VGIC_CTRL_INIT");
}

void free_machine(struct machine *m)
{
	close(m->its);
	close(m->vgic);
	close(m->vcpu[0]);
	close(m->vcpu[1]);
	close(m->vm);
	close(m->kvm);
	munmap(m->ram, RAM_SIZE);
}

/* As a guest sets it up. */
void boot_machine(struct machine *m)
{
	u64 cpu;

	memset(m->ram + 0x50000, 0xa1, 0x10000);
	for (cpu = 0; cpu < 2; cpu++) {
		redist_set(m, cpu, 0x70, (u32)PROP_TABLE | 15);
		redist_set(m, cpu, 0x74, 0);
		redist_set(m, cpu, 0x78, (u32)(PEND_TABLE + cpu * 0x10000));
		redist_set(m, cpu, 0x7c, 0);
		redist_set(m, cpu, 0, 1);
	}
	its_set(m, BASER0, DEVICE_TABLE | VALID);
	its_set(m, BASER1, COLL_TABLE | VALID);
	its_set(m, CBASER, QUEUE | VALID);
	its_set(m, CTLR, 1);
	m->writer = 0;
}

void its_command(struct machine *m, u64 w0, u64 w1, u64 w2, u64 w3)
{
	u64 *words = ram_at(m, QUEUE + m->writer);

	words[0] = w0;
	words[1] = w1;
	words[2] = w2;
	words[3] = w3;
	m->writer = (m->writer + 32) % 0x1000;
	its_set(m, CWRITER, m->writer);
}

void its_mapd(struct machine *m, u64 device, u64 itt, u64 bits, u64 valid)
{
	its_command(m, MAPD | device << 32, bits - 1, itt | valid << 63, 0);
}

void its_mapc(struct machine *m, u64 collection, u64 cpu, u64 valid)
{
	its_command(m, MAPC, 0, collection | cpu << 16 | valid << 63, 0);
}

void its_mapti(struct machine *m, u64 device, u64 event, u64 lpi, u64 collection)
{
	its_command(m, MAPTI | device << 32, event | lpi << 32, collection, 0);
}

long send_msi_at(const struct machine *m, u64 address, u32 flags, u32 device, u32 event)
{
	struct kvm_msi msi = {
		.address_lo = (u32)address, .address_hi = (u32)(address >> 32),
		.data = event, .flags = flags, .devid = device,
	};

	return ioctl(m->vm, KVM_SIGNAL_MSI, &msi);
}

long send_msi(const struct machine *m, u32 device, u32 event)
{
	return send_msi_at(m, ITS_BASE + 0x10040, KVM_MSI_VALID_DEVID, device, event);
}

/* All pending bits of both vCPUs, as a sum that tells them apart. */
u64 pending_sum(const struct machine *m)
{
	u64 sum = 0, i;

	if (attr_set(m->vgic, KVM_DEV_ARM_VGIC_GRP_CTRL, KVM_DEV_ARM_VGIC_SAVE_PENDING_TABLES, 0))
		return ~0ULL;
	for (i = 0; i < 0x20000; i++)
		sum = sum * 31 + m->ram[PEND_TABLE - RAM + i];
	return sum;
}

/* All tables. */
u64 tables_sum(const struct machine *m)
{
	u64 sum = 0, i;

	for (i = 0; i < 0x20000; i += 8)
		sum = sum * 31 + *ram_at(m, DEVICE_TABLE + i);
	for (i = 0; i < ITT_SIZE; i += 8)
		sum = sum * 31 + *ram_at(m, ITT + i);
	return sum;
}
