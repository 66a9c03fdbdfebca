/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the switcher finds things in the register file and the private page.
 * Assembly takes the numbers; switch/layout.c asserts that the structures agree.
 */
#ifndef AV_SWITCH_OFFSETS_H
#define AV_SWITCH_OFFSETS_H

/* struct av_srf, the first page */
#define SRF_REGS	0x000
#define SRF_SP		0x0f8
#define SRF_PC		0x100
#define SRF_PSTATE	0x108
#define SRF_ESR		0x110
#define SRF_FAR		0x118
#define SRF_EXIT	0x120
#define SRF_INSN	0x128
#define SRF_TTBR_NONE	0x138
#define SRF_TTBR1_HOP	0x140
#define SRF_TTBR0_AUX	0x148
#define SRF_LOW_PRIVATE	0x150
#define SRF_LOOPS	0x158
#define SRF_UNPRIV_TLBI	0x160
/* and the second: sys[AV_TPIDR_EL0], sys[AV_TPIDRRO_EL0] */
#define SRF_TPIDR	0x1c08
#define SRF_TPIDRRO	0x1c10

/* struct av_private */
#define SW_SRF		0x00
#define SW_TTBR_NONE	0x08
#define SW_TTBR0_AUX	0x10
#define SW_TTBR1_HOP	0x18
#define SW_TTBR0	0x20
#define SW_TTBR1	0x28
#define SW_ASID_HOST	0x30
#define SW_HIGH_CODE	0x38
#define SW_HIGH_DATA	0x40
#define SW_LOW_CODE	0x48
#define SW_LOW_PRIVATE	0x50
#define SW_SCTLR	0x58
#define SW_TCR		0x60
#define SW_CPACR	0x68
#define SW_CNTKCTL	0x70
#define SW_MDSCR	0x78
#define SW_FLUSH	0x80
#define SW_H_TTBR0	0x88
#define SW_H_TTBR1	0x90
#define SW_H_VBAR	0x98
#define SW_H_SP		0xa0
#define SW_H_SP_EL0	0xa8
#define SW_H_RET	0xb0
#define SW_H_SCTLR	0xb8
#define SW_H_TCR	0xc0
#define SW_H_CPACR	0xc8
#define SW_H_CNTKCTL	0xd0
#define SW_H_MDSCR	0xd8
#define SW_H_TPIDR	0xe0
#define SW_H_TPIDRRO	0xe8
#define SW_H_TTBR1_HOP	0xf0

/* A low alias is the low bits of a high address. */
#define LOW_MASK	0x7fffffffff

/* AV_FAST_DONE_LOW of cpu/fast.h */
#define AV_FAST_DONE_BIT	1

/* enum av_exception */
#define EXIT_FATAL	4

/* No instruction: AV_INSN_UNKNOWN */
#define INSN_UNKNOWN	0x100000000

#endif /* AV_SWITCH_OFFSETS_H */
