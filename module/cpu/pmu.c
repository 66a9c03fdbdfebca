// SPDX-License-Identifier: GPL-2.0
/* The guest's PMU registers. Pure: see cpu/pmu.h. */
#include "cpu/pmu.h"

#define PMINTENSET	AV_SYS(3, 0, 9, 14, 1)
#define PMINTENCLR	AV_SYS(3, 0, 9, 14, 2)
#define PMCNTENSET	AV_SYS(3, 3, 9, 12, 1)
#define PMCNTENCLR	AV_SYS(3, 3, 9, 12, 2)
#define PMOVSCLR	AV_SYS(3, 3, 9, 12, 3)
#define PMSWINC		AV_SYS(3, 3, 9, 12, 4)
#define PMSELR		AV_SYS(3, 3, 9, 12, 5)
#define PMCEID0		AV_SYS(3, 3, 9, 12, 6)
#define PMCEID1		AV_SYS(3, 3, 9, 12, 7)
#define PMCCNTR		AV_SYS(3, 3, 9, 13, 0)
#define PMXEVTYPER	AV_SYS(3, 3, 9, 13, 1)
#define PMXEVCNTR	AV_SYS(3, 3, 9, 13, 2)
#define PMUSERENR	AV_SYS(3, 3, 9, 14, 0)
#define PMOVSSET	AV_SYS(3, 3, 9, 14, 3)

#define PMSELR_SEL	GENMASK_ULL(4, 0)
#define CRM_TYPER	BIT(2)		/* in CRm 8 to 15 of CRn 14: counters, then types */

/* STALL_SLOT and its halves are meaningless without PMMIR_EL1. */
#define CEID1_STALL_SLOTS	GENMASK_ULL(0x3f - 32, 0x3d - 32)

static u64 low(u64 val)
{
	return val & GENMASK_ULL(31, 0);
}

/* One bit for each counter that exists. */
static u64 all(const struct av_pmu_model *model)
{
	return BIT_ULL(AV_PMU_CYCLES) | (BIT_ULL(model->counters) - 1);
}

static bool exists(const struct av_pmu_model *model, unsigned int n)
{
	return n == AV_PMU_CYCLES || n < model->counters;
}

u32 av_pmu_events(unsigned int version)
{
	return version > AV_PMU_V3 ? AV_PMU_EVENTS : version ? 1024 : 0;
}

static u64 event_mask(const struct av_pmu_model *model)
{
	u32 events = av_pmu_events(model->version);

	return events ? events - 1 : 0;
}

static u16 event_of(const struct av_pmu *pmu, const struct av_pmu_model *model, unsigned int n)
{
	return n == AV_PMU_CYCLES ? AV_PMEVENT_CPU_CYCLES : pmu->type[n] & event_mask(model);
}

static bool is_wide(const struct av_pmu_model *model, unsigned int n)
{
	return n == AV_PMU_CYCLES || model->version >= AV_PMU_V3P5;
}

static bool overflows_wide(const struct av_pmu *pmu, const struct av_pmu_model *model,
			   unsigned int n)
{
	return is_wide(model, n) &&
	       pmu->pmcr & (n == AV_PMU_CYCLES ? AV_PMCR_LC : AV_PMCR_LP);
}

/* ---- counters ------------------------------------------------------------- */

static u64 value_of(struct av_pmu *pmu, const struct av_pmu_model *model, unsigned int n)
{
	u64 val = pmu->value[n] + pmu->ops->counted(pmu, n);

	return is_wide(model, n) ? val : low(val);
}

static void set_value(struct av_pmu *pmu, unsigned int n, u64 val)
{
	pmu->value[n] = val;
	pmu->anew |= BIT(n);
}

/* Change a counter's event; its value stays. */
static void set_type(struct av_pmu *pmu, unsigned int n, u64 type)
{
	/* If the event is about to be recreated, value[] already includes its count. */
	if (!(pmu->anew & BIT(n)))
		pmu->value[n] += pmu->ops->counted(pmu, n);
	pmu->type[n] = type;
	pmu->anew |= BIT(n);
}

