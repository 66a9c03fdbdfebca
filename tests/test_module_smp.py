# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Guests with several vCPUs on the module, on counted boards: vCPUs that wake each other."""

import json

import pytest
from built import TOP, module
from guest_runs import results
from test_module_kpti import ISOLATED
from tiny_guests import SPIN, image

from armvisor_lab.boards.board import Board
from armvisor_lab.boards.cpio import Cpio
from armvisor_lab.boards.initramfs import Module
from armvisor_lab.figures import artefacts

KERNEL = "stable"
CONFORMANCE = pytest.mark.conformance
MARK = "\x1e"


IPI = """
run() { armvisor run --json --kernel /g/ipi --cpus 2 --memory 64M </dev/null || exit; }
run
printf '\\036'
echo 0 >/sys/module/armvisor/parameters/halt_poll_ns
run
"""


def test_vcpus_that_wait_for_each_other_poll_first():
    """If no other task wants the CPU; and not at all if the host's owner disables polling."""
    files = {"/g/ipi": artefacts.bare("ipi"), "/bin/armvisor": artefacts.vmm()}
    files |= {"/armvisor.ko": module(KERNEL), "/script": f"insmod /armvisor.ko\n{IPI}".encode()}
    done = Board(files=files, count=True, smp=2, timeout=400).run(["sh", "/script"])
    assert not done.failure and done.status == 0, f"{done.failure}\n{done.text}\n{done.stderr}"
    parts = done.text.split(MARK)
    costs = [float(results(part)["ipi.cost"]) for part in parts]
    polling, sleeping = (json.loads(part.splitlines()[-1])["kvm_exits"] for part in parts)
    # An interrupt that is pending before the WFI ends it at once. The number of those depends on
    # when the board's CPUs take turns, and so on the size of the board's files.
    assert polling["halt_successful_poll"] > polling["wfi"] / 2 > 500
    assert polling["halt_attempted_poll"] >= polling["halt_successful_poll"]
    # Threads that begin on one CPU cannot poll for each other before the scheduler separates them:
    # usually 3 of 1,400 waits sleep; on a busy machine, 287 of 1,326 did.
    assert polling["halt_wakeup"] < sleeping["halt_wakeup"] / 2
    assert sleeping["halt_attempted_poll"] == 0
    assert sleeping["halt_wakeup"] > sleeping["wfi"] / 2 > 500
    assert costs[0] < costs[1]


WOKEN = 50
TURNS = f"""
armvisor run --kernel /g/spin --memory 64M </dev/null &
sleep 1
read -r begin _ </proc/uptime
i=0
while [ $i -lt {WOKEN} ]; do
    usleep 1000
    i=$((i + 1))
done
read -r end _ </proc/uptime
echo "result took $((${{end%.*}}${{end#*.}} - ${{begin%.*}}${{begin#*.}})) cs"
kill $!
wait
"""


@pytest.mark.parametrize(
    ("kernel", "el2"),
    [("newest", False), pytest.param("newest", True, marks=CONFORMANCE),
     pytest.param(KERNEL, False, marks=CONFORMANCE)],
)  # fmt: skip
def test_who_wakes_has_the_cpu_of_a_busy_guest_at_once(kernel: str, el2: bool):
    """Not a tick or two later, where the host's kernel preempts lazily. A tick is 4 ms."""
    script = TURNS if el2 else f"insmod /armvisor.ko\n{TURNS}"
    files = {"/g/spin": image(*SPIN), "/bin/armvisor": artefacts.vmm(), "/script": script.encode()}
    files |= {} if el2 else {"/armvisor.ko": module(kernel)}
    board = Board(files=files, count=True, kernel=kernel, el2=el2, timeout=400)
    done = board.run(["sh", "/script"])
    assert not done.failure and done.status == 0, f"{done.failure}\n{done.text}\n{done.stderr}"
    assert int(results(done.text)["took"]) < WOKEN * 0.3, done.text


STORM = """
armvisor run --json --kernel /g/Image --initrd /g/initrd --cpus 4 --memory 512M \\
    --append '{words} nokaslr armvisor.test=storm armvisor.rounds={rounds}' </dev/null
"""


