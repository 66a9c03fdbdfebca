# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Guests with several vCPUs on the module, on counted boards: vCPUs that wake each other."""

import json

from built import module
from guest_runs import results

from armvisor_lab.board import Board
from armvisor_lab.figures import artefacts

KERNEL = "stable"
MARK = "\x1e"


IPI = """
run() { armvisor run --json --kernel /g/ipi --cpus 2 --memory 64M </dev/null || exit; }
run
printf '\\036'
echo 0 >/sys/module/armvisor/parameters/halt_poll_ns
run
"""


def test_vcpus_that_wait_for_each_other_poll_first():
    """Where nobody else wants the CPU; and not at all where the host's owner does not want it."""
    files = {"/g/ipi": artefacts.bare("ipi"), "/bin/armvisor": artefacts.vmm()}
    files |= {"/armvisor.ko": module(KERNEL), "/script": f"insmod /armvisor.ko\n{IPI}".encode()}
    done = Board(files=files, count=True, smp=2, timeout=400).run(["sh", "/script"])
    assert not done.failure and done.status == 0, f"{done.failure}\n{done.text}\n{done.stderr}"
    parts = done.text.split(MARK)
    costs = [float(results(part)["ipi.cost"]) for part in parts]
    polling, sleeping = (json.loads(part.splitlines()[-1])["kvm_exits"] for part in parts)
    # An interrupt that is there before the WFI ends it at once: how many are depends on where
    # the board's CPUs take turns, and so on the size of what the board runs.
    assert polling["halt_successful_poll"] > polling["wfi"] / 2 > 500
    assert polling["halt_attempted_poll"] >= polling["halt_successful_poll"]
    assert polling["halt_wakeup"] < polling["wfi"] / 50
    assert sleeping["halt_attempted_poll"] == 0
    assert sleeping["halt_wakeup"] > sleeping["wfi"] / 2 > 500
    assert costs[0] < costs[1]
