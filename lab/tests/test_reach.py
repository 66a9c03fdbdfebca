# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""TLB reach: profiles of cores, the plugin's configuration and output, tables, and bad input."""

import json
import re
from pathlib import Path

import pytest

from armvisor_lab import cli, paths
from armvisor_lab.boards import machine
from armvisor_lab.boards.board import EXIT_USAGE, Board
from armvisor_lab.errors import LabError
from armvisor_lab.reach import cores, plugin, runs, table
from armvisor_lab.reach.plugin import Caches, Counts, Model, Section

A72 = cores.choose(["cortex-a72"])[0]

TOLD = """\
section 0 0xffff80600000 0xffff885fffff
insns guest-user ordinary 8000
insns guest-kernel ordinary 900
insns guest-kernel tlbi 2
tlbi guest-kernel va 2
accesses guest-user data 1000
entries hypervisor all 8
model cortex-a72 12 12 guest-user 1000 100 500 2 400 1 404 600 7 9
model cortex-a72 12 12 host-kernel 50 50 5 5 4 4 16 0 1 0
model cortex-a72 21 12 guest-user 1000 100 500 2 400 1 404 600 0 0
caches cortex-a72 guest-kernel 900 300 20 7 3 1
end
section 1 0x1 0
end
"""


@pytest.fixture(autouse=True)
def no_qemu(monkeypatch):
    monkeypatch.setattr(machine.Machine, "_start", lambda *_args: pytest.fail("QEMU was started"))


def test_every_profile_is_whole_and_names_its_sources():
    every = cores.known()
    assert {"cortex-a72", "neoverse-n1", "firestorm"} <= set(every)
    assert set(cores.DEFAULT) <= set(every)
    for core in every.values():
        assert re.fullmatch(r"core \S{1,31}( \d+){12}", core.line())
        assert re.fullmatch(r"caches \S{1,31}( \d+){8}", core.caches())
        assert all(value["source"] for value in core.values.values())
        # What a load of a walk takes is published for none.
        assert {"walk_hit", "walk_miss", "tables"} <= set(core.estimated)


def test_a_core_that_there_is_not():
    with pytest.raises(LabError, match=r"no profile of a core 'cortex-a1'(?s:.*)cortex-a72"):
        cores.choose(["cortex-a1"])


def edited(old: str, new: str) -> str:
    text = cores.FILE.read_text()
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("l1d = {", "l1x = {", "no value is called l1x"),
        ('what = "Arm Cortex-A72"\n', "", "core cortex-a72: `what` is missing"),
        ("entries = 48, ways", "ways", "cortex-a72, l1i: entries is missing"),
        ("entries = 48, ", "entries = -1, ", "l1i: entries and ways are whole numbers"),
        ("entries = 48, ", "entries = 4.5, ", "l1i: entries and ways are whole numbers"),
        (
            ', source = "Cortex-A72 TRM (Arm 100095) 5.2.1, as Wikipedia has it"',
            "",
            "l1i: source is missing",
        ),
        ("cycles = [5, 10]", "cycles = [5]", "l2_hit: cycles are two numbers"),
        ("cycles = [5, 10]", "cycles = [50, 10]", "the least, 50, is more than the most, 10"),
        ("l2_hit = {", "# l2_hit = {", "cortex-a72, l2_hit is missing"),
        ("tables = { ways = 8", "tables = { ways = 17", "tables: 1 to 16 ways of the L2 cache"),
        ("tables = { ways = 8", "tables = { ways = 0", "tables: 1 to 16 ways of the L2 cache"),
        ("l1i_cache = {", "# l1i_cache = {", "cortex-a72, l1i_cache is missing"),
        ("kib = 48, ", "", "cortex-a72, l1i_cache: kib is missing"),
        ("bytes = 64", "bytes = 6.4", "cortex-a72, line: bytes are whole numbers"),
        ("[cortex-a72]", "[cortex-a72", "cores.toml: "),
    ],
)
def test_a_profile_that_is_wrong(old, new, says):
    with pytest.raises(LabError, match=re.escape(says)):
        cores.read(edited(old, new))


def test_sections():
    first, second = plugin.parse(TOLD)
    assert first.range == (0xFFFF80600000, 0xFFFF885FFFFF)
    assert first.insns["guest-kernel"] == {"ordinary": 900, "tlbi": 2}
    assert first.instructions() == 8902
    assert first.tlbi == {"guest-kernel": {"va": 2}}
    assert first.total(Model("cortex-a72", 12, 12)) == Counts(
        (1050, 150), (505, 7), (404, 5), (420, 600), (8, 9)
    )
    assert first.caches == {"cortex-a72": {"guest-kernel": Caches((900, 300), (20, 7), (3, 1))}}
    assert not second.models and second.instructions() == 0
    assert json.loads(json.dumps(first.as_json()))["models"][1]["s1"] == 21


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("hello\n", "line 1 of the plugin's output"),
        (TOLD.replace("\nend\nsection 1", "\nsection 1"), "line 12 of"),
        (TOLD.replace("insns guest-user ordinary 8000", "insns guest-user ordinary"), "line 2 of"),
        (TOLD.replace("guest-user ordinary 8000", "guest-user ordinary many"), "line 2 of"),
        (TOLD.replace(" 7 9\nmodel cortex-a72 12 12 h", "\nmodel cortex-a72 12 12 h"), "line 8 of"),
        (TOLD.replace(" 20 7 3 1\n", " 20 7 3\n"), "line 11 of"),
        (TOLD.removesuffix("end\n"), "has no end"),
    ],
)
def test_what_the_plugin_never_writes(text, says):
    with pytest.raises(LabError, match=says):
        plugin.parse(text)


