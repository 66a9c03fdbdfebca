/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fake kernel and VM for switch/tlb.c and for mmu/'s use of it (fake/pairs). On a PC, every
 * header that is not pure leads here. The test gets each TLBI and barrier, in order. A way to flush
 * that is missing here does not build, so the test misses none.
 */
#ifndef AV_TESTS_FAKE_TLB_KERNEL_H
#define AV_TESTS_FAKE_TLB_KERNEL_H

#include "lib/av_types.h"
#include "stats/classes.h"

#define X(event, name)		AV_EVENT_##event,
enum av_event { AV_EVENTS(X) AV_NR_EVENTS };
#undef X

struct av_vcpu_stats {
	u64 event[AV_NR_EVENTS];
};

static inline void av_stat_inc(struct av_vcpu_stats *s, enum av_event event)
{
	s->event[event]++;
}

#define FAKE_VCPUS	2

struct av_vm {
	unsigned int serial, nr_vcpus;
	struct av_vcpu *vcpus[FAKE_VCPUS];
	struct av_vm_switch *sw;
	struct av_vm_mmu *mmu;
	unsigned int pa_bits;
	bool protected;
	int mmu_lock;
};

struct av_vcpu {
	struct av_vm *vm;
	struct av_vcpu_switch *sw;
	struct av_vcpu_mmu *mmu;
	struct av_srf *srf;
	unsigned int idx;
	struct av_vcpu_stats stats;
};

static inline struct av_vcpu *av_vm_vcpu(struct av_vm *vm, unsigned int idx)
{
	return idx < vm->nr_vcpus ? vm->vcpus[idx] : NULL;
}

#define av_for_each_vcpu(idx, vcpu, vm) \
	for ((idx) = 0; ((vcpu) = av_vm_vcpu(vm, idx)); (idx)++)

/* What happens, a letter each. */
#define FAKE_TLBI	'T'
#define FAKE_REPEAT	'R'	/* what CPUs with errata do after a TLBI;DSB */
#define FAKE_DSB	'D'
#define FAKE_RELEASE	'S'	/* told before the store is made */
#define FAKE_ACQUIRE	'L'
#define FAKE_COUNT	'C'	/* a change of contexts, told before it is counted */
#define FAKE_LOOK	'l'	/* at that count */

void fake_event(char what, const char *op, const u64 *operand, unsigned int nr_operands);
void fake_warn(const char *fmt, ...) __printf(1, 2);

/* With an operand or, as VMALLE1, without. */
#define fake_tlbi(what, op, ...)						\
	fake_event(what, #op, (const u64[]){ __VA_ARGS__ },			\
		   sizeof((const u64[]){ __VA_ARGS__ }) / sizeof(u64))
#define __tlbi(op, ...)			fake_tlbi(FAKE_TLBI, op, __VA_ARGS__)
#define __repeat_tlbi_sync(op, ...)	fake_tlbi(FAKE_REPEAT, op, __VA_ARGS__)
#define dsb(domain)			fake_event(FAKE_DSB, #domain, NULL, 0)

/* As the two below it. */
typedef struct { s64 counter; } atomic64_t;
static inline s64 atomic64_inc_return_release(atomic64_t *v)
{
	fake_event(FAKE_COUNT, "changes", NULL, 0);
	return __atomic_add_fetch(&v->counter, 1, __ATOMIC_RELEASE);
}

static inline s64 atomic64_read_acquire(const atomic64_t *v)
{
	fake_event(FAKE_LOOK, "changes", NULL, 0);
	return __atomic_load_n(&v->counter, __ATOMIC_ACQUIRE);
}

typedef struct { int counter; } atomic_t;
static inline void atomic_inc(atomic_t *v)
{
	__atomic_add_fetch(&v->counter, 1, __ATOMIC_RELAXED);
}

static inline int atomic_read(const atomic_t *v)
{
	return __atomic_load_n(&v->counter, __ATOMIC_RELAXED);
}

#undef smp_store_release
#undef smp_load_acquire
/* Pairs with the next one; told, so that one of them cannot go missing. */
#define smp_store_release(p, v) do {						\
	fake_event(FAKE_RELEASE, #p, NULL, 0);					\
	__atomic_store_n(p, v, __ATOMIC_RELEASE);				\
} while (0)
/* Pairs with the one above. */
#define smp_load_acquire(p)							\
	(fake_event(FAKE_ACQUIRE, #p, NULL, 0), __atomic_load_n(p, __ATOMIC_ACQUIRE))

#define pr_warn_ratelimited(...)	fake_warn(__VA_ARGS__)

#endif /* AV_TESTS_FAKE_TLB_KERNEL_H */
