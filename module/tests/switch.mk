# SPDX-License-Identifier: GPL-2.0
# switch/: whose TLB entries are flushed.

tests += test_tlb test_wide test_image
test_wide-src := test_wide.c
test_image-src := ../switch/image_tables.c test_image.c
test_tlb-src := ../switch/tlb.c tlb_world.c test_tlb.c
test_tlb-cflags := -iquote fake/tlb -isystem fake/tlb/system
