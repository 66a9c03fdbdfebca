# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab compare`: differences that count, and its exit status."""

import itertools
import json
from pathlib import Path
from statistics import fmean

import pytest

from armvisor_lab import cli
from armvisor_lab.records import Value
from armvisor_lab.report import compare


@pytest.fixture
def record(tmp_path):
    def write(name: str, **values) -> str:
        """Values as numbers, or as samples whose mean they are."""
        figures = [
            {"name": key, "value": fmean(v) if isinstance(v, list) else v, "unit": "instructions",
             "samples": v if isinstance(v, list) else []}
            for key, v in values.items()
        ]  # fmt: skip
        (tmp_path / name).write_text(json.dumps({"schema": 1, "figures": figures}))
        return str(tmp_path / name)

    return write


def verdicts(capsys, *arguments: str) -> tuple[int, dict[str, str]]:
    status = cli.main(["compare", *arguments, "--json"])
    found = json.loads(capsys.readouterr().out)["compare"]
    return status, {each["name"]: each["verdict"] for each in found["figures"]}


def test_what_differs_and_what_does_not(record, capsys):
    a = record("a", same=1000, near=1000, far=1000, gone=1)
    b = record("b", same=1000, near=1004, far=1006, new=1)
    assert verdicts(capsys, a, b) == (1, {
        "same": "same", "near": "same", "far": "differs", "gone": "only in A", "new": "only in B",
    })  # fmt: skip
    assert verdicts(capsys, a, a)[0] == 0
    status, found = verdicts(capsys, a, b, "--within", "1")
    assert found["far"] == "same" and status == 1


def test_both_commands_say_the_same(record, capsys):
    a, b = record("a", x=1000, y=5), record("b", x=1006, y=5)
    said = []
    for words in (["compare", a, b], ["figures", "--compare", a, b]):
        assert cli.main(words) == 1
        said.append(capsys.readouterr())
    assert said[0] == said[1]
    assert "+0.600 %  <-" in said[0].out


NOISY = [[100, 104, 97, 101, 103], [103, 99, 104, 107, 98]]
APART = [[100, 104, 97, 101, 103], [110, 114, 107, 111, 113]]


def test_noise_is_no_difference(record, capsys):
    a, b = (record(n, boot=each) for n, each in zip("ab", NOISY, strict=True))
    assert verdicts(capsys, a, b) == (0, {"boot": "chance"})
    assert cli.main(["compare", a, b]) == 0
    assert "by chance: p = " in capsys.readouterr().out
    a, b = (record(n, boot=each) for n, each in zip("cd", APART, strict=True))
    assert verdicts(capsys, a, b) == (1, {"boot": "differs"})


@pytest.mark.parametrize("samples", [NOISY, APART])
def test_the_test_counts_all_ways_to_deal_samples_out(samples):
    """Against a count by hand of those that are as far apart as what was found."""
    a, b = samples
    every = a + b
    found = abs(fmean(a) - fmean(b))
    deals = list(itertools.combinations(range(len(every)), len(a)))
    apart = [
        abs(fmean(every[i] for i in deal) - fmean(every[i] for i in range(10) if i not in deal))
        for deal in deals
    ]
    wanted = sum(each >= found - 1e-9 for each in apart) / len(deals)
    p = compare.chance(Value("x", fmean(a), samples=a), Value("x", fmean(b), samples=b))
    assert p == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("a", "b"), [([], [1, 2]), ([5, 5], [6, 6]), ([7], [8]), ([1, 2, 3], [11, 12, 13])]
)
def test_what_cannot_be_tested_is_judged_by_the_limit(a, b):
    """No samples, samples that repeat, and so few that none of their ways would be unlikely."""
    assert compare.chance(Value("x", 1, samples=a), Value("x", 2, samples=b)) is None


def test_many_samples_are_tested_the_same_each_time():
    a = Value("x", 1, samples=tuple(map(float, range(40))))
    b = Value("x", 2, samples=tuple(n + 5.0 for n in range(40)))
    first = compare.chance(a, b)
    assert first == compare.chance(a, b) and 0 < first < 0.2


def test_other_units_are_not_compared(tmp_path, record, capsys):
    a = record("a", x=1)
    b = Path(record("b", x=1))
    b.write_text(b.read_text().replace("instructions", "cycles"))
    assert verdicts(capsys, a, str(b)) == (1, {"x": "units differ"})


def test_a_difference_from_nothing_has_no_percentage(record, capsys):
    a, b = record("a", x=0, y=0), record("b", x=5, y=0)
    assert cli.main(["compare", a, b, "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)["compare"]["figures"]
    assert [row["percent"] for row in rows] == [None, 0.0]


def test_other_circumstances_are_said(tmp_path, record, capsys):
    a, b = record("a", x=1), Path(record("b", x=1))
    content = json.loads(b.read_text()) | {"emulator": "QEMU 10"}
    content["figures"][0]["board"] = {"cpu": "neoverse-n1"}
    b.write_text(json.dumps(content))
    assert cli.main(["compare", a, str(b)]) == 0
    said = capsys.readouterr().err
    assert "emulators differ: none said; QEMU 10" in said
    assert "boards differ for x: none said; neoverse-n1" in said


@pytest.mark.parametrize("content", ["", '{"schema": 9, "figures": []}', '{"figures": []}'])
def test_what_is_no_record_is_refused(record, tmp_path, capsys, content):
    bad = tmp_path / "bad"
    bad.write_text(content)
    for pair in ((record("a", x=1), str(bad)), (str(bad), record("a", x=1))):
        assert cli.main(["compare", *pair]) == 125
        said = capsys.readouterr()
        assert "bad" in said.err and not said.out


@pytest.mark.parametrize("within", ["-1", "nan", "inf", "x"])
def test_a_limit_that_is_none_is_refused(record, within):
    a = record("a", x=1)
    with pytest.raises(SystemExit) as ended:
        cli.main(["compare", a, a, f"--within={within}"])
    assert ended.value.code == 125