def test_what_the_plugin_is_told():
    text = plugin.configuration("kvm", Path("/x y"), [A72], runs.models("kvm", [A72]))
    assert text.splitlines()[:3] == ["regime kvm", "out /x y", "stage2 3"]
    pairs = re.findall(r"^model cortex-a72 (\d+) (\d+)$", text, re.M)
    assert pairs == [("12", "12"), ("12", "21"), ("21", "12"), ("21", "21")]
    assert {model.s2 for model in runs.models("armvisor", [A72])} == {0}
    assert "\ncaches cortex-a72 64 48 3 32 2 1024 16 8\n" in text


def a_run(setup: str, pages: str, host: str) -> runs.Run:
    section = Section((1, 0), insns={"host-user": {"ordinary": 9_000_000}})
    section.tlbi = {"guest-kernel": {"vmid": 2}, "hypervisor": {"vmid": 1}}
    run = runs.Run(runs.SETUPS[setup], runs.Row("random", 128, pages), host, section, {})
    section.models[run.model("cortex-a72")] = {
        "host-user": Counts(
            (1_000_000, 1_000_000), (500_000, 0), (10_000, 0), (20_000, 5_000), (5_000, 0)
        )
    }
    return run


@pytest.mark.parametrize(
    ("setup", "pages", "host", "shown", "model"),
    [
        ("native", "huge", "", "2M", (21, 0)),
        ("kvm", "huge", "off", "2M in 4K", (21, 12)),
        ("kvm", "small", "thp", "4K in 2M", (12, 21)),
        ("armvisor", "huge", "off", "2M in 4K", (12, 0)),
        ("armvisor", "huge", "thp", "2M in 2M", (21, 0)),
        ("armvisor-kpti", "small", "thp", "4K in 2M", (12, 0)),
    ],
)
def test_the_model_of_a_run(setup, pages, host, shown, model):
    run = a_run(setup, pages, host)
    assert run.pages == shown
    assert run.model("x") == Model("x", *model)


def test_cycles_are_a_range_that_unseen_invalidations_widen():
    counts = Counts(l1_misses=(100, 20), walks=(10, 0), refs=(15, 5), refs_missed=(3, 1))
    # Twenty loads, of which four are from beyond the L2 cache.
    least, most = 120 * 5 + 16 * 16 + 4 * 130, 120 * 10 + 16 * 30 + 4 * 290
    assert plugin.cycles(A72, counts) == (least, most)
    low, high = plugin.cycles(A72, counts, unseen=3)
    assert low == least
    assert high == most + 3 * (10 + (16 * 30 + 4 * 290) / 10)
    assert plugin.cycles(A72, Counts(), unseen=1) == (0, 10)


def test_a_table():
    text = table.walks([a_run("native", "small", ""), a_run("kvm", "huge", "thp")], [A72])
    assert text.splitlines() == [
        "random-128 MiB on cortex-a72 (modelled)",
        "        pages     insns  flushes  lookups  L1 misses  walks   loads           cycles",
        "                      M                 M      /1000  /1000  a walk  M, least - most",
        "native  4K          9.0        3     2.00        250    5.0    2.50        3.5 - 7.0",
        "kvm     2M in 2M    9.0        3     2.00        250    5.0    2.50        3.5 - 7.0",
    ]


def test_the_clock_and_the_plugin_agree():
    run = a_run("native", "small", "")
    for clock in (9_000_000, 8_992_000):
        run.evidence["instructions_by_clock"] = clock
        assert runs._check_clock(run) is run
    run.evidence["instructions_by_clock"] = 8_990_000
    with pytest.raises(LabError, match="9000000 instructions were counted in a time of 8990000"):
        runs._check_clock(run)


def test_as_if_with_other_pages():
    native, kvm = a_run("native", "small", ""), a_run("kvm", "huge", "thp")
    as_if = [runs.parse_pages(text) for text in ("64K", "2M in 1G", "4K")]
    assert as_if == [(16, 0), (21, 30), (12, 0)]
    assert Model("cortex-a72", 21, 30) in runs.models("native", [A72], as_if)
    assert Model("cortex-a72", 21, 30) not in runs.models("kvm", [A72], as_if)
    for pages in as_if:
        model = Model("cortex-a72", *pages)
        native.section.models.setdefault(model, {"host-user": Counts((1000, 0))})
    lines = table.walks([native, kvm], [A72], as_if).splitlines()[3:]
    assert [line[8:22].strip() for line in lines] == [
        "4K", "as if 64K", "as if 2M in 1G", "2M in 2M",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "8K", "2M in", "2M in ", " in 4K", "2M in 8K", "4k"])
