/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cases of a hostile guest. A case that returns has checked its results. One that does not return
 * hangs or is ended by the hypervisor, and announces that first.
 */
#ifndef GUESTS_HOSTILE_H
#define GUESTS_HOSTILE_H

#include "guest.h"

/* The result of an access: syndrome and address of its exception, if it took one. */
struct outcome {
	bool taken;
	u64 esr;
	u64 far;
	u64 value;
	u64 sp;
};

#define CLASS_FETCH_USER 0x20
#define CLASS_FETCH 0x21
#define CLASS_ACCESS_USER 0x24
#define CLASS_ACCESS 0x25
#define CLASS_BRK 0x3c
#define FSC(esr) ((esr) & 0x3f)
#define FSC_TYPE(esr) ((esr) & 0x3c)
#define FSC_ADDRESS_SIZE 0x00
#define FSC_TRANSLATION 0x04
#define FSC_ACCESS_FLAG 0x08
#define FSC_PERMISSION 0x0c
#define FSC_EXTERNAL 0x10
#define FSC_EXTERNAL_WALK 0x14

static inline unsigned int class_of(u64 esr)
{
	return esr >> 26 & 0x3f;
}

/* Around code with its continuation address in x19; caught_frame has the exception's state. */
extern struct frame caught_frame;
void begin_try(void);
struct outcome end_try(u64 value);

struct outcome try_read(u64 address);
struct outcome try_write(u64 address, u64 value);
struct outcome try_call(u64 address);
/* Run one instruction with x0; SKIP: skip an instruction that faults. */
struct outcome try_instruction(u32 instruction, u64 x0);

u64 next_random(void);

/* A physical address without memory or device. */
u64 hole(void);

/* tables.c: two pages of the upper half (39 bits), with tables that the cases change. */
#define UPPER 0xffffff8000000000UL
extern u64 upper_root[512], upper_middle[512], upper_leaf[512];
void upper_init(void);
void upper_flush(void);

void case_tables_device(void);
void case_tables_hole(void);
void case_tables_beyond(void);
void case_tables_self(void);
void case_tables_race(void);
void case_window(void);

/* held.c */
void case_held(void);

/* annex.c */
void case_annex_user(void);
void case_annex_kernel(void);
void case_annex_words(void);
void case_annex_garbage(void);
void case_annex_jump(void);
void case_annex_remap(void);
void case_annex_remap_first(void);
void case_annex_move(void);
void case_annex_off(void);

/* Frequent instructions of many kinds: each reads the value that it has written. */
#define ENOUGH		6000	/* times: each is frequent then */
#define TURNS		8	/* rounds of ENOUGH: then the hypervisor has found a place */
void hot(unsigned int times, const char *when);
/* Execute instructions that exit: reads of an ID register and ISR_EL1, a write of CNTV_CTL_EL0. */
void leave(void);
/* A random value: all ones, a small number, or any 64 bits. */
u64 garbage(void);

/* One instruction in user space, until its exception, which may be SVC. */
enum user_access { USER_READ, USER_WRITE, USER_JUMP };
void user_init(void);
struct outcome in_user(unsigned int what, u64 address);

/* hole.c */
void case_hole_access(void);
void case_hole_user(void);
void case_hole_jump(void);
void case_hole_map(void);
void case_hole_code(void);
void case_hole_anchor(void);
void case_hole_roots(void);
void case_hole_flag(void);
void case_hole_search(void);

#endif
