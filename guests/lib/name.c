// SPDX-License-Identifier: GPL-2.0
/* Compiled once per program: the name in its results. */
#include "guest.h"

const char guest_name[] = GUEST_NAME;
