# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""TLB reach: page walks and what they cost, natively, under KVM and under armvisor.

A program reads memory in a known way between two marks (guests/tools/reach.c). QEMU's plugin
(lab/plugins) counts what is executed there and gives every access to models of cores' TLBs. What
is executed, accessed and invalidated is measured; misses, walks and cycles are the model's.
docs/reach.md says what the model takes for granted.
"""
