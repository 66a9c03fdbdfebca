// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Rows about the machine: what it is, its exception level, and its /dev/kvm.

use super::machine::*;
use super::rows::Answer;
use super::speed::core_names;

/// The exception level at which firmware started Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    El1,
    El2,
}

/// Where it was read.
struct Evidence {
    level: Level,
    from: String,
}

/// Lines of the kernel's log.
const LOG_LEVELS: [(&str, Level); 5] = [
    ("started at EL1", Level::El1),
    ("started at EL2", Level::El2),
    ("HYP mode not available", Level::El1),
    ("VHE mode initialized", Level::El2),
    ("yp mode initialized", Level::El2),
];

/// INTIDs that the Base System Architecture gives the timers. Linux uses the virtual one if it started
/// at EL1, and leaves that to guests if it started at EL2 (arch_timer_select_ppi() in
/// drivers/clocksource/arm_arch_timer.c).
const TIMERS: [(&str, &str, Level); 4] = [
    ("27", "virtual", Level::El1),
    ("30", "physical", Level::El2),
    ("26", "EL2 physical", Level::El2),
    ("28", "EL2 virtual", Level::El2),
];

pub(super) fn arch(m: &Machine) -> Answer {
    if m.is_arm64() {
        let parts = [machine_name(m), core_names(m)].into_iter().flatten();
        let all: Vec<String> = ["arm64".to_owned()].into_iter().chain(parts).collect();
        return Answer::ok(all.join(", "));
    }
    let name = match m.arch.as_str() {
        "x86_64" => "x86-64",
        "" => "of an unknown architecture",
        other => other,
    };
    let says = format!("this is {name}; armvisor.ko is for arm64");
    Answer::bad(says).do_this("try 'make demo', which boots an emulated Arm machine")
}

fn machine_name(m: &Machine) -> Option<String> {
    let dmi: Vec<&str> = DMI.iter().filter_map(|path| m.word(path)).collect();
    if dmi.is_empty() {
        m.word(MODEL).map(str::to_owned)
    } else {
        Some(dmi.join(" "))
    }
}

fn level(m: &Machine) -> Option<Evidence> {
    let logged = LOG_LEVELS.iter().find_map(|(words, level)| {
        let line = m.logged(words)?;
        let from = format!("the kernel's log has '{}'", message(line));
        Some(Evidence {
            level: *level,
            from,
        })
    });
    logged
        .or_else(|| by_kvm(m))
        .or_else(|| by_timer(m))
        .or_else(|| by_config(m))
}

/// A line of the log without its time.
fn message(line: &str) -> &str {
    line.split_once("] ").map_or(line, |(_, message)| message)
}

fn by_kvm(m: &Machine) -> Option<Evidence> {
    (m.owner() == Some(Owner::Kernel)).then(|| Evidence {
        level: Level::El2,
        from: "the kernel's own KVM works".to_owned(),
    })
}

fn by_timer(m: &Machine) -> Option<Evidence> {
    let lines = m.text(INTERRUPTS)?.lines();
    let mut numbers = lines.filter_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let chip = words.iter().position(|word| word.starts_with("GIC"))?;
        (*words.last()? == "arch_timer").then_some(*words.get(chip + 1)?)
    });
    let number = numbers.next()?;
    let (_, name, level) = TIMERS.iter().find(|(intid, ..)| *intid == number)?;
    Some(Evidence {
        level: *level,
        from: format!("the kernel's timer is the {name} one, in {INTERRUPTS}"),
    })
}

fn by_config(m: &Machine) -> Option<Evidence> {
    let unused = m.owner().is_none() && m.parameter("kvm-arm.mode") != Some("none");
    (unused && m.option("KVM") == Some(true) && m.text(MISC).is_some()).then(|| Evidence {
        level: Level::El1,
        from: "the kernel has KVM built in, and it found no EL2".to_owned(),
    })
}

pub(super) fn exception_level(m: &Machine) -> Answer {
    let Some(Evidence { level, from }) = level(m) else {
        let hint = match m.word(PSCI_METHOD) {
            Some("hvc") => "; firmware calls are HVCs, which suggests EL1",
            Some("smc") => "; firmware calls are SMCs, which suggests EL2",
            _ => "",
        };
        let says = format!("cannot tell whether Linux started at EL1 or EL2{hint}");
        return Answer::unknown(says).do_this("run 'sudo dmesg | grep \"started at EL\"'");
    };
    match (level, m.owner()) {
        (Level::El1, _) => Answer::ok(format!("Linux started at EL1: {from}")),
        (Level::El2, Some(_)) => Answer::ok(format!("Linux started at EL2: {from}")),
        (Level::El2, None) => {
            let says = format!("Linux started at EL2, and its KVM does not run: {from}");
            Answer::bad(says).do_this(if m.parameter("kvm-arm.mode") == Some("none") {
                "boot without kvm-arm.mode=none"
            } else if m.option("KVM") == Some(false) {
                "boot a kernel that has KVM (CONFIG_KVM)"
            } else {
                "see what the kernel's log says of kvm: 'sudo dmesg | grep -i kvm'"
            })
        }
    }
}

