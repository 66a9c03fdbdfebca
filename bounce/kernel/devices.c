// SPDX-License-Identifier: GPL-2.0
/*
 * Selects the devices that are served: every virtio device, from before its driver binds until
 * after it is unbound. A virtio device does its DMA through its parent (a PCI or platform device),
 * which may have been bound at boot. The virtio driver's probe allocates the rings, so this file
 * watches the virtio bus.
 *
 * Rules: the list of devices and its entries change under the mutex. Each entry holds a reference
 * on the module, so that it cannot be unloaded meanwhile.
 */
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/dma-direct.h>
#include <linux/iommu.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/virtio_anchor.h>
#include <linux/virtio_ids.h>

#include "bounce.h"
#include "compat/dma_ops.h"
#include "compat/virtio.h"

static DEFINE_MUTEX(lock);
static LIST_HEAD(devices);
static u16 last_number;
static bool (*old_check)(struct virtio_device *vdev);

/* A registered driver points to the bus, which is not exported. This one matches no device. */
static const struct virtio_device_id no_ids[] = { { 0 } };

static int no_probe(struct virtio_device *vdev)
{
	return -ENODEV;
}

static struct virtio_driver bus_holder = {
	.driver.name = "armvisor_bounce",
	.id_table = no_ids,
	.probe = no_probe,
};

static struct av_device *device_of(const struct device *dev)
{
	struct av_device *device;

	lockdep_assert_held(&lock);
	list_for_each_entry(device, &devices, list) {
		if (device->dev == dev)
			return device;
	}
	return NULL;
}

static bool number_is_taken(u16 number)
{
	struct av_device *device;

	list_for_each_entry(device, &devices, list) {
		if (device->number == number)
			return true;
	}
	return false;
}

static bool offers(struct virtio_device *vdev, unsigned int bit)
{
	return vdev->config->get_features(vdev) & BIT_ULL(bit);
}

/* Returns why a device cannot be served and what to do, as the end of a sentence, or NULL. */
static const char *why_not(struct virtio_device *vdev)
{
	struct device *dev = vdev->dev.parent;

	if (!dev || !dev->dma_mask || av_maps_by_itself(vdev))
		return "it does no DMA of its own";
	if (!offers(vdev, VIRTIO_F_VERSION_1))
		return "it is a legacy device (no VIRTIO_F_VERSION_1): have the VMM offer a modern one";
	if (!offers(vdev, VIRTIO_F_ACCESS_PLATFORM))
		return "it does not offer VIRTIO_F_ACCESS_PLATFORM: have the VMM offer it (QEMU: iommu_platform=on)";
	if (get_dma_ops(dev) || device_iommu_mapped(dev))
		return "it has DMA operations already, as those of an IOMMU or Xen: start the VM without";
	if (dma_get_min_align_mask(dev))
		return "its driver asks for buffers at certain offsets in pages, which are not kept";
	if (phys_to_dma(dev, av_bounce.region.top) > min_not_zero(*dev->dma_mask, dev->bus_dma_limit))
		return "it does not reach the pool's addresses: give the VM less memory";
	return NULL;
}

/* Disks: a feature bit, if any, says that the maximum number of parts of a request is at offset. */
static const struct disk {
	u32 id, offset;
	int feature;	/* -1: always */
} disks[] = {
	{ VIRTIO_ID_BLOCK, 12, 2 },
	{ VIRTIO_ID_SCSI, 4, -1 },
};

/* The maximum number of parts of the device's requests; 0 if it is not a disk. */
static u32 parts_of(struct virtio_device *vdev)
{
	const struct disk *disk;
	__le32 parts = 0;

	for (disk = disks; disk < disks + ARRAY_SIZE(disks); disk++) {
		if (vdev->id.device != disk->id)
			continue;
		if (disk->feature < 0 || offers(vdev, disk->feature))
			vdev->config->get(vdev, disk->offset, &parts, sizeof(parts));
		return max(1U, le32_to_cpu(parts));
	}
	return 0;
}

/*
 * The limit of one mapping in bytes. Returns 0, and logs why, if the device's requests do not fit
 * into the pool.
 */
static u32 most_of(struct virtio_device *vdev, u32 parts)
{
	const struct av_plan *plan = &av_bounce.pool.plan;
	u32 most = parts ? av_plan_max_mapping(plan, parts) : AV_SEGMENT_BYTES;
	u64 least;

	if (most)
		return most;
	least = av_plan_least(plan->mode, num_possible_cpus(), parts);
	if (least)
		pr_err("%s: a pool of %llu KiB is too small for its requests of up to %u parts, which could wait for ever: load with pool=%lluK or more\n",
		       dev_name(&vdev->dev), plan->bytes >> 10, parts, least >> 10);
	else
		pr_err("%s: no pool is large enough for its requests of up to %u parts: have the VMM offer fewer (seg_max)\n",
		       dev_name(&vdev->dev), parts);
	return 0;
}

