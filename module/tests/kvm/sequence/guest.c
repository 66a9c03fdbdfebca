// SPDX-License-Identifier: GPL-2.0
/*
 * Programs for the guest of guest.S: accesses of a guest to a vGIC, in an order that no
 * real guest uses. Interrupts are acknowledged and ended by hand, so the values of registers show
 * priorities, preemption, both EOI modes and both groups, and nothing depends on time.
 */
#include <stdio.h>
#include <string.h>

#include "sequence.h"

#define MOST_OPS	20
#define MOST_ROUNDS	6	/* of eight operations at most, each */
#define OPS_AT		0x10000
#define RESULTS_AT	0x20000
#define VECTORS		0x800
#define ISENABLER	0x100
#define ISPENDR		0x200
#define PSTATE_MASKED	0x3c5
#define SCTLR_OFF	0x30d00800ULL
#define SYS_SCTLR	ARM64_SYS_REG(3, 0, 1, 0, 0)
#define SYS_VBAR	ARM64_SYS_REG(3, 0, 12, 0, 0)

/* The first numbers of reads and writes are in the order of guest.S. */
enum guest_kind {
	LDRB, LDRH, LDRW, LDRX, STRB, STRH, STRW, STRX, CALL,
	IAR0, IAR1, HPPIR0, HPPIR1, RPR, PMR, BPR0, BPR1, CTLR_R, IGRPEN0, IGRPEN1, AP0R0, AP1R0,
	SRE, ISR,
	EOIR0, EOIR1, DIR, SET_PMR, SET_BPR0, SET_BPR1, SET_CTLR, SET_IGRPEN0, SET_IGRPEN1,
	SET_SRE, SGI1R, ASGI1R, SGI0R,
};

struct guest_op {
	u32 kind;
	u32 from;		/* the value is this result, from 1; 0: it is @value */
	u64 address, value;
};

struct program {
	struct guest_op op[3 * MOST_OPS];
	unsigned int nr;
	u32 acknowledged;	/* as in from: the value of the last IAR, if there was one */
};

extern const u8 sequence_guest[], sequence_guest_end[];

static void add(struct program *p, enum guest_kind kind, u64 address, u64 value)
{
	p->op[p->nr++] = (struct guest_op){ .kind = kind, .address = address, .value = value };
}

/* Where a register of a bit an interrupt lies: the distributor, or the vCPU's own frame. */
static u64 bank(unsigned int cpu, u32 intid)
{
	if (intid < 32)
		return GUEST_REDIST + cpu * REDIST_SIZE + SGI_FRAME;
	return GUEST_DIST;
}

static void add_bit(struct world *w, struct program *p, unsigned int cpu, u32 offset)
{
	u32 intid = any_intid(w);

	if (offset == ISPENDR && level_sensitive(intid))
		offset = ISENABLER;
	add(p, STRW, bank(cpu, intid) + offset + intid / 32 * 4, 1U << intid % 32);
}

static void add_mmio(struct world *w, struct program *p, unsigned int cpu)
{
	static const u32 bits[] = { 0x80, ISENABLER, 0x180, ISPENDR, 0x280, 0x300, 0x380 };
	u32 intid = any_intid(w);
	u64 at = bank(cpu, intid);

	switch (pick(w, 10)) {
	case 0 ... 3:
		add_bit(w, p, cpu, pick_of(w, bits));
		break;
	case 4:
		add(p, STRB, at + 0x400 + intid, any_priority(w, intid));
		break;
	case 5:
		add(p, LDRW, at + 0x400 + (intid & ~3U), 0);
		break;
	case 6:
		add(p, LDRW, at + 0xc00 + intid / 16 * 4, 0);
		break;
	case 7:
		add(p, LDRW, GUEST_DIST, 0);
		break;
	case 8:
		/* Not written: KVM moves what is pending when its old vCPU runs next. */
		if (intid >= 32)
			add(p, LDRX, GUEST_DIST + 0x6000 + intid * 8, 0);
		break;
	default:
		add(p, LDRW, at + pick_of(w, bits) + intid / 32 * 4, 0);
	}
}

