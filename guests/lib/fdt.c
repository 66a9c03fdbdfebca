// SPDX-License-Identifier: GPL-2.0
#include "fdt.h"

#define FDT_MAGIC 0xd00dfeedU
#define FDT_HEADER_SIZE 40U
#define FDT_VERSION 17U

enum token { BEGIN_NODE = 1, END_NODE = 2, PROP = 3, NOP = 4, END = 9 };

static u32 be32(const u8 *p)
{
	return (u32)p[0] << 24 | (u32)p[1] << 16 | (u32)p[2] << 8 | p[3];
}

static bool same(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		;
	return *a == *b;
}

static u32 align4(u32 n)
{
	return (n + 3) & ~3U;
}

/* Length of the string at `at`, its end found within `end`; false: not ended. */
static bool string_length(const char *at, const char *end, u32 *length)
{
	const char *p = at;

	while (p < end && *p)
		p++;
	*length = (u32)(p - at);
	return p < end;
}

bool fdt_open(struct fdt *fdt, const void *blob, size_t limit)
{
	const u8 *header = blob;
	u32 total, structs, strings;

	if (!blob || ((uintptr_t)blob & 3) || limit < FDT_HEADER_SIZE)
		return false;
	total = be32(header + 4);
	structs = be32(header + 8);
	strings = be32(header + 12);
	fdt->strings_size = be32(header + 32);
	fdt->structs_size = be32(header + 36) & ~3U;
	if (be32(header) != FDT_MAGIC || be32(header + 20) < FDT_VERSION || total > limit)
		return false;
	if (structs % 4 || structs > total || fdt->structs_size > total - structs)
		return false;
	if (strings > total || fdt->strings_size > total - strings)
		return false;
	fdt->structs = header + structs;
	fdt->strings = (const char *)header + strings;
	return true;
}

/* One token: takes its offset, and returns the offset behind it. END for a damaged tree. */
static enum token read_token(const struct fdt *fdt, u32 at, u32 *next)
{
	const char *end = (const char *)fdt->structs + fdt->structs_size;
	u32 size, token;

	if (at > fdt->structs_size || fdt->structs_size - at < 4)
		return END;
	token = be32(fdt->structs + at);
	*next = at + 4;
	switch (token) {
	case NOP:
	case END_NODE:
		return token;
	case BEGIN_NODE:
		if (!string_length((const char *)fdt->structs + at + 4, end, &size))
			return END;
		*next = at + 4 + align4(size + 1);
		return token;
	case PROP:
		if (fdt->structs_size - at < 12)
			return END;
		size = be32(fdt->structs + at + 4);
		if (size > fdt->structs_size - at - 12)
			return END;
		*next = at + 12 + align4(size);
		return token;
	default:
		return END;
	}
}

fdt_node fdt_next(const struct fdt *fdt, fdt_node after)
{
	bool past = after < 0;
	u32 at = past ? 0 : (u32)after;
	u32 next;

	for (;; at = next) {
		switch (read_token(fdt, at, &next)) {
		case BEGIN_NODE:
			if (!past) {
				past = true;
				continue;
			}
			return at;
		case END_NODE:
		case PROP:
		case NOP:
			continue;
		default:
			return -1;
		}
	}
}

static const char *property_name(const struct fdt *fdt, u32 offset)
{
	u32 length;

	if (offset >= fdt->strings_size ||
	    !string_length(fdt->strings + offset, fdt->strings + fdt->strings_size, &length))
		return "";
	return fdt->strings + offset;
}

bool fdt_property(const struct fdt *fdt, fdt_node node, const char *name,
		  struct fdt_property *property)
{
	u32 at = (u32)node;
	u32 next;

	if (node < 0 || read_token(fdt, at, &next) != BEGIN_NODE)
		return false;
	for (at = next;; at = next) {
		switch (read_token(fdt, at, &next)) {
		case NOP:
			continue;
		case PROP:
			if (!same(property_name(fdt, be32(fdt->structs + at + 8)), name))
				continue;
			property->size = be32(fdt->structs + at + 4);
			property->data = fdt->structs + at + 12;
			return true;
		default:
			return false;
		}
	}
}

/* A property may hold several strings, each ended by a zero. */
static bool list_has(const struct fdt_property *property, const char *text)
{
	const char *at = (const char *)property->data;
	const char *end = at + property->size;
	u32 length;

	for (; at < end && string_length(at, end, &length); at += length + 1)
		if (same(at, text))
			return true;
	return false;
}

static fdt_node find(const struct fdt *fdt, fdt_node after, const char *name, const char *value)
{
	struct fdt_property property;
	fdt_node node = after;

	while ((node = fdt_next(fdt, node)) >= 0)
		if (fdt_property(fdt, node, name, &property) && list_has(&property, value))
			return node;
	return -1;
}

fdt_node fdt_compatible(const struct fdt *fdt, fdt_node after, const char *name)
{
	return find(fdt, after, "compatible", name);
}

fdt_node fdt_device_type(const struct fdt *fdt, fdt_node after, const char *type)
{
	return find(fdt, after, "device_type", type);
}

/* `count` cells from cell `first` as one number; missing cells are 0. */
u64 fdt_cells(const struct fdt_property *property, u32 first, u32 count)
{
	u64 value = 0;
	u32 i;

	for (i = first; i < first + count; i++)
		value = value << 32 | (i < property->size / 4 ? be32(property->data + 4 * i) : 0);
	return value;
}

bool fdt_string_is(const struct fdt_property *property, const char *text)
{
	return list_has(property, text);
}
