# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab login`: its reading of a console and of a command."""

import subprocess

import pytest

from armvisor_lab.cli.login import CLIENTS, Plain, script


def test_a_console_is_shown_without_what_moves_a_cursor():
    shown = bytearray()
    console = Plain(shown.extend)
    # A sequence comes in two pieces.
    for data in (
        b"\x1b[2J\x1b[01;01H\x1b[=3hUEFI\r\nGR",
        b"UB \x1b[",
        b"0;37mmenu\r\n\x1b[!p\x1b]104\x07login: ",
    ):
        console.receive(data)
    assert bytes(shown) == b"UEFI\nGRUB menu\n"
    console.finish()
    assert bytes(shown) == b"UEFI\nGRUB menu\nlogin: "


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("command", ["uname -a", 'echo "$HOME" `id` \\n', "echo 'a b'"])
def test_a_command_is_shown_and_run_as_given(client, command, tmp_path):
    """With functions that only say what they were asked."""
    (tmp_path / "login.sh").write_text(
        'start() { echo "start $*"; }\nlogin() { :; }\nleave() { echo leave; }\n'
        "inside() { printf '%s\\n' \"$@\"; return 3; }\n"
    )
    text = script(client, command).replace(". /login.sh", f". {tmp_path / 'login.sh'}")
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        f"start {client}", "", f"$ ssh root@vm '{command}'", command, "leave",
    ]  # fmt: skip
    assert done.returncode == 3
