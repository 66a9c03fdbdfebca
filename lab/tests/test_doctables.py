# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab docs`: documents' tables equal the records, and the check fails when they do not."""

import json
from pathlib import Path

import pytest

from armvisor_lab import cli, doctables, paths
from armvisor_lab.boards.board import EXIT_USAGE
from armvisor_lab.errors import LabError

BOARD = {"el2": False, "cpu": "cortex-a72", "kernel_version": "6.12-1"}
HEAD = {"schema": 1, "revision": "c0ffee" * 6, "time": "2026-11-23T10:00:00+00:00"}
SPEC = """\
records = ["old.json", "new.json"]

[lat]
head = "operation"
figure = "lat.{row}.{column}"
columns = [
  { head = "native", name = "native" },
  { head = "armvisor", name = "armvisor" },
  { head = "armvisor ÷ native", ratio = ["armvisor", "native"] },
]
[lat.rows]
null = "system call"
"""
DOCUMENT = "# A\n\n<!-- table: lat -->\n{}<!-- end of table -->\n\nmore\n"
TABLE = """\
| operation | native | armvisor | armvisor ÷ native |
| --- | ---: | ---: | ---: |
| system call | 326 | 1,234 | 3.79 |

Instructions; cortex-a72 without EL2, kernel 6.12-1. From `docs/new.json`, revision c0ffeec0f, \
2026-11-23; `docs/old.json`, revision c0ffeec0f, 2026-11-23.
"""


def record(**values: float) -> str:
    figures = [
        {"name": f"lat.null.{name}", "value": value, "unit": "instructions", "board": BOARD}
        for name, value in values.items()
    ]
    return json.dumps(HEAD | {"figures": figures})


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "tables.toml").write_text(SPEC)
    (docs / "old.json").write_text(record(native=326, armvisor=5))
    (docs / "new.json").write_text(record(armvisor=1234.4))
    (docs / "a.md").write_text(DOCUMENT.format(TABLE))
    (tmp_path / "README.md").write_text("nothing\n")
    monkeypatch.setattr(paths, "checkout", lambda: tmp_path)
    return tmp_path


def test_a_table_is_what_the_records_have(top: Path):
    assert cli.main(["docs", "--check"]) == 0


@pytest.mark.parametrize("was", ["", TABLE.replace("326", "325"), TABLE.replace("c0ff", "beef")])
def test_another_table_is_told_and_mended(top: Path, was: str, capsys: pytest.CaptureFixture):
    document = top / "docs/a.md"
    document.write_text(DOCUMENT.format(was))
    assert cli.main(["docs", "--check"]) == 1
    assert "docs/a.md: a table is not what the records have" in capsys.readouterr().out
    assert document.read_text() == DOCUMENT.format(was)
    assert cli.main(["docs"]) == 0
    assert document.read_text() == DOCUMENT.format(TABLE)
    assert cli.main(["docs", "--check"]) == 0


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("docs/tables.toml", 'null = "system call"', 'read = "r"', "the figure lat.read.native"),
        ("docs/tables.toml", "[lat]", "[tal]", "docs/tables.toml is not as it should be"),
        ("docs/tables.toml", "[lat", "[tal", "docs/a.md: docs/tables.toml has no table lat"),
        ("docs/tables.toml", 'name = "native"', 'nam = "native"', "a column is no column"),
        ("docs/tables.toml", 'name = "native"', "range = 3", "a column is no column"),
        ("docs/tables.toml", '["armvisor", "native"]', '["armvisor"]', "a column is no column"),
        ("docs/tables.toml", "records = ", "records ", "docs/tables.toml is not as it should be"),
        ("docs/tables.toml", "old.json", "none.json", "none.json: No such file"),
        ("docs/a.md", "<!-- end of table -->", "", "docs/a.md: a table has no end"),
    ],
)
def test_what_is_wrong_is_said(
    top: Path, file: str, old: str, new: str, message: str, capsys: pytest.CaptureFixture
):
    target = top / file
    target.write_text(target.read_text().replace(old, new))
    assert cli.main(["docs"]) == EXIT_USAGE
    assert message in capsys.readouterr().err


RANGES = """
[cycles]
head = "operation"
record = "cycles.json"
by = "make cycles"
figure = "model.cycles.{core}.lat.{row}.{variant}.native_likely_{end}"
columns = [{ head = "a core", range = { core = "a72", variant = "armvisor" } }]
[cycles.rows]
null = "system call"
"""
PREDICTED = """\
| operation | a core |
| --- | ---: |
| system call | 1.23 to 1.46 |

Times native, modelled. From `docs/cycles.json`, revision c0ffeec0f, 2026-11-23, of counts of \
revision facade0fa.
"""


def cycles(core: str) -> str:
    line = {"core": core, "figure": "lat.null.armvisor", "cycles": [1, 2],
            "likely_times_native": [1.2341, 1.4567]}  # fmt: skip
    content = {"what": "cycles", "counts_of": ["facade0" * 5], "predictions": [line]}
    return json.dumps(HEAD | content)


def test_a_table_of_a_record_that_may_be_missing(top: Path, capsys: pytest.CaptureFixture):
    """Until it is there the document says what makes it; then the table is of the record."""
    (top / "docs/tables.toml").write_text(SPEC + RANGES)
    document = top / "docs/b.md"
    document.write_text(DOCUMENT.replace("table: lat", "table: cycles").format(""))
    assert cli.main(["docs"]) == 0
    note = "Not measured yet: `make cycles` makes this table's record, `docs/cycles.json`.\n"
    assert document.read_text().count(note) == 1
    assert cli.main(["docs", "--check"]) == 0
    (top / "docs/cycles.json").write_text(cycles("a72"))
    assert cli.main(["docs", "--check"]) == 1
    assert cli.main(["docs"]) == 0
    assert PREDICTED in document.read_text() and "Not measured" not in document.read_text()
    # A record without the figure is no table's excuse.
    (top / "docs/cycles.json").write_text(cycles("n1"))
    capsys.readouterr()
    assert cli.main(["docs"]) == EXIT_USAGE
    assert "no record of docs/tables.toml has the figure model.cycles.a72." in (
        capsys.readouterr().err)  # fmt: skip


def test_the_checkout_has_tables():
    with_tables = [
        d for d in doctables.documents(paths.checkout()) if "<!-- table:" in d.read_text()
    ]
    assert with_tables
    assert not doctables.stale(paths.checkout())


def test_numbers_have_few_digits():
    assert [doctables._number(n) for n in (6, 148.437, 999.96, 1097212174.5)] == [
        "6", "148.4", "1000", "1,097,212,174",
    ]  # fmt: skip
    assert [doctables._times(n) for n in (1.2653, 9.994, 57.4)] == ["1.27", "9.99", "57"]


def test_a_missing_specification_is_said(tmp_path: Path):
    with pytest.raises(LabError, match="No such file"):
        doctables.read_spec(tmp_path)
