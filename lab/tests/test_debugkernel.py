# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Options that a kernel with checkers must have been built with."""

from armvisor_lab.archive import debugkernel


def test_a_later_line_unsets():
    lines = ["CONFIG_A=y", "# CONFIG_B=y", "CONFIG_C=y", "", "# CONFIG_A is not set", "CONFIG_D=m"]
    assert debugkernel.options("\n".join(lines)) == ["CONFIG_C=y", "CONFIG_D=m"]
    assert debugkernel.options("# CONFIG_A is not set\nCONFIG_A=y") == ["CONFIG_A=y"]
    assert debugkernel.options("CONFIG_AB=y\n# CONFIG_A is not set") == ["CONFIG_AB=y"]
    assert debugkernel.options("CONFIG_A=1\nCONFIG_A=2") == ["CONFIG_A=2"]


def test_a_guest_ticks_less_often():
    board, guest = map(debugkernel.fragment_of, ("board", "guest"))
    assert "CONFIG_HZ_250=y" in debugkernel.options(board)
    assert not {"CONFIG_HZ_250=y"} & set(debugkernel.options(guest))
    assert "CONFIG_HZ_100=y" in debugkernel.options(guest)
