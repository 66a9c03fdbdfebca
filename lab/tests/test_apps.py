# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`app.*`: the output of applications is read, and one that did not do its work has no value."""

import re

import pytest

from armvisor_lab import cli, paths
from armvisor_lab.archive import kernels
from armvisor_lab.boards.board import Board
from armvisor_lab.errors import LabError
from armvisor_lab.figures import Measurement, Outcome, applications, apps, artefacts, run

# Of a run on a board, but for what is not read.
SAID = {
    "hackbench": "Each sender will pass 200 messages of 100 bytes\nTime: 0.148\n",
    "kernbench": "result count-run.cntfrq 62500000 Hz\nresult count-run.elapsed 1000 ticks\n"
    f"objects 6\n{'ab' * 32}  -\n",
    "sqlite": "delete\nrows|2000|2001226|128101\nok\nresult count-run.cntfrq 62500000 Hz\n"
    "result count-run.elapsed 16340270 ticks\n",
    "netperf-TCP_RR": "ELAPSED_TIME=0.19\nTHROUGHPUT=10000.00\nTHROUGHPUT_UNITS=Trans/s\n"
    "LOCAL_BYTES_SENT=2000\nLOCAL_BYTES_RECVD=2000\n",
    "netperf-TCP_STREAM": "ELAPSED_TIME=0.13\nTHROUGHPUT=4000.00\nTHROUGHPUT_UNITS=10^6bits/s\n"
    "LOCAL_BYTES_SENT=67108864\nLOCAL_BYTES_RECVD=0\n",
    "netperf-TCP_MAERTS": "ELAPSED_TIME=0.17\nTHROUGHPUT=3200.00\nTHROUGHPUT_UNITS=10^6bits/s\n"
    "LOCAL_BYTES_SENT=0\nLOCAL_BYTES_RECVD=67108864\n",
    "iperf3-send": '{ "end": { "sum_received": { "seconds": 1.5, "bytes": 750000000 } } }\n',
    "nginx": "Complete requests:      500\nFailed requests:        0\n"
    "Requests per second:    2500.00 [#/sec] (mean)\nstatus 0\n",
    "memcached-set": "Time to set            2000 keys by    4 threads:     0.200 seconds.\n"
    "Time total:                                           0.247 seconds.\nstatus 0\n",
    "memcached-get": "Time to set             500 keys:                     0.074 seconds.\n"
    "Time to get            2000 keys by    4 threads:     0.100 seconds.\nstatus 0\n",
    "redis-get": '"test","rps","avg_latency_ms"\n"GET","12500.00","0.464"\nstatus 0\n',
    "redis": "# Commandstats\ncmdstat_set:calls=12000,usec=1,rejected_calls=0,failed_calls=0\n"
    "cmdstat_get:calls=12000,usec=1,rejected_calls=0,failed_calls=0\n",
}
WANTED = {
    "hackbench": ("hackbench", 148e6 / 25600),
    "kernbench": ("kernbench", 16000),
    "sqlite": ("sqlite", 16340270 * 16 / 200),
    "netperf-TCP_RR": ("netperf-rr", 1e5),
    "netperf-TCP_STREAM": ("netperf-stream", 2),
    "netperf-TCP_MAERTS": ("netperf-maerts", 2.5),
    "iperf3-send": ("iperf3-send", 2),
    "nginx": ("nginx", 4e5),
    "memcached-set": ("memcached-set", 1e5),
    "memcached-get": ("memcached-get", 5e4),
    "redis-get": ("redis-get", 8e4),
}


def fio(**changed: tuple[int, str]) -> str:
    """Its terse lines; a job's field may be another."""
    told = {"check": (8192, 8192), "randread": (16384, 0), "randwrite": (0, 16384),
            **{f"read-{i}": (131072, 0) for i in (1, 2, 3)},
            **{f"write-{i}": (0, 131072) for i in (1, 2, 3)}}  # fmt: skip
    lines = []
    for name, (read, written) in told.items():
        fields = ["3", "fio-3.39", name, "0", "0", *["0"] * 120]
        fields[5], fields[8] = str(read), str(200 * bool(read))
        fields[46], fields[49] = str(written), str(100 * bool(written))
        if name in changed:
            fields[changed[name][0]] = changed[name][1]
        lines.append(";".join(fields))
    return "\n".join(lines) + "\n"


def told(name: str, text: str, status: int = 0) -> str:
    return f"app {name} begin\n{text}\napp {name} end {status}\n"


@pytest.mark.parametrize("name", sorted(WANTED))
def test_what_a_unit_of_work_takes_is_read(name):
    row, value = WANTED[name]
    assert applications.READINGS[name](SAID[name]) == {row: pytest.approx(value)}


