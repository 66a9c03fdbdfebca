# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""armvisor_bounce.ko in Debian's guests: disk, network, vsock and entropy through it in every mode,
in plain VMs and in protected ones.

Each mode is a separate VM; a VM reads the disk that the one before wrote. The module must not be
unloaded while it serves a device, and must unload when it serves none.
"""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from built import TOP, bounce, make, module
from guest_runs import MARK, results
from mix_runs import mix

from armvisor_lab.boards.board import Board
from armvisor_lab.boards.cpio import Cpio
from armvisor_lab.boards.initramfs import Module
from armvisor_lab.figures import artefacts

MODES = ("slots", "areas", "split-cache", "hybrid")
BYTES = 2 << 20
PAGE = 4096
# For a disk of 254 parts, split-cache and 4 CPUs.
LEAST = "5120K"
PROTECTED = "kvm-arm.mode=protected"

PRELUDE = f"""
tap tap0 10.0.2.1/24
truncate -s 16M /tmp/disk
vm() {{
    parameters=$1 tests=$2; shift 2
    stream receive tcp:10.0.2.1:5001 >/tmp/receive & others=$!
    stream echo unix:/tmp/v_5006 & others="$others $!"
    stream check vsock-uds:/tmp/v:5005 100000 & others="$others $!"
    armvisor run --kernel /guest/Image --initrd /guest/initrd --cpus $CPUS --memory 384M \\
        --disk /tmp/disk --net tap=tap0 --vsock cid=3,uds=/tmp/v "$@" \\
        --append "quiet armvisor.bytes={BYTES} armvisor.bounce=$parameters armvisor.test=$tests" \\
        >/tmp/console
    status=$?
    [ $status = 0 ] || kill $others
    wait $others
    printf '{MARK}%s\\n' $status
    cat /tmp/console /tmp/receive
}}
# No network or socket, no disk but by $DEVICES, and devices as any other VM has them.
DEVICES=
bare() {{
    armvisor run --kernel /guest/Image --initrd /guest/initrd --memory 384M --cpus $CPUS \\
        $DEVICES --append "quiet $*" >/tmp/console
    printf '{MARK}%s\n' $?
    cat /tmp/console
}}
"""


@dataclass(frozen=True)
class Row:
    """A host, and the kernel of its guests."""

    guest: str
    el2: bool = True
    protected: bool = False
    cpus: int = 2

    def __str__(self) -> str:
        host = "kvm" if self.el2 else "module"
        return f"{self.guest}-{'protected-' if self.protected else ''}{host}"

    def run(self, script: str) -> list[str]:
        """Output of each VM of the script."""
        guest = artefacts.guest(self.guest)
        added = Cpio()
        added.file("modules/armvisor_bounce.ko", bounce(self.guest).read_bytes())
        option = "--protected" if self.protected else "--access-platform"
        settings = f"CPUS={self.cpus} OPTION={option}\n"
        board = Board(
            el2=self.el2,
            kernel="newest" if self.protected and self.el2 else "stable",
            append=PROTECTED if self.protected and self.el2 else "",
            modules=["tun", *(() if self.el2 else (Module(str(module("stable"))),))],
            files={
                "/bin/armvisor": artefacts.vmm(),
                "/bin/tap": artefacts.tool("tap"),
                "/bin/stream": artefacts.tool("stream"),
                "/guest/Image": guest["Image"],
                "/guest/initrd": guest["initrd"].read_bytes() + added.finish(),
                "/script": (settings + PRELUDE + script).encode(),
            },
            memory=1536, smp=min(self.cpus, 2), timeout=1500,
        )  # fmt: skip
        done = board.run(["sh", "/script"])
        said = done.stderr.decode("utf-8", "replace")[-3000:]
        assert not done.failure, f"{done.failure}\n{done.text[-3000:]}\n{said}"
        return done.text.split(MARK)[1:]

    @property
    def share(self) -> str:
        return "yes" if self.protected else "never"


def counts(told: dict[str, str]) -> dict[str, int]:
    """The module's counters, and those that must be 0 at the end."""
    found = {
        name.removeprefix("bounce."): int(value)
        for name, value in told.items()
        if name.startswith("bounce.") and value.isdigit()
    }
    assert not [name for name in found if name.startswith("idle.") and found[name]]
    assert found["senseless"] == found["pages.lost"] == found["too_large"] == 0
    return found


