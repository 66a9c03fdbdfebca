# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The cost model: from counts to cycles of a core, and to another configuration.

record     figures with classes and traps, from the records that `lab figures` writes cycles
counts by class times a core's cycles: the least, the most, the ratio to native rows       a row of
another configuration: native, plus the number of traps of each kind at unit cost published  the
cost of KVM on machines that papers and threads have measured

docs/model.md lists what it leaves out. Nothing here was measured on silicon.
"""
