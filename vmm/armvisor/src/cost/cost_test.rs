// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
use std::collections::BTreeMap;

use super::*;
use crate::control::VcpuStat;
use crate::exits::kvm_class;

fn map(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
    let own = |(name, value): &(&str, u64)| ((*name).to_owned(), *value);
    pairs.iter().map(own).collect()
}

fn stat(seconds: f64, vcpus: &[&[(&str, u64)]], vm: &[(&str, u64)]) -> Stat {
    let vcpu = |(index, kvm): (usize, &&[(&str, u64)])| VcpuStat {
        index,
        exits: BTreeMap::new(),
        kvm: map(kvm),
    };
    Stat {
        uptime_seconds: seconds,
        vcpus: vcpus.iter().enumerate().map(vcpu).collect(),
        kvm: map(vm),
        ..Stat::default()
    }
}

/// Two vCPUs of the module, 1 s each: 100 µs of it in calls, 1 ms in the VMM, half idle.
fn module() -> Stat {
    let vcpu: &[(&str, u64)] = &[
        ("total", 1100),
        ("fast_hvc", 100),
        ("exit_short", 500),
        ("guest_ns", 498_900_000),
        ("vmm_ns", 1_000_000),
        ("idle_ns", 500_000_000),
        ("descheduled_ns", 0),
        ("hypercall", 1100),
        ("hypercall_ns", 100_000),
        ("hvc", 1100),
        ("hvc_ns", 100_000),
        ("fast_trap", 70),
        ("fast_trap_ns", 0),
        ("fast_svc", 30),
        ("fast_daif", 40),
        ("dat_trans", 5),
        ("dabt_guest", 2),
        ("dabt_true", 2),
    ];
    let vm = [
        ("accounting", 1),
        ("switch_ps", 200_000),
        ("switch_short_ps", 100_000),
        ("pages_4k", 3),
        ("pages_2m", 1),
        ("shadow_pages", 10),
        ("shadow_trees", 2),
    ];
    let mut stat = stat(1.0, &[vcpu, vcpu], &vm);
    let hist = vec![0, 0, 0, 0, 0, 0, 0, 1980, 0, 20];
    stat.histograms = BTreeMap::from([("hvc_hist".to_owned(), hist)]);
    stat
}

fn find<'a>(rows: &'a [Row], name: &str) -> &'a Row {
    rows.iter().find(|row| row.name == name).unwrap()
}

#[test]
fn classes_have_count_rate_mean_p99_and_share() {
    let cost = Cost::new(&module(), None);
    let calls = find(&cost.classes, "hypercall");
    assert_eq!((calls.count, calls.per_second), (Some(2200), Some(2200.0)));
    assert_eq!((calls.ns, calls.p99_ns), (Some(200_000), Some(128)));
    assert!((calls.mean_ns.unwrap() - 90.9).abs() < 0.1);
    assert!((calls.share.unwrap() - 0.0001).abs() < 1e-6);
    let hvc = find(&calls.rows, "hvc");
    assert_eq!((hvc.kvm, hvc.count), (Some("hvc_exit_stat"), Some(2200)));
    let fast = find(&cost.classes, "fast_trap");
    assert_eq!((fast.count, fast.ns), (Some(140), None));
    assert_eq!((fast.timed, fast.p99_ns), (None, None));
    assert!(text(&cost).contains("fast traps are in T_native"));
    let kinds: Vec<&str> = fast.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(kinds, ["daif", "svc"]);
    assert_eq!(find(&cost.classes, "irq").count, None);
}

/// With 1 of 30 SVCs timed, 2 of 40 accesses to DAIF, and none of what came once.
fn timed() -> Stat {
    let mut stat = module();
    for vcpu in &mut stat.vcpus {
        let more = [
            ("fast_svc_timed_ns", 48),
            ("fast_daif_timed_ns", 48),
            ("fast_spsel", 1),
            ("fast_spsel_timed_ns", 0),
            ("fast_hvc_timed_ns", 1000),
        ];
        vcpu.kvm.extend(map(&more));
        vcpu.kvm.insert("fast_trap".into(), 71);
    }
    stat.kvm
        .extend(map(&[("fast_timed_every", 64), ("fast_ps", 31_250)]));
    let buckets = |at: usize, count| (0..=at).map(|i| if i == at { count } else { 0 }).collect();
    let hists = [
        ("fast_svc_hist", buckets(6, 2)),
        ("fast_daif_hist", buckets(5, 4)),
    ];
    let hists = hists.map(|(name, buckets)| (name.to_owned(), buckets));
    stat.histograms.extend(hists);
    stat
}

