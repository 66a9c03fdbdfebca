// SPDX-License-Identifier: GPL-2.0
/*
 * One page of the guest's kernel that leads to another frame each time, as when Linux patches its
 * text: mapped, used, unmapped, invalidated. The module remembers the last entry of the page
 * (mmu/fault/fast.c), and must not reuse it if the guest or the VMM has changed anything since.
 *
 * Meanwhile the VMM replaces the memory behind the frames, protects and logs it, and another vCPU
 * accesses the frames by other addresses, which it invalidates.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stale.h"

#define SIZE	(STALE_PAGES * PAGE)

static const u64 hows[] = { HOW_LAST | HOW_SHARED, HOW_LAST | HOW_SHARED | HOW_ANY, HOW_SHARED };

static void put_numbers(char *at, u64 number)
{
	u64 i;

	for (i = 0; i < STALE_PAGES; i++)
		*(u64 *)(at + i * PAGE) = number * STALE_PAGES + i;
}

static void begin(struct machine *m, u64 how)
{
	u64 *entry, i;

	new_machine(m);
	m->frames = map_memory(SIZE);
	put_numbers(m->frames, 1);
	pages_slot(m, m->frames, SIZE, 0);
	for (i = 0; i < STALE_PAGES; i++)
		map_page(m, HIGH_VA + i * PAGE, (FRAMES + i * PAGE) | DESC_PAGE | DESC_XN);
	entry = map_page(m, HIGH_VA + POKED * PAGE, 0);
	m->ctl->va = HIGH_VA;
	m->ctl->how = how;
	m->ctl->seed = how + 1;
	m->ctl->l3[0] = STALE_HIGH + GUEST_BASE + ((char *)entry - m->memory);
	start_vcpu(m, guest_poke);
	start_vcpu(m, guest_aside);
	progress(m, 0, 2);
}

static void end(struct machine *m)
{
	free_machine(m);
	munmap(m->frames, SIZE);
}

/* Until its end, the guest's writes may be lost. */
static void change(struct machine *m, bool begins)
{
	__atomic_store_n(&m->ctl->seq, m->ctl->seq + 1, __ATOMIC_SEQ_CST);
	if (begins)
		progress(m, 0, 1);
}

/* Other memory at the same place: no frame holds less than the number any more. */
static void replace(struct machine *m, u64 number)
{
	char *new = map_memory(SIZE);
	u64 i;

	put_numbers(new, number);
	change(m, true);
	if (mremap(new, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, m->frames) != m->frames)
		die("mremap");
	for (i = 0; i < STALE_PAGES; i++)
		__atomic_store_n(&m->ctl->since[i], number * STALE_PAGES, __ATOMIC_RELEASE);
	change(m, false);
}

/* Read-only for the VMM, so that a store is its fault; and writable again. */
static void protect(struct machine *m, u64 number)
{
	__atomic_store_n(&m->may_fault, true, __ATOMIC_RELEASE);
	if (mprotect(m->frames, SIZE, PROT_READ))
		die("mprotect");
	usleep(3000);
	if (mprotect(m->frames, SIZE, PROT_READ | PROT_WRITE))
		die("mprotect");
	progress(m, 0, 1);
	__atomic_store_n(&m->may_fault, false, __ATOMIC_RELEASE);
}

/* Stores through the page are in the log while there is one, however the page was filled. */
static void logged(struct machine *m, u64 number)
{
	u64 bits = 0;
	struct kvm_dirty_log log = { .slot = 1, .dirty_bitmap = &bits };
	int n;

	pages_slot(m, m->frames, SIZE, KVM_MEM_LOG_DIRTY_PAGES);
	for (n = 0; n < 3 && !failures; n++) {
		if (ioctl(m->vm, KVM_GET_DIRTY_LOG, &log))
			die("KVM_GET_DIRTY_LOG");
		progress(m, 0, 2);
	}
	if (ioctl(m->vm, KVM_GET_DIRTY_LOG, &log))
		die("KVM_GET_DIRTY_LOG");
	expect(failures || bits, "stores to the page were not logged");
	pages_slot(m, m->frames, SIZE, 0);
}

void stale_poked(void)
{
	static const struct {
		const char *name;
		void (*act)(struct machine *m, u64 number);
	} acts[] = { { "replaced", replace }, { "mprotect", protect }, { "logged", logged } };
	struct machine m;
	size_t v, a;
	u64 n;

	for (v = 0; v < ARRAY_SIZE(hows) && !failures; v++) {
		begin(&m, hows[v]);
		for (n = 0; n < setting("TIMES", 4) * 2 * ARRAY_SIZE(acts) && !failures; n++) {
			a = n % ARRAY_SIZE(acts);
			acts[a].act(&m, n + 2);
			progress(&m, 0, 2);
			expect(!failures, "%s, row %zu", acts[a].name, v);
		}
		end(&m);
	}
}
