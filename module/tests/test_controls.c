// SPDX-License-Identifier: GPL-2.0
/*
 * EL0's rights while the guest runs (cpu/controls.c): each bit of each register, for each value of
 * the host's and the guest's bit, at both virtual levels, against a separate description of the
 * register.
 */
#include "check.h"
#include "cpu/controls.h"
#include "cpu/hwdebug.h"
#include "draw.h"

/*
 * From bit 63 down, in nibbles. 0: off, 1: on, h: the host's, g: the guest's, u: the guest's
 * at virtual EL0 and on at virtual EL1, c: the guest's unless CTR_EL0 traps, w: as u where
 * WFE runs, s: SA0, t: TIDCP, v: the counter, f: FP, m: MDE, x: SS.
 */
#define SCTLR	"t000_0000_0000_0000_000h_h0hh_00hh_0000_" \
		"00hh_0uh0_hhh1_hw00_cu0h_h00h_hhhs_hhgh"
#define TCR	"0000_hhh0_0000_0000_0000_0hhh_hggh_0hhh_" \
		"hhhh_hhhh_0h01_0000_hhhh_hhhh_0001_0000"
#define CPACR	"0000_0000_0000_0000_0000_0000_0000_0000_" \
		"0001_0000_00f1_0000_0000_0000_0000_0000"
#define CNTKCTL	"0000_0000_0000_0000_0000_0000_0000_0000_" \
		"0000_0000_0000_00h0_0000_0000_hhhh_hhv0"
#define MDSCR	"0000_0000_0000_0000_0000_0000_0000_0000_" \
		"0000_0000_0000_0000_m001_0000_0000_000x"
#define PSTATE	"0000_0000_0000_0000_0000_0000_0000_0000_" \
		"gggg_000g_00x0_0000_000g_gg11_0000_0000"

struct state {
	bool host, guest, el1, sa, tidcp;
	unsigned int stay;
};

static bool expected(char kind, const struct state *s)
{
	switch (kind) {
	case '1':
		return true;
	case 'h':
		return s->host;
	case 'g':
		return s->guest;
	case 'u':
		return s->guest || s->el1;
	case 'c':
		return !(s->stay & AV_STAY_CTR_TRAPS) && s->guest;
	case 'w':
		return s->stay & AV_STAY_WFE_RUNS && (s->guest || s->el1);
	case 's':
		return s->el1 ? s->sa : s->guest;
	case 't':
		return s->tidcp;
	case 'v':
		return !(s->stay & AV_STAY_COUNTER_TRAPS) && (s->guest || s->el1);
	case 'f':
		return s->stay & AV_STAY_FP;
	case 'm':
		return s->stay & AV_STAY_MATCHING;
	case 'x':
		return s->stay & AV_STAY_STEPPING;
	default:
		return false;
	}
}

static char kind_of(const char *picture, unsigned int bit)
{
	unsigned int at = 63 - bit;

	return picture[at + at / 4];
}

static struct av_srf srf;

/* All registers with one bit set or not, as the state has it. */
static void run(struct av_controls *c, const struct state *s, unsigned int bit)
{
	u64 host = s->host ? BIT_ULL(bit) : 0, guest = s->guest ? BIT_ULL(bit) : 0;
	struct av_host_controls hc = {
		.sctlr = host, .tcr = host, .cntkctl = host, .tidcp = s->tidcp,
	};

	memset(&srf, 0, sizeof(srf));
	av_srf_set_vpstate(&srf, s->el1 ? AV_PSR_EL1H : AV_PSR_EL0T);
	av_srf_set(&srf, AV_SCTLR_EL1, guest | (s->sa ? AV_SCTLR_SA : 0));
	av_srf_set(&srf, AV_TCR_EL1, guest);
	av_srf_set(&srf, AV_CNTKCTL_EL1, guest);
	av_srf_set(&srf, AV_CPACR_EL1, guest);
	av_srf_set(&srf, AV_MDSCR_EL1, guest);
	srf.pstate = guest;
	/* A pending step: the virtual PSTATE's bit is passed on. */
	srf.vmode |= AV_PSR_SS;
	av_controls(c, &srf, &hc, s->stay);
}

