#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compare two outputs of the trap tests: compare.py A B. Exit status 1 if they differ.

A test is named by its words up to the colon. The same name must have the same outcome in
both. A name that carries a feature ("pstate.read.pan?pan=1") may be in one of them only: the
machines differ in that feature. Any other name must be in both.

With --strict a feature is no excuse, and what the machines say that they are ("id midr_el1")
is compared too.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

PREFIX = "trap "
IDENTITY = "id "


@dataclass
class Comparison:
    """What came out; `differences` are complete sentences, by the test's name."""

    same: int
    left_out: int
    differences: dict[str, str]


def parse(text: str, identity: bool = False) -> dict[str, str]:
    """Outcome by test name. A test that is there twice is an error of the program."""
    tests: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith(PREFIX):
            name, _, outcome = line.removeprefix(PREFIX).partition(":")
        elif identity and line.startswith(IDENTITY):
            name, _, outcome = line.rpartition(" ")
        else:
            continue
        if name in tests:
            raise ValueError(f"the test {name!r} is there twice")
        tests[name] = outcome.strip()
    return tests


def compare(a: str, b: str, strict: bool = False) -> Comparison:
    """Compare two outputs."""
    left, right = parse(a, strict), parse(b, strict)
    result = Comparison(0, 0, {})
    for name in left | right:
        if name in left and name in right:
            if left[name] == right[name]:
                result.same += 1
            else:
                result.differences[name] = f"{name}:\n  {left[name]}\n  {right[name]}"
        elif "?" in name and not strict:
            result.left_out += 1
        else:
            where, what = (
                ("first", left[name]) if name in left else ("second", right[name])
            )
            result.differences[name] = f"{name}: only in the {where}: {what}"
    if not left or not right:
        result.differences[""] = "one of the outputs has no test at all"
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("a", type=Path)
    parser.add_argument("b", type=Path)
    parser.add_argument("--strict", action="store_true")
    arguments = parser.parse_args()
    texts = (path.read_text("latin-1") for path in (arguments.a, arguments.b))
    result = compare(*texts, strict=arguments.strict)
    for difference in result.differences.values():
        print(difference)
    print(
        f"{result.same} tests the same, {len(result.differences)} different, "
        f"{result.left_out} that a feature decides in one of them only"
    )
    return 1 if result.differences else 0


if __name__ == "__main__":
    sys.exit(main())
