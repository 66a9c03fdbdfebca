/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Offsets in the register file and the private page, for assembly. switch/layout.c asserts that
 * they match the structures.
 */
#ifndef AV_SWITCH_OFFSETS_H
#define AV_SWITCH_OFFSETS_H

/* struct av_srf, the first page */
#define SRF_REGS	0x000
#define SRF_QUICK	0x0f8
#define SRF_QUICK_NR	0x0fc
#define SRF_VMODE	0x100
#define SRF_IN_PLACE	0x104
#define SRF_SP		0x108
#define SRF_PC		0x110
#define SRF_PSTATE	0x118
#define SRF_ESR		0x120
#define SRF_FAR		0x128
#define SRF_EXIT	0x130
#define SRF_INSN	0x138
#define SRF_TTBR_NONE	0x140
#define SRF_TTBR1_HOP	0x148
#define SRF_TTBR0_AUX	0x150
#define SRF_LOW_PRIVATE	0x158
#define SRF_LOOPS	0x160
#define SRF_UNPRIV_TLBI	0x168
#define SRF_QUICK_IMM	0x170
#define SRF_MODES	0x180
#define SRF_QUICK_EL0	0x188
#define SRF_ROOT1_EL0	0x190
#define SRF_ROOT1_EL1	0x198
#define SRF_PHYS	0x1a0
#define SRF_QUICK_MODES	0x1a8
#define SRF_DUE		0x1b0
#define SRF_QUICK_ON	0x1b8
#define SRF_QUICK_ON_NR	0x1bc
#define SRF_EL1H	0x1c0
#define SRF_COPIES	0x1c4
#define SRF_LIGHT	0x1cc
#define SRF_SVC_PC	0x1d0
#define SRF_SVC_PSTATE	0x1d8
#define SRF_DEVICE_PAGE	0x1ec
#define SRF_ROOT0	0x1f0
#define SRF_ROOTS_AT	0x1f8
#define SRF_TTBR	0x200
#define SRF_QUICK_ROWS	0x208
#define SRF_FAST	0x288
#define SRF_ROOTS	0x388
#define SRF_IDLE	0x888		/* roots[AV_SRF_IDLE] */
#define SRF_MODES_SAME	0x8b0
/* virtual registers in the first page */
#define SRF_SCTLR_EL1	0x8c0
#define SRF_TCR_EL1	0x8d0
#define SRF_TTBR0_EL1	0x900
#define SRF_TTBR1_EL1	0x908
#define SRF_VBAR_EL1	0x910
#define SRF_MIDR_EL1	0xb70
/* the log of timed traps, and the stack of cpu/fast.c from its other end */
#define SRF_BEGUN	0xb78
#define SRF_TIMED	0xb80
#define SRF_LOG_NR	0xb88
#define SRF_LOG		0xb90
#define SRF_PSCI	0xd10
/* the guest's tables that the window may read */
#define SRF_TABLES_AT	0xd48
#define SRF_TABLES	0xd50
#define SRF_TCR_MID	0xd90
#define SRF_IMAGE	0xd98
#define SRF_IMAGE_PRIVATE	0xda0
/* virtual registers in the shared page */
#define SRF_SHARED	0x1000
#define SRF_ELR_EL1	0x1010
#define SRF_SPSR_EL1	0x1018
#define SRF_ESR_EL1	0x1020
#define SRF_DAIF	0x1028
#define SRF_SP_EL1	0x1030
#define SRF_TPIDR_EL1	0x1038
#define SRF_SP_EL0	0x1040
#define SRF_TPIDR_EL0	0x1048
#define SRF_TPIDRRO_EL0	0x1050
#define SRF_FAR_EL1	0x1058
#define SRF_CONTEXTIDR_EL1	0x1060
#define SRF_SHOWN_TTBR0_EL1	0x1078
#define SRF_SHOWN_TTBR1_EL1	0x1080
#define SRF_SIZE	0x2000
/* the same, within LDP's reach */
#define SHARED_ELR_EL1	(SRF_ELR_EL1 - SRF_SHARED)
#define SHARED_SPSR_EL1	(SRF_SPSR_EL1 - SRF_SHARED)
#define SHARED_ESR_EL1	(SRF_ESR_EL1 - SRF_SHARED)
#define SHARED_DAIF	(SRF_DAIF - SRF_SHARED)
#define SHARED_FAR_EL1	(SRF_FAR_EL1 - SRF_SHARED)
#define SHARED_SP_EL1	(SRF_SP_EL1 - SRF_SHARED)
#define SHARED_TPIDR_EL0	(SRF_TPIDR_EL0 - SRF_SHARED)

/* struct av_srf_roots */
#define ROOTS_TTBR0	0x00
#define ROOTS_ROOT0	0x10
#define ROOTS_ROOT1_EL0	0x18
#define ROOTS_ROOT1_EL1	0x20
#define ROOTS_SIZE	0x28
#define ROOTS_SETS	8
#define ROOTS_WAYS	4

