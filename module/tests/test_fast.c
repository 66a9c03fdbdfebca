// SPDX-License-Identifier: GPL-2.0
/*
 * Traps that end in the window (cpu/fast.c) against the slow path (cpu/trap.c and the register
 * table). On random register files and instructions, both have the same effect, or the window
 * declines and has changed nothing.
 *
 *	test_fast [states [seed]]
 */
#include <inttypes.h>
#include <stdlib.h>

#include "check.h"
#include "draw.h"
#include "fast_regs.h"
#include "cpu/calls.h"
#include "cpu/cheap.h"
#include "cpu/fast.h"
#include "cpu/insn.h"
#include "cpu/quick.h"
#include "cpu/sysreg.h"
#include "irq/vgic.h"
#include "mmu/stub/patch.h"
#include "stats/stats.h"

bool fake_meltdown_safe = true, fake_id_fields = true;
u64 fake_midr = 0x410fd083;

static struct av_vm vm;
static struct av_srf fast, before, slow;
static struct av_vcpu vcpu = { .vm = &vm, .srf = &slow };

/* Accesses that took the short way, by register and direction. */
static u64 taken[AV_NR_FAST][2], declined, daif_refused, to_el0, tokens;

/* The window's rows are rows of the register table, and mean the same there. */
static void test_rows(void)
{
	unsigned int i;

	for (i = 0; i < AV_FAST_SVC; i++) {
		const struct av_sysreg *row = av_sysreg_find(regs[i].enc);

		CHECK(regs[i].name);
		CHECK(row);
		if (!row)
			continue;
		CHECK(!strcmp(row->name, regs[i].name));
		CHECK_EQ(row->flags, regs[i].flags);
		CHECK_EQ(row->cls, regs[i].cls);
	}
}

/* MSR DAIFSet and DAIFClr, MSR SPSel; their neighbours. */
static u32 draw_msr_imm(void)
{
	static const u16 encs[] = { AV_MSR_DAIFSET, AV_MSR_DAIFCLR, AV_MSR_SPSEL };
	u32 enc = encs[below(3)];

	if (!below(16))
		enc ^= 1 << below(14);
	return 0xd500401f | (u32)(enc & ~AV_SYS_CRM & 0x3fff) << 5 | (u32)below(16) << 8;
}

static u32 draw_insn(void)
{
	u32 dir = below(2) << 21;

	switch (below(9)) {
	case 0:
		return draw_msr_imm();
	case 8:				/* HVC, or nearly */
		return 0xd4000002 | (below(2) ? 0 : (u32)below(0x10000) << 5) |
		       (below(16) ? 0 : 1u << below(32));
	case 1:				/* any register */
		return 0xd5100000 | dir | (u32)below(1 << 20);
	case 2:				/* any system instruction, if that */
		return 0xd5000000 | (u32)below(1 << 22);
	case 3:
		return below(4) ? 0xd69f03e0 : draw();
	default:			/* one of the window's, or a bit from it */
		return 0xd5000000 | dir | ((u32)regs[below(AV_NR_FAST)].enc << 5) |
		       (u32)below(32) | (below(16) ? 0 : 1u << below(20));
	}
}

/* The syndrome of a trapped one, from hardware or from old QEMU. */
static u64 iss_of(u32 insn)
{
	u64 op0 = insn >> 19 & 3, op1 = insn >> 16 & 7, crn = insn >> 12 & 15;
	u64 crm = insn >> 8 & 15, op2 = insn >> 5 & 7, read = insn >> 21 & 1;

	if (!op0 && below(2))
		swap(op1, op2);
	return op0 << 20 | op2 << 17 | op1 << 14 | crn << 10 | (u64)(insn & 31) << 5 | crm << 1 |
	       read;
}

static u64 draw_mode(void)
{
	static const u8 modes[] = { AV_PSR_EL1H, AV_PSR_EL1H, AV_PSR_EL1T, AV_PSR_EL0T };

	return modes[below(4)];
}

