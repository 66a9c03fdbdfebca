# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A report from records: all its sections in order, and its JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from armvisor_lab.records import SCHEMA, Record
from armvisor_lab.report import (
    applications,
    history,
    operations,
    own,
    predicted,
    published,
    sections,
)
from armvisor_lab.report.model import Report
from armvisor_lab.report.pool import Pool

_LEAD = (
    "What armvisor costs on emulated boards, beside native, KVM and QEMU's emulator, and beside "
    "what the works behind the project have published.",
    "Values here are instructions that a board executed, unless a unit says otherwise. An "
    "instruction is not a cycle: barriers, TLB maintenance and exceptions cost more on silicon "
    "than their count. Nothing here was measured on silicon.",
)


def _source(work: published.Work) -> str:
    parts = [work.authors, work.title, work.venue, work.url, work.setup]
    return " ".join(part if part.endswith(".") else f"{part}." for part in parts if part)


def report(records: Sequence[Record]) -> Report:
    """The report of some records."""
    pool = Pool(records)
    works = published.works()
    found = [own.latencies(pool), operations.section(pool), applications.section(pool)]
    found += [own.where_the_time_went(pool)]
    found += [sections.of(each, work, pool) for work in works for each in work.sections]
    found += [own.reach(pool), predicted.section(pool)]
    found += [history.section(pool), own.every(pool), own.origin(pool)]
    sources = {work.short: _source(work) for work in works}
    return Report("armvisor: figures beside the published ones", _LEAD, tuple(found), sources)


def as_json(made: Report) -> dict[str, Any]:
    """The report as data."""
    return {"schema": SCHEMA, "report": asdict(made)}
