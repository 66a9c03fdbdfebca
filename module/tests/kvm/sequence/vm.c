// SPDX-License-Identifier: GPL-2.0
/* Sequences: calls of the VM. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sequence.h"

static void create_vcpu(struct world *w)
{
	static const u32 ids[] = { 0, 0, 1, 1, 2, 3, 0x10000, ~0U };
	u32 id = pick_of(w, ids);
	int fd = say_fd(ioctl(w->vm, KVM_CREATE_VCPU, id), "%#x", id);

	if (fd < 0)
		return;
	if (id < NR_VCPUS)
		keep_vcpu(w, id, fd);
	else
		close(fd);
}

static void check_extension(struct world *w)
{
	/* What the module has less of is in tests/data/module_api.toml. */
	static const u32 caps[] = {
		0, 3, 10, 14, 15, 16, 19, 25, 32, 35, 36, 55, 63, 70, 72, 77, 78, 87, 92, 102, 104,
		105, 107, 125, 129, 136, 139, 151, 157, 158, 162, 164, 166, 168, 177, 187, 203, 209,
		216, 219, 223, 224, 225, 227, 230, 231, 236, 1000,
	};
	u32 cap = pick_of(w, caps);

	say(ioctl(pick(w, 2) ? w->vm : w->kvm, KVM_CHECK_EXTENSION, cap), "%u", cap);
}

static void enable_cap(struct world *w)
{
	static const u32 caps[] = { 168, 177, 216, 136, 205, 164, 0, 1000 };
	struct kvm_enable_cap cap = {
		.cap = pick_of(w, caps), .args = { pick(w, 5) }, .flags = pick(w, 8) == 0,
	};

	say(ioctl(w->vm, KVM_ENABLE_CAP, &cap), "%u_%llu_%u", cap.cap, cap.args[0], cap.flags);
}

static const u64 slot_gpas[] = {
	SPARE_BASE, SPARE_BASE, SPARE_BASE + PAGE, SPARE_BASE + 4 * PAGE, SPARE_BASE + 0x800,
	GUEST_BASE, GUEST_BASE + GUEST_SIZE, GUEST_BASE - PAGE, GUEST_DIST, 1ULL << 40,
	(1ULL << 40) - PAGE, ~0ULL << 12,
};
static const u64 slot_sizes[] = {
	0, PAGE, PAGE, 2 * PAGE, 4 * PAGE, SPARE_SIZE, 0x800, 1ULL << 45, ~0ULL << 12,
};
static const u32 slot_numbers[] = { 1, 1, 2, 3, 0x7ffe, 0x7fff, 0x8000, 0x10001, ~0U };
static const u32 slot_flags[] = {
	0, 0, 0, KVM_MEM_LOG_DIRTY_PAGES, KVM_MEM_READONLY,
	KVM_MEM_READONLY | KVM_MEM_LOG_DIRTY_PAGES, 4, 8, 1U << 31,
};

static void set_region(struct world *w)
{
	static const u64 offsets[] = { 0, 0, 0, PAGE, 0x800 };
	struct kvm_userspace_memory_region2 mem = {
		.slot = pick_of(w, slot_numbers), .flags = pick_of(w, slot_flags),
		.guest_phys_addr = pick_of(w, slot_gpas), .memory_size = pick_of(w, slot_sizes),
		.userspace_addr = (u64)w->spare + pick_of(w, offsets),
	};
	bool second = pick(w, 2);

	say(ioctl(w->vm, second ? KVM_SET_USER_MEMORY_REGION2 : KVM_SET_USER_MEMORY_REGION, &mem),
	    "%d_%#x_%#x_%#llx_%#llx_%#llx", second, mem.slot, mem.flags, mem.guest_phys_addr,
	    mem.memory_size, mem.userspace_addr - (u64)w->spare);
}

static u64 bitmap_of(const u64 *bitmap)
{
	u64 sum = 0;
	size_t i;

	for (i = 0; i < 64; i++)
		sum = sum * 31 + bitmap[i];
	return sum;
}

static void get_dirty_log(struct world *w)
{
	u64 bitmap[64] = { 0 };
	struct kvm_dirty_log log = { .slot = pick_of(w, slot_numbers), .dirty_bitmap = bitmap };

	say(ioctl(w->vm, KVM_GET_DIRTY_LOG, &log), "%#x", log.slot);
	note(bitmap_of(bitmap), "bitmap");
}

static void clear_dirty_log(struct world *w)
{
	static const u32 counts[] = { 0, 1, 2, 4, 32, 64, 128 };
	static const u64 firsts[] = { 0, 0, 0, 1, 64, 1ULL << 40 };
	u64 bitmap[64];
	struct kvm_clear_dirty_log log = {
		.slot = pick_of(w, slot_numbers), .num_pages = pick_of(w, counts),
		.first_page = pick_of(w, firsts), .dirty_bitmap = bitmap,
	};

	memset(bitmap, 0xff, sizeof(bitmap));
	say(ioctl(w->vm, KVM_CLEAR_DIRTY_LOG, &log), "%#x_%u_%#llx", log.slot, log.num_pages,
	    log.first_page);
}

