// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts and events as a guest with a vGICv3 sees them: irqfds with and without resampling,
 * routes, lines, wake-ups from WFI, and ioeventfds. The guest reports each interrupt by a store to
 * GUEST_MMIO + 8, and its end by a load from GUEST_MMIO + 16.
 */
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "conform.h"

#define GICD		0x08000000ULL
#define GICR		0x080a0000ULL
#define EVENTS		(GUEST_MMIO + 0x1000)

/* SPIs from 32 are level-sensitive, from 48 edge-triggered, PPI 20 is on; vectors at 2 KiB. */
extern const u32 guest_events[] __attribute__((visibility("hidden")));
extern const u32 guest_events_end[] __attribute__((visibility("hidden")));
__asm__(".pushsection .rodata\n.balign 4\n"
	"guest_events:\n"
	"mov x10, #0x0a000000\n mov x11, #0x08000000\n"
	"adr x0, guest_events + 0x800\n msr vbar_el1, x0\n"
	"mov w0, #0x12\n str w0, [x11]\n"
	"mov w0, #-1\n str w0, [x11, #0x104]\n str wzr, [x11, #0xc08]\n"
	"mov w0, #0xaaaaaaaa\n str w0, [x11, #0xc0c]\n"
	"mov w0, #0x80808080\n str w0, [x11, #0x430]\n"	/* 48 to 51: less urgent */
	"mov x12, #0x080b0000\n mov w0, #1 << 20\n str w0, [x12, #0x100]\n"
	"mov x0, #0xf0\n msr s3_0_c4_c6_0, x0\n"
	"mov x0, #1\n msr s3_0_c12_c12_7, x0\n isb\n"
	"msr daifclr, #2\n str x0, [x10]\n"
	"1: wfi\n b 1b\n"
	".org guest_events + 0xa80\n"
	"mrs x0, s3_0_c12_c12_0\n str x0, [x10, #8]\n"
	"msr s3_0_c12_c12_1, x0\n isb\n ldr x1, [x10, #16]\n eret\n"
	"guest_events_end:\n.popsection\n");

/* Stores of several sizes and values where ioeventfds may be. */
extern const u32 guest_stores[] __attribute__((visibility("hidden")));
extern const u32 guest_stores_end[] __attribute__((visibility("hidden")));
__asm__(".pushsection .rodata\n.balign 4\n"
	"guest_stores:\n"
	"mov x10, #0x0a000000\n add x10, x10, #1, lsl #12\n mov w1, #5\n mov w2, #6\n"
	"str w1, [x10]\n str w2, [x10]\n strh w1, [x10]\n str x1, [x10]\n ldr w3, [x10]\n"
	"str w1, [x10, #16]\n strb w1, [x10, #16]\n str w1, [x10, #20]\n"
	"str w2, [x10, #32]\n str w1, [x10, #32]\n"
	"str x0, [x10, #0x100]\n b .\n"
	"guest_stores_end:\n.popsection\n");

/* The counter, then a timer that is to expire at once. */
extern const u32 guest_counter[] __attribute__((visibility("hidden")));
extern const u32 guest_counter_end[] __attribute__((visibility("hidden")));
__asm__(".pushsection .rodata\n.balign 4\n"
	"guest_counter:\n"
	"mov x10, #0x0a000000\n isb\n mrs x0, cntvct_el0\n str x0, [x10]\n"
	"msr cntv_cval_el0, x0\n mov x1, #1\n msr cntv_ctl_el0, x1\n isb\n"
	"mrs x0, cntv_ctl_el0\n str x0, [x10]\n"
	"mov x1, #1 << 41\n msr cntv_cval_el0, x1\n isb\n"
	"mrs x0, cntv_ctl_el0\n str x0, [x10]\n b .\n"
	"guest_counter_end:\n.popsection\n");

static void set_attr(int dev, u32 group, u64 attr, u64 value)
{
	struct kvm_device_attr a = { .group = group, .attr = attr, .addr = (u64)&value };

	if (ioctl(dev, KVM_SET_DEVICE_ATTR, &a))
		die("vGIC attribute %u.%llu", group, (unsigned long long)attr);
}

static void new_gic(int vm)
{
	struct kvm_create_device create = { .type = KVM_DEV_TYPE_ARM_VGIC_V3 };

	if (ioctl(vm, KVM_CREATE_DEVICE, &create))
		die("no vGICv3");
	set_attr(create.fd, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_V3_ADDR_TYPE_DIST, GICD);
	set_attr(create.fd, KVM_DEV_ARM_VGIC_GRP_ADDR, KVM_VGIC_V3_ADDR_TYPE_REDIST, GICR);
	set_attr(create.fd, KVM_DEV_ARM_VGIC_GRP_CTRL, KVM_DEV_ARM_VGIC_CTRL_INIT, 0);
	close(create.fd);
}

