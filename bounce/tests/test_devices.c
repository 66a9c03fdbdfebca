// SPDX-License-Identifier: GPL-2.0
/*
 * Which devices the module serves, and when: drivers that are bound and unbound, that fail, that
 * leave buffers; devices that cannot be served; unloading the module.
 */
#include "check.h"
#include "dma_world.h"

#define POOL	(1UL << 20)

u32 module_refs;
bool module_goes;
bool (*virtio_check_mem_acc_cb)(struct virtio_device *vdev);

static struct notifier_block *notifier;
static struct virtio_driver *holder;
static bool no_notifier;
static struct device_driver driver = { .name = "driver" };

static u64 features;
static u64 mask;
static struct device parent;
static struct virtio_device vdev;

int register_virtio_driver(struct virtio_driver *d)
{
	REQUIRE(!holder);
	holder = d;
	return 0;
}

void unregister_virtio_driver(struct virtio_driver *d)
{
	REQUIRE(holder == d && !notifier);
	holder = NULL;
}

int bus_register_notifier(struct bus_type *bus, struct notifier_block *nb)
{
	if (no_notifier)
		return -ENOMEM;
	notifier = nb;
	return 0;
}

void bus_unregister_notifier(struct bus_type *bus, struct notifier_block *nb)
{
	REQUIRE(notifier == nb);
	notifier = NULL;
}

int (bus_for_each_dev)(const struct bus_type *bus, struct device *from, void *data,
		       int (*call)(struct device *dev, void *data))
{
	return call(&vdev.dev, data);
}

bool virtio_require_restricted_mem_acc(struct virtio_device *v)
{
	return true;
}

static bool the_cores_own(struct virtio_device *v)
{
	return false;
}

static u64 get_features(struct virtio_device *v)
{
	return features;
}

static u32 parts;	/* in the configuration, at its place in that of a disk of this type */

static void get_config(struct virtio_device *v, unsigned int offset, void *to, unsigned int size)
{
	REQUIRE(size == 4 && offset == (v->id.device == VIRTIO_ID_BLOCK ? 12 : 4));
	memcpy(to, &parts, size);
}

static const struct virtio_config_ops config = { .get_features = get_features, .get = get_config };

static void begin(bool sharing)
{
	world_begin(AV_MODE_SPLIT_CACHE, POOL, sharing);
	features = BIT_ULL(VIRTIO_F_VERSION_1) | BIT_ULL(VIRTIO_F_ACCESS_PLATFORM);
	mask = ~0ULL;
	module_refs = 0;
	module_goes = no_notifier = false;
	parent = (struct device){ .dma_mask = &mask, .coherent_dma_mask = mask, .skip_sync = true };
	vdev = (struct virtio_device){ .dev.parent = &parent, .config = &config };
	virtio_check_mem_acc_cb = the_cores_own;
	REQUIRE(!av_devices_begin());
}

static void end(void)
{
	CHECK_EQ(module_refs, 0);
	CHECK_EQ(parent.refs, 0);
	av_devices_end();
	CHECK(!notifier && !holder && virtio_check_mem_acc_cb == the_cores_own);
	world_end();
}

static void happens(unsigned long event)
{
	notifier->notifier_call(notifier, event, &vdev.dev);
}

static bool ours(void)
{
	return parent.dma_ops && parent.dma_ops->map_sg == av_dma_ops.map_sg;
}

static struct av_device *owner(void)
{
	return container_of(parent.dma_ops, struct av_device, ops);
}

static void drivers_come_and_go(void)
{
	u32 i;

	begin(true);
	for (i = 0; i < 3; i++) {
		happens(BUS_NOTIFY_BIND_DRIVER);
		CHECK(ours() && !parent.skip_sync);
		CHECK_EQ(module_refs, 1);
		CHECK_EQ(parent.refs, 1);
		happens(BUS_NOTIFY_BOUND_DRIVER);
		happens(BUS_NOTIFY_UNBIND_DRIVER);
		CHECK(ours());
		/* Its probe failed, or it was unbound. */
		happens(i == 1 ? BUS_NOTIFY_DRIVER_NOT_BOUND : BUS_NOTIFY_UNBOUND_DRIVER);
		CHECK(!parent.dma_ops);
		CHECK_EQ(module_refs, 0);
	}
	/* Nothing was ours. */
	happens(BUS_NOTIFY_UNBOUND_DRIVER);
	happens(BUS_NOTIFY_DRIVER_NOT_BOUND);
	end();
}

