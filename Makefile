# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
# The project's front door. `make` lists the targets; each installs what it needs.
#
# Rules: every target works from a fresh clone; build products go to build/ and vmm/target/,
# downloads to $(CACHE); no recipe needs a terminal.

MAKEFLAGS += --no-print-directory
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

# Absolute, for makes in other folders, too.
override export ARMVISOR_CACHE := $(shell ARMVISOR_CACHE='$(ARMVISOR_CACHE)'; . tools/cache.sh; echo "$$cache")
MAKEOVERRIDES := $(filter-out ARMVISOR_CACHE=%,$(MAKEOVERRIDES))
export HOME := $(shell . tools/cache.sh; echo "$$HOME")
CACHE := $(ARMVISOR_CACHE)
VENV := $(CACHE)/venv/bin
LAB := bin/lab
# The cache records the version of each: bin/lab kernel list.
KERNELS := oldstable stable newest
DEMO_KERNEL := stable
# Rows and cores of docs/cycles.json. A host's mappings are global on the first board of each pair.
CYCLES_ROWS := null pipe tcp fork-exec map-touch-unmap page-fault
CYCLES_CORES := neoverse-n1 neoverse-n2 neoverse-v1
CYCLES_BOARD := neoverse-n1
# The parts of the module that can be off, each a row of docs/ablation.json (module/lib/parts.h, cpu/cheap.h).
PARTS := rows modes quick copies roots calls stubs light short faults kept kept-at-once blocks image around near swept leases reading cheap
LOGIN := systemctl is-system-running --wait; systemctl --failed --no-legend; uname -sm; nproc; systemd-analyze

.DEFAULT_GOAL := help
.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# ---- set-up and building ------------------------------------------------------------------
.PHONY: setup build vmm guests plugins module bounce apps
setup: ## install what building and testing needs (once; later runs are instant)
	@tools/setup

build: vmm guests plugins module bounce ## build everything

vmm: setup ## the VMM, a static arm64 program
	@tools/cargo build --release -p armvisor

guests: setup ## bare-metal guests, tools for the boards, the Debian test guest
	@$(MAKE) -C guests

plugins: setup ## QEMU's plugin for `bin/lab reach` and `bin/lab figures --classes`
	@$(MAKE) -s -C lab/plugins

module: setup ## armvisor.ko for each supported kernel, with its host symbols checked
	@for k in $(KERNELS); do $(MAKE) -C module KVER=$$k check-symbols; done

bounce: setup ## armvisor_bounce.ko for guests with each supported kernel, with its symbols checked
	@for k in $(KERNELS); do $(MAKE) -C bounce KVER=$$k symbols; done

apps: guests ## a disk of Debian's applications for the figures app.* (250 MB of packages, once)
	@$(MAKE) -C guests apps

# ---- using --------------------------------------------------------------------------------
.PHONY: demo disk login figures bench bench-full cycles ablation silicon-kit packages install uninstall
demo: vmm guests ## boot an emulated Arm machine and a Debian VM in it, then say where the time went (build/demo.html too)
	@$(MAKE) -C module KVER=$(DEMO_KERNEL) >/dev/null
	@$(LAB) demo --kernel $(DEMO_KERNEL)

disk: setup ## a Debian disk with systemd, SSH and GRUB, from Debian's packages (some minutes, once)
	@$(MAKE) -C guests disk

login: vmm guests disk ## boot that disk as a VM on a machine without EL2, and log in by SSH
	@$(MAKE) -C module KVER=$(DEMO_KERNEL) >/dev/null
	@$(LAB) login --client armvisor -- '$(LOGIN)'

figures: vmm guests module bounce apps ## run the counted measurements: `name value unit`, JSON beside it
	@$(LAB) figures --json build/figures.json

bench: vmm guests plugins module ## what repeats on any machine, under 15 minutes: build/bench.json and a page of it
	@$(LAB) bench

bench-full: vmm guests plugins module bounce apps ## all that the lab measures, and a page of it (two hours)
	@$(MAKE) -C module parts >/dev/null
	@$(LAB) bench --full

