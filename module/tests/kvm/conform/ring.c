// SPDX-License-Identifier: GPL-2.0
/* Dirty rings: who may have one, how it is mapped, and its contents over time. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "its_machine.h"

#define K		4096ULL
#define BYTES		4096U
#define ENTRIES		(BYTES / sizeof(struct kvm_dirty_gfn))
#define SOFT		(ENTRIES - 64)
#define AT		0x70000000ULL
#define PAGES		1024ULL
#define SLOT		9
#define LOG		KVM_MEM_LOG_DIRTY_PAGES

/* A word into each page from x11 to x12, then one to a device; x11 is the next page. */
GUEST(pages, "1: cmp x11, x12\n b.hs 2f\n str x11, [x11]\n add x11, x11, #1, lsl #12\n b 1b\n"
      "2: str x11, [x10]\n b 1b\n");
/* PV_TIME_ST by HVC, its answer to a device. */
GUEST(stolen, "mov w0, #0x21\n movk w0, #0xc500, lsl #16\n hvc #0\n str x0, [x10]\n b .\n");

static long enable(int vm, u32 what, u32 flags, u64 arg)
{
	struct kvm_enable_cap cap = { .cap = what, .flags = flags, .args = { arg } };

	return ioctl(vm, KVM_ENABLE_CAP, &cap);
}

static long region(int vm, u32 flags, u64 gpa, u64 size, void *memory)
{
	struct kvm_userspace_memory_region mem = {
		.slot = SLOT, .flags = flags, .guest_phys_addr = gpa, .memory_size = size,
		.userspace_addr = (u64)memory,
	};

	return ioctl(vm, KVM_SET_USER_MEMORY_REGION, &mem);
}

/* ---- being there ------------------------------------------------------------- */

static void sizes(void)
{
	static const u64 wrong[] = {
		0, 1, 16, 1024, 2048, 4095, 4097, 12288, 1 << 21, 1ULL << 31, 1ULL << 32, ~0ULL,
		(1 << 20) + 4096,
	};
	static const u64 right[] = { 4096, 1 << 20, 1ULL << 32 | 8192 };
	int kvm = open_kvm(), vm = new_vm(kvm);
	size_t i;

	say(ioctl(vm, KVM_RESET_DIRTY_RINGS, 0), "none.reset");
	say(enable(vm, KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP, 0, 0), "none.bitmap");
	say(enable(vm, KVM_CAP_DIRTY_LOG_RING, 0, BYTES), "none.x86");
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		say(enable(vm, KVM_CAP_DIRTY_LOG_RING_ACQ_REL, 0, wrong[i]), "size.%#llx",
		    (long long)wrong[i]);
	close(vm);
	for (i = 0; i < ARRAY_SIZE(right); i++) {
		vm = new_vm(kvm);
		say(enable(vm, KVM_CAP_DIRTY_LOG_RING_ACQ_REL, i ? 0 : 7, right[i]), "size.%#llx",
		    (long long)right[i]);
		say(enable(vm, KVM_CAP_DIRTY_LOG_RING_ACQ_REL, 0, right[i]), "again.%#llx",
		    (long long)right[i]);
		say(enable(vm, KVM_CAP_DIRTY_LOG_RING_ACQ_REL, 0, 1 << 21), "again.large");
		say(ioctl(vm, KVM_RESET_DIRTY_RINGS, 0), "no_vcpu.reset");
		say(ioctl(vm, KVM_RESET_DIRTY_RINGS, ~0UL), "no_vcpu.reset_all_ones");
		close(vm);
	}
	vm = new_vm(kvm);
	close(new_vcpu(vm, 0));
	say(enable(vm, KVM_CAP_DIRTY_LOG_RING_ACQ_REL, 0, BYTES), "late");
	say(enable(vm, KVM_CAP_DIRTY_LOG_RING_ACQ_REL, 0, 5), "late.wrong");
	say(ioctl(vm, KVM_RESET_DIRTY_RINGS, 0), "late.reset");
	close(vm);
	close(kvm);
}

