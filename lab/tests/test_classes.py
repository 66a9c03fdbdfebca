# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Classes of figures: from the plugin's sections to one operation, and disagreements."""

import json
import re

import pytest

from armvisor_lab import cli, paths
from armvisor_lab.boards import machine, results
from armvisor_lab.errors import LabError
from armvisor_lab.figures import (
    Marked,
    Measurement,
    Outcome,
    Spot,
    boot,
    classes,
    io,
    lat,
    pairs,
    run,
    smp,
)
from armvisor_lab.reach import cores, plugin
from armvisor_lab.reach.plugin import Caches, Counts, Model, Section


@pytest.fixture(autouse=True)
def no_qemu(monkeypatch):
    monkeypatch.setattr(machine.Machine, "_start", lambda *_args: pytest.fail("QEMU was started"))


def section(ordinary: int, erets: int = 0, walks: int = 0) -> Section:
    insns = {"guest-user": {"ordinary": ordinary}, "hypervisor": {"eret": erets, "dsb": 20}}
    counts = Counts(
        (9, 9), (8, 8), (walks, 0), (walks, 8 * (walks > 0)), (walks // 4, walks // 8 + 1)
    )
    models = {Model("cortex-a72", 12, 21): {"hypervisor": counts}}
    caches = {"cortex-a72": {"guest-user": Caches((5000, 900), (walks * 2, 0), (walks, 0))}}
    return Section((1, 0), insns, models=models, caches=caches)


WITH = [section(5000 + n, 10, 40) for n in (300, 0, 100, 200, 400, 500, 600)]
LESS = [section(1000 + n) for n in (7, 6, 5, 4, 3, 2, 0)]


def marked(*spots: Spot, bare: bool = True, value: float = 401.0) -> tuple[Marked, Outcome]:
    outcome = Outcome({"a.x": value}, {}, text="")
    return Marked("kvm", lambda _: list(spots), lambda *_: outcome, bare), outcome


def test_an_operation_is_the_best_round_less_the_best_empty_one():
    told, outcome = marked(Spot("a.x", 10, less=True))
    found = classes.split(outcome, told, WITH + LESS)["a.x"]
    assert found.insns == {"guest-kernel": {"ordinary": 400.0}, "hypervisor": {"eret": 1.0}}
    assert found.levels == {"guest-kernel": 1, "hypervisor": 2}
    assert found.walks["cortex-a72"]["walks"] == 4
    assert found.walks["cortex-a72"]["l1d_cache_misses"] == 8
    assert found.walks["cortex-a72"]["l2_cache_misses"] == 4
    assert found.instructions() == 401 and found.total("eret") == 1
    again = classes.from_json(json.loads(json.dumps(found.as_json())))
    assert again.insns == found.insns and again.levels == found.levels


def test_a_guest_s_programs_and_what_is_no_figure():
    told, outcome = marked(Spot("", 10), Spot("a.x", 1, less=True), bare=False, value=4010)
    found = classes.split(outcome, told, LESS + WITH + LESS)
    assert list(found) == ["a.x"]
    assert found["a.x"].levels == {"guest-user": 0, "hypervisor": 2}


def test_what_the_clock_says_otherwise_is_refused():
    told, outcome = marked(Spot("a.x", 10, less=True), value=450.0)
    with pytest.raises(LabError, match=r"a\.x: 401\.0 instructions .* by class, and 450\.0"):
        classes.split(outcome, told, WITH + LESS)


def test_sections_that_no_program_marked():
    told, outcome = marked(Spot("a.x", 10, less=True))
    with pytest.raises(LabError, match=r"saw 7 sections where 14 were marked(?s:.*)make guests"):
        classes.split(outcome, told, WITH)


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        {},
        {"levels": {}, "insns": {"a": {"b": "many"}}, "tlbi": {}, "accesses": {}, "entries": {}},
        {"levels": {}, "insns": {"a": 3}, "tlbi": {}, "accesses": {}, "entries": {}, "walks": {}},
    ],
)
def test_half_of_the_classes_is_none(content):
    with pytest.raises(ValueError):
        classes.from_json(content)


