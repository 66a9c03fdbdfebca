/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A kernel with a hole in its image, and code that its cases share. The cases of hole.c read, write
 * and jump there; those of hole_tables.c change its tables.
 *
 * A hypervisor may map a CPU's own registers in the first page of a unit of the hole, where the
 * guest has nothing, and code in the other pages of the unit.
 */
#ifndef GUESTS_HOLE_H
#define GUESTS_HOLE_H

/* struct jump, for jump.S */
#define JUMP_AT		0
#define JUMP_X		8
#define JUMP_CALLER	72
#define JUMP_STACK	192
#define JUMP_STACK_SIZE	4096
#define JUMP_ABOVE	1024	/* bytes of scratch above its middle */
#define JUMP_SCRATCH	4288
#define JUMP_SCRATCH_SIZE 8192

#ifndef __ASSEMBLER__
#include "hostile.h"
#include "kernel.h"

#define PAGE		4096UL
#define UNIT		0x10000UL
#define UNITS		4	/* that a hypervisor may take */

/* The first unit of the hole; does a hypervisor use one? */
extern u64 gap;
extern bool lent;

/* Make the hole and run this in the upper half, when a hypervisor has found the hole. */
void in_hole(void (*run)(void), bool warm);

/* Run frequent instructions until a hypervisor has noticed, and print what it maps there. */
void find_again(const char *name);

/* The guest has nothing at this address: may it show a register, or code? */
bool may_show(u64 at);
bool may_run(u64 at);

/* A fault of this type at this address. */
void check_fault(const char *when, const char *what, u64 at, const struct outcome *o,
		 unsigned int class, unsigned int type);
/* The page cannot be read or written, unless may_show() says so. */
void check_nothing(const char *when, u64 at);
void check_nothing_in_units(const char *when);

/* Write an entry, then DSB and ISB; the same with TLBIs for the page. */
void set_entry(u64 va, u64 entry);
void flush_page(u64 va);

/* jump.S: from hole_far on, position-independent code with a NOP after each instruction. */
extern u32 hole_far[], hole_far_end[];
/* Write the code to `to`, which va maps; call it often: does it read what it has written? */
void far_write(u32 *to, u64 va);
void far_call(u64 va, unsigned int times, const char *when);

struct jump {
	u64 at;
	u64 x[8];
	u64 caller[15];
	u64 stack[JUMP_STACK_SIZE / 8];
	u64 scratch[JUMP_SCRATCH_SIZE / 8];
};

/* Jump there with X0 to X7, X28 to X30 at the middle of scratch, and a stack of its own. */
extern struct jump hole_jump;
void hole_jump_run(void);
void hole_call(u64 at, u64 *x);
#endif
#endif