/* Run to the next exit: the address that the guest accessed, and the value that it stored. */
static u64 next(struct guest *g, u64 *value)
{
	*value = 0;
	if (ioctl(g->vcpu, KVM_RUN, 0))
		return ~0ULL;
	if (g->run->exit_reason != KVM_EXIT_MMIO)
		return ~1ULL;
	if (g->run->mmio.is_write)
		memcpy(value, g->run->mmio.data, g->run->mmio.len);
	return g->run->mmio.phys_addr;
}

/* The next interrupt that the guest takes; it has not ended it yet. */
static void take(struct guest *g, const char *name)
{
	u64 value, addr = next(g, &value);

	note(addr - GUEST_MMIO, "%s.at", name);
	note(value, "%s.intid", name);
}

static void ended(struct guest *g, const char *name)
{
	u64 value;

	note(next(g, &value) - GUEST_MMIO, "%s.ended_at", name);
}

static void raise(int event)
{
	u64 one = 1;

	if (write(event, &one, sizeof(one)) != sizeof(one))
		die("eventfd");
}

static u64 count_of(int event)
{
	u64 count = 0;

	return read(event, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

static void irqfd(int vm, int event, u32 gsi, u32 flags, int resample)
{
	struct kvm_irqfd args = { .fd = event, .gsi = gsi, .flags = flags, .resamplefd = resample };

	if (ioctl(vm, KVM_IRQFD, &args))
		die("KVM_IRQFD of GSI %u", gsi);
}

static void line(int vm, u32 type, u32 number, u32 level)
{
	struct kvm_irq_level args = {
		.irq = type << KVM_ARM_IRQ_TYPE_SHIFT | number, .level = level,
	};

	if (ioctl(vm, KVM_IRQ_LINE, &args))
		die("KVM_IRQ_LINE %u", number);
}

static void *raise_later(void *event)
{
	usleep(100000);
	raise(*(int *)event);
	return NULL;
}

static void edges(struct guest *g)
{
	int event = eventfd(0, EFD_NONBLOCK), early = eventfd(0, EFD_NONBLOCK);
	pthread_t thread;

	irqfd(g->vm, event, 20, 0, 0);
	raise(event);
	raise(event);
	take(g, "edge");
	ended(g, "edge");
	/* The guest sleeps when it comes. */
	pthread_create(&thread, NULL, raise_later, &event);
	take(g, "edge_wfi");
	ended(g, "edge_wfi");
	pthread_join(thread, NULL);
	/* A signal from before the irqfd was. */
	raise(early);
	irqfd(g->vm, early, 21, 0, 0);
	take(g, "edge_early");
	/* Again while it is active. */
	raise(early);
	ended(g, "edge_early");
	take(g, "edge_again");
	ended(g, "edge_again");
	irqfd(g->vm, event, 20, KVM_IRQFD_FLAG_DEASSIGN, 0);
	raise(event);
	raise(early);
	take(g, "edge_deassigned");
	ended(g, "edge_deassigned");
	note(count_of(event), "edge_deassigned.count");
	close(event);
	close(early);
}

static void resampled(struct guest *g)
{
	int event = eventfd(0, EFD_NONBLOCK), other = eventfd(0, EFD_NONBLOCK);
	int resample = eventfd(0, EFD_NONBLOCK), resample2 = eventfd(0, EFD_NONBLOCK);

	irqfd(g->vm, event, 4, KVM_IRQFD_FLAG_RESAMPLE, resample);
	irqfd(g->vm, other, 4, KVM_IRQFD_FLAG_RESAMPLE, resample2);
	raise(event);
	take(g, "resample");
	note(count_of(resample), "resample.before_eoi");
	ended(g, "resample");
	note(count_of(resample), "resample.after_eoi");
	note(count_of(resample2), "resample.other_after_eoi");
	raise(other);
	take(g, "resample_again");
	raise(event);
	ended(g, "resample_again");
	note(count_of(resample), "resample_again.after_eoi");
	irqfd(g->vm, event, 4, KVM_IRQFD_FLAG_DEASSIGN, 0);
	irqfd(g->vm, other, 4, KVM_IRQFD_FLAG_DEASSIGN, 0);
	close(event);
	close(other);
	close(resample);
	close(resample2);
}

static void lines(struct guest *g)
{
	line(g->vm, KVM_ARM_IRQ_TYPE_SPI, 40, 1);
	take(g, "level");
	ended(g, "level");
	take(g, "level_still");
	line(g->vm, KVM_ARM_IRQ_TYPE_SPI, 40, 0);
	ended(g, "level_still");
	line(g->vm, KVM_ARM_IRQ_TYPE_PPI, 20, 1);
	take(g, "ppi");
	line(g->vm, KVM_ARM_IRQ_TYPE_PPI, 20, 0);
	ended(g, "ppi");
	/* Two at once: the more urgent first. Of equals KVM takes the one that came first. */
	line(g->vm, KVM_ARM_IRQ_TYPE_SPI, 50, 1);
	line(g->vm, KVM_ARM_IRQ_TYPE_SPI, 60, 1);
	take(g, "two_first");
	ended(g, "two_first");
	take(g, "two_second");
	ended(g, "two_second");
}

static void routed(struct guest *g)
{
	struct {
		struct kvm_irq_routing head;
		struct kvm_irq_routing_entry entries[2];
	} table = { .head.nr = 2 };
	int event = eventfd(0, EFD_NONBLOCK), none = eventfd(0, EFD_NONBLOCK);

	table.entries[0].gsi = 1000;
	table.entries[0].type = KVM_IRQ_ROUTING_IRQCHIP;
	table.entries[0].u.irqchip.pin = 25;
	table.entries[1].gsi = 3;
	table.entries[1].type = KVM_IRQ_ROUTING_IRQCHIP;
	table.entries[1].u.irqchip.pin = 26;
	say(ioctl(g->vm, KVM_SET_GSI_ROUTING, &table), "routing");
	irqfd(g->vm, none, 20, 0, 0);
	irqfd(g->vm, event, 1000, 0, 0);
	raise(none);
	raise(event);
	take(g, "routed");
	ended(g, "routed");
	close(none);
	close(event);
}

static void interrupts(void)
{
	struct guest g;

	new_guest(&g, guest_events,
		  (const char *)guest_events_end - (const char *)guest_events);
	new_gic(g.vm);
	take(&g, "ready");
	edges(&g);
	resampled(&g);
	lines(&g);
	routed(&g);
	free_guest(&g);
}

static int io_event(int vm, u64 addr, u32 len, u32 flags, u64 match)
{
	int event = eventfd(0, EFD_NONBLOCK);
	struct kvm_ioeventfd args = {
		.addr = addr, .len = len, .fd = event, .flags = flags, .datamatch = match,
	};

	if (ioctl(vm, KVM_IOEVENTFD, &args))
		die("KVM_IOEVENTFD");
	return event;
}

static void stores(void)
{
	struct guest g;
	int match, any, word;
	u64 value, at;

	new_guest(&g, guest_stores,
		  (const char *)guest_stores_end - (const char *)guest_stores);
	match = io_event(g.vm, EVENTS, 4, KVM_IOEVENTFD_FLAG_DATAMATCH, 5);
	any = io_event(g.vm, EVENTS + 16, 0, 0, 0);
	word = io_event(g.vm, EVENTS + 32, 4, 0, 0);
	do {
		at = next(&g, &value);
		note(at - EVENTS, "store.at");
		note(g.run->mmio.len, "store.len");
		note(g.run->mmio.is_write, "store.is_write");
		note(value, "store.value");
	} while (at - EVENTS < 0x100);
	note(count_of(match), "store.match");
	note(count_of(any), "store.any");
	note(count_of(word), "store.word");
	close(match);
	close(any);
	close(word);
	free_guest(&g);
}

/*
 * A restored counter: the guest's reads and the values that its timers compare with. With a vGIC:
 * without one, KVM takes an expired timer away from the guest.
 */
static void counter(void)
{
	struct guest g;
	u64 value;

	new_guest(&g, guest_counter,
		  (const char *)guest_counter_end - (const char *)guest_counter);
	new_gic(g.vm);
	set_reg(g.vcpu, KVM_REG_ARM_TIMER_CNT, 1ULL << 40);
	next(&g, &value);
	note(value >> 40, "counter.restored");
	next(&g, &value);
	note(value, "counter.passed");
	next(&g, &value);
	note(value, "counter.to_come");
	note(get_reg(g.vcpu, KVM_REG_ARM_TIMER_CNT) >> 40, "counter.vmm");
	free_guest(&g);
}

void conform_events(void)
{
	alarm(60);	/* a guest that waits for ever fails the test */
	interrupts();
	stores();
	counter();
	alarm(0);
}
