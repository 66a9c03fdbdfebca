// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
/* Configurations: the values of a good one, and the messages about bad ones. */
#include "check.h"
#include "config.h"

#include <string.h>

#define HEAD "regime kvm\nout /tmp/x y\nstage2 3\n"
#define CORE "core a72 48 48 32 32 1024 4 64 4 64 4 20 12\n"
#define CACHES "caches a72 64 48 3 32 2 1024 16 8\n"

static struct config config;
static char error[512];

static int read_text(const char *text)
{
	FILE *file = fmemopen((void *)text, strlen(text), "r");
	int ret = config_read(&config, file, error, sizeof(error));

	fclose(file);
	return ret;
}

static void test_a_good_one(void)
{
	EQUAL(read_text(HEAD CORE CACHES "\nmodel a72 12 0\nmodel a72 21 12\n"), 0);
	EQUAL(config.regime, REGIME_KVM);
	EQUAL(strcmp(config.out, "/tmp/x y"), 0);
	EQUAL(config.nr_cores, 1);
	EQUAL(config.cores[0].l2.entries, 1024);
	EQUAL(config.cores[0].l1_largest, 20);
	EQUAL(config.nr_models, 2);
	EQUAL(config.models[1].s1, 21);
	EQUAL(config.models[1].s2, 12);
	EQUAL(config.models[1].core == &config.cores[0], 1);
	EQUAL(config.models[1].lines.ways, 8);
	EQUAL(config.models[1].lines.sets, 1024);
	config_free(&config);
	EQUAL(read_text(HEAD CORE), 0);
	EQUAL(config.nr_models, 0);
	EQUAL(config.whole, false);
	config_free(&config);
	EQUAL(read_text(HEAD CORE CACHES), 0);
	EQUAL(config.caches[0].line, 64);
	EQUAL(config.caches[0].l1[1].ways, 3);
	EQUAL(config.caches[0].l1[0].sets, 256);
	EQUAL(config.caches[0].l2.sets, 1024);
	config_free(&config);
	EQUAL(config.caches[0].line, 0);
	EQUAL(read_text(HEAD CORE "whole\n"), 0);
	EQUAL(config.whole, true);
	config_free(&config);
}

static void test_bad_ones(void)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "", "no line \"regime " },
		{ "regime kvm\nout x\nstage2 3\n", "no line \"core " },
		{ "regime hyperv\n", "line 1, \"regime hyperv\": a regime is" },
		{ "out ", "a file's name" },
		{ "stage2 5\n", "3 or 4 levels" },
		{ "stage2 three\n", "3 or 4 levels" },
		{ HEAD "core a72 48 48 32\n", "a name and twelve numbers" },
		{ HEAD "core a72 48 48 32 32 1023 4 64 4 64 4 20 12\n", "a multiple of its ways" },
		{ HEAD CORE CORE, "there twice" },
		{ HEAD CACHES, "the core of caches comes before them" },
		{ HEAD CORE CACHES CACHES, "a core's caches are there twice" },
		{ HEAD CORE "caches a72 64 48 3 32 2 1024 16\n", "a core and eight numbers" },
		{ HEAD CORE "caches a72 64 48 5 32 2 1024 16 8\n", "a power of two" },
		{ HEAD CORE "caches a72 64 48 3 32 2 1024 16 0\n", "tables have 1 way of" },
		{ HEAD CORE "caches a72 64 48 3 32 2 1024 16 17\n", "tables have 1 way of" },
		{ HEAD "model a72 12 0\n", "a model's core comes before it" },
		{ HEAD CORE "model n1 12 0\n", "a model's core comes before it" },
		{ HEAD CORE CACHES "model a72 12\n", "a core and two shifts" },
		{ HEAD CORE "model a72 12 0\n", "the caches of a model's core" },
		{ HEAD CORE CACHES "model a72 12 0\nmodel a72 13 0\n", "shift of 12, 16, 21 or 30" },
		{ "regime kvm\nout x\n" CORE CACHES "model a72 12 0\n", "levels come before" },
		{ HEAD CORE "cache a72\n", "no such word" },
		{ HEAD CORE "whole 3\n", "nothing comes behind this word" },
	};
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		EQUAL(read_text(*rows[i].text ? rows[i].text : "\n"), -1);
		if (!strstr(error, rows[i].says))
			fprintf(stderr, "row %u says: %s\n", i, error);
		EQUAL(strstr(error, rows[i].says) != NULL, 1);
	}
}

int main(void)
{
	RUN(test_a_good_one);
	RUN(test_bad_ones);
	return END();
}
