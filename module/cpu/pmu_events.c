// SPDX-License-Identifier: GPL-2.0
/* The guest's counters as perf events of the host: see cpu/pmu_host.h. */
#include <linux/irqflags.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "cpu/cpu.h"
#include "cpu/pmu_host.h"
#include "irq/irq.h"

/* perf_event_attr.config1 of the Arm PMU driver: a 64-bit counter. */
#define CONFIG1_LONG	BIT(0)

/* Is the event on this CPU's PMU now? Interrupts are off. */
static bool is_here(const struct perf_event *event)
{
	return event->state == PERF_EVENT_STATE_ACTIVE && event->oncpu == smp_processor_id();
}

static u64 counted(struct av_pmu *pmu, unsigned int n)
{
	struct perf_event *event = container_of(pmu, struct av_vcpu_pmu, regs)->counter[n].event;
	unsigned long flags;

	if (!event)
		return 0;
	local_irq_save(flags);
	if (is_here(event))
		event->pmu->read(event);
	local_irq_restore(flags);
	return local64_read(&event->count);
}

static const struct av_pmu_ops ops = { .counted = counted };

/* The host's PMU interrupt, on the CPU of the vCPU's thread. */
static void overflowed(struct perf_event *event, struct perf_sample_data *data,
		       struct pt_regs *regs)
{
	struct av_pmu_counter *counter = event->overflow_handler_context;
	struct av_vcpu *vcpu = counter->vcpu;
	struct av_pmu *pmu = &vcpu->cpu->pmu.regs;
	struct av_pmu_model model = av_pmu_model(vcpu->vm);
	unsigned int n = counter - vcpu->cpu->pmu.counter;
	u64 period;

	event->pmu->stop(event, PERF_EF_UPDATE);
	period = av_pmu_period(pmu, &model, n, pmu->value[n] + local64_read(&event->count));
	local64_set(&event->hw.period_left, 0);
	event->attr.sample_period = period;
	event->hw.sample_period = period;
	av_pmu_overflowed(pmu, &model, n);
	if (av_pmu_line(pmu)) {
		av_vcpu_request(vcpu, AV_REQ_PMU);
		av_vcpu_kick(vcpu);
	}
	event->pmu->start(event, PERF_EF_RELOAD);
}

static void release(struct av_vcpu *vcpu, unsigned int n)
{
	struct av_vcpu_pmu *pmu = &vcpu->cpu->pmu;

	pmu->on &= ~BIT(n);
	pmu->failed &= ~BIT(n);
	if (!pmu->counter[n].event)
		return;
	perf_event_release_kernel(pmu->counter[n].event);
	pmu->counter[n].event = NULL;
}

