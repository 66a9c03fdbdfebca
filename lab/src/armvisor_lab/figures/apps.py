# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`app.ROW.*`: Debian's own programs in plain VMs and in protected ones, on KVM, pKVM and armvisor.

Values are instructions of all participants (guest, hypervisor, VMM, and the program at the other
end on the board) per unit of work: a message of hackbench, a build of some of the kernel's objects,
a request of 4 KiB or a byte of fio, a turn or a byte of netperf, a byte of iperf3, a request of
nginx, memcached and redis, a transaction of SQLite. The servers nginx, memcached and redis are in
the guest, and the board loads them; those of netperf and iperf3 are on the board. All values of a
variant are from one guest's life; a value is the median of a program's rounds without the first.

`kvm`, `kvm-protected` and `armvisor` are plain VMs with zero copy. `kvm-pvm` and `armvisor-pvm` are
protected VMs with bounce buffers like the kernel's swiotlb before it had one area per CPU (mode
`slots`, as in the kernels that the AVF paper measured); `-opt` is mode `split-cache`, the paper's
SWIOTLB-opt. `native` is the board itself, without rows that need a device.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median

from armvisor_lab.boards.board import Board, Disk, Result, describe
from armvisor_lab.figures import Measurement, Outcome, Progress, applications, artefacts, vms
from armvisor_lab.figures.ways import ADDRESS, GUEST_ADDRESS, Way

# In the order in which they run: those that read most of the guest's memory come last.
PROGRAMS = {
    "hackbench": ("hackbench",),
    "netperf": ("netperf-rr", "netperf-stream", "netperf-maerts"),
    "iperf3": ("iperf3-send", "iperf3-receive"),
    "nginx": ("nginx",),
    "memcached": ("memcached-set", "memcached-get"),
    "redis": ("redis-set", "redis-get"),
    "fio": ("fio-randread", "fio-randwrite", "fio-read", "fio-write"),
    "sqlite": ("sqlite",),
    "kernbench": ("kernbench",),
}  # fmt: skip
ROWS = tuple(row for rows in PROGRAMS.values() for row in rows)
# Rows that need no device.
_NATIVE = ("hackbench", "kernbench")

WAYS = (
    Way("kvm", pkvm=False),
    Way("kvm-protected"),
    Way("kvm-pvm", protected=True, mode="slots"),
    Way("kvm-pvm-opt", protected=True, mode="split-cache"),
    Way("armvisor", el2=False),
    Way("armvisor-pvm", el2=False, protected=True, mode="slots"),
    Way("armvisor-pvm-opt", el2=False, protected=True, mode="split-cache"),
)

VARIANTS = ("native", *(way.name for way in WAYS))

# Packages of the measured programs: a record names these of the disk's.
MEASURED = (
    "apache2-utils", "fio", "gcc-14-aarch64-linux-gnu", "iperf3", "libmemcached-tools", "memcached",
    "netperf", "nginx", "redis-tools", "rt-tests", "sqlite3",
)  # fmt: skip

# A guest has the disk's files in its page cache.
_GUEST_MIB = 768
_BOARD_MIB = 3072
_SCRATCH_MIB = 64

# The disk is read once before: otherwise waits for the board's own disk would be measured, too.
_MOUNT = """
mkdir -p /mnt && mount -t ext4 -o ro /dev/vda /mnt && mount -t proc proc /mnt/proc &&
    mount -t tmpfs tmpfs /mnt/tmp && mount --bind /dev /mnt/dev || exit
"""


def script(way: Way, programs: Sequence[str]) -> str:
    """What the board does for a VM that runs these programs."""
    test = f"apps armvisor.rows={','.join(programs)}"
    guest = way.command(test, ["/dev/vda,ro", "/tmp/disk"], _GUEST_MIB)
    return f"""{_MOUNT}
cat /dev/vda >/dev/null
tap tap0 {ADDRESS}/24 && truncate -s {_SCRATCH_MIB}M /tmp/disk || exit
chroot /mnt /apps serve {ADDRESS} {GUEST_ADDRESS} || exit
{guest}
"""


def board(way: Way) -> Board:
    """The board for it."""
    disks = [Disk("apps", artefacts.apps()["disk.img"])]
    return way.board({}, memory=_BOARD_MIB, timeout=3600, modules=["ext4"], disks=disks)


def _packages() -> tuple[str, ...]:
    listed = json.loads(artefacts.apps()["apps.json"].read_text())["packages"]
    return tuple(each for each in listed if each.partition("=")[0] in MEASURED)


def _why(program: str, wrong: Sequence[str]) -> str:
    said = [each for each in wrong if each.startswith((f"{program}:", f"{program}-"))]
    return "; ".join(said) or "its program did not run"


def _outcome(board: Board, result: Result, variant: str, rows: Sequence[str]) -> Outcome:
    """The values, and why others are missing."""
    samples, wrong = applications.samples(result.text)
    values = {f"app.{row}.{variant}": median(samples[row]) for row in rows if row in samples}
    missing = {
        f"app.{row}.{variant}": _why(row.partition("-")[0], wrong)
        for row in rows
        if row not in samples
    }
    return Outcome(
        values, describe(board, result.kernel), _packages(),
        {f"app.{row}.{variant}": samples[row] for row in rows if row in samples},
        text=result.text, missing=missing,
    )  # fmt: skip


def _native(programs: Sequence[str] = _NATIVE) -> Measurement:
    rows = rows_of(programs)

    def run(progress: Progress) -> Outcome:
        disks = [Disk("apps", artefacts.apps()["disk.img"])]
        machine = Board(
            kernel=vms.GUEST, count=True, memory=1024, timeout=1800, modules=["ext4"], disks=disks
        )
        words = f"{_MOUNT}\nchroot /mnt /apps run - - {' '.join(programs)}\ntrue\n"
        result = machine.run(["sh", "-c", words], progress=progress).check()
        return _outcome(machine, result, "native", rows)

    what = "applications on the board itself"
    return _measurement("native", what, rows, run, _native, 20 * len(programs))


def _in_vm(way: Way, programs: Sequence[str] = tuple(PROGRAMS)) -> Measurement:
    rows = rows_of(programs)

    def run(progress: Progress) -> Outcome:
        machine = board(way)
        result = machine.run(["sh", "-c", script(way, programs)], progress=progress).check()
        outcome = _outcome(machine, result, way.name, rows)
        # If a program failed, the guest failed too; the message is about the program.
        if outcome.values and outcome.missing:
            way.check_mode(result.text)
        else:
            way.check(result.text)
        return outcome

    what = f"applications in a guest: {way.name}"
    return _measurement(way.name, what, rows, run, partial(_in_vm, way), 75 + 25 * len(programs))


def rows_of(programs: Sequence[str]) -> tuple[str, ...]:
    """The rows of some programs."""
    return tuple(row for name in programs for row in PROGRAMS[name])


def _measurement(
    variant: str,
    what: str,
    rows: Sequence[str],
    run: Callable[[Progress], Outcome],
    again: Callable[[Sequence[str]], Measurement],
    seconds: float,
) -> Measurement:
    """With its parts: `again` measures some programs alone."""

    def part(names: Sequence[str]) -> Measurement:
        some = {name.split(".")[1] for name in names}
        return again([name for name, its in PROGRAMS.items() if some & set(its)])

    figures = tuple(f"app.{row}.{variant}" for row in rows)
    return Measurement(figures, what, run, seconds=seconds, part=part)


def measurements() -> list[Measurement]:
    """This family's measurements."""
    return [_native(), *map(_in_vm, WAYS)]
