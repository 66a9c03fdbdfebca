# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab report`: records that it reads and refuses, its sections, and the three ways to show it."""

import json
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path

import pytest

from armvisor_lab import cli, paths, records
from armvisor_lab.errors import LabError
from armvisor_lab.figures import lat, ops, run
from armvisor_lab.model import published as model
from armvisor_lab.report import build, charts, page, pool, published, sections, text
from armvisor_lab.report.model import Bars, Mark, Series

BOARD = {"el2": False, "cpu": "cortex-a72", "smp": 1, "memory_mib": 1024, "count": True,
         "append": "", "kernel": "6.12-arm64", "kernel_role": "stable",
         "kernel_version": "6.12-1", "packages": []}  # fmt: skip
HEAD = {"schema": 1, "revision": "c0ffee" * 6, "modified": False,
        "time": "2026-11-23T10:00:00+00:00", "emulator": "QEMU 7"}  # fmt: skip
HOSTILE = "</style><script>alert('&')</script><img src=x onerror=y>\x1b[2J"


def figure(name: str, value: float, **more) -> dict:
    return {"name": name, "value": value, "unit": "instructions", "what": "w", "board": BOARD,
            "packages": [], "samples": [], "classes": None, "traps": None, **more}  # fmt: skip


def figures(values: dict[str, float], **more) -> dict:
    return HEAD | {"figures": [figure(*each) for each in values.items()], "failures": []} | more


def modelled(pages: str, cycles: float, row: str = "random-128-small", setup: str = "kvm") -> dict:
    of = {"walks": 10, "walk_references": 20, "l1_misses": 30, "cycles": [cycles / 2, cycles]}
    insns = {"guest-user": {"ordinary": 5}}
    return {"row": row, "setup": setup, "pages": pages, "what": "KVM", "board": BOARD,
            "insns": insns, "modelled": {"cortex-a72": of}}  # fmt: skip


VM = {
    "wall_seconds": 2.0,
    "phases": [{"name": "run", "seconds": 1.5}],
    "exits": {"mmio_user_write": 7},
    "kvm_exits": {"hypercall": 42, "wfx": 0},
}
NAMES = ("sen_inst_trap", "irq", "fast_trap", "dat_trans", "protection", "mmio", "dabt_true",
         "pabt_kvm", "pabt_true", "mem_pv", "guest_exc", "hypercall", "suspend",
         "other_trap")  # fmt: skip
PREDICTED = {"source": "a paper", "core": "pixel-6", "figure": "hypercall.kvm-nvhe",
             "published_cycles": 1, "counted_cycles": [1000, 4000],
             "scaled_cycles": 1400}  # fmt: skip
ROW = {"on": "armvisor", "row": "null", "native": 300, "predicted": 440, "counted": 400}
CLASSES = {"guest_ns": 10**9} | {f"{name}{end}": 5 for name in NAMES for end in ("", "_ns")}
SMALL = {"hypercall.kvm-nvhe": 1743.0, "hypercall.armvisor": 367.0, "lat.null.native": 326.0,
         "lat.null.armvisor": 414.0, "lat.null.armvisor-no-cheap": 6301.0}  # fmt: skip


@pytest.fixture
def made(tmp_path):
    """A record as a file, and a report of records."""

    def write(name: str, content: object) -> Path:
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


def report(*files: Path):
    return build.report([records.read(file) for file in files])


def section(of, name: str):
    return next(each for each in of.sections if each.id == name)


def cells(of, name: str) -> dict[str, list[str]]:
    rows = [row for table in section(of, name).tables for row in table.rows]
    return {row[0].text: [cell.text for cell in row[1:]] for row in rows}


# ---- published values ---------------------------------------------------------------------


def test_each_table_and_figure_to_repeat_is_there():
    ids = {each.id for work in published.works() for each in work.sections}
    assert ids >= {"avf-table-1", "avf-figure-2", "avf-figure-3", "crosvm-summary",
                   "isca16-micro", "armvisor-table-7", "armvisor-figure-6",
                   "armvisor-figure-7"}  # fmt: skip


