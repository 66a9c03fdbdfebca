// SPDX-License-Identifier: GPL-2.0
#include "guest.h"

#define FDT_LIMIT (2UL << 20)

struct machine machine;
bool (*exception_hook)(struct frame *frame);

void guest_start(const void *fdt);
void exception(struct frame *frame);

void guest_start(const void *fdt)
{
	if (!machine_from_fdt(&machine, fdt, FDT_LIMIT))
		power_off();
	console_init();
	guest_main();
	print("result %s.failures %u count\n", guest_name, failures());
	power_off();
}

void exception(struct frame *frame)
{
	if (exception_hook && exception_hook(frame))
		return;
	print("died: exception at vector %lx: esr %lx elr %lx (image + %lx) far %lx spsr %lx x30 %lx\n",
	      frame->vector, frame->esr, frame->elr, frame->elr - (u64)image_start,
	      frame->far, frame->spsr, frame->x[30]);
	power_off();
}

/* The compiler may call these, whatever its options. */
void *memset(void *to, int value, size_t size);
void *memcpy(void *to, const void *from, size_t size);

void *memset(void *to, int value, size_t size)
{
	volatile u8 *p = to;

	while (size--)
		*p++ = (u8)value;
	return to;
}

void *memcpy(void *to, const void *from, size_t size)
{
	volatile u8 *p = to;
	const u8 *q = from;

	while (size--)
		*p++ = *q++;
	return to;
}