def test_requests_and_bytes_of_fio_are_told_apart():
    # One of three that was slow does not count.
    assert applications.fio(fio(**{"read-2": (8, "900")})) == {
        "fio-randread": 2e8 / 4096, "fio-randwrite": 1e8 / 4096,
        "fio-read": pytest.approx(2e8 / (128 << 20)), "fio-write": pytest.approx(1e8 / (128 << 20)),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "old", "new", "why"),
    [
        ("hackbench", "Time: ", "Took: ", "does not say its time"),
        ("hackbench", "0.148", "0.000", "took no time"),
        ("kernbench", "objects 6", "objects 5", "objects: 5 of 6"),
        ("kernbench", "  -", "", "checksum"),
        ("sqlite", "rows|2000", "rows|1990", "rows: 1990 of 2000"),
        ("sqlite", "ok\n", "row 7 missing from index ik\n", "not whole"),
        ("netperf-TCP_RR", "SENT=2000", "SENT=1999", "bytes sent: 1999 of 2000"),
        ("netperf-TCP_RR", "Trans/s", "10^6bits/s", "throughput in Trans/s"),
        ("netperf-TCP_STREAM", "THROUGHPUT=4000.00", "THROUGHPUT=0", "nothing was done"),
        ("iperf3-send", '"end"', '"error": "no route", "end"', "no route"),
        ("iperf3-send", "}\n", "\n", "no JSON"),
        ("iperf3-send", "750000000", "0", "nothing was received"),
        ("iperf3-send", "sum_received", "sum", "how much was received"),
        ("nginx", "Failed requests:        0", "Failed requests:        3", "3 of 0"),
        ("nginx", "Failed", "Non-2xx responses:      9\nFailed", "another answer"),
        ("nginx", "status 0", "status 22", "status of the board's program: 22"),
        ("nginx", "status 0", "", "how it ended"),
        ("memcached-set", "2000 keys", "1999 keys", "keys: 1999 of 2000"),
        ("memcached-get", "status 0", "Failed on x\nstatus 0", "Failed on x"),
        ("redis-get", '"GET"', '"SET"', "how many requests a second"),
        ("redis", "cmdstat_get:calls=12000", "cmdstat_get:calls=9", "gets: 9 of 12000"),
        ("redis", "failed_calls=0", "failed_calls=2", "failed_calls: 2 of 0"),
        ("redis", "cmdstat_set", "cmdstat_other", "sets: 0 of 12000"),
    ],
)
def test_work_that_was_not_done_has_no_value(name, old, new, why):
    text = SAID[name].replace(old, new)
    assert text != SAID[name]
    with pytest.raises(LabError, match=re.escape(why)):
        applications.READINGS[name](text)


@pytest.mark.parametrize(
    ("job", "field", "value", "why"),
    [
        ("check", 4, "84", "errors of its job check: 84 of 0"),
        ("check", 5, "8188", "KiB of its job check: 8188 of 8192"),
        ("randwrite", 46, "16380", "KiB of its job randwrite"),
        ("read-3", 2, "lost", "nothing of its job read-3"),
    ],
)
def test_a_job_of_fio_that_did_less_is_said(job, field, value, why):
    with pytest.raises(LabError, match=re.escape(why)):
        applications.fio(fio(**{job: (field, value)}))


def test_the_first_round_of_several_is_left_out():
    slow = SAID["hackbench"].replace("0.148", "9.000")
    text = told("hackbench", slow) + 2 * told("hackbench", SAID["hackbench"])
    text += told("kernbench", SAID["kernbench"])
    values, wrong = applications.samples(text.replace("\n", "\r\n"))
    assert values == {"hackbench": [148e6 / 25600] * 2, "kernbench": [16000]} and not wrong


def test_one_program_s_fault_is_said_and_keeps_no_other():
    text = told("fio", "fio: no such device", 1) + told("redis-get", SAID["redis-get"])
    text += told("redis", SAID["redis"].replace("cmdstat_get", "x")) + told("odd", "")
    text += told("nginx", SAID["nginx"]) + "app sqlite begin\nit hangs"
    values, wrong = applications.samples(text)
    assert values == {"nginx": [pytest.approx(4e5)]}
    assert wrong == [
        "fio: it ended with status 1; its last line: fio: no such device",
        "redis: gets: 0 of 12000", "odd: the lab does not know it",
    ]  # fmt: skip


def test_what_is_read_is_what_the_script_asks_for():
    script = (paths.checkout() / "guests/work/apps").read_text()
    fio_jobs = (paths.checkout() / "guests/work/apps.fio").read_text()
    for wanted in (
        "--groups 2 --fds 8 --loops 200",
        f"i <= {applications.TRANSACTIONS}",
        f"j < {applications.ROWS}",
        f"TCP_RR:-{applications.NETPERF_TURNS}",
        f"TCP_STREAM:-{applications.NETPERF_BYTES}",
        f"-n {applications.HTTP_REQUESTS} ",
        "--concurrency=4 --execute-number=500",
        f"-n {applications.REDIS_REQUESTS} ",
        f"asked {applications.REDIS_ROUNDS} redis-set",
    ):
        assert wanted in script, wanted
    assert "size=32m" in fio_jobs and "io_size=16m" in fio_jobs and "loops=4" in fio_jobs
    for name in apps.PROGRAMS:
        assert f"app_{name}() {{" in script