/* struct av_srf_table */
#define TABLE_REGION	0x00
#define TABLE_ROOT0	0x08
#define TABLE_SHIFT	4
#define TABLES_BITS	2
#define TABLE_REGION_SHIFT	21
/* A page's descriptor: AV_DESC_*; FAR_AWAY: address bits from AV_SHOWN_PA_BITS on */
#define DESC_VALID_BIT	0
#define DESC_PAGE_BIT	1
#define DESC_READ_ONLY_BIT	7
#define DESC_AF_BIT	10
#define DESC_FAR_AWAY	0xff0000000000
#define DESC_DBM_BIT	51
/* Fault status of level 3: AV_FSC_* */
#define FSC_TRANSLATION	0x07
#define FSC_ACCESS	0x0b
#define FSC_PERMISSION	0x0f

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
#define SW_TCR_MID	0x80
#define SW_FLUSH	0x88
#define SW_H_TTBR0	0x90
#define SW_H_TTBR1	0x98
#define SW_H_VBAR	0xa0
#define SW_H_SP		0xa8
#define SW_H_SP_EL0	0xb0
#define SW_H_RET	0xb8
#define SW_H_SCTLR	0xc0
#define SW_H_TCR	0xc8
#define SW_H_CPACR	0xd0
#define SW_H_CNTKCTL	0xd8
#define SW_H_MDSCR	0xe0
#define SW_H_TPIDR	0xe8
#define SW_H_TPIDRRO	0xf0
#define SW_H_TTBR1_HOP	0xf8
#define SW_H_LIGHT	0x100
#define SW_LIGHT	0x108
#define SW_LIGHT_PSTATE	0x118
#define SW_SELF		0x120
#define SW_H_X18	0x128
#define SW_IMAGE	0x130
#define SW_KEPT		0x138
#define SW_IMAGE_SP	0x140
#define SW_H_MISSED	0x148
#define SW_MISSES	0x150
#define SW_MISS		0x158
#define IMAGE_MISSES	8

/*
 * The frame of av_switch_enter() on the thread's stack, and the one of light exits in the image on
 * theirs: with the private page's address.
 */
#define SW_FRAME	128
#define FRAME_PRIVATE	96

/* A low alias is the low bits of the high address. */
#define LOW_MASK	0x7fffffffff

/* AV_FAST_DONE_LOW, AV_FAST_DONE, AV_FAST_TO_EL0, AV_FAST_ROOTS of cpu/fast.h */
#define FAST_DONE_LOW_BIT	1
#define FAST_DONE_BIT		0
#define FAST_TO_EL0_BIT		2
#define FAST_ROOTS_BIT		4

/* AV_QUICK_ROWS; enum av_fast_trap */
#define QUICK_COUNTER_SHIFT	11
#define QUICK_WRITE_BIT	10
#define QUICK_VREG_BITS	10
#define QUICK_ROWS	32
#define FAST_ELR_EL1	2
#define FAST_SPSR_EL1	3
#define FAST_ESR_EL1	4
#define FAST_FAR_EL1	5
#define FAST_DAIF	10
#define FAST_TCR_EL1	11
#define FAST_TTBR0_EL1	12
#define FAST_TTBR1_EL1	13
#define FAST_CONTEXTIDR_EL1	14
#define FAST_TPIDRRO_EL0	15
#define FAST_TPIDR_EL0	16
#define FAST_MIDR_EL1	17
#define FAST_SVC	24
#define FAST_ERET	27
#define FAST_ERET_EL0	28
#define FAST_HVC	29
#define FAST_DABT	30
#define FAST_PABT	31

/* The syndrome of SVC #0: AV_QUICK_SVC. */
#define ESR_SVC		0x56000000

/* The syndrome of an unknown instruction: AV_ESR_IL. */
#define ESR_UNKNOWN	0x2000000

/* The syndrome of MSR DAIF, x0, in halves. */
#define ESR_DAIF_LOW	0xd004
#define ESR_DAIF_HIGH	0x6232

/* enum av_exception */
#define EXIT_SYNC	0
#define EXIT_FATAL	4
#define EXIT_LOG	5
/* flag, until the exit is stored: the instruction is in the register file already */
#define EXIT_FETCHED	0x100
/* flag: av_fast() must not be called */
#define EXIT_LEAVE_BIT	9
#define EXIT_LEAVE	0x200

/* AV_TOKENS */
#define TOKENS		800

/* AV_TIME_EVERY, AV_TIME_PHASE, AV_TIME_LOG */
#define TIME_EVERY	64
#define TIME_PHASE	32
#define TIME_LOG	48

/* AV_INSN_UNKNOWN: no instruction */
#define INSN_UNKNOWN	0x100000000

#endif /* AV_SWITCH_OFFSETS_H */
