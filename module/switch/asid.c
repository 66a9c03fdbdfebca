// SPDX-License-Identifier: GPL-2.0
/*
 * ASIDs are borrowed from the host's allocator, so that no process of the host ever shares one
 * with a guest. arm64_mm_context_get() takes an mm_struct and uses only its context (from 6.1
 * to the newest), so an empty mm_struct serves as a token. One token gives one ASID.
 *
 * The host's processes share the ASIDs that the module leaves. So the module takes at most half of
 * the ASIDs, one user at most half of that, and one program at most half of a user's.
 *
 * Locks: asid_lock, a mutex, nests inside every sleeping lock of a VM.
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

/* The ASIDs of one program's VMs, or of one user's VMs. */
struct av_asid_share {
	struct list_head node;
	const struct mm_struct *program;	/* NULL: the user's */
	kuid_t user;
	unsigned int vms;
	unsigned int taken;
};

static DEFINE_MUTEX(asid_lock);
static LIST_HEAD(shares_in_use);
static unsigned int most, taken;		/* of the whole module */

int av_asid_init(void)
{
	u64 mmfr0 = read_sanitised_ftr_reg(SYS_ID_AA64MMFR0_EL1);
	unsigned int asids = FIELD_GET(MMFR0_ASIDBITS, mmfr0) == MMFR0_ASIDBITS_16 ? 65536 : 256;

	/* With KPTI a process has two ASIDs. The host keeps one per CPU, and two more. */
	if (arm64_kernel_unmapped_at_el0())
		asids /= 2;
	most = asids > nr_cpu_ids + 2 ? (asids - nr_cpu_ids - 2) / 2 : 0;
	return 0;
}

static unsigned int limit_of(enum av_asid_holder holder)
{
	return holder == AV_ASID_USER ? most / 2 : most / 4;
}

/* Returns an existing share, or makes one of *spare and clears *spare. NULL: *spare was NULL. */
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

/* A user namespace's users all count as the user who created the namespace. */
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

	/* Allocate outside the lock: it may take long, and VMs of others should not wait for it. */
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

/* Without asid_lock: the answer may be stale. */
static bool below(struct av_asid_share *const *shares, unsigned int parts)
{
	int i;

	if (READ_ONCE(taken) >= most / parts)
		return false;
	for (i = 0; shares && i < AV_NR_ASID_HOLDERS; i++)
		if (READ_ONCE(shares[i]->taken) >= limit_of(i) / parts)
			return false;
	return true;
}

static bool may_take(struct av_asid_share *const *shares)
{
	return below(shares, 1);
}

bool av_asid_spare(struct av_asid_share *const *shares)
{
	return below(shares, 2);
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
 * The host may have used this ASID for a process before its ASIDs last rolled over. A CPU
 * flushes for a rollover only when it next switches processes, and an entry into the guest is
 * not such a switch. So flush the ASID here.
 */
int av_asid_get(struct av_asid *a, struct av_asid_share *const *shares)
{
	struct mm_struct *token;

	/* Check without the lock first: a VM that has used up its share asks often. */
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

/* Flush before the host's allocator can give the ASID to a process. */
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
