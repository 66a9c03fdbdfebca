/* SPDX-License-Identifier: GPL-2.0 */
#include "lib/av_types.h"
