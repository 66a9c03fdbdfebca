// SPDX-License-Identifier: GPL-2.0
/*
 * Calls of the API that no other row makes in their worst case, each under the meter. Figures are
 * api.NAME; tests/data/bounds_api.toml says which call each one stands for. The VM has the maximum
 * number of vCPUs, because many calls visit all of them.
 *
 *	VCPUS=n		254
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bounds.h"
#include "its_machine.h"

#define MAX_VCPUS	254

/* Of newer kernels. */
#define CAP_IMP_IDS	239
#define PMU_V3_SET_NR_COUNTERS	4

/* One call under the meter, which must succeed, or fail with err. */
#define UNDER(name, call, err)							\
	do {									\
		meter_begin();							\
		must(name, call, err);						\
		meter_end("api.%s", name);					\
	} while (0)

static void must(const char *name, long ret, int err)
{
	if (err ? ret >= 0 || errno != err : ret < 0)
		die("%s", name);
}

struct api {
	int kvm, vm, nr;
	int vcpu[MAX_VCPUS];
};

static void begin(struct api *a, u32 features)
{
	struct rlimit files = { 1 << 12, 1 << 12 };
	struct kvm_vcpu_init init = {
		.target = KVM_ARM_TARGET_GENERIC_V8,
		.features = { 1 << KVM_ARM_VCPU_PSCI_0_2 | features },
	};
	int i;

	a->nr = setting("VCPUS", MAX_VCPUS);
	if (a->nr > MAX_VCPUS || setrlimit(RLIMIT_NOFILE, &files))
		die("%d vCPUs", a->nr);
	a->kvm = open_kvm();
	a->vm = new_vm(a->kvm);
	for (i = 0; i < a->nr; i++) {
		if (i == a->nr - 1)
			meter_begin();
		a->vcpu[i] = new_vcpu(a->vm, i);
		if (i == a->nr - 1)
			meter_end("api.create_vcpu");
		if (ioctl(a->vcpu[i], KVM_ARM_VCPU_INIT, &init))
			die("KVM_ARM_VCPU_INIT");
	}
}

static void end(struct api *a, const char *name)
{
	int i;

	for (i = 0; i < a->nr; i++)
		close(a->vcpu[i]);
	UNDER(name, close(a->vm), 0);
	close(a->kvm);
}

/* ---- the system ------------------------------------------------------------------ */

void bounds_api_system(void)
{
	int kvm = open_kvm(), vm, i;

	UNDER("get_api_version", ioctl(kvm, KVM_GET_API_VERSION, 0), 0);
	UNDER("get_vcpu_mmap_size", ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0), 0);
	meter_begin();
	for (i = 0; i < 512; i++)
		ioctl(kvm, KVM_CHECK_EXTENSION, i);
	meter_end("api.check_extension");
	meter_begin();
	vm = new_vm(kvm);
	meter_end("api.create_vm");
	close(vm);
	close(kvm);
}

/* ---- a VM ------------------------------------------------------------------------- */

static void enable(int vm, const char *name, u32 cap, u64 arg)
{
	struct kvm_enable_cap args = { .cap = cap, .args = { arg } };
	char label[48];

	snprintf(label, sizeof(label), "enable_%s", name);
	meter_begin();
	/* Not all hosts have each of them. */
	ioctl(vm, KVM_ENABLE_CAP, &args);
	meter_end("api.%s", label);
}

/* As many ranges as there may be: one of a number each, so that none of them merge. */
static void filter(int vm)
{
	struct kvm_smccc_filter filter = { .nr_functions = 1 };
	struct kvm_device_attr attr = {
		.group = KVM_ARM_VM_SMCCC_CTRL, .attr = KVM_ARM_VM_SMCCC_FILTER,
		.addr = (u64)&filter,
	};
	u32 i;

	UNDER("has_vm_attr", ioctl(vm, KVM_HAS_DEVICE_ATTR, &attr), 0);
	meter_begin();
	for (i = 0; i < 8192; i++) {
		filter.base = 0x84000000 + 2 * i;
		filter.action = KVM_SMCCC_FILTER_DENY;
		if (ioctl(vm, KVM_SET_DEVICE_ATTR, &attr))
			break;
	}
	meter_end("api.smccc_filter");
	if (errno != ENOSPC)
		die("KVM_ARM_VM_SMCCC_FILTER");
}

