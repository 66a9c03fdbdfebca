# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The number of exits from guests: by the difference of two guests, and by the host's pages."""

import json
from types import SimpleNamespace

import pytest

from armvisor_lab.errors import LabError
from armvisor_lab.figures import lat, pages, run, traps, vms


def report(**exits: int) -> str:
    return json.dumps({"end": {"reason": "power_off"}, "kvm_exits": exits}, separators=(",", ":"))


@pytest.fixture
def guests(monkeypatch):
    """Guests that print what they are told to, a board's at a time; what they were asked."""
    asked: list = []

    def given(*boards: str) -> list:
        texts = list(boards)

        def run_guests(variant, appends, _progress):
            asked.append((variant, list(appends)))
            return SimpleNamespace(), SimpleNamespace(text=texts.pop(0), kernel=None), ()

        monkeypatch.setattr(vms, "run", run_guests)
        for family in (traps, pages):
            monkeypatch.setattr(family, "describe", lambda *_: {})
        return asked

    return given


def quiet(_text: str) -> None:
    pass


def measurement(name: str):
    return next(each for each in run.registry() if name in each.figures)


def test_what_a_row_prepares_is_no_trap_of_its_operations(guests):
    """The guest that only prepares it has touched the buffers, too."""
    rows = ("null", "memory-read")
    loops = {"memory-read": 4, "null": 1000}
    text = ""
    for row, (before, after) in zip(rows, ((700, 100_700), (5000, 5160)), strict=True):
        for dat_trans in (before, after):
            text += f"result lat.{row}.loops {loops[row]} count\n"
            text += report(dat_trans=dat_trans, fast_trap=3) + "\n"
    asked = guests(text)
    whole = measurement("traps.null.armvisor")
    some = run.narrow(whole, [f"traps.{row}.armvisor" for row in rows])
    assert some.figures == tuple(f"traps.{row}.armvisor" for row in rows)
    outcome = some.run(quiet)
    [(variant, appends)] = asked
    assert variant.name == "armvisor" and len(appends) == 2 * len(rows)
    for row, (prepares, does) in zip(rows, zip(appends[::2], appends[1::2], strict=True),
                                     strict=True):  # fmt: skip
        assert f"armvisor.rows={row} " in prepares and prepares.endswith("armvisor.rounds=0")
        assert does == prepares.replace("rounds=0", f"rounds={traps._ROUNDS}")
    assert outcome.values == {
        "traps.null.armvisor": 100_000 / (1000 * traps._ROUNDS),
        "traps.memory-read.armvisor": 160 / (4 * traps._ROUNDS),
    }
    assert all("fast_trap" not in each for each in outcome.traps.values())


def test_before_rows_of_many_processes_another_one_is_done_and_taken_off(guests):
    """The process has forked before, as in a guest that does all rows."""
    loops = 160
    text = f"result lat.pipe.loops 50 count\nresult lat.ctx-16p-16k.loops {loops} count\n"
    # Of the one before: 10,000; of both 10,000 and three each.
    for translation_reg in (500, 10_500, 900, 10_900 + 3 * loops * traps._ROUNDS):
        text += report(translation_reg=translation_reg) + "\n"
    asked = guests(text)
    name = "traps.ctx-16p-16k.armvisor"
    outcome = run.narrow(measurement(name), [name]).run(quiet)
    [(_, appends)] = asked
    words = [(each.split("armvisor.rows=")[1].split(" ")[0], each[-2:]) for each in appends]
    assert words == [("pipe", "=0"), ("pipe", str(traps._ROUNDS)), ("pipe,ctx-16p-16k", "=0"),
                     ("pipe,ctx-16p-16k", str(traps._ROUNDS))]  # fmt: skip
    assert outcome.traps[name] == {"translation_reg": 3}


def test_a_guest_without_a_report_is_a_failure(guests):
    guests(report(dat_trans=1) + "\n")
    with pytest.raises(LabError, match="1 of 2 guests left a report"):
        run.narrow(measurement("traps.null.kvm"), ["traps.null.kvm"]).run(quiet)


def test_rows_that_trap_are_measured_on_both():
    for variant in ("kvm", "armvisor"):
        found = measurement(f"traps.null.{variant}").figures
        assert set(found) == {f"traps.{r}.{variant}" for r in lat.ROWS if r != traps.NONE}


# ---- by the host's pages -----------------------------------------------------------------------


def test_on_kvm_faults_are_those_that_were_traced_less_devices(guests):
    text = report(total=9000, mmio_user=200, mmio_kernel=50) + "\nresult pages.traced "
    asked = guests(f"{text}31250 count\n", f"{text}650 count\n")
    outcome = measurement("hidden_faults.4k.kvm").run(quiet)
    assert outcome.values == {"hidden_faults.4k.kvm": 31_000, "hidden_faults.2m.kvm": 400}
    for (variant, appends), host in zip(asked, ("off", "thp"), strict=True):
        words = variant.command(appends[0])
        assert words[:2] == ["sh", "-c"] and "kvm_guest_fault" in words[2]
        assert words[-2:] == ["--huge-pages", host] and "--json" in words


def test_a_kernel_without_the_tracepoint_is_a_failure():
    with pytest.raises(LabError, match=r"0 faults were traced(?s:.*)kvm_guest_fault"):
        pages.faults({"mmio_user": 3, "mmio_kernel": 4}, 0.0)


def test_on_the_module_faults_are_those_that_the_guest_does_not_see(guests):
    hidden = {"dabt_hidden_translation": 5, "dabt_hidden_permission": 7, "pabt_hidden": 11}
    text = report(**hidden, dabt_guest=1000, mmio_user=9) + "\n"
    asked = guests(text, text)
    outcome = measurement("hidden_faults.2m.armvisor").run(quiet)
    assert set(outcome.values.values()) == {23}
    assert asked[0][0].command("x")[0] == "armvisor"