static u64 draw_value(void)
{
	switch (below(4)) {
	case 0:
		return below(2) ? 0 : ~0ULL;
	case 1:
		return below(16) << 6;
	default:
		return draw();
	}
}

/* What the long way looks at and an access might change. */
static const u16 looked_at[] = {
	AV_SP_EL0, AV_SP_EL1, AV_ELR_EL1, AV_SPSR_EL1, AV_ESR_EL1, AV_FAR_EL1, AV_VBAR_EL1,
	AV_TPIDR_EL1, AV_PAR_EL1, AV_SCTLR_EL1, AV_CONTEXTIDR_EL1, AV_CPACR_EL1,
};

/* Each row of the quick way has a place of its own. How many there are. */
static unsigned int check_quick_rows(u64 cheap)
{
	static struct av_srf srf;
	unsigned int i, n = 0;

	srf.cheap = cheap;
	CHECK(av_quick_rows(&srf));
	for (i = 0; i < AV_QUICK_ROWS; i++) {
		u32 row = srf.quick_rows[i];
		const struct reg *reg = &regs[FIELD_GET(AV_QUICK_COUNTER, row)];

		if (!row)
			continue;
		n++;
		CHECK_EQ(FIELD_GET(AV_QUICK_ENC, row), reg->enc);
		CHECK_EQ(!(row & AV_QUICK_WRITE), reg->write_leaves);
	}
	return n;
}

static void test_quick_rows(void)
{
	unsigned int n = check_quick_rows(AV_CHEAP_QUICK);

	CHECK(n >= 8);
	CHECK_EQ(check_quick_rows(AV_CHEAP_ALL), n + 4);
}

/* Copies have no SP_EL0 as stack pointer: the long way leaves them for that. */
static void test_spsel_in_copies(void)
{
	unsigned int copies;

	for (copies = 0; copies < 2; copies++) {
		struct av_srf srf = {
			.cheap = AV_CHEAP_ALL, .copies = copies, .in_place = copies,
			.esr = FIELD_PREP(AV_ESR_EC, AV_EC_UNKNOWN) | AV_ESR_IL,
			.insn = 0xd5184201,	/* msr spsel, x1 */
		};

		av_srf_set_vpstate(&srf, AV_PSR_EL1H);
		CHECK_EQ(av_fast(&srf) == AV_FAST_NO, copies);
		CHECK_EQ(av_srf_mode(&srf), copies ? AV_PSR_EL1H : AV_PSR_EL1T);
	}
}

/* What is taken: tokens from copies, unknown instructions elsewhere, and nothing. */
static void test_quick_syndromes(void)
{
	struct av_srf srf = { .cheap = AV_CHEAP_ALL };

	av_quick_set(&srf, true);
	/* An unknown instruction has the number of its token, and is the last of those taken. */
	CHECK_EQ(AV_ESR_IL - srf.quick_on, AV_TOKEN_UNKNOWN * AV_TOKEN_OPERANDS);
	CHECK_EQ(srf.quick_on_nr, AV_ESR_IL - srf.quick_on + 1);
	CHECK(!srf.quick_el0[0]);
	srf.copies = 1;
	av_quick_set(&srf, true);
	CHECK(srf.quick_on == 0x5600f800 && srf.quick_on_nr == AV_TOKENS);
	CHECK(srf.quick_el0[0] == 0x56000000 && !srf.quick_el0[1]);
	srf.cheap = AV_CHEAP_QUICK;
	av_quick_set(&srf, true);
	CHECK_EQ(av_token_insn(srf.quick_on_nr), 0xd5382040);	/* mrs x0, tcr_el1 */
	av_quick_set(&srf, false);
	CHECK(!srf.quick_on && !srf.quick_on_nr && !srf.quick_el0[0]);
}

