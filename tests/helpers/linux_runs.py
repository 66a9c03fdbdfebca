# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Linux guests with a script of the test, under `armvisor run`, on KVM and on the module.

The script is one of guests/debian, which the guest's init reads as `/own`. Boards are counted, so a
slow guest on a busy machine takes the same number of instructions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from built import TOP
from guest_runs import MARK, Host, results

from armvisor_lab.archive.kmodules import Modules, canonical, plain
from armvisor_lab.boards.board import Board
from armvisor_lab.boards.cpio import Cpio
from armvisor_lab.boards.initramfs import Module
from armvisor_lab.figures import artefacts

# The lab's limit for a board, in seconds: far more than any board needs, even on a busy machine.
PATIENCE = 4 * 3600


@dataclass(frozen=True)
class Linux:
    """A guest's kernel, initramfs and command line."""

    image: Path
    initrd: bytes
    append: str
    cpus: int = 2
    memory: str = "384M"
    options: Sequence[str] = field(default=())  # further options of `armvisor run`


@dataclass(frozen=True)
class Said:
    """Output of an `armvisor run`."""

    status: int
    console: str

    @property
    def results(self) -> dict[str, str]:
        """Values by name, of the lines `result NAME VALUE UNIT`."""
        return results(self.console)


def with_files(initrd: bytes, script: str, files: Mapping[str, bytes] | None = None) -> bytes:
    """An initramfs with a script of guests/debian, if any, as `/own`, and with executable files."""
    added = Cpio()
    if script:
        added.file("own", (TOP / "guests/debian" / script).read_bytes(), 0o755)
    for name, data in (files or {}).items():
        added.file(name, data, 0o755)
    return initrd + added.finish()


def module_files(folder: Path, names: Sequence[str]) -> dict[str, bytes]:
    """Modules of a kernel (its folder with `modules.dep`) for init's `load`."""
    known = Modules(folder)
    files: dict[str, bytes] = {}
    for name in names:
        order = known.load_order([name])
        files[f"modules/{name}"] = "".join(f"{canonical(p.name)}\n" for p in order).encode()
        files |= {f"modules/{canonical(path.name)}.ko": plain(path) for path in order}
    return files


def run(host: Host, guests: Sequence[Linux], before: str = "", memory: int = 2048) -> list[Said]:
    """Run the guests in turn on one board, after the shell's line `before`."""
    files: dict[str, Path | bytes] = {"/bin/armvisor": artefacts.vmm()}
    lines = [before]
    for number, guest in enumerate(guests):
        files[f"/guest{number}/Image"] = guest.image
        files[f"/guest{number}/initrd"] = guest.initrd
        lines.append(
            f"armvisor run --kernel /guest{number}/Image --initrd /guest{number}/initrd "
            f"--cpus {guest.cpus} --memory {guest.memory} {' '.join(guest.options)} "
            f"--append '{guest.append}' </dev/null >/tmp/console; "
            f"printf '{MARK}%s\\n' $?; cat /tmp/console"
        )
    board = Board(
        el2=host.el2, cpu=host.cpu, kernel=host.kernel, smp=host.smp, count=True, memory=memory,
        modules=[Module(str(host.module))] if host.module else (), append=host.append,
        files=files | {"/script": "\n".join([*lines, "exit 0"]).encode()}, timeout=PATIENCE,
    )  # fmt: skip
    done = board.run(["sh", "/script"])
    said = done.stderr.decode("utf-8", "replace")[-3000:]
    assert not done.failure and done.status == 0, f"{done.failure}\n{done.text[-3000:]}\n{said}"
    text = done.stdout.decode("latin-1").replace("\r", "")
    parts = [part.partition("\n")[::2] for part in text.split(MARK)[1:]]
    assert len(parts) == len(guests), said
    return [Said(int(status), f"{console}\n{said}") for status, console in parts]
