// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
/*
 * QEMU's plugin: counts the instructions that a board's programs execute between two marks, by
 * class and by who executes them, and passes their accesses to models of TLBs and caches.
 *
 * A program marks sections by hints that do nothing elsewhere:
 *
 *	HINT #0x70	the models begin, empty
 *	HINT #0x71	counting begins
 *	HINT #0x72	counting ends: a section is written, the models pause
 *	HINT #0x73	the next two instructions load the first and last byte of memory
 *			that has the models' page sizes; all other memory has 4 KiB
 *	HINT #0x74	counting ends: a section is written, the models continue
 *
 * Alternatively, a machine's whole life is counted, from its reset to its end.
 *
 * The board's CPUs take turns on one thread, as in any board that counts instructions, so there are
 * no locks. Counts cover all CPUs; models follow one CPU, so a board with several has none. Records
 * of blocks stay until QEMU ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "insn.h"
#include "qemu_api.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_API;

#define PAGE_SHIFT	12
#define INSN_BYTES	4
#define MARK_FEED	0x70
#define MARK_COUNT	0x71
#define MARK_END	0x72
#define MARK_RANGE	0x73
#define MARK_PAUSE	0x74

#define CPUS		64

struct insns {
	struct block block;
	uint64_t pages[2];		/* code */
	uint64_t frames[2];
	unsigned int nr_pages;
	uint64_t memory[2];		/* where code begins in each page, by QEMU's addresses */
	unsigned int bytes[2];
	uint8_t classes[];
};

struct cpu {
	struct follow follow;
	const struct insns *last;	/* block */
	uint64_t begun_before;		/* when it began */
	uint64_t done;			/* of its instructions, when it is over */
	uint64_t counted;		/* of them */
};

static struct config config;
static struct cpu cpus[CPUS];
static struct cpu *running = cpus;
static FILE *out;

static uint64_t begun;			/* instructions, by code that QEMU generates */

static bool feeding, counting;
static uint64_t range[2];
static unsigned int sections;

static uint64_t insns_of[NR_WHOS][NR_INSN_CLASSES];
static uint64_t tlbis_of[NR_WHOS][NR_INSN_TLBIS];
static uint64_t accesses_of[NR_WHOS][2];
static uint64_t entries_of[NR_WHOS];
static uint64_t devices_of[NR_WHOS];

static void feed(uint64_t va, uint64_t frame, bool fetch)
{
	const struct follow *follow = &running->follow;
	enum who user = config.regime == REGIME_NATIVE ? WHO_USER : WHO_GUEST_USER;
	enum who kernel = config.regime == REGIME_NATIVE ? WHO_KERNEL : WHO_GUEST_KERNEL;
	struct tlb_access access = {
		.va = va,
		.frame = frame,
		.space = follow_space(follow),
		.who = follow->now,
		.fetch = fetch,
		.large = (follow->now == user || follow->now == kernel) &&
			 va >= range[0] && va <= range[1],
		/* Native code is treated as in a guest, if a model has two stages. */
		.staged = follow->now == user || follow->now == kernel,
	};
	unsigned int i;

	accesses_of[follow->now][fetch] += counting;
	for (i = 0; i < config.nr_models; i++)
		tlb_access(&config.models[i], &access);
}

static void touch(uint64_t at)
{
	unsigned int i;

	for (i = 0; i < config.nr_cores; i++)
		caches_access(&config.caches[i], at, running->follow.now, false);
}

/* All lines of a block's code, of each core's size. */
static void touch_code(const struct insns *block)
{
	unsigned int i, page;

	for (page = 0; page < block->nr_pages; page++) {
		uint64_t first = block->memory[page], end = first + block->bytes[page], at;

		for (i = 0; i < config.nr_cores; i++) {
			struct caches *c = &config.caches[i];

			for (at = c->line ? first & -(uint64_t)c->line : end; at < end; at += c->line)
				caches_access(c, at, running->follow.now, true);
		}
	}
}