def test_what_is_no_choice_of_pages(text, capsys):
    assert cli.main(["reach", f"--as-if={text}"]) == EXIT_USAGE
    assert "is not a choice of pages" in capsys.readouterr().err


def test_what_traps_invalidates_nothing():
    assert a_run("kvm", "small", "off").invalidations("vmid") == 3
    assert a_run("armvisor", "small", "off").invalidations("vmid") == 1
    assert a_run("kvm", "small", "off").invalidations("asid") == 0


def test_shadow_blocks_are_where_both_have_blocks():
    def with_blocks(pages: str, host: str, filled: int) -> list[runs.Run]:
        run = a_run("armvisor", pages, host)
        run.evidence["shadow_blocks_filled"] = filled
        return [run]

    runs._check_shadow(with_blocks("huge", "thp", 64))
    runs._check_shadow(with_blocks("small", "thp", 5))
    runs._check_shadow(with_blocks("huge", "off", 0))
    for pages, host, filled in (("huge", "thp", 63), ("huge", "off", 1)):
        with pytest.raises(LabError, match=f"{filled} blocks in the shadow tables"):
            runs._check_shadow(with_blocks(pages, host, filled))


def test_classes_have_the_level_that_each_runs_at():
    run = a_run("armvisor", "small", "off")
    run.section.insns = {"guest-kernel": {"ordinary": 7, "tlbi": 2}, "hypervisor": {"eret": 1}}
    lines = table.classes([run]).splitlines()
    assert lines[0] == "random-128 MiB, armvisor, 4K in 4K: instructions (counted)"
    assert lines[2].split() == ["hypervisor", "EL1", *"0000010000"]
    assert lines[3].split() == ["guest-kernel", "EL0", *"7000000020"]


def test_rows_of_workloads():
    names = [row.name for row in runs.rows(["random-128", "fresh-4", "random-128"])]
    assert names == ["random-128-small", "random-128-huge", "fresh-4-small"]


@pytest.mark.parametrize("text", ["", "random", "random-0", "random-513", "walk-1", "random-1-x"])
def test_what_is_no_workload(text, capsys):
    assert cli.main(["reach", f"--workload={text}"]) == EXIT_USAGE
    assert "is not a workload" in capsys.readouterr().err


def test_pages_that_the_program_did_not_get():
    row = runs.Row("random", 128, "huge")
    text = "result reach.random-128-huge.huge 2048 KiB\n"
    with pytest.raises(LabError, match="2048 KiB of huge pages where 131072 were asked for"):
        runs._check_pages(text, row)
    with pytest.raises(LabError, match="did not say"):
        runs._check_pages("", row)


def test_pages_that_the_host_did_not_give():
    text = "thp_file_mapped 3\nthp_file_mapped 3\n"
    with pytest.raises(LabError, match="mapped 0 blocks of 2 MiB for --huge-pages thp"):
        runs._check_host(text, "thp")
    with pytest.raises(LabError, match="no report"):
        runs._check_host(text, "off")


def test_an_unknown_core_is_refused_before_anything_runs(capsys):
    assert cli.main(["reach", "--core", "cortex-a1"]) == EXIT_USAGE
    assert "no profile of a core 'cortex-a1'" in capsys.readouterr().err


def test_profiles_are_listed(capsys):
    assert cli.main(["reach", "--list"]) == 0
    assert re.search(r"^  l2 +entries 1024 ways 4 +\(Cortex-A72 TRM", capsys.readouterr().out, re.M)


def test_without_the_plugin_it_says_how_to_make_it(monkeypatch, tmp_path, capsys):
    tool = tmp_path / "build/guests/tools/reach"
    tool.parent.mkdir(parents=True)
    tool.touch()
    monkeypatch.setattr(paths, "checkout", lambda: tmp_path)
    file = tmp_path / "record.json"
    assert cli.main(["reach", "--on", "native", "--json", str(file)]) == 1
    said = capsys.readouterr()
    assert "count.so is not built" in said.err and "make plugins" in said.err
    assert "nothing was measured" in said.err and not file.exists()


def test_several_cpus_are_refused_with_models_or_at_once():
    model = [Model("cortex-a72", 12, 0)]
    with pytest.raises(LabError, match="follow one CPU, not 2"):
        plugin.run(Board(smp=2), ["true"], ("native", [A72], model), lambda _: None)
    with pytest.raises(LabError, match="on a counted board"):
        plugin.run(Board(smp=2), ["true"], ("native", [A72], []), lambda _: None)
