# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The cost model: cycles, rows from unit costs, published values, and invalid records."""

import json
import re
from dataclasses import replace

import pytest

from armvisor_lab import cli, paths
from armvisor_lab.boards import machine
from armvisor_lab.cli import model as cli_model
from armvisor_lab.errors import LabError
from armvisor_lab.figures import run, units
from armvisor_lab.figures.classes import Classes
from armvisor_lab.model import cycles, published, rows
from armvisor_lab.model.cycles import Range
from armvisor_lab.model.record import Figure, Record
from armvisor_lab.reach import cores

A72, N1 = cores.choose(["cortex-a72", "neoverse-n1"])
WALKS = {core.name: {"lookups": 9.0, "l1_misses": 2.0, "walks": 1.0, "refs": 3.0,
                     "refs_missed": 0.5} for core in (A72, N1)}  # fmt: skip


@pytest.fixture(autouse=True)
def no_qemu(monkeypatch):
    monkeypatch.setattr(machine.Machine, "_start", lambda *_args: pytest.fail("QEMU was started"))


def classes(ordinary: float, erets: float = 0, walks=WALKS) -> Classes:
    insns = {"guest-kernel": {"ordinary": ordinary}}
    if erets:
        insns["hypervisor"] = {"eret": erets, "sysreg-read": 10.0 * erets}
    levels = {"guest-kernel": 1, "hypervisor": 2}
    return Classes(levels, insns, accesses={"guest-kernel": {"device": 1.0}}, walks=walks)


def figure(name: str, value: float, **more) -> Figure:
    return Figure(name, value, "0" * 40, **more)


# ---- cycles ----------------------------------------------------------------------------------


def test_cycles_are_counts_times_what_the_core_says():
    of = cycles.amounts("x", classes(100, 2), A72)
    assert of["ordinary"] == 100 and of["exception"] == 2 and of["sysreg_read"] == 20
    assert of["device"] == 1 and of["l2_hit"] == 2
    assert of["walk_hit"] == 2.5 and of["walk_miss"] == 0.5
    cost = cycles.cost(of, A72)
    for at, got in enumerate((cost.low, cost.high)):
        want = sum(n * A72.cycles(key)[at] for key, n in of.items())
        assert got == pytest.approx(want)
    assert cost.low < cost.middle < cost.high


def test_a_ratio_has_the_same_costs_above_and_below():
    few, many = (cycles.amounts("x", classes(n, walks={}), A72) for n in (100, 300))
    device = A72.cycles("device")
    ordinary = A72.cycles("ordinary")
    found = cycles.ratio(many, few, A72)
    every = [(300 * o + d) / (100 * o + d) for o in ordinary for d in device]
    assert (found.low, found.high) == (pytest.approx(min(every)), pytest.approx(max(every)))
    # Of itself it is one, whatever the costs are.
    assert cycles.ratio(few, few, A72) == Range(1.0, 1.0)
    with pytest.raises(LabError, match="takes no cycles"):
        cycles.ratio(few, dict.fromkeys(few, 0.0), A72)


def test_walks_are_of_a_core_that_has_the_same_tlbs():
    altra, x_gene = cores.choose(["ampere-altra", "x-gene"])
    assert cycles.amounts("x", classes(1), altra)["walk_hit"] == 2.5
    with pytest.raises(LabError, match=r"no page walks of x on x-gene(?s:.*)--core x-gene"):
        cycles.amounts("x", classes(1), x_gene)
    assert cycles.amounts("x", classes(1, walks={}), x_gene)["walk_hit"] == 0


def test_walks_depend_on_the_share_of_the_l2_cache_too():
    text = edited("tables = { ways = 4,", "tables = { ways = 2,")
    other = cores.read(text)["neoverse-n1"]
    with pytest.raises(LabError, match="no page walks of x on neoverse-n1"):
        cycles.amounts("x", classes(1), other)


def test_more_loads_cannot_miss_than_there_are():
    """A difference of two rounds may be slightly off."""
    for missed, want in ((3.5, (0, 3)), (-0.5, (3, 0))):
        walks = {A72.name: WALKS[A72.name] | {"refs_missed": missed}}
        of = cycles.amounts("x", classes(1, walks=walks), A72)
        assert (of["walk_hit"], of["walk_miss"]) == want


def test_a_record_that_does_not_know_where_loads_were_found():
    old = {A72.name: {"lookups": 9.0, "l1_misses": 2.0, "walks": 1.0, "refs": 3.0}}
    with pytest.raises(LabError, match=r"left the L2 cache(?s:.*)measure again"):
        cycles.amounts("x", classes(1, walks=old), A72)