/* `data` is where to store the address, one of the two that mark a range. */
static void on_memory(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t va, void *data)
{
	struct qemu_plugin_hwaddr *at;

	if (data)
		*(uint64_t *)data = va;
	if (!feeding && !counting)
		return;
	at = qemu_plugin_get_hwaddr(info, va);
	devices_of[running->follow.now] += counting && at && qemu_plugin_hwaddr_is_io(at);
	if (!feeding)
		return;
	feed(va, at ? qemu_plugin_hwaddr_phys_addr(at) >> PAGE_SHIFT : 0, false);
	if (at && !qemu_plugin_hwaddr_is_io(at))
		touch(qemu_plugin_hwaddr_phys_addr(at));
}

/* Instructions of the last block since counting began belong to its executor. */
static void account(struct cpu *cpu)
{
	uint64_t i;

	cpu->done = begun - cpu->begun_before;
	if (!cpu->last)
		return;
	for (i = cpu->counted; counting && i < cpu->done && i < cpu->last->block.insns; i++)
		insns_of[cpu->follow.now][cpu->last->classes[i]]++;
	cpu->counted = cpu->done;
}

static void on_block(unsigned int vcpu, void *data)
{
	struct cpu *cpu = &cpus[vcpu];
	enum who before = cpu->follow.now;
	const struct insns *next = data;
	unsigned int i;

	/* The CPU that ran until now has reached the end of its block. */
	account(running);
	running = cpu;
	follow_step(&cpu->follow, cpu->last ? &cpu->last->block : NULL, cpu->done, &next->block);
	cpu->last = next;
	cpu->begun_before = begun;
	cpu->counted = 0;
	if (counting && cpu->follow.now != before)
		entries_of[cpu->follow.now]++;
	for (i = 0; feeding && i < next->nr_pages; i++)
		feed(next->pages[i], next->frames[i], true);
	if (feeding)
		touch_code(next);
}

static void clear_counts(void)
{
	unsigned int i;

	memset(insns_of, 0, sizeof(insns_of));
	memset(tlbis_of, 0, sizeof(tlbis_of));
	memset(accesses_of, 0, sizeof(accesses_of));
	memset(entries_of, 0, sizeof(entries_of));
	memset(devices_of, 0, sizeof(devices_of));
	for (i = 0; i < config.nr_models; i++)
		memset(config.models[i].counts, 0, sizeof(config.models[i].counts));
	for (i = 0; i < config.nr_cores; i++)
		memset(config.caches[i].counts, 0, sizeof(config.caches[i].counts));
}

static void write_model(const struct tlb_model *m)
{
	unsigned int who;

	for (who = 0; who < NR_WHOS; who++) {
		const struct tlb_counts *c = &m->counts[who];

		if (!c->lookups[0] && !c->lookups[1])
			continue;
		fprintf(out, "model %s %u %u %s", m->core->name, m->s1, m->s2,
			follow_who_names[who]);
		fprintf(out, " %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu\n",
			(unsigned long long)c->lookups[0], (unsigned long long)c->lookups[1],
			(unsigned long long)c->l1_misses[0], (unsigned long long)c->l1_misses[1],
			(unsigned long long)c->walks[0], (unsigned long long)c->walks[1],
			(unsigned long long)c->refs[0], (unsigned long long)c->refs[1],
			(unsigned long long)c->refs_missed[0],
			(unsigned long long)c->refs_missed[1]);
	}
}

static void write_caches(const char *core, const struct caches *caches)
{
	unsigned int who;

	for (who = 0; who < NR_WHOS; who++) {
		const struct caches_counts *c = &caches->counts[who];

		if (c->lookups[0] || c->lookups[1])
			fprintf(out, "caches %s %s %llu %llu %llu %llu %llu %llu\n", core,
				follow_who_names[who],
				(unsigned long long)c->lookups[0], (unsigned long long)c->lookups[1],
				(unsigned long long)c->l1_misses[0],
				(unsigned long long)c->l1_misses[1],
				(unsigned long long)c->l2_misses[0],
				(unsigned long long)c->l2_misses[1]);
	}
}

