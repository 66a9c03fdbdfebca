/* SPDX-License-Identifier: GPL-2.0 */
/* The fixed-width type names of all guests, and nothing else. */
#ifndef GUESTS_TYPES_H
#define GUESTS_TYPES_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