#[test]
fn fast_traps_take_what_those_took_that_were_timed() {
    let cost = Cost::new(&timed(), None);
    let fast = find(&cost.classes, "fast_trap");
    let svc = find(&fast.rows, "svc");
    assert_eq!(
        (svc.count, svc.timed, svc.ns),
        (Some(60), Some(2), Some(60 * 48))
    );
    assert_eq!((svc.mean_ns, svc.p99_ns), (Some(48.0), Some(64)));
    let daif = find(&fast.rows, "daif");
    assert_eq!(
        (daif.timed, daif.ns, daif.p99_ns),
        (Some(4), Some(80 * 24), Some(32))
    );
    let spsel = find(&fast.rows, "spsel");
    assert_eq!((spsel.count, spsel.timed, spsel.ns), (Some(2), None, None));
    let names: Vec<&str> = fast.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["daif", "svc", "spsel"]);
    // All but SPSel: 140 of 142.
    let ns = 60 * 48 + 80 * 24;
    assert_eq!(
        (fast.count, fast.timed, fast.ns),
        (Some(142), Some(6), Some(ns))
    );
    assert!((fast.mean_ns.unwrap() - ns as f64 / 140.0).abs() < 0.01);
    assert_eq!(fast.p99_ns, Some(64));
    let text = text(&cost);
    assert!(
        text.starts_with("fast traps: one in 64 of each kind is timed"),
        "{text}"
    );
    assert!(
        text.contains("fast traps as far as timed are in T_cpu"),
        "{text}"
    );
}

#[test]
fn the_time_of_fast_traps_is_none_of_the_guests_own() {
    let (without, with) = (Cost::new(&module(), None), Cost::new(&timed(), None));
    let ns = find(&with.classes, "fast_trap").ns.unwrap();
    let guest = |cost: &Cost| find(&cost.places, "guest").ns.unwrap();
    assert_eq!(guest(&without) - guest(&with), ns);
    let terms = |cost: &Cost| (cost.terms.native.unwrap(), cost.terms.cpu.unwrap());
    let ((native, cpu), (native_with, cpu_with)) = (terms(&without), terms(&with));
    assert_eq!((native - native_with, cpu_with - cpu), (ns, ns));
    // More than the guest's time: the mean of few samples may be too high.
    let mut odd = timed();
    for vcpu in &mut odd.vcpus {
        vcpu.kvm.insert("fast_svc_timed_ns".into(), 100_000_000_000);
    }
    assert_eq!(guest(&Cost::new(&odd, None)), 0);
}

#[test]
fn the_terms_have_their_classes_and_a_part_of_the_switch() {
    let cost = Cost::new(&module(), None);
    let terms = cost.terms;
    // 1000 of 1100 calls left the window, 500 of them the short way: 150 µs a vCPU.
    assert_eq!(find(&cost.places, "switch").ns, Some(300_000));
    assert_eq!(terms.native, Some(997_800_000 - 300_000));
    assert_eq!(terms.io, Some(2_000_000));
    assert_eq!(terms.idle, Some(1_000_000_000));
    assert_eq!(terms.epsilon, Some(0));
    let ratio = terms.guest_performance_ratio.unwrap();
    assert!((ratio - 0.9975).abs() < 1e-4, "{ratio}");
    assert_eq!(
        (cost.memory.hidden_faults, cost.memory.true_faults),
        (Some(10), Some(4))
    );
    assert_eq!(cost.memory.shadow_bytes, Some(40960));
}

#[test]
fn since_an_earlier_look_only_what_came_counts() {
    let before = module();
    let mut now = module();
    now.uptime_seconds = 3.0;
    let kvm = &mut now.vcpus[1].kvm;
    kvm.insert("hypercall".into(), 1110);
    kvm.insert("hvc".into(), 1110);
    now.histograms.get_mut("hvc_hist").unwrap()[9] += 10;
    let cost = Cost::new(&now, Some(&before));
    assert!((cost.seconds - 2.0).abs() < 1e-9);
    let calls = find(&cost.classes, "hypercall");
    assert_eq!((calls.count, calls.per_second), (Some(10), Some(5.0)));
    assert_eq!(calls.p99_ns, Some(512));
    // The two seconds of two vCPUs in between belong to nobody, except the calls' time.
    let terms = cost.terms;
    assert_eq!(terms.native, Some(0));
    assert!(
        terms.epsilon.unwrap().abs_diff(4_000_000_000) < 10_000,
        "{terms:?}"
    );
    // A number that has decreased, as for another VM, gives no rate.
    assert_eq!(
        find(&Cost::new(&before, Some(&now)).classes, "hypercall").count,
        Some(0)
    );
}

