// SPDX-License-Identifier: GPL-2.0
/*
 * The device-tree reader on QEMU's own trees, and on every truncation and many damaged copies of
 * them. Run with the address sanitizer: the blob is at the very end of its allocation, so a read
 * beyond it ends the test.
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "../lib/machine.h"

#define MUTATIONS 20000

struct blob {
	u8 *data;
	size_t size;
};

static struct blob read_blob(const char *folder, const char *name)
{
	struct blob blob = { 0 };
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "rb");
	if (!file) {
		perror(path);
		exit(2);
	}
	fseek(file, 0, SEEK_END);
	blob.size = (size_t)ftell(file);
	rewind(file);
	blob.data = malloc(blob.size);
	if (!blob.data || fread(blob.data, 1, blob.size, file) != blob.size)
		exit(2);
	fclose(file);
	return blob;
}

static size_t word(const u8 *at)
{
	return (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
}

/* QEMU pads a tree to 1 MiB: cut it behind its strings, which come last. Its size. */
static size_t cut_padding(struct blob *blob)
{
	size_t end = word(blob->data + 12) + word(blob->data + 32);

	EXPECT(end > word(blob->data + 8) && end < blob->size);
	blob->data[4] = (u8)(end >> 24);
	blob->data[5] = (u8)(end >> 16);
	blob->data[6] = (u8)(end >> 8);
	blob->data[7] = (u8)end;
	return end;
}

void check_fdt_virt(const char *folder)
{
	struct blob blob = read_blob(folder, "virt.dtb");
	struct machine machine;

	EXPECT(machine_from_fdt(&machine, blob.data, blob.size));
	EXPECT(machine.ram_count == 1);
	EXPECT(machine.ram[0].base == 0x40000000 && machine.ram[0].size == 3UL << 30);
	EXPECT(machine.cpu_count == 20);
	EXPECT(machine.mpidr[0] == 0 && machine.mpidr[17] == 0x101);
	EXPECT(machine.serial_kind == SERIAL_PL011 && machine.serial.base == 0x9000000);
	EXPECT(machine.rtc.base == 0x9010000);
	EXPECT(machine.gic_distributor.base == 0x8000000);
	EXPECT(machine.gic_redistributor.base == 0x80a0000);
	EXPECT(machine.gic_its.base == 0x8080000);
	EXPECT(machine.virtual_timer_irq == 27);
	EXPECT(machine.virtio_count == 32);
	EXPECT(machine.virtio[0].base == 0xa003e00 || machine.virtio[0].base == 0xa000000);
	EXPECT(!machine.psci_smc);
	EXPECT(!strcmp(machine.bootargs, "alpha=0x1F beta=12 gammadelta=9 delta=7"));
	EXPECT(machine_option(&machine, "alpha", 5) == 31);
	EXPECT(machine_option(&machine, "beta", 5) == 12);
	EXPECT(machine_option(&machine, "delta", 5) == 7);
	EXPECT(machine_option(&machine, "gamma", 5) == 5);
	free(blob.data);
}

void check_fdt_el2(const char *folder)
{
	struct blob blob = read_blob(folder, "virt-el2.dtb");
	struct machine machine;

	EXPECT(machine_from_fdt(&machine, blob.data, blob.size));
	EXPECT(machine.psci_smc);
	free(blob.data);
}

void check_fdt_damage(const char *folder)
{
	struct blob blob = read_blob(folder, "virt.dtb");
	struct machine machine;
	size_t total = cut_padding(&blob);
	size_t size;
	u8 *copy;
	int i;

	EXPECT(machine_from_fdt(&machine, blob.data, total));
	for (size = 0; size < total; size += size < 64 ? 1 : 97) {
		copy = malloc(size ? size : 1);
		memcpy(copy, blob.data, size);
		EXPECT(!machine_from_fdt(&machine, copy, size));
		free(copy);
	}
	srand(1);
	for (i = 0; i < MUTATIONS; i++) {
		copy = malloc(total);
		memcpy(copy, blob.data, total);
		/* Half of them in the header and the first nodes. */
		copy[(size_t)rand() % (i % 2 ? total : 256)] = (u8)rand();
		copy[(size_t)rand() % total] = (u8)rand();
		machine_from_fdt(&machine, copy, total);
		machine_option(&machine, "alpha", 0);
		free(copy);
	}
	free(blob.data);
	EXPECT(!machine_from_fdt(&machine, NULL, 4096));
}
