// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
use std::fs;
use std::path::PathBuf;

use super::super::preconditions;
use super::super::read::{OPTIONS, is_kept};
use super::*;

fn source(path: &str) -> String {
    let top = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(top.join(path)).unwrap()
}

/// Function and sentence of each row of the module's table.
fn rows_of_module(text: &str) -> Vec<(String, String)> {
    let (_, table) = text.split_once("} preconditions[] = {").unwrap();
    let (table, _) = table.split_once("\n};").unwrap();
    let rows = table.split("{ ").skip(1);
    rows.map(|row| {
        let (function, rest) = row.split_once(',').unwrap();
        // A sentence may be of several strings.
        let sentence: Vec<&str> = rest.split('"').skip(1).step_by(2).collect();
        (function.trim().to_owned(), sentence.concat())
    })
    .collect()
}

#[test]
fn every_refusal_of_the_module_is_foreseen_in_its_own_words() {
    let theirs = rows_of_module(&source("module/preconditions.c"));
    let ours: Vec<_> = preconditions::MODULE
        .iter()
        .map(|it| {
            (
                it.function.to_owned(),
                format!("{}; {}", it.says, it.remedy),
            )
        })
        .collect();
    assert!(theirs.len() > 3, "{theirs:?}");
    assert_eq!(
        theirs, ours,
        "module/preconditions.c and doctor/preconditions.rs differ"
    );
    for it in preconditions::MODULE {
        assert!(ROWS.iter().any(|row| row.id == it.row), "no row {}", it.row);
    }
}

#[test]
fn a_refusal_foreseen_has_the_modules_sentence_and_remedy() {
    type Change = fn(&mut Machine);
    let changes: [(&str, Change); 6] = [
        ("page_size", |m| m.page_size = 16384),
        ("address_bits", |m| m.address_bits = Some(42)),
        ("asid", |m| m.release = "4.4.0".into()),
        ("realtime", |m| set(m, "PREEMPT_RT", "y")),
        ("pseudo_nmi", |m| {
            put(m, CMDLINE, "irqchip.gicv3_pseudo_nmi=1")
        }),
        ("sdei", |m| names(m, SDEI_DRIVER, &["sdei.0"])),
    ];
    for it in preconditions::MODULE {
        let Some((_, change)) = changes.iter().find(|(row, _)| *row == it.row) else {
            assert_eq!(it.row, "granule", "no program can see that");
            continue;
        };
        let mut m = good();
        m.config
            .as_mut()
            .unwrap()
            .set
            .insert("ARM64_PSEUDO_NMI".into(), "y".into());
        change(&mut m);
        let report = report(&m);
        assert_eq!(report.verdict, Overall::No, "{}", it.row);
        assert!(
            report.steps.iter().any(|step| step == it.remedy),
            "{}",
            it.row
        );
        let finding = report
            .findings
            .iter()
            .find(|finding| finding.id == it.row)
            .unwrap();
        assert!(finding.says.starts_with(it.says), "{}", finding.says);
    }
}

#[test]
fn what_rows_ask_for_is_read() {
    let sources = ["build", "place", "preconditions", "speed", "limits"];
    let read = source("vmm/armvisor/src/doctor/read.rs");
    let mut asked = 0;
    for name in sources {
        let text = source(&format!("vmm/armvisor/src/doctor/{name}.rs"));
        for part in text.split(".option(\"").skip(1) {
            let (option, _) = part.split_once('"').unwrap();
            assert!(OPTIONS.contains(&option), "CONFIG_{option} is not read");
            asked += 1;
        }
        for part in text.split(".logged(\"").skip(1) {
            let (words, _) = part.split_once('"').unwrap();
            let kept = is_kept(words);
            assert!(kept, "a line with '{words}' is not kept");
        }
    }
    assert!(asked > 10, "{read}");
}
