# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The demo's table and its handling of the console, from reports as the VMM writes them."""

import re
import sys
from typing import Any

from armvisor_lab import cli, paths, records, timetable
from armvisor_lab.demo import Console, Ran, show, write_page


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
        "pabt_kvm", "pabt_true", "mem_pv", "guest_exc", "hypercall", "suspend", "other_trap",
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


def test_the_classes_that_have_their_time_are_the_module_s():
    """All of them, or they would not add up to the whole."""
    text = (paths.checkout() / "module/stats/classes.h").read_text()
    body = text.partition("#define AV_EXIT_GROUPS(X)")[2].partition("\n\n")[0]
    groups = re.findall(r'X\(\w+,\s*"(\w+)"\)', body)
    assert len(groups) > 10 and set(groups) == set(timetable._CLASSES)


def test_the_report_is_kept_from_the_console():
    shown = bytearray()
    console = Console(shown.extend)
    for data in (b"boot\n{", b'"end":"off","wall_se', b'conds":1}\nbye', b"\n"):
        console.receive(data)
    assert bytes(shown) == b"boot\nbye\n"
    assert console.report == {"end": "off", "wall_seconds": 1}


def test_a_run_becomes_a_record_and_a_page(tmp_path, capsys):
    file = tmp_path / "demo.html"
    write_page(Ran(report({"hypercall": 42}), {"cpu": "cortex-a72"}, 0), file)
    assert f"As a page: {file}" in capsys.readouterr().out
    assert "Where the time went" in file.read_text() and "cortex-a72" in file.read_text()
    record = records.read(tmp_path / "demo.json")
    assert [group.title for group in record.groups][-1] == "exits within KVM"
    assert record.groups[-1].lines[0].count == 42


def test_a_demo_without_the_page_s_library_is_no_failure(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    write_page(Ran(report({"hypercall": 42}), {}, 0), tmp_path / "demo.html")
    assert "run `make setup`" in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["demo.json"]


def test_a_page_s_folder_must_be_there_before_anything_boots(tmp_path, capsys):
    assert cli.main(["demo", "--page", str(tmp_path / "no/demo.html")]) == 125
    assert "there is no folder" in capsys.readouterr().err
