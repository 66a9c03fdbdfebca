// SPDX-License-Identifier: GPL-2.0
/* The register table: cpu/sysreg.c and its rows, cpu/regs_*.c. */
#include <stdlib.h>

#include "check.h"
#include "cpu/sysreg.h"
#include "irq/vgic.h"

#define ID(enc)		(0x6030000000000000ULL | KVM_REG_ARM64_SYSREG | (enc))
#define SCTLR		AV_SYS(3, 0, 1, 0, 0)
#define TTBR0		AV_SYS(3, 0, 2, 0, 0)
#define TCR		AV_SYS(3, 0, 2, 0, 2)
#define SP_EL0		AV_SYS(3, 0, 4, 1, 0)
#define CURRENTEL	AV_SYS(3, 0, 4, 2, 2)
#define DAIF		AV_SYS(3, 3, 4, 2, 1)
#define ISR		AV_SYS(3, 0, 12, 1, 0)
#define ICC_IAR1	AV_SYS(3, 0, 12, 12, 0)
#define OSLAR		AV_SYS(2, 0, 1, 0, 4)
#define OSLSR		AV_SYS(2, 0, 1, 1, 4)
#define MPIDR		AV_SYS(3, 0, 0, 0, 5)
#define MIDR		AV_SYS(3, 0, 0, 0, 0)
#define REVIDR		AV_SYS(3, 0, 0, 0, 6)
#define AIDR		AV_SYS(3, 1, 0, 0, 7)
#define PFR0		AV_SYS(3, 0, 0, 4, 0)
#define CNTVCT		AV_SYS(3, 3, 14, 0, 2)
#define CNTFRQ		AV_SYS(3, 3, 14, 0, 0)
#define CTR		AV_SYS(3, 3, 0, 0, 1)
#define CCSIDR		AV_SYS(3, 1, 0, 0, 0)
#define CSSELR		AV_SYS(3, 2, 0, 0, 0)
#define NO_SUCH		AV_SYS(3, 0, 15, 2, 0)

bool fake_meltdown_safe = true, fake_id_fields = true;
u64 fake_midr = 0x410fd083;
static struct av_vm vm;
static struct av_srf srf;
static struct av_vcpu vcpu = { .vm = &vm, .srf = &srf };

static void fresh(void)
{
	memset(&vm, 0, sizeof(vm));
	memset(&srf, 0xa5, sizeof(srf));
	vcpu = (struct av_vcpu){ .vm = &vm, .srf = &srf, .id = 0x23 };
	vm.icc = true;
	av_idregs_init(&vm);
	av_sysreg_reset(&vcpu);
	av_mpidr_init(&vcpu);
	av_caches_init(&vcpu);
	av_srf_set_vpstate(&srf, AV_PSR_EL1H);
}

/* As the guest does it; false: UNDEFINED. */
static bool guest(u16 enc, bool write, u64 *val)
{
	const struct av_sysreg *row = av_sysreg_find(enc);

	if (!row || !(row->flags & (write ? AV_ROW_WRITE : AV_ROW_READ)))
		return false;
	if (row->access)
		return row->access(&vcpu, row, write, val);
	if (write)
		srf.sys[row->vreg] = *val;
	else
		*val = srf.sys[row->vreg];
	return true;
}

static u64 reads(u16 enc)
{
	u64 val = ~0ULL;

	CHECK(guest(enc, false, &val));
	return val;
}

static bool writes(u16 enc, u64 val)
{
	return guest(enc, true, &val);
}

static void test_tables_are_entered_once(void)
{
	CHECK_EQ(av_sysreg_init(), 0);
	CHECK_EQ(av_sysreg_init(), -EINVAL);
}