u64 av_pmu_period(const struct av_pmu *pmu, const struct av_pmu_model *model, unsigned int n,
		  u64 value)
{
	if (!overflows_wide(pmu, model, n))
		return BIT_ULL(32) - low(value);
	/* perf's periods are signed; no counter gets that far. */
	return value > GENMASK_ULL(62, 0) + 1 ? -value : GENMASK_ULL(62, 0);
}

void av_pmu_overflowed(struct av_pmu *pmu, const struct av_pmu_model *model, unsigned int n)
{
	u64 val;

	/* Carry into the next counter while counters are chained; each of them may overflow. */
	for (;;) {
		pmu->overflow |= BIT_ULL(n);
		if (n & 1 || !exists(model, n + 1) || overflows_wide(pmu, model, n))
			return;
		n++;
		if (n == AV_PMU_CYCLES || !(pmu->pmcr & AV_PMCR_E) ||
		    !(pmu->enabled & BIT_ULL(n)) || event_of(pmu, model, n) != AV_PMEVENT_CHAIN)
			return;
		val = pmu->value[n] + 1;
		pmu->value[n] = is_wide(model, n) ? val : low(val);
		if (overflows_wide(pmu, model, n) ? val : low(val))
			return;
	}
}

static void software_increment(struct av_pmu *pmu, const struct av_pmu_model *model, u64 mask)
{
	unsigned int n;
	u64 val;

	if (!(pmu->pmcr & AV_PMCR_E))
		return;
	mask &= pmu->enabled & all(model);
	for (n = 0; n < AV_PMU_CYCLES; n++) {
		if (!(mask & BIT_ULL(n)) || event_of(pmu, model, n) != AV_PMEVENT_SW_INCR)
			continue;
		val = pmu->value[n] + 1;
		pmu->value[n] = is_wide(model, n) ? val : low(val);
		if (!(overflows_wide(pmu, model, n) ? val : low(val)))
			av_pmu_overflowed(pmu, model, n);
	}
}

static bool allowed(const struct av_pmu_model *model, u16 event)
{
	return !model->filter || model->filter[event / 64] >> event % 64 & 1;
}

struct av_pmu_plan av_pmu_plan(const struct av_pmu *pmu, const struct av_pmu_model *model,
			       unsigned int n)
{
	u64 type = pmu->type[n];
	struct av_pmu_plan plan = {
		.event = event_of(pmu, model, n),
		.wide = is_wide(model, n),
		.el1 = !(type & AV_PMTYPE_P) == !(type & AV_PMTYPE_NSK),
		.el0 = !(type & AV_PMTYPE_U) == !(type & AV_PMTYPE_NSU),
	};

	plan.counts = pmu->pmcr & AV_PMCR_E && pmu->enabled & all(model) & BIT_ULL(n) &&
		      plan.event != AV_PMEVENT_SW_INCR && plan.event != AV_PMEVENT_CHAIN &&
		      (plan.el0 || plan.el1) && allowed(model, plan.event);
	return plan;
}

void av_pmu_filter(u64 *filter, bool first, u32 base, u32 nr, bool allow)
{
	u32 end = base + nr, n;

	if (first)
		memset(filter, allow ? 0 : 0xff, AV_PMU_EVENTS / 8);
	for (; base < end; base += n) {
		u64 events;

		n = min(end - base, 64 - base % 64);
		events = GENMASK_ULL(n - 1, 0) << base % 64;
		if (allow)
			filter[base / 64] |= events;
		else
			filter[base / 64] &= ~events;
	}
}

/* ---- registers ------------------------------------------------------------- */

static u64 read_pmcr(const struct av_pmu *pmu, const struct av_pmu_model *model)
{
	return pmu->pmcr | FIELD_PREP(AV_PMCR_N, model->counters);
}

