# SPDX-License-Identifier: GPL-2.0
tests += test_walk
test_walk-src := ../mmu/walk.c test_walk.c

shadow-src := ../mmu/shadow.c ../mmu/tree.c ../mmu/rmap.c ../mmu/walk.c
tests += test_shadow
test_shadow-src := $(shadow-src) test_shadow.c
