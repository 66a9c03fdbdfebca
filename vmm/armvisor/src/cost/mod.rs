// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Where a VM's time goes: its statistics by the classes and terms of ARMvisor's cost model.
//!
//! The model (ARMvisor, section 4): T_guest = T_native + T_virt, and T_virt = T_cpu + T_mem +
//! T_io + T_suspend + T_idle + ε. Counts and times are sums over all vCPUs; a value that this KVM
//! does not count is None. Time is in nanoseconds of vCPUs.
//!
//! Traps that end in the module's window (`fast_trap`) are timed by samples (`fast_timed_every`),
//! and only while accounting is on, because reading a clock takes as long as they do. The time of a
//! kind is then the mean of its samples times its count. Without samples it is part of T_native.

mod fast;
mod show;

use std::collections::BTreeMap;

use serde::Serialize;

pub use show::{line, text};

use crate::control::Stat;
use crate::exits::{self, KVM_CLASSES};

/// The terms of T_virt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Term {
    /// T_cpu: sensitive instructions, exceptions and hypercalls.
    Cpu,
    /// T_mem: faults, both the hypervisor's and the guest's.
    Mem,
    /// T_io: MMIO.
    Io,
    /// T_suspend: interrupts of the host, signals, and waits.
    Suspend,
    /// ε: everything else.
    Epsilon,
}

/// A row of the paper's Table 7: its name, its term, and the classes of exit that it is the sum of.
struct Group {
    name: &'static str,
    term: Term,
    classes: &'static [&'static str],
}

const fn group(name: &'static str, term: Term, classes: &'static [&'static str]) -> Group {
    Group {
        name,
        term,
        classes,
    }
}

/// In the paper's order; classes as the module's `stats/classes.h` has them, by this program's names.
const GROUPS: [Group; 14] = [
    group(
        "sen_inst_trap",
        Term::Cpu,
        &[
            "sysreg",
            "id_reg",
            "pstate",
            "sp_el0",
            "tpidr",
            "exception_reg",
            "translation_reg",
            "eret",
            "tlbi",
            "cache_op",
            "at",
            "gic_reg",
            "timer_reg",
            "fp_first_use",
        ],
    ),
    group("irq", Term::Suspend, &["host_irq", "serror", "signal"]),
    group("fast_trap", Term::Cpu, &["fast"]),
    group("dat_trans", Term::Mem, &["dabt_hidden_translation"]),
    group("protection", Term::Mem, &["dabt_hidden_permission"]),
    group("mmio", Term::Io, &["mmio_kernel", "mmio_user"]),
    group("dabt_true", Term::Mem, &["dabt_guest"]),
    group("pabt_kvm", Term::Mem, &["pabt_hidden"]),
    group("pabt_true", Term::Mem, &["pabt_guest"]),
    group("mem_pv", Term::Mem, &[]),
    group(
        "guest_exc",
        Term::Cpu,
        &["svc", "undef", "debug", "alignment"],
    ),
    group("hypercall", Term::Cpu, &["hvc", "smc_exit_stat"]),
    group("suspend", Term::Suspend, &["wfi", "wfe"]),
    group("other_trap", Term::Epsilon, &["other"]),
];

/// Faults that only the hypervisor sees, and the guest's own.
const HIDDEN: [&str; 3] = ["dat_trans", "protection", "pabt_kvm"];
const TRUE: [&str; 2] = ["dabt_true", "pabt_true"];

/// The group of those that end in the switching code.
const FAST: &str = "fast_trap";

/// What KVM calls the time that a vCPU is idle.
const KVM_IDLE: [&str; 3] = ["halt_wait_ns", "halt_poll_success_ns", "halt_poll_fail_ns"];

/// A class of exits, a kind of fast trap, or a place where time is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// A class of the paper's Table 7, a class of the module, or a place.
    pub name: String,
    /// KVM's statistic, if it has the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kvm: Option<&'static str>,
    /// Exits. None if this KVM does not count them.
    pub count: Option<u64>,
    /// `count` for each second between the two looks.
    pub per_second: Option<f64>,
    /// Time of all vCPUs. None if this KVM does not measure it.
    pub ns: Option<u64>,
    /// `ns` for each of `count`.
    pub mean_ns: Option<f64>,
    /// 99 of 100 took less than this; None without a histogram.
    pub p99_ns: Option<u64>,
    /// Of a fast trap: how many of `count` were timed; `ns` is an estimate by these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed: Option<u64>,
    /// Of all time of the vCPUs.
    pub share: Option<f64>,
    /// The row's parts that are not 0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Row>,
}