def test_rounds_are_as_many_as_programs_make():
    guests = paths.checkout() / "guests"
    for file in ("tools/lat/measure.c", "bare/cost.c"):
        rounds = re.search(r"^#define ROUNDS (\d+)$", (guests / file).read_text(), re.MULTILINE)
        assert rounds and int(rounds[1]) == classes.ROUNDS


def test_other_rounds_are_those_of_their_programs():
    tools = paths.checkout() / "guests/tools"

    def defined(file: str, name: str) -> int:
        found = re.search(rf"^#define {name}\s+(\d+)$", (tools / file).read_text(), re.MULTILINE)
        assert found, f"{file} has no {name}"
        return int(found[1])

    assert defined("turns.c", "ROUNDS") == classes.ROUNDS
    assert defined("forks.c", "ROUNDS") == smp._FORK_ROUNDS
    assert defined("doorbell.c", "WARM") == pairs.WARM
    assert defined("io.c", "ROUNDS") == io._ROUNDS


@pytest.mark.parametrize("of", ["best", "median", "mean"])
def test_a_figure_may_be_of_other_rounds_than_the_best(of):
    """Of four, the median is that of the two in the middle."""
    rounds = [section(n, 1, n) for n in (800, 0, 160, 240)]
    told, _ = marked(Spot("a.x", 1, rounds=4, of=of), bare=False)
    outcome = Outcome({"a.x": {"best": 21, "median": 221, "mean": 321}[of]}, {}, text="")
    found = classes.split(outcome, told, rounds)["a.x"]
    walks = {"best": 0, "median": 200, "mean": 300}[of]
    assert found.instructions() == walks + 21
    assert found.walks["cortex-a72"].get("walks", 0) == walks


def test_rounds_that_no_figure_is_of():
    told, outcome = marked(Spot("a.x", 10, less=True, of="worst"))
    with pytest.raises(LabError, match="'worst' of rounds"):
        classes.split(outcome, told, WITH + LESS)


def test_what_a_disk_and_a_network_are_by_class():
    """In the order in which the guest's program measures; only over a network does one wait."""
    text = "".join(f"result io.{name}.loops 32 count\n" for name, _ in io._ROWS.values())
    [way] = [each for each in io.WAYS if each.name == "armvisor"]
    spots = io._spots(way, text)
    named = re.findall(
        r'io_rounds\("([\w-]+)"',
        "".join(
            (paths.checkout() / f"guests/tools/{file}.c").read_text() for file in ("io", "io_net")
        ),
    )
    assert [io._ROWS[each.figure.split(".")[1]][0] for each in spots] == named
    disk = {each.figure.split(".")[1]: each.of for each in spots if not each.waits}
    rows = ("read-request", "write-request", "write-byte", "read-byte")
    assert disk == dict.fromkeys(rows, "mean")
    assert spots[2].loops == 32 * (256 << 10)


def test_signals_that_go_out_and_in_by_turns():
    sections = [section(n) for n in range(2 * pairs.WARM + 4)]
    told = Marked("kvm", lambda _: [Spot("a.x", 1, rounds=2), Spot("b.x", 1, rounds=2)],
                  lambda *_: None, bare=True, order=pairs._by_turns)  # fmt: skip
    first = sections[2 * pairs.WARM].instructions()
    outcome = Outcome({"a.x": first, "b.x": first + 1}, {}, text="")
    found = classes.split(outcome, told, sections)
    assert [found[name].instructions() for name in ("a.x", "b.x")] == [first, first + 1]


