/* SPDX-License-Identifier: GPL-2.0 */
/* A vGIC of two vCPUs and 64 SPIs, for tests. */
#ifndef AV_TESTS_VGIC_WORLD_H
#define AV_TESTS_VGIC_WORLD_H

#include "irq/vgic.h"

#define ICC(crm, op2)	AV_SYS(3, 0, 12, crm, op2)
#define PMR		AV_SYS(3, 0, 4, 6, 0)
#define IAR0		ICC(8, 0)
#define EOIR0		ICC(8, 1)
#define BPR0		ICC(8, 3)
#define AP0R0		ICC(8, 4)
#define AP1R0		ICC(9, 0)
#define DIR		ICC(11, 1)
#define RPR		ICC(11, 3)
#define SGI1R		ICC(11, 5)
#define SGI0R		ICC(11, 7)
#define IAR1		ICC(12, 0)
#define EOIR1		ICC(12, 1)
#define HPPIR1		ICC(12, 2)
#define BPR1		ICC(12, 3)
#define CTLR		ICC(12, 4)
#define SRE		ICC(12, 5)
#define GRPEN0		ICC(12, 6)
#define GRPEN1		ICC(12, 7)

#define SGI_BASE	0x10000
#define NR_SPIS		64

extern struct av_vgic vgic;
extern struct av_vgic_cpu cpus[2];
extern struct av_virq spis[NR_SPIS];
extern unsigned int kicks[2];

void reset(void);
/* As a guest leaves it after boot: group 1 on, PMR open, SPIs level-sensitive of priority 0xa0. */
void boot(void);

u64 icc(int cpu, u32 reg);
void icc_set(int cpu, u32 reg, u64 val);
struct av_vgic_io io_at(int cpu, u32 offset, u8 len, bool user);
u64 dist(u32 offset);
void dist_set(u32 offset, u64 val);
u64 redist(int cpu, u32 offset);
void redist_set(int cpu, u32 offset, u64 val);

#endif /* AV_TESTS_VGIC_WORLD_H */