/* The calls of the bitmap, of a slot that is logged, one that is not, and none. */
static void log_calls(int vm, const char *name)
{
	static u64 bits[PAGES / 64];
	struct kvm_dirty_log log = { .slot = SLOT, .dirty_bitmap = bits };
	struct kvm_clear_dirty_log clear = {
		.slot = SLOT, .num_pages = 64, .dirty_bitmap = bits,
	};
	size_t i;
	u32 n;

	for (n = SLOT; n <= 0x10000 + SLOT; n += 0x10000 / 2) {
		log.slot = n;
		clear.slot = n;
		memset(bits, 0xff, sizeof(bits));
		say(ioctl(vm, KVM_GET_DIRTY_LOG, &log), "%s.get_%#x", name, n);
		for (i = 0; i < ARRAY_SIZE(bits); i += 5)
			note(bits[i], "%s.get_%#x.word%zu", name, n, i);
		say(ioctl(vm, KVM_CLEAR_DIRTY_LOG, &clear), "%s.clear_%#x", name, n);
		clear.first_page = 3;
		say(ioctl(vm, KVM_CLEAR_DIRTY_LOG, &clear), "%s.clear_%#x.unaligned", name, n);
		clear.first_page = 0;
	}
	say(ioctl(vm, KVM_GET_DIRTY_LOG, NULL), "%s.get_null", name);
}

static void bitmap(void *memory)
{
	int kvm = open_kvm(), vm = new_vm(kvm);

	enable(vm, KVM_CAP_DIRTY_LOG_RING_ACQ_REL, 0, BYTES);
	log_calls(vm, "alone.no_slot");
	region(vm, LOG, AT, PAGES * K, memory);
	log_calls(vm, "alone");
	say(enable(vm, KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP, 0, 0), "bitmap.with_slot");
	region(vm, 0, 0, 0, NULL);
	say(enable(vm, KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP, 1, 0), "bitmap.flags");
	close(new_vcpu(vm, 3));
	say(enable(vm, KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP, 0, ~0ULL), "bitmap.on");
	say(enable(vm, KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP, 0, 0), "bitmap.again");
	log_calls(vm, "bitmap.no_slot");
	region(vm, 0, AT, PAGES * K, memory);
	log_calls(vm, "bitmap.not_logged");
	region(vm, LOG, AT, PAGES * K, memory);
	log_calls(vm, "bitmap");
	region(vm, 0, AT, PAGES * K, memory);
	log_calls(vm, "bitmap.off");
	enable(vm, KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2, 0, 3);
	region(vm, LOG, AT, PAGES * K, memory);
	log_calls(vm, "bitmap.all_set");
	close(vm);
	close(kvm);
}

/* ---- the mapping ------------------------------------------------------------- */

/* A byte of a mapping, by a call that says EFAULT where the program would get SIGBUS. */
static void touch(char *at, u64 page, const char *name)
{
	int ends[2];

	if (pipe(ends))
		die("pipe");
	say(write(ends[1], at + page * K, 1), "%s.page_%d", name, (int)page);
	close(ends[0]);
	close(ends[1]);
}

static void mappings(u32 bytes, const char *name)
{
	static const struct { u64 first, pages; } rows[] = {
		{ 0, 1 }, { 2, 1 }, { 63, 1 }, { 63, 2 }, { 63, 3 }, { 64, 1 }, { 64, 2 }, { 65, 1 },
		{ 65, 2 }, { 66, 1 }, { 0, 100 }, { 1 << 20, 1 },
	};
	static const struct { const char *name; int prot, flags; } ways[] = {
		{ "shared", PROT_READ | PROT_WRITE, MAP_SHARED },
		{ "readable", PROT_READ, MAP_SHARED }, { "nothing", PROT_NONE, MAP_SHARED },
		{ "private", PROT_READ | PROT_WRITE, MAP_PRIVATE },
	};
	int kvm = open_kvm(), vm = new_vm(kvm), vcpu;
	char *at, line[64];
	size_t i, w;
	u64 page;

	if (bytes)
		enable(vm, KVM_CAP_DIRTY_LOG_RING_ACQ_REL, 0, bytes);
	vcpu = new_vcpu(vm, 0);
	note(ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0), "%s.mmap_size", name);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		for (w = 0; w < ARRAY_SIZE(ways); w++) {
			at = mmap(NULL, rows[i].pages * K, ways[w].prot, ways[w].flags, vcpu,
				  rows[i].first * K);
			snprintf(line, sizeof(line), "%s.map_%d_%d.%s", name, (int)rows[i].first,
				 (int)rows[i].pages, ways[w].name);
			say(at == MAP_FAILED ? -1 : 0, "%s", line);
			for (page = 0; at != MAP_FAILED && page < rows[i].pages && page < 4; page++)
				touch(at, page, line);
			if (at != MAP_FAILED)
				munmap(at, rows[i].pages * K);
		}
	}
	close(vcpu);
	close(vm);
	close(kvm);
}