@pytest.mark.parametrize(
    ("guest", "el2", "rounds"),
    [
        (KERNEL, False, 25),
        pytest.param(KERNEL, False, 400, marks=CONFORMANCE),
        pytest.param(KERNEL, True, 400, marks=CONFORMANCE),
        pytest.param("oldstable", False, 400, marks=CONFORMANCE),
    ],
    ids=("stable-module-short", "stable-module", "stable-kvm", "oldstable-module"),
)
def test_no_cpu_uses_a_translation_that_is_gone(guest: str, el2: bool, rounds: int):
    """Four vCPUs on two CPUs; the kernel's text is patched at the same time.

    The short one is on a paced board: on a slow one in real time the storm's timers, of 2 ms, take
    most of what a busy machine has. Its kernel has isolated its page tables before
    (test_module_kpti.py).
    """
    short = rounds < 400
    folder = TOP / f"build/guests/debian-{guest}"
    program = Cpio()
    program.file("bin/storm", artefacts.tool("storm").read_bytes(), 0o755)
    files = {"/g/Image": folder / "Image", "/bin/armvisor": artefacts.vmm()}
    files["/g/initrd"] = (folder / "initrd").read_bytes() + program.finish()
    modules = () if el2 else (Module(str(module(KERNEL))),)
    board = Board(
        el2=el2, files=files, modules=modules, smp=2, memory=1536, timeout=900, paced=short,
    )  # fmt: skip
    words = "kpti=1" if short else "quiet"
    done = board.run(["sh", "-c", STORM.format(rounds=rounds, words=words)])
    assert not done.failure and done.status == 0, f"{done.failure}\n{done.text}\n{done.stderr}"
    found = results(done.text)
    assert found.get("guest.storm.failures") == found["storm.stale"] == "0", done.text[-3000:]
    least = {"reads": 500, "faults": 5, "forks": 5, "signals": 5, "traced": 0}
    least |= {"replaced": rounds - 1}
    few = {
        name: found[f"storm.{name}"] for name in least if int(found[f"storm.{name}"]) <= least[name]
    }
    assert not few, done.text[-3000:]
    assert (ISOLATED in done.text) == short
    if not el2:
        report = json.loads(done.text.splitlines()[-1])
        assert report["kvm"]["code_copies_made"] > 500
        exits = report["kvm_exits"]
        irqs, acknowledged, ended = (
            exits[name] for name in ("inject_irq", "fast_icc_iar1_el1", "fast_icc_eoir1_el1")
        )
        assert exits["fast_svc"] > 500
        # SPIs, and interrupts that come just before another exit, are acknowledged by an exit: the
        # busier the machine, the more of them.
        assert irqs > 200 and acknowledged > irqs / 4 and ended > acknowledged / 4, (
            f"{irqs} interrupts, in the window {acknowledged} acknowledged and {ended} ended"
        )


UNPLUG = """
cpu=/sys/devices/system/cpu/cpu1/online
armvisor run --kernel /g/Image --initrd /g/initrd --cpus 4 --memory 384M \\
    --append 'quiet armvisor.test=cpus,forks' >/tmp/console </dev/null & vm=$!
times=0
while kill -0 $vm 2>/dev/null; do
    echo 0 >$cpu && sleep 0.2 && echo 1 >$cpu && sleep 0.2 || exit
    times=$((times + 1))
done
wait $vm || exit
cat /tmp/console
echo "result host.times $times count"
"""


@pytest.mark.conformance
@pytest.mark.parametrize("kernel", ("oldstable", "stable", "newest"))
def test_cpus_of_the_host_go_and_come(kernel: str):
    """A vCPU's thread moves in the middle of its work, and so do messages from others."""
    folder = TOP / f"build/guests/debian-{KERNEL}"
    files = {f"/g/{name}": folder / name for name in ("Image", "initrd")}
    files |= {"/bin/armvisor": artefacts.vmm(), "/armvisor.ko": module(kernel)}
    files |= {"/script": f"insmod /armvisor.ko\n{UNPLUG}".encode()}
    board = Board(kernel=kernel, files=files, count=True, smp=2, memory=1536, timeout=2400)
    done = board.run(["sh", "/script"])
    assert not done.failure and done.status == 0, f"{done.failure}\n{done.text}\n{done.stderr}"
    told = results(done.text)
    assert told["guest.failures"] == "0" and told["guest.cpus"] == "4"
    assert told["forks.processes"] == "4"
    assert int(told["host.times"]) >= 5
