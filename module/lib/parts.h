/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parts that a build can leave out, to measure what each is worth:
 *
 *	make -C module KVER=stable WITHOUT="swept leases"
 *
 * A part is a shortcut: without it, the module does the same by the longer way. Parts that can be
 * off at run time have a bit in cpu/cheap.h or a module parameter instead. Pure.
 *
 *	around	a fault also fills neighbours of its page		mmu/fault/
 *	near	aborts answered by the walk cache			mmu/fault/
 *	swept	a TLBI of the same page again				mmu/tlbi/
 *	leases	the window acknowledges interrupts			irq/lease.c
 *	reading	loads from code are emulated				cpu/light.c
 */
#ifndef AV_LIB_PARTS_H
#define AV_LIB_PARTS_H

/* Is AV_WITHOUT_part not defined as 1? A constant for if (), as the kernel's IS_ENABLED(). */
#define AV_PARTS_1			0,
#define AV_PARTS_SECOND(a, b, ...)	b
#define AV_PARTS_HAS(junk)		AV_PARTS_SECOND(junk false, true)
#define AV_PARTS_PASTE(value)		AV_PARTS_HAS(AV_PARTS_##value)
#define AV_PARTS_VALUE(value)		AV_PARTS_PASTE(value)
#define AV_HAS(part)			AV_PARTS_VALUE(AV_WITHOUT_##part)

#endif /* AV_LIB_PARTS_H */
