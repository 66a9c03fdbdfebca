// SPDX-License-Identifier: GPL-2.0
/*
 * Calls on vCPUs that other threads run. Each waits for the vCPU, which the ticker interrupts; a
 * signal mask must not block the ticker's signal.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

static int any_vcpu(struct actor *a)
{
	return get_file(&a->w->vcpu[pick(a, MAX_CPUS)]);
}

static void vcpu_create(struct actor *a)
{
	unsigned int i = pick(a, MAX_CPUS);
	u64 id = one_in(a, 8) ? rnd(&a->rng) : i;
	int vcpu = call_number(a, get_file(&a->w->vm), KVM_CREATE_VCPU, id);

	if (vcpu >= 0)
		put_file(&a->w->vcpu[i], vcpu);
}

static void vcpu_init(struct actor *a)
{
	struct kvm_vcpu_init init = {
		.target = KVM_ARM_TARGET_GENERIC_V8,
		.features = { 1 << KVM_ARM_VCPU_PSCI_0_2 },
	};
	unsigned int cpu = pick(a, MAX_CPUS);
	int vcpu = get_file(&a->w->vcpu[cpu]);

	if (one_in(a, 3))
		init.features[0] |= 1 << KVM_ARM_VCPU_POWER_OFF;
	if (one_in(a, 8) != a->w->pmu)
		init.features[0] |= 1 << KVM_ARM_VCPU_PMU_V3;
	if (one_in(a, 8))
		init.features[pick(a, 7)] = (u32)rnd(&a->rng);
	if (call(a, vcpu, KVM_ARM_VCPU_INIT, &init) >= 0)
		start_cpu(a->w, vcpu, cpu, &a->rng);
}

/* One of the list's, or a number near one; read, changed a little, written. */
static void registers(struct actor *a)
{
	struct kvm_reg_list *list = (struct kvm_reg_list *)a->buffer;
	u64 value[32] = { 0 };
	struct kvm_one_reg reg = { .addr = (u64)value };
	int vcpu = any_vcpu(a), i;
	u64 which;

	list->n = BUFFER_SIZE / 8 - 1;
	call(a, vcpu, KVM_GET_REG_LIST, list);
	for (i = 0; i < 8; i++) {
		which = pick(a, 1000);
		reg.id = list->reg[list->n ? which % list->n : 0] ^
			 (one_in(a, 16) ? 1ULL << pick(a, 16) : 0);
		/* A register of 2048 bits at most, which KVM's list does not have. */
		if ((reg.id & KVM_REG_SIZE_MASK) > KVM_REG_SIZE_U2048)
			continue;
		call(a, vcpu, KVM_GET_ONE_REG, &reg);
		value[0] ^= one_in(a, 2) ? 0 : 1ULL << pick(a, 64);
		call(a, vcpu, KVM_SET_ONE_REG, &reg);
	}
}

/* The virtual counter back or forth: from then on its reads trap. */
static void counter(struct actor *a)
{
	u64 value = one_in(a, 2) ? 0 : rnd(&a->rng) >> pick(a, 64);
	struct kvm_one_reg reg = { .id = KVM_REG_ARM_TIMER_CNT, .addr = (u64)&value };

	call(a, any_vcpu(a), KVM_SET_ONE_REG, &reg);
}

/* A debugger that comes and goes: it steps, and has breakpoints of any kind. */
static void guest_debug(struct actor *a)
{
	struct kvm_guest_debug *debug = (struct kvm_guest_debug *)a->buffer;
	u64 *regs = (u64 *)&debug->arch;
	unsigned int i;

	memset(debug, 0, sizeof(*debug));
	debug->control = one_in(a, 3) ? 0 : KVM_GUESTDBG_ENABLE | (u32)pick(a, 4) << 16 |
			 (u32)pick(a, 2) << 1;
	if (one_in(a, 16))
		debug->control = (u32)rnd(&a->rng);
	for (i = 0; i < sizeof(debug->arch) / sizeof(u64); i++)
		regs[i] = one_in(a, 4) ? rnd(&a->rng) : one_in(a, 2) ? 0x1e7 : GUEST_BASE + 4 * i;
	call(a, any_vcpu(a), KVM_SET_GUEST_DEBUG, debug);
}

