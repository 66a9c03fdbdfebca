// SPDX-License-Identifier: GPL-2.0
/*
 * Does the measurement cover everything that a VMM can choose before the first run and the guest
 * can then see? VMs in turn, each with another choice: no two may have the same measurement.
 */
#include "private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define CALL_MEASUREMENT	0xc600f000

#define CORE_X(n)	(2 * (n))
#define CORE_SP_EL0	62
#define CORE_PC		64
#define CORE_PSTATE	66

#define BOOT_PSTATE	0x3c5
#define DIST		0x08000000UL
#define REDIST		0x080a0000UL
#define ITS		0x08080000UL
#define OTHER_AT	(PUPPET_RAM + 4 * PUPPET_SIZE)
#define TIMER_IRQ	23

#ifndef KVM_ARM_SET_COUNTER_OFFSET
struct kvm_arm_counter_offset {
	__u64 counter_offset;
	__u64 reserved;
};
#define KVM_ARM_SET_COUNTER_OFFSET	_IOW(KVMIO, 0xb5, struct kvm_arm_counter_offset)
#endif

/* Makes the n'th choice of one kind, which no other VM has; false: the host refuses it. */
typedef bool choose(struct puppet *puppet, unsigned int n);
#define UNUSED	__attribute__((unused))

static bool set_core(const struct puppet *puppet, unsigned int word, uint64_t value)
{
	struct kvm_one_reg reg = {
		.id = KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE | word,
		.addr = (uintptr_t)&value,
	};

	return !ioctl(puppet->vcpu, KVM_SET_ONE_REG, &reg);
}

static bool nothing(UNUSED struct puppet *puppet, UNUSED unsigned int n)
{
	return true;
}

static bool general(struct puppet *puppet, unsigned int n)
{
	/* The register that the guest's first instruction loads, for the code that follows. */
	return set_core(puppet, CORE_X(n), PUPPET_DEVICE);
}

/* PC is past the first instruction. */
static bool pc(struct puppet *puppet, UNUSED unsigned int n)
{
	return general(puppet, 20) && set_core(puppet, CORE_PC, PUPPET_RAM + 4);
}

static bool stack(struct puppet *puppet, UNUSED unsigned int n)
{
	return set_core(puppet, CORE_SP_EL0, PUPPET_RAM);
}

/* Set a stack pointer while it is in use, then select the other one. */
static bool stack_in_use(struct puppet *puppet, UNUSED unsigned int n)
{
	return set_core(puppet, CORE_PSTATE, BOOT_PSTATE - 1) &&
	       set_core(puppet, CORE_SP_EL0, PUPPET_RAM + 8) &&
	       set_core(puppet, CORE_PSTATE, BOOT_PSTATE);
}

/* Flags; a mask; the other stack pointer. */
static bool pstate(struct puppet *puppet, unsigned int n)
{
	static const uint64_t bits[] = { 1UL << 31, 1UL << 28, 1UL << 6, 1UL << 9, 1 };

	return set_core(puppet, CORE_PSTATE, BOOT_PSTATE ^ bits[n]);
}

static bool features(UNUSED struct puppet *puppet, UNUSED unsigned int n)
{
	return true;
}

static bool off(struct puppet *puppet, unsigned int n)
{
	struct kvm_vcpu_init init = { .target = 5, .features = { puppet_features } };
	int vcpu = ioctl(puppet->vm, KVM_CREATE_VCPU, 1 + n / 3);
	bool made = vcpu >= 0;

	init.features[0] |= n % 3 == 1 ? 1 << KVM_ARM_VCPU_POWER_OFF : 0;
	if (made && n % 3)
		made = !ioctl(vcpu, KVM_ARM_VCPU_INIT, &init);
	close(vcpu);
	return made;
}

static bool counter(struct puppet *puppet, UNUSED unsigned int n)
{
	struct kvm_arm_counter_offset offset = { .counter_offset = 1000 };

	return !ioctl(puppet->vm, KVM_ARM_SET_COUNTER_OFFSET, &offset);
}

static bool set(int device, uint32_t group, uint64_t name, uint64_t value)
{
	struct kvm_device_attr attr = {
		.group = group,
		.attr = name,
		.addr = (uintptr_t)&value,
	};

	return !ioctl(device, KVM_SET_DEVICE_ATTR, &attr);
}

