/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A test program is a list of functions run by RUN(). CHECK() states an expectation, counts it, and
 * continues after a failure. TESTS_DONE() is main()'s return value.
 */
#ifndef AV_TESTS_CHECK_H
#define AV_TESTS_CHECK_H

#include <stdio.h>

static unsigned long check_count, check_failed, test_passed, test_failed;

#define CHECK(cond) do {							\
	check_count++;								\
	if (!(cond)) {								\
		check_failed++;							\
		fprintf(stderr, "%s:%d: %s: expected %s\n", __FILE__, __LINE__,	\
			__func__, #cond);					\
	}									\
} while (0)

#define CHECK_EQ(got, want) do {						\
	unsigned long long check_g = (unsigned long long)(got);			\
	unsigned long long check_w = (unsigned long long)(want);		\
										\
	check_count++;								\
	if (check_g != check_w) {						\
		check_failed++;							\
		fprintf(stderr, "%s:%d: %s: %s is %#llx, expected %#llx\n",	\
			__FILE__, __LINE__, __func__, #got, check_g, check_w);	\
	}									\
} while (0)

/* A test has failed if one of its checks did, or if it made none. */
#define RUN(fn) do {								\
	unsigned long run_count = check_count, run_failed = check_failed;	\
										\
	fn();									\
	if (check_failed == run_failed && check_count > run_count)		\
		test_passed++;							\
	else									\
		test_failed++;							\
} while (0)

#define TESTS_DONE() (printf("%s: %lu checks\n%lu passed, %lu failed\n", __FILE__,	\
			     check_count, test_passed, test_failed),		\
		      test_failed || !test_passed)

#endif /* AV_TESTS_CHECK_H */
