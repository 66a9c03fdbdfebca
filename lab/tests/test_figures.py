# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Figures: reading of results, the registry, and a run's output and record."""

import json
import re

import pytest

from armvisor_lab import cli, paths
from armvisor_lab.archive import programs
from armvisor_lab.boards import results
from armvisor_lab.errors import LabError
from armvisor_lab.figures import Measurement, Outcome, bounds, cheap, lat, ops, run

OUTPUT = """\
[    0.931132] Run /init as init process\r
result guest.cpus 1 count\r
result guest.end.cntfrq 62500000 Hz\r
result guest.end.ticks 60629545 ticks\r
"""


def test_ticks_are_instructions_by_the_counter_s_frequency():
    assert results.instructions(OUTPUT, "guest.end.ticks") == 60629545 * 16


def test_fractions_are_kept():
    text = "result lat.cntfrq 62500000 Hz\nresult lat.null 20.375 ticks\n"
    assert results.instructions(text, "lat.null") == 326


@pytest.mark.parametrize(
    "text",
    ["", "result a.b 1 ticks\n", "result a.cntfrq 1 Hz\nresult a.b 1 count\n", "results a.b 1 x"],
)
def test_a_result_that_is_not_there_is_an_error_with_the_output(text):
    with pytest.raises(LabError, match=r"no result 'a\.b'"):
        results.instructions(text, "a.b")


def test_every_result_of_a_name_is_there_in_its_order():
    text = "".join(f"result run.cntfrq 1000 Hz\nresult run.elapsed {n} ticks\n" for n in (3, 1, 2))
    assert results.all_instructions(text, "run.elapsed") == [3e6, 1e6, 2e6]


POWER_OFF = """\
[    0.855493] guest.end: counter 61413499 at 62500000 Hz\r
result guest.end.ticks 61413499 ticks\r
[    0.856729] reboot: Power down\r
"""


def test_the_kernel_s_clock_leads_from_the_counter_to_the_power_off():
    counted = results.until_power_off(POWER_OFF, "guest.end")
    assert counted == pytest.approx(61413499 * 16 + 1_236_000)


@pytest.mark.parametrize("lost", ["counter", "Power down"])
def test_a_boot_without_its_power_off_is_an_error_with_the_output(lost):
    with pytest.raises(LabError, match=r"power-off"):
        results.until_power_off(POWER_OFF.replace(lost, "…"), "guest.end")


def test_every_figure_s_name_says_what_and_who():
    for measurement in run.registry():
        for name in measurement.figures:
            assert re.fullmatch(r"[a-z_]+(\.[a-z0-9-]+)?\.[a-z0-9-]+", name), name


def test_the_promised_figures_are_there():
    names = {name for measurement in run.registry() for name in measurement.figures}
    assert names >= {"boot.native", "boot.kvm", "boot.qemu-kvm", "boot.qemu-tcg"}
    assert names >= {f"lat.{row}.{who}" for row in lat.ROWS
                     for who in ("native", "armvisor", "qemu-tcg")}  # fmt: skip
    assert names >= {"hypercall.kvm-vhe", "hypercall.kvm-nvhe", "mmio_user.kvm-vhe"}
    assert names >= {"boot.armvisor", "hypercall.armvisor", "mmio_user.armvisor"}


def test_the_slow_ones_run_last():
    slow = [measurement.slow for measurement in run.select([])]
    assert True in slow
    assert slow == sorted(slow)


def test_a_pattern_that_matches_nothing_names_what_there_is():
    with pytest.raises(LabError, match=r"boot\.native"):
        run.select(["boot.nosuch"])


@pytest.mark.parametrize(
    ("value", "shown"),
    [(970054384.0, "970054384"), (1333.008, "1333"), (6.0, "6"), (326.4, "326.4")],
)
def test_values_are_shown_to_what_they_are_worth(value, shown):
    assert run.show(value) == shown


@pytest.fixture
def family(monkeypatch, tmp_path):
    def good(_progress) -> Outcome:
        return Outcome({"boot.a": 12345.6, "boot.b": 2.0}, {"cpu": "x"}, ("qemu=1",))

    def bad(_progress) -> Outcome:
        raise LabError("the board hung", "look at the log")

    class Family:
        @staticmethod
        def measurements():
            return [
                Measurement(("boot.a", "boot.b"), "two at once", good),
                Measurement(("boot.c",), "one that fails", bad),
            ]

    monkeypatch.setattr(run, "FAMILIES", (Family,))
    return tmp_path / "figures.json"


