/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cases of a hostile guest. One that comes back has checked what it got; one that
 * does not hangs or is ended by the hypervisor, and says so before.
 */
#ifndef GUESTS_HOSTILE_H
#define GUESTS_HOSTILE_H

#include "guest.h"

/* What an access brought about: an exception's syndrome and address, if one was taken. */
struct outcome {
	bool taken;
	u64 esr;
	u64 far;
	u64 value;
};

#define CLASS_FETCH 0x21
#define CLASS_ACCESS 0x25
#define FSC(esr) ((esr) & 0x3f)
#define FSC_TYPE(esr) ((esr) & 0x3c)
#define FSC_ADDRESS_SIZE 0x00
#define FSC_TRANSLATION 0x04
#define FSC_EXTERNAL 0x10
#define FSC_EXTERNAL_WALK 0x14

static inline unsigned int class_of(u64 esr)
{
	return esr >> 26 & 0x3f;
}

/* Around code that has where to go on in x19. */
void begin_try(void);
struct outcome end_try(u64 value);

struct outcome try_read(u64 address);
struct outcome try_write(u64 address, u64 value);
struct outcome try_call(u64 address);
/* Run one instruction with x0; SKIP: what it raises is passed over. */
struct outcome try_instruction(u32 instruction, u64 x0);

u64 next_random(void);

/* An address where the machine has nothing. */
u64 hole(void);

/* tables.c: two pages of the upper half, 39 bits of it, on tables to play with. */
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

#endif
