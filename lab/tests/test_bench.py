# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab bench`: its selection, and that record and page belong to the run that wrote them."""

import json

import pytest

from armvisor_lab import cli, paths
from armvisor_lab.cli import bench as cli_bench
from armvisor_lab.cli import demo
from armvisor_lab.cli import model as cli_model
from armvisor_lab.cli import reach as cli_reach
from armvisor_lab.errors import LabError
from armvisor_lab.figures import Measurement, Outcome, exits, run


def test_its_selection_repeats_and_is_of_figures_that_there_are():
    chosen = run.select(list(cli_bench.PATTERNS))
    names = {name for each in chosen for name in each.figures}
    assert names >= {"hypercall.armvisor", "lat.null.native", "traps.nothing.armvisor-no-cheap"}
    assert not [name for name in names if name.startswith("boot.") or "qemu" in name]
    # How often each row of `lat` traps is the model's to ask for, and takes a guest for each.
    assert not [each for each in chosen if "traps.null.armvisor" in each.figures]
    wanted = {f"{what}.{who}" for what in ("ipi_running", "mmio_kernel") for who in exits.HOSTS}
    assert {name for name in names if run.wanted(name, cli_bench.PATTERNS)} >= wanted
    # Of a quiet processor, by the measurements' own estimates.
    assert sum(each.about for each in chosen) < 15 * 60


VM = {"wall_seconds": 2.0, "phases": [], "exits": {}, "kvm_exits": {"hypercall": 42}}
PREDICTED = {"core": "x-gene", "figure": "hypercall.kvm-nvhe", "counted_cycles": [1e3, 6e3],
             "scaled_cycles": None}  # fmt: skip


def _predicts(options, does) -> int:
    """A model that has what it predicts from, or not."""
    does.setdefault("asked", []).append((options.what, options.on, options.record))
    if isinstance(does["value"], LabError):
        raise LabError("nothing was measured")
    if options.what == "published":
        content = {"schema": run.SCHEMA, "what": "published", "predictions": [PREDICTED]}
        options.json.write_text(json.dumps(content))
    return 0


@pytest.fixture
def built(tmp_path, monkeypatch):
    """A checkout with one measurement, which does what `does` says."""
    does = {"value": 300.0}

    def measure(_progress) -> Outcome:
        if isinstance(does["value"], BaseException):
            raise does["value"]
        return Outcome({"hypercall.armvisor": does["value"]}, {"cpu": "x"})

    family = [Measurement(("hypercall.armvisor",), "one", measure)]
    monkeypatch.setattr(run, "registry", lambda: family)
    monkeypatch.setattr(cli_bench, "PATTERNS", ("hypercall.*",))
    monkeypatch.setattr(paths, "checkout", lambda: tmp_path)
    monkeypatch.setattr(run, "provenance", lambda: {"schema": 1})
    monkeypatch.setattr(cli_reach, "provenance", lambda: {"schema": 1})
    monkeypatch.setattr(demo, "provenance", lambda: {"schema": 1})
    monkeypatch.setattr(demo, "run_vm", lambda *_: demo.Ran(VM, {"cpu": "y"}, 0))
    monkeypatch.setattr(cli_model, "run_model", lambda options: _predicts(options, does))
    (tmp_path / "build").mkdir()
    return tmp_path / "build", does


def test_it_writes_a_record_and_a_page(built, capsys):
    folder, _ = built
    assert cli.main(["bench"]) == 0
    assert json.loads((folder / "bench.json").read_text())["figures"][0]["value"] == 300
    page = (folder / "bench.html").read_text()
    assert "hypercall.armvisor" in page
    # The middle of 1000 and 6000 is 3500, and 6500 are published.
    assert "-46 %" in page and "bench-model.json" in page
    assert "exits within KVM" in page and "bench-vm.json" in page
    assert f"as a page: {folder}/bench.html" in capsys.readouterr().err


def test_over_a_bound_it_fails_but_has_its_page(built):
    folder, does = built
    does["value"] = 9999.0
    assert cli.main(["bench"]) == 1
    assert (folder / "bench.html").exists()


@pytest.mark.parametrize(("raises", "status"), [(LabError("hung"), 1), (KeyboardInterrupt(), 130)])
def test_an_older_run_does_not_stand_in(built, monkeypatch, raises, status):
    folder, does = built
    assert cli.main(["bench"]) == 0
    does["value"] = raises
    monkeypatch.setattr(demo, "run_vm", no_vm)
    assert cli.main(["bench"]) == status
    assert not list(folder.iterdir())


def no_vm(*_words):
    raise LabError("the board hung")


def test_a_vm_that_hangs_does_not_lose_the_page(built, monkeypatch, capsys):
    folder, _ = built
    monkeypatch.setattr(demo, "run_vm", no_vm)
    assert cli.main(["bench"]) == 1
    assert "the board hung" in capsys.readouterr().err
    assert "hypercall.armvisor" in (folder / "bench.html").read_text()


def test_in_full_rows_are_predicted_of_each_kind(built, monkeypatch):
    folder, does = built
    monkeypatch.setattr(cli_reach, "run", lambda _options: 0)
    monkeypatch.setattr(cli_bench, "_classes", lambda _file: 0)
    assert cli.main(["bench", "--full"]) == 0
    figures, lat = folder / "bench-full.json", folder / "bench-full-lat.json"
    assert does["asked"] == [
        ("published", "armvisor", []), ("rows", "armvisor", [figures, lat]),
        ("rows", "kvm", [figures]),
    ]  # fmt: skip


def test_in_full_what_could_not_be_modelled_does_not_lose_the_page(built, monkeypatch, capsys):
    folder, _ = built

    def fails(*_words, **_named):
        raise LabError("the plugin is not built")

    monkeypatch.setattr(cli_reach.runs, "run", fails)
    assert cli.main(["bench", "--full"]) == 1
    assert "not measured: native: the plugin is not built" in capsys.readouterr().err
    assert "hypercall.armvisor" in (folder / "bench-full.html").read_text()
