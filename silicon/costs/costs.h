/* SPDX-License-Identifier: GPL-2.0 */
#ifndef ARMVISOR_COSTS_H
#define ARMVISOR_COSTS_H

#include <linux/types.h>

struct seq_file;

/*
 * loops.c: write a line "cost CLASS LEAST MOST" in cycles for each class, and what a cycle is. One
 * caller at a time. 0 or -ENOMEM.
 */
int costs_measure(struct seq_file *out);

/* translations.c: write a line "check NAME STATE WORDS" for each kind of switch. The same. */
int translations_check(struct seq_file *out);

/* vectors.S, with all of DAIF masked. */
void costs_exceptions(unsigned long n);
u64 costs_load(const u64 *at);
extern const char costs_switch_vectors[];
/* The host's VBAR_EL1 and TTBR1_EL1, for costs_switch_vectors. */
extern u64 costs_host[2];

/* MIDR_EL1, without variant and revision */
#define COSTS_CORE(midr)	((midr) & 0xff00fff0)
#define CORTEX_A53		0x4100d030
#define THUNDERX(midr)		(((midr) & 0xff00fff0) == 0x43000a10 || ((midr) & 0xff00ffe0) == 0x43000a20)
#define FALKOR(midr)		(COSTS_CORE(midr) == 0x51008000 || COSTS_CORE(midr) == 0x5100c000)

#endif