/* Every encoding there is: found under its own, and complete. */
static void test_rows(void)
{
	unsigned int enc, n = 0;

	for (enc = 0; enc < 0x10000; enc++) {
		const struct av_sysreg *row = av_sysreg_find(enc);

		if (!row)
			continue;
		n++;
		CHECK_EQ(row->enc, enc);
		CHECK(row->name && row->name[0]);
		CHECK(row->flags & (AV_ROW_RW | AV_ROW_VMM));
		CHECK(row->cls < AV_NR_EXITS);
		/* Memory, or whoever sees it has a function. */
		if (row->vreg >= AV_NR_VREGS) {
			CHECK_EQ(row->vreg, AV_NR_VREGS);
			CHECK(row->access);
			CHECK(!(row->flags & AV_ROW_VMM) || (row->get && row->set));
			CHECK_EQ(row->reset, 0);
		}
		/* EL0 is somebody's decision. */
		CHECK(!(row->flags & AV_ROW_EL0) || row->access);
	}
	CHECK(n > 180);
	CHECK(!av_sysreg_find(NO_SUCH));
}

static void list_is_the_vmms_rows(bool pmu)
{
	unsigned int enc, n = 0, at = 0, want = 0;
	u64 id, val, last = 0;

	for (enc = 0; enc < 0x10000; enc++) {
		const struct av_sysreg *row = av_sysreg_find(enc);

		want += row && row->flags & AV_ROW_VMM && (pmu || !(row->flags & AV_ROW_PMU));
	}
	fresh();
	vm.pmu = pmu;
	for (; !av_sysreg_next(&vcpu, &at, &id); n++) {
		CHECK_EQ(id & ~0xffffULL, ID(0));
		CHECK(id != last);
		last = id;
		CHECK_EQ(av_sysreg_get(&vcpu, id, &val), 0);
		/* What was read can be written. */
		CHECK_EQ(av_sysreg_set(&vcpu, id, val), 0);
	}
	CHECK_EQ(n, want);
	/* And nothing behind. */
	CHECK_EQ(av_sysreg_next(&vcpu, &at, &id), -ENOENT);
}

static void test_list_is_the_vmms_rows(void)
{
	list_is_the_vmms_rows(false);
	list_is_the_vmms_rows(true);
}

static void test_reset(void)
{
	unsigned int enc;

	fresh();
	CHECK_EQ(reads(SCTLR), 0x00c50078);
	CHECK_EQ(reads(OSLSR), 8);
	CHECK_EQ(srf.sys[AV_FPEXC32_EL2], 0x700);
	CHECK_EQ(reads(MPIDR), 0x80000000 | 2 << 8 | 3);
	CHECK_EQ(vcpu.cpu->mpidr, reads(MPIDR));
	CHECK_EQ(vcpu.gic_mpidr, reads(MPIDR));
	for (enc = 0; enc < 0x10000; enc++) {
		const struct av_sysreg *row = av_sysreg_find(enc);

		if (row && row->vreg < AV_NR_VREGS)
			CHECK_EQ(srf.sys[row->vreg], row->reset);
		if (row && row->vreg < AV_NR_VREGS && enc != SCTLR && enc != OSLSR &&
		    row->vreg != AV_FPEXC32_EL2)
			CHECK_EQ(row->reset, 0);
	}
}

static void test_ids_of_the_vmm(void)
{
	u64 val;

	fresh();
	CHECK_EQ(av_sysreg_get(&vcpu, ID(NO_SUCH), &val), -ENOENT);
	CHECK_EQ(av_sysreg_set(&vcpu, ID(NO_SUCH), 0), -ENOENT);
	/* The guest's alone; another size; another kind. */
	CHECK_EQ(av_sysreg_get(&vcpu, ID(DAIF), &val), -ENOENT);
	CHECK_EQ(av_sysreg_get(&vcpu, ID(SCTLR) ^ (1ULL << 52), &val), -ENOENT);
	CHECK_EQ(av_sysreg_get(&vcpu, ID(SCTLR) ^ (1ULL << 20), &val), -ENOENT);
	CHECK_EQ(av_sysreg_set(&vcpu, ID(TTBR0), 0x1234000), 0);
	CHECK_EQ(vcpu.regime_changes, 1);
	CHECK_EQ(av_sysreg_get(&vcpu, ID(TTBR0), &val), 0);
	CHECK_EQ(val, 0x1234000);
	CHECK_EQ(av_sysreg_set(&vcpu, ID(OSLSR), 0xa), 0);
	CHECK_EQ(av_sysreg_set(&vcpu, ID(OSLSR), 0xb), -EINVAL);
	CHECK_EQ(av_sysreg_set(&vcpu, ID(MPIDR), 0x80000005), 0);
	CHECK_EQ(reads(MPIDR), 0x80000005);
	CHECK_EQ(vcpu.gic_mpidr, 0x80000005);
}