/* The result of an SVC of virtual EL0: registers that do not change in the window. */
static void test_quick_svc(void)
{
	struct av_srf srf = { .due = 1 };

	av_quick_set(&srf, false);
	CHECK(srf.quick_made);
	CHECK_EQ(srf.phys, 0xf1001c00);		/* NZCV, DIT, SSBS, BTYPE */
	CHECK_EQ(srf.el1h, 5);
	av_srf_set(&srf, AV_VBAR_EL1, 0xffff800010000800);
	av_quick_show(&srf);
	CHECK_EQ(srf.svc_pc, 0xffff800010000c00);
	CHECK_EQ(srf.svc_pstate, 0);
	CHECK_EQ(av_srf_get(&srf, AV_SHOWN_DUE), 1);
	av_srf_set(&srf, AV_SCTLR_EL1, BIT_ULL(44));
	av_quick_show(&srf);
	CHECK_EQ(srf.svc_pstate, 4);		/* from bit 10 on: SSBS */
}

static bool is_ttbr(unsigned int n)
{
	return n == AV_FAST_TTBR0_EL1 || n == AV_FAST_TTBR1_EL1;
}

static u64 draw_ttbr(void)
{
	return below(2) | below(2) << 49;
}

/* Pairs of TTBRs that the window knows; few values, so that some are met. */
static void draw_roots(u32 insn)
{
	bool ttbr = (insn & 0xfffffc00) >> 5 == (0xd5182000 & 0xfffffc00) >> 5;
	unsigned int i;

	for (i = 0; i < AV_SRF_ROOTS; i++)
		slow.roots[i] = (struct av_srf_roots) {
			.ttbr0 = draw_ttbr(), .ttbr1 = draw_ttbr(), .root0 = draw(),
			.root1 = { below(2) ? draw() : 0, below(2) ? draw() : 0 },
		};
	if (below(4))
		slow.roots[AV_SRF_IDLE].ttbr0 = AV_NO_TTBR;
	av_srf_set_pair(&slow, below(AV_SRF_ROOTS));
	slow.root0 = draw();
	slow.modes_same = below(4);
	if (!ttbr || !below(4))
		return;
	av_srf_set(&slow, AV_TTBR0_EL1, draw_ttbr());
	av_srf_set(&slow, AV_TTBR1_EL1, draw_ttbr());
	if ((insn & 31) < 31)
		slow.regs[insn & 31] = draw_ttbr();
}

/* The syndrome of a token where the instruction has one; 0: it is as it is. */
static u64 token_esr;
static bool in_copy;

/* In a copy the instruction is patched. */
static void draw_copy(u32 insn)
{
	u32 copy = av_patch(insn);

	if (!slow.in_place || !in_copy)
		return;
	if ((copy & AV_WORD_SVC_MASK) == AV_WORD_SVC && copy != insn)
		token_esr = FIELD_PREP(AV_ESR_EC, AV_EC_SVC64) | AV_ESR_IL | (copy >> 5 & 0xffff);
	else
		slow.insn = copy;
}

/* The trap that ended a stay in the guest. */
static void draw_trap(u32 insn)
{
	unsigned int i = below(9);

	token_esr = 0;
	in_copy = false;
	if (i == 8) {
		/* In a copy none of its own is a token. */
		slow.esr = FIELD_PREP(AV_ESR_EC, below(2) ? AV_EC_SVC64 : AV_EC_BRK64) | AV_ESR_IL |
			   (draw() & 0x7fff);
		slow.insn = draw();
	} else if (i < 5) {
		slow.esr = AV_ESR_IL;
		slow.insn = !i ? AV_INSN_UNKNOWN : insn;
		in_copy = i;
	} else if (i < 7) {
		slow.esr = FIELD_PREP(AV_ESR_EC, AV_EC_SYS64) | AV_ESR_IL | iss_of(insn);
		slow.insn = draw();
	} else {
		slow.esr = draw() & ~BIT_ULL(15);
		slow.insn = insn;
	}
	vcpu.fetched = insn;
}

u64 av_test_counter;

