# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Applications in a guest on the module: alone, on a disk, and as servers for the board.

The figures `app.*` run the whole set; here, each piece of their set-up must work, with bounce
buffers and without.
"""

import pytest
from built import apps_disk, bounce, module

from armvisor_lab.figures import applications, apps

pytestmark = pytest.mark.conformance

PROGRAMS = ("hackbench", "netperf", "redis", "sqlite")
ROWS = {row for name in PROGRAMS for row in apps.PROGRAMS[name]}


@pytest.mark.parametrize("way", ("armvisor", "armvisor-pvm-opt", "kvm-pvm"))
def test_applications_do_their_work(way: str):
    module("stable")
    bounce("stable")
    apps_disk()
    here = next(each for each in apps.WAYS if each.name == way)
    done = apps.board(here).run(["sh", "-c", apps.script(here, PROGRAMS)]).check()
    here.check(done.text)
    values, wrong = applications.samples(done.text)
    assert set(values) == ROWS and not wrong
    assert all(
        len(each) == (6 if row.startswith("netperf") else 2) and min(each) > 0
        for row, each in values.items()
    ), values


def test_an_application_that_there_is_not_fails_the_guest():
    module("stable")
    bounce("stable")
    apps_disk()
    here = next(each for each in apps.WAYS if each.name == "armvisor")
    done = apps.board(here).run(["sh", "-c", apps.script(here, ("nosuch", "hackbench"))])
    assert 'there is no application "nosuch"' in done.text
    assert "result guest.failures 1 count" in done.text
    # The VM still worked after the application.
    assert set(applications.samples(done.text)[0]) == {"hackbench"}