/// The model's terms, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Terms {
    /// T_native: the guest's own instructions.
    pub native: Option<u64>,
    /// T_cpu; [`Term::Cpu`].
    pub cpu: Option<u64>,
    /// T_mem; [`Term::Mem`].
    pub mem: Option<u64>,
    /// T_io: MMIO exits, and the time in the VMM.
    pub io: Option<u64>,
    /// T_suspend; [`Term::Suspend`], and the time that vCPUs waited for a CPU.
    pub suspend: Option<u64>,
    /// T_idle: vCPUs in WFI.
    pub idle: Option<u64>,
    /// ε: the rest of the vCPUs' time.
    pub epsilon: Option<u64>,
    /// T_host ÷ T_guest, with T_native for T_host, and idle time on neither side.
    pub guest_performance_ratio: Option<f64>,
}

/// What is mapped for the guest, now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Memory {
    /// Faults that the hypervisor resolved; the guest did not see them.
    pub hidden_faults: Option<u64>,
    /// Faults that the hypervisor injected into the guest.
    pub true_faults: Option<u64>,
    /// Shadow entries of 4 KiB.
    pub pages_4k: Option<u64>,
    /// Shadow entries of 2 MiB.
    pub pages_2m: Option<u64>,
    /// Memory of the shadow tables in bytes.
    pub shadow_bytes: Option<u64>,
    /// Shadow trees, of all address spaces.
    pub shadow_trees: Option<u64>,
}

/// Where the time of a VM went, from its start or between two looks at it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Length of the time that the figures cover, by the host's monotonic clock.
    pub seconds: f64,
    /// Whether there are histograms: the module's accounting. None where KVM has none.
    pub accounting: Option<bool>,
    /// One in so many fast traps of each kind is timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fast_timed_every: Option<u64>,
    /// What one took there and back when the module was loaded, with the hardware's part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fast_ns: Option<f64>,
    /// guest, switch, vmm, idle and descheduled: where the vCPUs' time was.
    pub places: Vec<Row>,
    /// The classes of exit, in the order of the paper's Table 7.
    pub classes: Vec<Row>,
    /// The time of places and classes by the terms of the model.
    pub terms: Terms,
    /// Faults between the two looks, and memory at the later one.
    pub memory: Memory,
    /// What exits did to the CPU's TLB. None where KVM does not count it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tlb: Option<Tlb>,
}

/// Flushes of a CPU's whole TLB, and what spared them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Tlb {
    /// Entries into the guest that flushed.
    pub entry_flush: u64,
    /// Exits that were answered in the host's image, as far as they did not miss: they flush nothing.
    pub light: u64,
    /// Light exits that used what the image lacks, and so flushed where entries do.
    pub missed: u64,
    /// Those of them by user memory, and by vmalloc memory: they miss again each time.
    pub missed_again: u64,
}

/// A VM misses often if one light exit in so many does.
const OFTEN: u64 = 50;

impl Tlb {
    fn new(counted: &Counted) -> Option<Self> {
        let missed = |why: &str| counted.get(&format!("image_miss_{why}"));
        let again = missed("user")? + missed("vmalloc")?;
        let all = again + missed("new")? + missed("other")?;
        Some(Self {
            entry_flush: counted.get("entry_flush")?,
            light: counted.get("exit_short")?.saturating_sub(all),
            missed: all,
            missed_again: again,
        })
    }

    /// Whether the image is of little use to this VM.
    pub fn misses_often(&self) -> bool {
        self.missed > self.light / OFTEN
    }
}

/// Statistics of all vCPUs, from one look to another.
struct Counted {
    numbers: BTreeMap<String, u64>,
    histograms: exits::Histograms,
    seconds: f64,
    /// All time that belongs to anything.
    all: Option<u64>,
}

impl Counted {
    fn new(now: &Stat, before: Option<&Stat>) -> Self {
        let sum = |stat: &Stat| exits::sum(stat.vcpus.iter().map(|vcpu| &vcpu.kvm));
        let mut numbers = sum(now);
        let mut histograms = now.histograms.clone();
        let mut seconds = now.uptime_seconds;
        if let Some(before) = before {
            seconds -= before.uptime_seconds;
            for (name, old) in sum(before) {
                numbers
                    .entry(name)
                    .and_modify(|new| *new = new.saturating_sub(old));
            }
            for (name, old) in &before.histograms {
                let new = histograms.get_mut(name).into_iter().flatten();
                new.zip(old)
                    .for_each(|(new, old)| *new = new.saturating_sub(*old));
            }
        }
        let mut counted = Counted {
            numbers,
            histograms,
            seconds,
            all: None,
        };
        let groups = GROUPS.iter().map(|group| group.name);
        let names = groups.chain(["guest", "vmm", "idle", "descheduled"]);
        let times = names.filter_map(|name| counted.get(&format!("{name}_ns")));
        counted.all = counted.get("guest_ns").map(|_| times.sum());
        counted
    }