# ---- likely ranges ---------------------------------------------------------------------------


def test_independent_errors_are_added_as_squares():
    of = dict.fromkeys(cores.CYCLES, 0.0) | {"ordinary": 1000.0, "isb": 20.0}
    bounds, likely = cycles.cost(of, A72), cycles.likely(of, A72)
    off = [n * (A72.cycles(key)[1] - A72.cycles(key)[0]) / 2
           for key, n in (("ordinary", 1000), ("isb", 20))]  # fmt: skip
    assert likely.middle == pytest.approx(bounds.middle)
    assert likely.high - likely.middle == pytest.approx((off[0] ** 2 + off[1] ** 2) ** 0.5)
    assert bounds.high - bounds.middle == pytest.approx(sum(off))


def test_errors_of_one_class_add_up_as_they_are():
    """A hundred times the instructions are no more certain than one: they have one cost."""
    one = dict.fromkeys(cores.CYCLES, 0.0) | {"isb": 1.0}
    many = one | {"isb": 100.0}
    assert cycles.likely(one, A72).percent == pytest.approx(cycles.likely(many, A72).percent)
    assert cycles.likely(many, A72) == cycles.cost(many, A72)


def test_a_likely_ratio_has_the_same_costs_above_and_below():
    few = dict.fromkeys(cores.CYCLES, 0.0) | {"ordinary": 1000.0, "isb": 1.0}
    many = few | {"isb": 50.0, "exception": 3.0}
    likely, bounds = cycles.likely_ratio(many, few, A72), cycles.ratio(many, few, A72)
    assert bounds.low < likely.low < likely.high < bounds.high
    middle = cycles.cost(many, A72).middle / cycles.cost(few, A72).middle
    assert middle in likely
    assert cycles.likely_ratio(few, few, A72) == Range(1.0, 1.0)
    twice = {key: 2 * n for key, n in few.items()}
    assert cycles.likely_ratio(twice, few, A72).percent == pytest.approx(0)
    with pytest.raises(LabError, match="takes no cycles"):
        cycles.likely_ratio(few, dict.fromkeys(few, 0.0), A72)


@pytest.mark.parametrize(
    ("name", "native"),
    [
        ("lat.a.armvisor", "lat.a.native"),
        ("lat.a.armvisor-n1", "lat.a.native-n1"),
        ("lat.a.armvisor@neoverse-n1", "lat.a.native@neoverse-n1"),
        ("lat.a.armvisor@neoverse-n1+kpti=1", "lat.a.native@neoverse-n1+kpti=1"),
        ("lat.a.native@neoverse-n1+kpti=1", "lat.a.native@neoverse-n1"),
        ("lat.a.native@neoverse-n1", "lat.a.native@neoverse-n1"),
    ],
)
def test_the_figure_that_a_ratio_is_of(name, native):
    assert cli_model._native(name) == native


def test_a_class_that_the_plugin_does_not_have():
    strange = Classes({"guest-kernel": 1}, {"guest-kernel": {"vector": 1.0}})
    with pytest.raises(LabError, match="no class of instructions is called vector"):
        cycles.amounts("x", strange, A72)


# ---- profiles --------------------------------------------------------------------------------


def edited(old: str, new: str) -> str:
    text = cores.FILE.read_text()
    assert old in text
    return text.replace(old, new, 1)


def test_profiles_that_the_issue_names_are_there_whole():
    every = cores.known()
    wanted = {"cortex-a72", "neoverse-n1", "neoverse-n2", "neoverse-v1", "firestorm", "x-gene",
              "pixel-6", "pixel-7", "ampere-altra", "seattle"}  # fmt: skip
    assert wanted <= set(every)
    for core in every.values():
        for key in cores.COSTS:
            low, high = core.cycles(key)
            assert 0 < low <= high
            value = core.values[key]
            guess = any(
                word in value["source"] for word in ("assumed", "inferred", "not published")
            )
            assert not guess or value.get("estimated")


