// SPDX-License-Identifier: GPL-2.0
/* The index of the register table, and the VMM's view of the table. Rows: regs_*.c. */
#include <linux/errno.h>
#include <linux/kvm.h>
#include <linux/printk.h>

#include "cpu/pmu_host.h"
#include "cpu/sysreg.h"

static const struct av_sysreg_table *const tables[] = {
	&av_regs_debug, &av_regs_id, &av_regs_cache, &av_regs_vm, &av_regs_time,
	&av_regs_pmu,
};

/* Rows hashed by encoding. The hottest exits look here, so one probe must nearly always suffice. */
#define HASH_BITS	10
#define HASH_SIZE	BIT(HASH_BITS)

static const struct av_sysreg *hash[HASH_SIZE];

static unsigned int hash_of(u16 enc)
{
	return (enc * 0x9e3779b1U) >> (32 - HASH_BITS);
}

const struct av_sysreg *av_sysreg_find(u16 enc)
{
	unsigned int h;

	for (h = hash_of(enc); hash[h]; h = (h + 1) % HASH_SIZE)
		if (hash[h]->enc == enc)
			return hash[h];
	return NULL;
}

static int index_table(const struct av_sysreg_table *table)
{
	unsigned int i, h;

	for (i = 0; i < table->nr; i++) {
		const struct av_sysreg *row = &table->rows[i];

		if ((i && row[-1].enc >= row->enc) || av_sysreg_find(row->enc)) {
			pr_err("armvisor: %s is out of order in its register table\n", row->name);
			return -EINVAL;
		}
		h = hash_of(row->enc);
		while (hash[h])
			h = (h + 1) % HASH_SIZE;
		hash[h] = row;
	}
	return 0;
}

int av_sysreg_init(void)
{
	unsigned int t, n = 0;
	int ret;

	for (t = 0; t < ARRAY_SIZE(tables); t++) {
		n += tables[t]->nr;
		/* At most half full, to keep probes short. */
		if (n > HASH_SIZE / 2) {
			pr_err("armvisor: %u registers are too many for their index\n", n);
			return -EINVAL;
		}
		ret = index_table(tables[t]);
		if (ret)
			return ret;
	}
	return 0;
}

void av_sysreg_reset(struct av_vcpu *vcpu)
{
	unsigned int t, i;

	for (t = 0; t < ARRAY_SIZE(tables); t++)
		for (i = 0; i < tables[t]->nr; i++) {
			const struct av_sysreg *row = &tables[t]->rows[i];

			if (row->vreg < AV_NR_VREGS)
				av_srf_set(vcpu->srf, row->vreg, row->reset);
		}
}

#define SYSREG_ID	(KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM64_SYSREG)

static bool vmm_sees(const struct av_vcpu *vcpu, const struct av_sysreg *row)
{
	return row->flags & AV_ROW_VMM && (!(row->flags & AV_ROW_PMU) || av_pmu_has(vcpu));
}

static const struct av_sysreg *vmm_row(const struct av_vcpu *vcpu, u64 id)
{
	const struct av_sysreg *row;

	if ((id & ~0xffffULL) != SYSREG_ID)
		return NULL;
	row = av_sysreg_find(id & 0xffff);
	return row && vmm_sees(vcpu, row) ? row : NULL;
}

int av_sysreg_get(struct av_vcpu *vcpu, u64 id, u64 *val)
{
	const struct av_sysreg *row = vmm_row(vcpu, id);

	if (!row)
		return -ENOENT;
	if (row->get)
		return row->get(vcpu, row, val);
	*val = av_srf_get(vcpu->srf, row->vreg);
	return 0;
}

int av_sysreg_set(struct av_vcpu *vcpu, u64 id, u64 val)
{
	const struct av_sysreg *row = vmm_row(vcpu, id);

	if (!row)
		return -ENOENT;
	if (row->set)
		return row->set(vcpu, row, val);
	av_srf_set(vcpu->srf, row->vreg, val);
	return 0;
}

int av_sysreg_next(struct av_vcpu *vcpu, unsigned int *at, u64 *id)
{
	unsigned int t, first = 0;

	for (t = 0; t < ARRAY_SIZE(tables); first += tables[t++]->nr)
		while (*at - first < tables[t]->nr) {
			const struct av_sysreg *row = &tables[t]->rows[(*at)++ - first];

			if (!vmm_sees(vcpu, row))
				continue;
			*id = SYSREG_ID | row->enc;
			return 0;
		}
	return -ENOENT;
}
