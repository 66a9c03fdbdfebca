// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib.h"

static const char *group_name = "";

void group(const char *name)
{
	group_name = name;
}

static const char *errno_name(int err)
{
	const char *name = strerrorname_np(err);

	return name ? name : "E?";
}

static void line_start(const char *name, va_list args)
{
	printf("%s.", group_name);
	vprintf(name, args);
	printf(" = ");
}

long say(long ret, const char *name, ...)
{
	int err = errno;
	va_list args;

	va_start(args, name);
	line_start(name, args);
	va_end(args);
	if (ret < 0)
		printf("%s\n", errno_name(err));
	else
		printf("%ld\n", ret);
	fflush(stdout);
	return ret;
}

int say_fd(int fd, const char *name, ...)
{
	int err = errno;
	va_list args;

	va_start(args, name);
	line_start(name, args);
	va_end(args);
	printf("%s\n", fd < 0 ? errno_name(err) : "fd");
	fflush(stdout);
	return fd;
}

void note(u64 value, const char *name, ...)
{
	va_list args;

	va_start(args, name);
	line_start(name, args);
	va_end(args);
	printf("%#llx\n", (unsigned long long)value);
	fflush(stdout);
}

void die(const char *format, ...)
{
	int err = errno;
	va_list args;

	fflush(stdout);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, ": %s\n", strerror(err));
	exit(2);
}

bool is_wanted(const char *name, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return argc == 1;
}

int open_kvm(void)
{
	const char *path = getenv("KVM_DEVICE");
	int fd = open(path ? path : "/dev/kvm", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		die("cannot open %s (load the module, or use a board with --el2)",
		    path ? path : "/dev/kvm");
	return fd;
}

int new_vm(int kvm)
{
	int vm = ioctl(kvm, KVM_CREATE_VM, 0);

	if (vm < 0)
		die("KVM_CREATE_VM");
	return vm;
}

int new_vcpu(int vm, int id)
{
	int vcpu = ioctl(vm, KVM_CREATE_VCPU, id);

	if (vcpu < 0)
		die("KVM_CREATE_VCPU %d", id);
	return vcpu;
}

struct kvm_run *map_run(int kvm, int vcpu)
{
	int size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	void *run;

	if (size < 0)
		die("KVM_GET_VCPU_MMAP_SIZE");
	run = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu, 0);
	if (run == MAP_FAILED)
		die("mmap of a vCPU");
	return run;
}

void init_vcpu(int vcpu)
{
	struct kvm_vcpu_init init = {
		.target = KVM_ARM_TARGET_GENERIC_V8,
		.features = { 1 << KVM_ARM_VCPU_PSCI_0_2 },
	};

	if (ioctl(vcpu, KVM_ARM_VCPU_INIT, &init))
		die("KVM_ARM_VCPU_INIT");
}

void *map_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		die("mmap of %zu bytes", size);
	return memory;
}

void *new_slot(int vm, int slot, u64 gpa, size_t size)
{
	struct kvm_userspace_memory_region mem = {
		.slot = slot,
		.guest_phys_addr = gpa,
		.memory_size = size,
		.userspace_addr = (u64)map_memory(size),
	};

	if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &mem))
		die("KVM_SET_USER_MEMORY_REGION");
	return (void *)mem.userspace_addr;
}

void set_reg(int vcpu, u64 id, u64 value)
{
	struct kvm_one_reg reg = { .id = id, .addr = (u64)&value };

	if (ioctl(vcpu, KVM_SET_ONE_REG, &reg))
		die("KVM_SET_ONE_REG %#llx", (unsigned long long)id);
}

long try_set_reg(int vcpu, u64 id, u64 value)
{
	struct kvm_one_reg reg = { .id = id, .addr = (u64)&value };

	return ioctl(vcpu, KVM_SET_ONE_REG, &reg);
}

long try_get_reg(int vcpu, u64 id, u64 *value)
{
	struct kvm_one_reg reg = { .id = id, .addr = (u64)value };

	*value = 0;
	return ioctl(vcpu, KVM_GET_ONE_REG, &reg);
}

u64 reg_or_0(int vcpu, u64 id)
{
	u64 value;

	return try_get_reg(vcpu, id, &value) ? 0 : value;
}

u64 get_reg(int vcpu, u64 id)
{
	u64 value = 0;
	struct kvm_one_reg reg = { .id = id, .addr = (u64)&value };

	if (ioctl(vcpu, KVM_GET_ONE_REG, &reg))
		die("KVM_GET_ONE_REG %#llx", (unsigned long long)id);
	return value;
}