@pytest.mark.parametrize("core", cores.known().values(), ids=lambda core: core.name)
def test_no_class_is_more_than_40_percent_off_its_middle(core):
    """And each says where it is from."""
    for key in cores.CYCLES:
        low, high = core.cycles(key)
        assert (high - low) / (high + low) <= 0.4 + 1e-9, key
        assert len(core.values[key]["source"]) > 10, key


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("exception = {", "# exception = {", "core cortex-a72, exception is missing"),
        ('like = "neoverse-n1"', 'like = "cortex-a1"', "is like 'cortex-a1', which does not exist"),
        ('like = "neoverse-n1"', 'like = "neoverse-v1"', "core neoverse-v1 is like itself"),
        ('like = "cortex-x1"', 'like = "pixel-6"', "core pixel-6 is like itself"),
        ("cycles = [3.0, 3.0]", "cycles = [3.0]", "ghz: cycles are two numbers"),
        ("cycles = [133, 141]", "cycles = [141, 133]", "the least, 141, is more than the most"),
    ],
)
def test_a_profile_that_is_wrong(old, new, says):
    with pytest.raises(LabError, match=re.escape(says)):
        cores.read(edited(old, new))


# ---- published -------------------------------------------------------------------------------

GROUP = """
[a]
title = "a paper"
because = "it is old"
rows = [
    { core = "cortex-a72", figure = "hypercall.x", cycles = 1000 },
    { core = "cortex-a72", figure = "mmio_user.x", cycles = 3000 },
]
"""


def test_published_rows_are_of_figures_and_cores_that_there_are():
    names = {name for each in run.registry() if each.marked for name in each.figures}
    found = published.rows()
    assert {row.figure for row in found} <= names
    machines = {"x-gene", "seattle", "ampere-altra", "pixel-6", "pixel-7"}
    assert {row.core for row in found} == machines
    altra = next(row for row in found if row.core == "ampere-altra")
    assert altra.cycles == 306 * 3.0


def test_a_row_s_own_value_is_in_neither_prediction():
    counts = Record([figure("hypercall.x", 300, classes=classes(300)),
                     figure("mmio_user.x", 900, classes=classes(900))])  # fmt: skip
    first, second = published.predict(published.read(GROUP), counts)
    assert first.scaled == pytest.approx(3000 / second.counted.middle * first.counted.middle)
    assert first.error == pytest.approx((first.counted.middle / 1000 - 1) * 100)
    other = GROUP.replace("cycles = 1000", "cycles = 9000")
    again, _ = published.predict(published.read(other), counts)
    assert (again.counted, again.scaled) == (first.counted, first.scaled)
    assert again.error != first.error


def test_a_published_value_may_be_between_the_bounds_and_not_likely():
    counts = Record([figure("hypercall.x", 300, classes=classes(300))])
    [row] = published.read(GROUP)[:1]
    [found] = published.predict([row], counts)
    bounds, likely = found.counted, found.likely
    assert bounds.low < likely.low < likely.high < bounds.high
    for cycles_, within, probable in (
        (likely.middle, True, True),
        ((bounds.low + likely.low) / 2, True, False),
        (bounds.low - 1, False, False),
    ):
        [again] = published.predict([replace(row, cycles=cycles_)], counts)
        assert (again.within, again.probable) == (within, probable)
    assert found.as_json()["likely_cycles"] == [likely.low, likely.high]
    assert published.Prediction(row, bounds, None).probable is None


def test_a_machine_of_one_row_has_one_prediction():
    counts = Record([figure("hypercall.x", 300, classes=classes(300))])
    [alone] = published.predict(published.read(GROUP)[:1], counts)
    assert alone.scaled is None and alone.scaled_error is None


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("cycles = 1000", "cycles = -1", "-1 is not a published value"),
        ("cycles = 1000", "cycles = 'x'", "'x' is not a published value"),
        ("cycles = 1000", "cycles = 1, ns = 1", "cycles or ns, one of them"),
        (", cycles = 1000", "", "cycles or ns, one of them"),
        ("cycles = 1000", "ns = 1", "ns, and core cortex-a72 has no ghz"),
        ('core = "cortex-a72"', 'core = "z80"', "no profile of a core 'z80'"),
        ('title = "a paper"', "", "a: 'title' is missing"),
        ("[a]", "[a", "published.toml: "),
    ],
)
def test_published_values_that_are_none(old, new, says):
    with pytest.raises(LabError, match=re.escape(says)):
        published.read(GROUP.replace(old, new, 1))


# ---- rows ------------------------------------------------------------------------------------

UNITS = {"svc": 100, "user-abort": 150, "kernel-abort": 550, "tlbi-va": 500, "refill": 1500,
         "refill-code": 4600, "tlbi-asid": 1000, "refill-many": 7000, "ttbr0": 200,
         "refill-places": 13000, "other-space": 6200, "other-pair": 2000,
         "timer": 150, "id-register": 9}  # fmt: skip


