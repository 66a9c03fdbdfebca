/* SPDX-License-Identifier: GPL-2.0 */
/* Guests from random numbers: code, page tables, registers. */
#ifndef AV_TESTS_KVM_RANDOM_GUEST_H
#define AV_TESTS_KVM_RANDOM_GUEST_H

#include "lib.h"

/* Each CPU has this many instructions; the CPUs' code is consecutive from GUEST_BASE. */
#define CODE_WORDS	1024
#define TABLES		(GUEST_BASE + 0x100000)
#define NR_TABLES	16

#define SYS(op1, crn, crm, op2)	ARM64_SYS_REG(3, op1, crn, crm, op2)

/* Numbers from a seed, the same ones at each run. */
u64 rnd(u64 *seed);

/* Code that ends in a branch to its start, at the start of each CPU's part of memory. */
void lay_code(char *memory, unsigned int cpus, u64 *seed);
/* Random tables, through which the code stays where it is in most guests. */
void lay_tables(char *memory, u64 *seed);
void lay_registers(int vcpu, unsigned int cpu, u64 *seed);

/* Set a register; a value that KVM refuses is left as it is. */
void try_reg(int vcpu, u64 id, u64 value);

/* The setting of this name in the environment, or another number. */
u64 number_of(const char *name, u64 otherwise);

#endif /* AV_TESTS_KVM_RANDOM_GUEST_H */
