/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Random sequences of calls of KVM's API, each with its answer as a line of text. Two hosts must
 * print the same lines for a seed.
 *
 * The seed and the step's number determine a step, never an answer, so two hosts whose answers
 * differ once still make the same calls. Values that may vary with time are not printed. A world is
 * one VM with one thread.
 */
#ifndef AV_TESTS_KVM_SEQUENCE_H
#define AV_TESTS_KVM_SEQUENCE_H

#include "lib.h"

#define NR_VCPUS		2
#define PAGE		4096UL
#define SPARE_SIZE	0x20000UL
#define SPARE_BASE	0x50000000ULL
#define NR_EVENTS	2
#define NR_INTIDS	4

/* The redistributor's second frame, for SGIs and PPIs. */
#define SGI_FRAME	0x10000UL
#define REDIST_SIZE	0x20000UL

struct world {
	u64 seed, rng;
	u32 intid[NR_INTIDS];	/* interrupts that the world is about */
	int kvm, vm, vcpu[NR_VCPUS], vgic, event[NR_EVENTS];
	struct kvm_run *run[NR_VCPUS];
	size_t run_size;
	bool ring;		/* VMs with dirty rings; no guest writes to a slot that is logged */
	u8 *memory;		/* of the first slot, where the guest's program is */
	u8 *spare;		/* for other slots */
};

struct op {
	const char *name;
	unsigned int weight;
	void (*run)(struct world *w);
};

/* So many of the vGIC's rows are what a world does that is all about it. */
#define VGIC_ONLY	5

/* Rows end with one without a name. */
extern const struct op vm_ops[], vcpu_ops[], vgic_ops[];

/* A number below @n, or one of an array. */
u64 pick(struct world *w, u64 n);
#define pick_of(w, array) ((array)[pick(w, ARRAY_SIZE(array))])

/* A vCPU of the world's with its run structure, in place of the one there was. */
void keep_vcpu(struct world *w, unsigned int index, int fd);
/* A new VM with @nr vCPUs, initialised, with memory; ready: with a vGIC. */
void new_world(struct world *w, unsigned int nr, bool ready);
void end_world(struct world *w);

/* KVM_RUN, which always ends after a while; it completes pending exits. */
long run_vcpu(struct world *w, unsigned int index);

/*
 * vgic.c: the distributor is on and interrupts are edge-triggered, but
 * those that lines are for. What a guest writes to ISPENDR of a level-sensitive
 * one, KVM forgets only when it is no longer active; and what became pending
 * while the distributor was off, it does not signal later.
 */
void prepare_vgic(struct world *w);
bool level_sensitive(u32 intid);

void draw_intids(struct world *w);
/* One of the world's, so that steps meet. */
u32 any_intid(struct world *w);
/* A priority for it that no other interrupt has: of equal ones either may come first. */
u8 any_priority(struct world *w, u32 intid);
/* Everything of the vGIC and of the vCPUs' interfaces into a new VM. */
void migrate(struct world *w);

/* vm.c: KVM_IRQ_LINE */
void irq_line(struct world *w);

/* guest.c: a program for the guest, run on one vCPU; prints its results. */
void guest_program(struct world *w);
/* One that acknowledges interrupts while others are active, and moves the binary points between. */
void guest_preemption(struct world *w);

#endif /* AV_TESTS_KVM_SEQUENCE_H */
