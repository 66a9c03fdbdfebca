// SPDX-License-Identifier: GPL-2.0
/* Instantiates the tracepoints. */
#include <linux/types.h>

#define CREATE_TRACE_POINTS
#include "stats/trace.h"
