# SPDX-License-Identifier: GPL-2.0
tests += test_controls test_exception test_insn test_idregs test_hwdebug test_mitigate test_halt_poll \
	 test_pmu
test_halt_poll-src := test_halt_poll.c
test_controls-src := ../cpu/controls.c test_controls.c
test_exception-src := ../cpu/exception.c test_exception.c
test_insn-src := test_insn.c
test_idregs-src := ../cpu/idregs.c test_idregs.c
test_hwdebug-src := ../cpu/hwdebug.c test_hwdebug.c
test_pmu-src := ../cpu/pmu.c test_pmu.c
test_mitigate-src := ../switch/mitigate.c test_mitigate.c
tests += test_sysreg
test_sysreg-src := ../cpu/sysreg.c $(wildcard ../cpu/regs_*.c) ../cpu/exception.c ../cpu/idregs.c \
	../cpu/hwdebug.c ../cpu/pmu.c ../mmu/walk/walk.c test_sysreg.c
test_sysreg-cflags := -iquote fake -isystem fake/system

# The short way of a trap against the long one. fuzz_fast: as long as you like.
tests += test_fast
test_fast-src := tokens.c ../cpu/fast.c ../cpu/fast_timed.c ../cpu/quick.c ../cpu/exit.c ../cpu/trap.c ../cpu/inject.c $(filter-out test_sysreg.c,$(test_sysreg-src)) \
	test_fast.c
test_fast-cflags := $(test_sysreg-cflags)

.PHONY: fuzz_fast
fuzz_fast: $(out)/test_fast
	$< $(or $(FUZZ_STATES),100000000) $(or $(FUZZ_SEED),1)

tests += test_exit
test_exit-src := $(filter-out test_fast.c ../cpu/fast.c ../cpu/fast_timed.c ../cpu/quick.c,$(test_fast-src)) test_exit.c
test_exit-cflags := $(test_sysreg-cflags)