/* LC is RES1 without AArch32. */
static void write_pmcr(struct av_pmu *pmu, const struct av_pmu_model *model, u64 val)
{
	u64 old = pmu->pmcr;
	unsigned int n;

	if (model->version < AV_PMU_V3P5)
		val &= ~AV_PMCR_LP;
	pmu->pmcr = (val & AV_PMCR_WRITABLE & ~(AV_PMCR_P | AV_PMCR_C)) | AV_PMCR_LC;
	/* LP changes where a counter overflows, and so its period. */
	for (n = 0; (pmu->pmcr ^ old) & AV_PMCR_LP && n < model->counters; n++)
		set_type(pmu, n, pmu->type[n]);
	if (val & AV_PMCR_C)
		set_value(pmu, AV_PMU_CYCLES, 0);
	for (n = 0; val & AV_PMCR_P && n < model->counters; n++)
		set_value(pmu, n, 0);
}

static u64 read_ceid(const struct av_pmu_model *model, unsigned int half)
{
	u64 val = model->ceid[half] & (half ? ~CEID1_STALL_SLOTS : ~0ULL);
	u64 may = ~0ULL;

	if (!half)
		val |= BIT_ULL(AV_PMEVENT_CHAIN);
	if (model->filter) {
		may = low(model->filter[0] >> 32 * half);
		/* The upper half has the events from 0x4000 on, in versions that can name them. */
		if (av_pmu_events(model->version) > 0x4000)
			may |= low(model->filter[0x4000 / 64] >> 32 * half) << 32;
	}
	return val & may;
}

/* PMEVCNTR<n>, PMEVTYPER<n> and PMCCFILTR have the number in their encoding. */
static bool is_numbered(u16 enc)
{
	return FIELD_GET(AV_SYS_CRN, enc) == 14;
}

static unsigned int number_of(const struct av_pmu *pmu, u16 enc)
{
	if (is_numbered(enc))
		return (FIELD_GET(AV_SYS_CRM, enc) & 3) << 3 | FIELD_GET(AV_SYS_OP2, enc);
	return enc == PMCCNTR ? AV_PMU_CYCLES : pmu->pmselr & PMSELR_SEL;
}

static bool is_type(u16 enc)
{
	return enc == PMXEVTYPER || (is_numbered(enc) && FIELD_GET(AV_SYS_CRM, enc) & CRM_TYPER);
}

static bool is_counter(u16 enc)
{
	return enc == PMCCNTR || enc == PMXEVCNTR || (is_numbered(enc) && !is_type(enc));
}

/* Bits of PMUSERENR_EL0, any of which allows virtual EL0 the access; all ones: always allowed. */
static u64 needed_by_el0(u16 enc, bool write)
{
	switch (enc) {
	case PMSWINC:
		return AV_PMUSERENR_EN | AV_PMUSERENR_SW;
	case PMSELR:
		return AV_PMUSERENR_EN | AV_PMUSERENR_ER;
	case PMCCNTR:
		return AV_PMUSERENR_EN | (write ? 0 : AV_PMUSERENR_CR);
	case PMUSERENR:
		return write ? 0 : ~0ULL;
	case PMINTENSET:
	case PMINTENCLR:
		return 0;
	}
	return AV_PMUSERENR_EN | (is_counter(enc) && !write ? AV_PMUSERENR_ER : 0);
}

static bool may(const struct av_pmu *pmu, u16 enc, bool el1, bool write)
{
	u64 needed = needed_by_el0(enc, write);

	return el1 || needed == ~0ULL || pmu->pmuserenr & needed;
}

/* PMCNTEN, PMINTEN, PMOVS: each has a set and a clear register. */
static u64 *pair_of(struct av_pmu *pmu, u16 enc, bool *sets)
{
	*sets = enc == PMCNTENSET || enc == PMINTENSET || enc == PMOVSSET;
	switch (enc) {
	case PMCNTENSET:
	case PMCNTENCLR:
		return &pmu->enabled;
	case PMINTENSET:
	case PMINTENCLR:
		return &pmu->interrupt;
	case PMOVSSET:
	case PMOVSCLR:
		return &pmu->overflow;
	}
	return NULL;
}

static void write_pair(u64 *pair, bool sets, u64 val)
{
	*pair = sets ? *pair | val : *pair & ~val;
}

