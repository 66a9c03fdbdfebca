// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The report for people.

use std::fmt::Write;

use super::rows::{Finding, Group, Verdict};
use super::verdict::{Overall, Report};
use crate::outcome::printable;

const GROUPS: [(Group, &str); 6] = [
    (Group::Machine, "Machine"),
    (Group::Kernel, "What the module needs of the kernel"),
    (Group::Module, "Building and loading the module"),
    (Group::Access, "Access"),
    (Group::Speed, "Speed"),
    (Group::Limits, "Limits"),
];

fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Ok => "ok",
        Verdict::Warn => "note",
        Verdict::Bad => "no",
        Verdict::Unknown => "?",
        Verdict::Skipped => "-",
    }
}

/// The report as lines of text. What a machine says of itself is no command to a terminal.
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    line(&mut out, &report.says);
    if report.steps.len() > 1 || report.verdict == Overall::No {
        for (number, step) in report.steps.iter().enumerate() {
            line(&mut out, &format!("  {}. {step}", number + 1));
        }
    }
    for (group, heading) in GROUPS {
        let of_group = report
            .findings
            .iter()
            .filter(|finding| finding.group == group);
        let shown: Vec<&Finding> = of_group
            .filter(|finding| finding.verdict != Verdict::Skipped)
            .collect();
        if shown.is_empty() {
            continue;
        }
        line(&mut out, "");
        line(&mut out, heading);
        for finding in shown {
            line(
                &mut out,
                &format!("  {:5} {}", mark(finding.verdict), finding.says),
            );
            if let Some(remedy) = &finding.remedy {
                line(&mut out, &format!("        to do: {remedy}"));
            }
        }
    }
    out
}

fn line(out: &mut String, text: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "{}", printable(text, false));
}
