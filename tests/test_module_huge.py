# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Huge pages: 2 MiB that guest and host both map as a block is one entry of the shadow tables.

`guests/bare/touch` writes to every page of 64 MiB, which it maps by blocks. `stale` of
`module/tests/kvm` has its pages in a block, which the VMM replaces, punches, protects, shares,
swaps, merges, logs and collapses while the guest reads it. tests/test_module_bounds.py tests that
very many blocks delay nobody.
"""

import json
from pathlib import Path

import pytest
from built import module
from guest_runs import MARK, results
from test_module_stale import BLOCKS as CHANGES
from test_module_stale import of_rows, on_one_board, passed, run

from armvisor_lab.boards.board import Board
from armvisor_lab.figures import artefacts

KERNELS = [
    "stable",
    pytest.param("oldstable", marks=pytest.mark.conformance),
    pytest.param("newest", marks=pytest.mark.conformance),
]

PAGES = (64 << 20) // 4096
BLOCKS = (64 << 20) // (2 << 20)

SCRIPT = f"""
insmod /armvisor.ko
echo 100 >/proc/sys/vm/nr_hugepages
run() {{
    printf '{MARK}%s-%s\\n' $1 $2
    echo $2 >/sys/module/armvisor/parameters/huge_pages
    armvisor run --json --kernel /touch --memory 192M --append mebibytes=64 \\
        --huge-pages $1 </dev/null
}}
run off Y; run thp N; run thp Y; run hugetlb Y
"""


@pytest.fixture(scope="module", params=KERNELS)
def exits(request: pytest.FixtureRequest) -> dict[str, dict[str, int]]:
    """Statistics of a touch of 64 MiB, by the host's pages and the module's parameter."""
    files: dict[str, Path | bytes] = {
        "/touch": artefacts.bare("touch"),
        "/bin/armvisor": artefacts.vmm(),
        "/armvisor.ko": module(request.param),
        "/script": SCRIPT.encode(),
    }
    board = Board(kernel=request.param, files=files, memory=1024, timeout=400)
    told: dict[str, dict[str, int]] = {}
    for part in board.run(["sh", "/script"]).check().text.split(MARK)[1:]:
        name, _, text = part.partition("\n")
        assert results(text)["touch.failures"] == "0", text
        report = json.loads(text.rstrip().rpartition("\n")[2])
        told[name] = report["kvm_exits"] | report["kvm"]
    return told


one_board = pytest.mark.xdist_group("huge")


@one_board
@pytest.mark.parametrize("huge", ["thp", "hugetlb"])
def test_a_hidden_fault_is_2_mib(exits: dict[str, dict[str, int]], huge: str):
    small, blocks = exits["off-Y"], exits[f"{huge}-Y"]
    assert small["dabt_hidden_translation"] >= PAGES
    assert blocks["dabt_hidden_translation"] <= small["dabt_hidden_translation"] / 100
    assert blocks["pages_2m"] >= BLOCKS and blocks["pages_4k"] < 512, blocks
    assert blocks["shadow_block_fill"] >= BLOCKS, blocks


@one_board
def test_nothing_is_a_block_where_host_or_owner_do_not_want_it(exits: dict[str, dict[str, int]]):
    for way in ("off-Y", "thp-N"):
        assert exits[way]["pages_2m"] == exits[way]["shadow_block_fill"] == 0, way
        assert exits[way]["pages_4k"] >= PAGES, way


@pytest.mark.conformance
def test_blocks_of_kvms():
    run("stable", f"HUGE=1 {CHANGES}")


@on_one_board
def test_a_block_changes_under_its_guest():
    passed(of_rows(), "blocks")


@pytest.mark.conformance
@pytest.mark.parametrize("kernel", ["oldstable", "newest"])
def test_a_block_changes_under_its_guest_on_other_kernels(kernel: str):
    run(kernel, f"HUGE=must {CHANGES}", cheap=255)


@on_one_board
def test_pages_of_the_hosts_block_change_under_their_guest():
    """A page of the host's block tells of its neighbours, which the guest maps by pages."""
    passed(of_rows(), "pages-of-a-block")


@pytest.mark.conformance
@pytest.mark.parametrize("cheap", [127, 247, 119, 0])
def test_blocks_with_less_that_is_cheap(cheap: int):
    run("stable", f"HUGE=must {CHANGES}", cheap=cheap)


@pytest.mark.conformance
@pytest.mark.parametrize("kernel", ["oldstable", "stable", "newest"])
def test_a_block_changes_for_longer(kernel: str):
    words = "HUGE=must TIMES=20 ROUNDS=200 /stale replaced kept logged"
    run(kernel, words, cheap=255, timeout=900)