def content(text: str) -> dict[str, str]:
    """Output of a guest that found nothing wrong."""
    status, _, console = text.partition("\n")
    told = results(console)
    failures = {name for name, value in told.items() if name.endswith(".failures") and value != "0"}
    assert status == "0" and "guest.failures" in told and not failures, console[-3000:]
    return told


def assert_everything_went_through(told: dict[str, str], row: Row, mode: str) -> None:
    """The data is intact, and the module's counters show that all of it went through the module."""
    assert told["bounce.mode"] == mode and told["bounce.sharing"] == str(int(row.protected))
    assert told["send.bytes"] == told["receive.bytes"] == str(BYTES)
    assert told["send.checksum"] == told["receive.checksum"]
    assert told["echo.bytes"] and int(told["rng.bytes"]) >= 64
    found = counts(told)
    # Rings of disk, network, vsock and entropy.
    assert found["coherent"] >= 7
    assert found["to_device_bytes"] + PAGE * found.get("pages.shared", 0) > BYTES
    assert found["unmapped"] > 100
    sizes = sum(count for name, count in found.items() if re.fullmatch(r"size\d+", name))
    assert sizes >= found["mapped"]
    cached = sum(count for name, count in found.items() if re.fullmatch(r"list\d+\.hits", name))
    assert (cached > 100) == (mode in ("split-cache", "hybrid"))
    if not row.el2:
        # The board's CPU has 16-byte vector registers, and so has the guest.
        assert found["wide_copy"] == found["wide_clear"] == 1
    assert found["areas"] == (1 if mode == "slots" else row.cpus)
    if mode == "hybrid":
        # Pages of files; all of them were unshared.
        assert found["direct"] > 10
        assert found["pages.shared"] == found["pages.unshared"] > 10
        assert found["pages.failed"] == 0


def check(row: Row, modes: Sequence[str]) -> None:
    """One VM per mode: the first writes the disk, each later one reads and rewrites it."""
    script = ""
    for number, mode in enumerate(modes):
        disk = f"{'disk-check,' if number else ''}vectors,disk-write,disk-check"
        script += f"vm mode={mode},share={row.share} {disk},rng,net,vsock,bounce $OPTION\n"
    told = [content(text) for text in row.run(script)]
    assert len(told) == len(modes)
    for one, mode in zip(told, modes, strict=True):
        assert_everything_went_through(one, row, mode)


ROWS = [
    Row("stable"),
    Row("newest"),
    Row("oldstable"),
    Row("stable", el2=False),
    Row("newest", el2=False),
    Row("newest", protected=True),
    Row("stable", protected=True),
    Row("oldstable", protected=True),
    Row("newest", el2=False, protected=True),
    Row("stable", el2=False, protected=True),
    Row("oldstable", el2=False, protected=True),
]


@pytest.mark.conformance
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_every_mode(row: Row):
    check(row, MODES)


def test_a_protected_vm():
    """In the mode that shares pages at run time and copies the rest."""
    check(Row("newest", el2=False, protected=True, cpus=1), ["hybrid"])


@pytest.mark.conformance
def test_all_devices_at_once():
    """test_debug_kernel.py does it for an hour, in a guest with checkers."""
    mix(
        artefacts.guest("stable"), bounce("stable"), seconds=60, memory=384, sectors=10_000, times=2
    )


@pytest.mark.conformance
def test_a_small_pool_is_enough():
    """Lists run empty, and nothing is lost: a disk's requests are limited by the pool's size."""
    parameters = f"mode=split-cache,pool={LEAST},share=never"
    script = f"vm {parameters} disk-write,disk-check,net,vsock,bounce $OPTION\n"
    (text,) = Row("stable", cpus=4).run(script)
    told = content(text)
    assert told["send.checksum"] == told["receive.checksum"]
    found = counts(told)
    assert found["list11.fallbacks"] + found["list12.fallbacks"] > 0


