# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Hosts: a board's CPU and kernel, and its hypervisor. A host's name is a variant of figures.

`HOSTS` are those of all standard figures. For `lab compare`, `find()` also knows hosts by their
parts: the module with any of its parameters, as `armvisor:cheap_traps=0`, without some of its
parts, as `armvisor-no-rows` or `armvisor:no-rows+no-stubs`, or both. `VARIANT@CPU+WORD…` is a
variant on another board: its CPU, and words on its kernel's command line, as
`armvisor@neoverse-n1+kpti=1`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from armvisor_lab.archive import kernels
from armvisor_lab.boards.board import CPUS, Board
from armvisor_lab.boards.initramfs import Module
from armvisor_lab.errors import LabError, near, remedy
from armvisor_lab.figures import artefacts

# Bits of the module's parameter `cheap_traps` (module/cpu/cheap.h).
SWITCHES = {
    "rows": 1, "modes": 2, "quick": 4, "copies": 8, "roots": 16, "calls": 32, "stubs": 64,
    "light": 128, "short": 256, "faults": 512,
}  # fmt: skip
ALL = sum(SWITCHES.values())
# Parts with a parameter of their own.
PARAMETERS = {
    "kept": "kept_tables", "kept-at-once": "kept_at_once", "blocks": "huge_pages",
    "image": "light_image",
}  # fmt: skip
# Parts that only a build can leave out (module/lib/parts.h).
BUILT = ("around", "near", "swept", "leases", "reading")
PARTS = (*SWITCHES, *PARAMETERS, *BUILT)
_CHEAP = "cheap_traps"

_PKVM = "kvm-arm.mode=protected"
# Hosts whose KVM has protected VMs.
_PKVM_KERNEL = "newest"


@dataclass(frozen=True)
class Host:
    """What runs VMs: KVM, with EL2, or the module, without.

    `protected`: VMs whose memory the host cannot access. `regime` is the plugin's. `without`: parts
    that the module's build leaves out.
    """

    name: str
    what: str
    cpu: str
    regime: str
    el2: bool = True
    kernel: str = kernels.DEFAULT
    append: str = ""
    parameters: str = ""
    protected: bool = False
    without: tuple[str, ...] = ()

    def modules(self) -> tuple[Module, ...]:
        """The module for the board's kernel, where it is that which runs VMs."""
        if self.el2:
            return ()
        return (Module(str(artefacts.module(self.kernel, self.without)), self.parameters),)

    def board(self, files: Mapping[str, Any], **more: Any) -> Board:  # noqa: ANN401
        """A board of it that counts."""
        return Board(
            el2=self.el2, cpu=self.cpu, count=True, kernel=self.kernel, append=self.append,
            files=files, modules=self.modules(), **more,
        )  # fmt: skip

    @property
    def run(self) -> str:
        """The beginning of `armvisor run` of a VM of its kind."""
        return "armvisor run --protected" if self.protected else "armvisor run"


HOSTS = {
    host.name: host
    for host in (
        Host("kvm-vhe", "KVM (VHE)", "cortex-a76", "vhe"),
        Host("kvm-nvhe", "KVM (nVHE)", "cortex-a72", "kvm"),
        Host("armvisor", "its module, without EL2", "cortex-a72", "armvisor", el2=False),
    )
}

_PROTECTED = Host("kvm-protected", "KVM in protected mode, a plain VM", "cortex-a72", "kvm",
                  kernel=_PKVM_KERNEL, append=_PKVM)  # fmt: skip
PROTECTED = {
    host.name: host
    for host in (
        _PROTECTED,
        replace(_PROTECTED, name="kvm-pvm", what="KVM, a protected VM", protected=True),
        replace(HOSTS["armvisor"], name="armvisor-pvm", protected=True,
                what="its module, without EL2, a protected VM"),
    )
}  # fmt: skip

# With histograms and everything else that `armvisor stat` can show.
ACCOUNTING = replace(HOSTS["armvisor"], name="armvisor-accounting", parameters="accounting=1")

# Other names that some families have for a host.
SAME = {"kvm": "kvm-nvhe", "kvm-nvhe": "kvm"}
AT = "@"
HOW = (
    "armvisor:OPTION+OPTION…, where an OPTION is no-PART, of the parts "
    f"{', '.join(PARTS)}, or cheap for the first {len(SWITCHES)}, or PARAMETER=NUMBER, of the "
    "module's parameters"
)
BOARDS = (
    "VARIANT@CPU+WORD+WORD…, for a board with that CPU and WORDs on its kernel's command line, "
    "as native@neoverse-n1 or armvisor@neoverse-n1+kpti=1"
)


