# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""State of a hung board's CPUs and tasks, requested from its kernel before the board is killed.

The requests are magic SysRq keys, which a serial console accepts after a break; QEMU sends breaks
by command of its control channel (QMP). The answers appear in the console log, and each request
waits for the answer to the one before: a break sent earlier could overtake the key, which uses
another channel. A board that is too dead to answer stays silent, and nothing here waits for it.
"""

import json
from collections.abc import Callable

from armvisor_lab.boards.machine import Channel

# Stacks of the running CPUs, and of the tasks that wait in the kernel.
_KEYS = "lw"

# The kernel's first line in answer to any of them.
_ANSWER = b"sysrq: "

SECONDS = 8.0


class Autopsy:
    """The control channel of a board and the dialogue over it."""

    def __init__(self, serial: str, press: Callable[[bytes], None]) -> None:
        """`serial` is QEMU's name of the console, `press` types on it."""
        self.channel = Channel("control", self._receive)
        self._serial = serial
        self._press = press
        self._keys = list(_KEYS)
        self._rest = b""
        self._tail = b""
        self._asked = False

    @property
    def arguments(self) -> list[str]:
        """QEMU's arguments for the control channel."""
        return ["-chardev", self.channel.chardev, "-mon", "chardev=control,mode=control"]

    def begin(self) -> None:
        """Start asking."""
        self._asked = True
        self._send({"execute": "qmp_capabilities"})

    def _send(self, message: dict[str, object]) -> None:
        self.channel.push(json.dumps(message).encode() + b"\n")

    def heard(self, data: bytes) -> None:
        """The console said `data`; ask the next question once the last is being answered."""
        if not self._asked or not self._keys:
            return
        self._tail += data
        if _ANSWER in self._tail:
            self._tail = b""
            self._break()
        self._tail = self._tail[-len(_ANSWER) :]

    def _break(self) -> None:
        serial = {"id": self._serial}
        self._send({"execute": "chardev-send-break", "arguments": serial, "id": "break"})

    def _receive(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            answer = json.loads(line)
            if not self._asked or "return" not in answer:
                continue
            # The first answer is to the greeting; each later one to a break: press its key.
            if answer.get("id") == "break":
                self._press(self._keys.pop(0).encode())
            else:
                self._break()
