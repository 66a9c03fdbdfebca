/* SPDX-License-Identifier: GPL-2.0 */
#ifndef AV_TESTS_KVM_CONFORM_H
#define AV_TESTS_KVM_CONFORM_H

#include "lib.h"

/*
 * Guest code is assembled into this program; it is position independent. Hidden,
 * because the linker loses the offset of a local label in a GOT entry.
 */
#define GUEST(name, ...)						\
	extern const u32 guest_##name[] __attribute__((visibility("hidden"))); \
	extern const u32 guest_##name##_end[] __attribute__((visibility("hidden"))); \
	__asm__(".pushsection .rodata\n.balign 4\n"			\
		"guest_" #name ":\n" __VA_ARGS__			\
		"guest_" #name "_end:\n.popsection\n")
#define NEW_GUEST(g, name) \
	new_guest(g, guest_##name, (const char *)guest_##name##_end - (const char *)guest_##name)

/*
 * alarm() for a guest that spins. The board is paced: so much of its time is so many
 * instructions, on a busy machine too.
 */
void alarm_ms(unsigned int ms);

/* One function a group of calls; each starts from a new VM. */
void conform_system(void);
void conform_vm(void);
void conform_wild(void);
void conform_memory(void);
void conform_vcpu(void);
void conform_regs(void);
void conform_sysregs(void);
void conform_ids(void);
void conform_gmem(void);
void conform_reglist(void);
void conform_order(void);
void conform_firmware(void);
void conform_device(void);
void conform_irq(void);
void conform_irqfd(void);
void conform_timer(void);
void conform_pmu(void);
void conform_its(void);
void conform_msi(void);
void conform_ioeventfd(void);
void conform_events(void);
void conform_run(void);
void conform_nisv(void);
void conform_coalesced(void);
void conform_ring(void);
void conform_serror(void);
void conform_debug(void);
void conform_life(void);
void conform_stats(void);

#endif /* AV_TESTS_KVM_CONFORM_H */
