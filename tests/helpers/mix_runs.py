# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A protected Debian guest on the module that uses all its devices at once, through
armvisor_bounce.ko: random requests of a disk, echoes over network and vsock, random numbers.

In rounds: drivers and bounce module are loaded, each time in another mode, and unloaded.
"""

from collections.abc import Mapping
from pathlib import Path

from built import module
from guest_runs import results

from armvisor_lab.boards.board import Board
from armvisor_lab.boards.cpio import Cpio
from armvisor_lab.boards.initramfs import Module
from armvisor_lab.figures import artefacts

# The parameters of each round. The smallest pool is that of a disk of 254 parts.
ROWS = (
    "mode=slots", "mode=areas", "mode=split-cache", "mode=hybrid", "mode=split-cache+pool=5120K",
    "mode=hybrid+pool=5120K",
)  # fmt: skip
# A quarter of the pace of `make test-work`: one guest of two CPUs has fewer ticks to serve.
PACE_NS = 16
# A kernel with checkers takes minutes of its own time to boot. A message that it prints once must
# still be in its log at the end.
PATIENCE = "sysctl.kernel.hung_task_timeout_secs=600 log_buf_len=8M"

SCRIPT = """
tap tap0 10.0.2.1/24 || exit 1
truncate -s 64M /tmp/disk
# A round is a connection each, the last one's successors wait in vain.
(while :; do stream echo tcp:10.0.2.1:5001 || sleep 1; done) & others=$!
(while :; do stream echo unix:/tmp/v_5006 || sleep 1; done) & others="$others $!"
armvisor run --kernel /guest/Image --initrd /guest/initrd --cpus 2 --memory {memory}M --protected \\
    --disk /tmp/disk --net tap=tap0 --vsock cid=3,uds=/tmp/v \\
    --append "quiet {patience} armvisor.test=mix armvisor.seconds={seconds} armvisor.rows={rows}" \\
    </dev/null
status=$?
kill $others
exit $status
"""


def mix(
    guest: Mapping[str, Path], bounce: Path, seconds: int, memory: int, sectors: int, times: int
) -> dict[str, str]:
    """Output of a guest (Image, initrd) after so many seconds of its clock, on a paced board.

    In each round it must have read more than that many sectors with known content, and used each of
    the other devices so many times.
    """
    added = Cpio()
    added.file("modules/armvisor_bounce.ko", bounce.read_bytes())
    added.file("bin/mix", artefacts.tool("mix").read_bytes(), 0o755)
    script = SCRIPT.format(memory=memory, seconds=seconds, rows=",".join(ROWS),
                           patience=PATIENCE)  # fmt: skip
    board = Board(
        kernel="stable",
        modules=["tun", Module(str(module("stable")))],
        files={
            "/bin/armvisor": artefacts.vmm(),
            "/bin/tap": artefacts.tool("tap"),
            "/bin/stream": artefacts.tool("stream"),
            "/guest/Image": guest["Image"],
            "/guest/initrd": guest["initrd"].read_bytes() + added.finish(),
            "/script": script.encode(),
        },
        memory=768 + memory, smp=2, paced=True, pace_ns=PACE_NS, timeout=1800 + 4 * seconds,
    )  # fmt: skip
    # Shown as it comes: it may take an hour.
    done = board.run(
        ["sh", "/script"], on_stdout=lambda data: print(data.decode("latin-1"), end="", flush=True)
    )
    said = done.stderr.decode("utf-8", "replace")[-3000:]
    assert not done.failure and done.status == 0, f"{done.failure}\n{done.text[-6000:]}\n{said}"
    told = results(done.text)
    assert told["guest.mix.failures"] == told["guest.failures"] == told["work.complaints"] == "0", (
        done.text[-6000:]
    )
    assert int(told["mix.seconds"]) >= seconds
    assert int(told["mix.rounds"]) >= len(ROWS)
    assert int(told["mix.checked"]) > sectors * int(told["mix.rounds"])
    # The other devices worked while the disk did; a stock guest is quick enough for more.
    for device in ("net", "vsock", "rng"):
        assert int(told[f"mix.{device}"]) >= times * int(told["mix.rounds"]), (device, told)
    return told
