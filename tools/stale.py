# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The table of staleness tokens in module/vm/vm.h, held against the structs of the module.

    tools/stale.py      complaints, one a line; exit status 1 if there are any

The table names each token, `struct.field`, and its copies. A name in the table must be a field; a
field that is named like a token, or is a struct av_seq, must be in the table.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
MODULE = TOP / "module"
TABLE = "vm/vm.h"

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
STRUCT = re.compile(r"^struct (?P<name>\w+) \{\n(?P<body>.*?)^\}", re.M | re.S)
FIELD = re.compile(r"(?P<type>struct \w+|\w+)\s+(?P<names>\w+[^;(){}*]*);")
# What a token or a copy of one is called.
TOKEN = re.compile(
    r"(\w+_)?(seq|gen|serial|shape|regimes|changes|round|clean|stale|abandoned)(\d|_\w+)?"
)
NAMED = re.compile(r"\bav_\w+\.\w+")
ROW = re.compile(r"^ \*   (av_\w+\.\w+)$", re.M)
# Fields that only look like tokens.
OTHERS = {
    "av_vm.serial": "a name for logs and traces",
    "av_shadow.next_serial": "where serials come from; the table says so",
}


def fields(module: Path) -> dict[str, str]:
    """The type of each field, by `struct.field`, of the structs in the module's headers."""
    found = {}
    for path in sorted(module.rglob("*.h")):
        if path.relative_to(module).parts[0] in ("tests", "compat"):
            continue
        for struct in STRUCT.finditer(COMMENT.sub("", path.read_text())):
            for field in FIELD.finditer(struct["body"]):
                for name in re.findall(r"(?:^|,\s*)(\w+)", field["names"]):
                    found[f"{struct['name']}.{name}"] = field["type"]
    return found


def is_token(name: str, kind: str) -> bool:
    """Is the field a token or a copy of one, as far as its name and type tell?"""
    return kind == "struct av_seq" or bool(TOKEN.fullmatch(name.partition(".")[2]))


def complaints(module: Path = MODULE) -> list[str]:
    """What the table and the structs disagree on."""
    text = (module / TABLE).read_text()
    begin, end = text.find(" * Staleness."), text.find("#ifndef")
    if begin < 0 or not ROW.search(text, begin, end):
        return [f"{TABLE}: the table of staleness tokens is gone"]
    named = set(NAMED.findall(text, begin, end))
    known = fields(module)
    gone = [f"{TABLE}: {name} is in the table, but no field" for name in named - known.keys()]
    missing = [
        f"{TABLE}: {name} is not in the table of staleness tokens"
        for name, kind in known.items()
        if is_token(name, kind) and name not in named | OTHERS.keys()
    ]
    return sorted(gone) + sorted(missing)


if __name__ == "__main__":
    found = complaints()
    print("\n".join(found))
    sys.exit(bool(found))
