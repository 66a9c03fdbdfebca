/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pages of probed code and its data: fixed virtual addresses in both halves, wherever the image
 * is in RAM, so that registers have the same values on every machine. 39-bit addresses in each
 * half, 4 KiB pages.
 *
 * Each page exists once in RAM. Pages with the same name in the two halves are the same memory
 * (CODE is CODE, DATA is DATA), with the permissions given here.
 */
#ifndef GUESTS_ARENA_H
#define GUESTS_ARENA_H

/* Upper half, for EL1. */
#define K_BASE		0xffffff8000200000
#define K_CODE		0xffffff8000200000	/* EL1 reads and executes */
#define K_DATA		0xffffff8000202000	/* EL1 reads and writes */
#define K_READONLY	0xffffff8000203000	/* EL1 reads */
#define K_USER		0xffffff8000204000	/* EL1 and EL0 read and write */
#define K_OLD		0xffffff8000205000	/* access flag clear */
#define K_DEVICE	0xffffff8000206000	/* DATA as device memory */
#define K_UNMAPPED	0xffffff8000207000	/* nothing: level 3 */
#define K_UNMAPPED_2	0xffffff8000600000	/* nothing: level 2 */
#define K_UNMAPPED_1	0xffffff80c0000000	/* nothing: level 1 */
#define K_OUTSIDE	0xffffff0000000000	/* beyond T1SZ: level 0 */
#define K_FUNCTION	0xffffff8000209000	/* EL1 reads and executes: RET, then numbers */
#define K_CONT		0xffffff8000210000	/* sixteen pages, contiguous bit */
#define K_BLOCK		0xffffff8000400000	/* 2 MiB block, EL1 reads and writes */
#define K_TABLE_RO	0xffffff8000800000	/* writable page under a read-only table */
#define K_TABLE_XN	0xffffff8000a00000	/* CODE under a PXN and UXN table */
#define K_TABLE_USER	0xffffff8000c00000	/* user page under a no-user table */

/* Lower half, for EL0; not global, ASID 1. */
#define U_BASE		0x7000200000
#define U_CODE		0x7000200000	/* EL0 reads and executes */
#define U_DATA		0x7000202000	/* EL1 and EL0 read and write, no execution */
#define U_READONLY	0x7000203000	/* EL1 and EL0 read */
#define U_KERNEL	0x7000204000	/* EL1 reads and writes */
#define U_OLD		0x7000205000	/* access flag clear */
#define U_EXECUTE	0x7000206000	/* CODE: EL0 executes and may not read */
#define U_UNMAPPED	0x7000207000
#define U_UNMAPPED_2	0x7000600000
#define U_UNMAPPED_1	0x70c0000000
#define U_OUTSIDE	0x0000008000000000
/* Pages whose table entries tests may rewrite; initially DATA in both halves. */
#define U_CHANGE	0x7000208000
#define K_CHANGE	0xffffff8000208000

#define ARENA_ASID	1
#define ARENA_CODE_SIZE	4096

#ifndef __ASSEMBLER__
#include "guest.h"

/* Builds the tables, turns the MMU on with both halves. */
void arena_init(void);

/* Restores all registers that control memory and exceptions to arena_init()'s values. */
void arena_restore(void);

/* Restores the first contents of all pages and tables. */
void arena_reset_memory(void);

/* Copies `size` bytes of code to K_CODE and U_CODE. */
void arena_load_code(const void *code, size_t size);

/* The address of the level-3 entry of a page in K_BASE's or U_BASE's 2 MiB. */
u64 *arena_entry(u64 address);
/* The same of the level-2 entry, for an address in K_BASE's GiB. */
u64 *arena_table_entry(u64 address);

/* Physical addresses by name, and a name for each of them. */
u64 arena_data_physical(void);
const char *arena_physical_name(u64 physical);

/* A running hash over the pages that code can write. */
u64 arena_hash(u64 hash);

#endif
#endif
