// SPDX-License-Identifier: GPL-2.0
/* A vCPU's ioctls, without registers: initialisation, states, events, attributes. */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "conform.h"

static void before_init(int vcpu)
{
	u64 value = 0;
	struct kvm_one_reg reg = { .id = REG_PC, .addr = (u64)&value };
	struct kvm_reg_list list = { .n = 0 };
	struct kvm_mp_state state = { 77 };
	struct kvm_vcpu_events events;
	int feature = KVM_ARM_VCPU_SVE;

	say(ioctl(vcpu, KVM_RUN, 0), "raw.run");
	say(ioctl(vcpu, KVM_RUN, 1), "raw.run_argument");
	say(ioctl(vcpu, KVM_GET_ONE_REG, &reg), "raw.get_one_reg");
	say(ioctl(vcpu, KVM_SET_ONE_REG, &reg), "raw.set_one_reg");
	say(ioctl(vcpu, KVM_GET_REG_LIST, &list), "raw.get_reg_list");
	say(ioctl(vcpu, KVM_GET_MP_STATE, &state), "raw.get_mp_state");
	note(state.mp_state, "raw.mp_state");
	say(ioctl(vcpu, KVM_GET_VCPU_EVENTS, &events), "raw.get_events");
	say(ioctl(vcpu, KVM_ARM_VCPU_FINALIZE, &feature), "raw.finalize");
	say(ioctl(vcpu, _IO(KVMIO, 0xff), 0), "raw.unknown_ioctl");
	say(ioctl(vcpu, _IO('x', 0x00), 0), "raw.foreign_ioctl");
	say(ioctl(vcpu, KVM_CREATE_VCPU, 0), "raw.vm_ioctl");
}

static void init_args(int vcpu)
{
	struct kvm_vcpu_init init;
	int i;

	for (i = 0; i < 8; i++) {
		memset(&init, 0, sizeof(init));
		init.target = i == 7 ? ~0U : (u32)i;
		if (i == KVM_ARM_TARGET_GENERIC_V8)
			continue;
		say(ioctl(vcpu, KVM_ARM_VCPU_INIT, &init), "init.target_%#x", init.target);
	}
	for (i = 1; i < 7; i++) {
		memset(&init, 0, sizeof(init));
		init.target = KVM_ARM_TARGET_GENERIC_V8;
		init.features[i] = 1;
		say(ioctl(vcpu, KVM_ARM_VCPU_INIT, &init), "init.features_word_%d", i);
	}
	for (i = 7; i < 32; i++) {
		memset(&init, 0, sizeof(init));
		init.target = KVM_ARM_TARGET_GENERIC_V8;
		init.features[0] = 1U << i;
		say(ioctl(vcpu, KVM_ARM_VCPU_INIT, &init), "init.feature_%d", i);
	}
}

static long init_with(int vcpu, u32 features)
{
	struct kvm_vcpu_init init = {
		.target = KVM_ARM_TARGET_GENERIC_V8, .features = { features },
	};

	return ioctl(vcpu, KVM_ARM_VCPU_INIT, &init);
}

/* Each feature on a VM of its own: the first one fixes the VM's. */
static void init_features(int kvm)
{
	int i, vm, vcpu;

	for (i = 0; i < 8; i++) {
		vm = new_vm(kvm);
		vcpu = new_vcpu(vm, 0);
		say(init_with(vcpu, 1U << i), "init.only_feature_%d", i);
		close(vcpu);
		close(vm);
	}
}

static void init_again(int vm)
{
	int a = new_vcpu(vm, 1), b = new_vcpu(vm, 2);
	struct kvm_mp_state state;

	say(init_with(a, 1 << KVM_ARM_VCPU_PSCI_0_2), "init.psci");
	say(init_with(a, 1 << KVM_ARM_VCPU_PSCI_0_2), "init.same_again");
	say(init_with(a, 0), "init.fewer_again");
	say(init_with(b, 0), "init.other_vcpu_fewer");
	say(init_with(b, 1 << KVM_ARM_VCPU_PSCI_0_2 | 1 << KVM_ARM_VCPU_POWER_OFF),
	    "init.other_vcpu_off");
	say(ioctl(b, KVM_GET_MP_STATE, &state), "init.get_mp_state");
	note(state.mp_state, "init.mp_state_off");
	say(init_with(b, 1 << KVM_ARM_VCPU_PSCI_0_2), "init.on_again");
	say(ioctl(b, KVM_GET_MP_STATE, &state), "init.get_mp_state_again");
	note(state.mp_state, "init.mp_state_on");
	close(a);
	close(b);
}