@cache
def _parameters(path: Path) -> frozenset[str]:
    """The parameters that a built module has, from what is written in it for modinfo."""
    found = re.findall(rb"\0parmtype=(\w+):", path.read_bytes())
    return frozenset(name.decode() for name in found)


def _option(name: str, word: str, bits: int, others: dict[str, str], without: list[str]) -> int:
    """One option of a host's name: the switches that it leaves on.

    Parameters go to `others`, parts that a build leaves out to `without`.
    """
    part = word.removeprefix("no-") if word.startswith("no-") else ""
    if part == "cheap":
        return 0
    if part in SWITCHES:
        return bits & ~SWITCHES[part]
    if part in PARAMETERS:
        others[PARAMETERS[part]] = "0"
        return bits
    if part in BUILT:
        without.append(part)
        return bits
    key, equals, value = word.partition("=")
    known = _parameters(artefacts.module(kernels.DEFAULT))
    if not equals or key not in known:
        parts = (f"no-{part}" for part in PARTS)
        close = near(word if word.startswith("no-") else key, [*parts, *known])
        words = f"{HOW}: {', '.join(sorted(known))}"
        if close:
            words = f"did you mean {' or '.join(close)}? {words}"
        raise LabError(f"{name}: no option of the module is called {word!r}", words)
    if not re.fullmatch(r"\d+|[YyNn]", value):
        raise LabError(f"{name}: {word!r} gives no number", f"write it as in {key}=1")
    if key == _CHEAP:
        if not value.isdigit() or int(value) > ALL:
            raise LabError(f"{name}: {key} is of 0 to {ALL}", "add the bits of what is to be on")
        return bits & int(value)
    others[key] = value
    return bits


def _with_options(name: str, words: list[str]) -> Host:
    """The module with some of its parameters as they are asked for."""
    bits, others, without = ALL, dict[str, str](), list[str]()
    for word in words:
        bits = _option(name, word, bits, others, without)
    some = {_CHEAP: str(bits), **others} if bits != ALL else others
    text = " ".join(f"{key}={value}" for key, value in some.items())
    host = HOSTS["armvisor"]
    what = ", ".join([host.what, *([text] if text else []), *(f"no {part}" for part in without)])
    return replace(host, name=name, parameters=text, what=what, without=tuple(sorted(without)))


@dataclass(frozen=True)
class Place:
    """A board for a variant: its CPU, and what is added to its kernel's command line."""

    cpu: str
    append: str

    @property
    def what(self) -> str:
        """In words."""
        return ", ".join(filter(None, (self.cpu, self.append)))


def place(name: str) -> tuple[str, Place | None]:
    """A variant's name without its board, and that board; None where it names none."""
    base, at, board = name.partition(AT)
    if not at:
        return name, None
    cpu, *words = board.split("+")
    if cpu not in CPUS:
        raise LabError(f"{name}: no CPU {cpu!r}", remedy(cpu, CPUS))
    for word in words:
        # Figures are ROW.VARIANT, and variants stand in lists.
        if not re.fullmatch(r"[^\s.,@\"'*?\[\]]+", word):
            raise LabError(f"{name}: {word!r} is no word of a command line that a figure can name",
                           "write it as in kpti=1, without dots, commas and quotes")  # fmt: skip
    return base, Place(cpu, " ".join(words))


def find(name: str) -> Host | None:
    """The host of a name; None where there is none of it."""
    base, board = place(name)
    if board is not None:
        host = find(base)
        return host and replace(
            host, name=name, what=f"{host.what}, {board.what}", cpu=board.cpu,
            append=" ".join(filter(None, (host.append, board.append))),
        )  # fmt: skip
    known = HOSTS | PROTECTED | {ACCOUNTING.name: ACCOUNTING}
    for each in (name, SAME.get(name)):
        if each in known:
            return replace(known[each], name=name)
    kind, colon, options = name.partition(":")
    if kind == "armvisor" and colon:
        return _with_options(name, options.split("+"))
    start = "armvisor-"
    if name.startswith(f"{start}no-") and name.removeprefix(f"{start}no-") in (*PARTS, "cheap"):
        return _with_options(name, [name.removeprefix(start)])
    return None
