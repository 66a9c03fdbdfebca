/* SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause */
/*
 * A test program is functions run by RUN(). EQUAL() states an expectation and continues after a
 * failure. END() is main()'s return value, and prints the line that tools/test.py counts.
 */
#ifndef LAB_PLUGINS_TESTS_CHECK_H
#define LAB_PLUGINS_TESTS_CHECK_H

#include <stdio.h>

static unsigned long made, wrong, passed, failed;

#define EQUAL(got, want) do {							\
	unsigned long long equal_got = (unsigned long long)(got);		\
	unsigned long long equal_want = (unsigned long long)(want);		\
										\
	made++;									\
	if (equal_got != equal_want) {						\
		wrong++;							\
		fprintf(stderr, "%s:%d: %s: %s is %llu, not %llu\n", __FILE__,	\
			__LINE__, __func__, #got, equal_got, equal_want);	\
	}									\
} while (0)

/* A test has failed if it found an error, or checked nothing. */
#define RUN(test) do {								\
	unsigned long run_made = made, run_wrong = wrong;			\
										\
	test();									\
	if (made > run_made && wrong == run_wrong)				\
		passed++;							\
	else									\
		failed++;							\
} while (0)

#define END() (printf("%lu passed, %lu failed\n", passed, failed), failed || !passed)

#endif
