/* SPDX-License-Identifier: GPL-2.0 */
/* Checks for the worlds of tests, which have no tests of their own. */
#ifndef AV_TESTS_REQUIRE_H
#define AV_TESTS_REQUIRE_H

#include <stdio.h>
#include <stdlib.h>

/* An invariant: broken, there is no going on. */
#define REQUIRE(cond) do {							\
	if (!(cond)) {								\
		fprintf(stderr, "%s:%d: %s: required %s\n", __FILE__, __LINE__,	\
			__func__, #cond);					\
		abort();							\
	}									\
} while (0)

#endif /* AV_TESTS_REQUIRE_H */
