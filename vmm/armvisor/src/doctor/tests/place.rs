// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
use super::*;

const THE_MACHINE_AND_ITS_DEVICE: &[Case] = &[
    ("arch", |_| {}, Fine, "arm64, Cortex-A72"),
    (
        "arch",
        |m| m.arch = "x86_64".into(),
        Bad,
        "this is x86-64; armvisor.ko is for arm64 / try 'make demo'",
    ),
    (
        "arch",
        |m| m.arch = "riscv64".into(),
        Bad,
        "this is riscv64",
    ),
    ("arch", |m| m.arch.clear(), Bad, "unknown architecture"),
    ("kvm", |_| {}, Bad, "there is no /dev/kvm"),
    (
        "kvm",
        |m| m.kvm = Some(Node::default()),
        Bad,
        "nothing behind it is KVM",
    ),
    (
        "kvm",
        |m| put(m, MISC, "232 kvm\n"),
        Bad,
        "sudo mknod -m 660 /dev/kvm c 10 232",
    ),
    (
        "kvm",
        |m| {
            put(m, MISC, "232 kvm\n");
            put(m, "/.dockerenv", "");
        },
        Bad,
        "'--device /dev/kvm'",
    ),
    (
        "kvm",
        |m| opened(m, Some(12), None),
        Fine,
        "the kernel's own KVM",
    ),
    ("kvm", |m| opened(m, Some(11), None), Bad, "version 11"),
    (
        "kvm",
        |m| {
            opened(m, Some(12), None);
            names(m, MODULE, &[]);
        },
        Fine,
        "armvisor's module",
    ),
    ("container", |_| {}, Fine, "no container"),
    (
        "container",
        |m| put(m, "/run/.containerenv", ""),
        Warn,
        "Podman",
    ),
    (
        "container",
        |m| put(m, "/run/systemd/container", "lxc\n"),
        Warn,
        "(lxc)",
    ),
    (
        "container",
        |m| put(m, MOUNTS, "overlay / overlay rw 0 0\n"),
        Warn,
        "overlay",
    ),
    (
        "container",
        |m| put(m, MOUNTS, "/dev/root / ext4 rw 0 0\n"),
        Fine,
        "",
    ),
];

#[test]
fn the_machine_and_its_device() {
    check(THE_MACHINE_AND_ITS_DEVICE);
}

pub(super) fn opened(m: &mut Machine, api_version: Option<i32>, error: Option<&str>) {
    put(m, MISC, "232 kvm\n");
    m.kvm = Some(Node {
        mode: 0o20660,
        gid: 103,
        api_version,
        error: error.map(str::to_owned),
        ..Default::default()
    });
    m.user.uid = 1000;
    m.user.kvm_group = Some(103);
}

const DENIED: Option<&str> = Some("Permission denied (os error 13)");

const PERMISSIONS: &[Case] = &[
    ("permission", |_| {}, Fine, "root"),
    ("permission", |m| m.user.uid = 1000, Bad, "usermod -aG kvm"),
    (
        "permission",
        |m| {
            m.user = User {
                uid: 1000,
                groups: vec![103],
                kvm_group: Some(103),
                ..Default::default()
            }
        },
        Fine,
        "in group kvm",
    ),
    (
        "permission",
        |m| opened(m, Some(12), None),
        Fine,
        "may open",
    ),
    (
        "permission",
        |m| opened(m, None, DENIED),
        Bad,
        "usermod -aG kvm",
    ),
    (
        "permission",
        |m| {
            opened(m, None, DENIED);
            m.user.listed = vec![103];
        },
        Bad,
        "log in again",
    ),
    (
        "permission",
        |m| {
            opened(m, None, DENIED);
            m.user.groups = vec![103];
        },
        Bad,
        "SELinux",
    ),
    (
        "permission",
        |m| {
            opened(m, None, DENIED);
            m.kvm.as_mut().unwrap().mode = 0o20600;
        },
        Bad,
        "mode 600",
    ),
    (
        "permission",
        |m| opened(m, None, Some("No such device (os error 19)")),
        Bad,
        "No such device",
    ),
];

#[test]
fn permissions() {
    check(PERMISSIONS);
}

const THE_EXCEPTION_LEVEL_BY_EACH_EVIDENCE: &[Case] = &[
    (
        "exception_level",
        |_| {},
        Fine,
        "EL1: the kernel's timer is the virtual one",
    ),
    (
        "exception_level",
        |m| log(m, &["CPU: All CPU(s) started at EL1"]),
        Fine,
        "has 'CPU: All CPU(s) started at EL1'",
    ),
    (
        "exception_level",
        |m| log(m, &["kvm [1]: HYP mode not available"]),
        Fine,
        "started at EL1",
    ),
    (
        "exception_level",
        |m| log(m, &["kvm [1]: VHE mode initialized successfully"]),
        Bad,
        "started at EL2",
    ),
    (
        "exception_level",
        |m| put(m, INTERRUPTS, "1: 5 GICv3 26 Level arch_timer\n"),
        Bad,
        "EL2, and its KVM does not run",
    ),
    (
        "exception_level",
        |m| {
            put(m, INTERRUPTS, "1: 5 GICv3 30 Level arch_timer\n");
            put(m, CMDLINE, "kvm-arm.mode=none");
        },
        Bad,
        "without kvm-arm.mode=none",
    ),
    (
        "exception_level",
        |m| {
            put(m, INTERRUPTS, "1: 5 GICv3 28 Level arch_timer\n");
            m.config = Some(Config::default());
        },
        Bad,
        "CONFIG_KVM",
    ),
    (
        "exception_level",
        |m| {
            m.files.remove(INTERRUPTS);
        },
        Fine,
        "KVM built in",
    ),
    (
        "exception_level",
        |m| opened(m, Some(12), None),
        Fine,
        "started at EL2: the kernel's own KVM works",
    ),
    (
        "exception_level",
        |m| {
            m.files.remove(INTERRUPTS);
            m.config = None;
        },
        Unknown,
        "cannot tell",
    ),
    (
        "exception_level",
        |m| {
            m.files.remove(INTERRUPTS);
            m.config = None;
            put(m, PSCI_METHOD, "hvc\0");
        },
        Unknown,
        "suggests EL1",
    ),
    (
        "exception_level",
        |m| {
            put(
                m,
                INTERRUPTS,
                "1: GICv3\narch_timer\n1: GICv3 99 arch_timer",
            );
            m.config = None;
        },
        Unknown,
        "",
    ),
];

#[test]
fn the_exception_level_by_each_evidence() {
    check(THE_EXCEPTION_LEVEL_BY_EACH_EVIDENCE);
}
