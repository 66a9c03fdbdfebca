// SPDX-License-Identifier: GPL-2.0
/* The one place where the tracepoints are made. */
#include <linux/types.h>

#define CREATE_TRACE_POINTS
#include "stats/trace.h"