    fn get(&self, name: &str) -> Option<u64> {
        self.numbers.get(name).copied()
    }

    /// The sum of those that there are.
    fn sum(&self, names: &[&str], suffix: &str) -> Option<u64> {
        let each = names
            .iter()
            .filter_map(|name| self.get(&[name, suffix].concat()));
        each.reduce(u64::saturating_add)
    }

    fn row(&self, name: &str, count: Option<u64>, ns: Option<u64>) -> Row {
        let per_second = count.filter(|_| self.seconds > 0.0);
        let mean = count.zip(ns).filter(|(count, _)| *count > 0);
        let share = ns.zip(self.all).filter(|(_, all)| *all > 0);
        Row {
            name: name.to_owned(),
            count,
            per_second: per_second.map(|count| count as f64 / self.seconds),
            ns,
            mean_ns: mean.map(|(count, ns)| ns as f64 / count as f64),
            share: share.map(|(ns, all)| ns as f64 / all as f64),
            ..Row::default()
        }
    }

    fn p99(&self, names: &[&str]) -> Option<u64> {
        let mut total = exits::Histograms::new();
        for name in names {
            if let Some(buckets) = self.histograms.get(&format!("{name}_hist")) {
                let one = exits::Histograms::from([(String::new(), buckets.clone())]);
                exits::add_histograms(&mut total, one);
            }
        }
        percentile(total.get("")?, 99)
    }

    fn class(&self, name: &str) -> Option<Row> {
        let count = self.get(name)?;
        let ns = self.get(&format!("{name}_ns")).filter(|_| name != "fast");
        let kvm = KVM_CLASSES.iter().find(|(_, class)| *class == name);
        Some(Row {
            kvm: kvm.map(|(kvm, _)| *kvm),
            p99_ns: self.p99(&[name]),
            ..self.row(name, Some(count), ns)
        })
    }

    fn group(&self, group: &Group) -> Row {
        let count = self.get(group.name).or_else(|| self.sum(group.classes, ""));
        if group.name == FAST {
            return self.fast(group.name, count);
        }
        Row {
            p99_ns: self.p99(group.classes),
            rows: self.classes(group),
            ..self.row(group.name, count, self.get(&format!("{}_ns", group.name)))
        }
    }

    fn classes(&self, group: &Group) -> Vec<Row> {
        let each = group.classes.iter().filter_map(|name| self.class(name));
        each.filter(|row| row.count > Some(0)).collect()
    }

    /// Exits that left the window: with the switch there and back.
    fn left(&self) -> Option<u64> {
        Some(self.get("total")? - self.get("fast_hvc")?.min(self.get("total")?))
    }
}

/// The upper end, in nanoseconds, of the bucket with this percentile; None for an empty histogram.
fn percentile(buckets: &[u64], percent: u64) -> Option<u64> {
    let all: u64 = buckets.iter().sum();
    let wanted = (u128::from(all) * u128::from(percent)).div_ceil(100) as u64;
    let mut seen = 0;
    let at = buckets.iter().position(|count| {
        seen += count;
        *count > 0 && seen >= wanted
    })?;
    1_u64.checked_shl(at as u32)
}

impl Cost {
    /// Of `now`, since `before` or since the VM started.
    pub fn new(now: &Stat, before: Option<&Stat>) -> Self {
        let counted = Counted::new(now, before);
        let classes: Vec<Row> = GROUPS.iter().map(|group| counted.group(group)).collect();
        let switch = switch_ns(&counted, now);
        let idle = counted
            .get("idle_ns")
            .or_else(|| counted.sum(&KVM_IDLE, ""));
        let native = counted.get("guest_ns").zip(switch);
        let fast = classes.iter().find(|row| row.name == FAST);
        let fast = fast.and_then(|row| row.ns).unwrap_or(0);
        let native = native.map(|(guest, switch)| (guest - switch).saturating_sub(fast));
        let mut idle_row = counted.row("idle", None, idle);
        idle_row.kvm = counted.get("halt_wait_ns").map(|_| "halt_wait_ns");
        idle_row.p99_ns = counted.p99(&["idle", "halt_wait"]);
        let place = |name: &str, ns| Row {
            p99_ns: counted.p99(&[name]),
            ..counted.row(name, None, ns)
        };
        let vmm = counted.get("vmm_ns");
        let away = counted
            .get("descheduled_ns")
            .filter(|_| now.kvm.get("accounting") == Some(&1));
        let places = vec![
            place("guest", native),
            counted.row(
                "switch",
                counted.left().filter(|_| switch.is_some()),
                switch,
            ),
            place("vmm", vmm),
            idle_row,
            place("descheduled", away),
        ];
        let mut cost = Cost {
            seconds: counted.seconds,
            accounting: now.kvm.get("accounting").map(|on| *on != 0),
            fast_timed_every: now.kvm.get("fast_timed_every").copied(),
            fast_ns: fast_ns(now),
            terms: Terms::default(),
            memory: memory(&classes, now),
            tlb: Tlb::new(&counted),
            places,
            classes,
        };
        let vcpus = before.map(|_| now.vcpus.len());
        cost.terms = terms(&cost, counted.left(), vcpus);
        cost
    }

