// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Rows about limits of VMs: memory, this process's limits, control groups.

use super::machine::{Limit, Machine};
use super::rows::Answer;
use crate::size::{MIB, in_mib};

/// The default of `armvisor run --memory`, and what the program itself and its devices take.
const DEFAULT_VM: u64 = 512 * MIB;
const OVERHEAD: u64 = 32 * MIB;
/// A VM has some ten files open, and more for each CPU and device.
const FILES: u64 = 128;

pub(super) fn memory(m: &Machine) -> Answer {
    let Some((total, free)) = m.memory("MemTotal").zip(m.memory("MemAvailable")) else {
        return Answer::unknown("cannot tell how much memory is available");
    };
    let says = format!("{} of {} are available", in_mib(free), in_mib(total));
    if free >= DEFAULT_VM + OVERHEAD {
        return Answer::ok(says);
    }
    Answer::warn(format!(
        "{says}, and a VM takes {} by default",
        in_mib(DEFAULT_VM)
    ))
    .do_this("give VMs less with 'armvisor run --memory SIZE'")
}

fn amount(limit: Option<u64>, show: fn(u64) -> String) -> String {
    limit.map_or("unlimited".to_owned(), show)
}

pub(super) fn open_files(m: &Machine) -> Answer {
    let Limit { soft, hard } = m.open_files;
    let says = format!(
        "{} files may be open",
        amount(soft, |number| number.to_string())
    );
    match soft {
        Some(soft) if soft < FILES => {
            let raise = hard.map_or(1024, |hard| hard.min(1024));
            Answer::warn(says).do_this(format!("raise the limit with 'ulimit -n {raise}'"))
        }
        _ => Answer::ok(says),
    }
}

pub(super) fn locked_memory(m: &Machine) -> Answer {
    match m.locked_memory.hard {
        _ if m.user.uid == 0 => Answer::ok("root may lock all memory"),
        None => Answer::ok("this user may lock all memory"),
        Some(hard) => Answer::ok(format!(
            "this user may lock {}, which limits protected VMs where KVM locks their memory",
            in_mib(hard)
        )),
    }
}

/// The smallest of the limits in files of this name.
fn least(m: &Machine, name: &str) -> Option<u64> {
    let paths = m
        .files
        .keys()
        .filter(|path| path.rsplit('/').next() == Some(name));
    let values = paths.filter_map(|path| m.word(path)?.parse::<u64>().ok());
    values.min()
}

/// The smallest share of CPUs, in hundredths: `quota period` of cpu.max.
fn least_cpus(m: &Machine) -> Option<u64> {
    let paths = m.files.keys().filter(|path| path.ends_with("/cpu.max"));
    let shares = paths.filter_map(|path| {
        let (quota, period) = m.word(path)?.split_once(' ')?;
        let quota: u64 = quota.parse().ok()?;
        let period: u64 = period.parse().ok()?;
        quota.checked_mul(100)?.checked_div(period)
    });
    shares.min()
}

/// Version 1 writes no limit as the largest number of whole pages.
const NO_LIMIT: u64 = 1 << 60;

pub(super) fn cgroup(m: &Machine) -> Answer {
    let memory = [least(m, "memory.max"), least(m, "memory.limit_in_bytes")];
    let memory = memory
        .into_iter()
        .flatten()
        .min()
        .filter(|limit| *limit < NO_LIMIT);
    let cpus = least_cpus(m);
    let parts: Vec<String> = [
        memory.map(|limit| format!("{} of memory", in_mib(limit))),
        cpus.map(|share| format!("{}.{:02} CPUs", share / 100, share % 100)),
        least(m, "pids.max").map(|limit| format!("{limit} tasks")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() {
        return Answer::ok("no control group limits this session");
    }
    let says = format!(
        "a control group limits this session to {}",
        parts.join(", ")
    );
    let tight = memory.is_some_and(|limit| limit < DEFAULT_VM + OVERHEAD)
        || cpus.is_some_and(|share| share < 100);
    if tight {
        Answer::warn(says).do_this("raise the limits of the container, service or slice")
    } else {
        Answer::ok(says)
    }
}
