// SPDX-License-Identifier: GPL-2.0
/*
 * The serial port. Under a hypervisor each access is an exit, so the transmit state is read once
 * per FIFO load, not once per character.
 */
#include "format.h"
#include "guest.h"

#define FIFO_SIZE 16

#define UART_THR 0
#define UART_FCR 2
#define UART_LSR 5
#define FCR_ENABLE 0x01
#define LSR_THRE 0x20

#define PL011_DR 0x00
#define PL011_FR 0x18
#define PL011_LCRH 0x2c
#define PL011_CR 0x30
#define FR_TXFE 0x80
#define LCRH_8BIT_FIFO 0x70
#define CR_ENABLE_TX 0x101

static unsigned int fifo_room;
static unsigned int failed;

static volatile u8 *uart(unsigned int reg)
{
	return (volatile u8 *)(machine.serial.base + ((u64)reg << machine.serial_shift));
}

static volatile u32 *pl011(unsigned int reg)
{
	return (volatile u32 *)(machine.serial.base + reg);
}

void console_init(void)
{
	if (machine.serial_kind == SERIAL_16550) {
		*uart(UART_FCR) = FCR_ENABLE;
	} else if (machine.serial_kind == SERIAL_PL011) {
		*pl011(PL011_LCRH) = LCRH_8BIT_FIFO;
		*pl011(PL011_CR) = CR_ENABLE_TX;
	}
}

static bool fifo_empty(void)
{
	if (machine.serial_kind == SERIAL_16550)
		return *uart(UART_LSR) & LSR_THRE;
	return *pl011(PL011_FR) & FR_TXFE;
}

static void put(struct sink *sink, char c)
{
	(void)sink;
	if (machine.serial_kind == SERIAL_NONE)
		return;
	if (machine.serial_kind == SERIAL_XEN) {
		xen_print(c);
		return;
	}
	if (!fifo_room) {
		while (!fifo_empty())
			;
		fifo_room = FIFO_SIZE;
	}
	fifo_room--;
	if (machine.serial_kind == SERIAL_16550)
		*uart(UART_THR) = (u8)c;
	else
		*pl011(PL011_DR) = (u8)c;
}

static void vprint(const char *text, va_list args)
{
	struct sink sink = { put };

	format(&sink, text, args);
}

void print(const char *text, ...)
{
	va_list args;

	va_start(args, text);
	vprint(text, args);
	va_end(args);
}

void result(const char *name, u64 value, const char *unit)
{
	print("result %s %lu %s\n", name, value, unit);
}

void result_milli(const char *name, u64 thousandths, const char *unit)
{
	print("result %s %lu.%03lu %s\n", name, thousandths / 1000, thousandths % 1000, unit);
}

bool check(bool good, const char *text, ...)
{
	va_list args;

	if (good)
		return true;
	failed++;
	print("failed: ");
	va_start(args, text);
	vprint(text, args);
	va_end(args);
	print("\n");
	return false;
}

unsigned int failures(void)
{
	return failed;
}
