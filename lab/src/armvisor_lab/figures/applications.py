# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Results of the applications of guests/work/apps, in instructions for a unit of work.

A second of a counted board is 1,000,000,000 instructions. A reading is of one round of one program.
It raises, with what is wrong in words, where a program ended with an error, did less than it was
told to, or found something that it did not expect.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

from armvisor_lab.boards.results import instructions
from armvisor_lab.errors import LabError

_SECOND = 1_000_000_000

# The sizes of work in guests/work/apps.
MESSAGES = 2 * 8 * 8 * 200  # of hackbench: groups, senders of each, receivers of each, loops
OBJECTS = 6  # of the kernel's
FIO_CHECK_KIB = 8 << 10
FIO_REQUESTS = {"randread": 4 << 10, "randwrite": 4 << 10}
FIO_BYTES = {f"{verb}-{i}": 128 << 20 for verb in ("read", "write") for i in (1, 2, 3)}
TRANSACTIONS = 200  # of sqlite, with this many rows each
ROWS = 10
NETPERF_TURNS = 2000
NETPERF_BYTES = 64 << 20
HTTP_REQUESTS = 500
KEYS = 4 * 500  # of memcslap: threads, keys of each
REDIS_REQUESTS, REDIS_ROUNDS = 4000, 3

Values = Mapping[str, float]


@dataclass(frozen=True)
class Round:
    """What a program said, and how it ended."""

    name: str
    text: str
    status: int


_ROUND = re.compile(r"^app (\S+) begin\n(.*?)^app \1 end (\d+)$", re.DOTALL | re.MULTILINE)


def rounds(text: str) -> list[Round]:
    """The rounds in a guest's output, in order."""
    clean = text.replace("\r", "")
    return [Round(m[1], m[2], int(m[3])) for m in _ROUND.finditer(clean)]


def _number(pattern: str, text: str, what: str) -> float:
    found = re.search(pattern, text, re.MULTILINE)
    if not found:
        raise LabError(f"it does not say {what}")
    return float(found[1])


def _want(what: str, found: float, wanted: float) -> None:
    if found != wanted:
        raise LabError(f"{what}: {found:g} of {wanted:g}")


def _each(total: float, count: float) -> float:
    if total <= 0:
        raise LabError("it took no time")
    return total / count


def _per_second(rate: float) -> float:
    if rate <= 0:
        raise LabError("nothing was done in a second")
    return _SECOND / rate


def hackbench(text: str) -> Values:
    """A message there, from one process to another."""
    seconds = _number(r"^Time: ([\d.]+)$", text, "its time")
    return {"hackbench": _each(seconds * _SECOND, MESSAGES)}


def kernbench(text: str) -> Values:
    """The whole build."""
    _want("objects", _number(r"^objects (\d+)$", text, "how many objects it made"), OBJECTS)
    if not re.search(r"^[0-9a-f]{64}  -$", text, re.MULTILINE):
        raise LabError("it does not say what the objects' checksum is")
    return {"kernbench": _each(instructions(text, "count-run.elapsed"), 1)}


# In a line of fio's terse output, version 3: the first fields of reads and of writes.
_FIO_ERROR, _FIO_READ, _FIO_WRITTEN = 4, 5, 46
_FIO_RUNTIME = 3


def fio(text: str) -> Values:
    """A request of a page, or a byte of large ones: of several jobs the median."""
    jobs = {
        fields[2]: fields
        for line in text.splitlines()
        if line.startswith("3;fio-") and len(fields := line.split(";")) > _FIO_WRITTEN + 3
    }
    for name in ("check", *FIO_REQUESTS, *FIO_BYTES):
        if name not in jobs:
            raise LabError(f"it says nothing of its job {name}")
        _want(f"errors of its job {name}", float(jobs[name][_FIO_ERROR]), 0)
    for at in (_FIO_READ, _FIO_WRITTEN):
        _want("KiB of its job check", float(jobs["check"][at]), FIO_CHECK_KIB)
    values: dict[str, list[float]] = {}
    for counts, size in ((FIO_REQUESTS, 4096), (FIO_BYTES, 1)):
        for name, count in counts.items():
            at = _FIO_WRITTEN if "write" in name else _FIO_READ
            _want(f"KiB of its job {name}", float(jobs[name][at]), count * size / 1024)
            runtime = float(jobs[name][at + _FIO_RUNTIME])
            row = f"fio-{name.partition('-')[0]}"
            values.setdefault(row, []).append(_each(runtime * _SECOND / 1000, count))
    return {row: median(each) for row, each in values.items()}


def sqlite(text: str) -> Values:
    """A transaction: ten rows in, one row changed, on the disk."""
    rows = _number(r"^rows\|(\d+)\|\d+\|\d+$", text, "how many rows it has")
    _want("rows", rows, TRANSACTIONS * ROWS)
    if not re.search(r"^ok$", text, re.MULTILINE):
        raise LabError("its database is not whole")
    return {"sqlite": _each(instructions(text, "count-run.elapsed"), TRANSACTIONS)}


def _netperf(kind: str, unit: str, sent: int, received: int) -> Callable[[str], Values]:
    def read(text: str) -> Values:
        said = dict(re.findall(r"^([A-Z_]+)=(\S+)$", text, re.MULTILINE))
        if said.get("THROUGHPUT_UNITS") != unit:
            raise LabError(f"it does not say its throughput in {unit}")
        _want("bytes sent", float(said.get("LOCAL_BYTES_SENT", 0)), sent)
        _want("bytes received", float(said.get("LOCAL_BYTES_RECVD", 0)), received)
        throughput = float(said.get("THROUGHPUT", 0))
        a_second = throughput if unit == "Trans/s" else throughput * 1e6 / 8
        return {f"netperf-{kind}": _per_second(a_second)}

    return read


