// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
use super::*;

const SPEED_AND_LIMITS: &[Case] = &[
    ("entries", |_| {}, Unknown, "dmesg"),
    (
        "entries",
        |m| put(m, MELTDOWN, "Mitigation: PTI\n"),
        Fine,
        "KPTI is on",
    ),
    (
        "entries",
        |m| put(m, CMDLINE, "kpti=on"),
        Fine,
        "KPTI is on",
    ),
    (
        "entries",
        |m| put(m, CMDLINE, "nokaslr"),
        Warn,
        "KASLR and KPTI are off / try a boot with kpti=1",
    ),
    ("entries", |m| log(m, &["KASLR enabled"]), Fine, "no E0PD"),
    (
        "entries",
        |m| log(m, &["KASLR disabled due to lack of seed"]),
        Warn,
        "flushes",
    ),
    (
        "entries",
        |m| put(m, CPUINFO, "CPU implementer : 0x41\nCPU part : 0xd49\n"),
        Warn,
        "the cores have E0PD",
    ),
    (
        "entries",
        |m| put(m, CPUINFO, "CPU implementer : 0x99\nCPU part : 0x1\n"),
        Unknown,
        "",
    ),
    (
        "entries",
        |m| {
            log(m, &["CPU features: detected: E0PD"]);
            m.files.remove(CPUINFO);
        },
        Warn,
        "E0PD",
    ),
    ("huge_pages", |_| {}, Fine, "advise"),
    (
        "huge_pages",
        |m| put(m, THP_SHMEM, "always [never] deny"),
        Fine,
        "root",
    ),
    (
        "huge_pages",
        |m| {
            put(m, THP_SHMEM, "always [never] deny");
            m.user.uid = 1;
        },
        Warn,
        "echo advise",
    ),
    (
        "huge_pages",
        |m| {
            m.files.remove(THP_SHMEM);
            m.files.remove(THP);
        },
        Warn,
        "no transparent",
    ),
    ("huge_pages", |m| put(m, THP_SHMEM, "]["), Unknown, ""),
    ("hugetlb", |_| {}, Fine, "no hugetlb pool"),
    (
        "hugetlb",
        |m| {
            put(
                m,
                MEMINFO,
                "HugePages_Total: 8\nHugePages_Free: 3\nHugepagesize: 2048 kB\n",
            )
        },
        Fine,
        "3 free pages of 2M (8 in all)",
    ),
    (
        "hugetlb",
        |m| {
            put(
                m,
                MEMINFO,
                "HugePages_Total: 0\nHugePages_Free: 0\nHugepagesize: 2048 kB\n",
            )
        },
        Fine,
        "empty",
    ),
    (
        "hugetlb",
        |m| {
            put(
                m,
                MEMINFO,
                "HugePages_Total: 1\nHugePages_Free: 0\nHugepagesize: 524288 kB\n",
            )
        },
        Fine,
        "wants 2M",
    ),
    ("memory", |_| {}, Fine, "are available"),
    (
        "memory",
        |m| put(m, MEMINFO, "MemTotal: 500000 kB\nMemAvailable: 400000 kB\n"),
        Warn,
        "--memory SIZE",
    ),
    ("memory", |m| put(m, MEMINFO, "?"), Unknown, ""),
    ("open_files", |_| {}, Fine, "1024 files"),
    (
        "open_files",
        |m| {
            m.open_files = Limit {
                soft: Some(20),
                hard: Some(500),
            }
        },
        Warn,
        "ulimit -n 500",
    ),
    (
        "open_files",
        |m| m.open_files = Limit::default(),
        Fine,
        "unlimited",
    ),
    ("locked_memory", |_| {}, Fine, "root"),
    (
        "locked_memory",
        |m| {
            m.user.uid = 1;
            m.locked_memory.hard = Some(8 << 20);
        },
        Fine,
        "8M",
    ),
    ("cgroup", |_| {}, Fine, "no control group"),
    (
        "cgroup",
        |m| {
            put(m, "/sys/fs/cgroup/a/memory.max", "1073741824\n");
            put(m, "/sys/fs/cgroup/memory.max", "max\n");
        },
        Fine,
        "1024M of memory",
    ),
    (
        "cgroup",
        |m| put(m, "/sys/fs/cgroup/a/memory.max", "1048576\n"),
        Warn,
        "1M",
    ),
    (
        "cgroup",
        |m| put(m, "/sys/fs/cgroup/a/cpu.max", "50000 100000\n"),
        Warn,
        "0.50 CPUs",
    ),
    (
        "cgroup",
        |m| put(m, "/sys/fs/cgroup/a/cpu.max", "50000 0\n"),
        Fine,
        "",
    ),
    (
        "cgroup",
        |m| {
            put(
                m,
                "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712\n",
            )
        },
        Fine,
        "no control group",
    ),
    (
        "cgroup",
        |m| put(m, "/sys/fs/cgroup/a/pids.max", "100\n"),
        Fine,
        "100 tasks",
    ),
];

#[test]
fn speed_and_limits() {
    check(SPEED_AND_LIMITS);
}
