# SPDX-License-Identifier: GPL-2.0
tests += test_exception test_insn test_idregs test_hwdebug test_mitigate
test_exception-src := ../cpu/exception.c test_exception.c
test_insn-src := test_insn.c
test_idregs-src := ../cpu/idregs.c test_idregs.c
test_hwdebug-src := ../cpu/hwdebug.c test_hwdebug.c
test_mitigate-src := ../switch/mitigate.c test_mitigate.c
tests += test_sysreg
test_sysreg-src := ../cpu/sysreg.c $(wildcard ../cpu/regs_*.c) ../cpu/exception.c ../cpu/idregs.c \
	../cpu/hwdebug.c ../mmu/walk.c test_sysreg.c
test_sysreg-cflags := -iquote fake -isystem fake/system