def test_all_ways_run_all_programs():
    for way in apps.WAYS:
        script = apps.script(way, tuple(apps.PROGRAMS))
        assert f"armvisor.rows={','.join(apps.PROGRAMS)}" in script
        assert ("--protected" in script) == ("pvm" in way.name)
        assert ("armvisor.test=apps,bounce " in script) == bool(way.mode)
    modes = {way.name: way.mode for way in apps.WAYS}
    # As swiotlb was, and as the paper made it.
    assert modes["kvm-pvm"] == modes["armvisor-pvm"] == "slots"
    assert modes["kvm-pvm-opt"] == modes["armvisor-pvm-opt"] == "split-cache"
    assert not modes["kvm-protected"] and not modes["armvisor"]


@pytest.fixture
def ran(monkeypatch):
    """The measurement of a way, whose guest said this."""

    class Result:
        kernel = kernels.Kernel("6.12-1", "cloud", "6.12-arm64", paths.checkout(), (), "stable")

        def __init__(self, text: str) -> None:
            self.text = text

        def check(self) -> "Result":
            return self

    def run_of(name: str, text: str) -> Outcome:
        monkeypatch.setattr(apps, "board", lambda _way: Board())
        monkeypatch.setattr(apps, "_packages", tuple)
        monkeypatch.setattr(Board, "run", lambda *_, **__: Result(text))
        found = next(each for each in apps.measurements() if each.figures[0].split(".")[2] == name)
        return found.run(lambda _: None)

    return run_of


FAILED = "result guest.failures 1 count\n"


def test_a_guest_with_one_bad_program_has_the_others_values(ran):
    text = 3 * told("redis-set", SAID["redis-get"].replace("GET", "SET"))
    text += told("redis", SAID["redis"]) + told("fio", "no", 1) + FAILED
    found = ran("armvisor", text)
    assert found.values == {"app.redis-set.armvisor": 8e4}
    assert found.samples == {"app.redis-set.armvisor": [8e4, 8e4]}
    assert found.missing["app.fio-read.armvisor"] == (
        "fio: it ended with status 1; its last line: no"
    )
    assert found.missing["app.sqlite.armvisor"] == "its program did not run"
    # One that is to have bounce buffers, and says nothing of them, is not measured.
    with pytest.raises(LabError, match=r"mode split-cache"):
        ran("armvisor-pvm-opt", text)


def test_a_selection_runs_no_more_than_its_programs():
    some = run.select(["app.fio-read.kvm-pvm", "app.nginx.kvm-pvm", "app.hackbench.native"])
    assert [each.figures for each in some] == [
        ("app.hackbench.native",),
        ("app.nginx.kvm-pvm", *(f"app.{row}.kvm-pvm" for row in apps.PROGRAMS["fio"])),
    ]
    whole = run.select(["app.*.kvm-pvm"])
    assert [len(each.figures) for each in whole] == [len(apps.ROWS)]
    assert some[1].seconds < whole[0].seconds


def test_a_guest_that_failed_has_no_values(ran):
    with pytest.raises(LabError, match=r"the guest failed(?s:.*)no such disk"):
        ran("armvisor", "no such disk\n" + FAILED)


def test_a_disk_that_is_not_built_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "checkout", lambda: tmp_path)
    with pytest.raises(LabError, match=r"is not built") as raised:
        artefacts.apps()
    assert "make apps" in str(raised.value)


def test_what_is_missing_of_a_measurement_is_a_failure_of_its_own(monkeypatch, tmp_path, capsys):
    def part(_progress) -> Outcome:
        return Outcome({"app.a.kvm": 5.0}, {"cpu": "x"}, missing={"app.b.kvm": "b: it hung"})

    class Family:
        @staticmethod
        def measurements():
            return [Measurement(("app.a.kvm", "app.b.kvm"), "two", part)]

    monkeypatch.setattr(run, "FAMILIES", (Family,))
    file = str(tmp_path / "figures.json")
    assert cli.main(["figures", "--only", "app.a.*", "--json", file]) == 0
    assert capsys.readouterr().out == "app.a.kvm 5 instructions\n"
    assert cli.main(["figures", "--json", file]) == 1
    said = capsys.readouterr()
    assert said.out == "app.a.kvm 5 instructions\n" and "app.b.kvm: b: it hung" in said.err