static void test_regime(void)
{
	fresh();
	CHECK(writes(TTBR0, 0x5000));
	CHECK_EQ(vcpu.ttbr_changes, 1);
	CHECK_EQ(vcpu.regime_changes, 0);
	/* Nothing that the walker does not do. */
	CHECK(writes(TCR, ~0ULL));
	CHECK(writes(TCR, ~0ULL));
	CHECK_EQ(vcpu.regime_changes, 1);
	CHECK_EQ(reads(TCR), ~(BIT_ULL(39) | BIT_ULL(40) | BIT_ULL(59)));
	CHECK(writes(SCTLR, AV_SCTLR_EE));
	CHECK(vcpu.killed);
	CHECK_EQ(reads(SCTLR), 0x00c50078);
}

static void test_pstate(void)
{
	u64 val = 0;

	fresh();
	CHECK_EQ(reads(CURRENTEL), 4);
	CHECK(!writes(CURRENTEL, 0));
	CHECK(writes(DAIF, ~0ULL));
	CHECK_EQ(reads(DAIF), AV_PSR_DAIF);
	CHECK_EQ(av_srf_vpstate(&srf), AV_PSR_EL1H | AV_PSR_DAIF);
	CHECK(writes(SP_EL0, 0x77));
	CHECK_EQ(srf.sys[AV_SP_EL0], 0x77);
	av_srf_set_vpstate(&srf, AV_PSR_EL1T);
	CHECK(!guest(SP_EL0, false, &val));
	/* EL0 may where its kernel lets it. */
	av_srf_set_vpstate(&srf, AV_PSR_EL0T);
	srf.sys[AV_SCTLR_EL1] &= ~AV_SCTLR_UMA;
	CHECK(!writes(DAIF, 0));
	srf.sys[AV_SCTLR_EL1] |= AV_SCTLR_UMA;
	CHECK(writes(DAIF, 0));
}

static void test_interrupts_and_time(void)
{
	fresh();
	CHECK_EQ(reads(ISR), 0);
	vcpu.irq_pending = AV_VGIC_IRQ;
	vcpu.cpu->serror_pending = true;
	CHECK_EQ(reads(ISR), AV_PSR_I | AV_PSR_A);
	reads(ICC_IAR1);
	CHECK(!writes(ICC_IAR1, 0));
	CHECK_EQ(vcpu.icc_accesses, 1);
	reads(CNTVCT);
	CHECK(!writes(CNTFRQ, 1));
	CHECK_EQ(vcpu.timer_accesses, 1);
	av_srf_set_vpstate(&srf, AV_PSR_EL0T);
	srf.sys[AV_CNTKCTL_EL1] = 0;
	CHECK(!guest(CNTVCT, false, &(u64){ 0 }));
	srf.sys[AV_CNTKCTL_EL1] = 2;
	reads(CNTVCT);
}

