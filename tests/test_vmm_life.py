# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A VM's life on a board with KVM: its ends and armvisor's messages, exact exit counts, and control
of a running VM. The guests are a few instructions each.
"""

import json

import pytest
import vmm_board
from tiny_guests import (
    LOOP,
    MEMORY,
    NOTHING,
    RTC,
    SYSTEM_OFF,
    SYSTEM_RESET,
    WFI_LOOP,
    cbnz,
    image,
    ldp,
    ldr,
    load,
    psci,
    say,
    store,
)

pytestmark = vmm_board.on_one_board

MARK = "\x1e"

# Resets as long as its memory is as it was at first.
FIRST_TIME = [*load(2, 0x5A5A), store(2, 1), *say("boot\n"), *psci(SYSTEM_RESET)]
AGAIN = [*load(1, MEMORY), ldr(2, 1), cbnz(2, len(FIRST_TIME) + 1), *FIRST_TIME, *psci(SYSTEM_OFF)]

GUESTS = {
    "off": image(*psci(SYSTEM_OFF)),
    "reset": image(*psci(SYSTEM_RESET)),
    "again": image(*AGAIN),
    "pair": image(*load(1, RTC), ldp(2, 1), LOOP),
    "reads": image(*load(1, RTC), *[ldr(2, 1)] * 5, *psci(SYSTEM_OFF)),
    "hole": image(*load(1, NOTHING), *[ldr(2, 1)] * 2, *psci(SYSTEM_OFF)),
    "hello": image(*say("hello\n"), *psci(SYSTEM_OFF)),
    # More than KVM's ring of stores holds, and no end of line.
    "chatty": image(*say("0123456789" * 30), *psci(SYSTEM_OFF)),
    "waiting": image(*say("waiting"), *WFI_LOOP),
    "spinning": image(LOOP),
}

SCRIPT = """
part() { printf '\\036%s %s\\n' "$1" "$2"; }
once() {
    timeout 600 armvisor run --kernel /g/$1 --memory 32M --json --name $1 $2 >/out 2>/err </dev/null
    part $1 $?; cat /out; echo ---; cat /err
}
up() {
    armvisor run --kernel /g/$1 --name $1 ${2:---memory=32M} >/out 2>/err </dev/null & vm=$!
    for try in $(seq 6000); do armvisor list | grep -q "^$1 " && return; sleep 0.1; done
}
for guest in off reset pair reads hole hello chatty; do once $guest; done

for huge in off thp hugetlb; do
    echo 16 >/proc/sys/vm/nr_hugepages
    armvisor run --kernel /g/off --memory 32M --huge-pages $huge </dev/null; part huge-$huge $?
done
gzip -c /g/hello >/hello.gz
armvisor run --kernel /hello.gz --memory 32M </dev/null; part gzip $?

# Not INT: a shell makes programs in its background ignore it.
for signal in TERM HUP; do
    up spinning; kill -$signal $vm; wait $vm; part signal-$signal $?; cat /err
done
up spinning; armvisor stop spinning 2>/out; part stop-no-driver $?; cat /out
armvisor stop --force spinning; part stop-client $?
wait $vm; part stop $?; cat /err

up waiting --memory=32768K
# Half a line is shown although the guest says no more.
for try in $(seq 6000); do [ "$(cat /out)" = waiting ] && break; sleep 0.1; done
part half-line 0; cat /out; echo
part stat $?; armvisor stat waiting --json
part list-running $?; armvisor list; armvisor stat waiting
armvisor run --kernel /g/off --memory 32M --name waiting </dev/null 2>&1; part same-name $?
armvisor pause waiting; part pause $?; armvisor stat waiting --json
armvisor pause waiting; part pause-again $?
armvisor resume waiting; part resume $?; armvisor stat waiting --json
armvisor balloon waiting 8M 2>/err; part balloon $?; armvisor stat waiting --json; cat /err
armvisor balloon waiting 64M 2>/err; part balloon-too-large $?; cat /err
armvisor balloon nobody 1M 2>/err; part balloon-nobody $?
armvisor pause waiting; kill $vm; wait $vm; part end-while-paused $?