/* Set pending, or have a line do so, for the most part with what lets it be signalled. */
static void add_raise(struct world *w, struct program *p, unsigned int cpu)
{
	u32 intid = any_intid(w);
	u64 at = bank(cpu, intid) + intid / 32 * 4;

	if (pick(w, 4))
		add(p, STRW, at + ISENABLER, 1U << intid % 32);
	if (pick(w, 4))
		add(p, STRB, bank(cpu, intid) + 0x400 + intid, any_priority(w, intid));
	if (!level_sensitive(intid))
		add(p, STRW, at + ISPENDR, 1U << intid % 32);
}

static void add_cpuif(struct world *w, struct program *p)
{
	static const u16 masks[] = { 0, 8, 0x40, 0x80, 0xa0, 0xf0, 0xf8, 0xff };
	enum guest_kind read = HPPIR0 + pick(w, ISR - HPPIR0 + 1);
	u32 intid = any_intid(w);

	switch (pick(w, 12)) {
	case 0:
		add(p, SET_PMR, 0, pick_of(w, masks));
		break;
	case 1:
		add(p, SET_BPR0 + pick(w, 2), 0, pick(w, 8));
		break;
	case 2:
		add(p, SET_CTLR, 0, pick(w, 4));
		break;
	case 3:
		add(p, SET_IGRPEN0 + pick(w, 2), 0, pick(w, 4) != 0);
		break;
	case 4:
		if (intid < 16)
			add(p, SGI1R + pick(w, 3), 0, (u64)intid << 24 | (1 + pick(w, 3)) |
			    (pick(w, 4) ? 0 : 1ULL << 40));
		break;
	case 5:
		add(p, w->vgic < 0 ? SET_PMR : SET_SRE, 0, pick(w, 8));
		break;
	default:
		/* The numbers of bits are the host's, and SRE where there is no vGIC. */
		if (read == CTLR_R || (read == SRE && w->vgic < 0))
			read = RPR;
		add(p, read, 0, 0);
	}
}

/*
 * End what was acknowledged, or what was not. Before Linux 6.19 KVM's guests
 * deactivate an SPI only where it was acknowledged, and SPIs are routed to vCPU
 * 0 here; in the architecture, and on the module, any PE's DIR does it.
 */
static void add_end(struct world *w, struct program *p, unsigned int cpu)
{
	enum guest_kind kind = EOIR0 + pick(w, 3);
	u32 intid;

	if (pick(w, 3))
		kind = EOIR1;
	intid = any_intid(w);
	if (kind == DIR && cpu && intid >= 32)
		kind = EOIR1;
	add(p, kind, 0, intid);
	if (p->acknowledged && pick(w, 6))
		p->op[p->nr - 1].from = p->acknowledged;
}

static void add_call(struct world *w, struct program *p)
{
	/* CPU_SUSPEND waits, on KVM not for what is pending but not signalled. */
	static const u32 functions[] = {
		0x84000000, 0x8400000a, 0x84000006, 0xc4000004, 0x80000000, 0x80000001,
		0xc4000003, 0x84000050, 0xc5000020, 0x86000000, 0xbf00ff01, 0, 0x84000099,
	};
	static const u64 arguments[] = {
		0, 1, 2, 0x84000002, 0xc4000003, 0x80000001, 0x80008000, 0x80007fff, 0x84000005,
	};

	add(p, CALL, pick_of(w, arguments), pick_of(w, functions));
}

static void add_one(struct world *w, struct program *p, unsigned int cpu)
{
	switch (pick(w, 16)) {
	case 0 ... 2:
		add_raise(w, p, cpu);
		break;
	case 3 ... 5:
		add(p, pick(w, 4) ? IAR1 : IAR0, 0, 0);
		p->acknowledged = p->nr;
		break;
	case 6 ... 8:
		add_end(w, p, cpu);
		break;
	case 9 ... 11:
		add_mmio(w, p, cpu);
		break;
	case 12:
		add_call(w, p);
		break;
	default:
		add_cpuif(w, p);
	}
}

