# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Console logs of boards, kept in the cache for a later look at a failure."""

import contextlib
import itertools
import os
import time
from pathlib import Path

from armvisor_lab import paths

KEEP = 200

_numbers = itertools.count(1)


def new(kind: str) -> Path:
    """The name of a new log; old ones are dropped."""
    folder = paths.cache() / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    existing = sorted(folder.glob("*.log"))
    for old in existing[: max(0, len(existing) - KEEP)]:
        with contextlib.suppress(OSError):
            old.unlink()
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    return folder / f"{stamp}-{kind}-{os.getpid()}-{next(_numbers)}.log"
