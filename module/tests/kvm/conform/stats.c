// SPDX-License-Identifier: GPL-2.0
/* The statistics files: the rules of the format, not the figures. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conform.h"

static void check_descs(const char *image, ssize_t size, const char *file)
{
	const struct kvm_stats_header *h = (const void *)image;
	size_t step = sizeof(struct kvm_stats_desc) + h->name_size, i;
	u64 bad_name = 0, bad_offset = 0, bad_unit = 0;

	for (i = 0; i < h->num_desc; i++) {
		const struct kvm_stats_desc *d = (const void *)(image + h->desc_offset + i * step);

		bad_name += !memchr(d->name, 0, h->name_size) || !d->name[0];
		bad_offset += h->data_offset + d->offset + d->size * 8 > (size_t)size;
		bad_unit += (d->flags & KVM_STATS_UNIT_MASK) > KVM_STATS_UNIT_MAX ||
			    (d->flags & KVM_STATS_TYPE_MASK) > KVM_STATS_TYPE_MAX ||
			    (d->flags & KVM_STATS_BASE_MASK) > KVM_STATS_BASE_MAX;
	}
	note(h->num_desc > 0, "%s.has_descriptors", file);
	note(bad_name, "%s.bad_names", file);
	note(bad_offset, "%s.bad_offsets", file);
	note(bad_unit, "%s.bad_kinds", file);
}

static void stats_file(int fd, const char *file)
{
	static char image[65536], again[65536];
	const struct kvm_stats_header *h = (const void *)image;
	ssize_t size, got;

	size = pread(fd, image, sizeof(image), 0);
	note(size > (ssize_t)sizeof(*h), "%s.read", file);
	note(h->flags, "%s.flags", file);
	note(h->name_size, "%s.name_size", file);
	note(h->id_offset, "%s.id_offset", file);
	note(h->desc_offset, "%s.desc_offset", file);
	note((u64)size == h->data_offset + 8ULL * h->num_desc || (u64)size > h->data_offset,
	     "%s.data_after_descriptors", file);
	note(!strncmp(image + h->id_offset, "kvm-", 4), "%s.id", file);
	check_descs(image, size, file);
	got = pread(fd, again, 100, 10);
	note(got == 100 && !memcmp(again, image + 10, 100), "%s.pread_inside", file);
	say(pread(fd, again, 100, size), "%s.pread_at_end", file);
	say(pread(fd, again, 100, size + 100), "%s.pread_behind", file);
	say(pread(fd, WILD_HIGH, 100, 0), "%s.pread_wild", file);
	say(write(fd, again, 1), "%s.write", file);
	say(ioctl(fd, KVM_RUN, 0), "%s.ioctl", file);
}

void conform_stats(void)
{
	int kvm = open_kvm(), vm = new_vm(kvm), vcpu = new_vcpu(vm, 0), fd;

	fd = say_fd(ioctl(vm, KVM_GET_STATS_FD, 0), "vm.open");
	stats_file(fd, "vm");
	close(fd);
	fd = say_fd(ioctl(vcpu, KVM_GET_STATS_FD, 0), "vcpu.open");
	stats_file(fd, "vcpu");
	close(fd);
	close(vcpu);
	close(vm);
	close(kvm);
}