def test_table_7_adds_up_as_printed():
    work = next(work for work in published.works() if work.short == "ARMvisor")
    rows = {row.name: row for each in work.sections if each.id == "armvisor-table-7"
            for row in each.rows}  # fmt: skip
    total = rows.pop("Total").published
    assert [sum(row.published[i] for row in rows.values()) for i in (0, 1)] == list(total)


def test_rows_of_lat_that_are_named_are_measured():
    stems = {s for work in published.works() for each in work.sections for row in each.rows
             for s in row.ours if s.startswith("lat.")}  # fmt: skip
    assert stems and stems <= {f"lat.{row}" for row in lat.ROWS}


GOOD = """
order = 1
title = "t"
short = "s"
authors = "a"
venue = "v"
url = ""
setup = "x"
[[section]]
id = "i"
name = "n"
title = "t"
where = "w"
form = "value"
unit = "cycles"
note = ""
columns = ["c"]
rows = [{ name = "r", published = [1] }]
ours = [{ name = "o", figure = "{}.x", tone = "kvm" }]
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("published = [1]", "published = [1, 2]", "2 values for 1 columns"),
        ("published = [1]", "published = [[2, 1]]", "not a published value"),
        ("published = [1]", "published = [true]", "not a published value"),
        ("published = [1]", "publised = [1]", "publised"),
        ("published = [1]", 'published = [1], ours = "a", not_on = ["p"]', "no column p"),
        ('form = "value"', 'form = "sum"', "no form"),
        ('form = "value"', 'form = "ratio"', "over"),
        ('tone = "kvm"', 'tone = "pink"', "no tone"),
        ('where = "w"', "", "where"),
        ("[[section]]", "[[section]", "toml"),
    ],
)
def test_published_values_that_are_wrong_are_refused(old, new, said):
    assert published.read(GOOD, "x.toml").sections[0].rows[0].published == (1.0,)
    with pytest.raises(LabError, match=r"x\.toml") as error:
        published.read(GOOD.replace(old, new), "x.toml")
    assert said in str(error.value)


def test_commands_select_what_they_are_for_and_little_else():
    names = ["traps.nothing-irq.armvisor", "lat.null.native", "ipi_running.kvm-vhe"]
    [command] = pool.commands(names)
    patterns = shlex.split(command)[3::2]
    assert patterns == ["traps.nothing*.armvisor", "lat.*.native", "ipi_running.kvm-vhe"]
    assert len(run.select(patterns)) == 3


# ---- records ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        "", "{", "[]", "3", '{"schema": 1}', '{"figures": 3}', '{"figures": [3]}',
        '{"figures": [{"name": "x"}]}', '{"figures": [{"name": "x", "value": "1"}]}',
        '{"figures": [{"name": "x", "value": true}]}',
        '{"figures": [{"name": "x", "value": NaN}]}',
        '{"figures": [{"name": 1, "value": 1}]}', '{"figures": [{"name": "x", "value": 1e300}]}',
        f'{{"figures": [{{"name": "x", "value": 1{"0" * 400}}}]}}',
        '{"figures": [{"name": "x", "value": 1, "samples": [Infinity]}]}',
        json.dumps({"demo": {"report": VM | {"wall_seconds": float("nan")}}}),
        json.dumps({"demo": {"report": VM | {"exits": {"x": float("inf")}}}}),
        json.dumps({"demo": {"report": VM | {"exits": {"x": "many"}}}}),
        json.dumps({"demo": {"report": VM | {"kvm_exits": CLASSES | {"irq": "many"}}}}),
        json.dumps({"demo": {"report": VM | {"kvm_exits": {"guest_ns": 10**400}}}}),
        '{"figures": [{"name": "x", "value": 1, "board": []}]}',
        '{"figures": [{"name": "x", "value": 1}, {"name": "x", "value": 2}]}',
        '{"figures": [{"name": "x", "value": 1}], "revision": 7}',
        '{"predictions": [], "what": "weather"}', '{"predictions": [{}], "what": "rows"}',
        '{"predictions": [3], "what": "cycles"}', '{"predictions": {}, "what": "rows"}',
        json.dumps({"predictions": [PREDICTED | {"counted_cycles": [3, 2]}], "what": "published"}),
        json.dumps({"predictions": [PREDICTED | {"counted_cycles": [3]}], "what": "published"}),
        json.dumps({"predictions": [PREDICTED] * 2, "what": "published"}),
        '{"runs": [{"row": "r"}]}', '{"demo": []}', '{"demo": {"report": {}}}',
        '{"demo": {"report": {"wall_seconds": 1, "phases": 2, "exits": {}, "kvm_exits": {}}}}',
        json.dumps(figures(SMALL))[:-200], "[" * 100_000,
    ],
)  # fmt: skip
def test_what_is_no_record_is_refused_with_a_sentence(made, tmp_path, capsys, content):
    out = tmp_path / "report.html"
    assert cli.main(["report", str(made("bad", content)), "-o", str(out)]) == 125
    said = capsys.readouterr()
    assert "bad is not a record of figures" in said.err and "make records" in said.err
    assert not out.exists() and not said.out


@pytest.mark.parametrize("schema", [0, 99, "1", None])
def test_another_schema_is_refused(made, schema):
    with pytest.raises(LabError, match="schema"):
        records.read(made("old", figures(SMALL, schema=schema)))


@pytest.mark.parametrize("schema", [1, run.SCHEMA])
def test_records_of_today_and_before_are_read(made, schema):
    record = records.read(made("old", figures(SMALL, schema=schema)))
    assert {name: value.value for name, value in record.values.items()} == SMALL


@pytest.mark.parametrize("content", [figures({}), HEAD | {"runs": []}, HEAD | {"demo": {}}])
def test_a_record_with_nothing_in_it_is_refused(made, content):
    with pytest.raises(LabError, match="nothing measured"):
        records.read(made("empty", content))


def test_what_went_wrong_is_said_of_an_empty_record(made):
    with pytest.raises(LabError, match="the board hung"):
        records.read(made("empty", figures({}, failures=["boot.kvm: the board hung"])))


def test_a_file_that_is_not_there_is_said(tmp_path, capsys):
    assert cli.main(["report", str(tmp_path / "nosuch.json")]) == 125
    assert "nosuch.json: No such file" in capsys.readouterr().err
    assert cli.main(["report", str(tmp_path)]) == 125
    assert "Is a directory" in capsys.readouterr().err


def test_a_folder_that_is_not_there_is_not_made(made, tmp_path, capsys):
    record = str(made("a.json", figures(SMALL)))
    assert cli.main(["report", record, "-o", str(tmp_path / "no/report.html")]) == 125
    assert "there is no folder" in capsys.readouterr().err
    assert cli.main(["report", record, "-o", str(tmp_path)]) == 125
    assert "is a folder" in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"]


def test_without_records_it_says_what_makes_one(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(paths, "checkout", lambda: tmp_path)
    assert cli.main(["report"]) == 125
    assert "make bench" in capsys.readouterr().err


# ---- sections -----------------------------------------------------------------------------


def test_ours_stand_beside_the_published(made):
    of = report(made("a.json", figures(SMALL)))
    assert cells(of, "avf-table-1")["Hypercall"] == [
        "1,497", "1,641", "1,443", "1,680", "-", "1,743", "-", "-", "367", "-",
    ]  # fmt: skip
    assert cells(of, "avf-figure-3")["Network I/O"][0] == "8 to 22"
    found = section(of, "avf-table-1")
    assert found.state == "in part"
    assert found.commands == ("bin/lab figures --only 'hypercall.*'",)
    assert "revision c0ffeec0f, 2026-11-23T10:00:00+00:00, a.json" in found.provenance
    assert "board: cortex-a72 without EL2, 1 CPU, 1024 MiB, Debian stable 6.12-1 (6.12-arm64)" in (
        found.provenance
    )


def test_figures_of_two_are_made_of_both(made):
    of = report(made("a.json", figures(SMALL)))
    assert cells(of, "armvisor-figure-6")["null system call"][3:] == ["19.3", "1.27", "-"]


@pytest.mark.parametrize(
    ("form", "pairs", "value"),
    [
        ("ratio", [(30, 10)], 3), ("ratio", [(1, 1), (4, 1)], 2), ("change", [(3, 4)], -25),
        ("speed", [(4, 3)], -25), ("speed", [(4, 5)], 25), ("speed", [(4, 1), (1, 1)], -50),
        ("less", [(1, 5)], 80), ("ratio", [(1, 0)], None), ("ratio", [(-1, 2)], None),
    ],
)  # fmt: skip
def test_forms_are_what_they_say(form, pairs, value):
    found = sections.combined(form, pairs)
    assert found == (value if value is None else pytest.approx(value))


def test_a_protected_vm_that_takes_more_is_slower(made):
    rows = ("fio-randread", "fio-randwrite", "fio-read", "fio-write", "hackbench")
    values = {f"app.{row}.armvisor": 100.0 for row in rows}
    values |= {f"app.{row}.armvisor-pvm": 125.0 for row in rows}
    values |= {f"app.{row}.armvisor-pvm-opt": 100.0 for row in rows}
    of = report(made("a.json", figures(values)))
    found = cells(of, "avf-figure-2")
    assert found["Block I/O"] == ["-25", "-", "-20"] and found["hackbench"][-1] == "-20"
    assert cells(of, "avf-figure-3")["Block I/O, at best (FIO, Pixel 7 Pro)"] == ["7", "-", "25"]
    mine = cells(of, "applications")
    assert mine["hackbench, a message"][-2:] == ["1.25", "1.00"]
    assert mine["SQLite, a transaction"][-2:] == ["-", "-"]
    assert section(of, "applications").state == "in part"
    assert "kvm-pvm" in section(of, "applications").missing[0]


def test_what_is_missing_is_said_with_its_command(made):
    of = report(made("a.json", figures(SMALL)))
    missing = section(of, "avf-table-1").missing
    assert "KVM protected, pVM" in missing[0] and "Share" not in missing[0]
    assert "I/O Trap User" in missing[0] and "bin/lab figures" in missing[1]
    missing = section(of, "avf-figure-2").missing
    assert missing[0] == "Not measured yet: no value of this section."
    assert "--only 'app.*.kvm-pvm'" in missing[1]
    for name, command in (("time", "make demo"), ("reach", "bin/lab reach")):
        assert section(of, name).state == "not measured yet"
        assert command in section(of, name).missing[1]


def test_what_cannot_be_is_not_missing(made):
    """A plain VM has nothing to share; of protected ones it is measured."""
    shares = {f"{what}.{who}": 9.0 for what in ("share", "unshare")
              for who in ("kvm-pvm", "armvisor-pvm")}  # fmt: skip
    of = report(made("a.json", figures(shares)))
    assert cells(of, "avf-table-1")["Share Hypercall"][4:] == ["NA", "NA", "NA", "9", "NA", "9"]
    assert "Share" not in section(of, "avf-table-1").missing[0]
    del shares["share.armvisor-pvm"]
    of = report(made("a.json", figures(shares)))
    assert "Share Hypercall (armvisor, pVM)" in section(of, "avf-table-1").missing[0]


def test_the_newest_value_counts_wherever_it_is_named(made):
    old = made("b.json", figures({"hypercall.armvisor": 500, "boot.kvm": 9}, time="2026-01-01"))
    new = made("a.json", figures({"hypercall.armvisor": 400}, time="2026-02-02"))
    for files in ((old, new), (new, old)):
        of = report(*files)
        assert cells(of, "avf-table-1")["Hypercall"][-2] == "400"
        assert cells(of, "figures")["boot.kvm"][0] == "9"
        assert cells(of, "history")["hypercall.armvisor"][1:] == ["500", "400", "-20.00 %"]


def test_a_history_takes_two_records(made):
    assert section(report(made("a.json", figures(SMALL))), "history").state == "not measured yet"


def test_latencies_have_ratios_and_their_mean(made):
    values = {
        f"lat.{row}.{who}": n for row in lat.ROWS for who, n in (("native", 100), ("kvm", 50))
    }
    rows = cells(report(made("a.json", figures(values))), "latencies")
    assert rows["null system call (getppid)"] == ["100", "50", "-", "-", "0.50", "-", "-"]
    assert rows["all, geometric mean"] == ["", "", "", "", "0.50", "-", "-"]


def test_the_worst_operations_come_first(made):
    times = dict(zip(ops.ROWS, range(1, len(ops.ROWS) + 1), strict=True))
    values = {f"ops.{row}.native": 10 for row in ops.ROWS}
    values |= {f"ops.{row}.armvisor": 10 * n for row, n in times.items()}
    of = report(made("a.json", figures(values)))
    rows = cells(of, "operations")
    assert list(rows) == [*reversed(ops.ROWS[-10:]), "all, geometric mean"]
    assert rows[ops.ROWS[-1]] == ["10", "-", f"{10 * len(ops.ROWS):,}", "-", str(len(ops.ROWS))]
    assert rows["all, geometric mean"][-2:] == ["-", "39.8"]
    assert "KVM" in section(of, "operations").missing[0]


def test_pages_are_compared_by_the_model(made):
    runs = [modelled("4K in 4K", 1000), modelled("4K in 2M", 250)]
    of = report(made("r.json", HEAD | {"runs": runs, "failures": []}))
    assert cells(of, "crosvm-summary")["iTLB overhead"][:2] == ["-12", "-75"]
    assert cells(of, "reach")["kvm, 4K in 2M"] == ["10", "20", "125", "250"]
    assert section(of, "reach").commands == ("bin/lab reach",)


def predictions(what: str, *lines: dict, **more) -> dict:
    return HEAD | {"what": what, "predictions": lines, "counts_of": ["facade0" * 5]} | more


def test_the_model_s_errors_are_there(made):
    file = made("m", predictions("published", PREDICTED))
    of = report(file, made("r", predictions("rows", ROW)))
    # 1497 cycles are published; 2500 are the middle of the least and the most.
    assert cells(of, "model")["pixel-6, hypercall.kvm-nvhe"] == [
        "1,497", "1,000", "4,000", "yes", "+67 %", "1,400", "-6.5 %"]  # fmt: skip
    assert cells(of, "model")["null"] == ["300", "440", "400", "+10 %"]
    assert cells(of, "model")["x-gene, hypercall.kvm-nvhe"] == ["6,500", *["-"] * 6]
    said = section(of, "model")
    assert said.state == "in part"
    assert set(said.commands) == {"bin/lab model published", "bin/lab model rows --on armvisor"}
    assert "pipe on armvisor" in said.missing[0] and "lat on kvm" in said.missing[0]
    assert any("counts of revision facade0" in each for each in said.provenance)
    charts = {chart.title: chart for chart in said.charts}
    [(name, marks)] = charts["Published cycles: error"].rows
    assert name.startswith("pixel-6") and [round(mark.value, 1) for mark in marks] == [67.0, -6.5]
    [(_, [mark])] = charts["lat on armvisor: error"].rows
    assert mark.value == pytest.approx(10)


def test_what_the_model_has_not_predicted_is_said(made):
    said = section(report(made("one", figures(SMALL))), "model")
    assert said.state == "not measured yet" and not said.charts
    missing, remedy = said.missing
    every = [f"{row.core}, {row.figure}" for row in model.rows()]
    assert all(each in missing for each in every) and "lat on armvisor" in missing
    assert len(every) == len(set(every))
    for command in ("published", "rows --on kvm", "rows --on armvisor"):
        assert f"`bin/lab model {command}`" in remedy
    whole = [{**PREDICTED, "core": row.core, "figure": row.figure} for row in model.rows()]
    rows = [{**ROW, "row": row, "on": on} for row in lat.ROWS for on in ("kvm", "armvisor")]
    of = report(made("m", predictions("published", *whole)), made("r", predictions("rows", *rows)))
    assert section(of, "model").state == "measured" and not section(of, "model").missing


def test_cycles_of_a_core_are_among_the_figures(made):
    line = {"core": "x-gene", "figure": "lat.null.native", "cycles": [100, 400]}
    of = report(made("c", predictions("cycles", line)))
    assert cells(of, "figures")["model.cycles.x-gene.lat.null.native.most"][0] == "400"
    assert section(of, "model").state == "not measured yet"


def test_a_demo_says_where_the_time_went(made):
    record = made("demo.json", HEAD | {"demo": {"board": BOARD, "report": VM}})
    found = section(report(record), "time")
    assert cells(report(record), "time")["hypercall"] == ["42"]
    assert found.commands == ("make demo",) and "2.00 s" in found.notes[0]


def test_of_the_module_s_vm_classes_have_their_time(made):
    vm = VM | {"kvm_exits": CLASSES | {"irq_ns": 5 * 10**8, "suspend": 0}}
    of = report(made("demo.json", HEAD | {"demo": {"board": BOARD, "report": vm}}))
    rows = cells(of, "time")
    assert rows["irq"] == ["5", "0.50", "25%"] and "suspend" not in rows
    assert rows["guest, with fast traps"] == ["", "1.00", "50%"]


def test_failures_of_records_are_on_the_page(made):
    of = report(made("a.json", figures(SMALL, failures=["interrupted before boot.kvm"])))
    assert "a.json: not measured: interrupted before boot.kvm" in section(of, "records").missing


# ---- charts -------------------------------------------------------------------------------


def test_bars_are_as_long_as_their_values():
    marks = (Mark(0, 50, "50"), Mark(0, -25, "-25"))
    drawn = charts.draw(Bars("t", "u", (Series("s", "kvm"),), (("row", marks),)))
    up, down = (shape for shape in drawn.shapes if shape.kind == "rect")
    assert up.width == pytest.approx(2 * down.width)
    assert up.x == pytest.approx(down.x + down.width)


def test_dots_stand_by_their_logarithm():
    marks = tuple(Mark(0, value, "") for value in (1, 10, 100))
    drawn = charts.draw(Bars("t", "u", (Series("s", "kvm"),), (("row", marks),), "dots"))
    one, ten, hundred = (shape.x for shape in drawn.shapes if shape.kind == "dot")
    assert ten - one == pytest.approx(hundred - ten) and ten > one


@pytest.mark.parametrize(("low", "high"), [(1, 1), (0.9, 211), (5, 5e9), (0.001, 0.0011)])
def test_every_chart_has_room_for_its_values(low, high):
    marks = (Mark(0, low, ""), Mark(0, high, ""))
    for form in ("bars", "dots"):
        drawn = charts.draw(Bars("t", "u", (Series("s", "kvm"),), (("r", marks),), form))
        assert all(0 <= s.x <= 100 and s.x + s.width <= 100 for s in drawn.shapes)
        assert all(0 <= s.y <= drawn.height for s in drawn.shapes)
    marks = charts.even(low, high)
    assert marks[0] <= low and high <= marks[-1] and 2 <= len(marks) <= 8


# ---- the page, text, JSON -----------------------------------------------------------------


class Tags(HTMLParser):
    """The tags of a page, with those that were not closed."""

    VOID = ("meta", "line")

    def __init__(self, source: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def everything(made, **more) -> list[Path]:
    return [
        made("a.json", figures(SMALL | {"boot.kvm": 7}, **more)),
        made("b.json", figures(SMALL, time="2026-12-01")),
        made("r.json", HEAD | {"runs": [modelled("4K in 4K", 9e6)], "failures": []}),
        made("d.json", HEAD | {"demo": {"board": BOARD, "report": VM}}),
        made("m.json", predictions("published", PREDICTED)),
    ]


def test_the_page_is_whole_and_loads_nothing(made):
    html = page.render(report(*everything(made)))
    tags = Tags(html)
    assert not tags.open
    names = {tag for tag, _ in tags.seen}
    assert not names & {"script", "link", "img", "iframe", "object", "base", "form"}
    assert not re.search(r"url\(|@import|\son\w+=", html)
    links = [attrs["href"] for tag, attrs in tags.seen if "href" in attrs]
    ids = {attrs["id"] for _, attrs in tags.seen if "id" in attrs}
    assert links and all(link.startswith("#") and link[1:] in ids for link in links)
    policy = next(attrs["content"] for _, attrs in tags.seen if "http-equiv" in attrs)
    assert "default-src 'none'" in policy and "script" not in policy


@pytest.mark.parametrize("where", ["name", "unit", "what", "revision", "time", "emulator", "board",
                                   "failures", "packages"])  # fmt: skip
def test_what_a_record_says_stays_text(made, where):
    hostile = figure("lat.null.qemu-tcg", 7)
    record = figures(SMALL)
    if where in ("name", "unit", "what"):
        hostile[where] = HOSTILE
    elif where == "board":
        hostile["board"] = dict.fromkeys(BOARD, HOSTILE)
    elif where == "packages":
        hostile["packages"] = [f"qemu-system-arm={HOSTILE}"]
    elif where == "failures":
        record["failures"] = [HOSTILE]
    else:
        record[where] = HOSTILE
    record["figures"].append(hostile)
    vm = VM | {"phases": [{"name": HOSTILE, "seconds": 1}], "exits": {HOSTILE: 3}}
    reach = modelled("4K in 4K", 7, row=f"{HOSTILE.replace('.', '')}-small")
    model_of = predictions("published", PREDICTED | {"source": HOSTILE}, counts_of=[HOSTILE])
    files = [made("a.json", record), made("r.json", HEAD | {"runs": [reach]}),
             made("d.json", HEAD | {"demo": {"report": vm}}),
             made("m.json", model_of)]  # fmt: skip
    of = report(*files)
    tags = Tags(page.render(of))
    assert not tags.open
    assert not {"script", "img"} & {tag for tag, _ in tags.seen}
    assert not [attrs for _, attrs in tags.seen if "onerror" in attrs]
    shown = text.render(of)
    assert "\x1b" not in shown and "alert(" in shown


def test_the_same_records_give_the_same_bytes(made, tmp_path):
    files = list(map(str, everything(made)))
    for option in ((), ("--text",), ("--json",)):
        outputs = [tmp_path / name for name in ("one", "other")]
        for out, order in zip(outputs, (files, files[::-1]), strict=True):
            assert cli.main(["report", *order, *option, "-o", str(out)]) == 0
        assert outputs[0].read_bytes() == outputs[1].read_bytes()


def test_text_and_json_have_what_the_page_has(made, capsys):
    files = list(map(str, everything(made)))
    assert cli.main(["report", *files, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["schema"] == 1
    titles = [each["title"] for each in content["report"]["sections"]]
    assert cli.main(["report", *files, "--text"]) == 0
    said = capsys.readouterr().out
    html = page.render(report(*map(Path, files)))
    for title in titles:
        assert title in said and title.replace("'", "&#39;") in html
    assert re.search(r"^Hypercall +1,497 +1,641 +1,443 +1,680 .* 367 +-$", said, re.M)


def test_a_report_is_no_record(made, tmp_path, capsys):
    out = tmp_path / "report.json"
    assert cli.main(["report", *map(str, everything(made)), "--json", "-o", str(out)]) == 0
    assert cli.main(["report", str(out)]) == 125
    assert "is not a record" in capsys.readouterr().err


def test_text_and_json_exclude_each_other(made):
    with pytest.raises(SystemExit) as ended:
        cli.main(["report", "--text", "--json", str(made("a.json", figures(SMALL)))])
    assert ended.value.code == 125


# ---- what the page has of figures that the lab measures -------------------------------------


def test_every_figure_has_its_family_on_the_page(made):
    names = [name for each in run.registry() for name in each.figures]
    of = report(made("a.json", figures(dict.fromkeys(names, 7.0))))
    assert set(cells(of, "figures")) == set(names)
    assert section(of, "latencies").state == "measured"
    assert section(of, "applications").state == "measured"
    assert section(of, "avf-figure-2").state == section(of, "avf-figure-3").state == "measured"
    assert section(of, "armvisor-figure-7").state == "measured"
    assert section(of, "armvisor-table-7").state == "measured"
