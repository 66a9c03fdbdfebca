/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Running without copies for a while, because copies cannot execute an instruction. Such
 * instructions come in bursts: a kernel boots, firmware services run. So each burst turns copies
 * off for twice as many traps as the last, and a longer time without a burst halves the number. One
 * instruction may need a few traps: for its page, its data's pages, FP registers. Traps handled in
 * the window count too; they are added every AV_PLAIN_LOOK entries.
 */
#ifndef AV_MMU_PLAIN_H
#define AV_MMU_PLAIN_H

struct av_vcpu;

/* Update how much longer the vCPU runs without copies. Called every AV_PLAIN_LOOK entries. */
#define AV_PLAIN_LOOK	32
void av_mmu_count_plain(struct av_vcpu *vcpu);

/* Run without copies from now on. */
void av_mmu_go_plain(struct av_vcpu *vcpu);

/* The time without copies is over, but copies would not work yet: add a few traps. */
void av_mmu_stay_plain(struct av_vcpu *vcpu);

#endif /* AV_MMU_PLAIN_H */
