// SPDX-License-Identifier: GPL-2.0
/*
 * A vCPU's ioctls, all under vcpu->mutex. KVM_RUN holds it while the guest runs, so another
 * thread's ioctl waits for the next exit; the wait is killable.
 */
#include <linux/fs.h>
#include <linux/sched/signal.h>
#include <linux/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "api/api.h"
#include "api/seal.h"
#include "cpu/cpu.h"
#include "cpu/pmu_host.h"
#include "cpu/sysreg.h"
#include "irq/irq.h"
#include "mmio/mmio.h"
#include "mmu/mmu.h"
#include "stats/stats.h"

/* The features of KVM_ARM_VCPU_INIT that KVM knows, and those supported here. */
#define AV_FEATURES_KNOWN	GENMASK(KVM_ARM_VCPU_PTRAUTH_GENERIC, 0)
#define AV_FEATURES_HERE	(BIT(KVM_ARM_VCPU_POWER_OFF) | BIT(KVM_ARM_VCPU_PSCI_0_2) | \
				 (av_pmu_host_has() ? BIT(KVM_ARM_VCPU_PMU_V3) : 0))

/*
 * During KVM_RUN the signal mask of KVM_SET_SIGNAL_MASK applies: a VMM keeps its kick signal
 * blocked everywhere else.
 */
static void av_sigset_activate(struct av_vcpu *vcpu)
{
	if (vcpu->sigset_active)
		sigprocmask(SIG_SETMASK, &vcpu->sigset, &current->real_blocked);
}

static void av_sigset_deactivate(struct av_vcpu *vcpu)
{
	if (!vcpu->sigset_active)
		return;
	sigprocmask(SIG_SETMASK, &current->real_blocked, NULL);
	sigemptyset(&current->real_blocked);
}

static int av_vcpu_ioctl_run(struct av_vcpu *vcpu)
{
	int r;

	if (!vcpu->has_run) {
		if (!vcpu->initialized)
			return -ENOEXEC;
		r = av_irq_first_run(vcpu, av_pmu_check(vcpu));
		if (r)
			return r;
		av_pmu_first_run(vcpu);
		vcpu->has_run = true;
	}
	if (READ_ONCE(vcpu->vm->dead))
		return av_vcpu_exit_dead(vcpu);

	av_sigset_activate(vcpu);
	if (unlikely(!av_stats_run_begin(&vcpu->stats)))
		av_vcpu_time_begins(vcpu);
	r = av_vcpu_run(vcpu);
	av_stats_run_end(&vcpu->stats);
	av_sigset_deactivate(vcpu);
	return r;
}

static int av_init_check(const struct kvm_vcpu_init *init)
{
	unsigned int i;

	for (i = 1; i < ARRAY_SIZE(init->features); i++)
		if (init->features[i])
			return -ENOENT;
	if (init->features[0] & ~AV_FEATURES_KNOWN)
		return -ENOENT;
	if (init->features[0] & ~AV_FEATURES_HERE)
		return -EINVAL;
	return 0;
}

/*
 * All vCPUs of a VM have the same features, fixed by the first initialization. Check and set them
 * here, before anything else changes.
 */
static int av_vcpu_fix_features(struct av_vcpu *vcpu, const struct kvm_vcpu_init *init)
{
	struct av_vm *vm = vcpu->vm;
	int r = 0;

	mutex_lock(&vm->config_lock);
	if (!vm->features_fixed) {
		vm->features = init->features[0];
		vm->features_fixed = true;
		if (av_pmu_vm_has(vm))
			av_pmu_vm_init(vm);
	} else if (vm->features != init->features[0]) {
		r = -EINVAL;
	}
	mutex_unlock(&vm->config_lock);
	if (!r) {
		vcpu->target = init->target;
		vcpu->features = init->features[0];
	}
	return r;
}

/*
 * The first initialization fixes the features of all vCPUs in the VM; each one resets its vCPU.
 * Being powered off is a state, not a feature.
 */
static int av_vcpu_ioctl_init(void *object, void __user *argp)
{
	struct av_vcpu *vcpu = object;
	struct kvm_vcpu_init init;
	bool power_off;
	int r;

	if (copy_from_user(&init, argp, sizeof(init)))
		return -EFAULT;
	if (init.target != KVM_ARM_TARGET_GENERIC_V8)
		return -EINVAL;
	power_off = init.features[0] & BIT(KVM_ARM_VCPU_POWER_OFF);
	init.features[0] &= ~BIT(KVM_ARM_VCPU_POWER_OFF);
	r = av_init_check(&init);
	if (r)
		return r;

	r = av_vcpu_fix_features(vcpu, &init);
	if (r)
		return r;
	if (!vcpu->initialized)
		av_mpidr_init(vcpu);
	av_vcpu_take_request(vcpu, AV_REQ_RESET);
	r = av_vcpu_reset(vcpu);
	if (r)
		return r;
	vcpu->initialized = true;
	/* A VMM that restarts the guest has reloaded its memory. */
	av_mmu_forget_code(vcpu->vm);
	return av_vcpu_set_mp_state(vcpu, power_off ? KVM_MP_STATE_STOPPED :
				    KVM_MP_STATE_RUNNABLE);
}