def _iperf3(name: str) -> Callable[[str], Values]:
    def read(text: str) -> Values:
        start, end = text.find("{"), text.rfind("}")
        try:
            said = json.loads(text[start : end + 1])
        except ValueError as error:
            raise LabError(f"what it says is no JSON: {error}") from error
        if "error" in said:
            raise LabError(f"it says: {said['error']}")
        try:
            received = said["end"]["sum_received"]
            seconds, size = float(received["seconds"]), float(received["bytes"])
        except (KeyError, TypeError, ValueError) as error:
            raise LabError("it does not say how much was received") from error
        if size <= 0:
            raise LabError("nothing was received")
        return {name: _each(seconds * _SECOND, size)}

    return read


def _answered(text: str) -> None:
    """That the load generator on the board ended well."""
    _want("status of the board's program", _number(r"^status (\d+)$", text, "how it ended"), 0)


def nginx(text: str) -> Values:
    """A request, with a connection of its own."""
    _answered(text)
    done = _number(r"^Complete requests: +(\d+)$", text, "how many requests it made")
    _want("requests", done, HTTP_REQUESTS)
    failed = _number(r"^Failed requests: +(\d+)$", text, "how many requests failed")
    _want("failed requests", failed, 0)
    if "Non-2xx responses" in text:
        raise LabError("the server had another answer than the page")
    rate = _number(r"^Requests per second: +([\d.]+) ", text, "how many requests a second")
    return {"nginx": _per_second(rate)}


def _memcached(verb: str) -> Callable[[str], Values]:
    def read(text: str) -> Values:
        _answered(text)
        line = rf"^Time to {verb} +(\d+) keys by +\d+ threads: +([\d.]+) seconds\.$"
        found = re.search(line, text, re.MULTILINE)
        if not found:
            raise LabError("it does not say its time")
        _want("keys", float(found[1]), KEYS)
        if trouble := re.search(r"^.*(?:error|FAIL|Failed|NOT FOUND).*$", text, re.MULTILINE):
            raise LabError(f"it says: {trouble[0]}")
        return {f"memcached-{verb}": _each(float(found[2]) * _SECOND, KEYS)}

    return read


def _redis(verb: str) -> Callable[[str], Values]:
    def read(text: str) -> Values:
        _answered(text)
        pattern = rf'^"{verb.upper()}","([\d.]+)"'
        rate = _number(pattern, text, "how many requests a second there were")
        return {f"redis-{verb}": _per_second(rate)}

    return read


def redis_counts(text: str) -> Values:
    """What the server counted at its end: nothing of its own."""
    for verb in ("set", "get"):
        line = re.search(rf"^cmdstat_{verb}:(.*)$", text, re.MULTILINE)
        said = dict(re.findall(r"(\w+)=([\d.]+)", line[1])) if line else {}
        _want(f"{verb}s", float(said.get("calls", 0)), REDIS_REQUESTS * REDIS_ROUNDS)
        for key in ("rejected_calls", "failed_calls"):
            _want(f"{verb}s of {key}", float(said.get(key, 0)), 0)
    return {}


# By the name of the round.
READINGS: dict[str, Callable[[str], Values]] = {
    "hackbench": hackbench,
    "kernbench": kernbench,
    "fio": fio,
    "sqlite": sqlite,
    "netperf-TCP_RR": _netperf("rr", "Trans/s", NETPERF_TURNS, NETPERF_TURNS),
    "netperf-TCP_STREAM": _netperf("stream", "10^6bits/s", NETPERF_BYTES, 0),
    "netperf-TCP_MAERTS": _netperf("maerts", "10^6bits/s", 0, NETPERF_BYTES),
    "iperf3-send": _iperf3("iperf3-send"),
    "iperf3-receive": _iperf3("iperf3-receive"),
    "nginx": nginx,
    "memcached-set": _memcached("set"),
    "memcached-get": _memcached("get"),
    "redis-set": _redis("set"),
    "redis-get": _redis("get"),
    "redis": redis_counts,
}


def samples(text: str) -> tuple[dict[str, list[float]], list[str]]:
    """Every row's values, and what is wrong, in sentences.

    Of a program with several rounds the first is left out: it reads its files. One with a fault
    in any round has no value.
    """
    values: dict[str, list[float]] = {}
    wrong: dict[str, str] = {}
    by_name: dict[str, list[Round]] = {}
    for each in rounds(text):
        by_name.setdefault(each.name, []).append(each)
    for name, some in by_name.items():
        if name not in READINGS:
            wrong[name] = "the lab does not know it"
            continue
        try:
            found = [_read(each) for each in some]
        except LabError as error:
            wrong[name] = str(error)
            continue
        for reading in found[1:] or found:
            for row, value in reading.items():
                values.setdefault(row, []).append(value)
    # Errors that `redis` found hold for redis-set, too.
    bad = tuple(f"{name}-" for name in wrong)
    sound = {row: some for row, some in values.items() if not f"{row}-".startswith(bad)}
    return sound, [f"{name}: {why}" for name, why in wrong.items()]


def _read(each: Round) -> Values:
    if each.status:
        last = each.text.strip().splitlines()[-1:] or ["nothing"]
        raise LabError(f"it ended with status {each.status}; its last line: {last[0]}")
    return READINGS[each.name](each.text)
