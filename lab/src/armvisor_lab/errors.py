# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Errors of the lab: each says what failed, and what to do about it."""

import difflib
from collections.abc import Iterable

# This many names are listed where none is similar; for more, the message says where they are
# listed.
_LISTED = 24
_NEAR = 3


class LabError(Exception):
    """A failure of the lab itself, never of the command that a board runs."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(f"{what}\n  {remedy}" if remedy else what)
        self.what = what
        self.remedy = remedy


def near(word: str, known: Iterable[str]) -> list[str]:
    """The names that a misspelt word may mean, the nearest first; else some of its family.

    A family is of names that begin with the same word, up to the first dot.
    """
    names = list(dict.fromkeys(known))
    family, dot, _ = word.partition(".")
    kin = [name for name in names if dot and name.startswith(f"{family}.")]
    return difflib.get_close_matches(word, names, n=_NEAR, cutoff=0.6) or kin[:_NEAR]


def remedy(word: str, known: Iterable[str], listed: str = "") -> str:
    """What to do about a word that is no known name; `listed` says where all names are."""
    names = list(dict.fromkeys(known))
    if close := near(word, names):
        return f"did you mean {' or '.join(close)}?" + (f" {listed}" if listed else "")
    if listed and len(names) > _LISTED:
        return listed
    return f"there are {', '.join(names)}"


class MissingError(LabError):
    """The archive's lists do not have a package, or not in that version."""
