# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A Debian with systemd as a board's own system: the disk of `guests/disk/build.py --host`.

    host = Host(disk)
    done = host.run("apt-get install -y ./*.deb", {"a.deb": Path("…")})
    done.status, done.text, done.console

Nothing of the lab runs before the disk's own firmware, GRUB, kernel and systemd. Each run is one
boot, at whose end the machine powers off; what it wrote stays on the disk, which is the caller's
copy. The script is on a second disk, and its output comes through a port (guests/disk/orders.sh).

The board is paced: systemd gives devices and units a minute and a half, which must not pass while
this machine is busy with something else.
"""

import io
import re
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from armvisor_lab.archive.packages import Packages
from armvisor_lab.boards import logs, splat
from armvisor_lab.boards.board import Board
from armvisor_lab.boards.machine import Channel, Deadline, Machine
from armvisor_lab.errors import LabError

SUITE = "trixie"
FIRMWARE = "usr/share/qemu-efi-aarch64/QEMU_EFI.fd"
# The last line of the port.
_END = re.compile(r"^exit (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Orders:
    """What a script did in one boot; systemd's state is the first line of `output`."""

    status: int | None
    output: str
    console: str
    log: Path
    seconds: float

    @property
    def state(self) -> str:
        """Systemd's word when the machine had started: `running`, or `degraded`."""
        return self.output.partition("\n")[0]

    @property
    def text(self) -> str:
        """What the script printed."""
        return _END.sub("", self.output.partition("\n")[2])

    def check(self) -> "Orders":
        """These, if the script ended well; else an exception."""
        if self.status != 0:
            end = self.output[-4000:] or self.console[-2000:]
            raise LabError(f"the script returned {self.status}: {end}", f"console log: {self.log}")
        return self


def _archive(script: str, files: Mapping[str, Path | bytes]) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for name, content in {"run": script.encode(), **files}.items():
            content = content if isinstance(content, bytes) else content.read_bytes()
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o755
            tar.addfile(member, io.BytesIO(content))
    return data.getvalue()


@dataclass
class Host:
    """A machine without EL2 that starts from a disk, which it writes."""

    disk: Path
    memory: int = 2048  # MiB
    timeout: float = 4 * 3600  # limit for one boot, by clock.py

    def arguments(self, orders: Path) -> list[str]:
        """QEMU's arguments: firmware, both disks."""
        packages = Packages(SUITE)
        firmware = packages.get("qemu-efi-aarch64").unpacked() / FIRMWARE
        drives = {"system": self.disk, "orders": orders}
        arguments = Board(memory=self.memory, paced=True).machine_arguments()
        arguments += ["-bios", str(firmware)]
        for name, file in drives.items():
            drive = f"file={str(file).replace(',', ',,')},format=raw,if=none,id={name}"
            arguments += ["-drive", f"{drive},cache=unsafe"]
            arguments += ["-device", f"virtio-blk-pci,drive={name},serial={name},romfile="]
        return arguments

    def run(
        self, script: str, files: Mapping[str, Path | bytes] | None = None,
        on_output: Callable[[bytes], None] = lambda _: None,
    ) -> Orders:  # fmt: skip
        """Boot, carry out a script of the shell among `files`, power off."""
        received, said = bytearray(), bytearray()
        log = logs.new("host")

        def output(data: bytes) -> None:
            said.extend(data)
            on_output(data)

        def shown(data: bytes) -> None:
            received.extend(data)
            with log.open("ab") as file:
                file.write(data)

        console, port = Channel("console", shown), Channel("orders", output)
        with tempfile.NamedTemporaryFile(prefix="orders-") as orders:
            orders.write(_archive(script, files or {}))
            orders.flush()
            arguments = [
                *self.arguments(Path(orders.name)),
                *("-chardev", console.chardev, "-serial", "chardev:console"),
                *("-device", "virtio-serial-pci", "-chardev", port.chardev),
                *("-device", "virtserialport,chardev=orders,name=lab.orders"),
            ]
            machine = Machine(arguments, [console, port])
            hung = False
            try:
                machine.run(machine.clock.deadline(self.timeout))
            except Deadline:
                hung = True
        text = received.decode("utf-8", "replace")
        if found := splat.scan(text):
            raise LabError(f"the kernel reported: {found[0].line}", f"console log: {log}")
        output_text = said.decode("utf-8", "replace")
        if hung:
            last = output_text[-2000:]
            raise LabError(f"no power-off within {self.timeout:g} s: {last}", f"console log: {log}")
        if machine.errors:
            raise LabError(f"QEMU: {machine.errors}", f"console log: {log}")
        ends = _END.findall(output_text)
        status = int(ends[-1]) if ends else None
        return Orders(status, output_text, text, log, machine.seconds)
