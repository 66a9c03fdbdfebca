/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Running without copies for a while, because copies cannot execute an instruction. Such
 * instructions come in bursts (a kernel boots, firmware's services). So copies are given up for
 * twice as many traps each time, and for half as many once no burst has come for a while. One
 * instruction may need a few traps: for its page, its data's pages, FP registers. Traps handled
 * in the window are counted too, once in so many entries.
 */
#ifndef AV_MMU_PLAIN_H
#define AV_MMU_PLAIN_H

struct av_vcpu;

/* The vCPU runs without copies: for how much longer? Called once per so many entries. */
#define AV_PLAIN_LOOK	32
void av_mmu_count_plain(struct av_vcpu *vcpu);

/* Run without copies from now on. */
void av_mmu_go_plain(struct av_vcpu *vcpu);

/* The time without copies is over, but they would not work yet: a few more traps. */
void av_mmu_stay_plain(struct av_vcpu *vcpu);

#endif /* AV_MMU_PLAIN_H */