/* Mappings that nobody can return any more are free again; the next driver can use them. */
static void a_driver_that_leaves_mappings(void)
{
	u8 *page;

	begin(true);
	page = world_pages(1, SENT);
	happens(BUS_NOTIFY_BIND_DRIVER);
	CHECK(av_dma_ops.map_phys(&parent, virt_to_phys(page), 100, DMA_TO_DEVICE, 0) !=
	      DMA_MAPPING_ERROR);
	CHECK(av_dma_ops.map_phys(&parent, virt_to_phys(page), 4000, DMA_FROM_DEVICE, 0) !=
	      DMA_MAPPING_ERROR);
	CHECK_EQ(av_pool_owned(&av_bounce.pool, owner()->number), 2);
	happens(BUS_NOTIFY_UNBOUND_DRIVER);
	CHECK(!parent.dma_ops);
	CHECK_EQ(av_counts.left, 2);
	end();
}

/* The kernel may still use the rest: the device stays served, and the module loaded. */
static void a_driver_that_leaves_memory(void)
{
	const struct dma_map_ops *ops;
	dma_addr_t dma;
	void *virt;
	size_t size;

	for (size = 4096; size <= AV_SEGMENT_BYTES + 4096; size += AV_SEGMENT_BYTES) {
		begin(true);
		happens(BUS_NOTIFY_BIND_DRIVER);
		virt = av_dma_ops.alloc(&parent, size, &dma, GFP_KERNEL, 0);
		ops = parent.dma_ops;
		happens(BUS_NOTIFY_UNBOUND_DRIVER);
		CHECK(parent.dma_ops == ops);
		CHECK_EQ(module_refs, 1);
		CHECK_EQ(parent.refs, 1);
		/* The parent loses its driver too, and the core removes the ops; they come back. */
		parent.dma_ops = NULL;
		happens(BUS_NOTIFY_BIND_DRIVER);
		CHECK(parent.dma_ops == ops);
		CHECK_EQ(module_refs, 1);
		av_dma_ops.free(&parent, size, virt, dma, 0);
		happens(BUS_NOTIFY_UNBOUND_DRIVER);
		CHECK(!parent.dma_ops);
		end();
	}
}

static bool is_served(void)
{
	bool served;

	happens(BUS_NOTIFY_BIND_DRIVER);
	served = ours();
	CHECK_EQ(module_refs, served);
	happens(BUS_NOTIFY_UNBOUND_DRIVER);
	return served;
}

static void devices_that_cannot_be_served(void)
{
	static const struct dma_map_ops others;

	begin(true);
	features = BIT_ULL(VIRTIO_F_VERSION_1);
	CHECK(!is_served());
	features = BIT_ULL(VIRTIO_F_ACCESS_PLATFORM);
	CHECK(!is_served());
	features = ~0ULL;
	parent.iommu = true;
	CHECK(!is_served());
	parent.iommu = false;
	parent.min_align_mask = 4095;
	CHECK(!is_served());
	parent.min_align_mask = 0;
	mask = DMA_OFFSET + av_bounce.region.top - 1;
	CHECK(!is_served());
	mask++;
	CHECK(is_served());
	mask = ~0ULL;
	parent.bus_dma_limit = DMA_OFFSET + av_bounce.region.top - 1;
	CHECK(!is_served());
	parent.bus_dma_limit = 0;
	vdev.map = &mask;
	CHECK(!is_served());
	vdev.map = NULL;
	parent.dma_mask = NULL;
	CHECK(!is_served());
	parent.dma_mask = &mask;
	vdev.dev.parent = NULL;
	CHECK(!is_served());
	vdev.dev.parent = &parent;
	parent.dma_ops = &others;
	CHECK(!is_served());
	CHECK(parent.dma_ops == &others);
	parent.dma_ops = NULL;
	module_goes = true;
	CHECK(!is_served());
	module_goes = false;
	CHECK(is_served());
	end();
}