/* Newer kernels map no such file to be executed, whatever is in it: a few lines. */
static void executed(void)
{
	static const struct { u64 first, pages; } rows[] = { { 63, 2 }, { 63, 3 }, { 64, 1 } };
	int kvm = open_kvm(), vm = new_vm(kvm), vcpu;
	char *at;
	size_t i;

	enable(vm, KVM_CAP_DIRTY_LOG_RING_ACQ_REL, 0, 4096);
	vcpu = new_vcpu(vm, 0);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		at = mmap(NULL, rows[i].pages * K, PROT_READ | PROT_EXEC, MAP_SHARED, vcpu,
			  rows[i].first * K);
		say(at == MAP_FAILED ? -1 : 0, "executed_%d_%d", (int)rows[i].first,
		    (int)rows[i].pages);
	}
	close(vcpu);
	close(vm);
	close(kvm);
}

/* ---- contents ---------------------------------------------------------------- */

struct ringed {
	struct guest g;
	struct kvm_dirty_gfn *ring;
	u32 next;		/* the VMM's: the entry that it takes next */
	void *memory;
};

static void start(struct ringed *r, u32 flags, void *memory)
{
	new_guest_with_ring(&r->g, guest_pages,
			    (const char *)guest_pages_end - (const char *)guest_pages, BYTES);
	r->ring = map_ring(r->g.vcpu, BYTES);
	r->next = 0;
	r->memory = memory;
	say(region(r->g.vm, flags, AT, PAGES * K, memory), "create");
	set_reg(r->g.vcpu, REG_X(10), GUEST_MMIO);
}

static void stop(struct ringed *r)
{
	munmap(r->ring, BYTES);
	free_guest(&r->g);
}

static void run_on(struct ringed *r, const char *name)
{
	say(ioctl(r->g.vcpu, KVM_RUN, 0), "%s.run", name);
	note(r->g.run->exit_reason, "%s.exit", name);
	note(get_reg(r->g.vcpu, REG_X(11)), "%s.at", name);
}

static void run_pages(struct ringed *r, u64 first, u64 n, const char *name)
{
	set_reg(r->g.vcpu, REG_X(11), AT + first * K);
	set_reg(r->g.vcpu, REG_X(12), AT + (first + n) * K);
	run_on(r, name);
}

/* Print new entries of the ring, or a sum if there are many; take them if requested. */
static void look(struct ringed *r, bool take, const char *name)
{
	struct kvm_dirty_gfn *at;
	u64 sum = 0, n = 0;
	u32 i = r->next;

	for (; n < ENTRIES && (at = &r->ring[i % ENTRIES])->flags == 1; i++, n++) {
		if (n < 4) {
			note(at->slot, "%s.%d.slot", name, (int)n);
			note(at->offset, "%s.%d.offset", name, (int)n);
		}
		sum = sum * 31 + at->offset + 7 * at->slot;
		if (take)
			at->flags = KVM_DIRTY_GFN_F_RESET;
	}
	note(n, "%s.new", name);
	note(sum, "%s.sum", name);
	if (take)
		r->next = i;
}

static void reset(struct ringed *r, const char *name)
{
	say(ioctl(r->g.vm, KVM_RESET_DIRTY_RINGS, 0), "%s.reset", name);
}