bool write_file(const char *path, const char *word)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, word, strlen(word)) == (ssize_t)strlen(word);

	if (fd >= 0)
		close(fd);
	return done;
}

long read_figure(const char *path, const char *name)
{
	FILE *file = fopen(path, "r");
	size_t n = strlen(name);
	char line[128];
	long value = -1;

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, n) && (line[n] == ':' || line[n] == ' '))
			sscanf(line + n + 1, "%ld", &value);
	if (file)
		fclose(file);
	return value;
}

static void place(int vgic, u64 what, u64 address)
{
	struct kvm_device_attr attr = {
		.group = KVM_DEV_ARM_VGIC_GRP_ADDR, .attr = what, .addr = (u64)&address,
	};

	if (ioctl(vgic, KVM_SET_DEVICE_ATTR, &attr))
		die("KVM_DEV_ARM_VGIC_GRP_ADDR");
}

int ready_vgic(int vm)
{
	struct kvm_create_device dev = { .type = KVM_DEV_TYPE_ARM_VGIC_V3 };
	struct kvm_device_attr attr = { .group = KVM_DEV_ARM_VGIC_GRP_CTRL };

	if (ioctl(vm, KVM_CREATE_DEVICE, &dev))
		die("KVM_CREATE_DEVICE");
	place(dev.fd, KVM_VGIC_V3_ADDR_TYPE_DIST, GUEST_DIST);
	place(dev.fd, KVM_VGIC_V3_ADDR_TYPE_REDIST, GUEST_REDIST);
	if (ioctl((int)dev.fd, KVM_SET_DEVICE_ATTR, &attr))
		die("KVM_DEV_ARM_VGIC_CTRL_INIT");
	return dev.fd;
}

long enable_ring(int vm, u64 bytes)
{
	struct kvm_enable_cap cap = {
		.cap = KVM_CAP_DIRTY_LOG_RING_ACQ_REL, .args = { bytes },
	};

	return ioctl(vm, KVM_ENABLE_CAP, &cap);
}

struct kvm_dirty_gfn *map_ring(int vcpu, size_t bytes)
{
	void *ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu,
			  KVM_DIRTY_LOG_PAGE_OFFSET * 4096);

	if (ring == MAP_FAILED)
		die("mmap of a dirty ring");
	return ring;
}

void new_guest_with_ring(struct guest *g, const u32 *code, size_t size, u64 ring)
{
	struct kvm_enable_cap bitmap = { .cap = KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP };

	g->kvm = open_kvm();
	g->vm = new_vm(g->kvm);
	if (ring && enable_ring(g->vm, ring & ~RING_WITH_BITMAP))
		die("a dirty ring of %llu bytes", (unsigned long long)ring);
	if (ring & RING_WITH_BITMAP && ioctl(g->vm, KVM_ENABLE_CAP, &bitmap))
		die("a bitmap beside the dirty ring");
	fill_guest(g, code, size);
}

void fill_guest(struct guest *g, const u32 *code, size_t size)
{
	g->vcpu = new_vcpu(g->vm, 0);
	g->run = map_run(g->kvm, g->vcpu);
	init_vcpu(g->vcpu);
	g->memory = new_slot(g->vm, 0, GUEST_BASE, GUEST_SIZE);
	memcpy(g->memory, code, size);
	set_reg(g->vcpu, REG_PC, GUEST_BASE);
}

void new_guest(struct guest *g, const u32 *code, size_t size)
{
	new_guest_with_ring(g, code, size, 0);
}

void free_guest(struct guest *g)
{
	munmap(g->run, ioctl(g->kvm, KVM_GET_VCPU_MMAP_SIZE, 0));
	munmap(g->memory, GUEST_SIZE);
	close(g->vcpu);
	close(g->vm);
	close(g->kvm);
}

u64 read_stat(int fd, const char *name)
{
	static char image[65536];
	const struct kvm_stats_header *h = (const void *)image;
	ssize_t size = pread(fd, image, sizeof(image), 0);
	size_t step = sizeof(struct kvm_stats_desc) + h->name_size, i;

	for (i = 0; size > 0 && i < h->num_desc; i++) {
		const struct kvm_stats_desc *d = (const void *)(image + h->desc_offset + i * step);

		if (!strcmp(d->name, name))
			return *(const u64 *)(image + h->data_offset + d->offset);
	}
	return 0;
}