def test_figures_go_to_standard_output_and_into_the_record(family, capsys):
    assert cli.main(["figures", "--only", "boot.a", "--json", str(family)]) == 0
    said = capsys.readouterr()
    assert said.out == "boot.a 12346 instructions\n"
    assert "two at once" in said.err
    record = json.loads(family.read_text())
    assert [figure["name"] for figure in record["figures"]] == ["boot.a"]
    assert record["figures"][0]["value"] == 12345.6
    assert record["figures"][0]["packages"] == ["qemu=1"]
    assert re.fullmatch(r"[0-9a-f]{40}", record["revision"])


@pytest.mark.parametrize(
    ("values", "holds"),
    [
        ({}, []),
        ({"boot.kvm": 9.0}, []),
        ({"boot.kvm": 1080.0, "boot.native": 1000.0}, [True]),
        ({"boot.kvm": 1081.0, "boot.native": 1000.0}, [False]),
        ({"hypercall.armvisor": 345.0, "boot.armvisor": 1.41e9}, [True, False]),
    ],
)
def test_bounds_are_of_what_was_measured(values, holds):
    assert [verdict.holds for verdict in bounds.judge(values)] == holds


def test_bounds_are_of_figures_that_there_are():
    names = {name for measurement in run.registry() for name in measurement.figures}
    assert {bound.name for bound in bounds.BOUNDS} <= names
    assert {bound.of for bound in bounds.BOUNDS} <= names | {""}


def test_a_figure_over_its_bound_fails_the_run(family, capsys, monkeypatch):
    monkeypatch.setattr(bounds, "BOUNDS", (bounds.Bound("boot.a", 12345),))
    assert cli.main(["figures", "--only", "boot.a", "--json", str(family)]) == 1
    assert "OVER its bound: boot.a 12346 of 12345" in capsys.readouterr().err


def test_one_failure_does_not_lose_the_others(family, capsys):
    assert cli.main(["figures", "--json", str(family)]) == 1
    said = capsys.readouterr()
    assert said.out.count("\n") == 2
    assert "boot.c: the board hung" in said.err
    assert json.loads(family.read_text())["failures"]


def test_a_folder_that_is_not_there_is_refused_before_anything_runs(family, capsys, monkeypatch):
    monkeypatch.setattr(run, "measure", lambda *_: pytest.fail("it measured"))
    file = family.parent / "no/figures.json"
    assert cli.main(["figures", "--json", str(file)]) == 125
    assert "there is no folder" in capsys.readouterr().err
    assert not file.parent.exists()
    assert cli.main(["figures", "--json", str(family.parent)]) == 125


def test_with_nothing_measured_nothing_is_written(family, capsys):
    assert cli.main(["figures", "--only", "boot.c", "--json", str(family)]) == 1
    assert "nothing was measured" in capsys.readouterr().err
    assert not family.exists()


@pytest.mark.parametrize(("ended", "status"), [(KeyboardInterrupt(), 130), (SystemExit(143), 143)])
def test_an_interrupted_run_keeps_what_it_has_and_says_so(family, monkeypatch, ended, status):
    def interrupted(_progress) -> Outcome:
        raise ended

    first, last = run.registry()
    late = Measurement(("boot.d",), "one more", last.run)
    three = [first, Measurement(last.figures, last.what, interrupted), late]
    monkeypatch.setattr(run, "registry", lambda: three)
    try:
        assert cli.main(["figures", "--json", str(family)]) == status
    except SystemExit as exit:
        assert exit.code == status
    record = json.loads(family.read_text())
    assert [figure["name"] for figure in record["figures"]] == ["boot.a", "boot.b"]
    assert record["failures"] == ["interrupted before boot.c, boot.d"]


def test_the_time_left_is_of_this_machine_s_speed():
    def each(seconds: float) -> Measurement:
        return Measurement((), "", lambda _: pytest.fail("it ran"), seconds=seconds)

    chosen = [each(10), each(20), each(30)]
    assert run._left(chosen[:0], chosen[0:], 0) == ""
    assert run._left(chosen[:1], chosen[1:], 60) == ", about 5 min left"
    assert run._left(chosen[:2], chosen[2:], 60) == ", about 1 min left"
    assert run._left(chosen[:2], chosen[2:], 30) == ", under a minute left"


def test_two_measurements_of_one_figure_are_refused(family, monkeypatch):
    monkeypatch.setattr(run, "FAMILIES", run.FAMILIES * 2)
    with pytest.raises(LabError, match=r"boot\.a"):
        run.registry()


