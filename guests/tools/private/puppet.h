/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A VM of one vCPU or two whose guest follows orders, for programs that test a VMM's influence on a
 * guest, above all on a protected one.
 *
 * The guest runs with its MMU off. It receives each order and returns its answer by device
 * accesses, so neither goes through its memory. Its memory is one slot at PUPPET_RAM; its code is
 * in the first page, which the guest keeps for itself.
 */
#ifndef GUESTS_TOOLS_PUPPET_H
#define GUESTS_TOOLS_PUPPET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../kvm_new.h"

#define PUPPET_PAGE	4096UL
#define PUPPET_SIZE	(2UL << 20)	/* of its memory */
#define PUPPET_RAM	0x40000000UL
#define PUPPET_DEVICE	0x09000000UL

struct puppet {
	int kvm, vm, vcpu;
	struct kvm_run *run;
	char *ram;	/* PUPPET_SIZE of this program's memory, owned by the caller */
};

/* What an order came to. */
struct puppet_answer {
	int error;		/* errno of KVM_RUN, after which it takes no more orders; else 0 */
	uint32_t exit;		/* with error: the exit reason that came with it */
	uint64_t x[4];		/* of a call; x[0] of a load */
	uint64_t esr, elr, far;	/* of the exception that the order ended with; else 0 */
};

/* Features of KVM_ARM_VCPU_INIT, for VMs that are made from now on. */
extern uint32_t puppet_features;

/* Makes the VM, with `ram` as its memory; 0, or the errno of the failed call (`what`). */
int puppet_new(struct puppet *puppet, bool protected, char *ram, const char **what);

/*
 * The same, for a protected VM on memory of a guest_memfd, which is created with it. The caller
 * closes its file and unmaps it.
 */
int puppet_new_on_gmem(struct puppet *puppet, int *file, char **ram, const char **what);

/* A guest_memfd for the VM, of this many bytes, or -1 with errno. */
int puppet_gmem(struct puppet *puppet, uint64_t size, const char **what);

/* Makes it, mapped at `ram`, memory of the VM: 0 or an errno. */
int puppet_add_gmem(struct puppet *puppet, unsigned int slot, uint64_t address, uint64_t size,
		    int file, const char *ram);

/* Writes the VM's initial state, in the order of armvisor's measurement, to a file. */
void puppet_write_measured(const struct puppet *puppet, const char *name);

/*
 * Another vCPU of the VM that puppet_new() made, with the same code, for orders from another
 * thread. Call it before the VM's first order. 0 or an errno. Call puppet_free() for it before the
 * VM's; it frees only the vCPU's own parts.
 */
int puppet_add_vcpu(const struct puppet *puppet, struct puppet *second, const char **what);

/* Frees the VM; its memory stays with the caller. */
void puppet_free(struct puppet *puppet);

/* HVC with a function number and three arguments. */
struct puppet_answer puppet_call(struct puppet *puppet, uint64_t function, uint64_t a,
				 uint64_t b, uint64_t c);
/* The same call for each of this many pages: x[0] is the number of answers other than 0. */
struct puppet_answer puppet_calls(struct puppet *puppet, uint64_t function, uint64_t first,
				  uint64_t pages);

/*
 * Each of this many pages holds `word`, is shared, is taken back, and holds `word` + 1, for a while
 * each (puppet_store() has the form of a word). x[0] is the number of refused calls, and x[1] the
 * number of pages that did not hold it at the end. By one call per page, or by calls for this many
 * at a time, which divides their number.
 */
struct puppet_answer puppet_flip(struct puppet *puppet, uint64_t first, uint64_t pages,
				 uint64_t range, uint64_t word);

/*
 * An access of 64 bits to `address`, guest physical. In memory the guest keeps a value with all its
 * bits inverted, so such a value can only come from its memory.
 */
struct puppet_answer puppet_load(struct puppet *puppet, uint64_t address);
struct puppet_answer puppet_store(struct puppet *puppet, uint64_t address, uint64_t value);

/* A load without an order: the guest reaches it by the registers that its VMM sets. */
struct puppet_answer puppet_force_load(struct puppet *puppet, uint64_t address);

#endif