/* Written once, in it once; and again when it was reset. */
static void once(void *memory)
{
	struct ringed r;

	start(&r, LOG, memory);
	run_pages(&r, 3, 1, "once.first");
	run_pages(&r, 3, 1, "once.same");
	run_pages(&r, 1000, 2, "once.others");
	look(&r, false, "once.left");
	reset(&r, "once.left");
	look(&r, true, "once.taken");
	run_pages(&r, 3, 1, "once.not_reset");
	look(&r, true, "once.not_reset");
	reset(&r, "once.taken");
	reset(&r, "once.again");
	note(r.ring[0].flags, "once.flags");
	run_pages(&r, 2, 3, "once.anew");
	look(&r, true, "once.anew");
	/* Behind one that was not taken. */
	run_pages(&r, 20, 3, "once.gap");
	r.ring[r.next + 1].flags = KVM_DIRTY_GFN_F_RESET;
	reset(&r, "once.gap");
	reset(&r, "once.gap_again");
	r.ring[r.next].flags = KVM_DIRTY_GFN_F_RESET;
	reset(&r, "once.no_gap");
	look(&r, true, "once.gap");
	stop(&r);
}

/* Full, for the vCPU, is less than all. */
static void full(void *memory)
{
	struct ringed r;
	int i;

	start(&r, LOG, memory);
	run_pages(&r, 0, PAGES, "full.first");
	run_on(&r, "full.still");
	r.g.run->immediate_exit = 1;
	run_on(&r, "full.immediate");
	r.g.run->immediate_exit = 0;
	reset(&r, "full.not_taken");
	run_on(&r, "full.not_taken");
	/* Room for one: the write that had no effect yet, and the next one, which has none. */
	for (i = 0; i < 3; i++) {
		r.ring[r.next++].flags = KVM_DIRTY_GFN_F_RESET;
		reset(&r, "full.room_for_one");
		run_on(&r, "full.room_for_one");
	}
	for (i = 0; i < 12; i++) {
		look(&r, true, "full.round");
		reset(&r, "full.round");
		run_on(&r, "full.round");
	}
	stop(&r);
}

/* The log goes off and on, the slot moves and goes, with entries in the ring. */
static void changes(void *memory)
{
	struct ringed r;

	start(&r, 0, memory);
	run_pages(&r, 0, 3, "changes.not_logged");
	look(&r, true, "changes.not_logged");
	say(region(r.g.vm, LOG, AT, PAGES * K, memory), "changes.on");
	run_pages(&r, 1, 3, "changes.on");
	look(&r, false, "changes.on");
	say(region(r.g.vm, 0, AT, PAGES * K, memory), "changes.off");
	run_pages(&r, 8, 3, "changes.off");
	say(region(r.g.vm, LOG, AT, PAGES * K, memory), "changes.on_again");
	run_pages(&r, 2, 3, "changes.on_again");
	look(&r, true, "changes.on_again");
	reset(&r, "changes.on_again");
	run_pages(&r, 1, 4, "changes.reset");
	look(&r, true, "changes.reset");
	say(region(r.g.vm, LOG, AT + PAGES * K, PAGES * K, memory), "changes.move");
	run_pages(&r, PAGES + 9, 2, "changes.moved");
	look(&r, true, "changes.moved");
	reset(&r, "changes.moved");
	run_pages(&r, PAGES + 9, 2, "changes.moved_reset");
	look(&r, true, "changes.moved_reset");
	say(region(r.g.vm, 0, 0, 0, NULL), "changes.delete");
	reset(&r, "changes.deleted");
	say(region(r.g.vm, LOG | KVM_MEM_READONLY, AT, PAGES * K, memory), "changes.readonly");
	run_pages(&r, 0, 1, "changes.readonly");
	look(&r, true, "changes.readonly");
	stop(&r);
}