/// A machine where Linux certainly or perhaps started at EL1.
pub(super) fn is_level_known(m: &Machine) -> bool {
    level(m).is_some()
}

/// What makes this a container, and which one.
pub(super) fn container_kind(m: &Machine) -> Option<String> {
    let [docker, podman, systemd, manager] = CONTAINER_FILES;
    if m.text(docker).is_some() {
        return Some("Docker".to_owned());
    }
    if m.text(podman).is_some() {
        return Some("Podman".to_owned());
    }
    let named = m.word(systemd).or_else(|| m.word(manager));
    if let Some(name) = named {
        return Some(name.to_owned());
    }
    let mut mounts = m.text(MOUNTS).into_iter().flat_map(str::lines);
    mounts
        .any(|line| line.split(' ').nth(2) == Some("overlay"))
        .then(|| "its root is an overlay".to_owned())
}

pub(super) fn container(m: &Machine) -> Answer {
    match container_kind(m) {
        None => Answer::ok("this is no container"),
        Some(kind) => Answer::warn(format!(
            "this is a container ({kind}): kernel, modules and /dev/kvm are its host's"
        ))
        .do_this("run 'armvisor doctor' on the host too"),
    }
}

pub(super) fn kvm(m: &Machine) -> Answer {
    let owner = m.owner();
    let Some(node) = &m.kvm else {
        return no_node(m, owner);
    };
    match (owner, &node.error) {
        (None, error) => {
            let why = error.as_deref().unwrap_or("it is not KVM");
            Answer::bad(format!(
                "/dev/kvm is there, and nothing behind it is KVM: {why}"
            ))
            .do_this("remove it with 'sudo rm /dev/kvm'")
        }
        (Some(_), None) if node.api_version != Some(12) => {
            let version = node.api_version.unwrap_or(0);
            Answer::bad(format!(
                "/dev/kvm speaks version {version} of KVM's API, not 12"
            ))
        }
        (Some(Owner::Kernel), _) => Answer::ok("/dev/kvm is the kernel's own KVM"),
        (Some(Owner::Armvisor), _) => Answer::ok("/dev/kvm is that of armvisor's module"),
    }
}

fn no_node(m: &Machine, owner: Option<Owner>) -> Answer {
    let Some(minor) = owner.and_then(|_| m.misc("kvm")) else {
        // The row "module" says what to do.
        return Answer::bad("there is no /dev/kvm");
    };
    let says = "the kernel has KVM, and there is no /dev/kvm here";
    Answer::bad(says).do_this(if container_kind(m).is_some() {
        "start the container with '--device /dev/kvm'".to_owned()
    } else {
        format!("make the node with 'sudo mknod -m 660 /dev/kvm c 10 {minor}'")
    })
}

const JOIN: &str = "add yourself to group kvm with 'sudo usermod -aG kvm $USER', and log in again";

pub(super) fn permission(m: &Machine) -> Answer {
    let member = m
        .user
        .kvm_group
        .is_some_and(|group| m.user.groups.contains(&group));
    let Some(node) = &m.kvm else {
        return match (m.user.uid, member) {
            (0, _) => Answer::ok("this user is root"),
            (_, true) => Answer::ok("this user is in group kvm"),
            _ => {
                Answer::bad("this user is not in group kvm, which will own /dev/kvm").do_this(JOIN)
            }
        };
    };
    match &node.error {
        None => Answer::ok("this user may open /dev/kvm"),
        Some(error) if error.starts_with("Permission denied") => may_not(m, node),
        Some(error) => Answer::bad(format!("/dev/kvm cannot be used: {error}")),
    }
}

fn may_not(m: &Machine, node: &Node) -> Answer {
    let of_kvm = Some(node.gid) == m.user.kvm_group;
    let by_group = node.mode & 0o060 == 0o060;
    if by_group && m.user.groups.contains(&node.gid) {
        return Answer::bad("this user's group owns /dev/kvm, and opening it is forbidden")
            .do_this("allow it in what confines this session: a container, a service, SELinux or AppArmor");
    }
    if by_group && m.user.listed.contains(&node.gid) {
        return Answer::bad("this user is in the group of /dev/kvm from the next login on")
            .do_this("log in again");
    }
    if by_group && of_kvm {
        return Answer::bad("this user is not in group kvm, which owns /dev/kvm").do_this(JOIN);
    }
    let mode = node.mode & 0o777;
    Answer::bad(format!("/dev/kvm has mode {mode:o} and group {}, which shuts this user out", node.gid))
        .do_this("give it to a group with 'sudo chgrp kvm /dev/kvm; sudo chmod 660 /dev/kvm' ('make install' has a rule that does it at each start)")
}