/* In a VM that has no vCPU and no ring yet, the right one makes a difference to what comes. */
static void dirty_ring(struct world *w)
{
	static const u32 caps[] = { 192, 223, 223, 223, 225, 225 };
	static const u64 sizes[] = { 4096, 4096, 65536, 1 << 20, 1 << 21, 1024, 5000, 0 };
	struct kvm_enable_cap cap = {
		.cap = pick_of(w, caps), .args = { pick_of(w, sizes) }, .flags = !pick(w, 8),
	};

	say(ioctl(w->vm, KVM_ENABLE_CAP, &cap), "%u_%llu_%u", cap.cap, cap.args[0], cap.flags);
}

static void reset_rings(struct world *w)
{
	say(ioctl(w->vm, KVM_RESET_DIRTY_RINGS, 0), "call");
}

void irq_line(struct world *w)
{
	u32 intid = any_intid(w);
	u32 type = intid < 32 ? KVM_ARM_IRQ_TYPE_PPI : KVM_ARM_IRQ_TYPE_SPI;
	struct kvm_irq_level level = { .level = pick(w, 2) };

	if (!pick(w, 6))
		type = pick(w, 4);
	level.irq = type << KVM_ARM_IRQ_TYPE_SHIFT | pick(w, 3) << KVM_ARM_IRQ_VCPU_SHIFT | intid;
	say(ioctl(w->vm, KVM_IRQ_LINE, &level), "%#x_%u", level.irq, level.level);
}

static void irqfd(struct world *w)
{
	static const u32 gsis[] = { 0, 0, 1, 1, 31, 987, 988, 4095, 4096, ~0U };
	static const u32 flags[] = { 0, 0, KVM_IRQFD_FLAG_DEASSIGN, KVM_IRQFD_FLAG_RESAMPLE,
				     3, 4 };
	struct kvm_irqfd args = {
		.fd = pick_of(w, w->event), .gsi = pick_of(w, gsis), .flags = pick_of(w, flags),
		.resamplefd = w->event[1],
	};

	say(ioctl(w->vm, KVM_IRQFD, &args), "%d_%u_%u", args.fd == (u32)w->event[1], args.gsi,
	    args.flags);
}

static void ioeventfd(struct world *w)
{
	static const u64 addresses[] = {
		GUEST_MMIO, GUEST_MMIO, GUEST_MMIO + 4, GUEST_DIST, GUEST_BASE, ~3ULL,
	};
	static const u32 lengths[] = { 0, 1, 2, 4, 4, 8, 3, 16 };
	static const u32 flags[] = { 0, 0, 1, 4, 5, 2, 8, 0x10 };
	struct kvm_ioeventfd args = {
		.addr = pick_of(w, addresses), .len = pick_of(w, lengths),
		.flags = pick_of(w, flags), .datamatch = pick(w, 2), .fd = pick_of(w, w->event),
	};

	/* One of no length in front of the distributor hides registers of it on KVM. */
	if (args.addr == GUEST_DIST && !args.len)
		args.len = 4;
	say(ioctl(w->vm, KVM_IOEVENTFD, &args), "%#llx_%u_%#x_%llu_%d", args.addr, args.len,
	    args.flags, args.datamatch, args.fd == w->event[1]);
}

static void coalesced(struct world *w)
{
	static const u64 addresses[] = { GUEST_MMIO, GUEST_MMIO + PAGE, GUEST_MMIO + 8, 0 };
	static const u32 sizes[] = { 4, 8, PAGE, 2 * PAGE, 0 };
	struct kvm_coalesced_mmio_zone zone = {
		.addr = pick_of(w, addresses), .size = pick_of(w, sizes), .pio = !pick(w, 8),
	};
	bool off = !pick(w, 3);

	say(ioctl(w->vm, off ? KVM_UNREGISTER_COALESCED_MMIO : KVM_REGISTER_COALESCED_MMIO, &zone),
	    "%d_%#llx_%#x_%u", off, zone.addr, zone.size, zone.pio);
}

