// SPDX-License-Identifier: GPL-2.0
/*
 * Every register of a vGIC and of an ITS, by the attributes of its device: it is tested for, read
 * and written back. Also their addresses, in the maximum number of regions.
 *
 *	VCPUS=n		240 (api_vgic)
 */
#include <sys/resource.h>
#include <unistd.h>

#include "bounds.h"
#include "its_machine.h"

#define REGION_SIZE	0x20000ULL	/* of one vCPU's redistributor */
#define REGIONS		0x10000000ULL
#define MAX_ITS		16

/* Those that are there, from one offset to another. cpu is what the attribute has above them. */
static u32 sweep(int fd, u32 group, u64 cpu, u32 end, u32 step)
{
	u32 offset, n = 0;
	u64 value;

	for (offset = 0; offset < end; offset += step) {
		if (attr_call(fd, KVM_HAS_DEVICE_ATTR, group, cpu | offset, &value))
			continue;
		n++;
		if (!attr_call(fd, KVM_GET_DEVICE_ATTR, group, cpu | offset, &value))
			/* Some may not be written. */
			attr_call(fd, KVM_SET_DEVICE_ATTR, group, cpu | offset, &value);
	}
	return n;
}

static void must_set(int fd, u32 group, u64 number, void *addr)
{
	if (attr_call(fd, KVM_SET_DEVICE_ATTR, group, number, addr))
		die("attribute %u %llx", group, (unsigned long long)number);
}

/* A region for each vCPU, so that there are as many as there may be. */
static int many_regions(int vm, u32 vcpus)
{
	int vgic = new_device(vm, KVM_DEV_TYPE_ARM_VGIC_V3);
	u64 dist = GUEST_DIST, i;

	must_set(vgic, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_V3_ADDR_TYPE_DIST, &dist);
	meter_begin();
	for (i = 0; i < vcpus; i++) {
		u64 region = i | (REGIONS + i * REGION_SIZE) | 1ULL << 52;

		must_set(vgic, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_V3_ADDR_TYPE_REDIST_REGION,
			 &region);
	}
	meter_end("api.vgic_regions");
	must_set(vgic, KVM_DEV_ARM_VGIC_GRP_CTRL, KVM_DEV_ARM_VGIC_CTRL_INIT, NULL);
	return vgic;
}

void bounds_api_vgic(void)
{
	struct rlimit files = { 1 << 12, 1 << 12 };
	u32 vcpus = setting("VCPUS", 240), last = vcpus - 1, i, n;
	u64 affinity = (u64)((last & 15) | (last >> 4) << 8) << 32;
	int kvm = open_kvm(), vm = new_vm(kvm), vgic;

	if (setrlimit(RLIMIT_NOFILE, &files))
		die("RLIMIT_NOFILE");
	for (i = 0; i < vcpus; i++)
		init_vcpu(new_vcpu(vm, i));
	vgic = many_regions(vm, vcpus);
	meter_begin();
	n = sweep(vgic, KVM_DEV_ARM_VGIC_GRP_DIST_REGS, 0, 0x10000, 4);
	n += sweep(vgic, KVM_DEV_ARM_VGIC_GRP_REDIST_REGS, affinity, 0x20000, 4);
	n += sweep(vgic, KVM_DEV_ARM_VGIC_GRP_CPU_SYSREGS, affinity, 0x10000, 1);
	meter_end("api.vgic_registers");
	result("entries", n, "count");
	close(vgic);
	close(vm);
	close(kvm);
}

static void place_many(int vm)
{
	u64 i;

	meter_begin();
	for (i = 0; i < MAX_ITS; i++) {
		u64 at = REGIONS + i * REGION_SIZE;

		must_set(new_device(vm, KVM_DEV_TYPE_ARM_VGIC_ITS), KVM_DEV_ARM_VGIC_GRP_ADDR,
			 KVM_VGIC_ITS_ADDR_TYPE, &at);
	}
	meter_end("api.its_place");
}

void bounds_api_its(void)
{
	int kvm = open_kvm(), vm = new_vm(kvm);
	struct machine m;
	u32 n;

	init_vcpu(new_vcpu(vm, 0));
	place_many(vm);
	close(vm);
	close(kvm);
	new_machine(&m);
	boot_machine(&m);
	meter_begin();
	n = sweep(m.its, KVM_DEV_ARM_VGIC_GRP_ITS_REGS, 0, 0x20000, 4);
	meter_end("api.its_registers");
	result("entries", n, "count");
	free_machine(&m);
}