def _record(path, figures):
    content = {"figures": [{"name": name, "value": value} for name, value in figures.items()]}
    path.write_text(json.dumps(content))
    return str(path)


@pytest.mark.parametrize(
    ("new", "within", "status"),
    [
        ({"boot.a": 1004.0, "boot.b": 5.0}, "0.5", 0),
        ({"boot.a": 1006.0, "boot.b": 5.0}, "0.5", 1),
        ({"boot.a": 994.0, "boot.b": 5.0}, "0.5", 1),
        ({"boot.a": 1006.0, "boot.b": 5.0}, "1", 0),
        ({"boot.a": 1000.0}, "0.5", 1),
        ({"boot.a": 1000.0, "boot.b": 5.0, "boot.c": 1.0}, "0.5", 1),
    ],
)
def test_records_agree_or_not(tmp_path, capsys, new, within, status):
    old = _record(tmp_path / "old", {"boot.a": 1000.0, "boot.b": 5.0})
    new = _record(tmp_path / "new", new)
    assert cli.main(["figures", "--compare", old, new, "--within", within]) == status
    said = capsys.readouterr()
    assert ("<-" in said.out) == bool(status)
    assert "most: boot." in said.err


def test_what_is_no_record_is_refused(tmp_path, capsys):
    good = _record(tmp_path / "good", {"boot.a": 1.0})
    bad = tmp_path / "bad"
    for content in ("", "[]", '{"figures": [{"name": "x"}]}'):
        bad.write_text(content)
        assert cli.main(["figures", "--compare", good, str(bad)]) != 0
        assert "is not a record of figures" in capsys.readouterr().err
    assert cli.main(["figures", "--compare", good, str(tmp_path / "nosuch")]) != 0


def test_libraries_of_a_program_are_found_in_turn(tmp_path, monkeypatch):
    library = tmp_path / "lib/usr/lib/aarch64-linux-gnu"
    library.mkdir(parents=True)
    (library / "liba.so.1.2").write_text("a")
    (library / "liba.so.1").symlink_to("liba.so.1.2")
    (library / "libb.so.2").write_text("b")
    (library / "ld-linux-aarch64.so.1").write_text("loader")
    (tmp_path / "main/usr/bin").mkdir(parents=True)
    (tmp_path / "main/usr/bin/program").write_text("p")
    needs = {"program": ["liba.so.1"], "liba.so.1.2": ["libb.so.2"], "libb.so.2": ["liba.so.1"]}

    class Unpacked:
        name, version = "x", "1"

        def __init__(self, name: str) -> None:
            self._name = name

        def unpacked(self):
            return tmp_path / self._name

    monkeypatch.setattr(programs, "needed", lambda file: needs[file.name])
    monkeypatch.setattr(
        programs.Packages, "closure", lambda *_: [Unpacked("lib"), Unpacked("main")]
    )
    files, _ = programs.with_libraries("p", "usr/bin/program", "trixie")
    assert {name.rsplit("/", 1)[1]: path.name for name, path in files.items()} == {
        "program": "program",
        "ld-linux-aarch64.so.1": "ld-linux-aarch64.so.1",
        "liba.so.1": "liba.so.1.2",
        "libb.so.2": "libb.so.2",
    }
    needs["libb.so.2"] = ["libmissing.so"]
    with pytest.raises(LabError, match=r"libmissing\.so"):
        programs.with_libraries("p", "usr/bin/program", "trixie")


def test_forks_are_as_many_as_the_program_makes():
    """`traps.nothing` divides by them."""
    tools = paths.checkout() / "guests/tools"
    rounds = re.search(
        r"^#define ROUNDS (\d+)$", (tools / "lat/measure.c").read_text(), re.MULTILINE
    )
    row = r'\{ "fork-exec", NULL, run_exec, NULL, (\d+) \}'
    loops = re.search(row, (tools / "lat/processes.c").read_text())
    assert rounds and loops
    assert int(rounds[1]) * int(loops[1]) + 1 == cheap._FORKS


def test_operations_are_those_of_the_program():
    folder = paths.checkout() / "guests/tools"
    texts = [file.read_text() for file in sorted((folder / "ops").glob("*.c"))]
    rows = [row for text in texts for row in re.findall(r'^\t\{ "([\w-]+)"', text, re.MULTILINE)]
    assert sorted(rows) == sorted(ops.ROWS) and len(set(rows)) == len(rows) > 100
    most = re.search(r"^#define MAX_ROWS (\d+)$", (folder / "lat/measure.c").read_text(), re.M)
    assert most and len(rows) <= int(most[1])