def counts_of(traps: dict[str, float], tlbi=None, native: float = 1000, counted: float = 2000):
    own = classes(native)
    own.tlbi = {"guest-kernel": tlbi or {}}
    return Record([
        *(figure(f"units.{name}.armvisor", value + 10) for name, value in UNITS.items()),
        *(figure(f"units.{name}.kvm-nvhe", 10) for name in UNITS),
        *(figure(f"{name}.{who}", value) for who in ("armvisor", "kvm-nvhe")
          for name, value in (("hypercall", 300), ("mmio_user", 3000), ("mmio_kernel", 1500))),
        figure("lat.null.native", native),
        figure("lat.null.armvisor", counted, classes=own),
        figure("lat.null.kvm", counted),
        figure("traps.null.armvisor", 1, traps=traps),
        figure("traps.null.kvm", 1, traps=traps),
    ])  # fmt: skip


def on(where: str, *args, **more) -> rows.Row:
    return rows.predict(rows.CONFIGURATIONS[where], counts_of(*args, **more), "null")


def test_units_are_those_that_are_measured():
    assert set(UNITS) == set(units.OPERATIONS)


def test_a_row_is_native_and_its_traps():
    row = on("armvisor", {"fast_svc": 1.0, "fast_eret_el0": 1.0, "dabt_guest": 3.0, "fast": 2.0,
                          "fast_dabt": 1.0, "total": 2.0, "entry_flush": 2.0})  # fmt: skip
    # A system call there and back; three faults, one of them answered in the window, each less the
    # way back that is counted by itself.
    assert row.added == 100 + 2 * (550 - 50) + (150 - 50)
    assert row.predicted == 2200 and row.error == pytest.approx(10)
    assert row.own == 1000 and not row.unknown


def test_tlbis_are_by_what_the_guest_executed_and_fills_beside_faults():
    hidden = {"dabt_hidden_translation": 1.0, "tlbi": 3.0, "shadow_fill": 16.0}
    row = on("armvisor", hidden, {"asid": 1.0, "va": 2.0})
    assert row.traps["tlbi_asid"] == (1, 1000) and row.traps["tlbi_va"] == (2, 1000)
    assert row.traps["dabt_hidden_translation"] == (1, 1000)
    # Of three places two more take 6000: a fault and the tables each.
    assert row.traps["place"] == (1, 2000)
    times, cost = row.traps["fill"]
    # 7000 for the TLBI, the fault, a place's tables, and what fifteen neighbours take.
    assert times == 15 and cost == pytest.approx(7000 - 1000 - 1000 - 2000)


@pytest.mark.parametrize(
    ("asids", "faults", "places"), [(1, 9, 3), (2, 9, 6), (2, 4, 4), (0, 9, 0)]
)
def test_tables_come_back_where_faults_are_and_an_asid_was_invalidated(asids, faults, places):
    """Of as many places as a process has, but of no more than it faults at."""
    row = on("armvisor", {"dabt_hidden_translation": faults - 1, "pabt_hidden": 1.0},
             {"asid": asids} if asids else {})  # fmt: skip
    assert row.traps.get("place", (0, 0)) == (places, places * 2000)
    # A fetch's own place is no part of what a fetch takes.
    assert row.traps["pabt_hidden"] == (1, 4600 - 1000 - 100 - 2000)


def test_a_trap_without_a_cost_is_named_and_one_less_than_nothing_is_none():
    row = on("armvisor", {"debug": 2.0, "fast_daif": -0.1})
    assert row.unknown == {"debug": 2.0} and row.added == 0


def macro(text: str, name: str) -> list[str]:
    """The names of a macro's rows."""
    body = re.search(rf"#define {name}\(X\)(?:.*\\\n)*.*\n", text)
    assert body
    return re.findall(r'X\(\w+,\s*"(\w+)"', body[0])


def test_every_way_to_leave_the_guest_is_of_some_kind():
    """What the module counts and the model does not know would cost nothing, and nobody be told."""
    text = (paths.checkout() / "module/stats/classes.h").read_text()
    names = macro(text, "AV_EXIT_CLASSES") + macro(text, "AV_FAST_TRAPS")
    assert len(names) > 50 and {"translation_reg", "fast_hvc", "other"} <= set(names)
    exits = (paths.checkout() / "vmm/armvisor/src/exits.rs").read_text()
    shown = dict(re.findall(r'^    \("(\w+)", "(\w+)"\),$', exits, re.M))
    assert shown["hvc_exit_stat"] == "hvc"
    names = {shown.get(name, name) for name in names}
    # One kind is an event and no class.
    assert names == ({*rows.ARMVISOR_KINDS, *rows.ELSEWHERE} - {"tree_miss"})


