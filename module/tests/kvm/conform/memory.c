// SPDX-License-Identifier: GPL-2.0
/* KVM_SET_USER_MEMORY_REGION's rules, and the dirty log's. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "conform.h"

#define K		4096ULL
#define RO		KVM_MEM_READONLY
#define LOG		KVM_MEM_LOG_DIRTY_PAGES

/* One call; uaddr is an offset in a mapping, or wild when has_wild. */
struct region {
	const char *name;
	u32 slot, flags;
	u64 gpa, size, offset;
	u64 wild;
};

static const struct region regions[] = {
	/* What is wrong by itself. */
	{ "size_unaligned", 0, 0, 0x40000000, 100, 0, 0 },
	{ "size_half_page", 0, 0, 0x40000000, K + 512, 0, 0 },
	{ "gpa_unaligned", 0, 0, 0x40000010, K, 0, 0 },
	{ "uaddr_unaligned", 0, 0, 0x40000000, K, 0x10, 0 },
	{ "uaddr_kernel", 0, 0, 0x40000000, K, 0, 0xffff800000000000 },
	{ "uaddr_end", 0, 0, 0x40000000, K, 0, 0xfffffffffffff000 },
	{ "uaddr_tagged", 0, 0, 0x40000000, K, 0, 0x0100000000400000 },
	{ "uaddr_wraps", 0, 0, 0x40000000, 16 * K, 0, 0xfffffffffffff000 },
	{ "gpa_wraps", 0, 0, 0xfffffffffffff000, 2 * K, 0, 0 },
	{ "gpa_at_limit", 0, 0, 1ULL << 40, K, 0, 0 },
	{ "gpa_over_limit", 0, 0, (1ULL << 40) - K, 2 * K, 0, 0 },
	{ "gpa_far", 0, 0, 1ULL << 47, K, 0, 0 },
	{ "size_enormous", 0, 0, 0, 1ULL << 63, 0, 0x10000 },
	{ "slot_limit", 32767, 0, 0x40000000, K, 0, 0 },
	{ "slot_address_space", 0x10000, 0, 0x40000000, K, 0, 0 },
	{ "slot_all_ones", ~0U, 0, 0x40000000, K, 0, 0 },
	{ "flags_unknown", 0, 1U << 31, 0x40000000, K, 0, 0 },
	{ "flags_memfd", 0, 1U << 2, 0x40000000, K, 0, 0 },
	{ "flags_all", 0, ~0U, 0x40000000, K, 0, 0 },
	{ "delete_missing", 0, 0, 0x40000000, 0, 0, 0 },
	/* A slot, and the permitted changes to it. */
	{ "create", 0, 0, 0x40000000, 16 * K, 0, 0 },
	{ "again", 0, 0, 0x40000000, 16 * K, 0, 0 },
	{ "grow", 0, 0, 0x40000000, 32 * K, 0, 0 },
	{ "shrink", 0, 0, 0x40000000, 8 * K, 0, 0 },
	{ "other_uaddr", 0, 0, 0x40000000, 16 * K, 16 * K, 0 },
	{ "make_readonly", 0, RO, 0x40000000, 16 * K, 0, 0 },
	{ "log_on", 0, LOG, 0x40000000, 16 * K, 0, 0 },
	{ "log_on_again", 0, LOG, 0x40000000, 16 * K, 0, 0 },
	{ "log_off", 0, 0, 0x40000000, 16 * K, 0, 0 },
	{ "move", 0, 0, 0x50000000, 16 * K, 0, 0 },
	{ "move_back", 0, LOG, 0x40000000, 16 * K, 0, 0 },
	{ "move_overlapping_itself", 0, LOG, 0x40004000, 16 * K, 0, 0 },
	{ "move_home", 0, 0, 0x40000000, 16 * K, 0, 0 },
	/* Two slots. */
	{ "overlap_whole", 1, 0, 0x40000000, 16 * K, 0, 0 },
	{ "overlap_head", 1, 0, 0x3ffff000, 2 * K, 0, 0 },
	{ "overlap_tail", 1, 0, 0x4000f000, 2 * K, 0, 0 },
	{ "overlap_inside", 1, 0, 0x40004000, K, 0, 0 },
	{ "overlap_around", 1, 0, 0x3fff0000, 64 * K, 0, 0 },
	{ "adjacent_after", 1, 0, 0x40010000, 4 * K, 0, 0 },
	{ "adjacent_before", 2, RO, 0x3fffe000, 2 * K, 0, 0 },
	{ "move_onto_other", 1, 0, 0x40000000, 4 * K, 0, 0 },
	{ "same_uaddr_elsewhere", 3, 0, 0x60000000, 4 * K, 0, 0 },
	{ "readonly_log", 4, RO | LOG, 0x61000000, 4 * K, 0, 0 },
	{ "readonly_to_rw", 2, 0, 0x3fffe000, 2 * K, 0, 0 },
	{ "unmapped_uaddr", 5, 0, 0x62000000, 4 * K, 0, 0x10000 },
	{ "last_slot", 500, 0, 0x63000000, 4 * K, 0, 0 },
	{ "last_page", 6, 0, (1ULL << 40) - K, K, 0, 0 },
	{ "gpa_zero", 7, 0, 0, K, 0, 0 },
	/* Deletion looks at no other field. */
	{ "delete_junk", 1, ~0U & ~RO, 0x123, 0, 0x77, 0 },
	{ "delete", 1, 0, 0, 0, 0, 0 },
	{ "delete_again", 1, 0, 0, 0, 0, 0 },
	{ "reuse_hole", 8, 0, 0x40010000, 4 * K, 0, 0 },
	{ "delete_with_log", 4, 0, 0, 0, 0, 0 },
};

