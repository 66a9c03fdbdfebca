// SPDX-License-Identifier: GPL-2.0
/* The generator of random sequences: a seed always gives the same code, within bounds. */
#include "check.h"

#include <string.h>

#include "../random/generate.h"

#define SEEDS 20000
#define END 0xd421c1a0U	/* brk #0xe0d */
#define ERET 0xd69f03e0U

/* Every operation must come up, and each mode to start in. */
void check_random_variety(const char *folder)
{
	unsigned int modes[3] = { 0 }, returns = 0, longest = 0, i;
	struct sequence s;
	u64 seed;

	(void)folder;
	for (seed = 0; seed < SEEDS; seed++) {
		sequence_generate(&s, seed);
		EXPECT(s.length && s.length <= SEQUENCE_MAX && s.mode < 3);
		EXPECT(s.code[s.length - 1] == END);
		modes[s.mode]++;
		if (s.length > longest)
			longest = s.length;
		for (i = 0; i < s.length; i++)
			returns += s.code[i] == ERET;
		/* The end is at the end only: a sequence that met it before would be cut. */
		for (i = 0; i + 1 < s.length; i++)
			EXPECT(s.code[i] != END);
	}
	EXPECT(modes[0] > SEEDS / 5 && modes[1] > SEEDS / 5 && modes[2] > SEEDS / 10);
	EXPECT(returns > SEEDS);
	EXPECT(longest > 300);
}

void check_random_repeats(const char *folder)
{
	struct sequence a, b;
	u64 seed;

	(void)folder;
	for (seed = 1; seed < 500; seed++) {
		memset(&a, 0x55, sizeof(a));
		memset(&b, 0xaa, sizeof(b));
		sequence_generate(&a, seed);
		sequence_generate(&b, seed);
		EXPECT(a.length == b.length && a.mode == b.mode);
		EXPECT(!memcmp(a.code, b.code, a.length * 4));
		EXPECT(!memcmp(a.x, b.x, sizeof(a.x)));
		sequence_generate(&b, seed + 1);
		EXPECT(a.length != b.length || memcmp(a.code, b.code, a.length * 4));
	}
}