/* Entries of the VMM's own making are reset as they say, if there is such a page. */
static void spoilt(void *memory)
{
	static const struct { u32 slot; u64 offset; } odd[] = {
		{ SLOT, PAGES }, { SLOT, ~0ULL }, { SLOT, 1ULL << 63 }, { SLOT + 1, 0 }, { 0, 0 },
		{ 0x10000 + SLOT, 0 }, { ~0U, 0 }, { 32767, 0 }, { SLOT, PAGES - 1 },
	};
	struct ringed r;
	size_t i;

	start(&r, LOG, memory);
	for (i = 0; i < ARRAY_SIZE(odd); i++) {
		run_pages(&r, 30 + i, 1, "odd");
		r.ring[i].slot = odd[i].slot;
		r.ring[i].offset = odd[i].offset;
		r.ring[i].flags = ~0U;
		reset(&r, "odd");
		note(r.ring[i].flags, "odd.%zu.flags", i);
		note(r.ring[i].offset, "odd.%zu.offset", i);
	}
	/* Two that are each other. */
	r.next = i;
	run_pages(&r, 100, 2, "odd.pair");
	r.ring[r.next + 1].offset = 100;
	look(&r, true, "odd.pair");
	reset(&r, "odd.pair");
	run_pages(&r, 100, 1, "odd.pair_again");
	look(&r, true, "odd.pair_again");
	stop(&r);
	/* All of an empty ring. */
	start(&r, LOG, memory);
	for (i = 0; i < ENTRIES; i++)
		r.ring[i].flags = KVM_DIRTY_GFN_F_RESET;
	say(ioctl(r.g.vm, KVM_RESET_DIRTY_RINGS, 0), "empty.reset");
	stop(&r);
}

/* A ring each; reset all at once; a mapping outlives the files. */
static void two_vcpus(void *memory)
{
	struct kvm_dirty_gfn *other;
	struct ringed r;
	int vcpu;

	start(&r, LOG, memory);
	vcpu = new_vcpu(r.g.vm, 1);
	other = map_ring(vcpu, BYTES);
	init_vcpu(vcpu);
	set_reg(vcpu, REG_PC, GUEST_BASE);
	set_reg(vcpu, REG_X(10), GUEST_MMIO);
	set_reg(vcpu, REG_X(11), AT + 500 * K);
	set_reg(vcpu, REG_X(12), AT + 503 * K);
	say(ioctl(vcpu, KVM_RUN, 0), "two.run");
	run_pages(&r, 0, 2, "two.first");
	look(&r, true, "two.first");
	note(other[0].offset, "two.other.0");
	note(other[2].offset, "two.other.2");
	note(other[3].flags, "two.other.3");
	other[0].flags = KVM_DIRTY_GFN_F_RESET;
	other[1].flags = KVM_DIRTY_GFN_F_RESET;
	reset(&r, "two");
	close(vcpu);
	other[2].flags = KVM_DIRTY_GFN_F_RESET;
	reset(&r, "two.closed");
	run_pages(&r, 501, 2, "two.anew");
	look(&r, true, "two.anew");
	stop(&r);
	note(other[2].offset, "two.after");
	munmap(other, BYTES);
}

/* A slot that was logged before there was a ring. */
static void logged_before(void *memory)
{
	struct ringed r;

	r.g.kvm = open_kvm();
	r.g.vm = new_vm(r.g.kvm);
	say(region(r.g.vm, LOG, AT, PAGES * K, memory), "before.create");
	say(enable(r.g.vm, KVM_CAP_DIRTY_LOG_RING_ACQ_REL, 0, BYTES), "before.ring");
	r.g.vcpu = new_vcpu(r.g.vm, 0);
	r.g.run = map_run(r.g.kvm, r.g.vcpu);
	init_vcpu(r.g.vcpu);
	r.g.memory = new_slot(r.g.vm, 0, GUEST_BASE, GUEST_SIZE);
	memcpy(r.g.memory, guest_pages, (const char *)guest_pages_end - (const char *)guest_pages);
	set_reg(r.g.vcpu, REG_PC, GUEST_BASE);
	set_reg(r.g.vcpu, REG_X(10), GUEST_MMIO);
	r.ring = map_ring(r.g.vcpu, BYTES);
	r.next = 0;
	run_pages(&r, 5, 2, "before.first");
	run_pages(&r, 5, 2, "before.same");
	look(&r, true, "before");
	reset(&r, "before");
	run_pages(&r, 5, 2, "before.anew");
	look(&r, true, "before.anew");
	stop(&r);
}