/* A vGIC: a usual one; elsewhere; with more interrupts; in regions; with an ITS, or two. */
static bool vgic(struct puppet *puppet, unsigned int n)
{
	struct kvm_create_device gic = { .type = KVM_DEV_TYPE_ARM_VGIC_V3 };
	struct kvm_create_device its = { .type = KVM_DEV_TYPE_ARM_VGIC_ITS };
	bool made = !ioctl(puppet->vm, KVM_CREATE_DEVICE, &gic);

	made &= set(gic.fd, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_V3_ADDR_TYPE_DIST,
		    DIST - (n == 1 ? 0x10000 : 0));
	if (n == 2)
		made &= set(gic.fd, KVM_DEV_ARM_VGIC_GRP_NR_IRQS, 0, 512);
	if (n == 3 || n == 4)
		made &= set(gic.fd, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_V3_ADDR_TYPE_REDIST_REGION,
			    REDIST | (n - 2UL) << 52);
	else
		made &= set(gic.fd, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_V3_ADDR_TYPE_REDIST,
			    REDIST + (n == 5 ? 0x20000 : 0));
	if (n >= 6) {
		made &= !ioctl(puppet->vm, KVM_CREATE_DEVICE, &its) &&
			set(its.fd, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_ITS_ADDR_TYPE,
			    ITS - (n == 7 ? 0x20000 : 0)) &&
			set(its.fd, KVM_DEV_ARM_VGIC_GRP_CTRL, KVM_DEV_ARM_VGIC_CTRL_INIT, 0);
		close(its.fd);
	}
	made &= set(gic.fd, KVM_DEV_ARM_VGIC_GRP_CTRL, KVM_DEV_ARM_VGIC_CTRL_INIT, 0);
	close(gic.fd);
	return made;
}

/* Only with a vGIC. */
static bool timer(struct puppet *puppet, unsigned int n)
{
	int irq = TIMER_IRQ;
	struct kvm_device_attr attr = {
		.group = KVM_ARM_VCPU_TIMER_CTRL,
		.attr = n,
		.addr = (uintptr_t)&irq,
	};

	return vgic(puppet, 0) && !ioctl(puppet->vcpu, KVM_SET_DEVICE_ATTR, &attr);
}

/* More memory: somewhere, or elsewhere. */
static bool slot(struct puppet *puppet, unsigned int n)
{
	const char *what;
	int file = puppet_gmem(puppet, PUPPET_SIZE, &what);
	bool made = file >= 0 && !puppet_add_gmem(puppet, 1, OTHER_AT + n * PUPPET_SIZE, PUPPET_SIZE, file,
						  puppet->ram);

	close(file);
	return made;
}

/* Another byte of memory: at its end; after the code. */
static bool memory(struct puppet *puppet, unsigned int n)
{
	puppet->ram[n ? PUPPET_PAGE - 1 : PUPPET_SIZE - 1] ^= 1;
	return true;
}

static const struct {
	const char *name;
	choose *choose;
	unsigned int times;
} choices[] = {
	{ "nothing", nothing, 1 },
	{ "x", general, 31 },
	{ "pc", pc, 1 },
	{ "sp_el0", stack, 1 },
	{ "sp_el0-in-use", stack_in_use, 1 },
	{ "pstate", pstate, 5 },
	{ "features", features, 1 },
	/* Not initialised, off, on; with one id or another. */
	{ "vcpu", off, 6 },
	{ "timer", timer, 2 },
	{ "counter", counter, 1 },
	{ "vgic", vgic, 8 },
	{ "slot", slot, 2 },
	{ "memory", memory, 2 },
};

#define MOST	64

struct measured {
	const char *name;
	unsigned int n;
	uint64_t half[4];
};

/* The guest reads its measurement; false: there is none. */
static bool measure(struct puppet *puppet, struct measured *to)
{
	struct puppet_answer answer;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		answer = puppet_call(puppet, CALL_MEASUREMENT, i, 0, 0);
		if (answer.error || answer.esr || answer.x[0])
			return false;
		memcpy(&to->half[2 * i], &answer.x[1], 16);
	}
	return true;
}

/* For a VM with the n'th choice of this kind: NULL, or the error. */
static const char *make(unsigned int choice, unsigned int n, struct measured *to)
{
	const char *wrong = NULL;
	struct subject subject;
	uint32_t was = puppet_features;

	*to = (struct measured){ .name = choices[choice].name, .n = n };
	if (choices[choice].choose == features)
		puppet_features = 0;
	make_subject(&subject, GMEM);
	puppet_features = was;
	if (!choices[choice].choose(&subject.puppet, n))
		wrong = "refused";
	else if (!measure(&subject.puppet, to))
		wrong = "unmeasured";
	free_subject(&subject);
	return wrong;
}

void try_measured(struct subject *subject, char *said)
{
	static struct measured all[MOST];
	unsigned int choice, n, i, nr = 0;
	const char *wrong;

	if (subject->kind != GMEM) {
		snprintf(said, SAID_SIZE, "-");
		return;
	}
	for (choice = 0; choice < ARRAY_SIZE(choices); choice++) {
		for (n = 0; n < choices[choice].times && nr < MOST; n++) {
			wrong = make(choice, n, &all[nr]);
			if (wrong) {
				snprintf(said, SAID_SIZE, "%s %u %s", choices[choice].name, n, wrong);
				return;
			}
			for (i = 0; i < nr; i++)
				if (!memcmp(all[i].half, all[nr].half, sizeof(all[i].half))) {
					snprintf(said, SAID_SIZE, "%s %u is %s %u", all[i].name,
						 all[i].n, all[nr].name, all[nr].n);
					return;
				}
			nr++;
		}
	}
	/* Two VMs with the same choices have the same measurement. */
	wrong = make(0, 0, &all[MOST - 1]);
	snprintf(said, SAID_SIZE, "%u differ, again %s", nr,
		 wrong ?: memcmp(all[0].half, all[MOST - 1].half, sizeof(all[0].half)) ? "other" :
										       "same");
}