/* The PMU's attributes, on vCPUs that have run and on those that have not. */
static void pmu(struct actor *a)
{
	static const u32 calls[] = {
		KVM_SET_DEVICE_ATTR, KVM_SET_DEVICE_ATTR, KVM_GET_DEVICE_ATTR, KVM_HAS_DEVICE_ATTR,
	};
	struct kvm_pmu_event_filter filter = {
		.base_event = (u16)(rnd(&a->rng) >> pick(a, 64)), .nevents = (u16)pick(a, 0x400),
		.action = (u8)pick(a, 3),
	};
	int number = one_in(a, 2) ? 23 : (int)pick(a, 64);
	struct kvm_device_attr attr = {
		.group = KVM_ARM_VCPU_PMU_V3_CTRL, .attr = pick(a, 6), .addr = (u64)&number,
	};

	if (attr.attr == KVM_ARM_VCPU_PMU_V3_FILTER)
		attr.addr = (u64)&filter;
	if (one_in(a, 8))
		attr.addr = (u64)any_buffer(a);
	call(a, any_vcpu(a), calls[pick(a, ARRAY_SIZE(calls))], &attr);
}

/* What is set up for the VM, most of it before its first run. */
static void vm_options(struct actor *a)
{
	struct kvm_smccc_filter filter = {
		.base = 0x84000000 + (u32)pick(a, 64), .nr_functions = (u32)pick(a, 8),
		.action = (u8)pick(a, 4),
	};
	struct kvm_device_attr attr = {
		.group = KVM_ARM_VM_SMCCC_CTRL, .attr = KVM_ARM_VM_SMCCC_FILTER,
		.addr = (u64)&filter,
	};
	struct kvm_arm_counter_offset offset = {
		.counter_offset = rnd(&a->rng) >> pick(a, 64), .reserved = one_in(a, 8),
	};
	struct reg_mask_range range = { .addr = (u64)any_buffer(a), .range = one_in(a, 8) };
	struct kvm_enable_cap cap = {
		.cap = one_in(a, 2) ? KVM_CAP_ARM_SYSTEM_SUSPEND : CAP_CHEAP_TRAPS,
		.args = { pick(a, 64) },
	};
	struct kvm_coalesced_mmio_zone zone = {
		.addr = GUEST_MMIO + 8 * pick(a, 64), .size = (u32)pick(a, 0x200),
	};
	int vm = get_file(&a->w->vm);

	switch (pick(a, 6)) {
	case 0:
		call(a, vm, KVM_SET_DEVICE_ATTR, &attr);
		break;
	case 1:
		call(a, vm, KVM_ARM_SET_COUNTER_OFFSET, &offset);
		break;
	case 2:
		call(a, vm, KVM_ARM_GET_REG_WRITABLE_MASKS, &range);
		break;
	case 3:
		call(a, vm, KVM_REGISTER_COALESCED_MMIO, &zone);
		break;
	case 4:
		call(a, vm, KVM_UNREGISTER_COALESCED_MMIO, &zone);
		break;
	default:
		call(a, vm, KVM_ENABLE_CAP, &cap);
		break;
	}
}

static void power_state(struct actor *a)
{
	struct kvm_mp_state state = {
		.mp_state = one_in(a, 3) ? KVM_MP_STATE_STOPPED :
			    one_in(a, 8) ? pick(a, 12) : KVM_MP_STATE_RUNNABLE,
	};

	call(a, any_vcpu(a), one_in(a, 3) ? KVM_GET_MP_STATE : KVM_SET_MP_STATE, &state);
}

static void events(struct actor *a)
{
	struct kvm_vcpu_events ev = {
		.exception = { .serror_pending = one_in(a, 2), .ext_dabt_pending = one_in(a, 2),
			       .serror_has_esr = one_in(a, 8) },
	};

	call(a, any_vcpu(a), one_in(a, 3) ? KVM_GET_VCPU_EVENTS : KVM_SET_VCPU_EVENTS, &ev);
}

static void signal_mask(struct actor *a)
{
	struct {
		struct kvm_signal_mask head;
		u64 set;
	} __attribute__((packed)) mask = { .head.len = 8 };

	memcpy(mask.head.sigset, &(u64){ rnd(&a->rng) & ~(1ULL << (SIGUSR1 - 1)) }, 8);
	call(a, any_vcpu(a), KVM_SET_SIGNAL_MASK, one_in(a, 2) ? NULL : &mask);
}

/* A second thread runs the same vCPU. */
static void run_too(struct actor *a)
{
	unsigned int cpu = pick(a, MAX_CPUS);
	int i, times = pick(a, 6);

	for (i = 0; i <= times; i++)
		call_number(a, get_file(&a->w->vcpu[cpu]), KVM_RUN, one_in(a, 16));
}

/* The page shared with KVM: leave at once, or not; what an exit said made something else. */
static void run_page(struct actor *a)
{
	int vcpu = any_vcpu(a), i, times = pick(a, 50);
	struct kvm_run *run = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu, 0);
	bool junk = one_in(a, 2);

	if (run == MAP_FAILED)
		return;
	a->done = true;
	for (i = 0; i < times; i++) {
		if (junk)
			((volatile u8 *)run)[pick(a, sizeof(*run))] = pick(a, 256);
		else
			run->immediate_exit = i & 1;
		usleep(pick(a, 100));
	}
	run->immediate_exit = 0;
	munmap(run, PAGE);
}