/* State from irq/ for the window, and the window's record. */
static void draw_irq(u32 rt)
{
	static const u64 states[] = {
		AV_ICC_OFFERED, AV_ICC_OFFERED, AV_ICC_TAKEN, AV_ICC_TAKEN,
		AV_ICC_TAKEN | AV_ICC_MASKED, AV_ICC_ENDED, AV_ICC_ENDED | AV_ICC_MASKED,
		AV_ICC_MASKED,
	};
	u64 intid = below(2) ? below(32) : 8192 + below(1 << 20);

	slow.icc = below(4) ? states[below(ARRAY_SIZE(states))] | intid : 0;
	if (av_srf_offered(&slow)) {
		vcpu.irq_pending = 0;
		av_srf_set_daif(&slow, av_srf_daif(&slow) | AV_PSR_I);
	}
	slow.icc_waits = below(2) ? AV_VGIC_WAITS : 0;
	slow.icc_pmr = below(4) ? AV_ICC_PMR_KNOWN | below(32) << 3 : 0;
	slow.cntv_ctl = below(8) | (below(2) ? AV_CNTV_KNOWN : 0);
	slow.cntv_cval = draw();
	slow.cntvoff = draw();
	av_test_counter = draw();
	if (rt < 31 && below(4))
		slow.regs[rt] = intid | (below(2) ? 0 : draw() << 24);
	vcpu.icc_iar1 = intid;
	vcpu.icc_eoir1 = 0;
	vcpu.icc_pmr = slow.icc_pmr & 0xf8;
	vcpu.cntv_ctl = (u32)slow.cntv_ctl;
	vcpu.cntv_cval = slow.cntv_cval;
	vcpu.cntvct = av_test_counter - slow.cntvoff;
}

/* A state in which the guest may have been, and the trap. */
static void draw_state(void)
{
	u32 insn = draw_insn(), rt = insn & 31;

	slow.regs[below(31)] = draw();
	if (rt < 31)
		slow.regs[rt] = draw_value();
	av_srf_set(&slow, looked_at[below(ARRAY_SIZE(looked_at))], draw());
	if (below(2))
		av_srf_set(&slow, AV_SPSR_EL1, (draw() & AV_PSR_NZCV) | draw_mode() |
			   (below(2) ? 0 : below(16) << 6));
	slow.sp = draw();
	slow.pc = draw();
	slow.pstate = draw() & AV_PSR_PHYS;
	/* PSTATE.IL never gets as far as the guest. */
	av_srf_set_vpstate(&slow, draw_mode() | below(16) << 6 | (below(4) ? 0 : AV_PSR_SS));
	/* Half of it is not ours: a guest may have put anything there. */
	if (below(2))
		av_srf_set(&slow, AV_DAIF, draw());
	av_srf_set(&slow, AV_MDSCR_EL1, below(8) ? 0 : draw());
	av_srf_set(&slow, AV_OSLSR_EL1, below(2) ? 2 : 0);
	/* As before each entry. */
	av_srf_set_midr(&slow, read_cpuid_id());
	vcpu.irq_pending = below(2) ? 0 : below(4);
	vcpu.cpu->serror_pending = !below(8);
	/* What is due is taken before an entry, so it is masked, or there is none. */
	if (av_inject_due(&vcpu) && below(2))
		av_srf_set_daif(&slow, ~0ULL);
	if (av_inject_due(&vcpu))
		vcpu.irq_pending = vcpu.cpu->serror_pending = 0;

	draw_irq(rt);
	draw_roots(insn);
	slow.modes = below(4);
	slow.quick_on = below(2) ? AV_ESR_IL : 0;
	slow.quick_on_nr = draw();
	slow.quick_el0[0] = below(2) ? AV_QUICK_SVC : 0;
	/* What traps in a copy is patched. SP_EL0 as a stack pointer is never in place. */
	slow.copies = av_srf_mode(&slow) != AV_PSR_EL1T && below(2);
	slow.cheap = below(4) ? AV_CHEAP_ALL : 0;
	slow.psci_version = below(4) ? FAKE_PSCI_VERSION : 0;
	if (below(2))
		slow.regs[0] = AV_CALL_PSCI_VERSION + (draw() << 32) + !below(4);
	draw_trap(insn);
}

static void take_long_way(void)
{
	vcpu.regime_changes = vcpu.ttbr_changes = vcpu.others = 0;
	vcpu.killed = NULL;
	memset(&vcpu.stats, 0, sizeof(vcpu.stats));
	CHECK_EQ(av_handle_exit(&vcpu), 1);
}

