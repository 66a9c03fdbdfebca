// SPDX-License-Identifier: GPL-2.0
/*
 * ASIDs are borrowed from the host's allocator so that no process of the
 * host's ever has one of ours. arm64_mm_context_get() wants an mm_struct and
 * uses nothing of it but mm->context (so from 6.1 to the newest), which is why
 * an empty one will do as a token; one token gives one ASID.
 *
 * The host's processes share what is left, so what the module takes is
 * counted: half of the machine's at most, half of that for one user, and half
 * of a user's for one program.
 *
 * Locks: asid_lock, a mutex, inside every lock of a VM's that sleeps.
 */
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <asm/cpufeature.h>
#include <asm/mmu_context.h>
#include <asm/tlbflush.h>

#include "compat/tlb.h"
#include "switch/tlb.h"

#define MMFR0_ASIDBITS		GENMASK_ULL(7, 4)
#define MMFR0_ASIDBITS_16	2

/* The ASIDs of one program's VMs, or of one user's. */
struct av_asid_share {
	struct list_head node;
	const struct mm_struct *program;	/* NULL: the user's */
	kuid_t user;
	unsigned int vms;
	unsigned int taken;
};

static DEFINE_MUTEX(asid_lock);
static LIST_HEAD(shares_in_use);
static unsigned int most, taken;		/* of the module */

int av_asid_init(void)
{
	u64 mmfr0 = read_sanitised_ftr_reg(SYS_ID_AA64MMFR0_EL1);
	unsigned int asids = FIELD_GET(MMFR0_ASIDBITS, mmfr0) == MMFR0_ASIDBITS_16 ? 65536 : 256;

	/* With KPTI a process has two; the host keeps one a CPU, and two more. */
	if (arm64_kernel_unmapped_at_el0())
		asids /= 2;
	most = asids > nr_cpu_ids + 2 ? (asids - nr_cpu_ids - 2) / 2 : 0;
	return 0;
}

static unsigned int limit_of(enum av_asid_holder holder)
{
	return holder == AV_ASID_USER ? most / 2 : most / 4;
}

/* Where there is none yet it is *spare, which is taken, or NULL. */
static struct av_asid_share *find_share(const struct mm_struct *program, kuid_t user,
					struct av_asid_share **spare)
{
	struct av_asid_share *share;

	list_for_each_entry(share, &shares_in_use, node)
		if (share->program == program && uid_eq(share->user, user))
			return share;
	share = *spare;
	*spare = NULL;
	if (!share)
		return NULL;
	share->program = program;
	share->user = user;
	list_add(&share->node, &shares_in_use);
	return share;
}

/* Whoever the numbers of a user namespace are, they are those of the user who made it. */
static kuid_t responsible_user(void)
{
	const struct user_namespace *ns;
	kuid_t user = current_uid();

	for (ns = current_user_ns(); ns->parent; ns = ns->parent)
		user = ns->owner;
	return user;
}

int av_asid_shares_get(struct av_asid_share **shares)
{
	struct av_asid_share *spare[AV_NR_ASID_HOLDERS];
	kuid_t user = responsible_user();
	int ret = 0, i;

	/* Memory may be long in coming; others' VMs do not wait for that. */
	for (i = 0; i < AV_NR_ASID_HOLDERS; i++)
		spare[i] = kzalloc(sizeof(*spare[i]), GFP_KERNEL_ACCOUNT);
	mutex_lock(&asid_lock);
	shares[AV_ASID_PROGRAM] = find_share(current->mm, user, &spare[AV_ASID_PROGRAM]);
	shares[AV_ASID_USER] = find_share(NULL, user, &spare[AV_ASID_USER]);
	for (i = 0; i < AV_NR_ASID_HOLDERS; i++) {
		if (shares[i])
			shares[i]->vms++;
		else
			ret = -ENOMEM;
	}
	mutex_unlock(&asid_lock);
	for (i = 0; i < AV_NR_ASID_HOLDERS; i++)
		kfree(spare[i]);
	if (ret)
		av_asid_shares_put(shares);
	return ret;
}

void av_asid_shares_put(struct av_asid_share **shares)
{
	int i;

	mutex_lock(&asid_lock);
	for (i = 0; i < AV_NR_ASID_HOLDERS; i++) {
		if (shares[i] && !--shares[i]->vms) {
			list_del(&shares[i]->node);
			kfree(shares[i]);
		}
		shares[i] = NULL;
	}
	mutex_unlock(&asid_lock);
}

static bool may_take(struct av_asid_share *const *shares)
{
	int i;

	if (READ_ONCE(taken) >= most)
		return false;
	for (i = 0; shares && i < AV_NR_ASID_HOLDERS; i++)
		if (READ_ONCE(shares[i]->taken) >= limit_of(i))
			return false;
	return true;
}

static void count(struct av_asid_share *const *shares, int n)
{
	int i;

	taken += n;
	for (i = 0; shares && i < AV_NR_ASID_HOLDERS; i++)
		shares[i]->taken += n;
}

static void flush(u16 asid)
{
	av_tlb_flush_begin();
	__tlbi(aside1is, (u64)asid << 48);
	av_tlb_flush_end();
}

/*
 * The host may have used the number for a process before its ASIDs last rolled
 * over, and a CPU flushes for that only when it next switches processes, which
 * going into the guest is not. So drop what is left of that process here.
 */
int av_asid_get(struct av_asid *a, struct av_asid_share *const *shares)
{
	struct mm_struct *token;

	/* A glance without the lock: who has all that it may have asks often. */
	if (!may_take(shares))
		return -ENOSPC;
	token = kzalloc(sizeof(*token) + 2 * cpumask_size(), GFP_KERNEL_ACCOUNT);
	if (!token)
		return -ENOMEM;
	mutex_lock(&asid_lock);
	a->asid = may_take(shares) ? arm64_mm_context_get(token) : 0;
	if (a->asid)
		count(shares, 1);
	mutex_unlock(&asid_lock);
	if (!a->asid) {
		kfree(token);
		return -ENOSPC;
	}
	a->token = token;
	a->shares = shares;
	flush(a->asid);
	return 0;
}

/* Flushed before the host's allocator may give it to a process. */
void av_asid_put(struct av_asid *a)
{
	if (!a->token)
		return;
	flush(a->asid);
	mutex_lock(&asid_lock);
	arm64_mm_context_put(a->token);
	count(a->shares, -1);
	mutex_unlock(&asid_lock);
	kfree(a->token);
	a->token = NULL;
}