/* Mapped in ways that no VMM does, and looked at by the kernel, which answers EFAULT. */
static void run_page_odd(struct actor *a)
{
	static const int flags[] = { MAP_SHARED, MAP_PRIVATE, MAP_SHARED | MAP_POPULATE };
	size_t size = PAGE * (1 + pick(a, 4));
	char *at = mmap(NULL, size, PROT_READ | (one_in(a, 2) ? PROT_WRITE : PROT_EXEC),
			flags[pick(a, ARRAY_SIZE(flags))], any_vcpu(a), PAGE * pick(a, 3));
	u64 from = pick(a, size - 64);	/* not into what lies behind it */

	if (at == MAP_FAILED)
		return;
	judge(a, pread(a->w->junk, at + from, 64, 0));
	judge(a, pwrite(a->w->junk, at + from, 64, 0));
	judge(a, madvise(at, size, one_in(a, 2) ? MADV_DONTNEED : MADV_DONTFORK));
	judge(a, mlock(at, size));
	/* In two steps; never a hole, which another thread's mapping could fill. */
	mmap(at, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	munmap(at, size);
}

/* Calls that may be given anything: none makes a slot or keeps the ticker's signal out. */
static unsigned long real_call(struct actor *a)
{
	static const unsigned long calls[] = {
		KVM_GET_REG_LIST, KVM_GET_ONE_REG, KVM_SET_ONE_REG, KVM_ARM_VCPU_INIT,
		KVM_GET_MP_STATE, KVM_SET_MP_STATE, KVM_GET_VCPU_EVENTS, KVM_SET_VCPU_EVENTS,
		KVM_SET_GUEST_DEBUG, KVM_ARM_VCPU_FINALIZE, KVM_TRANSLATE, KVM_IRQ_LINE,
		KVM_IRQ_LINE_STATUS, KVM_SIGNAL_MSI, KVM_SET_GSI_ROUTING, KVM_IRQFD,
		KVM_IOEVENTFD, KVM_GET_DIRTY_LOG, KVM_CLEAR_DIRTY_LOG, KVM_ENABLE_CAP,
		KVM_CHECK_EXTENSION, KVM_CREATE_IRQCHIP, KVM_ARM_SET_DEVICE_ADDR,
		KVM_ARM_PREFERRED_TARGET, KVM_HAS_DEVICE_ATTR, KVM_SET_DEVICE_ATTR,
		KVM_GET_DEVICE_ATTR, KVM_GET_VCPU_MMAP_SIZE,
	};
	unsigned int way = pick(a, 4), number = 0x4a + pick(a, 0x36), size = pick(a, 128);

	/* Or a number between those of slots and of signal masks. */
	return one_in(a, 4) ? _IOC(way, KVMIO, number, size) : calls[pick(a, ARRAY_SIZE(calls))];
}

static void any_call(struct actor *a)
{
	const int *files[] = { &a->w->vm, &a->w->vgic, &a->w->its, &a->w->stats,
			       &a->w->vcpu[pick(a, MAX_CPUS)], &a->w->kvm };
	u64 *words = (u64 *)a->buffer;
	unsigned int i, n = pick(a, 7);
	void *argument = a->buffer;

	for (i = 0; i < 16; i++)
		words[i] = one_in(a, 2) ? pick(a, 16) : one_in(a, 2) ? 0 : rnd(&a->rng);
	if (one_in(a, 8))
		argument = one_in(a, 2) ? a->w->area[0].at : (void *)(rnd(&a->rng) >> 16);
	if (n == 6)	/* a file that does not belong to KVM at all */
		call(a, a->w->junk, real_call(a), argument);
	else
		call(a, get_file(files[n]), real_call(a), argument);
}

const struct op vcpu_ops[] = {
	{ "vcpu_create",	3, vcpu_create },
	{ "vcpu_init",		8, vcpu_init },
	{ "registers",		10, registers },
	{ "counter",		1, counter },
	{ "guest_debug",	4, guest_debug },
	{ "pmu",		4, pmu },
	{ "vm_options",		2, vm_options },
	{ "power_state",	5, power_state },
	{ "events",		6, events },
	{ "signal_mask",	3, signal_mask },
	{ "run_too",		8, run_too },
	{ "run_page",		6, run_page },
	{ "run_page_odd",	4, run_page_odd },
	{ "any_call",		8, any_call },
	{ }
};
