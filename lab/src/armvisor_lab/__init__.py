# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The armvisor lab: emulated Arm boards, experiments on them, and figures.

Functions raise `errors.LabError` if the lab cannot do what it was asked; its text is for the user.
Times are seconds, and a board's memory is MiB, unless a name or a docstring has another unit. An
instruction is one that a counted board executed (docs/architecture.md).
"""

__version__ = "0.1.0"
