# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Boards: QEMU's emulated Arm machines, how they start, and how a run on them ended.

`board.py` runs a command on a Debian kernel, `direct.py` boots a kernel alone, `xen.py` boots Xen.
`machine.py` has QEMU's process, `initramfs.py` the board's root file system. `splat.py` and
`autopsy.py` find out what went wrong.
"""