up spinning '--memory=32M --cpus=3'; part cpus $?; cat /err
armvisor pause spinning; part pause-cpus $?
armvisor stat spinning; kill -9 $vm; wait $vm
armvisor stat spinning 2>&1; part stat-killed $?
armvisor list; part list $?
part left 0; ls /run/armvisor
part lock 0
truncate -s 1M /disk
up waiting '--memory=32M --disk=/disk'
armvisor run --kernel /g/off --memory 32M --disk /disk 2>&1 </dev/null; part second-vm $?
kill $vm; wait $vm
armvisor run --kernel /g/off --memory 32M --disk /disk </dev/null; part after-lock $?
up again '--memory=32M --cpus=2 --on-reset=restart --disk=/disk --vsock=cid=3,uds=/v --console=/c'
for try in $(seq 6000); do
    armvisor stat again --json >/stat; grep -q '"resets":[1-9][0-9]' /stat && break; sleep 0.1
done
part again $?; cat /stat
armvisor pause again; part again-shares $?; grep -c rw-s /proc/$vm/maps; armvisor resume again
rm /g/again; wait $vm; part again-gone $?; cat /err; echo ---; cat /c
exit 0
"""


class Parts(dict[str, tuple[int, str]]):
    """The script's output under each mark, with the status; text before the mark is separate."""

    def report(self, name: str) -> dict:
        return json.loads(self[name][1].split("---")[0].splitlines()[-1])


def files() -> dict[str, bytes]:
    return {f"/g/{name}": data for name, data in GUESTS.items()} | {"/resets": RESETS.encode()}


@pytest.fixture(scope="module")
def parts() -> Parts:
    found = Parts()
    before = ""
    for part in vmm_board.part("life").text.split(MARK):
        head, _, said = part.partition("\n")
        if not before and not found and " " not in head:
            continue
        name, status = head.split()
        found[name] = (int(status), said)
    return found


def test_power_off_is_success(parts):
    status, said = parts["off"]
    assert status == 0
    assert said.endswith("---\n"), "nothing on standard error"
    assert parts.report("off")["end"] == {"reason": "power_off"}


def test_a_reset_has_its_own_code(parts):
    status, said = parts["reset"]
    assert status == 5 and "the guest asked for a reset" in said


def test_a_reset_can_start_the_vm_again_as_at_first(parts):
    status, said = parts["again"]
    assert status == 0
    stat = json.loads(said)
    assert stat["name"] == "again" and stat["resets"] >= 10 and len(stat["vcpus"]) == 2
    # Guest memory, and the pages that two vCPUs share with KVM: once, not once per reset.
    assert int(parts["again-shares"][1]) <= 10
    # The kernel is read anew each time. The guest would have powered off on seeing its own mark.
    status, said = parts["again-gone"]
    sentence, _, console = said.partition("---\n")
    assert status == 3 and "kernel /g/again: no such file" in sentence
    boots = console.split()
    assert set(boots) == {"boot"} and len(boots) > stat["resets"]


RESETS = """
for try in 1 2 3; do for told in 'armvisor stop --force vm' 'kill $vm'; do
    armvisor run --kernel /g/reset --name vm --memory 32M --on-reset restart 2>/err </dev/null &
    vm=$!
    until armvisor list | grep -q '^vm '; do kill -0 $vm || exit; sleep 0.1; done
    eval "$told" || echo "not told: $?"
    for look in $(seq 6000); do kill -0 $vm 2>/dev/null || break; sleep 0.1; done
    kill -9 $vm 2>/dev/null; wait $vm; echo $?
done; done
"""


def test_a_vm_that_only_resets_ends_when_it_is_told_to():
    """On one CPU the guest has often just reset its machine when the main thread hears of it."""
    assert vmm_board.part("resets").text.split() == ["8", "143"] * 3


def test_what_kvm_cannot_do_ends_with_a_sentence_and_the_registers(parts):
    status, said = parts["pair"]
    assert status == 7
    assert "KVM cannot go on with the guest: " in said
    assert "pc=" in said and "x30=" in said
    assert "panicked" not in said


def test_the_registers_are_the_guests(parts):
    words = parts["pair"][1].replace("\n", " ").split()
    assert f"x1={RTC:016x}" in words
    assert "pc=0000000040000048" in words


def test_exits_are_counted_exactly(parts):
    exits = parts.report("reads")["exits"]
    assert exits["mmio_user_read"] == 5
    assert exits["mmio_user_write"] == 0
    assert exits["system_event"] == 1


def test_kvms_own_counts_agree(parts):
    assert parts.report("reads")["kvm_exits"]["mmio_user"] == 5


