# SPDX-License-Identifier: GPL-2.0
#
# mmio/: the decoder by hand, against Capstone, and over its fuzzing corpus.
# To fuzz with clang and libFuzzer (`make fuzz` at the top does):
#
#   make fuzz_decode FUZZ_SECONDS=60 CLANG=clang

cache       := $(shell bash -c '. ../../tools/cache.sh && echo "$$cache"')
venv_python := $(wildcard $(cache)/venv/bin/python)
PYTHON      ?= $(or $(venv_python),python3)

tests += test_decode test_match decode_dump fuzz_decode

test_decode-src := test_decode.c

test_match-src := test_match.c ../mmio/match.c ../mmio/decode.c ../mmu/walk/walk.c

decode_dump-src := decode_dump.c ../mmio/decode.c
decode_dump-run := $(PYTHON) decode_capstone.py
$(out)/decode_dump.passed: decode_capstone.py

fuzz_decode-src := fuzz_decode.c ../mmio/decode.c fuzz_replay.c
fuzz_decode-args := corpus/decode
$(out)/fuzz_decode.passed: $(wildcard corpus/decode/*)

.PHONY: fuzz_decode
fuzz_decode:
	$(call fuzz,fuzz_decode.c ../mmio/decode.c,corpus/decode)