/* By the old call or the new one, whose other fields are then all ones. */
static void set_regions(int vm, char *memory, bool second)
{
	struct kvm_userspace_memory_region2 mem;
	const struct region *r;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(regions); i++) {
		r = &regions[i];
		memset(&mem, 0xff, sizeof(mem));
		mem.slot = r->slot;
		mem.flags = r->flags;
		mem.guest_phys_addr = r->gpa;
		mem.memory_size = r->size;
		mem.userspace_addr = r->wild ? r->wild : (u64)memory + r->offset;
		say(ioctl(vm, second ? KVM_SET_USER_MEMORY_REGION2 : KVM_SET_USER_MEMORY_REGION,
			  &mem), "%s%s", second ? "second." : "", r->name);
	}
}

/* The new call reads all of its structure, the old one no more than it had. */
static void at_an_edge(int vm, char *memory)
{
	struct kvm_userspace_memory_region mem = {
		.slot = 20, .guest_phys_addr = 0x90000000, .memory_size = K,
		.userspace_addr = (u64)memory,
	};
	char *page = map_memory(2 * K), *edge = page + K - sizeof(mem);

	munmap(page + K, K);
	memcpy(edge, &mem, sizeof(mem));
	say(ioctl(vm, KVM_SET_USER_MEMORY_REGION2, edge), "second.edge");
	say(ioctl(vm, KVM_SET_USER_MEMORY_REGION, edge), "edge");
	say(ioctl(vm, KVM_SET_USER_MEMORY_REGION2, NULL), "second.null");
	say(ioctl(vm, KVM_SET_USER_MEMORY_REGION2, WILD_HIGH), "second.wild");
	munmap(page, K);
}

static void dirty_log(int vm, char *memory)
{
	u64 bits[16];
	struct kvm_dirty_log log = { .slot = 0, .dirty_bitmap = bits };
	struct kvm_userspace_memory_region mem = {
		.slot = 9, .flags = LOG, .guest_phys_addr = 0x70000000,
		.memory_size = 65 * K, .userspace_addr = (u64)memory,
	};

	memset(bits, 0xff, sizeof(bits));
	say(ioctl(vm, KVM_GET_DIRTY_LOG, &log), "dirty.not_logged");
	log.slot = 77;
	say(ioctl(vm, KVM_GET_DIRTY_LOG, &log), "dirty.no_slot");
	log.slot = 0x10000;
	say(ioctl(vm, KVM_GET_DIRTY_LOG, &log), "dirty.address_space");
	log.slot = ~0U;
	say(ioctl(vm, KVM_GET_DIRTY_LOG, &log), "dirty.slot_all_ones");
	say(ioctl(vm, KVM_SET_USER_MEMORY_REGION, &mem), "dirty.create");
	log.slot = 9;
	say(ioctl(vm, KVM_GET_DIRTY_LOG, &log), "dirty.get");
	note(bits[0], "dirty.word0");
	note(bits[1], "dirty.word1");
	note(bits[2], "dirty.word2_untouched");
	log.dirty_bitmap = WILD_LOW;
	say(ioctl(vm, KVM_GET_DIRTY_LOG, &log), "dirty.wild");
}