static unsigned int register_taken(void)
{
	unsigned int i, n = AV_NR_FAST;

	for (i = 0; i < AV_NR_FAST; i++) {
		if (fast.fast[i] == before.fast[i])
			continue;
		CHECK_EQ(fast.fast[i], before.fast[i] + 1);
		CHECK_EQ(n, AV_NR_FAST);
		n = i;
	}
	return n;
}

static bool is_write(const struct av_srf *srf)
{
	return av_esr_ec(srf->esr) == AV_EC_SYS64 ? !(srf->esr & 1) : !(srf->insn & BIT(21));
}

/* The roots that it continues with are those of the guest's registers. */
static void check_roots(int ret)
{
	const struct av_srf_roots *roots = &before.roots[av_srf_pair(&fast)];

	CHECK_EQ(ret, AV_FAST_ROOTS);
	CHECK_EQ(vcpu.ttbr_changes, 1);
	CHECK(av_srf_pair(&fast) < AV_SRF_ROOTS && roots->root1[1]);
	CHECK(av_srf_at_pair(&fast, av_srf_pair(&fast)));
	CHECK_EQ(roots->ttbr0, av_srf_get(&slow, AV_TTBR0_EL1));
	CHECK(roots->ttbr1 == av_srf_get(&slow, AV_TTBR1_EL1) ||
	      (av_srf_at_pair(&fast, AV_SRF_IDLE) &&
	       av_srf_same_base(roots->ttbr1, av_srf_get(&slow, AV_TTBR1_EL1))));
	CHECK(fast.root0 == roots->root0 && fast.ttbr1[0] == roots->root1[0] &&
	      fast.ttbr1[1] == roots->root1[1]);
	CHECK_EQ(fast.modes, roots->root1[0] ? before.modes_same : 0);
	CHECK_EQ(fast.quick_modes, before.quick_on && !before.due ? fast.modes : 0);
	av_srf_show_ttbrs(&slow);
	slow.roots_at = fast.roots_at;
	slow.root0 = fast.root0;
	memcpy(slow.ttbr1, fast.ttbr1, sizeof(fast.ttbr1));
	slow.modes = fast.modes;
	slow.quick_modes = fast.quick_modes;
}

/* The record for irq/ equals the calls of the slow path. */
static void check_irq(unsigned int n)
{
	u64 icc = before.icc, intid = icc & AV_ICC_INTID;

	switch (n) {
	case AV_FAST_ICC_IAR1_EL1:
		CHECK_EQ(icc & ~AV_ICC_INTID, AV_ICC_OFFERED);
		CHECK_EQ(fast.icc, AV_ICC_TAKEN | intid);
		CHECK_EQ(fast.due, before.due & ~AV_PSR_I);
		av_srf_set(&slow, AV_SHOWN_DUE, fast.due);
		slow.quick_modes = slow.quick_on && !fast.due ? slow.modes : 0;
		break;
	case AV_FAST_ICC_EOIR1_EL1:
		CHECK(icc & AV_ICC_TAKEN && !before.icc_waits);
		CHECK_EQ(vcpu.icc_eoir1 & AV_ICC_INTID, intid);
		CHECK_EQ(fast.icc, (icc & ~AV_ICC_TAKEN) | AV_ICC_ENDED);
		break;
	case AV_FAST_ICC_PMR_EL1:
		CHECK(before.icc_pmr);
		CHECK_EQ(fast.icc_pmr, AV_ICC_PMR_KNOWN | (vcpu.icc_pmr & 0xf8));
		if (!is_write(&before)) {
			CHECK_EQ(fast.icc, icc);
			break;
		}
		CHECK(!before.icc_waits && !(icc & AV_ICC_OFFERED));
		CHECK_EQ(fast.icc, icc | AV_ICC_MASKED);
		break;
	default:
		CHECK(n != AV_FAST_CNTV_CTL_EL0 || before.cntv_ctl & AV_CNTV_KNOWN);
		return;
	}
	slow.icc = fast.icc;
	slow.icc_pmr = fast.icc_pmr;
}

