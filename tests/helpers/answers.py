# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Output of the programs that are compared on KVM and on the module: `name = answer`."""

from collections import Counter


def answers(text: str) -> dict[str, str]:
    """The lines by name; repeated names are numbered."""
    seen: Counter[str] = Counter()
    found = {}
    for line in text.splitlines():
        name, equals, value = line.partition(" = ")
        if not equals:
            continue
        seen[name] += 1
        found[name if seen[name] == 1 else f"{name}#{seen[name]}"] = value
    return found
