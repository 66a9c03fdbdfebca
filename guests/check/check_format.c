// SPDX-License-Identifier: GPL-2.0
#include "check.h"

#include <string.h>

#include "../lib/format.h"

static bool gives(const char *expected, int length, const char *got)
{
	if (!strcmp(expected, got) && (size_t)length == strlen(expected))
		return true;
	fprintf(stderr, "\"%s\" (%d) instead of \"%s\"\n", got, length, expected);
	return false;
}

#define FORMATS(expected, ...) \
	EXPECT(gives(expected, format_string(out, sizeof(out), __VA_ARGS__), out))

void check_format(const char *folder)
{
	char out[64];

	(void)folder;
	FORMATS("plain", "plain");
	FORMATS("100%", "%d%%", 100);
	FORMATS("-7", "%d", -7);
	FORMATS("-2147483648", "%d", -2147483647 - 1);
	FORMATS("-9223372036854775808", "%ld", -9223372036854775807L - 1);
	FORMATS("18446744073709551615", "%lu", ~0UL);
	FORMATS("ffffffffffffffff", "%lx", ~0UL);
	FORMATS("4294967295", "%u", ~0U);
	FORMATS("0", "%x", 0);
	FORMATS("00ff|  ff|ff  |", "%04x|%4x|%-4x|", 255, 255, 255);
	FORMATS("-07|  -7", "%03d|%4d", -7, -7);
	FORMATS("12345", "%03d", 12345);
	FORMATS("a|ab |  c", "%s|%-3s|%3c", "a", "ab", 'c');
	EXPECT(format_string(out, 4, "abcdef") == 6 && !strcmp(out, "abc"));
	EXPECT(format_string(out, 1, "abc") == 3 && !out[0]);
	EXPECT(format_string(NULL, 0, "abc") == 3);
}
