/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of `io`: io.c has the program and the disk, io_net.c the network. */
#ifndef GUESTS_TOOLS_IO_H
#define GUESTS_TOOLS_IO_H

#include <stdint.h>
#include <stdnoreturn.h>

/*
 * Prints the failed operation, with errno's text, and exits: no figure is better than a wrong one.
 */
noreturn void io_fail(const char *what);

/* Prints the ticks of one of `loops` operations; the same for each round, which runs all of them. */
void io_report(const char *name, uint64_t ticks, uint64_t loops);
void io_rounds(const char *name, uint64_t loops, void (*run)(void *), void *argument);

/* Exit statuses. */
int io_net(const char *endpoint);
int io_serve(const char *endpoint);

#endif
