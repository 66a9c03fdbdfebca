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


def test_output_is_exact_and_status_comes_through():
    data = bytes(range(256)) * 700
    done = lab("--", "sh", "-c", "cat; echo problem >&2; exit 37", input=data)
    assert done.stdout == data
    assert done.stderr == b"problem\n"
    assert done.returncode == 37


def test_words_of_the_command_arrive_as_given():
    words = [
        "two words",
        "",
        "quote'quote",
        '"',
        "$HOME",
        "*",
        "back\\slash",
        "--",
        "-n",
        "ü\n",
    ]
    done = lab("--", "sh", "-c", r'for w in "$@"; do printf "%s\0" "$w"; done', "sh", *words)
    assert done.stdout.decode().split("\0")[:-1] == words


def test_a_command_that_dies_of_a_signal():
    assert Board().run(["sh", "-c", "kill -9 $$"]).status == 128 + 9


def test_a_missing_command_is_the_shell_s_127():
    result = Board().run(["nosuch"])
    assert result.status == 127
    assert result.failure is None


@pytest.mark.parametrize("kernel", kernels.SUITE_OF)
def test_kvm_is_on_the_board_with_el2_only(kernel):
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
    board = Board(modules=["vhost_vsock", "tun"])
    result = board.run(["sh", "-c", "lsmod; ls /dev/vhost-vsock /dev/net/tun"]).check()
    for name in ("vhost_vsock", "vhost", "vsock", "tun"):
        assert re.search(rf"^{name} ", result.text, re.MULTILINE)


def test_a_module_that_does_not_load_is_a_failure_of_the_board(tmp_path):
    bad = tmp_path / "bad.ko"
    bad.write_bytes(b"\x7fELF" + bytes(100))
    result = Board(modules=[str(bad)]).run(["true"])
    assert result.status is None
    assert result.failure is not None
    assert "module bad.ko does not load" in result.failure.message
    assert result.exit_status == 125


def test_files_and_folders_are_put_into_the_board(tmp_path):
    (tmp_path / "tool").write_text("#!/bin/sh\necho it runs\n")
    (tmp_path / "tool").chmod(0o755)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/data").write_bytes(b"\0\1\2")
    pairs = [f"{tmp_path}/tool:/usr/bin/", f"{tmp_path}/folder:/deep/er"]
    done = lab(
        "--file",
        pairs[0],
        "--file",
        pairs[1],
        "--",
        "sh",
        "-c",
        "tool; cat /deep/er/data",
    )
    assert done.stdout == b"it runs\n\0\1\2"


def test_disks_are_found_by_name_and_keep_what_they_are_told_to(tmp_path):
    for name in ("lent", "kept"):
        (tmp_path / name).write_bytes(name.encode().ljust(4096, b"."))
    disks = [Disk("lent", tmp_path / "lent"), Disk("kept", tmp_path / "kept", keep=True)]
    script = """
        for disk in /sys/block/vd*; do
            echo $(cat $disk/serial) $(head -c 4 /dev/${disk##*/})
            echo written >/dev/${disk##*/}
        done
        sync
    """
    done = Board(disks=disks).run(["sh", "-c", script]).check()
    assert sorted(done.text.splitlines()) == ["kept kept", "lent lent"]
    assert (tmp_path / "lent").read_bytes().startswith(b"lent..")
    assert (tmp_path / "kept").read_bytes().startswith(b"written\n")


def test_a_panic_is_reported_with_the_console(tmp_path):
    log = tmp_path / "console.log"
    done = lab("--log", str(log), "--", "sh", "-c", "echo before; echo c >/proc/sysrq-trigger")
    assert done.returncode == 126
    assert done.stdout == b"before\n"
    assert b"Kernel panic - not syncing: sysrq triggered crash" in done.stderr
    assert str(log).encode() in done.stderr
    assert b"sysrq_handle_crash" in log.read_bytes()


def test_a_splat_fails_a_command_that_succeeded():
    said = "BUG: KASAN: slab-use-after-free in nothing+0x1/0x2"
    result = Board().run(["sh", "-c", f"echo '{said}' >/dev/kmsg; exit 0"])
    assert result.status == 0
    assert result.failure is not None
    assert result.failure.kind == "kasan"
    assert result.exit_status == 126


def test_what_a_command_prints_is_no_splat():
    line = "[    1.000000] Kernel panic - not syncing: a guest's"
    result = Board().run(["echo", line]).check()
    assert result.text == line + "\n"


def test_a_hang_is_reported_with_what_the_cpus_do(tmp_path):
    log = tmp_path / "console.log"
    words = ["--timeout", "4", "--log", str(log), "--smp", "2"]
    done = lab(*words, "--", "sh", "-c", "echo started; while :; do :; done")
    assert done.returncode == 124
    assert done.stdout == b"started\n"
    assert b"did not end within 4 s" in done.stderr
    assert b"Show backtrace of all active CPUs" in log.read_bytes()


def test_a_board_that_goes_off_is_reported():
    result = Board().run(["sh", "-c", "poweroff -f; sleep 1000"])
    assert result.status is None
    assert result.failure is not None
    assert result.failure.kind == "stop"
    assert result.exit_status == 126


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


@pytest.mark.parametrize(
    "devices",
    [
        ["-device", "virtio-rng-device"],
        ["-chardev", "null,id=other", "-device", "virtio-serial-device,id=second",
         "-device", "virtserialport,bus=second.0,chardev=other,nr=1,name=other"],
    ],
    ids=["another-device", "another-serial-bus"],
)  # fmt: skip
def test_channels_are_the_lab_s_beside_other_devices(devices):
    """Port numbers are those of all virtio devices of the board."""
    result = Board(qemu_args=devices).run(["sh", "-c", "cat; echo err >&2; exit 3"], stdin=b"in")
    assert result.failure is None
    assert (result.stdout, result.stderr, result.status) == (b"in", b"err\n", 3)


def test_boards_run_side_by_side():
    with ThreadPoolExecutor(2) as pool:
        results = list(
            pool.map(
                lambda word: Board().run(["sh", "-c", f"sleep 2; echo {word}"]),
                ["a", "b"],
            )
        )
    assert [result.check().text for result in results] == ["a\n", "b\n"]


def test_counted_runs_repeat():
    # The board's clock counts instructions: the same work takes the same time, except for a few
    # nanoseconds when the emulator's threads wait for each other on a busy machine.
    now = "awk '/^now at/ {print $3}' /proc/timer_list"
    work = "for i in 1 2 3; do ls -lR /proc/sys >/dev/null; done"
    board = Board(count=True, settle=1)
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(board.run, ["sh", "-c", f"{now}; {work}; {now}"]) for _ in range(2)]
        readings = [job.result().check().text.split() for job in jobs]
    took = [int(end) - int(start) for start, end in readings]
    assert min(took) > 10_000_000
    assert max(took) - min(took) <= min(took) // 1000


def test_a_counted_board_begins_with_random_numbers():
    """Always the same: gathering jitter entropy instead takes 2,000,000,000 instructions."""
    board = Board(count=True, settle=1)
    text = board.run(["sh", "-c", "cat /proc/uptime; dmesg"]).check().text
    assert "crng init done" in text
    # One to boot, one as a margin.
    assert float(text.split()[0]) < 3


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
