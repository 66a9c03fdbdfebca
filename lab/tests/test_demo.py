# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The demo's table and its handling of the console, on reports as the VMM writes them."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from armvisor_lab import cli, paths, records, timetable
from armvisor_lab.cli.demo import Console, Ran, show, write_page
from armvisor_lab.report import demo as demo_page

CLASSES = (
    "sen_inst_trap", "irq", "fast_trap", "dat_trans", "protection", "mmio", "dabt_true",
    "pabt_kvm", "pabt_true", "mem_pv", "guest_exc", "hypercall", "suspend", "other_trap",
)  # fmt: skip


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
    exits = dict.fromkeys([*CLASSES, *(f"{name}_ns" for name in CLASSES)], 0)
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


SYSTEM = "Linux 6.12.117+deb13-cloud-arm64, 1 CPU(s), 473 MiB"


def test_what_the_guest_says_of_itself_is_noted():
    console = Console(lambda _data: None)
    lines = [
        "[    0.000000] Linux version 6.12",
        "[    0.852110] Run /init as init process\r",
        f"This is Debian in a VM: {SYSTEM}\r",
        "[    0.938762] reboot: Power down",
    ]
    for byte in "".join(f"{line}\n" for line in lines).encode():
        console.receive(bytes([byte]))
    assert console.guest == {"system": SYSTEM, "init": 0.85211, "off": 0.938762}


# ---- the page --------------------------------------------------------------------------------

BOARD = {"el2": False, "cpu": "cortex-a72", "smp": 1, "memory_mib": 1536, "kernel": "6.12-arm64",
         "kernel_role": "stable", "kernel_version": "6.12-1"}  # fmt: skip
GUEST = {"system": SYSTEM, "init": 0.85, "off": 0.94}


def on_the_module() -> dict[str, Any]:
    exits = dict.fromkeys([*CLASSES, *(f"{name}_ns" for name in CLASSES)], 0)
    exits |= {"guest_ns": 10**9, "fast_trap": 5, "dat_trans": 30, "dat_trans_ns": 5 * 10**8}
    return report(exits | {"mmio": 1000, "mmio_ns": 4 * 10**8, "irq": 1, "irq_ns": 900})


class Seen(HTMLParser):
    """Of a page: what comes in its body in which order, and the texts of its tables' cells."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.order: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.wanted: list[str] = []
        self._cell = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.wanted += [value or "" for name, value in attrs if name in ("src", "href", "data")]
        if tag == "section":
            self.order.append(given["id"] or "")
        elif tag in ("table", "figure", "nav"):
            self.order.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        self._cell = tag in ("td", "th") or (self._cell and tag not in ("tr", "table"))

    def handle_endtag(self, tag: str) -> None:
        self._cell = self._cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self._cell:
            self.tables[-1][-1][-1] += data.strip()


def made(folder: Path, guest: dict[str, Any] = GUEST) -> str:
    file = folder / "demo.html"
    write_page(Ran(on_the_module(), BOARD, 0, guest), file)
    return file.read_text()


def test_a_run_becomes_a_record_and_a_page(tmp_path, capsys):
    file = tmp_path / "demo.html"
    write_page(Ran(report({"hypercall": 42}), {"cpu": "cortex-a72"}, 0), file)
    assert f"As a page: {file}" in capsys.readouterr().out
    assert "Where the time went" in file.read_text() and "cortex-a72" in file.read_text()
    record = records.read(tmp_path / "demo.json")
    assert [group.title for group in record.groups][-1] == "exits within KVM"
    assert record.groups[-1].lines[0].count == 42
    assert record.guest is None


def test_the_page_begins_with_the_run_in_pictures(tmp_path):
    page = made(tmp_path)
    seen = Seen(page)
    own = seen.order[: seen.order.index("nav")]
    assert own[:2] == ["booted", "figure"], "what booted, as a picture"
    time = own[own.index("time") :]
    assert time[:4] == ["time", "figure", "figure", "figure"], "pictures before tables"
    assert set(own) == {"booted", "time", "figure", "table"}, "no section of any other record"
    assert SYSTEM in page and "cortex-a72" in page and "without EL2" in page
    assert records.read(tmp_path / "demo.json").guest == records.Guest(SYSTEM, 0.85, 0.94)


def test_then_come_the_figures_that_the_repository_ships_and_what_they_are_of(tmp_path):
    page = made(tmp_path)
    shipped = records.read(paths.checkout() / "docs/bench.json")
    then = page[page.index('class="then"') :]
    told = then[: then.index("<nav")]
    assert shipped.label in told and shipped.time[:10] in told and "docs/bench.json" in told
    order = Seen(then).order
    assert "latencies" in order and "avf-table-1" in order and len(order) > 20
    value = shipped.values["lat.null.armvisor"].value
    assert f">{value:,.0f}<" in then


def test_nothing_that_is_empty_is_drawn(tmp_path):
    page = made(tmp_path)
    assert "not measured" not in page.lower() and "published only" not in page
    for rows in Seen(page).tables:
        head, *body = [row for row in rows if len(row) > 1] or [["", ""]]
        assert all(any(cell not in ("", "-", "NA") for cell in row[1:]) for row in body), rows
        for column in range(1, len(head)):
            cells = [row[column] for row in body if len(row) == len(head)]
            assert not cells or any(cell not in ("", "-", "NA") for cell in cells), rows


def test_the_page_is_one_file_that_loads_nothing(tmp_path):
    page = made(tmp_path)
    assert "default-src 'none'" in page
    assert all(word.startswith("#") for word in Seen(page).wanted)
    assert "<script" not in page and "url(" not in page and "@import" not in page


def test_what_a_guest_says_is_text(tmp_path):
    page = made(tmp_path, GUEST | {"system": "<script>alert(1)</script>"})
    assert "<script" not in page and "&lt;script&gt;" in page


def test_a_guest_s_clock_may_say_nothing_or_nonsense(tmp_path):
    boot = "The guest&#39;s boot, by its own clock"
    assert boot in made(tmp_path)
    for guest in ({"system": SYSTEM}, GUEST | {"init": 0.95}, {}):
        assert boot not in made(tmp_path, guest)


def test_without_a_record_of_figures_the_run_is_all(tmp_path, monkeypatch):
    monkeypatch.setattr("armvisor_lab.report.reference.file", lambda: tmp_path / "none.json")
    order = Seen(made(tmp_path)).order
    assert "nav" not in order and {*order} == {"booted", "time", "figure", "table"}


def test_every_class_has_words():
    assert set(demo_page.CLASSES) == set(timetable._CLASSES)


def test_of_kvm_exits_are_counted_on_the_page_too(tmp_path):
    file = tmp_path / "kvm.html"
    write_page(Ran(report({"hypercall": 42}), BOARD | {"el2": True}, 0, GUEST), file)
    page = file.read_text()
    assert "with EL2" in page and "armvisor.ko" not in page[: page.index("<nav")]
    assert "42" in page


def test_a_demo_without_the_page_s_library_is_no_failure(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    write_page(Ran(report({"hypercall": 42}), {}, 0), tmp_path / "demo.html")
    assert "run `make setup`" in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["demo.json"]


def test_a_page_s_folder_must_be_there_before_anything_boots(tmp_path, capsys):
    assert cli.main(["demo", "--page", str(tmp_path / "no/demo.html")]) == 125
    assert "there is no folder" in capsys.readouterr().err
