# SPDX-License-Identifier: GPL-2.0
tests += test_walk
test_walk-src := ../mmu/walk.c test_walk.c