static void routing(struct world *w)
{
	static const u32 gsis[] = { 0, 1, 5, 4095, 4096 };
	static const u32 types[] = { KVM_IRQ_ROUTING_IRQCHIP, KVM_IRQ_ROUTING_IRQCHIP,
				     KVM_IRQ_ROUTING_MSI, 3, 4, 0 };
	static const u32 counts[] = { 0, 1, 2, 3, 3, 4097 };
	static const u32 pins[] = { 0, 5, 63, 987, 988, 1020 };
	static u64 space[32];
	struct kvm_irq_routing *table = (void *)space;
	struct kvm_irq_routing_entry *entry = table->entries;
	u64 drawn = 0;
	int i;

	table->nr = pick_of(w, counts);
	table->flags = !pick(w, 8);
	for (i = 0; i < 3; i++) {
		entry[i].gsi = pick_of(w, gsis);
		entry[i].type = pick_of(w, types);
		entry[i].flags = !pick(w, 8);
		entry[i].u.irqchip.pin = pick_of(w, pins);
		entry[i].u.irqchip.irqchip = !pick(w, 8);
		drawn = drawn * 31 + entry[i].gsi + entry[i].type;
	}
	say(ioctl(w->vm, KVM_SET_GSI_ROUTING, table), "%u_%u_%#llx", table->nr,
	    table->flags, (unsigned long long)drawn);
}

static void signal_msi(struct world *w)
{
	static const u32 flags[] = { 0, KVM_MSI_VALID_DEVID, 2 };
	struct kvm_msi msi = { .address_lo = GUEST_DIST + 0x40, .data = pick(w, 100),
			       .flags = pick_of(w, flags) };

	say(ioctl(w->vm, KVM_SIGNAL_MSI, &msi), "%u_%u", msi.data, msi.flags);
}

static void counter_offset(struct world *w)
{
	struct kvm_arm_counter_offset offset = { .counter_offset = pick(w, 1000),
						 .reserved = !pick(w, 4) };

	say(ioctl(w->vm, KVM_ARM_SET_COUNTER_OFFSET, &offset), "%llu_%llu",
	    offset.counter_offset, offset.reserved);
}

static void smccc_filter(struct world *w)
{
	static const u32 bases[] = {
		0x84000000, 0x84000000, 0x84000006, 0x86000000, 0xc4000004, 0x80000000, 0xc2000000,
		0xffffff00, 0,
	};
	static const u32 counts[] = { 1, 1, 4, 0x100, 0x101, 0x10000, 0 };
	struct kvm_smccc_filter f = {
		.base = pick_of(w, bases), .nr_functions = pick_of(w, counts),
		.action = pick(w, 4), .pad = { !pick(w, 8) },
	};
	struct kvm_device_attr attr = {
		.group = pick(w, 8) ? KVM_ARM_VM_SMCCC_CTRL : pick(w, 4),
		.attr = pick(w, 8) ? KVM_ARM_VM_SMCCC_FILTER : pick(w, 4), .addr = (u64)&f,
	};

	say(ioctl(w->vm, pick(w, 8) ? KVM_SET_DEVICE_ATTR : KVM_HAS_DEVICE_ATTR, &attr),
	    "%u_%llu_%#x_%u_%u_%u", attr.group, attr.attr, f.base, f.nr_functions, f.action,
	    f.pad[0]);
}

static void create_device(struct world *w)
{
	static const u32 types[] = { KVM_DEV_TYPE_ARM_VGIC_V3, KVM_DEV_TYPE_ARM_VGIC_V3,
				     KVM_DEV_TYPE_ARM_VGIC_ITS, KVM_DEV_TYPE_ARM_VGIC_V2, 1, 99 };
	static const u32 flags[] = { 0, 0, 0, KVM_CREATE_DEVICE_TEST, 2 };
	struct kvm_create_device dev = { .type = pick_of(w, types), .flags = pick_of(w, flags) };
	long ret = ioctl(w->vm, KVM_CREATE_DEVICE, &dev);

	say(ret, "%u_%u", dev.type, dev.flags);
	if (ret || dev.flags)
		return;
	if (dev.type != KVM_DEV_TYPE_ARM_VGIC_V3) {
		close(dev.fd);
		return;
	}
	if (w->vgic >= 0)
		close(w->vgic);
	w->vgic = dev.fd;
}

static void preferred_target(struct world *w)
{
	struct kvm_vcpu_init init = { 0 };

	say(ioctl(w->vm, KVM_ARM_PREFERRED_TARGET, &init), "call");
	note(init.target, "target");
}

const struct op vm_ops[] = {
	{ "create_vcpu", 8, create_vcpu },
	{ "check_extension", 6, check_extension },
	{ "enable_cap", 6, enable_cap },
	{ "set_region", 16, set_region },
	{ "get_dirty_log", 6, get_dirty_log },
	{ "clear_dirty_log", 6, clear_dirty_log },
	{ "dirty_ring", 5, dirty_ring },
	{ "reset_rings", 3, reset_rings },
	{ "irq_line", 12, irq_line },
	{ "irqfd", 8, irqfd },
	{ "ioeventfd", 8, ioeventfd },
	{ "coalesced", 6, coalesced },
	{ "routing", 6, routing },
	{ "signal_msi", 3, signal_msi },
	{ "counter_offset", 3, counter_offset },
	{ "smccc_filter", 6, smccc_filter },
	{ "create_device", 6, create_device },
	{ "preferred_target", 1, preferred_target },
	{ 0 }
};