def test_a_hole_is_read_and_survived(parts):
    assert parts["hole"][0] == 0
    assert parts.report("hole")["exits"]["mmio_user_read"] == 2


def test_characters_take_no_exit_and_arrive(parts):
    report = parts.report("hello")
    assert parts["hello"][1].startswith("hello\n")
    assert report["exits"]["mmio_user_write"] == 0
    assert report["kvm_exits"]["mmio_kernel"] == len("hello\n")


def test_more_characters_than_the_ring_holds_arrive_in_order(parts):
    assert parts["chatty"][1].startswith("0123456789" * 30 + "{")


@pytest.mark.parametrize(("signal", "code"), [("TERM", 143), ("HUP", 129)])
def test_signals_end_a_spinning_guest(parts, signal, code):
    status, said = parts[f"signal-{signal}"]
    assert status == code, said
    assert f"killed by signal {code - 128}" in said


def test_a_forced_stop_ends_a_spinning_guest(parts):
    status, said = parts["stop-no-driver"]
    assert status == 10 and "no driver for the power button" in said and "--force" in said
    assert parts["stop-client"][0] == 0
    assert parts["stop"][0] == 8
    assert "stopped by armvisor stop --force" in parts["stop"][1]


@pytest.mark.parametrize("huge", ["off", "thp", "hugetlb"])
def test_every_kind_of_memory_runs_a_guest(parts, huge):
    assert parts[f"huge-{huge}"][0] == 0


def test_a_gzipped_kernel_runs(parts):
    assert parts["gzip"][0] == 0
    assert parts["huge-hugetlb"][1] == "hello\n"


def test_half_a_line_is_shown(parts):
    assert parts["half-line"][1] == "waiting\n"


def test_states_are_told(parts):
    def state(name: str) -> str:
        return json.loads(parts[name][1].splitlines()[0])["state"]

    assert [state(name) for name in ("stat", "pause", "resume")] == ["running", "paused", "running"]
    assert parts["pause"][0] == parts["pause-again"][0] == parts["resume"][0] == 0


def test_stat_has_exits_and_devices(parts):
    stat = json.loads(parts["stat"][1].splitlines()[0])
    assert stat["vcpus"][0]["kvm"]["mmio_kernel"] == len("waiting")
    assert {device["name"].split("-")[1] for device in stat["devices"]} >= {"rng", "balloon"}


def test_a_balloon_without_a_driver_is_told(parts):
    status, said = parts["balloon"]
    assert status == 10 and "its guest has no balloon driver at work" in said
    devices = json.loads(said.splitlines()[0])["devices"]
    balloon = next(d["counters"] for d in devices if d["name"].endswith("balloon"))
    assert (balloon["target_pages"], balloon["actual_pages"]) == (0, 0)


def test_a_balloon_is_within_the_memory(parts):
    status, said = parts["balloon-too-large"]
    assert status != 0 and "a balloon of 64M is larger than the guest's memory, 32M" in said
    assert parts["balloon-nobody"][0] == 9


def test_names_are_unique(parts):
    assert parts["same-name"][0] == 4


def test_a_paused_vm_can_be_ended(parts):
    assert parts["end-while-paused"][0] == 143


def test_more_cpus_than_the_host_has_are_warned_of(parts):
    assert parts["cpus"][1].startswith("armvisor: warn: --cpus 3: the host has 2, ")


def test_all_cpus_pause(parts):
    status, said = parts["pause-cpus"]
    assert status == 0 and "spinning: paused" in said and "3 vCPU(s)" in said


def test_the_list_has_a_heading_and_the_memory_as_it_was_typed(parts):
    heading, vm, stat = [line.split() for line in parts["list-running"][1].splitlines()[:3]]
    assert heading[:5] == ["NAME", "STATE", "PID", "CPUS", "MEMORY"]
    assert [vm[0], vm[1], vm[3], vm[4]] == ["waiting", "running", "1", "32768K"]
    assert "32768K of memory" in " ".join(stat)


def test_a_killed_vm_is_cleaned_up(parts):
    assert parts["stat-killed"][0] == 9
    assert parts["list"] == (0, "")
    assert parts["left"] == (0, "")


def test_two_vms_do_not_share_a_disk(parts):
    assert parts["second-vm"][0] == 4
    assert parts["after-lock"][0] == 0