cycles: vmm guests plugins ## rows of `lat` in cycles on kinds of hosts, by the model: docs/cycles.json and the tables of it (ten minutes)
	@$(MAKE) -C module KVER=stable >/dev/null
	@$(LAB) figures --classes $(CYCLES_CORES:%=--core %) --json build/cycles-counts.json \
		$(foreach who,native armvisor,--on $(who)@$(CYCLES_BOARD),$(who)@$(CYCLES_BOARD)+kpti=1) \
		$(CYCLES_ROWS:%=--only lat.%)
	@$(LAB) model cycles --record build/cycles-counts.json $(CYCLES_CORES:%=--core %) \
		$(CYCLES_ROWS:%=--figure 'lat.%.*') --json docs/cycles.json
	@$(LAB) docs

ablation: vmm guests plugins ## rows of `lat` with each part of the module off: docs/ablation.json and the tables of it (an hour)
	@$(MAKE) -C module KVER=stable >/dev/null
	@$(MAKE) -C module parts >/dev/null
	@$(LAB) figures --classes --core neoverse-n2 --json build/ablation-counts.json \
		$(foreach who,native armvisor $(PARTS:%=armvisor:no-%),--on $(who)@$(CYCLES_BOARD)) \
		$(CYCLES_ROWS:%=--only lat.%)
	@$(LAB) model cycles --record build/ablation-counts.json --core neoverse-n2 \
		$(CYCLES_ROWS:%=--figure 'lat.%.*') --json docs/ablation.json
	@$(LAB) docs

silicon-kit: vmm guests ## one archive that measures a real machine without EL2 (silicon/README.md), in build/silicon
	@tools/setup clang
	@silicon/build.sh

packages: setup ## Debian packages and RPMs of the VMM and of the module, in build/packages (docs/packages.md)
	@tools/setup packages
	@packages/build.sh deb
	@lintian --fail-on=error,warning $$([ $$(id -u) != 0 ] || echo --allow-root) build/packages/*.deb
	@packages/build.sh rpm

install: ## armvisor.ko for the running kernel (by DKMS where there is one), its udev rule and its unit
	@module/install.sh

uninstall: ## remove what `make install` installed
	@module/install.sh --uninstall

# ---- checking -----------------------------------------------------------------------------
.PHONY: test test-mutants check fmt test-conformance test-soak test-work test-debug fuzz clean
test: vmm guests plugins module bounce ## all tests, closing with a line that counts them
	@$(VENV)/python tools/test.py

test-mutants: setup ## change the code on purpose: the unit tests must notice each time (half an hour)
	@$(VENV)/python tools/mutants.py

test-conformance: vmm guests plugins module bounce ## the whole matrix of hosts and guests (builds three kernels; long)
	@tools/setup clang
	@$(LAB) kernel debug --self-test >/dev/null
	@$(LAB) kernel debug --phone >/dev/null
	@$(LAB) kernel debug --distribution >/dev/null
	@$(VENV)/python tools/test.py conformance

test-soak: vmm guests module ## 258 boots of Debian guests on the module, up to 25 in a row (some hours)
	@$(VENV)/python tools/test.py soak

test-work: vmm guests module ## Debian guests, four at a time, busy for ten minutes (some hours)
	@$(VENV)/python tools/test.py work

test-debug: vmm guests ## survival tests with KASAN, lockdep, kmemleak… (builds two kernels; four hours)
	@$(LAB) kernel debug >/dev/null
	@$(LAB) kernel debug --guest >/dev/null
	@$(VENV)/python tools/test.py debug

check: setup ## formatting, lints, types, licence headers, sizes (at first some minutes)
	@$(VENV)/python tools/check.py

fmt: setup ## rewrite the sources in the project's format
	@tools/cargo fmt --all
	@$(VENV)/ruff format --config lab/pyproject.toml lab tests tools
	@$(VENV)/ruff check --config lab/pyproject.toml --fix lab tests tools

fuzz: setup ## fuzz the module's decoder and walker, the VMM's devices, a minute each (FUZZ_SECONDS=…)
	@tools/fuzz $(or $(FUZZ_SECONDS),60)

clean: ## remove build products (downloads in the cache stay)
	rm -rf build vmm/target vmm/fuzz/target
