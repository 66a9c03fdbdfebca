# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab compare ROW --on VARIANT`: its figures, hosts by their names, its output."""

import json
import re
from functools import partial
from pathlib import Path
from statistics import fmean

import pytest

from armvisor_lab import cli, paths, records
from armvisor_lab.errors import LabError
from armvisor_lab.figures import Measurement, Outcome, artefacts, beside, hosts, lat, run, vms
from armvisor_lab.report import pool


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A built module that says what parameters it has, as modules do."""
    path = tmp_path / "armvisor.ko"
    path.write_bytes(b"\0parmtype=cheap_traps:uint\0parmtype=huge_pages:bool\0parmtype=ns:uint\0")
    monkeypatch.setattr(artefacts, "module", lambda _role, _without=(): path)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("armvisor", ""),
        ("armvisor-accounting", "accounting=1"),
        ("armvisor-no-rows", "cheap_traps=1022"),
        ("armvisor-no-cheap", "cheap_traps=0"),
        ("armvisor:no-rows+no-stubs", "cheap_traps=958"),
        ("armvisor:no-cheap", "cheap_traps=0"),
        ("armvisor:cheap_traps=12+no-quick", "cheap_traps=8"),
        ("armvisor:huge_pages=N+ns=0", "huge_pages=N ns=0"),
        ("armvisor:no-rows+huge_pages=0", "cheap_traps=1022 huge_pages=0"),
        ("armvisor-no-kept-at-once", "kept_at_once=0"),
        ("armvisor:no-blocks+no-quick", "cheap_traps=1019 huge_pages=0"),
    ],
)
@pytest.mark.usefixtures("module")
def test_the_module_has_the_options_that_its_name_says(name, parameters):
    host = hosts.find(name)
    assert host.name == name and host.parameters == parameters and not host.el2
    assert [each.parameters for each in host.modules()] == [parameters]
    assert vms.find(name).regime == "armvisor"
    assert [each.parameters for each in vms.find(name).modules()] == [parameters]


def test_a_part_that_only_a_build_leaves_out(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "checkout", lambda: tmp_path)
    folder = tmp_path / "build/module/stable-no-leases-no-swept"
    host = hosts.find("armvisor:no-swept+no-leases")
    with pytest.raises(LabError) as caught:
        host.modules()
    assert caught.value.remedy == "run `make -C module KVER=stable WITHOUT='leases swept'`"
    folder.mkdir(parents=True)
    (folder / "armvisor.ko").write_bytes(b"")
    (module,) = host.modules()
    assert (module.name, module.parameters) == (str(folder / "armvisor.ko"), "")
    assert host.what.endswith(", no swept, no leases")


def test_the_modules_makefile_builds_without_each_of_them():
    makefile = (paths.checkout() / "module/Makefile").read_text()
    (line,) = re.findall(r"^parts := (.*)$", makefile, re.MULTILINE)
    assert line.split() == list(hosts.BUILT)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("armvisor:no-nosuch", "cheap_traps, huge_pages, ns"),
        ("armvisor:nosuch=1", "no option of the module is called 'nosuch=1'"),
        ("armvisor:", "no option of the module is called ''"),
        ("armvisor:no-rows+", "no option of the module is called ''"),
        ("armvisor:cheap_traps=1024", "of 0 to 1023"),
        ("armvisor:cheap_traps=-1", "gives no number"),
        ("armvisor:ns=1 cheap_traps=0", "gives no number"),
    ],
)
@pytest.mark.usefixtures("module")
def test_options_that_there_are_not_are_a_sentence(name, says):
    with pytest.raises(LabError, match=says):
        hosts.find(name)


def test_hosts_that_there_are_not_are_none():
    assert hosts.find("kvm-nosuch") is hosts.find("armvisor-no-nosuch") is None
    assert vms.find("native") is None


def test_kvm_has_its_modes():
    assert hosts.find("kvm") == hosts.replace(hosts.HOSTS["kvm-nvhe"], name="kvm")
    assert hosts.find("kvm-vhe").cpu == "cortex-a76"
    for name, protected in (("kvm-protected", False), ("kvm-pvm", True)):
        board = hosts.find(name).board({})
        assert board.append == "kvm-arm.mode=protected" and board.kernel == "newest"
        assert ("--protected" in hosts.find(name).run.split()) == protected
        assert ("--protected" in vms.find(name).command("x")) == protected
        assert vms.find(name).host == "newest"


@pytest.mark.usefixtures("module")
def test_each_row_is_on_each_way_to_run_vms():
    on = ["kvm", "kvm-vhe", "kvm-protected", "armvisor", "armvisor:no-rows"]
    plan = beside.plan(["hypercall", "lat.null", "boot", "ipi", "vm_switch", "traps.null"], on)
    assert set(plan.cells) == {(row, variant) for row in plan.rows for variant in on}
    # What families always have is theirs; another name of the same is no other measurement.
    assert plan.cells["hypercall", "kvm"] == "hypercall.kvm-nvhe"
    assert plan.cells["hypercall", "armvisor:no-rows"] == "hypercall.armvisor:no-rows"
    assert [each.slow for each in plan.measurements] == sorted(m.slow for m in plan.measurements)
    assert len(plan.measurements) == len({id(each) for each in plan.measurements})


def test_the_board_itself_may_have_another_core():
    plan = beside.plan(["lat.*"], ["native-cortex-a76", "kvm-vhe"])
    assert plan.cells["lat.null", "native-cortex-a76"] == "lat.null.native-cortex-a76"
    assert "native-cortex-a76" in beside.variants() and "native-cortex-a1" not in beside.variants()
    with pytest.raises(LabError, match="nothing is measured on 'native-cortex-a1'"):
        beside.plan(["lat.null"], ["native-cortex-a1"])


def test_a_row_that_some_do_not_have_is_left_out_there():
    plan = beside.plan(["lat.null", "hypercall"], ["native", "armvisor"])
    assert ("hypercall", "native") not in plan.cells and len(plan.cells) == 3


@pytest.mark.parametrize(
    ("rows", "on", "says"),
    [
        (["lat.nosuch"], ["native"], "did you mean lat."),
        (
            ["lat.null"],
            ["nosuch"],
            "'nosuch'\n  `lab compare --list` has all variants; or armvisor:",
        ),
        (["hypercall"], ["native"], "no row 'hypercall' on native"),
        (["hypercall"], ["native", "armvisor"], "native has none of hypercall\n  it has boot"),
    ],
)
def test_unknown_rows_and_variants_are_sentences(rows, on, says, capsys):
    assert cli.main(["compare", *rows, "--on", ",".join(on)]) == 125
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [[], ["lat.null"], ["a", "b", "c"], ["a", "b"], ["--on", "armvisor"], ["--record", "x"],
     ["lat.null", "--on", "armvisor", "--record", "/nosuch/x.json"]],
)  # fmt: skip
def test_half_of_a_command_is_a_sentence(words, capsys, monkeypatch):
    monkeypatch.setattr(run, "measure_these", lambda *_: pytest.fail("it measured"))
    assert cli.main(["compare", *words]) == 125
    assert capsys.readouterr().err.startswith("lab: ")


def test_rows_and_variants_are_listed(capsys):
    assert cli.main(["compare", "--list"]) == 0
    assert "\nkvm-protected\n" in (said := capsys.readouterr().out) and "no-PART" in said
    assert cli.main(["compare", "--list", "--on", "kvm-vhe,native"]) == 0
    assert "hypercall kvm-vhe\n" in (said := capsys.readouterr().out) and "lat.null native" in said
    assert cli.main(["compare", "--list", "--on", "nosuch"]) == 125


def test_a_report_says_how_a_made_figure_is_measured(module):
    names = ["hypercall.armvisor", "hypercall.armvisor:no-rows", "lat.null.kvm-vhe"]
    made, always = pool.commands(names)
    assert made == "bin/lab compare hypercall lat.null --on armvisor:no-rows,kvm-vhe"
    assert always == "bin/lab figures --only hypercall.armvisor"


SAMPLES = {"a": (100.0, 104.0, 97.0, 101.0, 103.0), "b": (103.0, 99.0, 104.0, 107.0, 98.0)}
SAMPLES["c"] = tuple(n + 50 for n in SAMPLES["a"])


@pytest.fixture
def three(monkeypatch, tmp_path):
    """A row on three variants, and one on two of which the last one fails."""

    def good(name: str, _progress) -> Outcome:
        samples = SAMPLES[name]
        board = {"cpu": {"b": "cpu-a"}.get(name, f"cpu-{name}"), "el2": name == "a"}
        return Outcome({f"boot.{name}": fmean(samples)}, board, samples={f"boot.{name}": samples})

    def quick(_progress) -> Outcome:
        return Outcome({"hypercall.a": 10.0}, {"cpu": "cpu-a", "el2": True})

    def bad(_progress) -> Outcome:
        if raises := does.get("raises"):
            raise raises
        raise LabError("the board hung", "look at the log")

    does = {}
    found = [Measurement((f"boot.{n}",), n, partial(good, n)) for n in SAMPLES]
    found += [Measurement(("hypercall.a",), "quick", quick)]
    found += [Measurement(("hypercall.b",), "one that fails", bad)]
    monkeypatch.setattr(run, "registry", lambda: found)
    monkeypatch.setattr(paths, "checkout", lambda: tmp_path)
    return tmp_path / "build/compare.json", does


def test_columns_are_beside_each_other_with_their_ratios(three, capsys):
    file, _ = three
    assert cli.main(["compare", "boot", "--on", "a,b,c"]) == 0
    said = capsys.readouterr()
    head, row, *_, first, _, third = said.out.splitlines()
    assert head.split() == ["a", "b", "c"]
    # 100, 104, 97, … are the first's samples, and chance alone can part the second's so far.
    assert row.split() == ["boot", "instructions", "101", "102.2", "x", "1.01", "(by", "chance:",
                           "p", "=", "0.64)", "151", "x", "1.50*"]  # fmt: skip
    assert first.startswith("a: cpu-a with EL2") and third.startswith("c: cpu-c without EL2")
    assert "another core or kernel" in said.out
    assert str(file) in said.err
    assert list(records.read(file).values) == ["boot.a", "boot.b", "boot.c"]


def test_the_same_as_json(three, capsys):
    assert cli.main(["compare", "boot", "hypercall", "--on", "a,b", "--json"]) == 1
    content = json.loads(capsys.readouterr().out)["compare"]
    rows = {(each["row"], each["variant"]): each for each in content["rows"]}
    assert rows["boot", "b"]["times_first"] == pytest.approx(102.2 / 101)
    assert 0.5 < rows["boot", "b"]["p"] < 0.7 and rows["boot", "a"]["p"] is None
    assert rows["hypercall", "b"]["value"] is None
    assert content["variants"] == ["a", "b"] and "the board hung" in content["failures"][0]


def test_what_fails_is_marked_and_the_rest_kept(three, capsys):
    file, _ = three
    assert cli.main(["compare", "*", "--on", "b,c,a"]) == 1
    said = capsys.readouterr()
    lines = {line.split()[0]: line for line in said.out.splitlines() if line[:1].isalpha()}
    assert lines["hypercall"].split() == ["hypercall", "instructions", "not", "measured", "-", "10"]
    assert "not measured: hypercall.b: the board hung" in said.err
    assert "hypercall.a" in records.read(file).values
    assert records.read(file).failures


def test_an_interrupted_run_prints_what_it_has(three, capsys):
    file, does = three
    does["raises"] = KeyboardInterrupt()
    assert cli.main(["compare", "boot", "hypercall", "--on", "a,b"]) == 130
    said = capsys.readouterr()
    assert "not measured" in said.out and "interrupted before hypercall.b" in said.err
    assert list(records.read(file).values) == ["boot.a", "hypercall.a", "boot.b"]


def test_with_nothing_measured_nothing_is_written(three, capsys):
    file, _ = three
    assert cli.main(["compare", "hypercall", "--on", "b"]) == 1
    assert "nothing was measured" in capsys.readouterr().err
    assert not file.exists()


# ---- other boards ----------------------------------------------------------------------------


def test_a_variant_on_another_board():
    host = hosts.find("armvisor@neoverse-n1+kpti=1+nokaslr")
    assert (host.name, host.cpu, host.append) == (
        "armvisor@neoverse-n1+kpti=1+nokaslr", "neoverse-n1", "kpti=1 nokaslr")  # fmt: skip
    assert hosts.find("armvisor:no-rows@cortex-a76").parameters == "cheap_traps=1022"
    assert hosts.find("kvm-protected@neoverse-n1+quiet").append == "kvm-arm.mode=protected quiet"
    assert hosts.find("qemu-tcg@neoverse-n1") is None
    vm = vms.find("armvisor@neoverse-n1+kpti=1")
    assert (vm.cpu, vm.host_append, vm.regime) == ("neoverse-n1", "kpti=1", "armvisor")


def test_the_boards_of_a_variant_s_figures(monkeypatch):
    boards = []

    def start(board, command, progress):
        boards.append(board)
        raise LabError("that is all")

    monkeypatch.setattr(artefacts, "tool", lambda name: Path("tool"))
    for name in ("native@neoverse-n1", "native@neoverse-n1+kpti=1"):
        [measurement] = lat.PROGRAM.on_board_of(name)
        assert f"lat.null.{name}" in measurement.figures
        with pytest.raises(LabError, match="that is all"):
            measurement.marked.measure(start, lambda _: None)
    assert [(each.cpu, each.append) for each in boards] == [
        ("neoverse-n1", ""), ("neoverse-n1", "kpti=1")]  # fmt: skip
    assert boards[1].command_line().endswith("nokaslr randomize_kstack_offset=off kpti=1")
    assert lat.PROGRAM.on_board_of("armvisor@neoverse-n1") == []


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("native@z80", "no CPU 'z80'"),
        ("armvisor@", "no CPU ''"),
        ("armvisor@neoverse-n1+", "'' is no word of a command line"),
        ("armvisor@neoverse-n1+kvm-arm.mode=none", "is no word of a command line that a figure"),
        ("armvisor@neoverse-n1+a@b", "is no word of a command line"),
    ],
)
def test_boards_that_there_are_not(name, says, capsys):
    assert cli.main(["figures", "--list", "--on", name]) != 0
    assert says in capsys.readouterr().err


def test_figures_are_measured_on_variants_that_are_named(capsys):
    words = ["--on", "native@neoverse-n1,armvisor@neoverse-n1+kpti=1", "--only", "lat.null"]
    assert cli.main(["figures", "--list", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [
        "lat.null.native@neoverse-n1", "lat.null.armvisor@neoverse-n1+kpti=1"]  # fmt: skip
    assert "neoverse-n1, kpti=1" in lines[1]
    assert cli.main(["figures", "--list", "--on", "native@neoverse-n1", "--only", "hypercall"]) != 0
    assert "no row 'hypercall'" in capsys.readouterr().err