static void load(struct world *w, unsigned int cpu, const struct program *p)
{
	static const struct { u64 id, value; } registers[] = {
		{ REG_PC, GUEST_BASE }, { REG_PSTATE, PSTATE_MASKED },
		{ SYS_SCTLR, SCTLR_OFF }, { SYS_VBAR, GUEST_BASE + VECTORS },
		{ REG_X(19), GUEST_BASE + OPS_AT }, { REG_X(20), GUEST_BASE + RESULTS_AT },
		{ REG_X(22), GUEST_BASE + RESULTS_AT },
	};
	size_t i;

	memcpy(w->memory, sequence_guest, sequence_guest_end - sequence_guest);
	memcpy(w->memory + OPS_AT, p->op, p->nr * sizeof(p->op[0]));
	memset(w->memory + RESULTS_AT, 0, p->nr * sizeof(u64));
	for (i = 0; i < ARRAY_SIZE(registers); i++)
		try_set_reg(w->vcpu[cpu], registers[i].id, registers[i].value);
	try_set_reg(w->vcpu[cpu], REG_X(21), GUEST_BASE + OPS_AT + p->nr * sizeof(p->op[0]));
}

static void show(struct world *w, const struct program *p)
{
	const u64 *results = (const u64 *)(w->memory + RESULTS_AT);
	const struct guest_op *op;
	unsigned int i;

	for (i = 0; i < p->nr; i++) {
		op = &p->op[i];
		if (op->kind <= CALL)
			note(results[i], "%u.kind_%u_%#llx_%#llx", i, op->kind,
			     (unsigned long long)op->address, (unsigned long long)op->value);
		else if (op->from)
			note(results[i], "%u.kind_%u_of_%u", i, op->kind, op->from - 1);
		else
			note(results[i], "%u.kind_%u_%#llx", i, op->kind,
			     (unsigned long long)op->value);
	}
}

/* Both groups on, and any priority passes. */
static void add_open(struct program *p)
{
	add(p, SET_PMR, 0, 0xff);
	add(p, SET_IGRPEN0, 0, 1);
	add(p, SET_IGRPEN1, 0, 1);
}

static void run_program(struct world *w, unsigned int cpu, const struct program *p)
{
	struct kvm_run *run;

	load(w, cpu, p);
	say(run_vcpu(w, cpu), "cpu_%u", cpu);
	run = w->run[cpu];
	if (!run)
		return;
	note(run->exit_reason, "exit");
	if (run->exit_reason == KVM_EXIT_MMIO)
		note(run->mmio.phys_addr, "mmio");
	show(w, p);
}

void guest_program(struct world *w)
{
	unsigned int cpu = pick(w, 3) ? 0 : 1, i, nr = 2 + pick(w, MOST_OPS - 6);
	struct program p = { 0 };

	if (pick(w, 4))
		add_open(&p);
	for (i = 0; i < nr; i++)
		add_one(w, &p, cpu);
	run_program(w, cpu, &p);
}

void guest_preemption(struct world *w)
{
	unsigned int cpu = pick(w, 3) ? 0 : 1, i, rounds = 2 + pick(w, MOST_ROUNDS - 1);
	struct program p = { 0 };

	add_open(&p);
	for (i = 0; i < rounds; i++) {
		add(&p, SET_BPR0 + pick(w, 2), 0, pick(w, 8));
		if (!pick(w, 3))
			add(&p, SET_CTLR, 0, pick(w, 4));
		add_raise(w, &p, cpu);
		add(&p, pick(w, 4) ? IAR1 : IAR0, 0, 0);
		p.acknowledged = p.nr;
		add(&p, RPR, 0, 0);
		if (!pick(w, 3))
			add_end(w, &p, cpu);
	}
	run_program(w, cpu, &p);
}
