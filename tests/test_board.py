# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Boards, end to end: output and status of a command, and reports of a board's own failures."""

import json
import os
import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from armvisor_lab.archive import kernels
from armvisor_lab.boards import initramfs
from armvisor_lab.boards.board import Board, Disk
from armvisor_lab.boards.initramfs import Module

TOP = Path(__file__).resolve().parents[1]
LAB = str(TOP / "bin/lab")
CONFORMANCE = pytest.mark.conformance


def lab(*words: str, **rest) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [LAB, "board", "run", *words],
        capture_output=True,
        check=False,
        timeout=280,
        **rest,
    )


def boards_of(session: str) -> list[int]:
    """QEMU processes with the word `session` on their command line."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"qemu-system" in words[0] and any(session.encode() in word for word in words):
            found.append(int(folder.name))
    return found


def wait_for(what):
    """Wait, however slow the machine is: an event that never comes hangs the test."""
    while not what():
        time.sleep(0.1)


WORDS = ["two words", "", "quote'quote", '"', "$HOME", "*", "back\\slash", "--", "-n", "ü\n"]
EXACT = r"""
cat; echo problem >&2
for word in "$@"; do printf '%s\0' "$word"; done
tool; cat /deep/er/data; exit 37
"""


def test_all_arrives_as_it_was_given(tmp_path):
    """Input and output to the byte, words, files and folders, the status."""
    (tmp_path / "tool").write_text("#!/bin/sh\necho it runs\n")
    (tmp_path / "tool").chmod(0o755)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/data").write_bytes(b"\0\1\2")
    data = bytes(range(256)) * 700
    files = ["--file", f"{tmp_path}/tool:/usr/bin/", "--file", f"{tmp_path}/folder:/deep/er"]
    done = lab(*files, "--", "sh", "-c", EXACT, "sh", *WORDS, input=data)
    words = "".join(f"{word}\0" for word in WORDS).encode()
    assert done.stdout == data + words + b"it runs\n\0\1\2"
    assert done.stderr == b"problem\n"
    assert done.returncode == 37


def test_a_command_that_dies_of_a_signal():
    """And what it printed is no splat."""
    line = "[    1.000000] Kernel panic - not syncing: a guest's"
    result = Board().run(["sh", "-c", f'echo "{line}"; kill -9 $$'])
    assert result.failure is None
    assert result.text == line + "\n"
    assert result.status == 128 + 9


def test_a_missing_command_is_the_shell_s_127():
    result = Board().run(["nosuch"])
    assert result.status == 127
    assert result.failure is None


@pytest.mark.parametrize(
    "kernel", ["stable", *(pytest.param(k, marks=CONFORMANCE) for k in ("oldstable", "newest"))]
)
def test_kvm_is_on_the_board_with_el2_only(kernel):
    """Of two boards that run side by side."""
    with ThreadPoolExecutor(2) as pool:
        boards = [Board(el2=el2, kernel=kernel, smp=2) for el2 in (True, False)]
        script = "uname -r; nproc; test -c /dev/kvm"
        jobs = [pool.submit(board.run, ["sh", "-c", script]) for board in boards]
        with_el2, without = [job.result() for job in jobs]
    assert (with_el2.status, without.status) == (0, 1)
    assert with_el2.failure is without.failure is None
    release, cpus = with_el2.text.split()
    assert release == kernels.get(kernel).release
    assert cpus == "2"


@CONFORMANCE
@pytest.mark.parametrize(
    ("cpu", "append", "says"),
    [
        ("cortex-a72", "", "Hyp mode initialized|Hyp nVHE mode initialized"),
        ("cortex-a76", "", "VHE mode initialized"),
        ("neoverse-n1", "kvm-arm.mode=protected", "Protected .*mode initialized"),
        ("max", "", "VHE mode initialized"),
    ],
)
def test_modes_of_kvm(cpu, append, says):
    result = Board(el2=True, cpu=cpu, append=append).run(["dmesg"]).check()
    assert re.search(f"kvm .*({says})", result.text)


def test_modules_load_with_what_they_need():
    """And a splat fails a command that succeeded."""
    board = Board(modules=["vhost_vsock", "tun"])
    said = "BUG: KASAN: slab-use-after-free in nothing+0x1/0x2"
    script = f"lsmod; ls /dev/vhost-vsock /dev/net/tun && echo '{said}' >/dev/kmsg"
    result = board.run(["sh", "-c", script])
    for name in ("vhost_vsock", "vhost", "vsock", "tun"):
        assert re.search(rf"^{name} ", result.text, re.MULTILINE)
    assert result.status == 0
    assert result.failure is not None
    assert result.failure.kind == "kasan"
    assert result.exit_status == 126


def test_a_module_that_does_not_load_is_a_failure_of_the_board(tmp_path):
    bad = tmp_path / "bad.ko"
    bad.write_bytes(b"\x7fELF" + bytes(100))
    result = Board(modules=[str(bad)]).run(["true"])
    assert result.status is None
    assert result.failure is not None
    assert "module bad.ko does not load" in result.failure.message
    assert result.exit_status == 125


def test_disks_are_found_by_name_and_keep_what_they_are_told_to(tmp_path):
    """And a board that goes off is reported."""
    for name in ("lent", "kept"):
        (tmp_path / name).write_bytes(name.encode().ljust(4096, b"."))
    disks = [Disk("lent", tmp_path / "lent"), Disk("kept", tmp_path / "kept", keep=True)]
    script = """
        for disk in /sys/block/vd*; do
            echo $(cat $disk/serial) $(head -c 4 /dev/${disk##*/})
            echo written >/dev/${disk##*/}
        done
        sync; poweroff -f; sleep 1000
    """
    done = Board(disks=disks).run(["sh", "-c", script])
    assert sorted(done.text.splitlines()) == ["kept kept", "lent lent"]
    assert (tmp_path / "lent").read_bytes().startswith(b"lent..")
    assert (tmp_path / "kept").read_bytes().startswith(b"written\n")
    # The command did not end.
    assert done.status is None
    assert done.failure is not None
    assert done.failure.kind == "stop"
    assert done.exit_status == 126


def test_a_panic_is_reported_with_the_console(tmp_path):
    log = tmp_path / "console.log"
    done = lab("--log", str(log), "--", "sh", "-c", "echo before; echo c >/proc/sysrq-trigger")
    assert done.returncode == 126
    assert done.stdout == b"before\n"
    assert b"Kernel panic - not syncing: sysrq triggered crash" in done.stderr
    assert str(log).encode() in done.stderr
    assert b"sysrq_handle_crash" in log.read_bytes()


def test_a_hang_is_reported_with_what_the_cpus_do(tmp_path):
    log = tmp_path / "console.log"
    words = ["--timeout", "2", "--log", str(log), "--smp", "2"]
    done = lab(*words, "--", "sh", "-c", "echo started; while :; do :; done")
    assert done.returncode == 124
    assert done.stdout == b"started\n"
    assert b"did not end within 2 s" in done.stderr
    assert b"Show backtrace of all active CPUs" in log.read_bytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_an_interrupted_board(number, tmp_path):
    mark = f"test.mark={os.getpid()}.{number}"
    process = subprocess.Popen(
        [LAB, "board", "run", "--append", mark, "--", "sleep", "1000"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    try:
        wait_for(lambda: boards_of(mark) or process.poll() is not None)
        process.send_signal(number)
        process.wait()
        wait_for(lambda: not boards_of(mark))
        assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
        assert list(tmp_path.iterdir()) == []
    finally:
        process.kill()
        process.wait()


def test_a_module_built_anew_is_loaded_anew(tmp_path):
    module = tmp_path / "same.ko"
    for content in (b"\x7fELF first", b"\x7fELF second"):
        module.write_bytes(content)
        pieces = initramfs.build(kernels.get("stable"), [Module(str(module))], {}, ["true"], {})
        assert content in b"".join(pieces)


SLEEP = """
echo +2 >/sys/class/rtc/rtc0/wakealarm && echo freeze >/sys/power/state
if /init reopen; then exec >/dev/lab/stdout; fi
echo awake; exit 37
"""


@pytest.mark.parametrize("kernel", ["newest", pytest.param("stable", marks=CONFORMANCE)])
def test_a_board_that_slept_tells_as_before(kernel):
    result = Board(kernel=kernel).run(["sh", "-c", SLEEP])
    assert result.failure is None
    assert (result.text, result.status) == ("awake\n", 37)


def test_channels_are_the_lab_s_beside_other_devices():
    """The numbers of ports are those of all virtio devices of the board."""
    devices = [
        "-device", "virtio-rng-device",
        "-chardev", "null,id=other", "-device", "virtio-serial-device,id=second",
        "-device", "virtserialport,bus=second.0,chardev=other,nr=1,name=other",
    ]  # fmt: skip
    result = Board(qemu_args=devices).run(["sh", "-c", "cat; echo err >&2; exit 3"], stdin=b"in")
    assert result.failure is None
    assert (result.stdout, result.stderr, result.status) == (b"in", b"err\n", 3)


def test_counted_runs_repeat():
    """And begin with random numbers, always the same: to make its own of the clock's jitter takes
    2,000,000,000 instructions.
    """
    # The board's clock counts instructions: the same work takes the same time, in nanoseconds,
    # but for a few when this machine is so busy that the emulator's threads wait for each other.
    now = "awk '/^now at/ {print $3}' /proc/timer_list"
    work = "for i in 1 2 3; do ls -lR /proc/sys >/dev/null; done"
    script = f"cat /proc/uptime; {now}; {work}; {now}; dmesg"
    board = Board(count=True, settle=1)
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(board.run, ["sh", "-c", script]) for _ in range(2)]
        texts = [job.result().check().text for job in jobs]
    uptimes, starts, ends = zip(*(text.splitlines()[:3] for text in texts), strict=True)
    took = [int(end) - int(start) for start, end in zip(starts, ends, strict=True)]
    assert min(took) > 10_000_000
    assert max(took) - min(took) <= min(took) // 1000
    # One to boot, one of rest.
    assert all(float(uptime.split()[0]) < 3 for uptime in uptimes)
    assert all("crng init done" in text for text in texts)


def test_json():
    done = lab("--json", "--el2", "--", "sh", "-c", "echo out; echo err >&2; exit 5")
    said = json.loads(done.stdout)
    assert (said["stdout"], said["stderr"], said["status"]) == ("out\n", "err\n", 5)
    assert done.returncode == 5
    assert said["board"]["el2"] is True
    kernel = kernels.get("stable")
    assert said["board"]["kernel_role"] == "stable"
    assert said["board"]["kernel"] == kernel.release
    assert said["board"]["kernel_version"] == kernel.version
    assert said["board"]["packages"] == list(kernel.packages) != []
    assert Path(said["console_log"]).exists()
