/* SPDX-License-Identifier: GPL-2.0 */
/* Differences of virtio between kernel versions, and nothing else. */
#ifndef AV_COMPAT_VIRTIO_H
#define AV_COMPAT_VIRTIO_H

#include <linux/version.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>

/* Does the transport map buffers itself, without its device's DMA operations? */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
static inline bool av_maps_by_itself(const struct virtio_device *vdev)
{
	return vdev->map;
}
#else
static inline bool av_maps_by_itself(const struct virtio_device *vdev)
{
	return false;
}
#endif

#endif /* AV_COMPAT_VIRTIO_H */