def test_a_new_root_s_cost_has_its_exit_in_it():
    row = on("armvisor", {"translation_reg": 3.0, "tree_miss": 1.0})
    assert row.traps["translation_reg"] == (2, 4000)
    # A process that runs until a call and goes again, but for the call and the way back.
    assert row.traps["tree_miss"] == (1, 6200 - 100 - 100)
    assert "translation_reg" not in on("armvisor", {"translation_reg": 1, "tree_miss": 1}).traps


def test_kvm_s_exits_are_calls_but_for_devices():
    row = on("kvm", {"total": 3.0, "mmio_user": 1.0})
    assert row.added == 2 * 300 + 3000


def test_rows_that_there_are_not():
    with pytest.raises(LabError, match=r"no row is called 'nul'(?s:.*)null"):
        rows.choose(["nul"])
    counts = counts_of({})
    with pytest.raises(LabError, match=r"no figure lat\.pipe\.armvisor|no figure traps\.pipe"):
        rows.predict(rows.CONFIGURATIONS["armvisor"], counts, "pipe")


# ---- records and the command -----------------------------------------------------------------


ENDLESS = classes(1).as_json() | {"tlbi": {"guest-kernel": {"va": float("inf")}}}


def written(path, **changed) -> str:
    figures = [
        {"name": f"lat.null.{who}", "value": value, "traps": None,
         "classes": classes(value, erets).as_json()}
        for who, value, erets in (("native", 326.0, 1), ("armvisor", 414.0, 2))
    ]  # fmt: skip
    content = {"schema": run.SCHEMA, "revision": "0" * 40, "figures": figures} | changed
    path.write_text(json.dumps(content))
    return str(path)


def test_cycles_and_ratios_are_printed_and_recorded(tmp_path, capsys):
    out = tmp_path / "out.json"
    command = ["model", "cycles", "--record", written(tmp_path / "a"), "--json", str(out)]
    assert cli.main([*command, "--core", "cortex-a72"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("on cortex-a72 (modelled)\n")
    two, ratio = r"[\d.]+ - [\d.]+", r"1\.\d\d - 1\.\d\d"
    assert re.search(
        rf"^lat\.null\.armvisor +414 +{two} +{two} +\d+ +{ratio} +{ratio} +\d+$", said, re.M
    )
    assert re.search(rf"^lat\.null\.native +326 +{two} +{two} +\d+ +- +- +-$", said, re.M)
    assert re.search(
        r"^cycles: [012] of 2 likely ranges within 25 % up and down; most: lat\.null\.", said, re.M
    )
    assert re.search(r"^times native: 1 of 1 .*lat\.null\.armvisor on cortex-a72, ", said, re.M)
    found = json.loads(out.read_text())
    low, high = found["predictions"][1]["likely"]
    least, most = found["predictions"][1]["cycles"]
    assert least < low < high < most
    assert [each["figure"] for each in found["predictions"]] == [
        "lat.null.native", "lat.null.armvisor"]  # fmt: skip
    assert cli.main([*command, "--figure", "lat.null.native"]) == 0
    assert "neoverse-n1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["cycles", "--core", "z80"], "no profile of a core 'z80'"),
        (["cycles", "--figure", "boot.*"], "no figure with classes matches boot.*"),
        (["cycles", "--core", "x-gene"], "no page walks of lat.null.native on x-gene"),
        (["rows", "--row", "nul"], "no row is called 'nul'"),
        (["rows", "--row", "null"], "null: the record has no figure units.svc.armvisor"),
        (["rows", "--row", "null", "--on", "kvm"], "the record has no figure hypercall.kvm-nvhe"),
        (["published"], "x-gene: the record has no figure hypercall.kvm-nvhe"),
    ],
)
def test_what_a_record_does_not_have(tmp_path, capsys, arguments, says):
    assert cli.main(["model", *arguments, "--record", written(tmp_path / "a")]) != 0
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"schema": 1}, "has the schema 1, which has no classes"),
        ({"schema": 99}, "of schema 99, which this lab does not know"),
        ({"schema": None}, "of schema None, which this lab does not know"),
        ({"revision": 3}, "revision is no text: 3"),
        ({"revision": ""}, "names no revision"),
        ({"figures": {}}, "is not a record of figures"),
        ({"figures": [{"value": 1}]}, "a figure's name is no text: None"),
        ({"figures": [{"name": "a.x", "value": 1}]}, "a.x is not whole: it lacks classes or traps"),
        (
            {"figures": [{"name": "a.x", "value": None, "classes": None, "traps": None}]},
            "a.x is not a number: 'None'",
        ),
        (
            {"figures": [{"name": "a.x", "value": 10**400, "classes": None, "traps": None}]},
            "a.x is not a measurable number",
        ),
        (
            {"figures": [{"name": "a.x", "value": 1, "traps": None, "classes": ENDLESS}]},
            "a.x: a class is not a number",
        ),
        (
            {"figures": [{"name": "a.x", "value": 1, "classes": {"insns": {}}, "traps": None}]},
            "a.x: half of the classes",
        ),
        (
            {"figures": [{"name": "a.x", "value": 1, "classes": None, "traps": {"a": "b"}}]},
            "a.x: traps: a is not a number: 'b'",
        ),
    ],
)
def test_a_record_that_is_none(tmp_path, capsys, changed, says):
    file = written(tmp_path / "a", **changed)
    assert cli.main(["model", "cycles", "--record", file]) != 0
    assert says in capsys.readouterr().err