static void stats(int fd, const char *name)
{
	static char image[1 << 16];
	int file;

	meter_begin();
	file = ioctl(fd, KVM_GET_STATS_FD, 0);
	if (file < 0 || pread(file, image, sizeof(image), 0) <= 0)
		die("KVM_GET_STATS_FD");
	close(file);
	meter_end("api.%s", name);
}

void bounds_api_vm(void)
{
	struct kvm_arm_counter_offset offset = { .counter_offset = 1 };
	struct kvm_irq_level line = { .irq = KVM_ARM_IRQ_TYPE_CPU << KVM_ARM_IRQ_TYPE_SHIFT };
	u64 masks[KVM_ARM_FEATURE_ID_RANGE_SIZE];
	struct reg_mask_range range = { .addr = (u64)masks };
	struct kvm_arm_device_addr addr = {};
	struct kvm_vcpu_init init;
	struct kvm_create_device test = {
		.type = KVM_DEV_TYPE_ARM_VGIC_V3, .flags = KVM_CREATE_DEVICE_TEST,
	};
	struct api a;
	int empty;

	begin(&a, 0);
	UNDER("irq_line", ioctl(a.vm, KVM_IRQ_LINE, &line), 0);
	UNDER("create_irqchip", ioctl(a.vm, KVM_CREATE_IRQCHIP, 0), ENODEV);
	UNDER("set_device_addr", ioctl(a.vm, KVM_ARM_SET_DEVICE_ADDR, &addr), ENODEV);
	UNDER("preferred_target", ioctl(a.vm, KVM_ARM_PREFERRED_TARGET, &init), 0);
	UNDER("reg_writable_masks", ioctl(a.vm, KVM_ARM_GET_REG_WRITABLE_MASKS, &range), 0);
	UNDER("test_device", ioctl(a.vm, KVM_CREATE_DEVICE, &test), 0);
	UNDER("counter_offset", ioctl(a.vm, KVM_ARM_SET_COUNTER_OFFSET, &offset), 0);
	enable(a.vm, "manual_protect", KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2, 3);
	enable(a.vm, "suspend", KVM_CAP_ARM_SYSTEM_SUSPEND, 0);
	enable(a.vm, "nisv", KVM_CAP_ARM_NISV_TO_USER, 0);
	enable(a.vm, "halt_poll", KVM_CAP_HALT_POLL, 1000);
	enable(a.vm, "accounting", CAP_ACCOUNTING, 1);
	enable(a.vm, "accounting_off", CAP_ACCOUNTING, 0);
	filter(a.vm);
	stats(a.vm, "vm_stats");
	stats(a.vcpu[a.nr - 1], "vcpu_stats");
	end(&a, "close");
	/* Before there are vCPUs. */
	empty = new_vm(open_kvm());
	enable(empty, "imp_ids", CAP_IMP_IDS, 0);
	enable(empty, "cheap", CAP_CHEAP_TRAPS, 0);
	enable(empty, "ring", KVM_CAP_DIRTY_LOG_RING_ACQ_REL, 65536 * sizeof(struct kvm_dirty_gfn));
	enable(empty, "ring_bitmap", KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP, 0);
	close(empty);
}

/* ---- a vCPU ------------------------------------------------------------------------ */