static void write_count(const char *what, unsigned int who, const char *name, uint64_t count)
{
	if (count)
		fprintf(out, "%s %s %s %llu\n", what, follow_who_names[who], name,
			(unsigned long long)count);
}

static void write_section(void)
{
	unsigned int who, i;

	fprintf(out, "section %u %#llx %#llx\n", sections++, (unsigned long long)range[0],
		(unsigned long long)range[1]);
	for (who = 0; who < NR_WHOS; who++) {
		for (i = 0; i < NR_INSN_CLASSES; i++)
			write_count("insns", who, insn_class_names[i], insns_of[who][i]);
		for (i = 0; i < NR_INSN_TLBIS; i++)
			write_count("tlbi", who, insn_tlbi_names[i], tlbis_of[who][i]);
		write_count("accesses", who, "data", accesses_of[who][0]);
		write_count("accesses", who, "fetch", accesses_of[who][1]);
		write_count("accesses", who, "device", devices_of[who]);
		write_count("entries", who, "all", entries_of[who]);
	}
	for (i = 0; i < config.nr_models; i++)
		write_model(&config.models[i]);
	for (i = 0; i < config.nr_cores; i++)
		write_caches(config.cores[i].name, &config.caches[i]);
	fprintf(out, "end\n");
	fflush(out);
}

static void on_mark(unsigned int vcpu, void *data)
{
	unsigned int i;

	switch ((uintptr_t)data) {
	case MARK_FEED:
		for (i = 0; i < config.nr_models; i++)
			tlb_model_empty(&config.models[i]);
		for (i = 0; i < config.nr_cores; i++)
			caches_empty(&config.caches[i]);
		feeding = true;
		break;
	case MARK_COUNT:
		clear_counts();
		running->counted = begun - running->begun_before;
		counting = true;
		break;
	case MARK_PAUSE:
	case MARK_END:
		if (counting) {
			account(running);
			write_section();
		}
		counting = false;
		if ((uintptr_t)data == MARK_PAUSE)
			break;
		feeding = false;
		range[0] = 1;
		range[1] = 0;
		break;
	}
}

/*
 * The executor whose translations a TLBI reaches; spaces are those of follow_space(). The operand
 * (an address, an ASID or an IPA) is in a register and not visible. By address nothing is dropped
 * here: the memory of a page shows that it was mapped anew. By ASID, everything that may be meant
 * is dropped: the low half; under armvisor, which has no global entries, both halves of its guests
 * too.
 */
static void drop(struct tlb_model *m, enum insn_tlbi tlbi)
{
	bool kvm = config.regime == REGIME_KVM;
	uint8_t space = kvm && running->follow.now != WHO_KERNEL ? 2 : 1;

	switch (tlbi) {
	case TLBI_VMID:
		if (kvm)
			tlb_drop_space(m, space, TLB_BOTH);
		else
			tlb_drop_all(m);
		break;
	case TLBI_ASID:
		tlb_drop_space(m, space, TLB_LOW);
		if (config.regime == REGIME_ARMVISOR) {
			tlb_drop_space(m, 2, TLB_BOTH);
			tlb_drop_space(m, 3, TLB_BOTH);
		}
		break;
	case TLBI_VMID_BOTH:
		tlb_drop_space(m, 2, TLB_BOTH);
		tlb_drop_stage2(m);
		break;
	case TLBI_EL1:
		tlb_drop_all(m);
		break;
	case TLBI_EL2:
		tlb_drop_space(m, 4, TLB_BOTH);
		break;
	default:
		break;
	}
}

static void on_tlbi(unsigned int vcpu, void *data)
{
	enum insn_tlbi tlbi = (uintptr_t)data;
	unsigned int i;

	tlbis_of[running->follow.now][tlbi] += counting;
	/* Under armvisor a guest's TLBIs trap, and the ones executed for it are seen instead. */
	if (!feeding || (config.regime == REGIME_ARMVISOR && who_is_guest(running->follow.now)))
		return;
	for (i = 0; i < config.nr_models; i++)
		drop(&config.models[i], tlbi);
}

