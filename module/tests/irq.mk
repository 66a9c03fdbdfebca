# SPDX-License-Identifier: GPL-2.0
# irq/: the vGIC, its placement, and the timers' registers.

vgic-src := $(addprefix ../irq/,vgic.c cpuif.c lease.c regs.c dist.c redist.c lpi.c idmap.c)
its-src := $(vgic-src) $(addprefix ../irq/,its.c its_cmd.c its_regs.c its_table.c) its_world.c

tests += test_vgic test_vgic_lease test_vgic_random test_vgic_bounds test_vgic_layout \
	 test_its test_its_tables test_its_random test_its_bounds test_idmap test_timer

test_vgic-src := test_vgic.c vgic_world.c $(vgic-src)
test_vgic_lease-src := test_vgic_lease.c vgic_world.c $(vgic-src)
test_vgic_random-src := test_vgic_random.c vgic_world.c $(vgic-src)
test_vgic_bounds-src := test_vgic_bounds.c $(vgic-src)
# It counts instructions: without the sanitizers'.
test_vgic_bounds-cflags := -O2 -fno-sanitize=all
test_vgic_layout-src := test_vgic_layout.c ../irq/layout.c
test_idmap-src := test_idmap.c ../irq/idmap.c
test_its-src := test_its.c $(its-src)
test_its_tables-src := test_its_tables.c $(its-src)
test_its_bounds-src := test_its_bounds.c $(its-src)
test_its_random-src := test_its_random.c $(its-src)
test_timer-src := test_timer.c ../irq/timer.c
