# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The cost model: from what was counted to cycles of a core, and to another configuration.

record     figures with classes and traps, of the records that `lab figures` writes
cycles     counts by class times a core's cycles: the least, the most, the ratio to native
rows       a row of another configuration: native, and so many traps of each kind at unit cost
published  what KVM costs on machines that papers and threads have measured

docs/model.md says what it leaves out. Nothing here was measured on silicon.
"""
