/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A VM of one vCPU for measurements that involve more than one guest and its VMM: a few
 * instructions as the guest, and this program as the VMM. On a failure it prints the cause and
 * exits: no figure is better than a wrong one.
 *
 * The guest starts at TINYVM_RAM, where its code is, with its MMU off. TINYVM_TABLE is a page of
 * translation tables for TCR_EL1 = TINYVM_TCR and MAIR_EL1 = TINYVM_MAIR: the first GiB is device
 * memory; the second, which has the guest's memory, is normal. TINYVM_SHARED is a page that both
 * sides may use.
 */
#ifndef GUESTS_TOOLS_TINYVM_H
#define GUESTS_TOOLS_TINYVM_H

#define TINYVM_RAM	0x40000000
#define TINYVM_TABLE	0x40010000
#define TINYVM_SHARED	0x40020000
#define TINYVM_DEVICE	0x09000000
#define TINYVM_GICD	0x08000000
#define TINYVM_GICR	0x080a0000
#define TINYVM_SPI	32
#define TINYVM_TCR	0x200803519	/* 39 bits of address, 40 of output, 4 KiB, TTBR0 alone */
#define TINYVM_MAIR	0xff00		/* 0: device, 1: write-back */

#ifndef __ASSEMBLER__
#include <linux/kvm.h>
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>

/* A number of those above, in the text of instructions. */
#define TINYVM_WORD(x)	TINYVM_TEXT(x)
#define TINYVM_TEXT(x)	#x

/* Instructions that turn the MMU on; x0 is lost. Literals follow. */
#define TINYVM_MMU_ON						\
	"	ldr	x0, =" TINYVM_WORD(TINYVM_MAIR) "\n"	\
	"	msr	mair_el1, x0\n"			\
	"	ldr	x0, =" TINYVM_WORD(TINYVM_TCR) "\n"	\
	"	msr	tcr_el1, x0\n"				\
	"	ldr	x0, =" TINYVM_WORD(TINYVM_TABLE) "\n"	\
	"	msr	ttbr0_el1, x0\n"			\
	"	isb\n"						\
	"	ldr	x0, =0x30d0199d\n" /* SCTLR_EL1: MMU and caches on */ \
	"	msr	sctlr_el1, x0\n"			\
	"	isb\n"

struct tinyvm {
	int vm, vcpu;
	struct kvm_run *run;
	volatile uint64_t *shared;
};

/* The instructions from `code` to `end` are copied. */
void tinyvm_new(struct tinyvm *tiny, const char *code, const char *end);

/*
 * Call before it runs: a GICv3, an eventfd that drives TINYVM_SPI, one that TINYVM_DEVICE signals.
 */
void tinyvm_add_gic(struct tinyvm *tiny);
int tinyvm_irqfd(struct tinyvm *tiny);
int tinyvm_ioeventfd(struct tinyvm *tiny);

/* Makes the vCPU's counter equal to this program's; exits on failure. */
void tinyvm_share_counter(struct tinyvm *tiny);

/* KVM_RUN until the guest exits to user space, which must be by a store to TINYVM_DEVICE. */
void tinyvm_run(struct tinyvm *tiny);

/* Pin this thread to that CPU; with `first`, it runs before all others there. */
void tinyvm_run_on(unsigned int cpu, int first);

noreturn void tinyvm_fail(const char *what);
#endif

#endif