/* The long way's class. */
static unsigned int class_of(unsigned int n)
{
	bool id = n == AV_FAST_UNDEF && av_esr_ec(before.esr) == AV_EC_SYS64;

	return id ? AV_EXIT_SYSREG : regs[n].cls;
}

/* The fast path was taken: its result equals the slow path's. */
static void compare(int ret)
{
	unsigned int n = register_taken();

	CHECK(n < AV_NR_FAST);
	CHECK(before.cheap & AV_CHEAP_ROWS || n < AV_FAST_TCR_EL1 || n >= AV_FAST_SVC || is_ttbr(n));
	take_long_way();
	CHECK_EQ(vcpu.regime_changes + vcpu.others, 0);
	if (is_ttbr(n) && is_write(&before))
		check_roots(ret);
	else
		CHECK_EQ(vcpu.ttbr_changes, 0);
	CHECK_EQ(vcpu.stats.event[AV_EVENT_INJECT_SYNC], n >= AV_FAST_SVC && n <= AV_FAST_UNDEF);
	CHECK_EQ(vcpu.stats.event[AV_EVENT_MODE_SWITCH], av_srf_el1(&before) != av_srf_el1(&slow));
	CHECK(!vcpu.killed);
	check_irq(n);
	/* Nothing is due that would have been taken before the guest continues. */
	CHECK(!av_inject_due(&vcpu));
	CHECK(!av_srf_offered(&slow) || av_srf_daif(&slow) & AV_PSR_I);
	CHECK_EQ(vcpu.stats.count[class_of(n)], 1);
	CHECK_EQ(vcpu.stats.cls, class_of(n));
	slow.fast[n]++;
	/* It is on where it may be; seen syndromes are kept. */
	if (av_srf_el1(&fast))
		CHECK_EQ(fast.quick, av_srf_mode(&fast) == AV_PSR_EL1H ? before.quick_on : 0);
	else
		CHECK_EQ(fast.quick, fast.quick_modes && !av_srf_daif(&fast) ?
				     before.quick_el0[0] : 0);
	if (n == AV_FAST_VBAR_EL1 && is_write(&before))
		CHECK_EQ(fast.svc_pc, av_srf_get(&fast, AV_VBAR_EL1) + 0x400);
	else
		CHECK_EQ(fast.svc_pc, before.svc_pc);
	slow.svc_pc = fast.svc_pc;
	CHECK_EQ(fast.quick_nr, av_srf_mode(&fast) == AV_PSR_EL1H ? before.quick_on_nr : 0);
	slow.quick = fast.quick;
	slow.quick_nr = fast.quick_nr;
	CHECK_EQ(fast.in_place, av_srf_mode(&fast) == AV_PSR_EL1H ? before.copies : 0);
	slow.in_place = fast.in_place;
	memcpy(slow.quick_imm, fast.quick_imm, sizeof(fast.quick_imm));
	CHECK(!memcmp(&fast, &slow, sizeof(fast)));
	taken[n][is_write(&before)]++;
}

static u64 times_noted;

/* The timed copy does the same, and notes the counter of each trap that is to be timed. */
static void check_timed(const struct av_srf *at_trap, int ret, unsigned int n)
{
	static struct av_srf timed;
	u64 noted;

	timed = *at_trap;
	CHECK_EQ(av_fast_timed(&timed), ret);
	noted = timed.log.timed;
	timed.log.timed = 0;
	CHECK(!memcmp(&timed, &fast, sizeof(fast)));
	if (n < AV_NR_FAST && fast.fast[n] % AV_TIME_EVERY == AV_TIME_PHASE)
		CHECK_EQ(noted, (uintptr_t)&timed.fast[n]);
	else
		CHECK_EQ(noted, 0);
	times_noted += !!noted;
}

