# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Debian's archive: packages, kernels, and programs built from their sources.

`apt.py` resolves and downloads, `packages.py` has packages by name, `kernels.py` a role's kernel.
All of it is in the cache after the first use (paths.py), and needs no board.
"""
