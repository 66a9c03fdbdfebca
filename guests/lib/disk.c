// SPDX-License-Identifier: GPL-2.0
/*
 * A virtio-mmio block device, version 2, one request at a time, polled. Text is collected in a
 * buffer and written a buffer at a time: one notification each.
 */
#include "guest.h"

#define MAGIC 0x74726976
#define BLOCK_DEVICE 2
#define QUEUE_SIZE 4
#define SECTOR 512
#define BUFFER_SIZE (64UL << 10)

enum {
	R_MAGIC = 0x000, R_VERSION = 0x004, R_DEVICE = 0x008, R_FEATURES = 0x010,
	R_FEATURES_SELECT = 0x014, R_DRIVER_FEATURES = 0x020, R_DRIVER_SELECT = 0x024,
	R_QUEUE_SELECT = 0x030, R_QUEUE_MAX = 0x034, R_QUEUE_SIZE = 0x038, R_QUEUE_READY = 0x044,
	R_NOTIFY = 0x050, R_STATUS = 0x070, R_DESCRIPTORS = 0x080,
	R_AVAILABLE = 0x090, R_USED = 0x0a0,
};

enum { ACKNOWLEDGE = 1, DRIVER = 2, DRIVER_OK = 4, FEATURES_OK = 8, NEEDS_RESET = 64 };

#define FEATURE_VERSION_1_HIGH 1U
#define FEATURE_ACCESS_PLATFORM_HIGH 2U
#define DESCRIPTOR_NEXT 1
#define DESCRIPTOR_WRITE 2
#define REQUEST_OUT 1

struct descriptor {
	u64 address;
	u32 length;
	u16 flags;
	u16 next;
};

struct queue {
	struct descriptor descriptors[QUEUE_SIZE];
	struct {
		u16 flags;
		u16 index;
		u16 ring[QUEUE_SIZE];
		u16 event;
	} available;
	struct {
		u16 flags;
		u16 index;
		struct {
			u32 id;
			u32 length;
		} ring[QUEUE_SIZE];
		u16 event;
	} used __attribute__((aligned(16)));
};

struct request {
	u32 kind;
	u32 reserved;
	u64 sector;
};

/* All memory that the device uses, in whole pages: a guest may have to share them. */
static struct {
	volatile struct queue queue;
	struct request request;
	volatile u8 status;
	char buffer[BUFFER_SIZE] __attribute__((aligned(4096)));
} dma __attribute__((aligned(4096)));

static size_t buffered;
static u64 next_sector;
static u64 device;

static volatile u32 *reg(u64 offset)
{
	return (volatile u32 *)(device + offset);
}

volatile u32 *disk_register(u64 offset)
{
	return reg(offset);
}

static void set_address(u64 offset, volatile void *address)
{
	*reg(offset) = (u32)(u64)address;
	*reg(offset + 4) = (u32)((u64)address >> 32);
}

static bool find_device(void)
{
	unsigned int i;

	for (i = 0; i < machine.virtio_count; i++) {
		device = machine.virtio[i].base;
		if (*reg(R_MAGIC) == MAGIC && *reg(R_VERSION) == 2 && *reg(R_DEVICE) == BLOCK_DEVICE)
			return true;
	}
	return false;
}

/* Accepts VIRTIO_F_ACCESS_PLATFORM: the device gets physical addresses in any case. */
static bool negotiate(void)
{
	u32 features;

	*reg(R_STATUS) = 0;
	*reg(R_STATUS) = ACKNOWLEDGE;
	*reg(R_STATUS) = ACKNOWLEDGE | DRIVER;
	*reg(R_FEATURES_SELECT) = 1;
	features = *reg(R_FEATURES) & (FEATURE_VERSION_1_HIGH | FEATURE_ACCESS_PLATFORM_HIGH);
	if (!(features & FEATURE_VERSION_1_HIGH))
		return false;
	*reg(R_DRIVER_SELECT) = 0;
	*reg(R_DRIVER_FEATURES) = 0;
	*reg(R_DRIVER_SELECT) = 1;
	*reg(R_DRIVER_FEATURES) = features;
	*reg(R_STATUS) = ACKNOWLEDGE | DRIVER | FEATURES_OK;
	return *reg(R_STATUS) & FEATURES_OK;
}

bool disk_open(void)
{
	if (!find_device() || !negotiate())
		return false;
	*reg(R_QUEUE_SELECT) = 0;
	if (*reg(R_QUEUE_MAX) < QUEUE_SIZE)
		return false;
	*reg(R_QUEUE_SIZE) = QUEUE_SIZE;
	/* Resets the device, which may have been used before. */
	dma.queue.available.index = 0;
	dma.queue.used.index = 0;
	dsb();
	set_address(R_DESCRIPTORS, dma.queue.descriptors);
	set_address(R_AVAILABLE, &dma.queue.available);
	set_address(R_USED, &dma.queue.used);
	*reg(R_QUEUE_READY) = 1;
	*reg(R_STATUS) = ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK;
	return true;
}

bool disk_needs_reset(void)
{
	return *reg(R_STATUS) & NEEDS_RESET;
}

void disk_memory(struct disk_memory *memory)
{
	*memory = (struct disk_memory){
		.base = (u64)&dma,
		.size = sizeof(dma),
		.buffer = (u64)dma.buffer,
	};
}

static void describe(unsigned int i, const volatile void *address, u32 length, u16 flags)
{
	volatile struct descriptor *descriptor = &dma.queue.descriptors[i];

	descriptor->address = (u64)address;
	descriptor->length = length;
	descriptor->flags = flags;
	descriptor->next = (u16)(i + 1);
}

void disk_ask(const volatile void *from, size_t size)
{
	volatile struct queue *queue = &dma.queue;
	u16 index = queue->available.index;

	dma.request = (struct request){ .kind = REQUEST_OUT, .sector = next_sector };
	dma.status = 0xff;
	describe(0, &dma.request, sizeof(dma.request), DESCRIPTOR_NEXT);
	describe(1, from, (u32)size, DESCRIPTOR_NEXT);
	describe(2, &dma.status, 1, DESCRIPTOR_WRITE);
	queue->available.flags = 1;	/* no interrupt: this code polls */
	queue->available.ring[index % QUEUE_SIZE] = 0;
	dsb();
	queue->available.index = (u16)(index + 1);
	dsb();
	*reg(R_NOTIFY) = 0;
}

bool disk_answered(void)
{
	return dma.queue.used.index == dma.queue.available.index;
}

s64 disk_try(const volatile void *from, size_t size)
{
	u64 end = read_sysreg(cntvct_el0) + 30 * read_sysreg(cntfrq_el0);

	disk_ask(from, size);
	while (!disk_answered())
		if (read_sysreg(cntvct_el0) > end)
			return -1;
	dsb();
	return dma.status;
}

static bool write_sectors(size_t size)
{
	s64 status = disk_try(dma.buffer, size);

	if (status < 0)
		return check(false, "the disk does not answer");
	next_sector += size / SECTOR;
	return check(!status, "the disk refuses sector %lu: status %ld", dma.request.sector,
		     status);
}

bool disk_flush(void)
{
	size_t size = (buffered + SECTOR - 1) & ~(SECTOR - 1UL);

	for (; buffered < size; buffered++)
		dma.buffer[buffered] = '\0';
	buffered = 0;
	return !size || write_sectors(size);
}

void disk_append(const char *text, size_t size)
{
	while (size--) {
		dma.buffer[buffered++] = *text++;
		if (buffered == BUFFER_SIZE)
			disk_flush();
	}
}