def test_boots_are_one_section_and_may_wait():
    boots = [section(1000, 5), section(3000, 15)]
    told = Marked("kvm", lambda _: [Spot("a.x", 2, rounds=1, waits=True)], lambda *_: None,
                  order=boot._together)  # fmt: skip
    mean = sum(each.instructions() for each in boots) / 2
    for waited in (0, 10_000):
        found = classes.split(Outcome({"a.x": mean + waited}, {}, text=""), told, boots)["a.x"]
        assert found.instructions() == mean and found.insns["hypervisor"]["eret"] == 10
    with pytest.raises(LabError, match="by the clock"):
        classes.split(Outcome({"a.x": mean / 2}, {}, text=""), told, boots)


def test_every_figure_in_instructions_has_classes():
    """But those of programs in an emulator that translates their marks away, and `app.*`: what
    Debian's programs do is not marked.
    """
    without = {n for each in run.registry() if each.unit == "instructions" and not each.marked
               for n in each.figures}  # fmt: skip
    without = {n for n in without if not n.startswith("app.")}
    assert {n for n in without if n.startswith("lat.")} == {f"lat.{r}.qemu-tcg" for r in lat.ROWS}
    assert {n.rpartition(".")[2] for n in without} == {"qemu-tcg"}


def test_marks_are_those_that_the_plugin_knows():
    known = dict(re.findall(r"#define MARK_(\w+)\s+(0x\w+)",
                            (paths.checkout() / "lab/plugins/count.c").read_text()))  # fmt: skip
    made = dict(re.findall(r"#define MARK_(\w+)\s+mark\((0x\w+)\)",
                           (paths.checkout() / "guests/lib/mark.h").read_text()))  # fmt: skip
    assert made and made.items() <= known.items()


def test_counts_are_counts():
    assert results.count("result lat.null.loops 1000 count\n", "lat.null.loops") == 1000
    for text in ("", "result lat.null.loops 1000 ticks\n"):
        with pytest.raises(LabError, match="no count"):
            results.count(text, "lat.null.loops")


def test_every_regime_of_a_measurement_is_the_plugin_s():
    regimes = {each.marked.regime for each in run.registry() if each.marked}
    assert regimes == set(plugin.LEVELS)


@pytest.fixture
def family(monkeypatch, tmp_path):
    told, outcome = marked(Spot("a.x", 10, less=True))

    class Family:
        @staticmethod
        def measurements():
            return [
                Measurement(("a.x",), "one", lambda _: outcome, marked=told),
                Measurement(("b.x",), "another", lambda _: Outcome({"b.x": 1.0}, {})),
            ]

    monkeypatch.setattr(run, "FAMILIES", (Family,))
    found = classes.split(outcome, told, WITH + LESS)
    monkeypatch.setattr(classes, "measure", lambda *_: (outcome, found))
    return tmp_path / "figures.json"


def test_classes_are_printed_and_recorded(family, capsys):
    assert cli.main(["figures", "--classes", "--json", str(family)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("a.x 401 instructions\n")
    assert re.search(r"^hypervisor +EL2( +0){5} +1 ", said, re.M)
    assert (
        "page walks on cortex-a72 (modelled): 4.000, 4.800 loads, 1.500 of them not in L2" in said
    )
    record = json.loads(family.read_text())
    assert record["schema"] == run.SCHEMA
    assert record["figures"][0]["classes"]["instructions"] == 401
    assert [figure["name"] for figure in record["figures"]] == ["a.x"]


def test_figures_without_classes_say_which_have_some(family, capsys):
    assert cli.main(["figures", "--classes", "--only", "b.x", "--json", str(family)]) != 0
    said = capsys.readouterr().err
    assert "no classes can be counted of these figures" in said and "a.*.x" in said
    assert not family.exists()


def test_cores_are_for_classes(family, capsys):
    assert cli.main(["figures", "--core", cores.DEFAULT[0], "--json", str(family)]) != 0
    assert "--core is for --classes" in capsys.readouterr().err
    assert cli.main(["figures", "--classes", "--core", "cortex-a1", "--json", str(family)]) != 0
    assert "no profile of a core 'cortex-a1'" in capsys.readouterr().err
