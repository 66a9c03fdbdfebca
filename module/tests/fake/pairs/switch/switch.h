/* SPDX-License-Identifier: GPL-2.0 */
/* The window, as far as mmu/guest/switcher_tables.c uses it. */
#ifndef AV_TESTS_FAKE_SWITCH_H
#define AV_TESTS_FAKE_SWITCH_H

#include "fake.h"

struct av_vm_switch;

#define AV_TABLE_VCPUS		64
#define AV_TABLES_MOST_VCPUS	124

void av_switch_show_table(struct av_vm_switch *vsw, unsigned int idx, unsigned int n, u64 pa);
void av_switch_hide_table(struct av_vm_switch *vsw, unsigned int idx, unsigned int n);
void av_switch_flush_table(const struct av_vm_switch *vsw, unsigned int idx, unsigned int n);

#endif /* AV_TESTS_FAKE_SWITCH_H */
