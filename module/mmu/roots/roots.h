/* SPDX-License-Identifier: GPL-2.0 */
/* The window's position, for faults. */
#ifndef AV_MMU_ROOTS_H
#define AV_MMU_ROOTS_H

struct av_vcpu;

/* window.c: the window is in the way of an access. The caller is in vm->srcu. May sleep. */
void av_window_give_way(struct av_vcpu *vcpu);

#endif /* AV_MMU_ROOTS_H */
