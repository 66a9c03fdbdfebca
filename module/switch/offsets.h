/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the switcher finds things in the register file. Assembly takes the
 * numbers; switch/switch.c asserts that struct av_srf agrees.
 */
#ifndef AV_SWITCH_OFFSETS_H
#define AV_SWITCH_OFFSETS_H

#define SRF_REGS	0x000
#define SRF_SP		0x0f8
#define SRF_PC		0x100
#define SRF_PSTATE	0x108
#define SRF_ESR		0x110
#define SRF_FAR		0x118
#define SRF_EXIT	0x120
#define SRF_INSN	0x128

/* struct av_switch */
#define SW_BASE		0x138
#define SW_TTBR_NONE	(SW_BASE + 0x00)
#define SW_TTBR0_AUX	(SW_BASE + 0x08)
#define SW_TTBR1_HOP	(SW_BASE + 0x10)
#define SW_TTBR0	(SW_BASE + 0x18)
#define SW_TTBR1	(SW_BASE + 0x20)
#define SW_ASID_HOST	(SW_BASE + 0x28)
#define SW_HIGH_CODE	(SW_BASE + 0x30)
#define SW_HIGH_DATA	(SW_BASE + 0x38)
#define SW_LOW_CODE	(SW_BASE + 0x40)
#define SW_LOW_DATA	(SW_BASE + 0x48)
#define SW_SCTLR	(SW_BASE + 0x50)
#define SW_TCR		(SW_BASE + 0x58)
#define SW_CPACR	(SW_BASE + 0x60)
#define SW_CNTKCTL	(SW_BASE + 0x68)
#define SW_MDSCR	(SW_BASE + 0x70)
#define SW_LOOPS	(SW_BASE + 0x78)
#define SW_FLUSH	(SW_BASE + 0x80)
#define SW_H_TTBR0	(SW_BASE + 0x88)
#define SW_H_TTBR1	(SW_BASE + 0x90)
#define SW_H_VBAR	(SW_BASE + 0x98)
#define SW_H_SP		(SW_BASE + 0xa0)
#define SW_H_SP_EL0	(SW_BASE + 0xa8)
#define SW_H_RET	(SW_BASE + 0xb0)
#define SW_H_SCTLR	(SW_BASE + 0xb8)
#define SW_H_TCR	(SW_BASE + 0xc0)
#define SW_H_CPACR	(SW_BASE + 0xc8)
#define SW_H_CNTKCTL	(SW_BASE + 0xd0)
#define SW_H_MDSCR	(SW_BASE + 0xd8)
#define SW_H_TPIDR	(SW_BASE + 0xe0)
#define SW_H_TPIDRRO	(SW_BASE + 0xe8)
#define SW_UNPRIV_TLBI	(SW_BASE + 0xf0)

/* sys[AV_TPIDR_EL0], sys[AV_TPIDRRO_EL0] */
#define SRF_SYS		(SW_BASE + 0xf8)
#define SRF_TPIDR	(SRF_SYS + 7 * 8)
#define SRF_TPIDRRO	(SRF_SYS + 8 * 8)

/* enum av_left */
#define EXIT_FATAL	4

/* No instruction: AV_INSN_UNKNOWN */
#define INSN_UNKNOWN	0x100000000

#endif /* AV_SWITCH_OFFSETS_H */
