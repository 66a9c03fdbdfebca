# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Profiles that were made on silicon: the file, what is refused, and measured beside modelled.

The profile here is an example. Nothing in it was measured.
"""

import json
import re

import pytest
from test_model import classes

from armvisor_lab import cli, records
from armvisor_lab.boards import machine
from armvisor_lab.errors import LabError
from armvisor_lab.figures import run
from armvisor_lab.reach import cores, profile
from armvisor_lab.report import predicted
from armvisor_lab.report.pool import Pool

N1 = cores.choose(["neoverse-n1"])[0]
EXAMPLE = {
    "armvisor_core": 1,
    "name": "example-board",
    "what": "an example, not a machine",
    "like": "neoverse-n1",
    "made": {"revision": "0" * 40, "time": "2026-01-01T00:00:00+00:00", "midr": "0x413fd0c1"},
    "costs": {
        "isb": {"cycles": [31, 34], "how": "an example of a loop"},
        "exception": {"cycles": [130, 150], "how": "an example of a loop"},
    },
    "figures": {"lat.null.native": {"cycles": 400, "how": "an example of a program"}},
}


@pytest.fixture(autouse=True)
def no_qemu(monkeypatch):
    monkeypatch.setattr(machine.Machine, "_start", lambda *_args: pytest.fail("QEMU was started"))


def written(folder, **changed):
    file = folder / "example-core.json"
    file.write_text(json.dumps(EXAMPLE | changed))
    return file


def test_what_the_file_lacks_is_of_the_core_that_it_is_like(tmp_path):
    found = profile.read(written(tmp_path))
    assert found.core.cycles("isb") == (31, 34) and found.like.cycles("isb") == N1.cycles("isb")
    assert found.core.cycles("ordinary") == N1.cycles("ordinary")
    assert found.core.tlbs() == N1.tlbs() and found.core.line() != N1.line()
    assert found.core.values["isb"]["source"] == "an example of a loop"
    assert "isb" not in found.core.estimated and "ordinary" in found.core.estimated
    assert found.figures == {"lat.null.native": 400}
    assert found.as_json()["costs"]["exception"]["measured"] == [130, 150]


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"armvisor_core": 2}, "its version is 2, and this lab reads 1"),
        ({"armvisor_core": True}, "its version is True"),
        ({"extra": 1}, "nothing is called extra"),
        ({"name": "neoverse-n1"}, "name: 'neoverse-n1' is a core's here"),
        ({"name": "A core"}, "name: 'A core' is a core's here, or not of"),
        ({"name": 3}, "name is no text: 3"),
        ({"what": " "}, "what is no text"),
        ({"like": "z80"}, "no profile of a core 'z80'"),
        ({"made": {"time": "now"}}, "made: it has no revision or no time"),
        ({"made": []}, "made has no names"),
        ({"costs": {}, "figures": {}}, "nothing in it was measured"),
        ({"costs": {"barrier": EXAMPLE["costs"]["isb"]}}, "no class is called 'barrier'"),
        ({"costs": {"isb": {"cycles": [34, 31], "how": "x"}}}, "the least, 34, is more than"),
        ({"costs": {"isb": {"cycles": [0, 31], "how": "x"}}}, "costs: isb is no number of cycles"),
        ({"costs": {"isb": {"cycles": [31], "how": "x"}}}, "costs: isb: cycles are two numbers"),
        ({"costs": {"isb": {"cycles": [31, 34]}}}, "costs: isb: how is no text: None"),
        ({"costs": {"isb": {"cycles": [1, 2], "how": "x", "n": 3}}}, "isb: nothing is called n"),
        ({"figures": {"a.b": {"cycles": "many", "how": "x"}}}, "figures: a.b is no number of"),
        ({"figures": {"a.b": {"cycles": float("nan"), "how": "x"}}}, "figures: a.b is no number"),
        ({"figures": [1]}, "figures has no names"),
        ({"checks": {"a": {"state": "good", "what": ""}}}, "checks: a needs a state of ok, failed"),
        ({"checks": {"a": {"state": "ok"}}}, "checks: a needs a state of ok, failed"),
        ({"lines": [1]}, "lines are a list of text"),
    ],
)
def test_what_is_no_profile(tmp_path, changed, says):
    with pytest.raises(LabError, match=re.escape(says)):
        profile.read(written(tmp_path, **changed))


@pytest.mark.parametrize("content", ["", "[]", "{", "[" * 100000, "7"])
def test_what_is_no_profile_at_all(tmp_path, content):
    file = tmp_path / "x.json"
    file.write_text(content)
    with pytest.raises(LabError, match="is no profile of a core"):
        profile.read(file)
    with pytest.raises(LabError, match="No such file"):
        profile.read(tmp_path / "none.json")


def counts(folder):
    """A record of a system call, natively and under armvisor."""
    walks = {"neoverse-n1": {"lookups": 9.0, "l1_misses": 2.0, "walks": 1.0, "refs": 3.0,
                             "refs_missed": 0.0}}  # fmt: skip
    figures = [
        {"name": f"lat.null.{who}", "value": value, "traps": None,
         "classes": classes(value, erets, walks).as_json()}
        for who, value, erets in (("native", 326.0, 1), ("armvisor", 414.0, 2))
    ]  # fmt: skip
    file = folder / "counts.json"
    file.write_text(json.dumps(
        {"schema": run.SCHEMA, "revision": "0" * 40, "figures": figures}
    ))  # fmt: skip
    return file


def test_measured_is_shown_and_recorded_beside_modelled(tmp_path, capsys):
    out = tmp_path / "out.json"
    command = ["model", "cycles", "--record", str(counts(tmp_path)), "--json", str(out)]
    command += ["--core", str(written(tmp_path)), "--core", "neoverse-n1"]
    assert cli.main(command) == 0
    said = capsys.readouterr().out
    assert "on neoverse-n1 (modelled)" in said and "on example-board (modelled)" in said
    assert re.search(r"^lat\.null\.native +326 .* 400 +(yes|no)$", said, re.M)
    assert re.search(r"^lat\.null\.armvisor +414 .* -$", said, re.M)
    assert "cycles of example-board (an example, not a machine), beside neoverse-n1's" in said
    assert re.search(r"^isb +28 - 56 +31 - 34 +yes +an example of a loop$", said, re.M)
    assert re.search(r"^exception +55 - 115 +130 - 150 +no +an example of a loop$", said, re.M)
    assert "measured: revision 0000" in said
    found = json.loads(out.read_text())
    assert found["profiles"][0]["like"] == "neoverse-n1"
    measured = {(each["core"], each["figure"]): each["measured"] for each in found["predictions"]}
    assert measured["example-board", "lat.null.native"] == 400
    assert measured["neoverse-n1", "lat.null.native"] is None


def test_checks_of_the_kit_are_shown(tmp_path, capsys):
    checks = {"translations-asid": {"state": "ok", "what": "40000 right"}}
    file = written(tmp_path, checks=checks, lines=["trap one: x"])
    command = ["model", "cycles", "--record", str(counts(tmp_path)), "--core", str(file)]
    assert cli.main([*command, "--json", str(tmp_path / "out.json")]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^translations-asid +ok +40000 right$", said, re.M)
    assert "lines that KVM on an emulated board does not print: 1" in said
    found = json.loads((tmp_path / "out.json").read_text())["profiles"][0]
    assert found["checks"] == {"translations-asid": ["ok", "40000 right"]}
    assert found["lines"] == ["trap one: x"]


def test_the_report_has_both(tmp_path):
    out = tmp_path / "out.json"
    command = ["model", "cycles", "--record", str(counts(tmp_path)), "--json", str(out)]
    assert cli.main([*command, "--core", str(written(tmp_path))]) == 0
    section = predicted.section(Pool([records.read(out)]))
    tables = {table.title: table for table in section.tables}
    rows = {row[0].text: row for row in tables["cycles of example-board, measured"].rows}
    assert [cell.value for cell in rows["isb"][1:]] == [28, 56, 31, 34]
    rows = {row[0].text: row for row in tables["in cycles of example-board"].rows}
    assert rows["lat.null.native"][-2].value == 400
    assert rows["lat.null.native"][-1].text in ("yes", "no")
    assert rows["lat.null.armvisor"][-2].text == "-"
    least, most = (rows["lat.null.armvisor"][i].value for i in (5, 6))
    assert 1 < least < most < 3
    assert "bin/lab model cycles" in section.commands
