# SPDX-License-Identifier: GPL-2.0
# irq/: the vGIC, its placement, and the timers' registers.

vgic-src := $(addprefix ../irq/,vgic.c cpuif.c regs.c dist.c redist.c)

tests += test_vgic test_vgic_layout test_timer

test_vgic-src := test_vgic.c $(vgic-src)
test_vgic_layout-src := test_vgic_layout.c ../irq/layout.c
test_timer-src := test_timer.c ../irq/timer.c
