# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Debian's own QEMU on the module: an unmodified program that uses KVM's API.

It boots the Debian test guest with its devices where QEMU and the host's kernel have them: disks on
virtio-mmio and PCI, user networking, vhost-net, vhost-vsock, a folder over 9p; on four CPUs,
without the ITS; saved and loaded; under gdb.
"""

import shlex

import pytest
import qemu_runs
from built import TOP, make

# The disk of each of the two runs. The second one's interrupts are MSI-X: messages to the ITS,
# which QEMU sends by irqfds or by KVM_SIGNAL_MSI.
RUNS = (
    ("virtio-blk-device", "disk-write,interrupts"),
    ("virtio-blk-pci,romfile=", "disk-check,interrupts"),
)
DISK = "-drive file=/tmp/disk,format=raw,if=none,id=disk -device virtio-blk-pci,drive=disk,romfile="


def guest(test: str, words: str) -> str:
    """A VM that runs tests of the guest, with its console on standard output."""
    line = f"console=ttyAMA0 quiet armvisor.bytes={1 << 20} armvisor.test={test}"
    return f"vm -serial stdio -monitor none {words} -append {shlex.quote(line)} </dev/null"


def check_guests(text: str, number: int) -> None:
    assert text.count("This is Debian in a VM") == number, text[-3000:]
    assert text.count("result guest.failures 0 count") == number, text[-3000:]


def results(lines: list[str], name: str) -> list[str]:
    return [line.split()[1] for line in lines if line.startswith(f"{name} ")]


@pytest.mark.conformance
def test_debian_boots_with_its_disk():
    drive = "-drive file=/tmp/disk,format=raw,if=none,id=disk -nic none"
    script = ["truncate -s 16M /tmp/disk"]
    script += [guest(test, f"{drive} -device {device},drive=disk") for device, test in RUNS]
    done = qemu_runs.run("\n".join([*script, "rmmod armvisor"]))
    told = qemu_runs.lines(done, "result")
    check_guests(done.text, len(RUNS))
    # Both runs saw the same file.
    sums = results(told, "disk.checksum")
    assert len(sums) == len(RUNS) and len(set(sums)) == 1, sums
    wired, messages = interrupts(qemu_runs.lines(done, "interrupt"))
    # The disk on virtio-mmio had interrupts by its line, the one on PCI by messages.
    assert all(int(words[1]) > 10 for words in wired if words[-1].startswith("virtio")), wired
    assert any(int(words[1]) > 10 for words in messages if "req" in words[-1]), messages


def interrupts(lines: list[str]) -> tuple[list[list[str]], list[list[str]]]:
    """Lines of /proc/interrupts (number, counts by CPU, chip, …, device): of lines, of messages."""
    wired = [line.split() for line in lines if "ITS" not in line]
    messages = [line.split() for line in lines if "ITS" in line]
    assert wired or messages
    return wired, messages


def test_edk2_starts_a_kernel():
    """The firmware runs from read-only memory, with its own tables, and finds QEMU's kernel.

    That one's disk, on PCI, has its interrupts by messages; its random numbers, on virtio-mmio,
    have them by a line.
    """
    words = f"-bios /firmware -nic none {DISK} -device virtio-rng-device"
    script = ["truncate -s 16M /tmp/disk", guest("disk-write,disk-check,rng,interrupts", words)]
    done = qemu_runs.run("\n".join([*script, "rmmod armvisor"]), firmware=True)
    told = qemu_runs.lines(done, "result")
    assert int(results(told, "rng.bytes")[0]) >= 64
    check_guests(done.text, 1)
    assert "UEFI firmware (version " in done.text
    sums = results(told, "disk.checksum")
    assert len(sums) == 2 and len(set(sums)) == 1, sums
    wired, messages = interrupts(qemu_runs.lines(done, "interrupt"))
    assert any(int(words[1]) > 2 for words in wired if words[-1].startswith("virtio")), wired
    assert any(int(words[1]) > 10 for words in messages if "req" in words[-1]), messages


def check_network(told: list[str]) -> None:
    for what in ("bytes", "checksum"):
        assert results(told, f"send.{what}") == results(told, f"receive.{what}") != []
    assert results(told, "send.bytes") == [str(1 << 20)]


@pytest.mark.conformance
def test_user_networking_and_vhost_vsock_without_its():
    words = "-M its=off -nic none -netdev user,id=net -device virtio-net-pci,netdev=net,romfile= "
    words += f"-device vhost-vsock-pci,guest-cid=3 {DISK}"
    line = "disk-write,net,vsock,interrupts armvisor.ip=10.0.2.15/24 armvisor.peer=10.0.2.2"
    script = f"""
        truncate -s 16M /tmp/disk
        stream receive tcp:127.0.0.1:5001 & others=$!
        stream echo vsock:any:5006 & others="$others $!"
        stream check vsock:3:5005 100000 & others="$others $!"
        {guest(line, words)}
        wait $others
    """
    done = qemu_runs.run(script, modules=["vhost_vsock"])
    told = qemu_runs.lines(done, "result")
    check_guests(done.text, 1)
    check_network(told)
    assert sorted(results(told, "echo.bytes")) == ["100000", "1000000"]
    wired, messages = interrupts(qemu_runs.lines(done, "interrupt"))
    assert not messages and all(int(words[1]) > 10 for words in wired), wired


@pytest.mark.conformance
def test_vhost_net_on_four_cpus():
    words = f"-smp 4 -m 512 {DISK} -device virtio-net-pci,netdev=net,romfile= "
    words += "-netdev tap,id=net,ifname=tap0,script=no,downscript=no,vhost=on"
    script = f"""
        truncate -s 16M /tmp/disk
        tap tap0 10.0.2.1/24
        stream receive tcp:10.0.2.1:5001 & other=$!
        {guest("disk-write,net,cpus,interrupts", words)}
        wait $other
    """
    done = qemu_runs.run(script, modules=["tun", "vhost_net"])
    told = qemu_runs.lines(done, "result")
    check_guests(done.text, 1)
    check_network(told)
    assert results(told, "guest.cpus") == ["4"]
    _wired, messages = interrupts(qemu_runs.lines(done, "interrupt"))
    assert sum(int(words[cpu]) for words in messages for cpu in range(1, 5)) > 50, messages


@pytest.mark.conformance
def test_a_folder_over_9p():
    make(str(TOP / "guests"), "generic")
    words = "-nic none -device virtio-9p-pci,fsdev=share,mount_tag=share "
    words += "-fsdev local,id=share,path=/tmp/share,security_model=none"
    script = f"""
        mkdir /tmp/share
        seq 100000 >/tmp/share/host
        {guest("9p", words)}
        cmp /tmp/share/host /tmp/share/guest
        answer same
    """
    done = qemu_runs.run(script, guest="stable-generic")
    assert qemu_runs.lines(done, "answer") == ["same"]
    check_guests(done.text, 1)


SAVE = """
qemu-img create -q -f qcow2 /tmp/disk 16M
saved() {
    shell -drive file=/tmp/disk,format=qcow2,if=none,id=disk -nic none \\
        -device virtio-blk-pci,drive=disk,romfile= \\
        -monitor tcp:127.0.0.1:4446,server=on,wait=off "$@"
    open monitor 4446 6
}
tell() { grep -E '^(up|slept|reads) ' /tmp/serial | sed 's/^/answer /'; }
# What a shell knows and the clock, then a command for the monitor and a sum that says it is done.
ask() { echo "read -r up _ </proc/uptime; echo up $1 \\$up \\$x" >&5; await serial "up $1 "; }
command() { echo "$2" >&6; echo "p $1" >&6; await monitor "$(printf '0x%x' $1)"; }
saved; await serial BusyBox
echo 'x=before' >&5; ask 1
command 1001 'savevm one'
echo 'x=after' >&5; ask 2
command 1002 'loadvm one'
ask 3
echo quit >&6; wait $vm
tell
saved -loadvm one
ask 4
echo 'echo written >/dev/vda; sync; echo 3 >/proc/sys/vm/drop_caches' >&5
echo 'read -r word </dev/vda; echo reads $word; sleep 2; echo slept $?; poweroff -f' >&5
wait $vm
tell
"""


@pytest.mark.conformance
def test_savevm_and_loadvm():
    done = qemu_runs.run(SAVE, more=[("qemu-utils", "usr/bin/qemu-img")])
    told = [line.split() for line in qemu_runs.lines(done, "answer")]
    seen = {words[1]: words[2:] for words in told if words[0] == "up"}
    # A shell variable has its value from the time of saving, in the same QEMU and in another.
    assert [seen[n][1] for n in "1234"] == ["before", "after", "before", "before"]
    # The guest's clock continues from there: host time in between is not visible.
    up = {n: float(words[0]) for n, words in seen.items()}
    assert up["1"] <= up["3"] < up["1"] + 5 and up["1"] <= up["4"] < up["1"] + 15, up
    # It continues: timers and the disk's interrupts arrive.
    assert ["reads", "written"] in told and ["slept", "0"] in told


GDB = r"""
shell -m 256 -nic none -monitor none -gdb tcp:127.0.0.1:1234
await serial BusyBox
echo 'grep -E " (el0t_64_sync_handler|__arm64_sys_sethostname|init_uts_ns)$" /proc/kallsyms' >&5
echo 'echo "symbols ""end"' >&5
await serial 'symbols end'
symbol() { echo "0x$(sed -n "s/ . $1.*//p" /tmp/serial)"; }
exception=$(symbol el0t_64_sync_handler)
call=$(symbol __arm64_sys_sethostname)
names=$(symbol init_uts_ns)
cat >/tmp/commands <<END
set confirm off
set pagination off
set architecture aarch64
target remote 127.0.0.1:1234
shell echo 'hostname watching; hostname second-name; hostname third' >/tmp/serial.in
hbreak *$exception
continue
printf "answer hbreak +%ld\n", \$pc - $exception
stepi
printf "answer step +%ld\n", \$pc - $exception
stepi
printf "answer step +%ld\n", \$pc - $exception
delete
watch *(unsigned long *)($names + 64)
continue
printf "answer watch %s\n", (char *)($names + 65)
delete
break *$call
continue
printf "answer break +%ld\n", \$pc - $call
delete
detach
END
gdb -nx -batch -x /tmp/commands 2>&1
echo 'echo "name $(hostname)"; poweroff -f' >&5
wait $vm
grep '^name ' /tmp/serial | sed 's/^/answer /'
"""


@pytest.mark.conformance
def test_gdb_stops_and_steps_a_kernel():
    """Breakpoints of both kinds, steps, a watchpoint on memory that a system call writes.

    Steps are where interrupts are masked: elsewhere a step may end in an interrupt's vector, as on
    KVM.
    """
    done = qemu_runs.run(GDB, more=[("gdb", "usr/bin/gdb")])
    told = [line.strip() for line in qemu_runs.lines(done, "answer")]
    assert told == [
        "hbreak +0", "step +4", "step +8", "watch watching", "break +0", "name third",
    ], done.text[-3000:]  # fmt: skip
