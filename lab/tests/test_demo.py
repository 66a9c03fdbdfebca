# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The demo's table and its handling of the console, from reports as the VMM writes them."""

from typing import Any

from armvisor_lab.demo import Console, show


def report(kvm_exits: dict[str, int]) -> dict[str, Any]:
    return {
        "wall_seconds": 2.0,
        "phases": [{"name": "load", "seconds": 0.5}, {"name": "run", "seconds": 1.5}],
        "exits": {"mmio_user_write": 7, "system_event": 1, "error": 0},
        "kvm_exits": kvm_exits,
    }


def test_on_kvm_exits_are_counted(capsys):
    show(report({"hypercall": 42, "wfx": 0, "halt_poll_ns": 9}))
    said = capsys.readouterr().out
    assert "start to end" in said and "load" in said and "25%" in said
    assert "hypercall" in said
    assert "wfx" not in said and "poll" not in said and "error" not in said


def test_on_the_module_classes_have_their_time(capsys):
    classes = (
        "sen_inst_trap", "irq", "fast_trap", "dat_trans", "protection", "mmio", "dabt_true",
        "pabt_kvm", "pabt_true", "guest_exc", "hypercall", "suspend",
    )  # fmt: skip
    exits = dict.fromkeys([*classes, *(f"{name}_ns" for name in classes)], 0)
    exits |= {"guest_ns": 10**9, "fast_trap": 5, "dat_trans": 3, "dat_trans_ns": 5 * 10**8}
    exits |= {"tlbi": 2, "tlbi_ns": 9, "idle_ns": 10**8}
    show(report(exits))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["guest,", "with", "fast", "traps", "1.00", "s", "50%"] in lines
    assert ["dat_trans", "3", "0.50", "s", "25%"] in lines
    assert ["fast_trap", "5"] in lines
    assert ["idle", "0.10", "s", "5%"] in lines
    # A class of a group whose sum is there already, and what never happened.
    assert not [words for words in lines if words[:1] in (["tlbi"], ["suspend"])]


def test_the_report_is_kept_from_the_console():
    shown = bytearray()
    console = Console(shown.extend)
    for data in (b"boot\n{", b'"end":"off","wall_se', b'conds":1}\nbye', b"\n"):
        console.receive(data)
    assert bytes(shown) == b"boot\nbye\n"
    assert console.report == {"end": "off", "wall_seconds": 1}