static void watch(struct qemu_plugin_insn *insn, uint32_t code, unsigned int after_range)
{
	enum insn_tlbi tlbi = insn_tlbi(code);
	int hint = insn_hint(code);

	qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &begun, 1);
	qemu_plugin_register_vcpu_mem_cb(insn, on_memory, QEMU_PLUGIN_CB_NO_REGS,
					 QEMU_PLUGIN_MEM_RW,
					 after_range ? &range[after_range - 1] : NULL);
	if (tlbi != TLBI_NONE)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_tlbi, QEMU_PLUGIN_CB_NO_REGS,
						       (void *)(uintptr_t)tlbi);
	if (hint >= MARK_FEED && hint <= MARK_PAUSE && hint != MARK_RANGE)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark, QEMU_PLUGIN_CB_NO_REGS,
						       (void *)(uintptr_t)hint);
}

static void note_page(struct insns *at, const struct qemu_plugin_insn *insn)
{
	uint64_t va = qemu_plugin_insn_vaddr(insn), page = va >> PAGE_SHIFT;

	if (at->nr_pages && at->pages[at->nr_pages - 1] >> PAGE_SHIFT == page) {
		at->bytes[at->nr_pages - 1] += INSN_BYTES;
		return;
	}
	if (at->nr_pages == 2)
		return;
	at->pages[at->nr_pages] = va;
	at->memory[at->nr_pages] = (uintptr_t)qemu_plugin_insn_haddr(insn);
	at->bytes[at->nr_pages] = INSN_BYTES;
	at->frames[at->nr_pages] = at->memory[at->nr_pages] >> PAGE_SHIFT;
	at->nr_pages++;
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb), i, ranged = n;
	struct insns *at = calloc(1, sizeof(*at) + n);

	if (!at) {
		fprintf(stderr, "count.so: no memory for a block of code\n");
		abort();
	}
	at->block.insns = n;
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint32_t code;

		memcpy(&code, qemu_plugin_insn_data(insn), sizeof(code));
		at->classes[i] = insn_class(code);
		watch(insn, code, i > ranged && i - ranged <= 2 ? i - ranged : 0);
		note_page(at, insn);
		if (insn_hint(code) == MARK_RANGE)
			ranged = i;
		if (i + 1 == n && at->classes[i] == INSN_ERET)
			at->block.end = BLOCK_ERET;
		else if (i + 1 == n && (code & 0xffe0001f) == 0xd4000002)
			at->block.end = BLOCK_HVC;
	}
	at->block.pc = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0));
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, at);
}

/* The machine has ended, and so has everything that began with it. */
static void on_exit_of_all(qemu_plugin_id_t id, void *data)
{
	if (counting) {
		account(running);
		write_section();
	}
	counting = false;
}

static int refuse(const char *what, const char *why)
{
	fprintf(stderr, "count.so: %s: %s\n", what, why);
	return -1;
}

static int set_up(const char *name)
{
	FILE *file = fopen(name, "r");
	char error[512];
	int ret;

	if (!file)
		return refuse(name, "cannot be read");
	ret = config_read(&config, file, error, sizeof(error));
	fclose(file);
	if (ret)
		return refuse(name, error);
	out = fopen(config.out, "w");
	return out ? 0 : refuse(config.out, "cannot be written");
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info,
					   int argc, char **argv)
{
	unsigned int i;

	if (strcmp(info->target_name, "aarch64") || !info->system_emulation)
		return refuse(info->target_name, "only whole aarch64 machines are known");
	if (info->system.max_vcpus > CPUS)
		return refuse("the board", "it has more than 64 CPUs");
	if (argc != 1 || strncmp(argv[0], "config=", 7))
		return refuse("arguments", "give it config=FILE, and nothing else");
	if (set_up(argv[0] + 7))
		return -1;
	if (info->system.max_vcpus > 1 && config.nr_models)
		return refuse("the board", "it has several CPUs, and models follow one");
	for (i = 0; i < CPUS; i++)
		follow_init(&cpus[i].follow, config.regime);
	range[0] = 1;
	if (config.whole) {
		counting = true;
		qemu_plugin_register_atexit_cb(id, on_exit_of_all, NULL);
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
