# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""argparse with the lab's exit status, and a hint for a misspelt word."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from armvisor_lab import __version__, paths
from armvisor_lab.boards.board import EXIT_USAGE
from armvisor_lab.errors import near, remedy


class Parser(argparse.ArgumentParser):
    """The parser of the command and of each of its sub-commands."""

    def error(self, message: str) -> NoReturn:
        """As argparse, with the lab's exit status for wrong usage."""
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n")

    # The superclass has overloads by the type of the namespace.
    def parse_known_args(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        namespace: Any = None,  # noqa: ANN401
    ) -> tuple[Any, list[str]]:
        """As argparse; who has the options that are left over says which of its own are near."""
        found, left = super().parse_known_args(args, namespace)
        if left and self._subparsers is None:
            self.error(self._unknown(left))
        return found, left

    def _unknown(self, words: Sequence[str]) -> str:
        """What to say of words that no option takes."""
        options = [word.partition("=")[0] for word in words if word.startswith("-")]
        if not options:
            return f"what is {' '.join(words)} for? See --help"
        close = near(options[0], self._option_string_actions)
        hint = f"did you mean {' or '.join(close)}?" if close else "see --help"
        return f"there is no option {options[0]}: {hint}"

    def _check_value(self, action: argparse.Action, value: Any) -> None:  # noqa: ANN401
        if action.choices is not None and value not in action.choices:
            names = [str(choice) for choice in action.choices]
            raise argparse.ArgumentError(action, f"no {value!r}: {remedy(str(value), names)}")


class Version(argparse.Action):
    """`--version`: of the lab, and the checkout's revision."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_rest: object) -> None:
        """Print them and end the program."""
        revision = paths.revision()
        print(f"lab {__version__}{f', revision {revision}' if revision else ''}")
        parser.exit(0)
