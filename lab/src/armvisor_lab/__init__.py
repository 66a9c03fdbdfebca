# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The armvisor lab: emulated Arm boards, experiments on them, and figures."""

__version__ = "0.1.0"
