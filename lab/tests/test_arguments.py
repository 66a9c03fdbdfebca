# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The command line: accepted words, and errors that are refused before QEMU starts."""

import argparse
import json
import re
from pathlib import Path

import pytest

from armvisor_lab import cli
from armvisor_lab.boards import machine
from armvisor_lab.boards.board import EXIT_USAGE, Board, Disk
from armvisor_lab.boards.initramfs import Module
from armvisor_lab.cli.board import file_pair, memory_size
from armvisor_lab.errors import LabError


@pytest.fixture(autouse=True)
def no_qemu(monkeypatch):
    monkeypatch.setattr(machine.Machine, "_start", lambda *_args: pytest.fail("QEMU was started"))


@pytest.mark.parametrize(
    ("text", "mib"), [("512", 512), ("512M", 512), ("2G", 2048), ("1GiB", 1024), ("2g", 2048)]
)
def test_sizes(text, mib):
    assert memory_size(text) == mib


@pytest.mark.parametrize("text", ["", "G", "-1", "1.5G", "2T", "1G2"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError):
        memory_size(text)


def test_files_may_have_colons_and_keep_their_name_in_a_folder(tmp_path):
    source = tmp_path / "a:b"
    source.write_text("")
    assert file_pair(f"{source}:/bin/x") == ("/bin/x", source)
    assert file_pair(f"{source}:/bin/") == ("/bin/a:b", source)


@pytest.mark.parametrize("text", ["nosuch:/x", "/etc/passwd", "/etc/passwd:relative", ":/x"])
def test_bad_files_are_refused(text):
    with pytest.raises(argparse.ArgumentTypeError):
        file_pair(text)


@pytest.mark.parametrize(
    "options",
    [
        ["--smp", "0"],
        ["--smp", "65"],
        ["--smp", "two"],
        ["--memory", "0"],
        ["--memory", "100000G"],
        ["--cpu", "cortex-a78"],
        ["--kernel", "5.10"],
        ["--flavour", "rpi"],
        ["--timeout", "0"],
        ["--module", ":"],
        ["--file", "nosuch:/x"],
        ["--no-such-option"],
    ],
)
def test_wrong_options_end_with_the_usage_status(options, capsys):
    try:
        status = cli.main(["board", "run", *options, "--", "true"])
    except SystemExit as stop:
        status = stop.code
    assert status == EXIT_USAGE
    assert "lab" in capsys.readouterr().err


def test_a_board_without_a_command_is_refused(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["board", "run"])
    assert stop.value.code == EXIT_USAGE
    assert "COMMAND" in capsys.readouterr().err


def test_words_after_the_dashes_are_the_command_s(monkeypatch):
    seen = []

    def run(_self, command, **_rest):
        seen.append(list(command))
        raise LabError("enough")

    monkeypatch.setattr(Board, "run", run)
    cli.main(["board", "run", "--", "env", "--", "--el2", "-x"])
    assert seen == [["env", "--", "--el2", "-x"]]


def test_a_disk_is_not_written_unless_it_is_the_boards_to_keep(tmp_path):
    image = tmp_path / "a,b.img"
    image.write_bytes(bytes(512))
    drive, device = Disk("one", image).arguments()[1::2]
    assert "/a,,b.img,format=raw," in drive and "snapshot=on" in drive
    assert device == "virtio-blk-device,drive=one,serial=one"
    assert "snapshot=off" in Disk("one", image, keep=True).arguments()[1]


def test_a_disk_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(LabError, match="no such disk image"):
        Board(disks=[Disk("one", tmp_path / "none")]).run(["true"])


def test_hardware_arguments():
    plain = Board().machine_arguments()
    assert "virt,gic-version=3" in plain
    assert "tcg,thread=single" in plain
    two = Board(el2=True, smp=2).machine_arguments()
    assert "virt,gic-version=3,virtualization=on" in two
    assert "tcg,thread=multi" in two


def test_a_counted_board_has_one_thread_for_all_its_cpus():
    for smp in (1, 4):
        counted = Board(count=True, smp=smp).machine_arguments()
        assert "shift=0,sleep=off" in counted
        assert counted[counted.index("-smp") + 1] == str(smp)
        assert not any("thread=" in word for word in counted)


def test_counted_boards_are_not_random():
    assert "nokaslr" in Board(count=True).command_line()
    assert "nokaslr" not in Board().command_line()
    assert Board(append="kvm-arm.mode=protected").command_line().endswith("=protected")


def test_modules_with_parameters():
    assert Module.parse("tun") == Module("tun")
    assert Module.parse("build/x.ko:debug=1 size=4") == Module("build/x.ko", "debug=1 size=4")
    assert Module.parse("build/x.ko").is_file


def test_files_that_do_not_fit_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("armvisor_lab.archive.kernels.get", lambda *_args: None)
    monkeypatch.setattr("armvisor_lab.boards.initramfs.build", lambda *_args: [bytes(200 << 20)])
    with pytest.raises(LabError, match="--memory"):
        Board(memory=256).run(["true"])


def test_a_missing_module_file_is_named(monkeypatch, capsys):
    assert cli.main(["board", "run", "--module", "/nosuch.ko", "--", "true"]) == EXIT_USAGE
    assert "/nosuch.ko" in capsys.readouterr().err


def test_json_of_a_result_is_json(monkeypatch, capsys, tmp_path):
    from armvisor_lab.archive.kernels import Kernel
    from armvisor_lab.boards.board import Result

    kernel = Kernel("6.12", "cloud", "6.12-x", Path("/k"), ("linux-image=1",))
    result = Result(3, b"text\n", b"\xff", "", tmp_path / "log", None, 1.5, kernel)
    monkeypatch.setattr(Board, "run", lambda *_args, **_rest: result)
    assert cli.main(["board", "run", "--json", "--", "true"]) == 3
    said = json.loads(capsys.readouterr().out)
    assert said["status"] == said["exit_status"] == 3
    assert said["stdout"] == "text\n"
    assert said["stderr"] == {"base64": "/w=="}
    assert said["board"]["packages"] == ["linux-image=1"]


# ---- words that are misspelt -------------------------------------------------------------------


def said_of(words: list[str], capsys) -> str:
    """What is said of a command line that is wrong."""
    try:
        status = cli.main(words)
    except SystemExit as stop:
        status = stop.code
    assert status == EXIT_USAGE
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["bord", "run"], "did you mean board?"),
        (["board", "rum"], "did you mean run?"),
        (["board", "run", "--cpuu", "x", "--", "true"], "did you mean --cpu or"),
        (["board", "run", "--memry=1G", "--", "true"], "did you mean --memory?"),
        (["board", "run", "--cpu", "cortex-72", "--", "true"], "did you mean cortex-a72"),
        (["board", "run", "--kernel", "stabel", "--", "true"], "did you mean stable?"),
        (["board", "run", "--flavour", "clod", "--", "true"], "did you mean cloud?"),
        (["packages", "get", "x", "--suite", "trixi"], "did you mean trixie?"),
        (["figures", "--only", "hypercal.armvisor"], "did you mean hypercall.armvisor"),
        (["figures", "--classes", "--core", "cortex-a27"], "did you mean cortex-a72"),
        (["compare", "lat.nul", "--on", "native"], "did you mean lat.null"),
        (["compare", "lat.null", "--on", "nativ"], "did you mean native"),
        (["model", "rows", "--row", "nul"], "did you mean null"),
        (["report", "--jsn"], "did you mean --json?"),
    ],
)
def test_what_is_near_a_misspelt_word_is_told(words, hint, capsys):
    said = said_of(words, capsys)
    assert hint in said
    assert len(said) < 1200, "what is near, and not everything"


def test_where_nothing_is_near_it_is_told_what_there_is(capsys):
    assert "see --help" in said_of(["board", "run", "--quux", "--", "true"], capsys)
    assert "there are cortex-a72," in said_of(["board", "run", "--cpu", "z", "--", "true"], capsys)
    assert "`lab figures --list` has all" in said_of(["figures", "--only", "quux"], capsys)


def test_words_that_nothing_takes_are_told(capsys):
    assert "what is a b for?" in said_of(["figures", "a", "b"], capsys)


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["--version"])
    assert stop.value.code == 0
    assert re.fullmatch(r"lab \d+\.\d+\.\d+(, revision \w{9}\+?)?\n", capsys.readouterr().out)


def test_a_log_s_folder_must_be_there_before_anything_boots(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        "armvisor_lab.archive.kernels.get", lambda *_: pytest.fail("work was begun")
    )
    said = said_of(["board", "run", "--log", str(tmp_path / "no/x.log"), "--", "true"], capsys)
    assert f"there is no folder {tmp_path}/no" in said
    said = said_of(["board", "run", "--log", str(tmp_path), "--", "true"], capsys)
    assert "is a folder" in said