#define AT	0x70000000ULL

/* x1 is stored at x11, where the log sees it; then a store to a device. */
GUEST(writer, "1: str x1, [x11]\n str x1, [x10]\n b 1b\n");

static void write_page(struct guest *g, u64 gpa, const char *name)
{
	set_reg(g->vcpu, REG_X(10), GUEST_MMIO);
	set_reg(g->vcpu, REG_X(11), gpa);
	say(ioctl(g->vcpu, KVM_RUN, 0), "moved.%s.run", name);
	note(g->run->exit_reason, "moved.%s.exit", name);
}

/* Without memory: the slot goes. */
static void move_logged(struct guest *g, u64 gpa, u32 flags, char *memory, const char *name)
{
	struct kvm_userspace_memory_region mem = {
		.slot = 9, .flags = flags, .guest_phys_addr = gpa,
		.memory_size = memory ? 65 * K : 0,
		.userspace_addr = (u64)memory,
	};

	say(ioctl(g->vm, KVM_SET_USER_MEMORY_REGION, &mem), "moved.%s", name);
}

static void get_moved(struct guest *g, const char *name)
{
	u64 bits[2] = { ~0ULL, ~0ULL };
	struct kvm_dirty_log log = { .slot = 9, .dirty_bitmap = bits };

	say(ioctl(g->vm, KVM_GET_DIRTY_LOG, &log), "moved.%s.get", name);
	note(bits[0], "moved.%s.word0", name);
	note(bits[1], "moved.%s.word1", name);
}

/* What was written before a slot moved is in its log, if that was on then and is now. */
static void moved_log(char *memory)
{
	const u64 to = AT + (1 << 24);
	struct guest g;

	NEW_GUEST(&g, writer);
	move_logged(&g, AT, LOG, memory, "create");
	write_page(&g, AT + 3 * K, "first");
	write_page(&g, AT + 64 * K, "last");
	move_logged(&g, to, LOG, memory, "move");
	write_page(&g, to + 5 * K, "after");
	get_moved(&g, "on");
	get_moved(&g, "again");
	write_page(&g, to + 5 * K, "once_more");
	get_moved(&g, "once_more");
	write_page(&g, to + 6 * K, "to_be_lost");
	move_logged(&g, AT, 0, memory, "off");
	get_moved(&g, "off");
	move_logged(&g, to, LOG, memory, "back_on");
	get_moved(&g, "back_on");
	write_page(&g, to + 7 * K, "new");
	get_moved(&g, "new");
	free_guest(&g);
}

/* Where the guest has met a device there may be memory a moment later, and then none again. */
static void memory_comes_and_goes(char *memory)
{
	static const char *const when[] = { "before", "with", "after" };
	struct guest g;
	int i, n;

	NEW_GUEST(&g, writer);
	for (i = 0; i < 3; i++) {
		if (i)
			move_logged(&g, AT, 0, i == 1 ? memory : NULL, when[i]);
		for (n = 0; n < 4; n++) {
			write_page(&g, AT + 8 * n, when[i]);
			note(g.run->mmio.phys_addr, "moved.%s.address%d", when[i], n);
		}
	}
	free_guest(&g);
}

/* The host reports the limit of slot ids: use it, whatever it is. */
static void slot_limit(int kvm, int vm, char *memory)
{
	int limit = ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_NR_MEMSLOTS);
	struct kvm_userspace_memory_region mem = {
		.guest_phys_addr = 0x80000000, .memory_size = K,
		.userspace_addr = (u64)memory,
	};

	mem.slot = limit;
	say(ioctl(vm, KVM_SET_USER_MEMORY_REGION, &mem), "limit.over");
	mem.slot = limit - 1;
	say(ioctl(vm, KVM_SET_USER_MEMORY_REGION, &mem), "limit.last");
}

void conform_memory(void)
{
	int kvm = open_kvm(), vm = new_vm(kvm);
	char *memory = map_memory(128 * K);

	set_regions(vm, memory, false);
	at_an_edge(vm, memory);
	dirty_log(vm, memory);
	moved_log(memory);
	memory_comes_and_goes(memory);
	slot_limit(kvm, vm, memory);
	close(vm);
	vm = new_vm(kvm);
	set_regions(vm, memory, true);
	munmap(memory, 128 * K);
	close(vm);
	close(kvm);
}