static void test_identification(void)
{
	u64 val;

	fresh();
	CHECK_EQ(reads(MIDR), 0x410fd083);
	CHECK_EQ(reads(CTR), fake_ctr_el0);
	/* Wherever the vCPU was stopped. */
	av_srf_set_vpstate(&srf, AV_PSR_EL0T);
	CHECK_EQ(av_sysreg_get(&vcpu, ID(CTR), &val), 0);
	CHECK_EQ(val, fake_ctr_el0);
	av_srf_set_vpstate(&srf, AV_PSR_EL1H);
	CHECK(reads(PFR0) & AV_ID_PFR0_GIC);
	vm.icc = false;
	CHECK(!(reads(PFR0) & AV_ID_PFR0_GIC));
	vm.icc = true;
	/*
	 * Cores without CSV3 may be safe; a guest on one that is not must see that, for its KPTI.
	 */
	CHECK_EQ(FIELD_GET(AV_ID_PFR0_CSV3, reads(PFR0)), 1);
	fake_meltdown_safe = false;
	fresh();
	CHECK_EQ(FIELD_GET(AV_ID_PFR0_CSV3, reads(PFR0)), 0);
	val = reads(PFR0) | FIELD_PREP(AV_ID_PFR0_CSV3, 1);
	CHECK_EQ(av_sysreg_set(&vcpu, ID(PFR0), val), -EINVAL);
	fake_meltdown_safe = true;
	fresh();
	/* Features may go before the first run, and only go. */
	val = reads(PFR0);
	CHECK_EQ(av_sysreg_set(&vcpu, ID(PFR0), val | 0xfULL << 32), -EINVAL);
	CHECK_EQ(av_sysreg_set(&vcpu, ID(PFR0), val & ~15ULL), -EINVAL);
	vm.has_run = true;
	CHECK_EQ(av_sysreg_set(&vcpu, ID(PFR0), val), 0);
	CHECK_EQ(av_sysreg_set(&vcpu, ID(PFR0), val | 0xfULL << 16), -EBUSY);
	CHECK(!vm.config_lock);
}

/* A VMM may say that there is no GICv3; once the VM has run, the vGIC that it has is shown. */
static void test_gic_field(void)
{
	u64 val;

	fresh();
	val = reads(PFR0) & ~AV_ID_PFR0_GIC;
	CHECK_EQ(av_sysreg_set(&vcpu, ID(PFR0), val), 0);
	CHECK_EQ(reads(PFR0), val);
	vm.has_run = true;
	CHECK_EQ(reads(PFR0), val | FIELD_PREP(AV_ID_PFR0_GIC, 1));
	vm.icc = false;
	CHECK_EQ(reads(PFR0), val);
	vm.icc = true;
	fake_id_fields = false;
	CHECK_EQ(reads(PFR0), val);
	av_cpu_vgic_created(&vm);
	CHECK_EQ(reads(PFR0), val);
	fake_id_fields = true;
	vm.has_run = false;
	av_cpu_vgic_created(&vm);
	CHECK_EQ(reads(PFR0), val | FIELD_PREP(AV_ID_PFR0_GIC, 1));
}

/* MIDR_EL1 and its kin: the hardware's, unless the VMM may set them. */
static void test_implementation(void)
{
	static const u16 regs[] = { MIDR, REVIDR, AIDR };
	static const u64 most[] = { ~0U, ~0ULL, ~0ULL };
	static const unsigned int place[] = { 0, 6, 64 + 7 };
	u64 host[3], val;
	unsigned int i;

	CHECK_EQ(av_imp_ids_init(), 0);
	fresh();
	for (i = 0; i < ARRAY_SIZE(regs); i++) {
		CHECK_EQ(av_id_mask(place[i]), most[i]);
		CHECK_EQ(av_sysreg_get(&vcpu, ID(regs[i]), &host[i]), 0);
		CHECK_EQ(host[i], reads(regs[i]));
		CHECK_EQ(av_sysreg_set(&vcpu, ID(regs[i]), host[i]), 0);
		CHECK_EQ(av_sysreg_set(&vcpu, ID(regs[i]), host[i] + 1), -EINVAL);
		CHECK(!writes(regs[i], 0) || reads(regs[i]) == host[i]);
	}
	/* On another CPU the guest sees another, the VMM does not. */
	fake_midr ^= 0x10;
	CHECK_EQ(reads(MIDR), host[0] ^ 0x10);
	CHECK_EQ(av_sysreg_get(&vcpu, ID(MIDR), &val), 0);
	CHECK_EQ(val, host[0]);

	vm.nr_vcpus = 1;
	CHECK_EQ(av_cpu_enable_imp_ids(&vm), -EINVAL);
	CHECK_EQ(av_sysreg_set(&vcpu, ID(MIDR), 1), -EINVAL);
	vm.nr_vcpus = 0;
	CHECK_EQ(av_cpu_enable_imp_ids(&vm), 0);
	CHECK_EQ(reads(MIDR), host[0]);
	for (i = 0; i < ARRAY_SIZE(regs); i++) {
		if (most[i] != ~0ULL)
			CHECK_EQ(av_sysreg_set(&vcpu, ID(regs[i]), most[i] + 1), -EINVAL);
		CHECK_EQ(av_sysreg_set(&vcpu, ID(regs[i]), most[i]), 0);
		CHECK_EQ(av_sysreg_set(&vcpu, ID(regs[i]), 0x1000 + i), 0);
		CHECK_EQ(reads(regs[i]), 0x1000 + i);
	}
	/* KVM_ARM_VCPU_INIT keeps them; the first run makes them final. */
	av_sysreg_reset(&vcpu);
	vm.has_run = true;
	for (i = 0; i < ARRAY_SIZE(regs); i++) {
		CHECK_EQ(reads(regs[i]), 0x1000 + i);
		CHECK_EQ(av_sysreg_get(&vcpu, ID(regs[i]), &val), 0);
		CHECK_EQ(val, 0x1000 + i);
		CHECK_EQ(av_sysreg_set(&vcpu, ID(regs[i]), 0x1000 + i), 0);
		CHECK_EQ(av_sysreg_set(&vcpu, ID(regs[i]), host[i]), -EBUSY);
	}
	CHECK(!vm.config_lock && !vm.lock);
	fake_midr ^= 0x10;
}