static void check(const char *name, const char *picture, u64 got, const struct state *s,
		  unsigned int bit)
{
	unsigned int i;
	u64 want = 0;

	CHECK_EQ(strlen(picture), 79);
	for (i = 0; i < 64; i++) {
		struct state here = *s;

		/* The bit under test alone is set; the others are 0 on both sides. */
		here.host &= i == bit;
		here.guest &= i == bit;
		want |= (u64)expected(kind_of(picture, i), &here) << i;
	}
	if (got != want)
		fprintf(stderr, "%s: bit %u host %d guest %d el1 %d\n", name, bit, s->host, s->guest,
			s->el1);
	CHECK_EQ(got, want);
}

static void test_bit(unsigned int bit, const struct state *s)
{
	struct av_controls c;

	run(&c, s, bit);
	/* SA itself is a bit of the guest's: what it does to SA0 is another state's. */
	if (bit != 3 || s->guest == s->sa)
		check("SCTLR_EL1", SCTLR, c.sctlr, s, bit);
	check("TCR_EL1", TCR, c.tcr, s, bit);
	check("CPACR_EL1", CPACR, c.cpacr, s, bit);
	check("CNTKCTL_EL1", CNTKCTL, c.cntkctl, s, bit);
	check("MDSCR_EL1", MDSCR, c.mdscr, s, bit);
	check("PSTATE", PSTATE, srf.pstate, s, bit);
}

static void test_each_bit(void)
{
	unsigned int bit, i;

	for (bit = 0; bit < 64; bit++)
		for (i = 0; i < 8192; i++) {
			struct state s = {
				.host = i & 1, .guest = i & 2, .el1 = i & 4, .sa = i & 8,
				.tidcp = i & 16, .stay = i >> 5,
			};

			test_bit(bit, &s);
		}
}

/* All bits of the host at once: those of a newer architecture do not get through. */
static void test_everything_on(void)
{
	struct av_host_controls hc = { ~0ULL, ~0ULL, ~0ULL, false };
	struct av_controls c;

	memset(&srf, 0, sizeof(srf));
	av_controls(&c, &srf, &hc, 0);
	/* Pointer authentication, UMA, traps of WFI and WFE, E0E, BT0, TCF0, MOPS, FPMR, ATA0, LS64, TPIDR2. */
	CHECK_EQ(c.sctlr & 0x1dc004cecd054200ULL, 0);
	/* EPD, TBI, HWU, TBID, NFD, E0PD. */
	CHECK_EQ(c.tcr & 0x01fff86000800080ULL, 0);
	CHECK_EQ(c.cntkctl & 3, 0);
}

/* Modes may change in the window only where WFE does the same in both; CTR_EL0 always does. */
static void test_wfe_and_modes(void)
{
	const u64 open = AV_SCTLR_DZE | AV_SCTLR_UCI;

	memset(&srf, 0, sizeof(srf));
	av_srf_set(&srf, AV_CNTKCTL_EL1, 2);
	av_srf_set(&srf, AV_SCTLR_EL1, open);
	CHECK_EQ(av_controls_same(&srf, 0), true);
	CHECK_EQ(av_controls_same(&srf, AV_STAY_WFE_RUNS), false);
	av_srf_set(&srf, AV_SCTLR_EL1, open | AV_SCTLR_NTWE);
	CHECK_EQ(av_controls_same(&srf, AV_STAY_WFE_RUNS), true);
	av_srf_set(&srf, AV_SCTLR_EL1, open | AV_SCTLR_UCT);
	CHECK_EQ(av_controls_same(&srf, 0), true);
	CHECK_EQ(av_controls_same(&srf, AV_STAY_CTR_TRAPS), true);
	av_srf_set(&srf, AV_SCTLR_EL1, AV_SCTLR_DZE | AV_SCTLR_UCT);
	CHECK_EQ(av_controls_same(&srf, 0), false);
}

/* The host's code runs where nothing differs but what bears on EL0. */
static void test_suits_host(void)
{
	struct av_host_controls host;
	struct av_controls guest;
	unsigned int bit;

	for (bit = 0; bit < 64; bit++) {
		host = (struct av_host_controls) { .sctlr = ~0ULL, .tcr = ~0ULL };
		guest = (struct av_controls) { .sctlr = 0, .tcr = ~BIT_ULL(bit) };
		guest.sctlr |= AV_SCTLR_A;
		/* TBID0 to E0PD1 */
		CHECK_EQ(av_controls_suit_host(&guest, &host), bit >= 51 && bit <= 56);
		guest.tcr = host.tcr;
		CHECK_EQ(av_controls_suit_host(&guest, &host), true);
		guest.sctlr ^= BIT_ULL(bit);
		CHECK_EQ(av_controls_suit_host(&guest, &host), bit != 1);
	}
}

