# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Xen's board: the hypervisor in its package, the device tree, the console, and refusals."""

import re
import shutil
import struct
import subprocess

import pytest

from armvisor_lab.archive import packages
from armvisor_lab.boards import xen
from armvisor_lab.boards.board import Board
from armvisor_lab.errors import LabError
from armvisor_lab.figures import run
from armvisor_lab.figures import xen as figures
from armvisor_lab.reach.plugin import Section

IMAGE = bytes(56) + b"ARMd" + bytes(64)
END = "result hypercall.failures 0 count\n"

dtc = pytest.mark.skipif(not shutil.which("dtc"), reason="dtc is missing: run tools/setup")


@pytest.fixture
def package(tmp_path):
    """An unpacked package with what Debian's has in /boot, of a version that nobody has seen."""
    boot = tmp_path / "boot"
    boot.mkdir()
    for name in ("xen-9.9-arm64", "xen-9.9-arm64.efi"):
        (boot / name).write_bytes(IMAGE)
    (boot / "xen-9.9-arm64.config").write_text("CONFIG_ARM_64=y\n")
    return tmp_path


def test_the_image_of_any_version_is_found(package):
    assert xen.find_image(package).name == "xen-9.9-arm64"


def test_a_package_without_an_image_says_what_to_do(package):
    (package / "boot/xen-9.9-arm64").write_bytes(b"MZ" + bytes(200))
    with pytest.raises(LabError, match=r"no arm64 Image boot/xen-\*(?s:.*)`lab packages update`"):
        xen.find_image(package)


def test_the_meta_package_leads_to_the_hypervisor_of_the_day(monkeypatch, tmp_path):
    monkeypatch.setenv("ARMVISOR_CACHE", str(tmp_path))
    depends = {
        "xen-system-arm64": "xen-hypervisor-9.9-arm64, xen-hypervisor-common, xen-utils-9.9",
        "xen-hypervisor-9.9-arm64": "xen-hypervisor-common",
    }
    found = packages.Packages("trixie")
    show = lambda name: {"Version": "9.9.1-1", "Depends": depends[name]}  # noqa: E731
    monkeypatch.setattr(found.apt, "show", show)
    asked: list[str] = []

    def obtain(_key, resolve, _version=""):
        asked.extend(resolve())
        return []

    monkeypatch.setattr(found, "_obtain", obtain)
    found.follow(xen._META, xen._PATTERN)
    assert asked == ["xen-hypervisor-9.9-arm64=9.9.1-1"]


@pytest.mark.parametrize(
    "line",
    [
        "(XEN) Panic on CPU 0:",
        "(XEN) [    2.345678] Panic on CPU 1:",
        "(XEN) Xen BUG at arch/arm/gic.c:123",
        "(XEN) Assertion 'x' failed at common/sched/core.c:1",
        "(XEN) d1v0 Unhandled SMC/HVC: 0x84000051",
        "(XEN) d1v0 unhandled Arm instruction 0xa90007e0",
        "(XEN) arch/arm/traps.c:2000:d0v0 HSR=0x00000092000050 pc=0x00000060000000",
    ],
)
def test_xen_s_trouble_is_found(line):
    said = f"(XEN) Xen version 9.9\r\n{line}\r\nresult a.b 1 count\r\n"
    assert xen.trouble(said) == re.sub(r"^\(XEN\) (\[.*\] )?", "", line)


def test_what_a_program_prints_is_no_trouble_of_xen_s():
    said = "(XEN) *** LOADING DOMAIN 0 ***\nresult a.b 1 count\nPanic on CPU 0: says the program\n"
    assert not xen.trouble(said)


def check(console: str, hung: str = "", errors: str = "") -> str:
    with pytest.raises(LabError) as caught:
        xen._check(console, "a.log", hung, errors)
    return str(caught.value)


def test_a_run_that_went_well_passes():
    xen._check(f"(XEN) Freed 368kB init memory.\n{END}", "a.log", "", "")
    assert xen._program_s(f"(XEN) Freed\n(d1) hello\n{END}") == END


def test_a_run_that_did_not_is_a_sentence_with_its_log():
    assert "did not end within 2 s" in check("(XEN) Booting", hung="2 s")
    assert "QEMU: no such device" in check("", errors="no such device")
    assert "died on its way" in check("result a.b 1 count\ndied: exception at vector 200\n")
    failed = "failed: Xen does not map its page: -22\nresult a.failures 1 count\n"
    assert "failed: Xen does not map its page: -22" in check(failed)
    assert "second domain under Xen: (d1) failed: no page" in check(f"(d1) failed: no page\n{END}")
    # Xen's own word is what it is about, however the run ended.
    said = check(f"(XEN) Panic on CPU 0:\n{END}", hung="2 s")
    assert said.startswith("Xen reported: Panic on CPU 0:")
    assert "a.log" in said


def test_the_board_s_turns_end_with_the_program_s_first_line_and_the_board_with_its_last():
    control = xen._Control()
    sent = []
    control.channel.push = lambda data: sent.append(data.decode().strip())
    control._receive(b'{"QMP": {}}\n{"return": {}}\n')
    control.tick()
    assert [*map(str, sent)] == ['{"execute": "stop"}', '{"execute": "cont"}']
    # The last time is not over.
    control.tick()
    assert len(sent) == 2
    control._receive(b'{"return": {}}\n{"event": "RESUME"}\n{"ret')
    control._receive(b'urn": {}}\n')
    control.heard(b"(XEN) Freed\r\nresult a.cntfrq 62500000 Hz\r\n")
    control.tick()
    assert len(sent) == 2
    control.heard(b"(XEN) Freed\r\nresult a.cntfrq 62500000 Hz\r\nresult a.failures 0 count\r\n")
    control.heard(b"result a.failures 0 count\r\n")
    assert sent[2:] == ['{"execute": "quit"}']


