// SPDX-License-Identifier: GPL-2.0
/* See tlb_world.h. */
#include "tlb_world.h"

u64 seed = 1;
struct world world[NR_VMS];
struct world_asid asids[NR_ASIDS];
int asid_error;
bool asid_spare;
u16 asid_given;
unsigned int asids_given, warnings;
struct entry tlb[NR_ENTRIES];
unsigned int flusher, lost, shared;
struct event event[NR_EVENTS];
char order[NR_EVENTS + 1];
unsigned int nr_events, acquires, looks;

static const struct av_vcpu_switch *watched;

/* The ends of both halves, and addresses in between. */
const u64 pages[NR_PAGES] = {
	0, 0x1000, 0x400000, 0x0000fffffffff000, 0xffff000000000000, 0xffff800010203000,
	0xffffffffffe00000, 0xfffffffffffff000,
};

/* xorshift64* */
u64 draw(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return seed * 0x2545f4914f6cdd1dULL;
}

u64 below(u64 n)
{
	return (draw() >> 32) % n;
}

unsigned int owner_of(u16 asid)
{
	unsigned int i;

	for (i = 0; i < NR_ASIDS; i++)
		if (asids[i].asid == asid)
			return asids[i].owner;
	return HOST;
}

void add_entry(unsigned int owner, u16 asid, u64 serial)
{
	tlb[below(NR_ENTRIES)] = (struct entry) {
		.valid = true, .asid = asid, .va = pages[below(NR_PAGES)] | below(0x1000),
		.serial = serial, .owner = owner,
	};
}

/* Arm's rules for non-global entries; an unknown operation drops all. */
static bool drops(const struct event *e, const struct entry *t)
{
	bool asid = e->operand >> 48 == t->asid;
	bool page = (e->operand & OPERAND_PAGE) == (t->va >> 12 & OPERAND_PAGE);

	if (!strcmp(e->op, "vae1is"))
		return asid && page;
	if (!strcmp(e->op, "aside1is"))
		return asid;
	if (!strcmp(e->op, "vaae1is"))
		return page;
	return true;
}

static void carry_out(const struct event *e)
{
	struct entry *t;

	for (t = tlb; t < tlb + NR_ENTRIES; t++) {
		if (!t->valid || !drops(e, t))
			continue;
		t->valid = false;
		if (t->owner == flusher)
			continue;
		lost++;
		shared += !strcmp(e->op, "vaae1is");
	}
}

void forget_events(const struct av_vcpu_switch *csw)
{
	nr_events = acquires = looks = lost = shared = 0;
	memset(order, 0, sizeof(order));
	watched = csw;
}

static bool allowed(char what, const char *op, const u64 *operand, unsigned int nr_operands)
{
	switch (what) {
	case FAKE_DSB:
		/* Other CPUs take part; so do table walkers, which read. */
		return !strcmp(op, "ish");
	case FAKE_REPEAT:
		/* A page that nobody has, under an ASID that nobody has. */
		return !strcmp(op, "vale1is") && nr_operands == 1 && !*operand;
	default:
		return true;
	}
}

void fake_event(char what, const char *op, const u64 *operand, unsigned int nr_operands)
{
	struct event *e = &event[nr_events];

	if (what == FAKE_ACQUIRE) {
		acquires++;
		return;
	}
	if (what == FAKE_LOOK) {
		looks++;
		return;
	}
	if (nr_events == NR_EVENTS) {
		order[0] = '?';
		return;
	}
	order[nr_events++] = allowed(what, op, operand, nr_operands) ? what : '?';
	e->op = op;
	e->nr_operands = nr_operands;
	e->operand = nr_operands ? *operand : 0;
	if (watched)
		e->csw = *watched;
	if (what == FAKE_TLBI)
		carry_out(e);
}

void fake_warn(const char *fmt, ...)
{
	warnings++;
}

/* As the real one does, and av_asid_put(): nothing is left under it. */
static void hand_over(unsigned int i, unsigned int owner)
{
	struct entry *t;

	asids[i].owner = owner;
	for (t = tlb; t < tlb + NR_ENTRIES; t++)
		t->valid = t->valid && t->asid != asids[i].asid;
}

int av_asid_get(struct av_asid *a, struct av_asid_share *const *shares)
{
	unsigned int i, m = 0;

	while (m < NR_VMS && shares != world[m].sw.share)
		m++;
	/* Not on this VM's account: it has none to give. */
	if (m == NR_VMS)
		return -EINVAL;
	if (asid_error)
		return asid_error;
	do
		i = below(NR_ASIDS);
	while (asids[i].owner != HOST);
	hand_over(i, m);
	asids_given++;
	asid_given = asids[i].asid;
	a->asid = asid_given;
	return 0;
}

bool av_asid_spare(struct av_asid_share *const *shares)
{
	return asid_spare;
}

void begin_vm(unsigned int m, bool spare)
{
	struct world *w = &world[m];
	unsigned int v;

	memset(w, 0, sizeof(*w));
	w->vm.serial = m;
	w->vm.nr_vcpus = FAKE_VCPUS;
	w->vm.sw = &w->sw;
	asid_error = 0;
	asid_spare = true;
	av_asid_get(&w->sw.host_hop, w->sw.share);
	av_asid_get(&w->sw.guest_hop, w->sw.share);
	for (v = 0; v < FAKE_VCPUS; v++) {
		w->vm.vcpus[v] = &w->vcpu[v];
		w->vcpu[v].vm = &w->vm;
		w->vcpu[v].sw = &w->csw[v];
		if (!spare)
			continue;
		av_asid_get(&w->csw[v].context[0].asid, w->sw.share);
		w->csw[v].nr_contexts = 1;
		atomic_inc(&w->sw.nr_contexts);
		w->model[v].nr = 1;
		w->model[v].context[0].asid = asid_given;
	}
}

void end_vm(unsigned int m)
{
	unsigned int i;

	for (i = 0; i < NR_ASIDS; i++)
		if (asids[i].owner == m)
			hand_over(i, HOST);
}

/* ASIDs with the low byte in common, and with the high one: a wrong one is another's. */
void begin_world(bool spare)
{
	static const u8 high[] = { 0x00, 0x01, 0x80, 0xff };
	unsigned int i;

	for (i = 0; i < NR_ASIDS; i++) {
		asids[i].asid = high[i % 4] << 8 | (i / 4 + 1);
		asids[i].owner = HOST;
	}
	memset(tlb, 0, sizeof(tlb));
	for (i = 0; i < NR_VMS; i++)
		begin_vm(i, spare);
	warnings = asids_given = 0;
}
