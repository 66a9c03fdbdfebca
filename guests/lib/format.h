/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A small printf: %s %c %d %u %x with 'l' for 64 bits, '0' and a width. It does not depend on the
 * machine, so it is tested on the development machine.
 */
#ifndef GUESTS_FORMAT_H
#define GUESTS_FORMAT_H

#include "types.h"

/* Where formatted characters go, one at a time. */
struct sink {
	void (*put)(struct sink *sink, char c);
};

void format(struct sink *sink, const char *text, va_list args);
int format_string(char *buffer, size_t size, const char *text, ...)
	__attribute__((format(printf, 3, 4)));

#endif
