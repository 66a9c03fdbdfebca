/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Taking an exception to virtual EL1, and returning from one: what the
 * architecture does to the register file. Pure.
 */
#ifndef AV_CPU_EXCEPTION_H
#define AV_CPU_EXCEPTION_H

#include "vm/regfile.h"

/* Offsets in a group of the vector table. */
#define AV_VECTOR_SYNC		0x000
#define AV_VECTOR_IRQ		0x080
#define AV_VECTOR_FIQ		0x100
#define AV_VECTOR_SERROR	0x180

/* Take an exception; returns the offset from VBAR_EL1. ESR and FAR are the caller's. */
u32 av_srf_take(struct av_srf *srf, u32 vector);

/* A synchronous one, with the syndrome in the form that the level taken from asks for. */
u32 av_srf_take_sync(struct av_srf *srf, u64 esr);

/* ERET from virtual EL1. */
void av_srf_eret(struct av_srf *srf);

/* Replace the whole virtual PSTATE; the mode is one that exists. */
void av_srf_set_pstate(struct av_srf *srf, u64 pstate);

/* Past an instruction that was emulated. */
static __always_inline void av_srf_skip(struct av_srf *srf)
{
	srf->pc += 4;
	srf->pstate &= ~AV_PSR_BTYPE;
	srf->vmode &= ~AV_PSR_SS;
}

/* Does MDSCR_EL1 step instructions in the present mode? */
bool av_srf_stepping(const struct av_srf *srf);

#endif /* AV_CPU_EXCEPTION_H */
