// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
#include "config.h"

#include <string.h>

#define LINE 4400

/* Each takes the rest of its line; returns 0, or -1 with the reason in *why. */

static int take_regime(struct config *c, const char *rest, const char **why)
{
	unsigned int i;

	for (i = 0; i < NR_REGIMES; i++) {
		if (!strcmp(rest, follow_regime_names[i])) {
			c->regime = i;
			return 0;
		}
	}
	*why = "a regime is native, kvm, vhe, armvisor or xen";
	return -1;
}

static int take_out(struct config *c, const char *rest, const char **why)
{
	*why = "a file's name is up to 4095 bytes";
	if (!*rest || strlen(rest) >= sizeof(c->out))
		return -1;
	strcpy(c->out, rest);
	return 0;
}

static int take_stage2(struct config *c, const char *rest, const char **why)
{
	*why = "stage 2 has 3 or 4 levels";
	if (strcmp(rest, "3") && strcmp(rest, "4"))
		return -1;
	c->s2_levels = *rest - '0';
	return 0;
}

static struct tlb_core *find_core(struct config *c, const char *name)
{
	unsigned int i;

	for (i = 0; i < c->nr_cores; i++)
		if (!strcmp(c->cores[i].name, name))
			return &c->cores[i];
	return NULL;
}

static int take_core(struct config *c, const char *rest, const char **why)
{
	struct tlb_core core = { 0 };
	int got;

	*why = "there are 16 cores at most";
	if (c->nr_cores == CONFIG_CORES)
		return -1;
	got = sscanf(rest, "%31s %u %u %u %u %u %u %u %u %u %u %u %u", core.name,
		     &core.l1i.entries, &core.l1i.ways, &core.l1d.entries, &core.l1d.ways,
		     &core.l2.entries, &core.l2.ways, &core.walk.entries, &core.walk.ways,
		     &core.ipa.entries, &core.ipa.ways, &core.l1_largest, &core.ipa_smallest);
	*why = "a core is a name and twelve numbers";
	if (got != 13)
		return -1;
	if (tlb_core_check(&core, why))
		return -1;
	*why = "a core is there twice";
	if (find_core(c, core.name))
		return -1;
	c->cores[c->nr_cores++] = core;
	return 0;
}

static int take_caches(struct config *c, const char *rest, const char **why)
{
	struct caches_shape l1i, l1d, l2;
	unsigned int line, table_ways;
	struct tlb_core *core;
	char name[TLB_NAME];

	*why = "caches are a core and eight numbers";
	if (sscanf(rest, "%31s %u %u %u %u %u %u %u %u", name, &line, &l1i.kib, &l1i.ways,
		   &l1d.kib, &l1d.ways, &l2.kib, &l2.ways, &table_ways) != 9)
		return -1;
	core = find_core(c, name);
	*why = "the core of caches comes before them";
	if (!core)
		return -1;
	*why = "a core's caches are there twice";
	if (c->caches[core - c->cores].line)
		return -1;
	if (caches_init(&c->caches[core - c->cores], line, l1i, l1d, l2, why))
		return -1;
	*why = "tables have 1 way of the second-level cache at least, and all of them at most";
	if (!table_ways || table_ways > l2.ways)
		return -1;
	core->line = line;
	core->tables.kib = l2.kib / l2.ways * table_ways;
	core->tables.ways = table_ways;
	return 0;
}

static int take_model(struct config *c, const char *rest, const char **why)
{
	const struct tlb_core *core;
	char name[TLB_NAME];
	unsigned int s1, s2;

	*why = "there are 64 models at most";
	if (c->nr_models == CONFIG_MODELS)
		return -1;
	*why = "a model is a core and two shifts";
	if (sscanf(rest, "%31s %u %u", name, &s1, &s2) != 3)
		return -1;
	core = find_core(c, name);
	*why = "a model's core comes before it";
	if (!core)
		return -1;
	*why = "stage 2's levels come before the models";
	if (!c->s2_levels)
		return -1;
	if (tlb_model_init(&c->models[c->nr_models], core, s1, s2, c->s2_levels, why))
		return -1;
	c->nr_models++;
	return 0;
}

static int take_whole(struct config *c, const char *rest, const char **why)
{
	*why = "nothing comes behind this word";
	c->whole = true;
	return *rest ? -1 : 0;
}

static const struct {
	const char *word;
	int (*take)(struct config *config, const char *rest, const char **why);
} lines[] = {
	{ "regime ", take_regime }, { "out ", take_out }, { "stage2 ", take_stage2 },
	{ "core ", take_core }, { "caches ", take_caches }, { "model ", take_model },
	{ "whole", take_whole },
};

#define NR_LINES (sizeof(lines) / sizeof(*lines))
#define NEEDED 4	/* the first ones */

static int take_line(struct config *c, const char *line, unsigned int *seen, const char **why)
{
	unsigned int i;

	for (i = 0; i < NR_LINES; i++) {
		size_t length = strlen(lines[i].word);

		if (!strncmp(line, lines[i].word, length)) {
			*seen |= 1U << i;
			return lines[i].take(c, line + length, why);
		}
	}
	*why = "no such word";
	return -1;
}

int config_read(struct config *c, FILE *file, char *error, size_t size)
{
	unsigned int number = 0, seen = 0, i;
	const char *why = "";
	char line[LINE];

	memset(c, 0, sizeof(*c));
	while (fgets(line, sizeof(line), file)) {
		number++;
		line[strcspn(line, "\n")] = 0;
		if (*line && take_line(c, line, &seen, &why)) {
			snprintf(error, size, "line %u, \"%.60s\": %s", number, line, why);
			config_free(c);
			return -1;
		}
	}
	for (i = 0; i < NEEDED; i++) {
		if (!(seen & 1U << i)) {
			snprintf(error, size, "there is no line \"%s…\"", lines[i].word);
			config_free(c);
			return -1;
		}
	}
	return 0;
}

void config_free(struct config *c)
{
	unsigned int i;

	for (i = 0; i < c->nr_models; i++)
		tlb_model_free(&c->models[i]);
	c->nr_models = 0;
	for (i = 0; i < CONFIG_CORES; i++)
		caches_free(&c->caches[i]);
}