static void one(void)
{
	static struct av_srf at_trap;
	unsigned long failed = check_failed;
	int ret;

	draw_state();
	/* Says it in slow.due. */
	CHECK(!av_inject_due(&vcpu));
	slow.slow = av_fast_not_now(&slow);
	av_quick_modes(&slow);
	av_quick_mode(&slow);
	draw_copy(vcpu.fetched);
	before = slow;
	fast = slow;
	if (token_esr) {
		tokens++;
		fast.esr = token_esr;
		fast.insn = draw();
		fast.pc += 4;
	}
	at_trap = fast;
	ret = av_fast(&fast);
	check_timed(&at_trap, ret, register_taken());
	if (ret) {
		compare(ret);
		/* Both agree on where to continue, and modes changed only where they may. */
		if (av_srf_el1(&fast) != av_srf_el1(&before)) {
			CHECK_EQ(ret, av_srf_el1(&fast) ? AV_FAST_TO_EL1 : AV_FAST_TO_EL0);
			CHECK(before.modes);
			to_el0 += ret == AV_FAST_TO_EL0;
		} else {
			CHECK(ret == AV_FAST_DONE || ret == AV_FAST_DONE_LOW ||
			      ret == AV_FAST_ROOTS);
		}
		if (ret == AV_FAST_DONE_LOW) {
			CHECK(!memcmp(&fast.regs[18], &before.regs[18], 13 * sizeof(u64)));
			CHECK_EQ(fast.sp, before.sp);
			CHECK(!memcmp(&fast.sys[AV_TPIDR_EL1], &before.sys[AV_TPIDR_EL1],
				      (AV_TPIDRRO_EL0 + 1 - AV_TPIDR_EL1) * sizeof(u64)));
		}
	} else {
		declined++;
		daif_refused += slow.due && !slow.slow;
		CHECK(!memcmp(&fast, &before, sizeof(fast)));
	}
	if (check_failed != failed)
		fprintf(stderr, "state: esr %#" PRIx64 " insn %#" PRIx64 " vpstate %#" PRIx64
			" due %" PRIu64 "\n", before.esr, before.insn, av_srf_vpstate(&before),
			before.due);
}

static u64 states = 1000000;

static void test_states(void)
{
	u64 i;

	slow.regs[0] = draw();
	for (i = 0; i < states && !check_failed; i++)
		one();
}

/* All of it was tried: each register, there and back where both are allowed. */
static void test_enough_was_tried(void)
{
	unsigned int i;

	CHECK(taken[AV_FAST_SVC][0] + taken[AV_FAST_SVC][1] > states / 1000);
	CHECK(taken[AV_FAST_BRK][0] + taken[AV_FAST_BRK][1] > states / 10000);
	CHECK(taken[AV_FAST_UNDEF][0] + taken[AV_FAST_UNDEF][1] > states / 10000);
	CHECK(taken[AV_FAST_ERET][0] + taken[AV_FAST_ERET][1] > states / 1000);
	CHECK(taken[AV_FAST_ERET_EL0][0] + taken[AV_FAST_ERET_EL0][1] > states / 10000);
	CHECK(taken[AV_FAST_HVC][0] + taken[AV_FAST_HVC][1] > states / 1000);
	CHECK(to_el0 > states / 10000);
	CHECK(tokens > states / 100);
	for (i = 0; i < AV_FAST_SVC; i++) {
		if (regs[i].flags & AV_ROW_READ)
			CHECK(taken[i][0] > states / 10000);
		if (regs[i].write_leaves && !is_ttbr(i))
			CHECK_EQ(taken[i][1], 0);
		else if (regs[i].flags & AV_ROW_WRITE)
			CHECK(taken[i][1] > states / 10000);
	}
	CHECK(times_noted > states / 1000);
	CHECK(declined > states / 10);
	CHECK(daif_refused > states / 100);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		states = strtoull(argv[1], NULL, 0);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 0) | 1;
	if (av_sysreg_init())
		return 1;
	RUN(test_rows);
	RUN(test_quick_rows);
	RUN(test_quick_syndromes);
	RUN(test_spsel_in_copies);
	RUN(test_quick_svc);
	RUN(test_states);
	RUN(test_enough_was_tried);
	return TESTS_DONE();
}