/* Another machine's caches, and CTR_EL0 of another CPU. */
static void test_caches(void)
{
	u64 id, val, ctr;
	unsigned int n, at = 0;

	fresh();
	for (n = 0; !av_demux_next(&vcpu, &at, &id); n++) {
		CHECK_EQ(av_demux_get(&vcpu, id, &val), 0);
		CHECK_EQ(av_demux_set(&vcpu, id, val), 0);
		CHECK_EQ(av_demux_set(&vcpu, id, 0x700fe007 + 8 * n), 0);
		CHECK_EQ(av_demux_get(&vcpu, id, &val), 0);
		CHECK_EQ(val, 0x700fe007 + 8 * n);
		writes(CSSELR, n);
		CHECK_EQ(reads(CCSIDR), val);
	}
	CHECK_EQ(n, AV_NR_CACHES);
	writes(CSSELR, 15);
	CHECK_EQ(reads(CCSIDR), 0);
	CHECK_EQ(av_demux_get(&vcpu, id + 1, &val), -ENOENT);
	CHECK_EQ(av_demux_set(&vcpu, id + 1, 7), -ENOENT);
	CHECK_EQ(av_demux_get(&vcpu, id ^ 0x100, &val), -ENOENT);
	/* The VMM's CTR_EL0 traps, for user space if its kernel allows it. */
	ctr = reads(CTR);
	CHECK_EQ(av_sysreg_set(&vcpu, ID(CTR), ctr + 1), -EINVAL);
	CHECK(!vm.cpu->ctr_traps);
	CHECK_EQ(av_sysreg_set(&vcpu, ID(CTR), (FAKE_ID | ctr) - 1), -EINVAL);
	vm.has_run = true;
	CHECK_EQ(av_sysreg_set(&vcpu, ID(CTR), ctr), 0);
	CHECK_EQ(av_sysreg_set(&vcpu, ID(CTR), ctr - 1), -EBUSY);
	av_srf_set_vpstate(&srf, AV_PSR_EL0T);
	srf.sys[AV_SCTLR_EL1] |= AV_SCTLR_UCT;
	reads(CTR);
	srf.sys[AV_SCTLR_EL1] &= ~AV_SCTLR_UCT;
	CHECK(!guest(CTR, false, &val));
}

