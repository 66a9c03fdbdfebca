// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! A VM's costs for a reader: a table, or a line.

use std::fmt::Write as _;

use super::{Cost, Row, Tlb};

const NONE: &str = "-";

fn or_none<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(|| NONE.to_owned(), show)
}

/// A time with the unit that suits it.
fn time(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.2} us", ns / 1e3),
        ns if ns < 1e9 => format!("{:.2} ms", ns / 1e6),
        _ => format!("{:.2} s", ns / 1e9),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

fn cells(text: &mut String, cells: [&str; 8]) {
    let [name, kvm, count, rate, total, mean, p99, share] = cells;
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "{name:<27} {kvm:<16} {count:>12} {rate:>10} {total:>10} {mean:>10} {p99:>10} {share:>7}"
    );
}

fn row(text: &mut String, row: &Row, indent: &str) {
    cells(
        text,
        [
            &format!("{indent}{}", row.name),
            row.kvm.unwrap_or(NONE),
            &or_none(row.count, |count| count.to_string()),
            &or_none(row.per_second, |rate| format!("{rate:.0}")),
            &or_none(row.ns, |ns| time(ns as f64)),
            &or_none(row.mean_ns, time),
            &or_none(row.p99_ns, |ns| format!("<{}", time(ns as f64))),
            &or_none(row.share, percent),
        ],
    );
    for inner in &row.rows {
        self::row(text, inner, "  ");
    }
}

/// What a reader of the table must know of the fast traps' times, if it has any.
fn heading(cost: &Cost) -> Option<String> {
    let timed = cost.classes.iter().any(|row| row.timed.is_some());
    let every = cost.fast_timed_every.filter(|_| timed)?;
    let load = cost
        .fast_ns
        .map(|ns| format!("; with the hardware's part, one took {} at load", time(ns)));
    Some(format!(
        "fast traps: one in {every} of each kind is timed, from vector to return, and all are \
         taken to be like these{}\n",
        load.unwrap_or_default()
    ))
}

/// What exits did to the TLB, and what to do where the image of the host does not help.
fn flushes(tlb: &Tlb) -> String {
    let mut text = format!(
        "TLB: {} entries flushed all of it; {} light exits stayed in the image of the host, {} missed\n",
        tlb.entry_flush, tlb.light, tlb.missed,
    );
    if tlb.misses_often() {
        text += "light exits often miss what they use: ";
        text += if tlb.missed_again > tlb.missed / 2 {
            "memory from vmalloc or of the VMM, which the image cannot have; please report it\n"
        } else {
            "expected while a VM starts, and on kernels with KASAN; otherwise please report it\n"
        };
    }
    text
}

/// The whole of it.
pub fn text(cost: &Cost) -> String {
    let mut text = heading(cost).unwrap_or_default();
    cells(
        &mut text,
        [
            "class",
            "KVM's name",
            "count",
            "a second",
            "time",
            "mean",
            "p99",
            "share",
        ],
    );
    for each in cost.places.iter().chain(&cost.classes) {
        row(&mut text, each, "");
    }
    let terms = &cost.terms;
    let seconds = |ns: Option<u64>| or_none(ns, |ns| format!("{:.3}", ns as f64 / 1e9));
    let _ = writeln!(
        text,
        "seconds of vCPUs: T_native {} + T_cpu {} + T_mem {} + T_io {} + T_suspend {} + T_idle {} + rest {}",
        seconds(terms.native),
        seconds(terms.cpu),
        seconds(terms.mem),
        seconds(terms.io),
        seconds(terms.suspend),
        seconds(terms.idle),
        seconds(terms.epsilon),
    );
    let ratio = or_none(terms.guest_performance_ratio, |ratio| format!("{ratio:.3}"));
    let _ = writeln!(
        text,
        "Guest Performance Ratio {ratio} (T_native of all but T_idle; fast traps {})",
        if heading(cost).is_some() {
            "as far as timed are in T_cpu"
        } else {
            "are in T_native"
        }
    );
    let number = |number: Option<u64>| or_none(number, |number| number.to_string());
    let memory = &cost.memory;
    let _ = writeln!(
        text,
        "faults: {} hidden, {} true; mapped: {} pages of 4 KiB, {} blocks of 2 MiB; \
         shadow memory: {} KiB in {} trees",
        number(memory.hidden_faults),
        number(memory.true_faults),
        number(memory.pages_4k),
        number(memory.pages_2m),
        or_none(memory.shadow_bytes, |bytes| (bytes >> 10).to_string()),
        number(memory.shadow_trees),
    );
    if let Some(tlb) = &cost.tlb {
        text += &flushes(tlb);
    }
    text
}

/// What came in one interval, on one line: no class that had nothing.
pub fn line(cost: &Cost) -> String {
    let counted = cost.classes.iter().filter(|row| row.count > Some(0));
    let counts: Vec<String> = counted
        .map(|row| format!("{} {}", row.name, row.count.unwrap_or(0)))
        .collect();
    let shared = cost.places.iter().filter_map(|row| {
        let share = row.share.filter(|share| *share > 0.0)?;
        Some(format!("{} {}", row.name, percent(share)))
    });
    let shares: Vec<String> = shared.collect();
    let parts = [
        format!("{:.1} s", cost.seconds),
        shares.join(", "),
        counts.join(", "),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("; ") + "\n"
}
