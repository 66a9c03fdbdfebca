# SPDX-License-Identifier: GPL-2.0
#
# core/: allocators and shared pages. To fuzz with clang and libFuzzer (`make fuzz` at the
# top does):
#
#   make fuzz_pool FUZZ_SECONDS=60 CLANG=clang

core := $(addprefix ../core/,pool.c slots.c cache.c shares.c)
tsan := -fno-sanitize=address,undefined -fsanitize=thread

tests += test_pool test_pool_random test_pool_steps test_pool_threads test_pool_threads_tsan \
	 test_shares test_shares_threads test_shares_threads_tsan test_dma test_dma_pages \
	 test_devices fuzz_pool

test_pool-src := test_pool.c $(core)
test_pool_random-src := test_pool_random.c $(core)
# Count instructions of the code without sanitizers.
test_pool_steps-src := test_pool_steps.c $(core)
test_pool_steps-cflags := -fno-sanitize=all -O2
test_pool_threads-src := test_pool_threads.c $(core)
test_pool_threads_tsan-src := test_pool_threads.c $(core)
test_pool_threads_tsan-cflags := $(tsan)
test_shares-src := test_shares.c $(core)
test_shares_threads-src := test_shares_threads.c $(core)
test_shares_threads_tsan-src := test_shares_threads.c $(core)
test_shares_threads_tsan-cflags := $(tsan)

# The kernel half's DMA operations: each <linux/…> header that they include is fake/linux/guest.h.
kernel := ../kernel/dma.c ../kernel/region.c
devices := ../kernel/devices.c
forward := $(out)/forward
headers := $(shell sed -n 's,^.include <\(linux/[a-z_-]*\.h\)>.*,\1,p' $(kernel) $(devices) \
	../kernel/*.h ../compat/*.h | sort -u)
$(headers:%=$(forward)/%):
	@mkdir -p $(@D)
	@echo '#include "guest.h"' >$@
dma := -I$(forward) -Ifake/linux -I../kernel -I..
generated := $(headers:%=$(forward)/%)

test_dma-src := test_dma.c dma_world.c wide.c $(kernel) $(core)
test_dma-cflags := $(dma)
test_dma_pages-src := test_dma_pages.c dma_world.c wide.c $(kernel) $(core)
test_dma_pages-cflags := $(dma)
test_devices-src := test_devices.c dma_world.c wide.c $(kernel) $(devices) $(core)
test_devices-cflags := $(dma)

fuzz_pool-src := fuzz_pool.c $(core) ../../module/tests/fuzz_replay.c
fuzz_pool-args := corpus/pool
$(out)/fuzz_pool.passed: $(wildcard corpus/pool/*)

.PHONY: fuzz_pool
fuzz_pool:
	$(call fuzz,fuzz_pool.c $(core),corpus/pool)
