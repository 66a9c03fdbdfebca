// SPDX-License-Identifier: GPL-2.0
/* Xen's hypercalls on arm64: the number is in x16, arguments are from x0 on. */
#include "guest.h"

#define CONSOLE_WRITE 0
#define LINE 120	/* bytes that Xen copies at once */

static char line[LINE] __attribute__((aligned(64)));
static unsigned int used;

s64 xen_call(u64 function, u64 a, u64 b, u64 c)
{
	register u64 x0 asm("x0") = a;
	register u64 x1 asm("x1") = b;
	register u64 x2 asm("x2") = c;
	register u64 x16 asm("x16") = function;

	asm volatile("hvc #0xea1" : "+r" (x0), "+r" (x1), "+r" (x2), "+r" (x16) : : "memory");
	return (s64)x0;
}

/* Xen reads this memory with caches on; the guest may have written it with caches off. */
static void clean_line(void)
{
	u64 size = 4UL << (read_sysreg(ctr_el0) >> 16 & 15);
	u64 at;

	for (at = (u64)line & ~(size - 1); at < (u64)line + LINE; at += size)
		asm volatile("dc civac, %0" : : "r" (at) : "memory");
	dsb();
}

void xen_print(char c)
{
	line[used++] = c;
	if (c != '\n' && used < LINE)
		return;
	clean_line();
	xen_call(XEN_CONSOLE_IO, CONSOLE_WRITE, used, (u64)line);
	used = 0;
}
