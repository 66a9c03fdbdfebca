/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface for bare-metal guest programs.
 *
 * A program defines guest_main(). It starts on the boot CPU at EL1 with the MMU and caches off,
 * interrupts masked, and a console. When it returns, the number of failures is reported and the
 * machine is powered off through PSCI.
 *
 * Results are lines on the serial port:
 *	result NAME VALUE UNIT
 * The last one is always "result PROGRAM.failures N count". A run without it has died, whatever
 * else it printed.
 */
#ifndef GUESTS_GUEST_H
#define GUESTS_GUEST_H

#include "machine.h"

#define read_sysreg(name) ({					\
	u64 value_;						\
	asm volatile("mrs %0, " #name : "=r" (value_));		\
	value_;							\
})

#define write_sysreg(name, value)				\
	asm volatile("msr " #name ", %0" : : "r" ((u64)(value)) : "memory")

static inline void isb(void)
{
	asm volatile("isb" : : : "memory");
}

static inline void dsb(void)
{
	asm volatile("dsb sy" : : : "memory");
}

extern struct machine machine;
extern const char guest_name[];

/* Defined by the program. */
void guest_main(void);

/* console.c */
void console_init(void);
void print(const char *text, ...) __attribute__((format(printf, 1, 2)));
void result(const char *name, u64 value, const char *unit);
/* A value of three decimals: `thousandths` / 1000. */
void result_milli(const char *name, u64 thousandths, const char *unit);
/* Counts a failure and prints the expectation. */
bool check(bool good, const char *text, ...) __attribute__((format(printf, 2, 3)));
unsigned int failures(void);

/* psci.c */
#define PSCI_VERSION 0x84000000UL
#define PSCI_CPU_OFF 0x84000002UL
#define PSCI_CPU_ON 0xc4000003UL
#define PSCI_AFFINITY_INFO 0xc4000004UL
#define PSCI_MIGRATE_INFO_TYPE 0x84000006UL
#define PSCI_SYSTEM_OFF 0x84000008UL
#define PSCI_SYSTEM_RESET 0x84000009UL
#define PSCI_FEATURES 0x8400000aUL
s64 psci(u64 function, u64 a, u64 b, u64 c);
_Noreturn void power_off(void);
/* Starts a CPU at `entry` on its own stack, with the boot CPU's MMU state. */
typedef void (*cpu_main)(unsigned int cpu);
s64 cpu_start(unsigned int cpu, cpu_main entry);

/* xen.c: hypercalls of Xen's; an answer below zero is an errno. */
#define XEN_VERSION 17UL
#define XEN_CONSOLE_IO 18UL
s64 xen_call(u64 function, u64 a, u64 b, u64 c);
void xen_print(char c);

/* mmu.c */
void mmu_init(void);
void mmu_enable(void);

/* gic.c; the frame of a CPU's redistributor, or 0 */
u64 gic_redistributor(unsigned int cpu);
bool gic_init(unsigned int cpu);
void gic_enable(unsigned int cpu, u32 irq);
u32 gic_acknowledge(void);
void gic_end(u32 irq);

/*
 * disk.c: a virtio disk for output that is too long for a serial port, where every character is an
 * exit. Both return false if there is none or it fails. disk_append() writes text behind earlier
 * text; disk_flush() writes the rest.
 */
bool disk_open(void);
void disk_append(const char *text, size_t size);
bool disk_flush(void);
/* Has the device stopped after a bad request? disk_open() resets it. */
bool disk_needs_reset(void);
/* Writes `size` bytes, a multiple of 512; returns virtio's status, or -1 without an answer. */
s64 disk_try(const volatile void *from, size_t size);
/* The same without waiting; the next function tells whether the device has answered. */
void disk_ask(const volatile void *from, size_t size);
bool disk_answered(void);
/* A register of the transport, by the specification's offset. */
volatile u32 *disk_register(u64 offset);
/* The device's memory: whole pages, the buffer last. */
struct disk_memory {
	u64 base;
	u64 size;
	u64 buffer;
};
void disk_memory(struct disk_memory *memory);

/* start.S and the linker script */
extern char image_start[], image_end[];

/* vectors.S: the registers at an exception, and the hook by which a program handles it. */
struct frame {
	u64 x[31];
	u64 elr;
	u64 spsr;
	u64 esr;
	u64 far;
	u64 vector;
};

/* Set by a program: returns true if it has handled the exception. */
extern bool (*exception_hook)(struct frame *frame);

#endif
