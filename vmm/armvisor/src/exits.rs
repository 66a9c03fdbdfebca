// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The classes of exit, in one table. `armvisor stat`, the final report, the module's statistics
//! and the cost model use these names; they appear nowhere else in the program.
//!
//! There are two sources of counts. This program counts the exits that reach it, where it
//! dispatches them. KVM counts those that it handles itself, in its binary statistics
//! (`KVM_GET_STATS_FD`).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the VMM itself sees of a vCPU, in the order of [`CLASSES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Class {
    /// A load from a device: KVM_EXIT_MMIO with `is_write` 0.
    MmioRead,
    /// A store to a device: KVM_EXIT_MMIO with `is_write` 1.
    MmioWrite,
    /// KVM_RUN ended with EINTR: the vCPU was kicked.
    Signal,
    /// KVM_EXIT_SYSTEM_EVENT: power-off, reset or crash.
    SystemEvent,
    /// Any other exit, and KVM_RUN's other errors.
    Error,
}

/// A class that the VMM counts: its name and what it means.
pub struct ClassRow {
    /// The class that the row is of.
    pub class: Class,
    /// Name in `armvisor stat` and in reports.
    pub name: &'static str,
    /// Meaning, as `armvisor stat --help` has it.
    pub help: &'static str,
}

/// The rows, one for each [`Class`].
pub const CLASSES: [ClassRow; 5] = [
    ClassRow {
        class: Class::MmioRead,
        name: "mmio_user_read",
        help: "load from a device of the VMM",
    },
    ClassRow {
        class: Class::MmioWrite,
        name: "mmio_user_write",
        help: "store to a device of the VMM",
    },
    ClassRow {
        class: Class::Signal,
        name: "signal",
        help: "interrupted for pause, stop or a signal",
    },
    ClassRow {
        class: Class::SystemEvent,
        name: "system_event",
        help: "power-off, reset or crash",
    },
    ClassRow {
        class: Class::Error,
        name: "error",
        help: "KVM could not go on",
    },
];

/// What KVM counts for a vCPU: the name in its statistics, and the class name here. Statistics of
/// other names are shown as they are. The module has more (its `module/stats/classes.h`): no name
/// here may be one of those.
pub const KVM_CLASSES: [(&str, &str); 7] = [
    ("exits", "total"),
    ("hvc_exit_stat", "hvc"),
    ("wfe_exit_stat", "wfe"),
    ("wfi_exit_stat", "wfi"),
    ("mmio_exit_user", "mmio_user"),
    ("mmio_exit_kernel", "mmio_kernel"),
    ("signal_exits", "signal"),
];

/// The class name of one of KVM's statistics, or of the time or histogram that belongs to it.
pub fn kvm_class(stat: &str) -> String {
    let suffix = ["_ns", "_hist"]
        .into_iter()
        .find(|suffix| stat.ends_with(suffix));
    let suffix = suffix.unwrap_or_default();
    let count = stat.strip_suffix(suffix).unwrap_or(stat);
    let class = KVM_CLASSES.iter().find(|(kvm, _)| *kvm == count);
    class.map_or_else(|| stat.to_owned(), |(_, class)| [class, suffix].concat())
}

/// One vCPU's counters. Its thread adds; any thread reads.
#[derive(Debug, Default)]
pub struct ExitCounters([AtomicU64; CLASSES.len()]);

impl ExitCounters {
    /// Counts one exit. Only the vCPU's own thread may call it.
    pub fn bump(&self, class: Class) {
        // Only the vCPU's own thread writes, so a load and a store suffice: nothing atomic.
        let counter = &self.0[class as usize];
        counter.store(
            counter.load(Ordering::Relaxed).wrapping_add(1),
            Ordering::Relaxed,
        );
    }

    /// Exits so far, from any thread.
    pub fn get(&self, class: Class) -> u64 {
        self.0[class as usize].load(Ordering::Relaxed)
    }

    /// Counts by class name.
    pub fn by_name(&self) -> BTreeMap<String, u64> {
        CLASSES
            .iter()
            .map(|row| (row.name.to_owned(), self.get(row.class)))
            .collect()
    }
}

/// Counts by power of two and name.
pub type Histograms = BTreeMap<String, Vec<u64>>;

/// Adds histograms by name; those that hold nothing are left out, and buckets behind the last that does.
pub fn add_histograms(total: &mut Histograms, more: Histograms) {
    for (name, mut buckets) in more {
        let used = buckets.iter().rposition(|count| *count > 0);
        buckets.truncate(used.map_or(0, |last| last + 1));
        if buckets.is_empty() {
            continue;
        }
        let sum = total.entry(name).or_default();
        sum.resize(sum.len().max(buckets.len()), 0);
        for (sum, count) in sum.iter_mut().zip(buckets) {
            *sum += count;
        }
    }
}

/// Adds counts by name, for the sum over vCPUs.
pub fn sum<'a>(maps: impl IntoIterator<Item = &'a BTreeMap<String, u64>>) -> BTreeMap<String, u64> {
    let mut total = BTreeMap::new();
    for (name, count) in maps.into_iter().flatten() {
        *total.entry(name.clone()).or_insert(0) += count;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_enum() {
        for (index, row) in CLASSES.iter().enumerate() {
            assert_eq!(row.class as usize, index, "{}", row.name);
            assert!(!row.help.is_empty());
        }
    }

    #[test]
    fn counting_and_summing() {
        let (a, b) = (ExitCounters::default(), ExitCounters::default());
        a.bump(Class::MmioRead);
        a.bump(Class::MmioRead);
        b.bump(Class::Signal);
        let total = sum([&a.by_name(), &b.by_name()]);
        assert_eq!(total["mmio_user_read"], 2);
        assert_eq!(total["signal"], 1);
        assert_eq!(total["error"], 0);
    }

    #[test]
    fn kvm_names_map_to_classes() {
        assert_eq!(kvm_class("wfi_exit_stat"), "wfi");
        assert_eq!(kvm_class("wfi_exit_stat_ns"), "wfi_ns");
        assert_eq!(kvm_class("halt_wait_ns"), "halt_wait_ns");
        assert_eq!(kvm_class("mmio_exit_user_hist"), "mmio_user_hist");
    }

    #[test]
    fn histograms_add_up_and_nothing_is_left_out_but_zeroes() {
        let mut total = Histograms::new();
        for buckets in [vec![0, 2, 0], vec![0; 40], vec![1, 0, 0, 5, 0]] {
            add_histograms(
                &mut total,
                Histograms::from([("hvc_hist".to_owned(), buckets)]),
            );
        }
        assert_eq!(total["hvc_hist"], [1, 2, 0, 5]);
        add_histograms(
            &mut total,
            Histograms::from([("svc_hist".to_owned(), vec![0, 0])]),
        );
        assert_eq!(total.len(), 1);
    }
}