/* The pool has a MiB: half of it are slots, half of which only disks may use. */
static void disks_that_need_more(void)
{
	static const struct {
		u32 id, parts, most;
	} rows[] = {
		{ VIRTIO_ID_NET, 254, AV_SEGMENT_BYTES },
		{ VIRTIO_ID_BLOCK, 0, 32768 }, { VIRTIO_ID_BLOCK, 14, 8192 },
		{ VIRTIO_ID_SCSI, 14, 8192 }, { VIRTIO_ID_BLOCK, 50, 4096 },
		{ VIRTIO_ID_BLOCK, 254, 0 }, { VIRTIO_ID_SCSI, 254, 0 },
		{ VIRTIO_ID_BLOCK, 16383, 0 }, { VIRTIO_ID_SCSI, ~0U, 0 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		begin(true);
		features |= BIT_ULL(2);
		vdev.id.device = rows[i].id;
		parts = rows[i].parts;
		happens(BUS_NOTIFY_BIND_DRIVER);
		CHECK_EQ(ours(), rows[i].most != 0);
		if (ours()) {
			CHECK_EQ(owner()->most, rows[i].most);
			CHECK_EQ(owner()->disk, rows[i].id != VIRTIO_ID_NET);
			CHECK_EQ(owner()->by_length, rows[i].id == VIRTIO_ID_NET);
		}
		happens(BUS_NOTIFY_UNBOUND_DRIVER);
		/* A device that exists already is a reason not to load, unless it has a driver. */
		av_devices_end();
		CHECK_EQ(av_devices_begin(), rows[i].most ? 0 : -ENOSPC);
		if (!rows[i].most) {
			CHECK(!notifier && !holder);
			vdev.dev.driver = &driver;
			CHECK_EQ(av_devices_begin(), 0);
		}
		/* Without the feature a block device's requests have one part. */
		features &= ~BIT_ULL(2);
		CHECK_EQ(is_served(), rows[i].most || rows[i].id == VIRTIO_ID_BLOCK);
		end();
	}
}

/* Two devices never have the same number, however often drivers are bound. */
static void numbers(void)
{
	static struct device another;
	struct device *first = &parent;
	u16 number;
	u32 i, same = 0;

	begin(true);
	happens(BUS_NOTIFY_BIND_DRIVER);
	number = owner()->number;
	another = parent;
	another.dma_ops = NULL;
	another.refs = 0;
	vdev.dev.parent = &another;
	for (i = 0; i < 70000; i++) {
		happens(BUS_NOTIFY_BIND_DRIVER);
		REQUIRE(another.dma_ops);
		same += container_of(another.dma_ops, struct av_device, ops)->number == number;
		happens(BUS_NOTIFY_UNBOUND_DRIVER);
	}
	CHECK_EQ(same, 0);
	vdev.dev.parent = first;
	happens(BUS_NOTIFY_UNBOUND_DRIVER);
	end();
}

/* A driver that was bound before has its mappings without the module. */
static void a_driver_that_was_there(void)
{
	begin(true);
	av_devices_end();
	vdev.dev.driver = &driver;
	CHECK_EQ(av_devices_begin(), 0);
	CHECK(!parent.dma_ops);
	CHECK_EQ(module_refs, 0);
	happens(BUS_NOTIFY_UNBOUND_DRIVER);
	CHECK(!parent.dma_ops);
	end();
}

/* The core refuses devices that would be given private memory, if there is any. */
static void the_core_refuses_others(void)
{
	begin(true);
	CHECK(virtio_check_mem_acc_cb == virtio_require_restricted_mem_acc);
	CHECK(!strcmp(holder->driver.name, "armvisor_bounce") && holder->probe(&vdev) == -ENODEV);
	end();
	begin(false);
	CHECK(virtio_check_mem_acc_cb == the_cores_own);
	end();
	begin(true);
	av_devices_end();
	no_notifier = true;
	CHECK_EQ(av_devices_begin(), -ENOMEM);
	CHECK(!holder && virtio_check_mem_acc_cb == the_cores_own);
	world_end();
}

static u32 shown;

static void show(void *context, const struct av_device *device)
{
	shown += device->dev == &parent && context == &shown;
}

static void devices_are_shown(void)
{
	begin(true);
	av_devices_show(show, &shown);
	CHECK_EQ(shown, 0);
	happens(BUS_NOTIFY_BIND_DRIVER);
	av_devices_show(show, &shown);
	CHECK_EQ(shown, 1);
	happens(BUS_NOTIFY_UNBOUND_DRIVER);
	end();
}

int main(void)
{
	RUN(drivers_come_and_go);
	RUN(a_driver_that_leaves_mappings);
	RUN(a_driver_that_leaves_memory);
	RUN(devices_that_cannot_be_served);
	RUN(disks_that_need_more);
	RUN(numbers);
	RUN(a_driver_that_was_there);
	RUN(the_core_refuses_others);
	RUN(devices_are_shown);
	return TESTS_DONE();
}
