// SPDX-License-Identifier: GPL-2.0
#include "trap.h"
#include "format.h"

#define LINE_SIZE 2048

static char line[LINE_SIZE];
static unsigned int length;
static u64 lines;
static bool to_disk;
static u64 hash = 0xcbf29ce484222325UL;

static void line_put(struct sink *sink, char c)
{
	(void)sink;
	if (length < LINE_SIZE - 1)
		line[length++] = c;
}

void line_add(const char *text, ...)
{
	struct sink sink = { line_put };
	va_list args;

	va_start(args, text);
	format(&sink, text, args);
	va_end(args);
}

void line_end(void)
{
	unsigned int i;

	check(length < LINE_SIZE - 1, "a line was cut: raise LINE_SIZE");
	line[length] = '\0';
	if (to_disk) {
		disk_append(line, length);
		disk_append("\n", 1);
	} else {
		print("%s\n", line);
	}
	for (i = 0; i < length; i++)
		hash = (hash ^ (u8)line[i]) * 0x100000001b3UL;
	length = 0;
	lines++;
}

void report_open(void)
{
	to_disk = disk_open();
}

void report_close(void)
{
	if (to_disk)
		disk_flush();
}

u64 line_count(void)
{
	return lines;
}

u64 line_hash(void)
{
	return hash;
}

/* A feature's level is a field of an ID register; 15 in some fields means none. */
static const struct {
	const char *name;
	u8 reg;
	u8 shift;
} features[FEATURE_COUNT] = {
	[FEATURE_PAN] = { "pan", 3, 20 },
	[FEATURE_UAO] = { "uao", 4, 4 },
	[FEATURE_LSE] = { "lse", 0, 20 },
	[FEATURE_RAS] = { "ras", 2, 28 },
	[FEATURE_SSBS] = { "ssbs", 5, 4 },
	[FEATURE_DIT] = { "dit", 2, 48 },
	[FEATURE_PAUTH] = { "pauth", 1, 4 },
	[FEATURE_BTI] = { "bti", 5, 0 },
	[FEATURE_DPB] = { "dpb", 1, 0 },
	[FEATURE_TLBIRANGE] = { "tlbirange", 0, 56 },
	[FEATURE_AA32] = { "aa32", 2, 0 },
	[FEATURE_LRCPC] = { "lrcpc", 1, 20 },
	[FEATURE_FLAGM] = { "flagm", 0, 52 },
	[FEATURE_AA32_EL1] = { "aa32el1", 2, 4 },
	[FEATURE_HPDS] = { "hpds", 3, 12 },
};

static u64 id_register(unsigned int reg)
{
	switch (reg) {
	case 0:
		return read_sysreg(id_aa64isar0_el1);
	case 1:
		return read_sysreg(id_aa64isar1_el1);
	case 2:
		return read_sysreg(id_aa64pfr0_el1);
	case 3:
		return read_sysreg(id_aa64mmfr1_el1);
	case 4:
		return read_sysreg(id_aa64mmfr2_el1);
	default:
		return read_sysreg(id_aa64pfr1_el1);
	}
}

const char *feature_name(unsigned int feature)
{
	return features[feature].name;
}

unsigned int feature_level(unsigned int feature)
{
	return id_register(features[feature].reg) >> features[feature].shift & 15;
}
