# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""All that a VMM or a guest can ask of the module, read from the module's source.

The names are those of the kernel's headers, in the code that dispatches by them: the module cannot
answer a call whose number it does not name. tests/data/bounds_api.toml has a figure for each.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from built import TOP

MODULE = TOP / "module"
FOLDERS = ("api", "cpu", "irq", "mmio", "mmu", "stats", "switch", "vm")
TABLE = Path(__file__).parents[1] / "data/bounds_api.toml"

# Names of attributes and groups, without masks and shifts.
ATTRIBUTE = re.compile(
    r"KVM_(DEV_ARM_VGIC_(GRP|CTRL|SAVE)_\w+|DEV_ARM_ITS_\w+|VGIC_\w*ADDR_TYPE\w*"
    r"|ARM_VCPU_(TIMER|PMU_V3|PVTIME)_\w+|ARM_VM_SMCCC_\w+)"
)
# Function IDs; the parts that IDs are made of are not calls.
CALL = re.compile(
    r"PSCI_\d_\d_FN_(?!BASE)\w+|KVM_PSCI_FN_\w+|ARM_SMCCC_\w+_FUNC_ID|ARM_SMCCC_(TRNG|HV)_\w+"
    r"|AV_CALL_(HYP|MEM|MEAS)\w+"
)
FILE_OPERATIONS = {"owner", "llseek", "unlocked_ioctl"}


@cache
def sources() -> Mapping[str, str]:
    """Text of the module's files, without comments, by path."""
    comment = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
    return {
        str(path.relative_to(MODULE)): comment.sub("", path.read_text())
        for folder in FOLDERS
        for path in sorted((MODULE / folder).rglob("*.[ch]"))
    }


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def matching(pattern: re.Pattern, files: Iterable[str]) -> set[str]:
    return {word for path in files for word in words(sources()[path]) if pattern.fullmatch(word)}


def body(path: str, start: str) -> str:
    """The text from a line to the first line that closes it."""
    found = re.search(re.escape(start) + r".*?\n}", sources()[path], re.DOTALL)
    assert found, f"{path} has no {start}"
    return found[0]


@cache
def kernel_header() -> str:
    """linux/kvm.h, which the module carries."""
    return (MODULE / "uapi/linux/kvm.h").read_text()


def ioctls() -> set[str]:
    numbers = re.findall(r"#define\s+(KVM_\w+)\s+_IO[WR]*\(\s*KVMIO",
                         kernel_header().replace("\\\n", " "))  # fmt: skip
    return set(numbers) & set().union(*map(words, sources().values()))


def capabilities() -> set[str]:
    """Capabilities of KVM_ENABLE_CAP, without the lists of KVM_CHECK_EXTENSION."""
    enabling = [path for path in sources() if path not in ("api/extension.c", "api/seal.c")]
    return matching(re.compile(r"(KVM|AV)_CAP_\w+"), enabling)


def attributes() -> dict[str, set[str]]:
    """By the file that has them. The seal only lists those that a sealed VM keeps."""
    files = [path for path in sources() if path.endswith(".c") and path != "api/seal.c"]
    by_file = {Path(path).stem: matching(ATTRIBUTE, [path]) for path in files}
    return {stem: names for stem, names in by_file.items() if names}


def calls() -> set[str]:
    """Not of switch/, which calls the host's own firmware."""
    return matching(CALL, [path for path in sources() if path.startswith("cpu/")])


def traps() -> set[str]:
    classes = re.findall(r"\n\s*\[(\w+)\]", body("cpu/exit.c", "exit_handler handlers["))
    return {*classes, *re.findall(r"case (AV_INSN_\w+)", sources()["cpu/trap.c"])}


def operations(kinds: str) -> set[str]:
    """Functions of the tables of operations of some kinds."""
    table = re.compile(rf"struct ({kinds}) \w+ = \{{(.*?)\n\}};", re.DOTALL)
    return {
        function
        for text in sources().values()
        for _, rows in table.findall(text)
        for field, function in re.findall(r"\.(\w+)\s*=\s*(\w+)", rows)
        if field not in FILE_OPERATIONS
    }


def surface() -> dict[str, dict]:
    """All of it, in the table's sections."""
    return {
        "ioctls": ioctls(),
        "capabilities": capabilities(),
        "attributes": attributes(),
        "calls": calls(),
        "traps": traps(),
        "files": operations("file_operations|vm_operations_struct"),
        "notifier": operations("mmu_notifier_ops"),
    }


def flat(tree: Mapping | Iterable[str], path: str = "") -> dict[str, object]:
    """Leaves of a table, or of a set, by their path."""
    if isinstance(tree, Mapping):
        return {
            name: leaf
            for key, value in tree.items()
            for name, leaf in (
                flat(value, f"{path}{key}.")
                if isinstance(value, (Mapping, set))
                else {f"{path}{key}": value}
            ).items()
        }
    return dict.fromkeys((path + name for name in tree), None)


@cache
def table() -> dict[str, list[str]]:
    """Figures by their subject. If there are several, the last word says why."""
    rows = flat(tomllib.loads(TABLE.read_text()))
    return {name: row[:-1] if isinstance(row, list) else [row] for name, row in rows.items()}
