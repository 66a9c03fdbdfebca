# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The report's page in a real browser: each section is visible, nothing is wider than the window,
light and dark, wide and narrow; and it requests nothing from the network.

Screenshots of all four are left in build/test/report/.
"""

import json
import re
import subprocess
from pathlib import Path

import pytest
from browser import TOP, Browser

from armvisor_lab.cli.report import write_demo
from armvisor_lab.figures import lat, run
from armvisor_lab.model import published

pytestmark = pytest.mark.conformance

BOARD = {"el2": False, "cpu": "cortex-a72", "smp": 1, "memory_mib": 1024, "kernel": "6.12-arm64",
         "kernel_role": "stable", "kernel_version": "6.12-1"}  # fmt: skip
HEAD = {"schema": 1, "revision": "c0ffee" * 6, "emulator": "QEMU emulator version 7"}
EXITS = ("irq", "dat_trans", "sen_inst_trap", "mmio", "hypercall")
CLASSES = ("fast_trap", "protection", "dabt_true", "pabt_kvm", "pabt_true", "mem_pv", "guest_exc",
           "suspend", "other_trap")  # fmt: skip
PICTURES = TOP / "build/test/report"
LAB = TOP / "bin/lab"
SCHEMES = {"light": "rgb(252, 252, 251)", "dark": "rgb(21, 24, 28)"}


def records(folder: Path) -> list[Path]:
    """Every figure that the lab measures in two records, the models' predictions, and a VM's
    report.

    The values are made up: the test is about the page.
    """
    names = [name for each in run.registry() for name in each.figures]
    exits = {f"{name}_ns": 10**8 for name in EXITS} | dict.fromkeys(EXITS, 1234)
    exits |= {f"{name}_ns": 0 for name in CLASSES} | dict.fromkeys(CLASSES, 0)
    vm = {
        "wall_seconds": 1.5,
        "phases": [{"name": "load", "seconds": 0.1}, {"name": "run", "seconds": 1.4}],
        "exits": {"mmio_user_write": 202, "mmio_user_read": 171},
        "kvm_exits": exits | {"guest_ns": 10**9},
    }
    cycles = [2e7, 2e8]
    core = {"walks": 10**6, "walk_references": 10**6, "l1_misses": 10**6, "cycles": cycles}
    runs = [
        {"row": "random-128-small", "setup": setup, "pages": pages, "board": BOARD, "insns": {},
         "modelled": {"cortex-a72": core}}
        for setup in ("kvm", "armvisor") for pages in ("4K in 4K", "4K in 2M")
    ]  # fmt: skip
    predicted = [
        {"core": row.core, "figure": row.figure, "source": row.title, "scaled_cycles": row.cycles,
         "counted_cycles": [row.cycles / 4, row.cycles * (i + 1)]}
        for i, row in enumerate(published.rows())
    ]  # fmt: skip
    rows = [
        {"on": on, "row": row, "native": 10.0 ** (i % 8), "predicted": 10.0 ** (i % 8) * 2,
         "counted": 10.0 ** (i % 8) * 3}
        for on in ("kvm", "armvisor") for i, row in enumerate(lat.ROWS)
    ]  # fmt: skip
    contents = {"demo": {"demo": {"board": BOARD, "report": vm}}, "reach": {"runs": runs}}
    contents["published"] = {"what": "published", "predictions": predicted}
    contents["rows"] = {"what": "rows", "predictions": rows}
    for number in (1, 2):
        figures = [
            {"name": name, "value": float((i + 1) ** 3 * number), "unit": "instructions",
             "what": "what is measured, in words", "board": BOARD}
            for i, name in enumerate(names)
        ]  # fmt: skip
        contents[f"figures-{number}"] = {"figures": figures, "time": f"2026-11-2{number}"}
    for name, content in contents.items():
        (folder / f"{name}.json").write_text(json.dumps(HEAD | content))
    return [folder / f"{name}.json" for name in contents]


# The page of a whole report, and that of a demo, with the least number of sections of each.
PAGES = {"report": 15, "demo": 8}


@pytest.fixture(scope="module", params=PAGES)
def page(request, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    target = folder / f"{request.param}.html"
    if request.param == "demo":
        records(folder)
        write_demo(folder / "demo.json", target)
        return target
    done = subprocess.run(
        [LAB, "report", *records(folder), "-o", target], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


# For each section: its name, and how much of it is visible.
SEEN = """[...document.querySelectorAll("section")].map(section => {
    section.scrollIntoView();
    const box = section.getBoundingClientRect(), head = section.querySelector("h2");
    const top = head.getBoundingClientRect();
    const hit = document.elementFromPoint(top.left + 5, top.bottom - 5);
    return {id: section.id, width: box.width, height: box.height,
            head: head === hit || head.contains(hit)};
})"""

# Elements wider than the window, except those that scroll by themselves.
WIDER = """[...document.querySelectorAll("body *")].filter(each => !each.closest(".scroll")
    && each.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
    .map(each => each.outerHTML.slice(0, 120))"""

# Tables with less room than they need: a reader sees only a part.
CUT_TABLES = """[...document.querySelectorAll("details")].map(each => each.open = true) &&
    [...document.querySelectorAll(".scroll")]
    .filter(each => each.scrollWidth > each.clientWidth + 1)
    .map(each => each.closest("section").id + ": " + each.innerText.slice(0, 40))"""

# Labels of a drawing that it cuts off, or that overlap.
CUT = """[...document.querySelectorAll("svg.chart")].flatMap(svg => {
    const box = svg.getBoundingClientRect();
    const words = [...svg.querySelectorAll("text")].filter(each => each.textContent)
        .map(each => [each.textContent, each.getBoundingClientRect()]);
    const out = words.filter(([, b]) => b.left < box.left - 1 || b.right > box.right + 1
        || b.top < box.top - 1 || b.bottom > box.bottom + 1);
    const over = words.filter(([, a], i) => words.some(([, b], j) => j < i
        && a.left < b.right - 1 && b.left < a.right - 1
        && a.top < b.bottom - 3 && b.top < a.bottom - 3));
    return [...out, ...over].map(([text]) => `${svg.getAttribute("aria-label")}: ${text}`);
})"""

BACK = "getComputedStyle(document.body).backgroundColor"


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [1280, 400])
def test_each_section_is_seen_and_nothing_is_too_wide(browser, page, width, scheme):
    browser.show(page, width, scheme)
    PICTURES.mkdir(parents=True, exist_ok=True)
    picture = PICTURES / f"{page.stem}-{width}-{scheme}.png"
    browser.screenshot(picture)
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 100_000
    assert browser.evaluate(BACK) == SCHEMES[scheme]
    assert browser.requests() == [page.as_uri()]
    assert browser.complaints() == []
    ids = re.findall(r'<section id="([\w-]+)">', page.read_text())
    seen = {each["id"]: each for each in browser.evaluate(SEEN)}
    assert list(seen) == ids and len(ids) > PAGES[page.stem]
    assert not [each for each in seen.values() if each["height"] < 60 or not each["head"]]
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    assert browser.evaluate(WIDER) == []
    assert browser.evaluate(CUT) == []
    if width < 500:
        assert browser.evaluate(CUT_TABLES) == []


# The least contrast of text with its background (WCAG AA).
CONTRAST = """(() => {
    const light = colour => { const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map(Number)
        .map(c => c / 255).map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    const back = light(getComputedStyle(document.body).backgroundColor);
    const found = {};
    for (const each of document.querySelectorAll("p, td, th, li, a, h2, dd, summary, text")) {
        const style = getComputedStyle(each);
        const ink = light(each.tagName === "text" ? style.fill : style.color);
        const [low, high] = [Math.min(ink, back), Math.max(ink, back)];
        found[each.tagName + "." + each.getAttribute("class")] = (high + 0.05) / (low + 0.05);
    }
    return Object.entries(found).filter(([, contrast]) => contrast < 4.5);
})()"""


@pytest.mark.parametrize("scheme", SCHEMES)
def test_words_can_be_read(browser, page, scheme):
    browser.show(page, 1280, scheme)
    assert browser.evaluate(CONTRAST) == []


def test_the_checks_see_what_they_look_for(browser, page, tmp_path):
    """On a page with errors, each check finds its own."""
    spoilt = tmp_path / "spoilt.html"
    style = "p { color: #ddd } h1 { width: 2000px } svg.chart { width: 60px }"
    spoilt.write_text(page.read_text().replace("</style>", f"{style}</style>"))
    browser.show(spoilt, 1280, "light")
    assert all(browser.evaluate(check) for check in (WIDER, CUT, CONTRAST))
    assert browser.evaluate("document.documentElement.scrollWidth") > 1280
    spoilt.write_text(page.read_text().replace("<h1>", '<img src="http://127.0.0.1:9/x"><h1>'))
    browser.show(spoilt, 1280, "light")
    assert any("violates" in each for each in browser.complaints())
    spoilt.write_text(page.read_text().replace("</style>", "td { min-width: 500px }</style>"))
    browser.show(spoilt, 400, "light")
    assert browser.evaluate(CUT_TABLES)
