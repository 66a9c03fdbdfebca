# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Channels and processes, with a stand-in for QEMU: a Python program on the other end."""

import os
import subprocess
import sys
import threading
import time

import pytest

from armvisor_lab.boards import machine
from armvisor_lab.boards.machine import Channel, Deadline, Machine

ECHO = """
import os, socket, sys
end = socket.socket(fileno=int(sys.argv[1]))
while data := end.recv(1000):
    end.sendall(data.upper())
    if b"STOP" in data: break
"""


@pytest.fixture
def python(tmp_path, monkeypatch):
    """Makes `Machine` run this Python instead of QEMU."""
    monkeypatch.setenv("ARMVISOR_QEMU", sys.executable)

    def arguments(program: str, *words: object) -> list[str]:
        return ["-c", program, *map(str, words)]

    return arguments


# Of what must not be waited for: a test that waits for it after all does not end by itself.
NEVER = 100_000


def later(seconds: float = NEVER):
    end = time.monotonic() + seconds
    return lambda: end


def test_bytes_go_there_and_back(python):
    got = bytearray()
    channel = Channel("c", got.extend)
    channel.push(b"x" * 300_000 + b"STOP")
    machine = Machine(python(ECHO, channel.theirs.fileno()), [channel])
    assert machine.run(later()) == 0
    assert got == b"X" * 300_000 + b"STOP"


def test_a_sending_channel_ends_with_its_bytes(python):
    counts = "import socket,sys; s = socket.socket(fileno=int(sys.argv[1])); n = 0\n"
    counts += "while d := s.recv(4096): n += len(d)\nsys.exit(n == 500000)"
    channel = Channel("c", None, b"y" * 500_000)
    assert Machine(python(counts, channel.theirs.fileno()), [channel]).run(later()) == 1


@pytest.mark.parametrize("kind", ["pipe", "file", "null"])
def test_what_a_descriptor_gives_is_sent(python, tmp_path, kind):
    data = b"" if kind == "null" else os.urandom(200_000)
    if kind == "pipe":
        source, sink = os.pipe()

        def feed():
            with os.fdopen(sink, "wb") as file:
                file.write(data)

        threading.Thread(target=feed).start()
    elif kind == "file":
        (tmp_path / "data").write_bytes(data)
        source = os.open(tmp_path / "data", os.O_RDONLY)
    else:
        source = os.open(os.devnull, os.O_RDONLY)
    copy = "import socket,sys; s = socket.socket(fileno=int(sys.argv[1]))\n"
    copy += "with open(sys.argv[2], 'wb') as f:\n while d := s.recv(4096): f.write(d)"
    channel = Channel("c", None, source)
    target = tmp_path / "copy"
    Machine(python(copy, channel.theirs.fileno(), target), [channel]).run(later())
    os.close(source)
    assert target.read_bytes() == data


def test_what_is_left_in_a_channel_at_the_end_is_taken(python):
    got = bytearray()
    channel = Channel("c", got.extend)
    program = "import os,sys; os.write(int(sys.argv[1]), b'z' * 100000)"
    Machine(python(program, channel.theirs.fileno()), [channel]).run(later())
    assert len(got) == 100_000


def test_the_deadline_kills_what_does_not_listen(python):
    program = (
        f"import signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep({NEVER})"
    )
    machine = Machine(python(program), [])
    with pytest.raises(Deadline):
        machine.run(later(0.5))


def test_a_deadline_may_be_moved(python):
    end = [time.monotonic() + NEVER]

    def sooner(_data: bytes) -> None:
        end[0] = time.monotonic()

    channel = Channel("c", sooner)
    program = f"import os,sys,time; os.write(int(sys.argv[1]), b'.'); time.sleep({NEVER})"
    machine = Machine(python(program, channel.theirs.fileno()), [channel])
    with pytest.raises(Deadline):
        machine.run(lambda: end[0])


def test_what_the_emulator_says_is_kept(python):
    machine = Machine(python("import sys; sys.exit('no such machine')"), [])
    assert machine.run(later()) == 1
    assert machine.errors == "no such machine"


def test_an_error_in_a_receiver_ends_the_machine(python):
    def fail(_data: bytes) -> None:
        raise KeyboardInterrupt

    channel = Channel("c", fail)
    program = f"import os,sys,time; os.write(int(sys.argv[1]), b'.'); time.sleep({NEVER})"
    machine = Machine(python(program, channel.theirs.fileno()), [channel])
    with pytest.raises(KeyboardInterrupt):
        machine.run(later())


# Tells the policy of its first thread, and of another one.
POLICIES = """
import os, threading
input()
tell = lambda: print(os.sched_getscheduler(0), flush=True)
tell()
thread = threading.Thread(target=tell)
thread.start()
thread.join()
"""


def may_have_priority() -> bool:
    """Whether this process may: what a child of it is given is not inherited by others."""
    child = os.fork()
    if not child:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def test_whether_it_may_have_priority_is_found_out_without_a_trace():
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    assert machine.keeps_time() == may_have_priority()
    assert (os.sched_getscheduler(0), os.sched_getparam(0)) == before


def test_a_main_thread_has_priority_and_no_other():
    with subprocess.Popen(
        [sys.executable, "-c", POLICIES], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        machine._be_in_time(process.pid)
        out, _ = process.communicate(b"\n")
    first, other = map(int, out.split())
    wanted = os.SCHED_FIFO if may_have_priority() else os.SCHED_OTHER
    assert first & ~os.SCHED_RESET_ON_FORK == wanted
    assert other == os.SCHED_OTHER
