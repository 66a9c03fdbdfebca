// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! `armvisor doctor` on whole machines. Each machine of tests/machines has beside it what the doctor
//! says of it, and its exit code in the last line.

// Functions beside a test are test code too, which clippy does not see.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use armvisor::doctor::machine::Reading;
use armvisor::doctor::{Machine, load, report, text};

fn machines() -> Vec<(PathBuf, Machine)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machines");
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    paths.sort_unstable();
    let all = paths.into_iter().map(|path| {
        let machine = load(&path).unwrap();
        (path, machine)
    });
    all.collect()
}

fn said(machine: &Machine) -> String {
    let report = report(machine);
    format!(
        "{}\nexit code {}\n",
        text(&report),
        report.exit_code() as u8
    )
}

#[test]
fn the_doctor_says_of_each_machine_what_stands_beside_it() {
    for (path, machine) in machines() {
        let expected = fs::read_to_string(path.with_extension("txt")).unwrap();
        assert_eq!(said(&machine), expected, "{}", path.display());
    }
}

#[test]
fn there_are_twelve_machines_and_each_says_where_it_is_from() {
    let machines = machines();
    assert!(machines.len() >= 12);
    for (path, machine) in &machines {
        let source = &machine.source;
        let known = ["recorded with ", "composed, not recorded: "];
        assert!(
            known.iter().any(|words| source.starts_with(words)),
            "{}",
            path.display()
        );
    }
    let codes = machines
        .iter()
        .map(|(_, machine)| report(machine).exit_code() as u8);
    assert_eq!(codes.collect::<BTreeSet<_>>(), [0, 4, 11].into());
}

/// Whatever a machine's files say, or do not say, there is a report.
#[test]
fn no_text_stops_the_doctor() {
    let odd = [
        "",
        "\0",
        "[",
        "]",
        ":",
        "=",
        " / ",
        "é\u{1b}",
        "9".repeat(40).as_str(),
    ]
    .map(str::to_owned);
    for (_, machine) in machines() {
        for path in machine.files.keys() {
            let mut less = machine.clone();
            less.files.remove(path);
            said(&less);
            for text in &odd {
                let mut other = machine.clone();
                other
                    .files
                    .insert(path.clone(), Reading::Text(text.clone()));
                other.release.clone_from(text);
                said(&other);
            }
        }
    }
}
