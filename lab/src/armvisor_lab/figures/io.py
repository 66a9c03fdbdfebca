# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`io.ROW.*`: a disk and a network in plain VMs and in protected ones, on KVM, pKVM and armvisor.

The program `io` (guests/tools) measures in the Debian test guest. The count covers all
participants: the guest, the hypervisor, the VMM, and the host's program at the other end of the
connection. Requests read and write a disk with O_DIRECT; its file is in the host's memory. A row in
`-byte` has requests of 256 KiB, or a stream; one in `-request` has 4 KiB, or a byte there and back.
A disk's rows are the mean of rounds of the same requests. The number of packets that an interrupt
finds differs from round to round, so a network's rows are the median.

`kvm` is a plain VM with zero copy on the newest kernel, `kvm-protected` the same where that kernel
has pKVM, `armvisor` on the module; `kvm-protected-MODE` and `armvisor-MODE` nevertheless have
bounce buffers, by armvisor_bounce.ko in that mode (`areas` does the same as the kernel's swiotlb);
`kvm-pvm-MODE` and `armvisor-pvm-MODE` are protected VMs with it.
"""

from functools import partial
from statistics import fmean, median

from armvisor_lab.boards.board import Board, describe
from armvisor_lab.boards.results import all_instructions, count
from armvisor_lab.figures import (
    Marked,
    Measurement,
    Outcome,
    Progress,
    Spot,
    Start,
    artefacts,
    on_board,
)
from armvisor_lab.figures.ways import ADDRESS, Way

_LARGE = 256 << 10
# The row of `io` for each of ours, and the number of our units in it.
_ROWS = {
    "read-request": ("read-small", 1),
    "read-byte": ("read-large", _LARGE),
    "write-request": ("write-small", 1),
    "write-byte": ("write-large", _LARGE),
    "send-byte": ("send-kib", 1024),
    "receive-byte": ("receive-kib", 1024),
    "echo-request": ("echo", 1),
}  # fmt: skip
_ROUNDS = 8  # of guests/tools/io.c
# In the order in which `io` measures.
_ORDER = (
    "read-request", "write-request", "write-byte", "read-byte", "send-byte", "receive-byte",
    "echo-request",
)  # fmt: skip
_MODES = ("slots", "areas", "split-cache", "hybrid")


WAYS = (
    Way("kvm", pkvm=False),
    Way("kvm-protected"),
    Way("kvm-protected-areas", mode="areas"),
    *(Way(f"kvm-pvm-{mode}", protected=True, mode=mode) for mode in _MODES),
    Way("armvisor", el2=False),
    Way("armvisor-areas", el2=False, mode="areas"),
    *(Way(f"armvisor-pvm-{mode}", el2=False, protected=True, mode=mode) for mode in _MODES),
)


def _board(way: Way) -> Board:
    return way.board({"/bin/io": artefacts.tool("io")})


def _script(way: Way) -> str:
    return f"""
tap tap0 {ADDRESS}/24 && truncate -s 16M /tmp/disk || exit
io serve tcp:{ADDRESS}:5001 >/dev/null & served=$!
{way.command("io", ["/tmp/disk"])}
status=$?
kill $served 2>/dev/null
exit $status
"""


def _is_disk(figure: str) -> bool:
    """Whether its rounds are the same work."""
    return figure.split(".")[1].partition("-")[0] in ("read", "write")


def _spots(way: Way, text: str) -> list[Spot]:
    found = []
    for row in _ORDER:
        name, parts = _ROWS[row]
        figure, loops = f"io.{row}.{way.name}", count(text, f"io.{name}.loops") * parts
        disk = _is_disk(figure)
        of = "mean" if disk else "median"
        found.append(Spot(figure, loops, rounds=_ROUNDS, waits=not disk, of=of))
    return found


def _measurement(way: Way) -> Measurement:
    figures = tuple(f"io.{row}.{way.name}" for row in _ROWS)

    def measure(start: Start, progress: Progress) -> Outcome:
        board = _board(way)
        result = start(board, ["sh", "-c", _script(way)], progress).check()
        way.check(result.text)
        samples = {
            f"io.{row}.{way.name}": [
                each / parts for each in all_instructions(result.text, f"io.{name}")
            ]
            for row, (name, parts) in _ROWS.items()
        }
        values = {
            figure: (fmean if _is_disk(figure) else median)(rounds)
            for figure, rounds in samples.items()
        }
        where = describe(board, result.kernel)
        return Outcome(values, where, samples=samples, text=result.text)

    what = f"disk and network of a guest: {way.name}"
    marked = Marked("kvm" if way.el2 else "armvisor", partial(_spots, way), measure)
    run = partial(measure, on_board)
    return Measurement(figures, what, run, seconds=60 if way.el2 else 150, marked=marked)


def measurements() -> list[Measurement]:
    """This family's measurements."""
    return list(map(_measurement, WAYS))