static void mp_states(int vcpu)
{
	struct kvm_mp_state state;
	u32 i;

	for (i = 0; i < 13; i++) {
		state.mp_state = i;
		if (say(ioctl(vcpu, KVM_SET_MP_STATE, &state), "mp_state.set_%u", i))
			continue;
		state.mp_state = 99;
		ioctl(vcpu, KVM_GET_MP_STATE, &state);
		note(state.mp_state, "mp_state.after_%u", i);
	}
	state.mp_state = KVM_MP_STATE_RUNNABLE;
	ioctl(vcpu, KVM_SET_MP_STATE, &state);
}

static void say_events(int vcpu, const char *when)
{
	struct kvm_vcpu_events events;

	memset(&events, 0xff, sizeof(events));
	say(ioctl(vcpu, KVM_GET_VCPU_EVENTS, &events), "events.get_%s", when);
	note(events.exception.serror_pending, "events.serror_pending_%s", when);
	note(events.exception.serror_has_esr, "events.serror_has_esr_%s", when);
	note(events.exception.ext_dabt_pending, "events.ext_dabt_pending_%s", when);
	note(events.exception.serror_esr, "events.serror_esr_%s", when);
	note(events.reserved[11], "events.reserved_%s", when);
}

static void vcpu_events(int vcpu)
{
	struct kvm_vcpu_events events = { 0 };

	say_events(vcpu, "first");
	say(ioctl(vcpu, KVM_SET_VCPU_EVENTS, &events), "events.set_nothing");
	events.exception.pad[0] = 1;
	say(ioctl(vcpu, KVM_SET_VCPU_EVENTS, &events), "events.set_pad");
	events.exception.pad[0] = 0;
	events.reserved[3] = 1;
	say(ioctl(vcpu, KVM_SET_VCPU_EVENTS, &events), "events.set_reserved");
	events.reserved[3] = 0;
	events.exception.serror_pending = 2;
	say(ioctl(vcpu, KVM_SET_VCPU_EVENTS, &events), "events.set_serror_2");
	events.exception.serror_pending = 1;
	events.exception.serror_has_esr = 1;
	events.exception.serror_esr = 0x42;
	say(ioctl(vcpu, KVM_SET_VCPU_EVENTS, &events), "events.set_serror_esr");
	events.exception.serror_esr = 1ULL << 40;
	say(ioctl(vcpu, KVM_SET_VCPU_EVENTS, &events), "events.set_serror_esr_wide");
	events.exception.serror_has_esr = 0;
	say(ioctl(vcpu, KVM_SET_VCPU_EVENTS, &events), "events.set_serror");
	say_events(vcpu, "serror");
	events.exception.serror_pending = 0;
	say(ioctl(vcpu, KVM_SET_VCPU_EVENTS, &events), "events.clear_serror");
	say_events(vcpu, "cleared");
	events.exception.ext_dabt_pending = 1;
	say(ioctl(vcpu, KVM_SET_VCPU_EVENTS, &events), "events.set_ext_dabt");
	say_events(vcpu, "dabt");
}

static void attributes(int vcpu)
{
	struct kvm_device_attr attr = { 0 };
	u32 group, number;
	int value;

	for (group = 0; group < 5; group++) {
		for (number = 0; number < 4; number++) {
			attr.group = group;
			attr.attr = number;
			attr.addr = (u64)&value;
			value = 27;
			say(ioctl(vcpu, KVM_HAS_DEVICE_ATTR, &attr), "attr.has_%u_%u", group,
			    number);
			say(ioctl(vcpu, KVM_GET_DEVICE_ATTR, &attr), "attr.get_%u_%u", group,
			    number);
			if (group == KVM_ARM_VCPU_TIMER_CTRL && number < 2)
				note(value, "attr.value_%u_%u", group, number);
			say(ioctl(vcpu, KVM_SET_DEVICE_ATTR, &attr), "attr.set_%u_%u", group,
			    number);
		}
	}
	attr.group = KVM_ARM_VCPU_TIMER_CTRL;
	attr.attr = KVM_ARM_VCPU_TIMER_IRQ_VTIMER;
	for (value = 14; value < 34; value++)
		say(ioctl(vcpu, KVM_SET_DEVICE_ATTR, &attr), "attr.vtimer_irq_%d", value);
	attr.addr = (u64)WILD_LOW;
	say(ioctl(vcpu, KVM_SET_DEVICE_ATTR, &attr), "attr.vtimer_wild_set");
	say(ioctl(vcpu, KVM_GET_DEVICE_ATTR, &attr), "attr.vtimer_wild_get");
}

