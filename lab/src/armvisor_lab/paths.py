# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The lab's folders.

Downloads and files made from them are in the cache, outside the checkout, and may be deleted at any
time. Writers work beside their target and rename into place, so a reader never sees half a file;
`locked` keeps two writers of one thing apart.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from armvisor_lab.errors import LabError


def cache() -> Path:
    """The project's cache folder; the first of the three places that is set."""
    if own := os.environ.get("ARMVISOR_CACHE"):
        return Path(own).expanduser().absolute()
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg).expanduser().absolute() / "armvisor"
    try:
        return Path.home() / ".cache" / "armvisor"
    except RuntimeError as error:
        raise LabError(f"no place for the cache: {error}", "set ARMVISOR_CACHE") from error


def checkout() -> Path:
    """The top of the checkout that this package runs from."""
    return Path(__file__).resolve().parents[3]


def revision() -> str:
    """The checkout's commit, short, with a + where files differ from it; "" where there is none."""

    def said(*words: str) -> str:
        command = ["git", "-C", str(checkout()), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        commit = said("rev-parse", "--short=9", "HEAD")
        return commit + ("+" if said("status", "--porcelain", "--untracked-files=no") else "")
    except OSError:
        return ""  # no git


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the cache's lock `name` against other threads and processes."""
    folder = cache() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder that becomes `target` if the body succeeds."""
    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield work
        work.chmod(0o755)
        if target.exists():
            shutil.rmtree(target)
        work.rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def check_output(target: Path) -> None:
    """Refuse what cannot become a file, before the work that would go into it."""
    if target.is_dir():
        raise LabError(f"{target} is a folder", "name a file in it")
    if not target.absolute().parent.is_dir():
        raise LabError(f"{target}: there is no folder {target.parent}", "make it, or name another")


def write_atomically(target: Path, data: bytes) -> None:
    """Write `data` to `target` so that a reader sees the old file or the new one."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    work = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        work.chmod(0o644)
        work.rename(target)
    finally:
        work.unlink(missing_ok=True)