/* ---- the hypervisor's own writes --------------------------------------------- */

static void stolen_time(void *memory)
{
	struct kvm_device_attr attr = {
		.group = KVM_ARM_VCPU_PVTIME_CTRL, .attr = KVM_ARM_VCPU_PVTIME_IPA,
	};
	u64 base = AT + 77 * K;
	struct ringed r;

	start(&r, LOG, memory);
	memcpy(r.g.memory, guest_stolen, (const char *)guest_stolen_end - (const char *)guest_stolen);
	attr.addr = (u64)&base;
	say(ioctl(r.g.vcpu, KVM_SET_DEVICE_ATTR, &attr), "stolen.place");
	look(&r, false, "stolen.before");
	say(ioctl(r.g.vcpu, KVM_RUN, 0), "stolen.run");
	note(r.ring[0].flags, "stolen.flags");
	note(r.ring[0].slot, "stolen.slot");
	note(r.ring[0].offset, "stolen.offset");
	stop(&r);
}

static void with_bitmap(int vm)
{
	say(enable(vm, KVM_CAP_DIRTY_LOG_RING_ACQ_REL, 0, BYTES), "its.ring");
	say(enable(vm, KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP, 0, 0), "its.bitmap");
}

/* Tables that the VMM has saved are in the bitmap, and in no ring. */
static void its_tables(void)
{
	static u64 bits[RAM_SIZE / K / 64];
	struct kvm_dirty_log log = { .dirty_bitmap = bits };
	struct kvm_userspace_memory_region mem = {
		.flags = LOG, .guest_phys_addr = RAM, .memory_size = RAM_SIZE,
	};
	struct kvm_dirty_gfn *ring;
	struct machine m;
	size_t i;

	new_machine_in(&m, with_bitmap);
	boot_machine(&m);
	its_mapd(&m, 1, ITT, 4, 1);
	its_mapc(&m, 0, 0, 1);
	its_mapti(&m, 1, 0, 8192, 0);
	its_mapti(&m, 1, 1, 8193, 0);
	send_msi(&m, 1, 1);
	mem.userspace_addr = (u64)m.ram;
	say(ioctl(m.vm, KVM_SET_USER_MEMORY_REGION, &mem), "its.log_on");
	ring = map_ring(m.vcpu[0], BYTES);
	say(its_control(&m, KVM_DEV_ARM_ITS_SAVE_TABLES), "its.save");
	say(attr_call(m.vgic, KVM_SET_DEVICE_ATTR, KVM_DEV_ARM_VGIC_GRP_CTRL,
		      KVM_DEV_ARM_VGIC_SAVE_PENDING_TABLES, NULL), "its.save_pending");
	note(ring[0].flags, "its.ring_flags");
	say(ioctl(m.vm, KVM_GET_DIRTY_LOG, &log), "its.get");
	for (i = 0; i < ARRAY_SIZE(bits); i++)
		note(bits[i], "its.word%zu", i);
	say(ioctl(m.vm, KVM_GET_DIRTY_LOG, &log), "its.get_again");
	for (i = 0; i < ARRAY_SIZE(bits); i++)
		note(bits[i], "its.word%zu_again", i);
	munmap(ring, BYTES);
	free_machine(&m);
}

/* KVM has had rings here since 6.2. */
static bool has_rings(void)
{
	int kvm = open_kvm();
	bool has = ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_DIRTY_LOG_RING_ACQ_REL) > 0;

	close(kvm);
	return has;
}

void conform_ring(void)
{
	char *memory;

	sizes();
	if (!has_rings())
		return;
	memory = map_memory(PAGES * K);
	bitmap(memory);
	mappings(0, "no_ring");
	mappings(4096, "one_page");
	mappings(8192, "two_pages");
	executed();
	once(memory);
	full(memory);
	changes(memory);
	spoilt(memory);
	two_vcpus(memory);
	logged_before(memory);
	stolen_time(memory);
	its_tables();
	munmap(memory, PAGES * K);
}
