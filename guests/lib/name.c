// SPDX-License-Identifier: GPL-2.0
/* Compiled once a program: the name that its results carry. */
#include "guest.h"

const char guest_name[] = GUEST_NAME;