def test_predictions_say_of_which_counts_they_are(tmp_path):
    out = tmp_path / "out.json"
    command = ["model", "cycles", "--record", written(tmp_path / "a"), "--json", str(out)]
    assert cli.main(command) == 0
    assert json.loads(out.read_text())["counts_of"] == ["0" * 40]


def test_with_nothing_predicted_nothing_is_written(tmp_path, capsys):
    out = tmp_path / "out.json"
    command = ["model", "published", "--record", written(tmp_path / "a"), "--json"]
    assert cli.main([*command, str(out)]) == 1
    assert not out.exists()
    assert cli.main([*command, str(tmp_path / "no/out.json")]) == 125
    assert "there is no folder" in capsys.readouterr().err


@pytest.mark.parametrize("measured", [[], ["hypercall.kvm-nvhe"]])
def test_an_interrupted_model_keeps_what_was_counted(tmp_path, monkeypatch, capsys, measured):
    some = [run.Figure(name, 1.0, "instructions", "w", {}, (), ()) for name in measured]
    calls = []

    def interrupted(patterns, *_):
        calls.append(patterns)
        return some, ["interrupted before x"], KeyboardInterrupt()

    monkeypatch.setattr(cli_model.run, "measure", interrupted)
    monkeypatch.setattr(cli_model.paths, "checkout", lambda: tmp_path)
    monkeypatch.setattr(run, "provenance", lambda: {"schema": run.SCHEMA, "revision": ""})
    assert cli.main(["model", "rows", "--row", "null"]) == 130
    assert len(calls) == 1
    counts = tmp_path / "build/model-counts.json"
    assert counts.exists() == bool(measured)
    assert "interrupted before x" in capsys.readouterr().err
    if measured:
        assert json.loads(counts.read_text())["failures"] == ["interrupted before x"]


def test_a_row_of_nothing_is_not_divided_by(tmp_path):
    with pytest.raises(LabError, match=r"nothing counted of lat\.null\.armvisor"):
        on("armvisor", {}, counted=0)


def test_half_a_file_and_none(tmp_path, capsys):
    deep = tmp_path / "deep"
    deep.write_text("[" * 100_000)
    assert cli.main(["model", "published", "--record", str(deep)]) == 125
    half = tmp_path / "half"
    half.write_text(json.dumps({"schema": run.SCHEMA, "figures": []})[:-3])
    assert cli.main(["model", "published", "--record", str(half)]) != 0
    assert "it is not JSON, or cut short" in capsys.readouterr().err
    assert cli.main(["model", "published", "--record", str(tmp_path / "nosuch")]) != 0
    assert "No such file" in capsys.readouterr().err


def test_of_two_records_the_later_one_counts(tmp_path, capsys):
    old = written(tmp_path / "old", revision="1" * 40)
    command = ["model", "cycles", "--core", "cortex-a72"]
    assert cli.main([*command, "--record", old, "--record", written(tmp_path / "new")]) == 0
    assert "of 2 revisions" not in capsys.readouterr().err
    one = [{"name": "a.x", "value": 1, "classes": None, "traps": None}]
    other = written(tmp_path / "other", figures=one)
    assert cli.main([*command, "--record", old, "--record", other]) == 0
    assert "the records are of 2 revisions" in capsys.readouterr().err