#[test]
fn kvm_has_what_it_counts_and_nothing_else() {
    let vcpu: &[(&str, u64)] = &[
        ("total", 100),
        ("hvc", 7),
        ("wfi", 5),
        ("wfe", 1),
        ("mmio_user", 4),
        ("mmio_kernel", 6),
        ("signal", 2),
        ("halt_wait_ns", 1000),
        ("halt_poll_success_ns", 10),
    ];
    let cost = Cost::new(&stat(2.0, &[vcpu], &[("remote_tlb_flush", 1)]), None);
    let count = |name: &str| find(&cost.classes, name).count;
    assert_eq!(
        (count("hypercall"), count("suspend"), count("mmio")),
        (Some(7), Some(6), Some(10))
    );
    assert_eq!(
        (count("irq"), count("sen_inst_trap"), count("mem_pv")),
        (Some(2), None, None)
    );
    assert_eq!(cost.accounting, None);
    assert_eq!((cost.terms.idle, cost.terms.cpu), (Some(1010), None));
    assert_eq!(cost.memory, Memory::default());
    let text = text(&cost);
    assert!(text.contains("Guest Performance Ratio - ("), "{text}");
    let row = text
        .lines()
        .find(|line| line.starts_with("sen_inst_trap"))
        .unwrap();
    assert_eq!(
        row.split_whitespace().skip(1).collect::<String>(),
        "-------"
    );
}

#[test]
fn percentiles_are_the_upper_end_of_a_bucket() {
    assert_eq!(percentile(&[], 99), None);
    assert_eq!(percentile(&[0, 0], 99), None);
    assert_eq!(percentile(&[1], 99), Some(1));
    assert_eq!(percentile(&[0, 98, 0, 2], 99), Some(8));
    assert_eq!(percentile(&[0, 99, 0, 1], 99), Some(2));
    assert_eq!(percentile(&[0, u64::MAX / 2, 1], 99), Some(2));
}

/// The module's table, of which a test alone may know.
#[test]
fn classes_and_groups_are_the_modules() {
    let table = include_str!("../../../../module/stats/classes.h");
    let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut names = BTreeMap::new();
    for line in table.lines() {
        let Some(cells) = line
            .trim()
            .strip_prefix("X(")
            .and_then(|line| line.split_once(')'))
        else {
            continue;
        };
        let cells: Vec<&str> = cells.0.split(',').map(str::trim).collect();
        match cells[..] {
            [_, name, group] => {
                groups
                    .entry(group)
                    .or_default()
                    .push(kvm_class(name.trim_matches('"')));
            }
            [group, name] => {
                names.entry(group).or_insert(name.trim_matches('"'));
            }
            _ => {}
        }
    }
    assert!(groups.len() > 10);
    for (group, mut classes) in groups {
        let own = GROUPS.iter().find(|own| own.name == names[group]).unwrap();
        let mut ours: Vec<String> = own
            .classes
            .iter()
            .map(|class| (*class).to_owned())
            .collect();
        ours.sort();
        classes.sort();
        assert_eq!(ours, classes, "{group}");
    }
}

#[test]
fn a_line_has_what_there_is() {
    let cost = Cost::new(&module(), None);
    let line = line(&cost);
    assert!(
        line.starts_with("1.0 s; guest 49.9%, switch 0.0%, vmm 0.1%, idle 50.0%; "),
        "{line}"
    );
    assert!(
        line.ends_with("fast_trap 140, dat_trans 10, dabt_true 4, hypercall 2200\n"),
        "{line}"
    );
}

#[test]
fn a_vm_whose_light_exits_miss_often_says_so() {
    let counts = |new: u64, user: u64| {
        let vcpu: &[(&str, u64)] = &[
            ("total", 2000),
            ("exit_short", 1500),
            ("entry_flush", 600),
            ("image_miss_new", new),
            ("image_miss_user", user),
            ("image_miss_vmalloc", 1),
            ("image_miss_other", 2),
        ];
        Cost::new(&stat(1.0, &[vcpu, vcpu], &[]), None)
    };
    let few = counts(3, 0);
    let tlb = few.tlb.unwrap();
    assert_eq!((tlb.entry_flush, tlb.light, tlb.missed), (1200, 2988, 12));
    assert_eq!(tlb.missed_again, 2);
    assert!(!tlb.misses_often() && !text(&few).contains("often miss"));
    assert!(text(&few).contains("TLB: 1200 entries flushed all of it; 2988 light exits"));
    let again = text(&counts(3, 90));
    assert!(
        again.contains("often miss") && again.contains("of the VMM"),
        "{again}"
    );
    let starts = text(&counts(90, 3));
    assert!(
        starts.contains("often miss") && starts.contains("starts"),
        "{starts}"
    );
    // KVM counts none of this, nor does an older module.
    assert!(Cost::new(&module(), None).tlb.is_none());
}
