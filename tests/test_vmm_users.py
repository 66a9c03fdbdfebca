# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""VMs of several users on one board with KVM: root sees and stops them, users see only their own,
and nobody can trick root into anything else.
"""

import json

import pytest
import vmm_board
from tiny_guests import WFI_LOOP, image

pytestmark = vmm_board.on_one_board

MARK = "\x1e"

# anna has no directory that the system made, bert has one.
SCRIPT = """
part() { printf '\\036%s %s\\n' "$1" "$2"; }
await() { for try in $(seq 6000); do eval "$1" && return; sleep 0.1; done; return 1; }
as() { su "$1" -c "$2" 2>&1; }
run() {
    echo "exec armvisor run --kernel /g/wfi --memory 32M --console none --name $2" >/run-$1-$2
    su $1 -c "sh /run-$1-$2" </dev/null >/out-$1-$2 2>&1 &
    await "armvisor list 2>/dev/null | grep -q '^$2 .* $1\\$'"; part $1-runs-$2 $?
}
for user in root:x:0:0 anna:x:1000:1000 bert:x:1001:1001; do
    echo "$user::/tmp:/bin/sh"
done >/etc/passwd
chmod 666 /dev/kvm; chmod 1777 /tmp
mkdir -p /run/user/1001; chown 1001:1001 /run/user/1001; chmod 700 /run/user/1001
unset XDG_RUNTIME_DIR

armvisor list >/dev/console; part none-on-a-terminal $?
part none 0; armvisor list
run anna web; run bert web; run anna db
part list 0; armvisor list
part list-json 0; armvisor list --json
part list-anna 0; as anna "armvisor list"
part by-name 0; armvisor stat db --json
part ambiguous 0; armvisor stat web 2>&1; part ambiguous-status $?
part by-user 0; armvisor stat bert/web --json
as anna "armvisor stat bert/web"; part not-hers $?
as anna "armvisor stop --force web"; part her-own $?

# A user's directory may have anything in it.
ln -s /run/armvisor/roots.sock /run/user/1001/armvisor/trap.sock
armvisor run --kernel /g/wfi --memory 32M --console none --name roots </dev/null >/dev/null 2>&1 &
vm=$!
await "[ -e /run/armvisor/roots.sock ]"
armvisor stop --force bert/trap 2>&1; part trap $?
armvisor stop --force trap 2>&1; part trap-by-name $?
armvisor stat roots --json >/dev/null; part roots-runs $?
mv /run/user/1001/armvisor /run/user/1001/moved; ln -s /run/armvisor /run/user/1001/armvisor
armvisor stop --force bert/roots 2>&1; part trap-folder $?
rm /run/user/1001/armvisor; mv /run/user/1001/moved /run/user/1001/armvisor
mkdir /tmp/armvisor-1001; chown 1000:1000 /tmp/armvisor-1001; part posing 0; armvisor list
armvisor stop --force roots; wait $vm; part roots-ends $?

armvisor stop --force bert/web; part stop-bert $?
armvisor stop --force db; part stop-db $?
await "! armvisor list | grep -q ."; part all-gone $?
exit 0
"""


def files() -> dict[str, bytes]:
    return {"/g/wfi": image(*WFI_LOOP)}


@pytest.fixture(scope="module")
def parts() -> dict[str, tuple[int, str, str]]:
    """Status of each step, what was printed before its mark, and what after it."""
    users = vmm_board.part("users")
    found = {"console": (0, "", users.console)}
    before, *marked = users.text.split(MARK)
    for part in marked:
        head, _, said = part.partition("\n")
        name, status = head.split()
        found[name] = (int(status), before, said)
        before = said
    return found


LOOKED = "looked in /run/armvisor, /run/user/0/armvisor, /tmp/armvisor-0, "


def test_an_empty_list_says_on_a_terminal_where_it_looked(parts):
    assert f"no VM runs ({LOOKED}" in parts["console"][2]
    assert parts["none"][2] == "", "nothing for a program to read"


def test_root_sees_the_vms_of_all_users(parts):
    for name in ("anna-runs-web", "bert-runs-web", "anna-runs-db"):
        assert parts[name][0] == 0
    heading, *vms = [line.split() for line in parts["list"][2].splitlines()]
    assert heading[-1] == "USER"
    assert [(vm[0], vm[-1]) for vm in vms] == [("db", "anna"), ("web", "anna"), ("web", "bert")]
    stats = json.loads(parts["list-json"][2])
    assert [(stat["name"], stat["user"]) for stat in stats] == [
        ("db", "anna"),
        ("web", "anna"),
        ("web", "bert"),
    ]


def test_users_see_their_own(parts):
    vms = [line.split() for line in parts["list-anna"][2].splitlines()[1:]]
    assert [(vm[0], vm[-1]) for vm in vms] == [("db", "anna"), ("web", "anna")]
    status, said, _ = parts["not-hers"]
    assert status == 4
    assert "VM bert/web: it is another user's; run the command as that user, or as root" in said
    assert parts["her-own"][0] == 0


def test_root_names_a_vm_by_its_user_where_it_must(parts):
    assert json.loads(parts["by-name"][2])["name"] == "db"
    assert "VM web: several users have one; write " in parts["ambiguous"][2]
    assert "anna/web" in parts["ambiguous"][2] and "bert/web" in parts["ambiguous"][2]
    assert parts["ambiguous-status"][0] == 2
    assert '"name":"web"' in parts["by-user"][2]


def test_no_link_leads_root_elsewhere(parts):
    assert parts["trap"][0] == parts["trap-by-name"][0] == parts["trap-folder"][0] == 9
    assert parts["roots-runs"][0] == 0, "root's own VM was stopped through a user's link"
    assert [line.split()[-1] for line in parts["posing"][2].splitlines()[1:]] == [
        "anna",
        "root",
        "bert",
    ]
    assert parts["roots-ends"][0] == 8


def test_root_stops_the_vms_of_users(parts):
    assert parts["stop-bert"][0] == parts["stop-db"][0] == 0
    assert parts["all-gone"][0] == 0