static void test_debug(void)
{
	u64 dfr0 = AV_SYS(3, 0, 0, 5, 0), have;
	unsigned int n;

	fresh();
	have = FIELD_GET(AV_ID_DFR0_BRPS, reads(dfr0));
	for (n = 0; n < 16; n++)
		CHECK_EQ(guest(AV_SYS(2, 0, 0, n, 4), false, &(u64){ 0 }), n <= have);
	CHECK(writes(OSLAR, 1));
	CHECK_EQ(reads(OSLSR), 0xa);
	CHECK(writes(OSLAR, 0));
	CHECK_EQ(reads(OSLSR), 8);
}

/* The PMU's rows are there for those that have one. */
static void test_pmu(void)
{
	u64 dfr0 = AV_SYS(3, 0, 0, 5, 0), pmcr = AV_SYS(3, 3, 9, 12, 0), val = 1;
	u64 swinc = AV_SYS(3, 3, 9, 12, 4), cntr30 = AV_SYS(3, 3, 14, 11, 6);

	fresh();
	CHECK_EQ(FIELD_GET(AV_ID_DFR0_PMUVER, reads(dfr0)), 0);
	CHECK(!guest(pmcr, false, &val) && !writes(pmcr, 0));
	CHECK_EQ(av_sysreg_get(&vcpu, ID(pmcr), &val), -ENOENT);
	CHECK_EQ(av_sysreg_set(&vcpu, ID(pmcr), 0), -ENOENT);
	CHECK_EQ(av_sysreg_set(&vcpu, ID(dfr0), reads(dfr0) | 1 << 8), -EINVAL);
	vm.pmu = true;
	av_idregs_set_pmu(&vm);
	CHECK_EQ(FIELD_GET(AV_ID_DFR0_PMUVER, reads(dfr0)), AV_PMU_V3);
	CHECK(writes(pmcr, AV_PMCR_E));
	CHECK(reads(pmcr) & AV_PMCR_E);
	CHECK_EQ(av_sysreg_get(&vcpu, ID(pmcr), &val), 0);
	CHECK_EQ(val, reads(pmcr));
	CHECK_EQ(av_sysreg_set(&vcpu, ID(cntr30), 5), 0);
	CHECK_EQ(av_sysreg_get(&vcpu, ID(cntr30), &val), 0);
	CHECK_EQ(val, 5);
	CHECK(!guest(swinc, false, &val) && writes(swinc, 0));
	av_srf_set_vpstate(&srf, AV_PSR_EL0T);
	CHECK(!guest(pmcr, false, &val));
	av_srf_set_vpstate(&srf, AV_PSR_EL1H);
	/* The VMM may show none, and the first version again. */
	CHECK_EQ(av_sysreg_set(&vcpu, ID(dfr0), reads(dfr0) & ~AV_ID_DFR0_PMUVER), 0);
	CHECK_EQ(av_sysreg_set(&vcpu, ID(dfr0), reads(dfr0) | 2 << 8), -EINVAL);
	CHECK_EQ(av_sysreg_set(&vcpu, ID(dfr0), reads(dfr0) | 1 << 8), 0);
}

/* A guest writes anything anywhere: nothing but its own state may change. */
static void test_any_write(void)
{
	unsigned int i;
	u64 val;

	srand(1);
	fresh();
	for (i = 0; i < 200000; i++) {
		val = (u64)rand() << 40 ^ (u64)rand() << 20 ^ rand();
		av_srf_set_vpstate(&srf, i % 3 ? AV_PSR_EL1H : AV_PSR_EL0T);
		guest(rand() & 0xffff, rand() & 1, &val);
	}
	CHECK(vcpu.vm == &vm && vcpu.srf == &srf && vcpu.id == 0x23);
}

int main(void)
{
	RUN(test_tables_are_entered_once);
	RUN(test_rows);
	RUN(test_list_is_the_vmms_rows);
	RUN(test_reset);
	RUN(test_ids_of_the_vmm);
	RUN(test_regime);
	RUN(test_pstate);
	RUN(test_interrupts_and_time);
	RUN(test_identification);
	RUN(test_gic_field);
	RUN(test_implementation);
	RUN(test_caches);
	RUN(test_debug);
	RUN(test_pmu);
	RUN(test_any_write);
	return TESTS_DONE();
}
