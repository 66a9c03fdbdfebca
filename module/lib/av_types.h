/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The base header of code that uses no kernel service.
 *
 * Decoder, walker, shadow tables, register tables, vGIC and timer logic build
 * twice: into armvisor.ko, and as ordinary programs on the development machine
 * for unit tests, sanitizers and fuzzing. Such a file includes only this header
 * and headers that obey the same rule. What it needs from outside (memory, a
 * TLB, time) comes through an ops struct.
 */
#ifndef AV_LIB_TYPES_H
#define AV_LIB_TYPES_H

#ifdef __KERNEL__

#include <linux/types.h>
#include <linux/bits.h>
#include <linux/bitfield.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/nospec.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <asm/barrier.h>
#include <asm/cmpxchg.h>

#else

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#ifndef BIT
#define BIT(n)			(1UL << (n))
#endif
#define BIT_ULL(n)		(1ULL << (n))
#define GENMASK_ULL(h, l)	((~0ULL << (l)) & (~0ULL >> (63 - (h))))
#define GENMASK(h, l)		((unsigned long)GENMASK_ULL(h, l))
#define av_low_bit(mask)	((u64)(mask) & (~(u64)(mask) + 1))
#define FIELD_GET(mask, reg)	(((u64)(reg) & (u64)(mask)) / av_low_bit(mask))
#define FIELD_PREP(mask, val)	(((u64)(val) * av_low_bit(mask)) & (u64)(mask))

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define READ_ONCE(x)		(*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile typeof(x) *)&(x) = (v))
/* The kernel's barriers and atomics; most tests have one thread. */
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)
/* Likewise. */
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define cmpxchg(p, old, new)	__sync_val_compare_and_swap(p, old, new)
#define noinline		__attribute__((__noinline__))
#define OPTIMIZER_HIDE_VAR(var)	__asm__("" : "+r"(var))
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define min(a, b)		({ typeof(a) _a = (a); typeof(b) _b = (b); _a < _b ? _a : _b; })
#define max(a, b)		({ typeof(a) _a = (a); typeof(b) _b = (b); _a > _b ? _a : _b; })
#define swap(a, b)		do { typeof(a) _t = (a); (a) = (b); (b) = _t; } while (0)
#define min_t(t, a, b)		min((t)(a), (t)(b))
#define max_t(t, a, b)		max((t)(a), (t)(b))
#define container_of(p, t, m)	((t *)((char *)(p) - offsetof(t, m)))
#define fallthrough		__attribute__((__fallthrough__))
#define __aligned(n)		__attribute__((__aligned__(n)))
#define __must_check		__attribute__((__warn_unused_result__))
#undef __always_inline
#define __always_inline		inline __attribute__((__always_inline__))
#define __printf(a, b)		__attribute__((__format__(printf, a, b)))
#define static_assert		_Static_assert
#define BUILD_BUG_ON(c)		_Static_assert(!(c), #c)
#define ALIGN(x, a)		(((x) + ((typeof(x))(a) - 1)) & ~((typeof(x))(a) - 1))
#define ALIGN_DOWN(x, a)	((x) & ~((typeof(x))(a) - 1))
#define IS_ALIGNED(x, a)	(((x) & ((typeof(x))(a) - 1)) == 0)
/* Callers have checked index < size; the kernel's version also bounds a mispredicted check. */
#define array_index_nospec(index, size)	((index) < (size) ? (index) : 0)

static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline int __ffs64(u64 x)
{
	return __builtin_ctzll(x);
}

static inline s64 sign_extend64(u64 v, int index)
{
	int shift = 63 - index;

	return (s64)(v << shift) >> shift;
}

#endif /* __KERNEL__ */

#ifdef __KERNEL__
#include <linux/bitops.h>
#include <linux/align.h>
#endif

/* Fields of a 16-bit system register encoding, op0:op1:CRn:CRm:op2, as in KVM_REG_ARM64_SYSREG. */
#define AV_SYS_OP0		GENMASK(15, 14)
#define AV_SYS_OP1		GENMASK(13, 11)
#define AV_SYS_CRN		GENMASK(10, 7)
#define AV_SYS_CRM		GENMASK(6, 3)
#define AV_SYS_OP2		GENMASK(2, 0)

/* Make such an encoding. */
#define AV_SYS(op0, op1, crn, crm, op2) \
	(((op0) << 14) | ((op1) << 11) | ((crn) << 7) | ((crm) << 3) | (op2))

#endif /* AV_LIB_TYPES_H */