static bool access_counter(struct av_pmu *pmu, const struct av_pmu_model *model, u16 enc,
			   bool write, u64 *val)
{
	unsigned int n = number_of(pmu, enc);

	if (!exists(model, n))
		return false;
	if (is_type(enc)) {
		if (write)
			set_type(pmu, n, *val & (AV_PMTYPE_P | AV_PMTYPE_U | event_mask(model)));
		else
			*val = pmu->type[n];
	} else if (write) {
		set_value(pmu, n, *val);
	} else {
		*val = value_of(pmu, model, n);
	}
	return true;
}

static bool access_word(struct av_pmu *pmu, const struct av_pmu_model *model, u16 enc,
			bool write, u64 *val)
{
	switch (enc) {
	case AV_PMU_PMCR:
		if (write)
			write_pmcr(pmu, model, *val);
		else
			*val = read_pmcr(pmu, model) & ~(AV_PMCR_P | AV_PMCR_C);
		return true;
	case PMSWINC:
		software_increment(pmu, model, *val);
		return true;
	case PMSELR:
		if (write)
			pmu->pmselr = *val;
		else
			*val = pmu->pmselr & PMSELR_SEL;
		return true;
	case PMUSERENR:
		if (write)
			pmu->pmuserenr = *val & AV_PMUSERENR_ALL;
		else
			*val = pmu->pmuserenr & AV_PMUSERENR_ALL;
		return true;
	case PMCEID0:
	case PMCEID1:
		*val = read_ceid(model, enc == PMCEID1);
		return true;
	}
	return false;
}

bool av_pmu_access(struct av_pmu *pmu, const struct av_pmu_model *model, u16 enc, bool el1,
		   bool write, u64 *val)
{
	bool sets;
	u64 *pair;

	if (!may(pmu, enc, el1, write))
		return false;
	if (is_type(enc) || is_counter(enc))
		return access_counter(pmu, model, enc, write, val);
	pair = pair_of(pmu, enc, &sets);
	if (!pair)
		return access_word(pmu, model, enc, write, val);
	if (write)
		write_pair(pair, sets, *val & all(model));
	else
		*val = *pair;
	return true;
}

u64 av_pmu_get(struct av_pmu *pmu, const struct av_pmu_model *model, u16 enc)
{
	unsigned int n;
	bool sets;
	u64 *pair;

	if (is_type(enc))
		return pmu->type[number_of(pmu, enc)];
	if (is_counter(enc)) {
		n = number_of(pmu, enc);
		return value_of(pmu, model, n);
	}
	pair = pair_of(pmu, enc, &sets);
	if (pair)
		return *pair & all(model);
	switch (enc) {
	case AV_PMU_PMCR:
		return read_pmcr(pmu, model);
	case PMSELR:
		return pmu->pmselr;
	case PMUSERENR:
		return pmu->pmuserenr;
	}
	return 0;
}

void av_pmu_set(struct av_pmu *pmu, const struct av_pmu_model *model, u16 enc, u64 val)
{
	bool sets;
	u64 *pair;

	if (is_type(enc)) {
		set_type(pmu, number_of(pmu, enc), val);
		return;
	}
	if (is_counter(enc)) {
		set_value(pmu, number_of(pmu, enc), val);
		return;
	}
	pair = pair_of(pmu, enc, &sets);
	if (pair) {
		write_pair(pair, sets, val & all(model));
		return;
	}
	switch (enc) {
	case AV_PMU_PMCR:
		/* P and C take effect before the first run: av_pmu_reload(). */
		pmu->pmcr = (val & AV_PMCR_WRITABLE) | AV_PMCR_LC;
		break;
	case PMSELR:
		pmu->pmselr = val;
		break;
	case PMUSERENR:
		pmu->pmuserenr = val;
		break;
	}
}

void av_pmu_reload(struct av_pmu *pmu, const struct av_pmu_model *model)
{
	write_pmcr(pmu, model, pmu->pmcr);
	pmu->overflow &= all(model);
	pmu->interrupt &= all(model);
	pmu->enabled &= all(model);
}

void av_pmu_reset(struct av_pmu *pmu)
{
	const struct av_pmu_ops *ops = pmu->ops;

	memset(pmu, 0, sizeof(*pmu));
	pmu->ops = ops;
	pmu->pmcr = AV_PMCR_LC;
}