/* Create a disabled event for this thread; perf cannot move an event to another thread. */
static void create(struct av_vcpu *vcpu, const struct av_pmu_model *model, unsigned int n,
		   const struct av_pmu_plan *plan)
{
	struct av_vcpu_pmu *pmu = &vcpu->cpu->pmu;
	struct perf_event_attr attr = {
		.type = READ_ONCE(vcpu->vm->cpu->pmu_type),
		.size = sizeof(attr),
		.config = plan->event,
		.config1 = plan->wide ? CONFIG1_LONG : 0,
		.sample_period = av_pmu_period(&pmu->regs, model, n, pmu->regs.value[n]),
		.pinned = 1,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	struct perf_event *event;

	event = perf_event_create_kernel_counter(&attr, -1, current, overflowed,
						 &pmu->counter[n]);
	/* Without a perf event the counter stands still, as in KVM. */
	if (IS_ERR(event))
		pmu->failed |= BIT(n);
	else
		pmu->counter[n].event = event;
}

/* Take over the count of an event that belongs to another thread. */
static void follow_thread(struct av_vcpu *vcpu, unsigned int n)
{
	struct av_vcpu_pmu *pmu = &vcpu->cpu->pmu;
	struct perf_event *event = pmu->counter[n].event;

	if (!event || event->hw.target == current)
		return;
	pmu->regs.value[n] += counted(&pmu->regs, n);
	release(vcpu, n);
}

/* Enable the event of a counter that counts, and note the modes it counts in. */
static void apply_counter(struct av_vcpu *vcpu, const struct av_pmu_model *model, unsigned int n)
{
	struct av_vcpu_pmu *pmu = &vcpu->cpu->pmu;
	struct av_pmu_plan plan = av_pmu_plan(&pmu->regs, model, n);

	if (plan.counts) {
		follow_thread(vcpu, n);
		if (!pmu->counter[n].event && !(pmu->failed & BIT(n)))
			create(vcpu, model, n, &plan);
		if (pmu->counter[n].event && !(pmu->on & BIT(n))) {
			perf_event_enable(pmu->counter[n].event);
			pmu->on |= BIT(n);
		}
	}
	if (plan.counts && plan.el0)
		pmu->runs[0] |= BIT(n);
	if (plan.counts && plan.el1)
		pmu->runs[1] |= BIT(n);
}

static void turn_off(struct av_vcpu_pmu *pmu, unsigned int n)
{
	perf_event_disable(pmu->counter[n].event);
	pmu->on &= ~BIT(n);
}

/*
 * Apply a change of the registers, in the vCPU's thread. If PMCR_EL0.E is off, events stay enabled
 * until the end of KVM_RUN: a guest that stops its PMU usually restarts it. A disabled counter's
 * event is disabled, or else it would keep a host counter from another event.
 */
static void apply(struct av_vcpu *vcpu)
{
	struct av_vcpu_pmu *pmu = &vcpu->cpu->pmu;
	struct av_pmu_model model = av_pmu_model(vcpu->vm);
	unsigned int n;

	pmu->runs[0] = 0;
	pmu->runs[1] = 0;
	for (n = 0; n < AV_PMU_COUNTERS; n++)
		if (pmu->on & ~pmu->regs.enabled & BIT(n))
			turn_off(pmu, n);
	for (n = 0; pmu->regs.pmcr & AV_PMCR_E && n < AV_PMU_COUNTERS; n++)
		if (pmu->regs.enabled & BIT(n))
			apply_counter(vcpu, &model, n);
	vcpu->cpu->pmu_stay = pmu->on ? AV_STAY_COUNTS : 0;
	if (pmu->runs[0] != pmu->runs[1])
		vcpu->cpu->pmu_stay |= AV_STAY_ONE_MODE;
}

/* Release the events of counters whose value or event changed. */
static void forget(struct av_vcpu *vcpu)
{
	struct av_vcpu_pmu *pmu = &vcpu->cpu->pmu;
	unsigned int n;

	for (n = 0; pmu->regs.anew && n < AV_PMU_COUNTERS; n++) {
		if (!(pmu->regs.anew & BIT(n)))
			continue;
		release(vcpu, n);
		pmu->regs.anew &= ~BIT(n);
	}
}

bool av_pmu_guest(struct av_vcpu *vcpu, u16 enc, bool write, u64 *val)
{
	struct av_pmu *pmu = &vcpu->cpu->pmu.regs;
	struct av_pmu_model model;
	unsigned long flags;
	bool ok;

	if (!av_pmu_has(vcpu))
		return false;
	model = av_pmu_model(vcpu->vm);
	local_irq_save(flags);
	ok = av_pmu_access(pmu, &model, enc, av_srf_el1(vcpu->srf), write, val);
	local_irq_restore(flags);
	if (ok && write) {
		forget(vcpu);
		apply(vcpu);
		av_pmu_update_line(vcpu);
	}
	return ok;
}

/* PMCR_EL0.N belongs to the VM. */
static void set_counters(struct av_vm *vm, u64 pmcr)
{
	unsigned int n = FIELD_GET(AV_PMCR_N, pmcr);

	mutex_lock(&vm->config_lock);
	if (!vm->has_run && n <= vm->cpu->pmu_most)
		WRITE_ONCE(vm->cpu->pmu_counters, n);
	mutex_unlock(&vm->config_lock);
}

u64 av_pmu_vmm_get(struct av_vcpu *vcpu, u16 enc)
{
	struct av_pmu_model model = av_pmu_model(vcpu->vm);

	return av_pmu_get(&vcpu->cpu->pmu.regs, &model, enc);
}

void av_pmu_vmm_set(struct av_vcpu *vcpu, u16 enc, u64 val)
{
	struct av_pmu_model model;

	if (enc == AV_PMU_PMCR)
		set_counters(vcpu->vm, val);
	model = av_pmu_model(vcpu->vm);
	av_pmu_set(&vcpu->cpu->pmu.regs, &model, enc, val);
	forget(vcpu);
}

void av_pmu_update_line(struct av_vcpu *vcpu)
{
	struct av_vcpu_pmu *pmu = &vcpu->cpu->pmu;
	bool level = av_pmu_line(&pmu->regs);

	if (pmu->line == level)
		return;
	pmu->line = level;
	if (vcpu->vm->irq->ready)
		av_irq_inject(vcpu->vm, vcpu, pmu->irq, level, true);
}

void av_pmu_begin(struct av_vcpu *vcpu)
{
	apply(vcpu);
	av_pmu_update_line(vcpu);
}

void av_pmu_end(struct av_vcpu *vcpu)
{
	struct av_vcpu_pmu *pmu = &vcpu->cpu->pmu;
	unsigned int n;

	for (n = 0; pmu->on; n++)
		if (pmu->on & BIT(n))
			turn_off(pmu, n);
	vcpu->cpu->pmu_stay = 0;
}

void av_pmu_enter(struct av_vcpu *vcpu)
{
	struct av_vcpu_pmu *pmu = &vcpu->cpu->pmu;
	u32 runs = pmu->runs[av_srf_el1(vcpu->srf)], on = pmu->on;
	struct perf_event *event;
	unsigned int n;

	for (; on; on &= on - 1) {
		n = __ffs64(on);
		event = pmu->counter[n].event;
		if (!is_here(event) || !(runs & BIT(n)) == !!(event->hw.state & PERF_HES_STOPPED))
			continue;
		if (runs & BIT(n))
			event->pmu->start(event, PERF_EF_RELOAD);
		else
			event->pmu->stop(event, PERF_EF_UPDATE);
	}
}

void av_pmu_first_run(struct av_vcpu *vcpu)
{
	struct av_pmu_model model = av_pmu_model(vcpu->vm);

	av_pmu_reload(&vcpu->cpu->pmu.regs, &model);
	forget(vcpu);
}

void av_pmu_vcpu_init(struct av_vcpu *vcpu)
{
	struct av_vcpu_pmu *pmu = &vcpu->cpu->pmu;
	unsigned int n;

	for (n = 0; n < AV_PMU_COUNTERS; n++)
		pmu->counter[n].vcpu = vcpu;
	pmu->regs.ops = &ops;
	av_pmu_reset(&pmu->regs);
}

void av_pmu_vcpu_destroy(struct av_vcpu *vcpu)
{
	unsigned int n;

	for (n = 0; n < AV_PMU_COUNTERS; n++)
		release(vcpu, n);
}

void av_pmu_vcpu_reset(struct av_vcpu *vcpu)
{
	av_pmu_vcpu_destroy(vcpu);
	vcpu->cpu->pmu_stay = 0;
	av_pmu_reset(&vcpu->cpu->pmu.regs);
	/* Lower the interrupt line before the next entry. */
	if (av_pmu_has(vcpu))
		av_vcpu_request(vcpu, AV_REQ_PMU);
}
