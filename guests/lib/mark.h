/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Marks for the lab's plugin (lab/plugins/count.c), which counts between them. They are hints that
 * do nothing elsewhere.
 */
#ifndef GUESTS_MARK_H
#define GUESTS_MARK_H

#define mark(number) asm volatile("hint #" #number : : : "memory")

#define MARK_FEED	mark(0x70)	/* the models of TLBs begin, empty */
#define MARK_COUNT	mark(0x71)	/* a section begins */
#define MARK_END	mark(0x72)	/* the section, if any, ends; the models pause */
#define MARK_PAUSE	mark(0x74)	/* the section ends; the models continue */

#endif
