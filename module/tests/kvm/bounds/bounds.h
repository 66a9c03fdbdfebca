/* SPDX-License-Identifier: GPL-2.0 */
#ifndef AV_TESTS_KVM_BOUNDS_H
#define AV_TESTS_KVM_BOUNDS_H

#include "lib.h"
#include "mapper.h"
#include "meter.h"

/* $NAME, or what is usual. */
u64 setting(const char *name, u64 usual);
/* A figure beside the meter's: "result NAME VALUE UNIT". */
void result(const char *name, u64 value, const char *unit);
/* A word into a file of the kernel's, or the end of the program. */
void must_write(const char *path, const char *word);

/* age.c */
void bounds_age_page(void);
void bounds_age_huge(void);
void bounds_age_apart(void);

/* api.c */
void bounds_api_pmu(void);
void bounds_api_system(void);
void bounds_api_vcpu(void);
void bounds_api_vm(void);

/* registers.c */
void bounds_api_its(void);
void bounds_api_vgic(void);

/* asid.c */
void bounds_asids(void);
void bounds_contexts(void);
void bounds_flushes(void);

/* blocks.c */
void bounds_blocks(void);
void bounds_blocks_slot(void);

/* calls.c */
void bounds_calls(void);
void bounds_traps(void);

/* copies.c */
void bounds_copies(void);
void bounds_copies_aliases(void);
void bounds_copies_frame(void);
void bounds_copies_limit(void);

/* gic.c, its.c */
void bounds_gic(void);
void bounds_its(void);
void bounds_routes(void);

/* gmem.c */
void bounds_gmem(void);
void bounds_gmem_large(void);
void bounds_gmem_slots(void);
void bounds_private(void);

/* irqfd.c */
void bounds_coalesced(void);
void bounds_ioeventfd(void);
void bounds_irqfd_many(void);
void bounds_irqfd_shared(void);

/* log.c */
void bounds_log(void);
void bounds_ring(void);

/* map.c */
void bounds_idle(void);
void bounds_frame(void);
void bounds_frame_zap(void);
void bounds_frame_slot(void);
void bounds_reap(void);
void bounds_tables_all(void);
void bounds_tables_asid(void);
void bounds_tables_block(void);
void bounds_tables_budget(void);
void bounds_tables_close(void);
void bounds_tables_exit(void);
void bounds_tables_kept(void);
void bounds_tables_page(void);
void bounds_tables_shrink(void);
void bounds_tables_sparse(void);
void bounds_tables_trees(void);
void bounds_tables_unmap(void);

/* notify.c */
void bounds_notify_apart(void);
void bounds_notify_aliases(void);
void bounds_notify_frame(void);
void bounds_notify_frames(void);
void bounds_notify_host(void);

/* process.c */
void bounds_process_gone(void);
void bounds_process_changed(void);

/* reclaim.c */
void bounds_reclaim(void);

/* slot.c */
void bounds_slot(void);
void bounds_slot_among_many(void);
void bounds_slot_memory(void);
void bounds_slots_many(void);
void bounds_slot_charged(void);
/* KiB that the memory control group of the program, which is made for it, is charged with. */
long charged_memory(void);

/* spaces.c */
void bounds_roots(void);
void bounds_spaces(void);
void bounds_spaces_bases(void);
void bounds_spaces_high(void);

/* window.c */
void bounds_window(void);

#endif /* AV_TESTS_KVM_BOUNDS_H */
