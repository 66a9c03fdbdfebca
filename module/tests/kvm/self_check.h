/* SPDX-License-Identifier: GPL-2.0 */
/* For programs of one file that check themselves and continue after a failure. */
#ifndef AV_TESTS_KVM_SELF_CHECK_H
#define AV_TESTS_KVM_SELF_CHECK_H

#include <stdio.h>

static int failures;

#define CHECK(cond) do {							\
	if (!(cond)) {								\
		failures++;							\
		printf("FAILED: line %d: %s\n", __LINE__, #cond);		\
	}									\
} while (0)

#endif /* AV_TESTS_KVM_SELF_CHECK_H */
