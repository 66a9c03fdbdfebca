# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""One QEMU process and the byte channels to it.

QEMU gets each channel as one end of a socket pair, so no names in the file system can collide or be
left over. QEMU has its own session. The kernel kills it when this process dies (PR_SET_PDEATHSIG,
set by setpriv), and so does every way out of `Machine.run`. One thread serves everything; nothing
here outlives the call.
"""

import contextlib
import os
import selectors
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import IO

from armvisor_lab.archive import emulator
from armvisor_lab.archive.packages import Progress
from armvisor_lab.boards.clock import Clock
from armvisor_lab.errors import LabError

Receive = Callable[[bytes], None]

TICK_SECONDS = 0.002

_CHUNK = 65536
_KILL_GRACE = 2.0


class Deadline(Exception):
    """The machine ran past its deadline."""


class Channel:
    """One byte stream between QEMU and the lab.

    What is sent comes from bytes or from a descriptor; a descriptor is read only when all
    that was read before is sent, so a slow guest slows its feeder down. At the end of what is
    sent QEMU gives the whole channel up: so a channel that receives sends nothing (None).
    """

    def __init__(
        self, name: str, receive: Receive | None = None, send: bytes | int | None = None
    ) -> None:
        self.name = name
        self._receive = receive
        self.open = True
        self.ours, self.theirs = socket.socketpair()
        self.ours.setblocking(False)
        self._unsent = send if isinstance(send, bytes) else b""
        self._source = send if isinstance(send, int) else None
        self._ends = send is not None
        self._finish()

    @property
    def chardev(self) -> str:
        """QEMU's option for this channel."""
        return f"socket,id={self.name},fd={self.theirs.fileno()}"

    @property
    def source(self) -> int | None:
        """The descriptor to wait for now, if any."""
        return None if self._unsent else self._source

    @property
    def events(self) -> int:
        """What to wait for on our end now."""
        if not self.open:
            return 0
        return selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unsent else 0)

    def push(self, data: bytes) -> None:
        """Send `data` after what waits."""
        self._unsent += data

    def take(self) -> bool:
        """Receive once; whether there may be more at once."""
        try:
            data = self.ours.recv(_CHUNK)
        except BlockingIOError:
            return False
        except ConnectionResetError:
            data = b""
        if data and self._receive:
            self._receive(data)
        self.open = bool(data)
        return self.open

    def fill(self) -> None:
        """Read once from the source, which is ready, and send it on."""
        assert self._source is not None
        try:
            self._unsent = os.read(self._source, _CHUNK)
        except OSError:
            self._unsent = b""
        if not self._unsent:
            self._source = None
        self.flush()

    def flush(self) -> None:
        """Send what waits, as far as it goes."""
        try:
            while self._unsent:
                self._unsent = self._unsent[self.ours.send(self._unsent) :]
        except BlockingIOError:
            return
        except (BrokenPipeError, ConnectionResetError):
            self._unsent, self._source = b"", None
        self._finish()

    def _finish(self) -> None:
        if self._ends and not self._unsent and self._source is None:
            # The guest reads end of file.
            with contextlib.suppress(OSError):
                self.ours.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close both ends."""
        self.ours.close()
        self.theirs.close()


def find_qemu(newest: bool = False, progress: Progress = lambda _: None) -> str:
    """The emulator's path: this machine's own, or one that is fetched (archive/emulator.py)."""
    if own := os.environ.get("ARMVISOR_QEMU"):
        return own
    if newest:
        return str(emulator.newest(progress))
    if qemu := shutil.which("qemu-system-aarch64"):
        return qemu
    raise LabError("qemu-system-aarch64 is missing", "run tools/setup")


def descriptor_path(fd: int) -> str:
    """The path by which QEMU opens a descriptor that is passed to it."""
    return f"/proc/self/fd/{fd}"


class Machine:
    """A QEMU process from start to end."""

    def __init__(
        self, arguments: Sequence[str], channels: Sequence[Channel], files: Sequence[int] = (),
        tick: Callable[[], None] | None = None, program: str = "",
    ) -> None:  # fmt: skip
        """`files` are descriptors that `arguments` name as `descriptor_path` does.

        `program` is QEMU's path, by default that of `find_qemu`.
        `tick` is called every `TICK_SECONDS` or a little more.
        """
        self._arguments = list(arguments)
        self._program = program
        self._tick = tick
        self._channels = list(channels)
        self._files = list(files)
        self.clock = Clock()  # of QEMU, once it runs
        self.seconds = 0.0
        self.errors = ""  # QEMU's own output

    def run(self, deadline: Callable[[], float]) -> int:
        """Run to the end and return QEMU's exit status.

        `deadline`, asked again as things happen, is the time on the monotonic clock after
        which Deadline is raised; that of a limit on `clock` is `clock.deadline(SECONDS)`.
        """
        began = time.monotonic()
        with tempfile.TemporaryFile() as errors:
            process = self._start(errors)
            try:
                self._serve(process, deadline)
            finally:
                self._end(process)
                self.seconds = time.monotonic() - began
                errors.seek(0)
                self.errors = errors.read().decode(errors="replace").strip()
        return process.returncode

    def _start(self, errors: IO[bytes]) -> subprocess.Popen[bytes]:
        if not (setpriv := shutil.which("setpriv")):
            raise LabError("setpriv is missing", "apt-get install util-linux")
        process = subprocess.Popen(
            [setpriv, "--pdeathsig", "KILL", "--", self._program or find_qemu(), *self._arguments],
            stdin=subprocess.DEVNULL, stdout=errors, stderr=errors,
            pass_fds=[*self._files, *(channel.theirs.fileno() for channel in self._channels)],
            start_new_session=True,
        )  # fmt: skip
        self.clock.follow(process.pid)
        for channel in self._channels:
            channel.theirs.close()
        if "-icount" in self._arguments:
            _be_in_time(process.pid)
        return process

    def _serve(self, process: subprocess.Popen[bytes], deadline: Callable[[], float]) -> None:
        pidfd = os.pidfd_open(process.pid)
        tick = time.monotonic()
        try:
            # poll: epoll refuses /dev/null and regular files as sources.
            with selectors.PollSelector() as selector:
                selector.register(pidfd, selectors.EVENT_READ)
                while True:
                    # First, because it may send something.
                    end = deadline()
                    for channel in self._channels:
                        _watch(selector, channel.ours.fileno(), channel.events, channel)
                        if channel.source is not None:
                            _watch(selector, channel.source, selectors.EVENT_READ, channel)
                    left = end - time.monotonic()
                    if left <= 0:
                        raise Deadline
                    if self._tick and time.monotonic() >= tick:
                        self._tick()
                        tick = time.monotonic() + TICK_SECONDS
                        continue
                    ready = selector.select(min(left, TICK_SECONDS) if self._tick else left)
                    if any(key.fd == pidfd for key, _ in ready):
                        return
                    for key, events in ready:
                        _dispatch(selector, key, events)
        finally:
            os.close(pidfd)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(_KILL_GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for channel in self._channels:
            # The output that QEMU left in its end.
            while channel.open and channel.take():
                pass
            channel.close()


def _be_in_time(pid: int) -> None:
    """Let the emulator's main thread, which is seldom awake, run at once when it is.

    When the board's processors wait, that thread moves the clock on to the next timer. If it is
    late for that, and looks again just when they begin to wait anew, it does not know yet what they
    have executed since, and moves the clock too far. So a busy machine made other figures. The
    threads of the board's processors are not given this. Where it is not permitted, nothing is lost
    but that.
    """
    with contextlib.suppress(OSError):
        os.sched_setscheduler(pid, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def keeps_time() -> bool:
    """Whether this process may give an emulator's main thread priority."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        # Not reset on fork: not everybody may undo it.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        return False
    os.sched_setscheduler(0, *before)
    return True


def _watch(selector: selectors.BaseSelector, fd: int, events: int, channel: Channel) -> None:
    """Wait for `events` of `fd`, or for nothing."""
    known = selector.get_map().get(fd)
    if known and not events:
        selector.unregister(fd)
    elif known and known.events != events:
        selector.modify(fd, events, channel)
    elif not known and events:
        selector.register(fd, events, channel)


def _dispatch(selector: selectors.BaseSelector, key: selectors.SelectorKey, events: int) -> None:
    channel: Channel = key.data
    if key.fd == channel.ours.fileno():
        if events & selectors.EVENT_WRITE:
            channel.flush()
        if events & selectors.EVENT_READ:
            channel.take()
    elif key.fd == channel.source:
        channel.fill()
        if channel.source is None:
            selector.unregister(key.fd)
