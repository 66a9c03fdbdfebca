/* SPDX-License-Identifier: GPL-2.0 */
#ifndef AV_TESTS_FAKE_TLB_TYPES_H
#define AV_TESTS_FAKE_TLB_TYPES_H

#include "lib/av_types.h"

/* The kernel has it in this header, too. */
struct list_head { struct list_head *next, *prev; };

#endif /* AV_TESTS_FAKE_TLB_TYPES_H */