static void take(struct virtio_device *vdev)
{
	struct av_device made = { .ops = av_dma_ops, .dev = vdev->dev.parent };
	struct av_device *device;
	const char *why = why_not(vdev);
	u32 parts = why ? 0 : parts_of(vdev);

	lockdep_assert_held(&lock);
	/*
	 * Already served: an earlier driver did not give back all buffers. If the parent lost its
	 * driver too, the core removed the ops.
	 */
	device = vdev->dev.parent ? device_of(vdev->dev.parent) : NULL;
	if (device) {
		set_dma_ops(device->dev, &device->ops);
		return;
	}
	if (why) {
		pr_warn("%s is not served: %s\n", dev_name(&vdev->dev), why);
		return;
	}
	made.most = most_of(vdev, parts);
	if (!made.most)
		return;
	made.disk = parts;
	made.by_length = vdev->id.device == VIRTIO_ID_NET;
	do {
		made.number = ++last_number;
	} while (number_is_taken(made.number));
	device = kmemdup(&made, sizeof(made), GFP_KERNEL);
	if (!device || !try_module_get(THIS_MODULE)) {
		pr_warn("%s is not served: %s\n", dev_name(&vdev->dev),
			device ? "the module is being unloaded" : "no memory");
		kfree(device);
		return;
	}
	get_device(device->dev);
	list_add_tail(&device->list, &devices);
	set_dma_ops(device->dev, &device->ops);
	/* Without ops, the core may have marked it as not needing syncs. */
	dma_reset_need_sync(device->dev);
	pr_info("%s: DMA of %s goes through the pool\n", dev_name(&vdev->dev), dev_name(device->dev));
}

static void give_back(struct virtio_device *vdev)
{
	struct av_device *device = vdev->dev.parent ? device_of(vdev->dev.parent) : NULL;
	u64 left, owned;

	if (!device)
		return;
	/* Linux's virtio_vsock leaves its event buffers mapped; nobody can return them any more. */
	left = av_pool_reclaim(&av_bounce.pool, device->number);
	if (left) {
		av_count(left, left);
		pr_info("%s: its driver left %llu buffers mapped, which are free again\n",
			dev_name(&vdev->dev), left);
	}
	owned = av_pool_owned(&av_bounce.pool, device->number) + atomic64_read(&device->outside);
	if (owned) {
		pr_err("%s: its driver is gone and has not given back %llu buffers: the device stays with this module, which cannot be unloaded\n",
		       dev_name(&vdev->dev), owned);
		return;
	}
	set_dma_ops(device->dev, NULL);
	list_del(&device->list);
	put_device(device->dev);
	kfree(device);
	module_put(THIS_MODULE);
}

static int notice(struct notifier_block *nb, unsigned long event, void *data)
{
	struct virtio_device *vdev = dev_to_virtio((struct device *)data);

	mutex_lock(&lock);
	switch (event) {
	case BUS_NOTIFY_BIND_DRIVER:
		take(vdev);
		break;
	case BUS_NOTIFY_DRIVER_NOT_BOUND:
	case BUS_NOTIFY_UNBOUND_DRIVER:
		give_back(vdev);
		break;
	}
	mutex_unlock(&lock);
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = notice };

static int say_if_bound(struct device *dev, void *data)
{
	/* Same lock order as when a driver binds. */
	device_lock(dev);
	mutex_lock(&lock);
	if (dev->driver && !(dev->parent && device_of(dev->parent)))
		pr_warn("%s is not served: its driver %s was bound before this module was loaded; load the module earlier, or bind the device again (/sys/bus/virtio/drivers/%s/unbind, …/bind)\n",
			dev_name(dev), dev->driver->name, dev->driver->name);
	mutex_unlock(&lock);
	device_unlock(dev);
	return 0;
}

/* At module load: refuse a pool that is too small for a device that would be served. */
static int refuse_if_too_small(struct device *dev, void *data)
{
	struct virtio_device *vdev = dev_to_virtio(dev);
	int ret = 0;

	device_lock(dev);
	if (!dev->driver && !why_not(vdev) && !most_of(vdev, parts_of(vdev)))
		ret = -ENOSPC;
	device_unlock(dev);
	return ret;
}

int av_devices_begin(void)
{
	int ret = register_virtio_driver(&bus_holder);

	if (ret)
		return ret;
	ret = bus_for_each_dev(bus_holder.driver.bus, NULL, NULL, refuse_if_too_small);
	if (!ret)
		ret = bus_register_notifier((struct bus_type *)bus_holder.driver.bus, &notifier);
	if (ret) {
		unregister_virtio_driver(&bus_holder);
		return ret;
	}
	/*
	 * Have the core refuse devices that would be given private memory. The callback is the
	 * core's own, so no CPU can be in this module's code when it is unloaded.
	 */
	old_check = virtio_check_mem_acc_cb;
	if (av_bounce.region.sharing)
		virtio_set_mem_acc_cb(virtio_require_restricted_mem_acc);
	bus_for_each_dev(bus_holder.driver.bus, NULL, NULL, say_if_bound);
	return 0;
}

void av_devices_end(void)
{
	virtio_set_mem_acc_cb(old_check);
	bus_unregister_notifier((struct bus_type *)bus_holder.driver.bus, &notifier);
	unregister_virtio_driver(&bus_holder);
}

void av_devices_show(void (*show)(void *context, const struct av_device *device), void *context)
{
	struct av_device *device;

	mutex_lock(&lock);
	list_for_each_entry(device, &devices, list)
		show(context, device);
	mutex_unlock(&lock);
}