/* Each register that there is, read and written back. */
static void all_regs(const struct api *a)
{
	static u64 room[1 + 4096];
	struct kvm_reg_list *list = (void *)room;
	int vcpu = a->vcpu[a->nr - 1];
	u64 i;

	list->n = 0;
	UNDER("reg_list_count", ioctl(vcpu, KVM_GET_REG_LIST, list), E2BIG);
	UNDER("reg_list", ioctl(vcpu, KVM_GET_REG_LIST, list), 0);
	result("entries", list->n, "count");
	meter_begin();
	for (i = 0; i < list->n; i++) {
		u64 value[2];
		struct kvm_one_reg reg = { .id = list->reg[i], .addr = (u64)value };

		must("one_reg", ioctl(vcpu, KVM_GET_ONE_REG, &reg), 0);
		/* Some may not be written, or not any more. */
		ioctl(vcpu, KVM_SET_ONE_REG, &reg);
	}
	meter_end("api.one_reg");
}

static void attr(int vcpu, const char *name, u32 group, u64 number, void *addr)
{
	static const struct {
		const char *name;
		unsigned long cmd;
	} calls[] = {
		{ "has", KVM_HAS_DEVICE_ATTR },
		{ "set", KVM_SET_DEVICE_ATTR },
		{ "get", KVM_GET_DEVICE_ATTR },
	};
	char label[48];
	long ret;
	int i;

	for (i = 0; i < (int)ARRAY_SIZE(calls); i++) {
		snprintf(label, sizeof(label), "%s_%s", calls[i].name, name);
		meter_begin();
		ret = attr_call(vcpu, calls[i].cmd, group, number, addr);
		/* Not each may be read. */
		if (calls[i].cmd != KVM_GET_DEVICE_ATTR)
			must(label, ret, 0);
		meter_end("api.%s", label);
	}
}

static void vcpu_state(int vcpu)
{
	static const struct kvm_vcpu_init init = {
		.target = KVM_ARM_TARGET_GENERIC_V8,
		.features = { 1 << KVM_ARM_VCPU_PSCI_0_2 },
	};
	struct kvm_guest_debug debug = { .control = KVM_GUESTDBG_ENABLE };
	struct kvm_translation translation = {};
	struct kvm_vcpu_events events = {};
	struct kvm_mp_state state = {};
	struct kvm_regs regs = {};
	struct {
		u32 len;
		u64 set;
	} __attribute__((packed)) mask = { .len = 8 };
	int feature = KVM_ARM_VCPU_SVE;

	UNDER("vcpu_init", ioctl(vcpu, KVM_ARM_VCPU_INIT, &init), 0);
	UNDER("finalize", ioctl(vcpu, KVM_ARM_VCPU_FINALIZE, &feature), EINVAL);
	UNDER("get_mp_state", ioctl(vcpu, KVM_GET_MP_STATE, &state), 0);
	UNDER("set_mp_state", ioctl(vcpu, KVM_SET_MP_STATE, &state), 0);
	UNDER("get_events", ioctl(vcpu, KVM_GET_VCPU_EVENTS, &events), 0);
	UNDER("set_events", ioctl(vcpu, KVM_SET_VCPU_EVENTS, &events), 0);
	UNDER("signal_mask", ioctl(vcpu, KVM_SET_SIGNAL_MASK, &mask), 0);
	ioctl(vcpu, KVM_SET_SIGNAL_MASK, NULL);
	UNDER("guest_debug", ioctl(vcpu, KVM_SET_GUEST_DEBUG, &debug), 0);
	debug.control = 0;
	UNDER("guest_debug_off", ioctl(vcpu, KVM_SET_GUEST_DEBUG, &debug), 0);
	UNDER("set_regs", ioctl(vcpu, KVM_SET_REGS, &regs), EINVAL);
	UNDER("translate", ioctl(vcpu, KVM_TRANSLATE, &translation), EINVAL);
}