def test_one_domain_has_all_cpus_two_have_one_each(tmp_path):
    assert "dom0_max_vcpus=2" in xen.XenBoard(tmp_path, 2).options()
    assert "dom0_max_vcpus=1" in xen.XenBoard(tmp_path, 2, domu=True).options()


def test_a_program_that_is_not_built_says_how(tmp_path):
    with pytest.raises(LabError, match=r"no such program(?s:.*)make guests"):
        xen.XenBoard(tmp_path / "hello.img").tree()


def test_without_dtc_it_says_what_to_do(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    with pytest.raises(LabError, match=r"dtc is missing(?s:.*)tools/setup"):
        xen.with_nodes(b"", "")


@dtc
def test_what_is_no_device_tree_is_refused():
    with pytest.raises(LabError, match="dtc does not make a device tree"):
        xen.with_nodes(b"no tree", "")


def tree(domu: bool, append: str = "a=1") -> str:
    """The source of a small tree with what Xen is told."""
    small = '/dts-v1/; / { chosen { stdout-path = "/pl011@9000000"; }; };'
    blob = xen._dtc(small.encode(), "dts", "dtb")
    made = xen.with_nodes(blob, xen.chosen(0x5000, "console=dtuart", append, domu))
    assert struct.unpack(">I", made[:4]) == (0xD00DFEED,)
    done = subprocess.run(["dtc", "-q", "-I", "dtb", "-O", "dts"], input=made,
                          capture_output=True, check=True)  # fmt: skip
    return done.stdout.decode()


@dtc
def test_the_tree_has_xen_s_command_line_and_the_program():
    text = tree(domu=False, append='say="a\\b"')
    assert 'xen,xen-bootargs = "console=dtuart";' in text
    assert 'stdout-path = "/pl011@9000000";' in text
    assert text.count('"multiboot,kernel"') + text.count("multiboot,kernel\\0") == 1
    assert r'bootargs = "say=\"a\\b\"";' in text
    assert "reg = <0x00 0x49000000 0x00 0x5000>;" in text
    assert "xen,domain" not in text


@dtc
def test_two_domains_are_told_apart_and_have_an_event_channel():
    text = tree(domu=True)
    where = "mailbox=0x43fff000 port=10 a=1"
    assert f'bootargs = "{where}";' in text
    assert f'bootargs = "domu=1 {where}";' in text
    assert 'compatible = "xen,domain";' in text
    assert "memory = <0x00 0x10000>;" in text
    ends = re.findall(r"xen,evtchn = <0x0a (0x\w+)>;\s+(?:linux,)?phandle = <(0x\w+)>;", text)
    # Each is the other's.
    assert len(ends) == 2 and ends[0] == ends[1][::-1]


def test_the_report_s_column_of_xen_is_there():
    names = {name for measurement in run.registry() for name in measurement.figures}
    rows = ("hypercall", "mmio_kernel", "ipi_running", "irq_completion", "vm_switch", "io_out",
            "io_in")  # fmt: skip
    assert names >= {f"{row}.xen" for row in rows}


# ---- figures -----------------------------------------------------------------------------------


def sections(*counts: int) -> list[Section]:
    return [Section((1, 0), {"hypervisor": {"ordinary": n}}) for n in counts]


def test_what_programs_mark_is_known_by_their_results():
    exits, ipi, switch, signals = figures.measurements()
    text = "".join(f"result {name}.loops 100 count\n" for name in ("hypercall", "mmio", "irq"))
    spots = exits.marked.spots(text)
    assert [each.figure for each in spots] == [
        "hypercall_psci.xen", "", "hypercall.xen", "", "", "mmio_kernel.xen",
        "irq_completion.xen", "eoi.xen",
    ]  # fmt: skip
    assert all(each.less and each.loops == 100 for each in spots)
    assert {each.figure for each in spots if each.figure} == set(exits.figures)
    assert [e.figure for e in ipi.marked.spots("result ipi.loops 9 count\n")] == [
        "", "ipi_running.xen",
    ]  # fmt: skip
    [spot] = switch.marked.spots("result domains.loops 1000 count\n")
    assert (spot.figure, spot.loops, spot.less) == ("vm_switch.xen", 1000, False)
    out, back = signals.marked.spots("result domains.times 25 count\n")
    assert (out.rounds, back.rounds) == (20, 20) and back.figure == "io_in.xen"


@pytest.mark.parametrize("before", [(), (7,)])
def test_signals_are_told_apart_by_turns(before):
    """Some warm up, and one more may have been ended by an interrupt that was no signal's."""
    signals = figures.measurements()[3]
    seen = sections(*before, *[1000, 1000] * 5, 8, 5, 9, 6)
    assert [each.instructions() for each in signals.marked.order(seen)] == [8, 9, 5, 6]


def test_the_plugin_is_qemu_s_on_xen_s_board(monkeypatch, tmp_path):
    program = tmp_path / "domains.img"
    program.write_bytes(bytes(100))
    ran = []
    monkeypatch.setattr(figures.artefacts, "bare", lambda _name: program)
    monkeypatch.setattr(xen, "hypervisor", lambda _progress: xen.Hypervisor(program, None))
    monkeypatch.setattr(xen.XenBoard, "run", lambda board, _image: ran.append(board))
    signals = figures.measurements()[3]
    board = Board(el2=True, qemu_args=["-plugin", "count.so"])
    signals.marked.do(board, ["domains"], lambda _text: None)
    assert "count.so" in ran[0].arguments(program, program)
    assert ran[0].smp == 2 and ran[0].domu
