# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""TLB reach: the number and cost of page walks, natively, under KVM and under armvisor.

A program reads memory in a known way between two marks (guests/tools/reach.c). QEMU's plugin
(lab/plugins) counts the instructions executed there and passes every access to models of cores'
TLBs. Executed instructions, accesses and invalidations are measured; misses, walks and cycles are
the model's. docs/reach.md has the model's assumptions.
"""