static void signal_mask(int vcpu)
{
	struct {
		struct kvm_signal_mask head;
		u8 set[16];
	} mask = { .head = { .len = 8 } };
	u32 len;

	say(ioctl(vcpu, KVM_SET_SIGNAL_MASK, 0), "sigmask.none");
	for (len = 0; len <= 16; len += 4) {
		mask.head.len = len;
		say(ioctl(vcpu, KVM_SET_SIGNAL_MASK, &mask), "sigmask.len_%u", len);
	}
	memset(mask.set, 0xff, sizeof(mask.set));
	mask.head.len = 8;
	say(ioctl(vcpu, KVM_SET_SIGNAL_MASK, &mask), "sigmask.all");
	say(ioctl(vcpu, KVM_SET_SIGNAL_MASK, 0), "sigmask.off");
}

static void other_ioctls(int vcpu)
{
	struct kvm_guest_debug debug = { 0 };
	struct kvm_regs regs;
	struct kvm_translation tr = { 0 };
	int what;

	say(ioctl(vcpu, KVM_GET_REGS, &regs), "get_regs");
	say(ioctl(vcpu, KVM_SET_REGS, &regs), "set_regs");
	say(ioctl(vcpu, KVM_TRANSLATE, &tr), "translate");
	say(ioctl(vcpu, KVM_SET_GUEST_DEBUG, &debug), "guest_debug.off");
	debug.control = 1U << 15;
	say(ioctl(vcpu, KVM_SET_GUEST_DEBUG, &debug), "guest_debug.unknown");
	for (what = 0; what < 8; what++)
		say(ioctl(vcpu, KVM_ARM_VCPU_FINALIZE, &what), "finalize.%d", what);
	say(ioctl(vcpu, KVM_KVMCLOCK_CTRL, 0), "kvmclock_ctrl");
	say(ioctl(vcpu, KVM_NMI, 0), "nmi");
	say(ioctl(vcpu, KVM_SMI, 0), "smi");
	say(ioctl(vcpu, KVM_SET_TSC_KHZ, 1000), "tsc_khz");
	/* KVM_PRE_FAULT_MEMORY: not for arm64. */
	say(ioctl(vcpu, _IOWR(KVMIO, 0xd5, u64[8]), 0), "pre_fault_memory");
}

static void mappings(int kvm, int vcpu)
{
	int size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	void *at;

	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu, 0);
	say(at == MAP_FAILED ? -1 : 0, "mmap.shared");
	munmap(at, 4096);
	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, vcpu, 0);
	say(at == MAP_FAILED ? -1 : 0, "mmap.private");
	munmap(at, 4096);
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, vcpu, 0);
	say(at == MAP_FAILED ? -1 : 0, "mmap.exec");
	munmap(at, 4096);
	at = mmap(NULL, 4096, PROT_READ, MAP_SHARED, vcpu, size);
	say(at == MAP_FAILED ? -1 : 0, "mmap.behind");
	munmap(at, 4096);
	/* A system call, so that a fault is an error and not a signal. */
	at = mmap(NULL, 4096, PROT_READ, MAP_SHARED, vcpu, size);
	say(write(1, at, 0), "mmap.behind_nothing");
	munmap(at, 4096);
}

void conform_vcpu(void)
{
	int kvm = open_kvm(), vm = new_vm(kvm), vcpu;

	vcpu = new_vcpu(vm, 0);
	before_init(vcpu);
	init_args(vcpu);
	init_features(kvm);
	close(vcpu);
	init_again(vm);
	close(vm);

	vm = new_vm(kvm);
	vcpu = new_vcpu(vm, 0);
	init_vcpu(vcpu);
	say(ioctl(vcpu, KVM_RUN, 1), "run_argument");
	mp_states(vcpu);
	vcpu_events(vcpu);
	attributes(vcpu);
	signal_mask(vcpu);
	other_ioctls(vcpu);
	mappings(kvm, vcpu);
	close(vcpu);
	close(vm);
	close(kvm);
}
