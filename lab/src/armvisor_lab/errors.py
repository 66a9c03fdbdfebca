# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""What the lab says when it cannot go on: what failed, and what to do about it."""


class LabError(Exception):
    """A failure of the lab itself, never of the command that a board runs."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(f"{what}\n  {remedy}" if remedy else what)
        self.what = what
        self.remedy = remedy


class MissingError(LabError):
    """The archive's lists do not have a package, or not in that version."""
