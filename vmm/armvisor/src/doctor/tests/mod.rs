// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Rows are tested with one good machine and one change each; `tests/machines` has whole machines.

mod building;
mod cost;
mod kernel;
mod module;
mod place;
mod reading;

use self::place::opened;
use super::machine::*;
use super::rows::{Answer, ROWS, Verdict};
use super::text;
use super::verdict::{Overall, report};
use crate::outcome::ExitCode;

use Verdict::{Bad, Ok as Fine, Unknown, Warn};

/// A machine on which the module needs nothing but to be loaded.
fn good() -> Machine {
    let mut m = Machine {
        arch: "aarch64".into(),
        release: "6.12.9-arm64".into(),
        version: "#1 SMP Debian 6.12.9-1".into(),
        page_size: 4096,
        address_bits: Some(48),
        ..Default::default()
    };
    for (path, text) in [
        (INTERRUPTS, " 11:  1321  99  GICv3  27 Level  arch_timer\n"),
        (MISC, "183 hw_random\n"),
        (CPUINFO, "CPU implementer : 0x41\nCPU part : 0xd08\n"),
        (OS_RELEASE, "ID=debian\n"),
        (VERSION, "Linux version 6.12.9 (gcc-14 (Debian) 14.2.0)\n"),
        (CMDLINE, "root=/dev/vda\n"),
        (MEMINFO, "MemTotal: 2000000 kB\nMemAvailable: 1900000 kB\n"),
        (THP, "[always] madvise never\n"),
        (THP_SHMEM, "always [advise] never\n"),
        (LOCKDOWN, "[none] integrity confidentiality\n"),
        (SIG_ENFORCE, "N\n"),
    ] {
        put(&mut m, path, text);
    }
    names(
        &mut m,
        "/lib/modules/6.12.9-arm64/build",
        &["Makefile", "Module.symvers"],
    );
    names(
        &mut m,
        "/lib/modules/6.12.9-arm64/updates",
        &["armvisor.ko"],
    );
    names(&mut m, SDEI_DRIVER, &["bind", "uevent", "unbind"]);
    for option in [
        "ARM64_E0PD",
        "ARM64_PSEUDO_NMI",
        "KVM",
        "MODULES",
        "MODVERSIONS",
        "RANDOMIZE_BASE",
        "UNMAP_KERNEL_AT_EL0",
    ] {
        set(&mut m, option, "y");
    }
    for name in ["make", "gcc"] {
        m.programs.insert(name.into(), name.into());
    }
    m.open_files.soft = Some(1024);
    m
}

fn put(m: &mut Machine, path: &str, text: &str) {
    m.files.insert(path.into(), Reading::Text(text.into()));
}

fn names(m: &mut Machine, folder: &str, names: &[&str]) {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    m.folders.insert(folder.into(), names);
}

fn set(m: &mut Machine, option: &str, value: &str) {
    let config = m.config.get_or_insert_default();
    config.set.insert(option.into(), value.into());
}

fn log(m: &mut Machine, lines: &[&str]) {
    m.log = Some(
        lines
            .iter()
            .map(|line| format!("[    0.0] {line}"))
            .collect(),
    );
}

fn ask(id: &str, m: &Machine) -> Answer {
    let row = ROWS.iter().find(|row| row.id == id).unwrap();
    (row.judge)(m)
}

type Case = (&'static str, fn(&mut Machine), Verdict, &'static str);

/// Changes the good machine and asks one row. The words are of the sentence or of the remedy.
fn check(cases: &[Case]) {
    for (id, change, verdict, words) in cases {
        let mut m = good();
        change(&mut m);
        let answer = ask(id, &m);
        let said = format!("{} / {}", answer.says, answer.remedy.unwrap_or_default());
        assert_eq!(answer.verdict, *verdict, "{id}: {said}");
        assert!(said.contains(words), "{id}: {said}");
    }
}

#[test]
fn verdicts_have_codes_and_steps() {
    let mut m = good();
    let now = report(&m);
    assert_eq!(
        (now.verdict, now.exit_code()),
        (Overall::NotYet, ExitCode::NotYet)
    );
    assert_eq!(
        now.says,
        "Yes: load the module with 'sudo modprobe armvisor'"
    );
    m.programs.clear();
    m.user.uid = 1000;
    let now = report(&m);
    assert_eq!(now.says, "Yes, after 3 steps");
    assert!(text(&now).contains("\n  3. add yourself"), "{}", text(&now));
    names(&mut m, MODULE, &[]);
    opened(&mut m, Some(12), None);
    let now = report(&m);
    assert_eq!(
        (now.verdict, now.exit_code()),
        (Overall::Ready, ExitCode::Success)
    );
    m.folders.remove(MODULE);
    let now = report(&m);
    assert!(now.says.contains("own /dev/kvm"), "{}", now.says);
    m.page_size = 65536;
    assert_eq!(report(&m).verdict, Overall::Ready, "KVM itself runs there");
    m.arch = "x86_64".into();
    let now = report(&m);
    assert_eq!(
        (now.verdict, now.exit_code()),
        (Overall::No, ExitCode::Host)
    );
    let others = now.findings.iter().filter(|finding| finding.id != "arch");
    assert!(
        others
            .into_iter()
            .all(|finding| finding.verdict == Verdict::Skipped)
    );
    let unsure = Machine {
        arch: "aarch64".into(),
        page_size: 4096,
        ..Default::default()
    };
    assert!(
        report(&unsure)
            .says
            .starts_with("Perhaps (if Linux started at EL1)")
    );
    let mut untried = good();
    untried.version = "#6-Ubuntu SMP".into();
    assert_eq!(
        report(&untried).says,
        "Perhaps (the module was not tried with this kernel): load the module with 'sudo modprobe armvisor'"
    );
}

#[test]
fn rows_have_one_name_each_and_sentences_one_form() {
    for (number, row) in ROWS.iter().enumerate() {
        assert!(
            ROWS[..number].iter().all(|other| other.id != row.id),
            "{}",
            row.id
        );
        assert!(row.question.ends_with('?'), "{}", row.id);
    }
    for m in [good(), Machine::default()] {
        for finding in report(&m).findings {
            for said in [Some(finding.says), finding.remedy].into_iter().flatten() {
                assert!(!said.ends_with('.') && !said.contains("  "), "{said}");
            }
        }
    }
}

#[test]
fn a_terminal_obeys_no_machine() {
    let mut m = good();
    put(&mut m, DMI[0], "evil\u{1b}[2J\nYes: all is well");
    let shown = text(&report(&m));
    assert!(!shown.contains('\u{1b}'));
    assert!(
        !shown.lines().any(|line| line.starts_with("Yes: all")),
        "{shown}"
    );
}