/* Only SVE could be finalized, and it is not supported. */
static int av_vcpu_ioctl_finalize(void *object, void __user *argp)
{
	struct av_vcpu *vcpu = object;
	int what;

	if (!vcpu->initialized)
		return -ENOEXEC;
	return copy_from_user(&what, argp, sizeof(what)) ? -EFAULT : -EINVAL;
}

static int av_vcpu_ioctl_get_reg(void *object, void __user *argp)
{
	return av_vcpu_get_one_reg(object, argp);
}

static int av_vcpu_ioctl_set_reg(void *object, void __user *argp)
{
	return av_vcpu_set_one_reg(object, argp);
}

static int av_vcpu_ioctl_reg_list(void *object, void __user *argp)
{
	return av_vcpu_get_reg_list(object, argp);
}

static int av_vcpu_ioctl_get_mp_state(void *object, void __user *argp)
{
	struct kvm_mp_state state = { .mp_state = av_vcpu_get_mp_state(object) };

	return copy_to_user(argp, &state, sizeof(state)) ? -EFAULT : 0;
}

static int av_vcpu_ioctl_set_mp_state(void *object, void __user *argp)
{
	struct kvm_mp_state state;

	if (copy_from_user(&state, argp, sizeof(state)))
		return -EFAULT;
	return av_vcpu_set_mp_state(object, state.mp_state);
}

static int av_vcpu_ioctl_get_events(void *object, void __user *argp)
{
	struct kvm_vcpu_events events = {};
	struct av_vcpu *vcpu = object;
	int r;

	if (!vcpu->initialized)
		return -ENOEXEC;
	r = av_vcpu_get_events(vcpu, &events);
	if (r)
		return r;
	return copy_to_user(argp, &events, sizeof(events)) ? -EFAULT : 0;
}

static int av_vcpu_ioctl_set_events(void *object, void __user *argp)
{
	struct kvm_vcpu_events events;
	struct av_vcpu *vcpu = object;

	if (!vcpu->initialized)
		return -ENOEXEC;
	if (copy_from_user(&events, argp, sizeof(events)))
		return -EFAULT;
	if (memchr_inv(events.exception.pad, 0, sizeof(events.exception.pad)) ||
	    memchr_inv(events.reserved, 0, sizeof(events.reserved)))
		return -EINVAL;
	return av_vcpu_set_events(vcpu, &events);
}

/* Attributes of the timers, the PMU and stolen time. */
typedef int (*av_attr_call)(struct av_vcpu *vcpu, const struct kvm_device_attr *attr);

static int av_vcpu_attr(struct av_vcpu *vcpu, void __user *argp, av_attr_call timer,
			av_attr_call pmu, av_attr_call steal)
{
	struct kvm_device_attr attr;

	if (copy_from_user(&attr, argp, sizeof(attr)))
		return -EFAULT;
	/*
	 * Timers only: the host would write stolen time to guest memory where the VMM says, and PMU
	 * settings are not measured.
	 */
	if (attr.group != KVM_ARM_VCPU_TIMER_CTRL && vcpu->vm->protected)
		return -ENXIO;
	switch (attr.group) {
	case KVM_ARM_VCPU_TIMER_CTRL:
		return timer(vcpu, &attr);
	case KVM_ARM_VCPU_PMU_V3_CTRL:
		return pmu(vcpu, &attr);
	case KVM_ARM_VCPU_PVTIME_CTRL:
		return steal(vcpu, &attr);
	default:
		return -ENXIO;
	}
}

static int av_vcpu_ioctl_set_attr(void *object, void __user *argp)
{
	return av_vcpu_attr(object, argp, av_timer_set_attr, av_pmu_set_attr,
			    av_steal_set_attr);
}

static int av_vcpu_ioctl_get_attr(void *object, void __user *argp)
{
	return av_vcpu_attr(object, argp, av_timer_get_attr, av_pmu_get_attr,
			    av_steal_get_attr);
}

static int av_vcpu_ioctl_has_attr(void *object, void __user *argp)
{
	return av_vcpu_attr(object, argp, av_timer_has_attr, av_pmu_has_attr,
			    av_steal_has_attr);
}

/* Without an argument the thread's own mask applies again. */
static int av_vcpu_ioctl_sigmask(void *object, void __user *argp)
{
	struct kvm_signal_mask __user *user = argp;
	struct av_vcpu *vcpu = object;
	struct kvm_signal_mask head;
	sigset_t set;

	if (!argp) {
		vcpu->sigset_active = false;
		return 0;
	}
	if (copy_from_user(&head, argp, sizeof(head)))
		return -EFAULT;
	if (head.len != sizeof(set))
		return -EINVAL;
	if (copy_from_user(&set, user->sigset, sizeof(set)))
		return -EFAULT;
	sigdelsetmask(&set, sigmask(SIGKILL) | sigmask(SIGSTOP));
	vcpu->sigset = set;
	vcpu->sigset_active = true;
	return 0;
}