@pytest.mark.conformance
def test_a_pool_too_small_for_a_disk_is_refused():
    """The message says what to set instead; with that, all requests of the disk complete."""
    script = "DEVICES='--disk /tmp/disk --access-platform'\n"
    for size in ("4M", LEAST):
        parameters = f"mode=split-cache,pool={size},share=never"
        script += f"bare armvisor.bounce={parameters} armvisor.test=disk-write,disk-check,bounce\n"
    refused, taken = Row("stable", cpus=4).run(script)
    assert (
        "a pool of 4096 KiB is too small for its requests of up to 254 parts, which could wait for "
        f"ever: load with pool={LEAST} or more"
    ) in refused
    assert counts(content(taken))["pool_bytes"] == int(LEAST[:-1]) << 10


# Parameters, on a plain VM of 384 MiB, and the module's message.
REFUSED = {
    "mode=fast": "mode=fast: give slots, areas, split-cache or hybrid",
    "mode=": "mode=: give slots, areas, split-cache or hybrid",
    "share=maybe": "share=maybe: give yes or never",
    "pool=many": "pool=many is not a size: give bytes, or a number with K, M or G",
    "pool=0": "pool=0 is not a size",
    "pool=M": "pool=M is not a size",
    "pool=-1": "pool=-1 is not a size",
    "pool=1MB": "pool=1MB is not a size",
    # 2^64 and 1 MiB.
    "pool=17592186044417M": "pool=17592186044417M is not a size",
    "pool=18446744073709551617": "pool=18446744073709551617 is not a size",
    "pool=200M": "pool=200M is not a size: give bytes, or a number with K, M or G, of at most half",
    "pool=1K": "pool=1K is too small for mode=split-cache: give at least 512 KiB",
    "mode=hybrid": "the hypervisor offers no calls to share memory (HYP_MEMINFO, MEM_SHARE, "
    "MEM_UNSHARE), so this VM is not a protected one: load with share=never",
}
REBOUND = (
    "is not served: its driver virtio_rng was bound before this module was loaded; "
    "load the module earlier",
    "is not served: it does not offer VIRTIO_F_ACCESS_PLATFORM: have the VMM offer it",
)


@pytest.mark.conformance
def test_what_it_cannot_do_is_refused_in_a_sentence():
    """Bad parameters, a VM that is not protected, devices that it cannot serve; then it unloads."""
    script = f"bare armvisor.rows={','.join(REFUSED)} armvisor.test=refusals,rng\n"
    (text,) = Row("stable").run(script)
    content(text)
    # Once each: errors appear on the console at once, and in the log.
    said = dict.fromkeys(
        line.partition("armvisor_bounce: ")[2].strip() for line in text.splitlines()
    )
    lines = [line for line in said if line]
    assert len(lines) > len(REFUSED)
    for line, words in zip(lines, REFUSED.values(), strict=False):
        assert line.startswith(words)
    rest = " ".join(lines[len(REFUSED) :])
    assert all(words in rest for words in REBOUND), rest
    assert "not shared: the VMM sees all memory" in rest


def test_symbols_that_a_kernel_does_not_export_are_an_error(tmp_path):
    """`symbols.sh` for a module that needs only existing symbols, and for one that needs more."""
    kernel = tmp_path / "kernel"
    (kernel / "include/config").mkdir(parents=True)
    (kernel / "include/config/kernel.release").write_text("9.9.9-test\n")
    (kernel / "Module.symvers").write_text("0x00000000\tkfree\tvmlinux\tEXPORT_SYMBOL\t\n")
    for name, status, words in (
        ("kfree", 0, "1 symbols, all exported by 9.9.9-test"),
        ("kfree_more", 1, "9.9.9-test does not export kfree_more"),
    ):
        source = f"void {name}(void); void f(void) {{ {name}(); }}"
        compiler = ["cc", "-xc", "-c", "-", "-o", str(tmp_path / "module.ko")]
        subprocess.run(compiler, input=source, text=True, check=True)
        done = subprocess.run(
            [str(TOP / "bounce/symbols.sh"), "module.ko", "kernel", "nm"],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == status and words in done.stdout + done.stderr


@pytest.mark.parametrize("kernel", ["oldstable", "stable", "newest"])
def test_each_kernel_exports_what_it_needs(kernel: str):
    make(str(TOP / "bounce"), f"KVER={kernel}", "symbols")