/* On a host of other sizes TTBR0 keeps the host's until it is empty, and TTBR1 has the guest's. */
static void test_sizes(void)
{
	static const u8 sizes[] = { 12, 16, 25 };
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		for (j = 0; j < ARRAY_SIZE(sizes); j++) {
			bool same = sizes[i] == 16 && sizes[j] == 16;
			u64 size = sizes[i] | (u64)sizes[j] << 16, others = BIT_ULL(22) | BIT_ULL(59);
			struct av_host_controls host = { .tcr = size | others };
			struct av_controls c;

			memset(&srf, 0, sizeof(srf));
			/* TBI1: the host's code may not run with it. */
			av_srf_set(&srf, AV_TCR_EL1, BIT_ULL(38));
			av_controls(&c, &srf, &host, 0);
			CHECK_EQ(c.tcr, others | BIT_ULL(38) | 16 | 16 << 16);
			CHECK_EQ(c.tcr_mid, same ? 0 : others | BIT_ULL(38) | sizes[i] | 16 << 16);
			CHECK_EQ(srf.tcr_mid, c.tcr_mid);
			CHECK_EQ(av_controls_suit_host(&c, &host), !same);
		}
}

/* Few values, so that two sets of inputs often agree. */
static u64 some(u64 bits)
{
	return below(4) ? bits : bits & draw();
}

static unsigned int random_inputs(struct av_host_controls *host)
{
	const u64 user = AV_SCTLR_DZE | AV_SCTLR_UCI | AV_SCTLR_NTWE;

	memset(&srf, 0, sizeof(srf));
	*host = (struct av_host_controls) {
		.sctlr = some(AV_SCTLR_M), .tcr = some(BIT_ULL(22)), .cntkctl = some(BIT_ULL(2)),
		.tidcp = !below(16),
	};
	av_srf_set(&srf, AV_SCTLR_EL1, some(user) | (below(2) ? some(AV_SCTLR_SA) : 0) |
		   some(AV_SCTLR_SA0));
	av_srf_set(&srf, AV_CNTKCTL_EL1, some(2));
	av_srf_set(&srf, AV_TCR_EL1, some(BIT_ULL(38)));
	av_srf_set(&srf, AV_CPACR_EL1, some(3ULL << 20));
	srf.vmode = below(2) ? AV_PSR_EL1H : 0;
	return below(4) ? AV_STAY_WFE_RUNS : below(256);
}

/* What av_controls_again() calls the same is the same, with the other level too. */
static void test_again(void)
{
	unsigned int i, same = 0, levels = 0;

	for (i = 0; i < 200000; i++) {
		struct av_controls first, second;
		struct av_host_controls host;
		struct av_controls_of of = {};
		unsigned int stay = random_inputs(&host);
		bool el1 = av_srf_el1(&srf);

		CHECK_EQ(av_controls_again(&of, &srf, &host, stay), false);
		av_controls(&first, &srf, &host, stay);
		av_controls_note(&of, &srf, &host, stay, av_controls_same(&srf, stay));
		CHECK_EQ(av_controls_again(&of, &srf, &host, stay), true);
		stay = random_inputs(&host);
		if (!av_controls_again(&of, &srf, &host, stay))
			continue;
		memset(&second, 0, sizeof(second));
		av_controls(&second, &srf, &host, stay);
		CHECK_EQ(first.sctlr, second.sctlr);
		CHECK_EQ(first.tcr, second.tcr);
		CHECK_EQ(first.tcr_mid, second.tcr_mid);
		CHECK_EQ(first.cpacr, second.cpacr);
		CHECK_EQ(first.cntkctl, second.cntkctl);
		CHECK_EQ(first.mdscr, second.mdscr);
		same++;
		levels += el1 != av_srf_el1(&srf);
	}
	CHECK_EQ(same > 100 && levels > 10, true);
}

int main(void)
{
	RUN(test_again);
	RUN(test_each_bit);
	RUN(test_everything_on);
	RUN(test_wfe_and_modes);
	RUN(test_suits_host);
	RUN(test_sizes);
	return TESTS_DONE();
}
