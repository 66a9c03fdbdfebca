// SPDX-License-Identifier: GPL-2.0
/* Coalesced MMIO: its zones, its ring, and a VMM's writes to the ring. */
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "conform.h"

#define ZONE		0x0a001100ULL
#define RING_MAX	((4096 - sizeof(struct kvm_coalesced_mmio_ring)) / \
			 sizeof(struct kvm_coalesced_mmio))

/* Stores of each size in the zone, over its ends, a load from it, and one to elsewhere. */
GUEST(stores, "mov x10, #0x0a000000\n add x11, x10, #1, lsl #12\n add x11, x11, #0x100\n"
      "ldr x1, =0x8182838485868788\n"
      "str x1, [x11]\n str w1, [x11, #8]\n strh w1, [x11, #12]\n strb w1, [x11, #15]\n"
      "str x1, [x10]\n"
      "strb w1, [x11, #256]\n str w1, [x11, #252]\n str x1, [x11, #252]\n stur x1, [x11, #-4]\n"
      "ldr x2, [x11]\n str xzr, [x10]\n b guest_stores\n .ltorg\n");
GUEST(many, "mov x10, #0x0a000000\n add x11, x10, #1, lsl #12\n add x11, x11, #0x100\n mov x1, #0\n"
      "1: str x1, [x11]\n add x1, x1, #1\n cmp x1, #0x200\n b.ne 1b\n"
      "str x1, [x10]\n b guest_many\n");

static long zone(int vm, bool add, u64 addr, u32 size, u32 pio)
{
	struct kvm_coalesced_mmio_zone z = { .addr = addr, .size = size, .pio = pio };

	return ioctl(vm, add ? KVM_REGISTER_COALESCED_MMIO : KVM_UNREGISTER_COALESCED_MMIO, &z);
}

static struct kvm_coalesced_mmio_ring *ring_of(struct guest *g)
{
	return (void *)((char *)g->run +
			4096 * ioctl(g->kvm, KVM_CHECK_EXTENSION, KVM_CAP_COALESCED_MMIO));
}

static u64 low(u64 data, u32 len)
{
	return len && len < 8 ? data & ~0ULL >> (64 - 8 * len) : data;
}

/* What the ring holds, and the exit. */
static void run(struct guest *g, const char *name, int n)
{
	struct kvm_coalesced_mmio_ring *ring = ring_of(g);
	struct kvm_coalesced_mmio *entry;
	u64 data;
	u32 i;

	say(ioctl(g->vcpu, KVM_RUN, 0), "%s.%d.run", name, n);
	note(g->run->exit_reason, "%s.%d.exit", name, n);
	if (g->run->exit_reason == KVM_EXIT_MMIO) {
		memcpy(&data, g->run->mmio.data, sizeof(data));
		note(g->run->mmio.phys_addr, "%s.%d.address", name, n);
		note(g->run->mmio.len, "%s.%d.len", name, n);
		note(g->run->mmio.is_write ? low(data, g->run->mmio.len) : 0, "%s.%d.data",
		     name, n);
	}
	note(ring->first, "%s.%d.first", name, n);
	note(ring->last, "%s.%d.last", name, n);
	for (i = ring->first; i != ring->last && i < RING_MAX; i = (i + 1) % RING_MAX) {
		entry = &ring->coalesced_mmio[i];
		memcpy(&data, entry->data, sizeof(data));
		note(entry->phys_addr, "%s.%d.ring_%u.address", name, n, i);
		note(entry->len, "%s.%d.ring_%u.len", name, n, i);
		note(low(data, entry->len), "%s.%d.ring_%u.data", name, n, i);
		note(entry->pio, "%s.%d.ring_%u.pio", name, n, i);
	}
	ring->first = ring->last;
}

static void arguments(void)
{
	int kvm = open_kvm(), vm = new_vm(kvm), i;
	long last = 0;

	say(zone(vm, true, ZONE, 0x100, 2), "args.pio_2");
	say(zone(vm, false, ZONE, 0x100, 2), "args.off_pio_2");
	say(zone(vm, true, ZONE, 0x100, 1), "args.pio");
	say(zone(vm, false, ZONE, 0x100, 1), "args.off_pio");
	say(zone(vm, true, ZONE, 0, 0), "args.empty");
	say(zone(vm, true, ~0ULL, ~0U, 0), "args.end");
	say(zone(vm, true, ZONE, 0x100, 0), "args.add");
	say(zone(vm, true, ZONE, 0x100, 0), "args.add_again");
	say(zone(vm, false, ZONE, ~0U, 0), "args.off_long");
	say(zone(vm, false, ZONE, 0x100, 0), "args.off");
	say(zone(vm, false, ZONE, 0x100, 0), "args.off_again");
	say(ioctl(vm, KVM_REGISTER_COALESCED_MMIO, WILD_HIGH), "args.wild");
	say(ioctl(vm, KVM_UNREGISTER_COALESCED_MMIO, NULL), "args.null");
	for (i = 0; i < 1100 && !last; i++)
		last = zone(vm, true, 0x10000 + 16 * i, 16, 0);
	say(last, "args.too_many");
	close(vm);
	close(kvm);
}

