// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Fast traps by register: all are counted. While the module's accounting is on, it times one in
//! `fast_timed_every` of each kind.

use super::{Counted, Row, percentile};
use crate::exits;

const PREFIX: &str = "fast_";
/// Firmware calls count as `hvc`.
const CALLS: &str = "fast_hvc";

impl Counted {
    /// The group, with a row for each kind that came.
    pub(super) fn fast(&self, group: &str, count: Option<u64>) -> Row {
        let kinds = self.numbers.iter().filter(|(name, count)| {
            name.starts_with(PREFIX)
                && !name.starts_with(group)
                && *name != CALLS
                && !name.ends_with("_ns")
                && **count > 0
        });
        let mut rows: Vec<Row> = kinds
            .map(|(name, count)| self.fast_kind(name, *count))
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.count));
        let known = rows.iter().filter(|row| row.ns.is_some());
        let (mut ns, mut of, mut timed) = (0_u64, 0, 0);
        for row in known {
            ns = ns.saturating_add(row.ns.unwrap_or(0));
            of += row.count.unwrap_or(0);
            timed += row.timed.unwrap_or(0);
        }
        let any = timed > 0;
        // It is part of the guest's time, so an estimate must not exceed that.
        ns = ns.min(self.get("guest_ns").unwrap_or(ns));
        Row {
            mean_ns: any.then(|| ns as f64 / of as f64),
            p99_ns: self.fast_p99(&rows),
            timed: any.then_some(timed),
            rows,
            ..self.row(group, count, any.then_some(ns))
        }
    }

    fn fast_kind(&self, name: &str, count: u64) -> Row {
        let timed = self.fast_buckets(name).iter().sum::<u64>();
        let ns = self.get(&format!("{name}_timed_ns"));
        let ns = ns.filter(|_| timed > 0);
        let all = ns.map(|ns| u128::from(ns) * u128::from(count) / u128::from(timed));
        Row {
            p99_ns: percentile(self.fast_buckets(name), 99),
            timed: ns.map(|_| timed),
            ..self.row(&name[PREFIX.len()..], Some(count), all.map(|ns| ns as u64))
        }
    }

    fn fast_buckets(&self, name: &str) -> &[u64] {
        let buckets = self.histograms.get(&format!("{name}_hist"));
        buckets.map_or(&[], Vec::as_slice)
    }

    /// As many of each kind are timed, so their histograms add up.
    fn fast_p99(&self, rows: &[Row]) -> Option<u64> {
        let mut total = exits::Histograms::new();
        for row in rows {
            let buckets = self.fast_buckets(&[PREFIX, &row.name].concat()).to_vec();
            exits::add_histograms(&mut total, [(String::new(), buckets)].into());
        }
        percentile(total.get("")?, 99)
    }
}
