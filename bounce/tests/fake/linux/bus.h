/* SPDX-License-Identifier: GPL-2.0 */
/* Drivers, devices and their bus, for devices.c. Included at the end of guest.h. */
#ifndef AV_FAKE_BUS_H
#define AV_FAKE_BUS_H

/* ---- lists, locks, modules ---------------------------------------------------------------- */

#define LIST_HEAD(name)		struct list_head name = { &name, &name }
#define list_for_each_entry(at, head, member)					\
	for (at = container_of((head)->next, typeof(*at), member);		\
	     &at->member != (head);						\
	     at = container_of(at->member.next, typeof(*at), member))

static inline void list_add_tail(struct list_head *entry, struct list_head *head)
{
	*entry = (struct list_head){ head, head->prev };
	head->prev->next = entry;
	head->prev = entry;
}

static inline void list_del(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
}

struct mutex {
	bool held;
};

#define DEFINE_MUTEX(name)	struct mutex name
#define lockdep_assert_held(m)	do { if (!(m)->held) abort(); } while (0)

static inline void mutex_lock(struct mutex *m)
{
	if (m->held)
		abort();
	m->held = true;
}

static inline void mutex_unlock(struct mutex *m)
{
	if (!m->held)
		abort();
	m->held = false;
}

#define THIS_MODULE	NULL

/* References on the module; it takes no more while it is being unloaded. */
extern u32 module_refs;
extern bool module_goes;

static inline bool try_module_get(void *module)
{
	module_refs += !module_goes;
	return !module_goes;
}

static inline void module_put(void *module)
{
	module_refs--;
}

static inline void *kmemdup(const void *from, size_t size, gfp_t gfp)
{
	void *to = malloc(size);

	return to ? memcpy(to, from, size) : NULL;
}

#define kfree		free

/* ---- devices -------------------------------------------------------------------------------- */

static inline void get_device(struct device *dev)
{
	dev->refs++;
}

static inline void put_device(struct device *dev)
{
	dev->refs--;
}

static inline void set_dma_ops(struct device *dev, const struct dma_map_ops *ops)
{
	dev->dma_ops = ops;
}

static inline void dma_reset_need_sync(struct device *dev)
{
	dev->skip_sync = false;
}

static inline bool device_iommu_mapped(const struct device *dev)
{
	return dev->iommu;
}

static inline u32 dma_get_min_align_mask(const struct device *dev)
{
	return dev->min_align_mask;
}

static inline void device_lock(struct device *dev)
{
}

static inline void device_unlock(struct device *dev)
{
}

/* ---- virtio's bus ---------------------------------------------------------------------------- */

#define VIRTIO_ID_NET			1
#define VIRTIO_ID_BLOCK			2
#define VIRTIO_ID_SCSI			8
#define VIRTIO_F_VERSION_1		32
#define VIRTIO_F_ACCESS_PLATFORM	33

struct virtio_device;

struct virtio_config_ops {
	u64 (*get_features)(struct virtio_device *vdev);
	void (*get)(struct virtio_device *vdev, unsigned int offset, void *to, unsigned int size);
};

struct virtio_device_id {
	u32 device, vendor;
};

struct virtio_device {
	struct device dev;
	struct virtio_device_id id;
	const struct virtio_config_ops *config;
	const void *map;
};

#define dev_to_virtio(d)	container_of(d, struct virtio_device, dev)

struct bus_type {
	const char *name;
};

struct virtio_driver {
	struct device_driver driver;
	const struct virtio_device_id *id_table;
	int (*probe)(struct virtio_device *vdev);
};

enum {
	BUS_NOTIFY_BIND_DRIVER = 4, BUS_NOTIFY_BOUND_DRIVER, BUS_NOTIFY_UNBIND_DRIVER,
	BUS_NOTIFY_UNBOUND_DRIVER, BUS_NOTIFY_DRIVER_NOT_BOUND,
};

#define NOTIFY_DONE	0

struct notifier_block {
	int (*notifier_call)(struct notifier_block *nb, unsigned long event, void *data);
};

int register_virtio_driver(struct virtio_driver *driver);
void unregister_virtio_driver(struct virtio_driver *driver);
int bus_register_notifier(struct bus_type *bus, struct notifier_block *nb);
void bus_unregister_notifier(struct bus_type *bus, struct notifier_block *nb);
int bus_for_each_dev(const struct bus_type *bus, struct device *from, void *data,
		     int (*call)(struct device *dev, void *data));

extern bool (*virtio_check_mem_acc_cb)(struct virtio_device *vdev);
bool virtio_require_restricted_mem_acc(struct virtio_device *vdev);

static inline void virtio_set_mem_acc_cb(bool (*call)(struct virtio_device *vdev))
{
	virtio_check_mem_acc_cb = call;
}

#endif /* AV_FAKE_BUS_H */
