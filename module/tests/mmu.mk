# SPDX-License-Identifier: GPL-2.0
#
# mmu/: walker, TLBI decoder, shadow tables and memory slots. To fuzz the
# walker with clang and libFuzzer (`make fuzz` at the top does):
#
#   make fuzz_walk FUZZ_SECONDS=60 CLANG=clang

tests += test_walk test_patch test_resolve test_resolve_annex test_annex_find \
	 test_annex_find_hole test_annex_find_random test_frames test_ring test_around test_shadow \
	 test_shadow_kept test_shadow_kept_random test_shadow_renew test_shadow_heirs test_shadow_moved test_shadow_random test_shadow_bounds test_shadow_page \
	 test_shadow_again test_shadow_limits test_shadow_tlbi test_shadow_window test_slots test_pairs test_position test_shown test_stub test_stub_pairs test_owner fuzz_walk

test_patch-src := tokens.c test_patch.c
test_walk-src := test_walk.c ../mmu/walk/walk.c
trees-src := ../mmu/shadow/shadow.c ../mmu/shadow/tree.c ../mmu/shadow/rmap.c ../mmu/shadow/gather.c ../mmu/shadow/invalidate.c \
	../mmu/shadow/reclaim.c ../mmu/shadow/moved.c ../mmu/shadow/resync.c ../mmu/walk/walk.c
shadow-src := shadow_world.c $(trees-src)
test_shadow-src := test_shadow.c $(shadow-src)
test_shadow_bounds-src := test_shadow_bounds.c $(shadow-src)
test_shadow_kept-src := test_shadow_kept.c $(shadow-src)
test_shadow_renew-src := test_shadow_renew.c $(shadow-src)
test_shadow_kept_random-src := test_shadow_kept_random.c $(shadow-src)
test_shadow_heirs-src := test_shadow_heirs.c $(shadow-src)
test_shadow_moved-src := test_shadow_moved.c $(shadow-src)
test_shadow_page-src := test_shadow_page.c $(shadow-src)
test_shadow_again-src := test_shadow_again.c $(shadow-src)
test_shadow_limits-src := test_shadow_limits.c $(shadow-src)
test_shadow_random-src := test_shadow_random.c $(shadow-src)
test_shadow_window-src := test_shadow_window.c $(shadow-src)
test_shadow_tlbi-src := test_shadow_tlbi.c ../mmu/shadow/tlbi.c
test_slots-src := test_slots.c ../mmu/slots/slots.c
test_owner-src := test_owner.c ../mmu/gmem/page_state.c
test_position-src := test_position.c ../mmu/shadow/position.c
test_owner-cflags := -pthread
test_stub-src := test_stub.c ../mmu/stub/stub.c
test_stub_pairs-src := test_stub_pairs.c ../mmu/stub/stub.c
test_pairs-src := test_pairs.c ../mmu/roots/root.c ../mmu/roots/ttbr_cache.c ../mmu/roots/root_cache.c ../mmu/base/regime.c \
	../mmu/base/plain.c ../switch/tlb.c $(trees-src)
test_pairs-cflags := -iquote fake/pairs -iquote fake/tlb -isystem fake/pairs/system \
	-isystem fake/tlb/system
test_shown-src := test_shown.c ../mmu/guest/switcher_tables.c
test_shown-cflags := $(test_pairs-cflags)
test_ring-src := test_ring.c
test_frames-src := test_frames.c ../mmu/slots/gfn_info.c
test_around-src := test_around.c ../mmu/abort/classify.c ../mmu/slots/slots.c $(shadow-src)
test_resolve-src := test_resolve.c ../mmu/abort/classify.c ../mmu/slots/slots.c $(shadow-src)
test_resolve_annex-src := test_resolve_annex.c ../mmu/abort/classify.c ../mmu/slots/slots.c $(shadow-src)
# mmu/'s kernel side, on a host of the tests' (host_world.h). gmem_plain.c only calls the kernel.
tests += test_fault test_fault_block test_fault_race test_fault_random test_private test_private_random
host-src := host_world.c host_memory.c host_vmm.c host_file.c guest_world.c guest_check.c ../switch/tlb.c ../vm/ranges.c \
	$(filter-out %/gmem_plain.c, $(wildcard ../mmu/*.c ../mmu/*/*.c))
host-cflags := -include fake/host/kernel.h -iquote fake/host -isystem $(out)/host -pthread -Wno-sign-compare
test_fault-src := test_fault.c $(host-src)
test_fault-cflags := $(host-cflags)
test_fault_block-src := test_fault_block.c $(host-src)
test_fault_block-cflags := $(host-cflags)
test_fault_race-src := test_fault_race.c $(host-src)
test_fault_race-cflags := $(host-cflags)
test_fault_random-src := test_fault_random.c $(host-src)
test_fault_random-cflags := $(host-cflags)
test_private-src := test_private.c $(host-src)
test_private-cflags := $(host-cflags)
test_private_random-src := test_private_random.c $(host-src)
test_private_random-cflags := $(host-cflags)

# The kernel's headers, all of them empty.
host-headers := $(addprefix asm/,barrier.h memory.h tlbflush.h) $(addprefix linux/,atomic.h bits.h \
	compiler.h delay.h file.h fs.h gfp.h hashtable.h highmem.h interval_tree.h io.h kref.h linkage.h list.h minmax.h \
	mm.h mm_types.h mmu_notifier.h module.h mount.h mutex.h nospec.h pagemap.h pseudo_fs.h ratelimit.h rcupdate.h \
	rwsem.h sched.h sched/signal.h signal_types.h slab.h spinlock.h srcu.h uaccess.h vmalloc.h wait.h)
generated += $(host-headers:%=$(out)/host/%)
$(host-headers:%=$(out)/host/%):
	@mkdir -p $(@D)
	@touch $@

find-src := find_world.c ../mmu/stub/annex_find.c ../mmu/walk/walk.c
test_annex_find-src := test_annex_find.c $(find-src)
test_annex_find_hole-src := test_annex_find_hole.c $(find-src)
test_annex_find_random-src := test_annex_find_random.c $(find-src)

fuzz_walk-src := fuzz_walk.c ../mmu/walk/walk.c fuzz_replay.c
fuzz_walk-args := corpus/walk
$(out)/fuzz_walk.passed: $(wildcard corpus/walk/*)

.PHONY: fuzz_walk
fuzz_walk:
	$(call fuzz,fuzz_walk.c ../mmu/walk/walk.c,corpus/walk)