static void stores(void)
{
	struct guest g;
	int i;

	NEW_GUEST(&g, stores);
	say(zone(g.vm, true, ZONE, 0x100, 0), "stores.add");
	for (i = 0; i < 7; i++)
		run(&g, "stores", i);
	free_guest(&g);
	/* What lies in the range that is given goes; not the zone around it. */
	NEW_GUEST(&g, stores);
	zone(g.vm, true, ZONE, 0x100, 0);
	zone(g.vm, true, ZONE + 12, 4, 0);
	say(zone(g.vm, false, ZONE + 8, 8, 0), "stores.part_off");
	for (i = 0; i < 7; i++)
		run(&g, "stores.part", i);
	free_guest(&g);
}

/* One entry stays free; with none left a store is an exit. */
static void full(void)
{
	struct kvm_coalesced_mmio_ring *ring;
	struct guest g;
	u64 data, i;
	u32 n;

	NEW_GUEST(&g, many);
	zone(g.vm, true, ZONE, 0x100, 0);
	ring = ring_of(&g);
	for (i = 0; i < 5; i++) {
		say(ioctl(g.vcpu, KVM_RUN, 0), "full.%d.run", (int)i);
		memcpy(&data, g.run->mmio.data, sizeof(data));
		note(g.run->mmio.phys_addr, "full.%d.address", (int)i);
		note(data, "full.%d.data", (int)i);
		note(ring->first, "full.%d.first", (int)i);
		note(ring->last, "full.%d.last", (int)i);
		n = ring->first;
		memcpy(&data, ring->coalesced_mmio[n % RING_MAX].data, sizeof(data));
		note(data, "full.%d.oldest", (int)i);
		ring->first = ring->last;
	}
	free_guest(&g);
}

/* Indices of the VMM's own making. */
static void spoilt(void)
{
	static const struct { u32 first, last; } odd[] = {
		{ 0, RING_MAX }, { 0, ~0U }, { ~0U, 5 }, { RING_MAX, 5 }, { 5, 4 },
		{ 0, RING_MAX - 1 },
	};
	struct guest g;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(odd); i++) {
		NEW_GUEST(&g, stores);
		zone(g.vm, true, ZONE, 0x100, 0);
		ring_of(&g)->first = odd[i].first;
		ring_of(&g)->last = odd[i].last;
		say(ioctl(g.vcpu, KVM_RUN, 0), "odd.%d.run", (int)i);
		note(g.run->mmio.phys_addr, "odd.%d.address", (int)i);
		note(ring_of(&g)->first, "odd.%d.first", (int)i);
		note(ring_of(&g)->last, "odd.%d.last", (int)i);
		free_guest(&g);
	}
}

/* The ring is the VM's, behind each vCPU's page, and stays while it is mapped. */
static void mappings(void)
{
	struct kvm_coalesced_mmio_ring *ring;
	struct guest g;
	char *other;
	int vcpu;

	NEW_GUEST(&g, stores);
	vcpu = new_vcpu(g.vm, 1);
	other = (char *)map_run(g.kvm, vcpu);
	ring = (void *)(other + 4096);
	ring->first = 0x1234;
	note(ring_of(&g)->first, "map.shared");
	ring->first = 0;
	zone(g.vm, true, ZONE, 0x100, 0);
	ioctl(g.vcpu, KVM_RUN, 0);
	note(ring->last, "map.last");
	say(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, vcpu, 4096) == MAP_FAILED ? -1 : 0,
	    "map.private");
	close(vcpu);
	free_guest(&g);
	note(ring->coalesced_mmio[0].phys_addr, "map.after");
	munmap(other, 8192);
}

void conform_coalesced(void)
{
	arguments();
	stores();
	full();
	spoilt();
	mappings();
}
