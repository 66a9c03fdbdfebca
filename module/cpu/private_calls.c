// SPDX-License-Identifier: GPL-2.0
/*
 * A protected guest's calls about its memory: pKVM's, with pKVM's function IDs and results, and one
 * of armvisor's own for the measurement. Other VMs do not have them.
 *
 *	HYP_MEMINFO		0; 0; 0		the granule of sharing, 4096; HAS_RANGE
 *	MEM_SHARE		page; n; 0	0, and in x1 how many
 *	MEM_UNSHARE		page; n; 0	0, and in x1 how many
 *	MEASUREMENT		i; 0; 0		0, and in x1 and x2 bytes 16 i to 16 i + 15
 *
 * Ranges are as in Android's pKVM. Of n pages the call handles the first ones, at least one; the
 * caller continues after them. n = 0 means one page, with x1 = 0, as in Linux.
 *
 * A bad argument or page is INVALID_PARAMETER. Sharing an address without memory counts as an
 * access to it: an external abort at the call.
 */
#include <linux/arm-smccc.h>
#include <linux/delay.h>

#include "cpu/calls.h"
#include "cpu/cpu.h"
#include "cpu/private_calls.h"
#include "mmu/mmu.h"
#include "mmu/stub/patch.h"

/* How long to wait before retrying a page that is pinned by a device's transfer. */
#define WAIT_US		50

/* KVM_FUNC_HAS_RANGE: MEM_SHARE and MEM_UNSHARE take a number of pages. */
#define HAS_RANGE	1

static int answer(struct av_vcpu *vcpu, u64 x0, u64 x1, u64 x2)
{
	u64 *regs = vcpu->srf->regs;

	regs[0] = x0;
	regs[1] = x1;
	regs[2] = x2;
	regs[3] = 0;
	return 1;
}

static int answer_errno(struct av_vcpu *vcpu, int err)
{
	return answer(vcpu, err ? SMCCC_RET_INVALID_PARAMETER : SMCCC_RET_SUCCESS, 0, 0);
}

static int measurement(struct av_vcpu *vcpu)
{
	u64 i = vcpu->srf->regs[1];
	__le64 part[2];

	if (i >= AV_MEASUREMENT_LEN / sizeof(part))
		return answer_errno(vcpu, -EINVAL);
	i = array_index_nospec(i, AV_MEASUREMENT_LEN / sizeof(part));
	memcpy(part, vcpu->vm->measurement + i * sizeof(part), sizeof(part));
	return answer(vcpu, SMCCC_RET_SUCCESS, le64_to_cpu(part[0]), le64_to_cpu(part[1]));
}

/* The unused arguments must be 0: other values are reserved. */
static bool others_zero(const struct av_vcpu *vcpu)
{
	return !(vcpu->srf->regs[2] | vcpu->srf->regs[3]);
}

/*
 * Returns the number of pages that were done, or an errno. After a page that is held, retry only
 * that page: otherwise each retry would take the pages behind it from the host's processes and give
 * them back.
 */
static __always_inline s64 change(struct av_vcpu *vcpu, u32 fn, bool may_sleep)
{
	const u64 *regs = vcpu->srf->regs;
	u64 nr = regs[2] ?: 1;

	if (regs[3])
		return -EINVAL;
	if (may_sleep && vcpu->cpu->recall_held)
		nr = 1;
	return fn == AV_CALL_MEM_SHARE ? av_mmu_share(vcpu->vm, regs[1], nr, may_sleep) :
					 av_mmu_unshare(vcpu->vm, regs[1], nr, may_sleep);
}

static int answer_change(struct av_vcpu *vcpu, s64 done)
{
	if (done < 0)
		return answer_errno(vcpu, done);
	return answer(vcpu, SMCCC_RET_SUCCESS, vcpu->srf->regs[2] ? done : 0, 0);
}

bool av_private_call_light(struct av_vcpu *vcpu, u32 fn)
{
	s64 done;

	if (!vcpu->vm->protected)
		return false;
	done = change(vcpu, fn, false);
	if (done == -EAGAIN || done == -ENXIO)
		return false;
	answer_change(vcpu, done);
	return true;
}

/* PC is already past the call: repeat it. */
static void make_again(struct av_vcpu *vcpu)
{
	vcpu->srf->pc -= AV_INSN_SIZE;
	vcpu->cpu->step_emulated = false;
}

static int change_at_leisure(struct av_vcpu *vcpu, u32 fn)
{
	s64 done = change(vcpu, fn, true);

	vcpu->cpu->recall_held = done == -EAGAIN;
	switch (done) {
	case -EAGAIN:
		/* The run loop lets interrupts and signals in before the retry. */
		make_again(vcpu);
		usleep_range(WAIT_US, 2 * WAIT_US);
		return 1;
	case -ENOMEM:
		make_again(vcpu);
		return -ENOMEM;
	case -ENXIO:
		make_again(vcpu);
		av_inject_abort(vcpu, false, vcpu->srf->regs[1], AV_FSC_EXTERNAL);
		return 1;
	default:
		return answer_change(vcpu, done);
	}
}

int av_private_call(struct av_vcpu *vcpu, u32 fn)
{
	if (!vcpu->vm->protected)
		return answer(vcpu, SMCCC_RET_NOT_SUPPORTED, 0, 0);
	switch (fn) {
	case AV_CALL_HYP_MEMINFO:
		if (vcpu->srf->regs[1] || !others_zero(vcpu))
			return answer_errno(vcpu, -EINVAL);
		return answer(vcpu, PAGE_SIZE, HAS_RANGE, 0);
	case AV_CALL_MEASUREMENT:
		return others_zero(vcpu) ? measurement(vcpu) : answer_errno(vcpu, -EINVAL);
	default:
		return change_at_leisure(vcpu, fn);
	}
}