static int av_vcpu_ioctl_guest_debug(void *object, void __user *argp)
{
	struct kvm_guest_debug *debug = memdup_user(argp, sizeof(*debug));
	int r;

	if (IS_ERR(debug))
		return PTR_ERR(debug);
	r = av_guest_debug_set(object, debug);
	kfree(debug);
	return r;
}

/* x86's way to set registers: KVM/arm64 copies the argument and returns -EINVAL. */
static int av_vcpu_ioctl_set_regs(void *object, void __user *argp)
{
	struct kvm_regs regs;

	return copy_from_user(&regs, argp, sizeof(regs)) ? -EFAULT : -EINVAL;
}

static int av_vcpu_ioctl_translate(void *object, void __user *argp)
{
	struct kvm_translation tr;

	return copy_from_user(&tr, argp, sizeof(tr)) ? -EFAULT : -EINVAL;
}

static const struct av_ioctl av_vcpu_ioctls[] = {
	{ KVM_GET_ONE_REG,		av_vcpu_ioctl_get_reg },
	{ KVM_SET_ONE_REG,		av_vcpu_ioctl_set_reg },
	{ KVM_GET_REG_LIST,		av_vcpu_ioctl_reg_list },
	{ KVM_ARM_VCPU_INIT,		av_vcpu_ioctl_init },
	{ KVM_ARM_VCPU_FINALIZE,	av_vcpu_ioctl_finalize },
	{ KVM_GET_MP_STATE,		av_vcpu_ioctl_get_mp_state },
	{ KVM_SET_MP_STATE,		av_vcpu_ioctl_set_mp_state },
	{ KVM_GET_VCPU_EVENTS,		av_vcpu_ioctl_get_events },
	{ KVM_SET_VCPU_EVENTS,		av_vcpu_ioctl_set_events },
	{ KVM_SET_DEVICE_ATTR,		av_vcpu_ioctl_set_attr },
	{ KVM_GET_DEVICE_ATTR,		av_vcpu_ioctl_get_attr },
	{ KVM_HAS_DEVICE_ATTR,		av_vcpu_ioctl_has_attr },
	{ KVM_SET_SIGNAL_MASK,		av_vcpu_ioctl_sigmask },
	{ KVM_SET_GUEST_DEBUG,		av_vcpu_ioctl_guest_debug },
	{ KVM_SET_REGS,			av_vcpu_ioctl_set_regs },
	{ KVM_TRANSLATE,		av_vcpu_ioctl_translate },
};

static long av_vcpu_ioctl_locked(struct av_vcpu *vcpu, unsigned int cmd, unsigned long arg)
{
	const struct av_ioctl *row;

	switch (cmd) {
	case KVM_RUN:
		return arg ? -EINVAL : av_vcpu_ioctl_run(vcpu);
	case KVM_GET_STATS_FD:
		return av_stats_vcpu_fd(vcpu);
	}
	row = av_ioctl_find(av_vcpu_ioctls, ARRAY_SIZE(av_vcpu_ioctls), cmd);
	return row ? row->call(vcpu, (void __user *)arg) : -EINVAL;
}

long av_vcpu_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct av_vcpu *vcpu = file->private_data;
	struct av_vm *vm = vcpu->vm;
	long r;

	r = av_vm_check_caller(vm);
	if (r)
		return r;
	/* Refuse ioctls of other types even while the guest runs. */
	if (_IOC_TYPE(cmd) != KVMIO)
		return -EINVAL;
	if (down_read_killable(&vm->vcpus_sem))
		return -EINTR;
	r = mutex_lock_killable(&vcpu->mutex);
	if (!r) {
		r = av_vcpu_ioctl_locked(vcpu, cmd, arg);
		mutex_unlock(&vcpu->mutex);
	}
	up_read(&vm->vcpus_sem);
	return r;
}

long av_vcpu_ioctl_protected(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct av_vcpu *vcpu = file->private_data;
	int entered;
	long r;

	r = av_vm_check_caller(vcpu->vm);
	if (r)
		return r;
	if (_IOC_TYPE(cmd) != KVMIO)
		return -EINVAL;
	if (cmd == KVM_RUN && !arg) {
		r = av_seal_run(vcpu);
		if (r)
			return r;
	}
	entered = av_seal_enter(vcpu->vm, AV_SEAL_VCPU, cmd);
	if (entered < 0)
		return entered;
	r = av_vcpu_ioctl(file, cmd, arg);
	av_seal_leave(vcpu->vm, entered);
	return r;
}
