/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A reader for flattened device trees, which the boot protocol passes in x0. It never writes, never
 * allocates, and checks every offset and length in the blob: a damaged tree is an error, not a
 * fault. It does not depend on the machine, so it is tested on the development machine.
 */
#ifndef GUESTS_FDT_H
#define GUESTS_FDT_H

#include "types.h"

struct fdt {
	const u8 *structs;
	const char *strings;
	u32 structs_size;
	u32 strings_size;
};

/* A node is the offset of its begin-node token; negative means none. */
typedef s64 fdt_node;

struct fdt_property {
	const u8 *data;
	u32 size;
};

/* False when this is no device tree of a version that is understood. */
bool fdt_open(struct fdt *fdt, const void *blob, size_t limit);

/* The next node after `after` (-1: the root) at any depth, or -1. */
fdt_node fdt_next(const struct fdt *fdt, fdt_node after);

bool fdt_property(const struct fdt *fdt, fdt_node node, const char *name,
		  struct fdt_property *property);

/* The first node after `after` that is compatible with `name`, or -1. */
fdt_node fdt_compatible(const struct fdt *fdt, fdt_node after, const char *name);
fdt_node fdt_device_type(const struct fdt *fdt, fdt_node after, const char *type);

u64 fdt_cells(const struct fdt_property *property, u32 first, u32 count);
bool fdt_string_is(const struct fdt_property *property, const char *text);

#endif
