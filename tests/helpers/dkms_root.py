# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""install.sh with this machine's own DKMS, and nothing of this machine changed.

A namespace of mounts has folders of its own where DKMS, the kernels and their headers are. The
machine is said to be an arm64 one, and a module is a small object file that knows its version: what
is tested is which version is installed where, after each step.
"""

import os
import subprocess
from pathlib import Path
from shutil import which

TOP = Path(__file__).resolve().parents[2]
RUNNING = "6.12.1-arm64"
# Folders of the namespace's own. One that this machine lacks is made there, and stays empty.
OWN = ("usr/src", "var/lib/dkms", "lib/modules", "usr/lib/udev/rules.d", "usr/lib/systemd/system")

# Makes a module of the sources in M, or fails where the headers or the sources say so.
HEADERS = """\
modules:
\t@[ ! -e fails ] && ! grep -q BROKEN $(M)/main.c || { echo 'main.c: error: broken'; false; }
\t@v=$$(sed -n 's/^PACKAGE_VERSION="\\(.*\\)"$$/\\1/p' $(M)/dkms.conf); \\
\tprintf '__attribute__((section(".modinfo"))) char v[] = "version=%s";' "$$v" | \\
\tgcc -xc -c -o $(M)/armvisor.ko -
clean:
\t@rm -f $(M)/armvisor.ko
"""

# A loaded module is a folder of sysfs; programs that load and unload make and remove it.
PROGRAMS = {
    "uname": f'case $1 in -m) echo aarch64 ;; -r) echo {RUNNING} ;; *) /usr/bin/uname "$@" ;; esac',
    "getent": "true",
    "udevadm": "true",
    "systemctl": "true",
    "modprobe": "[ ! -e $W/refused ] && mkdir -p $W/sys/module/armvisor",
    "rmmod": "[ ! -e $W/in-use ] && rmdir $W/sys/module/armvisor",
}


def install_dkms() -> bool:
    """Set DKMS up at first use; whether mounts can be made here."""
    if not which("dkms"):
        subprocess.run([TOP / "tools/setup", "packages"], check=True)
    return subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0


class Root:
    """One machine's folders, which stay from step to step."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.sources = work / "checkout"
        (work / "bin").mkdir()
        for name, text in PROGRAMS.items():
            (work / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
            (work / "bin" / name).chmod(0o755)
        for folder in OWN:
            (work / "root" / folder).mkdir(parents=True)
        (work / "sys").mkdir()
        subprocess.run(["cp", "-r", TOP / "module", self.sources], check=True)
        self.kernel(RUNNING)

    def path(self, name: str) -> Path:
        """A file of the machine, by its absolute path."""
        return self.work / "root" / name.removeprefix("/")

    def kernel(self, release: str, headers: bool = True) -> Path:
        """A kernel; its headers' folder."""
        build = self.path(f"/lib/modules/{release}/build")
        build.parent.mkdir(parents=True, exist_ok=True)
        if headers:
            (build / "include/generated").mkdir(parents=True)
            (build / "include/generated/autoconf.h").touch()
            (build / "Makefile").write_text(HEADERS)
        return build

    def version(self, version: str, broken: bool = False) -> None:
        """The checkout becomes that of a version."""
        conf = self.sources / "dkms.conf"
        lines = conf.read_text().splitlines()
        at = next(n for n, line in enumerate(lines) if line.startswith("PACKAGE_VERSION="))
        lines[at] = f'PACKAGE_VERSION="{version}"'
        conf.write_text("\n".join(lines) + "\n")
        (self.sources / "main.c").write_text("BROKEN\n" if broken else "\n")

    def run(self, *words: str, command: str = "") -> subprocess.CompletedProcess[str]:
        """install.sh with these words, or another command, in the namespace."""
        binds = "\n".join(
            f"mkdir -p /{folder}; mount --bind {self.path(folder)} /{folder}" for folder in OWN
        )
        command = command or f"{self.sources}/install.sh {' '.join(words)}"
        env = os.environ | {
            "PATH": f"{self.work}/bin:{os.environ['PATH']}",
            "SYSFS": str(self.work / "sys"),
            "W": str(self.work),
        }
        return subprocess.run(
            ["unshare", "-m", "sh", "-euc", f"{binds}\nexec {command}"],
            env=env, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def status(self) -> list[str]:
        """What DKMS says, a line a version and kernel."""
        return sorted(self.run(command="dkms status -m armvisor").stdout.splitlines())

    def installed(self, release: str = RUNNING) -> str:
        """The version of the module that modprobe would load, or nothing."""
        found = list(self.path(f"/lib/modules/{release}").rglob("armvisor.ko*"))
        assert len(found) < 2, found
        if not found:
            return ""
        data = found[0].read_bytes()
        return data.partition(b"version=")[2].partition(b"\0")[0].decode()

    def files(self) -> list[str]:
        """All of armvisor's on the machine, and all in DKMS's folders."""
        every = (self.work / "root").rglob("*")
        names = [str(path.relative_to(self.work / "root")) for path in every]
        return sorted(name for name in names if "armvisor" in name)
