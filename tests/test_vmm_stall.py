# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A disk whose sync does not end: what a guest's other CPUs, and the VM's user, can do meanwhile.

`hold` keeps armvisor's fdatasync() waiting until the script has seen the expected event. No verdict
depends on a clock: the limits below only end a run in which nothing happens.
"""

import json
from pathlib import Path

import pytest
import vmm_board

from armvisor_lab.figures import artefacts

pytestmark = vmm_board.on_one_board

MARK = "\x1e"

SCRIPT = """
part() { printf '\\036%s %s\\n' "$1" "$2"; }
await() { for try in $(seq 6000); do eval "$1" && return; sleep 0.1; done; return 1; }
lines() { grep -c 'both CPUs get on' /$1; }
begin() {
    mkdir /hold-$1
    hold /hold-$1 armvisor run --kernel /g/stall --memory 32M --cpus 2 --disk /disk --name $1 \\
        >/$1 2>/$1.err </dev/null & vm=$!
    await "[ -e /hold-$1/held ]"; part $1-held $?
}
ended() {
    await "! kill -0 $vm 2>/dev/null" || kill -9 $vm
    wait $vm; part $1 $?; cat /$1 /$1.err
}
truncate -s 1M /disk

begin served
before=$(lines served)
await '[ $(lines served) -ge $((before + 3)) ]'; part get-on $?
armvisor stat served --json; part stat $?
armvisor pause served 2>/said; part pause $?; cat /said
before=$(lines served)
await '[ $(lines served) -ge $((before + 3)) ]'; part get-on-after-pause $?
touch /hold-served/go; ended served

begin stopped
armvisor stop --force stopped; part stop $?
ended stopped

begin killed
set -- $(armvisor list | grep '^killed '); kill -TERM $3; part kill $?
ended killed
part end 0; armvisor list; part list $?
exit 0
"""


def files() -> dict[str, Path]:
    return {"/bin/hold": artefacts.tool("hold"), "/g/stall": artefacts.bare("stall")}


@pytest.fixture(scope="module")
def parts() -> dict[str, tuple[int, str, str]]:
    """Status of each step, what was printed before its mark, and what after it."""
    found = {}
    before, *marked = vmm_board.part("stall").text.split(MARK)
    for part in marked:
        head, _, said = part.partition("\n")
        name, status = head.split()
        found[name] = (int(status), before, said)
        before = said
    return found


def test_cpus_get_on_while_the_disk_does_not(parts):
    assert parts["served-held"][0] == 0, "no fdatasync"
    assert parts["get-on"][0] == 0, "a CPU waits for the disk"


def test_the_vm_can_be_looked_at(parts):
    status, said, _ = parts["stat"]
    assert status == 0
    disk = next(d for d in json.loads(said)["devices"] if d["name"].endswith("block"))
    # The guest's write is at its sync: it has not been counted yet.
    assert disk["counters"]["writes"] == 0 and disk["counters"]["notifications"] > 0


def test_a_pause_that_cannot_be_is_refused_and_the_guest_goes_on(parts):
    status, _, said = parts["pause"]
    assert status == 4 and "the VM goes on" in said
    assert parts["get-on-after-pause"][0] == 0


def test_the_write_is_answered_when_the_disk_is(parts):
    status, _, said = parts["served"]
    assert status == 0
    assert "result stall.failures 0 count" in said


@pytest.mark.parametrize(("name", "code"), [("stopped", 8), ("killed", 143)])
def test_the_vm_can_be_ended(parts, name, code):
    assert parts[f"{name}-held"][0] == 0
    status, _, said = parts[name]
    assert status == code, said
    assert "a device waits for the host" in said
    assert parts["list"][:2] == (0, "")