void bounds_api_vcpu(void)
{
	u64 at = GUEST_BASE;
	struct api a;
	int irq = 20, last, vgic;

	begin(&a, 0);
	last = a.vcpu[a.nr - 1];
	all_regs(&a);
	vcpu_state(last);
	new_slot(a.vm, 0, GUEST_BASE, GUEST_SIZE);
	attr(last, "pvtime", KVM_ARM_VCPU_PVTIME_CTRL, KVM_ARM_VCPU_PVTIME_IPA, &at);
	/* The same for all vCPUs. */
	vgic = new_device(a.vm, KVM_DEV_TYPE_ARM_VGIC_V3);
	attr(last, "vtimer", KVM_ARM_VCPU_TIMER_CTRL, KVM_ARM_VCPU_TIMER_IRQ_VTIMER, &irq);
	irq++;
	attr(last, "ptimer", KVM_ARM_VCPU_TIMER_CTRL, KVM_ARM_VCPU_TIMER_IRQ_PTIMER, &irq);
	close(vgic);
	end(&a, "vcpu_close");
}

/* ---- the PMU ------------------------------------------------------------------------- */

static void pmu_set(const struct api *a, const char *name, u64 number, void *addr)
{
	UNDER(name, attr_call(a->vcpu[a->nr - 1], KVM_SET_DEVICE_ATTR, KVM_ARM_VCPU_PMU_V3_CTRL,
			      number, addr), 0);
}

void bounds_api_pmu(void)
{
	struct kvm_pmu_event_filter filter = {
		.nevents = 65535, .action = KVM_PMU_EVENT_DENY,
	};
	u64 dist = GUEST_DIST, redist = 0x10000000;
	int type = -1, irq = 23, i, counters = 1;
	struct api a;
	int vgic;

	begin(&a, 1 << KVM_ARM_VCPU_PMU_V3);
	for (i = 0; i < 64 && type < 0; i++)
		if (!attr_call(a.vcpu[0], KVM_SET_DEVICE_ATTR, KVM_ARM_VCPU_PMU_V3_CTRL,
			       KVM_ARM_VCPU_PMU_V3_SET_PMU, &i))
			type = i;
	if (type < 0)
		die("no PMU");
	pmu_set(&a, "pmu_set_pmu", KVM_ARM_VCPU_PMU_V3_SET_PMU, &type);
	/* 65,536 events from PMUv3.1 on: the board must have that. */
	pmu_set(&a, "pmu_filter", KVM_ARM_VCPU_PMU_V3_FILTER, &filter);
	filter.action = KVM_PMU_EVENT_ALLOW;
	pmu_set(&a, "pmu_filter_again", KVM_ARM_VCPU_PMU_V3_FILTER, &filter);
	meter_begin();
	/* From 6.17 on. */
	attr_call(a.vcpu[0], KVM_SET_DEVICE_ATTR, KVM_ARM_VCPU_PMU_V3_CTRL,
		  PMU_V3_SET_NR_COUNTERS, &counters);
	meter_end("api.pmu_counters");
	vgic = new_device(a.vm, KVM_DEV_TYPE_ARM_VGIC_V3);
	if (attr_call(vgic, KVM_SET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_ADDR,
		      KVM_VGIC_V3_ADDR_TYPE_DIST, &dist) ||
	    attr_call(vgic, KVM_SET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_ADDR,
		      KVM_VGIC_V3_ADDR_TYPE_REDIST, &redist) ||
	    attr_call(vgic, KVM_SET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_CTRL,
		      KVM_DEV_ARM_VGIC_CTRL_INIT, NULL))
		die("vGIC");
	for (i = 0; i < a.nr - 1; i++)
		attr_call(a.vcpu[i], KVM_SET_DEVICE_ATTR, KVM_ARM_VCPU_PMU_V3_CTRL,
			  KVM_ARM_VCPU_PMU_V3_IRQ, &irq);
	pmu_set(&a, "pmu_irq", KVM_ARM_VCPU_PMU_V3_IRQ, &irq);
	pmu_set(&a, "pmu_init", KVM_ARM_VCPU_PMU_V3_INIT, NULL);
	close(vgic);
	end(&a, "pmu_close");
}
