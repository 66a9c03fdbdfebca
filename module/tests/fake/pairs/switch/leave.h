/* SPDX-License-Identifier: GPL-2.0 */
#ifndef AV_TESTS_FAKE_LEAVE_H
#define AV_TESTS_FAKE_LEAVE_H

#include "fake.h"

bool av_cpus_meltdown_safe(void);

#endif /* AV_TESTS_FAKE_LEAVE_H */