    fn place(&self, name: &str) -> Option<u64> {
        self.places.iter().find(|row| row.name == name)?.ns
    }
}

fn fast_ns(now: &Stat) -> Option<f64> {
    let ps = now.kvm.get("fast_ps").filter(|ps| **ps > 0)?;
    Some(*ps as f64 / 1e3)
}

/// The switch's own time, by what a way there and back was measured to take; never more than there is.
fn switch_ns(counted: &Counted, now: &Stat) -> Option<u64> {
    let (long, short) = (now.kvm.get("switch_ps")?, now.kvm.get("switch_short_ps")?);
    let shorts = counted.get("exit_short")?;
    let longs = counted.left()?.saturating_sub(shorts);
    let ps = u128::from(longs) * u128::from(*long) + u128::from(shorts) * u128::from(*short);
    Some((ps / 1000).min(counted.get("guest_ns")?.into()) as u64)
}

fn memory(classes: &[Row], now: &Stat) -> Memory {
    let faults = |names: &[&str]| {
        let rows = classes
            .iter()
            .filter(|row| names.contains(&row.name.as_str()));
        rows.filter_map(|row| row.count).reduce(|a, b| a + b)
    };
    let of_vm = |name: &str| now.kvm.get(name).copied();
    Memory {
        hidden_faults: faults(&HIDDEN),
        true_faults: faults(&TRUE),
        pages_4k: of_vm("pages_4k"),
        pages_2m: of_vm("pages_2m"),
        shadow_bytes: of_vm("shadow_pages").map(|pages| pages << 12),
        shadow_trees: of_vm("shadow_trees"),
    }
}

/// The terms: each class's handling and its part, by count, of the switch. The VMM's time is the
/// devices', T_io. ε is what no class or place has: between two looks, of so many vCPUs' life. A VM's
/// start is none of it.
fn terms(cost: &Cost, left: Option<u64>, vcpus: Option<usize>) -> Terms {
    let idle = cost.place("idle");
    let (Some(native), Some(switch), Some(left)) =
        (cost.place("guest"), cost.place("switch"), left)
    else {
        return Terms {
            idle,
            ..Terms::default()
        };
    };
    let term = |term: Term| {
        let groups = GROUPS.iter().zip(&cost.classes);
        let rows = groups.filter(|(group, _)| group.term == term);
        let (mut ns, mut count) = (0, 0);
        for (group, row) in rows {
            ns += row.ns.unwrap_or(0);
            // They never leave the guest's tables.
            if group.name != FAST {
                count += row.count.unwrap_or(0);
            }
        }
        let part = u128::from(switch) * u128::from(count.min(left)) / u128::from(left.max(1));
        ns + part as u64
    };
    let io = term(Term::Io) + cost.place("vmm").unwrap_or(0);
    let suspend = term(Term::Suspend) + cost.place("descheduled").unwrap_or(0);
    let (cpu, mem, idle) = (term(Term::Cpu), term(Term::Mem), idle.unwrap_or(0));
    let known = native + cpu + mem + io + suspend + idle;
    let life = vcpus.map_or(0.0, |vcpus| cost.seconds.max(0.0) * 1e9 * vcpus as f64) as u64;
    let epsilon = term(Term::Epsilon).max(life.saturating_sub(known));
    let busy = (known - idle + epsilon) as f64;
    Terms {
        native: Some(native),
        cpu: Some(cpu),
        mem: Some(mem),
        io: Some(io),
        suspend: Some(suspend),
        idle: Some(idle),
        epsilon: Some(epsilon),
        guest_performance_ratio: (busy > 0.0).then(|| native as f64 / busy),
    }
}

#[cfg(test)]
#[path = "cost_test.rs"]
mod tests;
