// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The answers, summed up: one sentence, the steps to take, an exit code.

use serde::Serialize;

use super::machine::{Machine, Owner};
use super::place::is_level_known;
use super::preconditions::is_tried;
use super::rows::{Finding, Group, Verdict, findings};
use crate::outcome::ExitCode;

/// Whether VMs run here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Overall {
    /// Now, by this user.
    Ready,
    /// After the steps.
    NotYet,
    /// Not on this machine with this kernel.
    No,
}

impl Overall {
    /// One of the program's.
    pub fn exit_code(self) -> ExitCode {
        match self {
            Overall::Ready => ExitCode::Success,
            Overall::NotYet => ExitCode::NotYet,
            Overall::No => ExitCode::Host,
        }
    }
}

/// What `--json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Whether VMs run here.
    pub verdict: Overall,
    /// The same in a sentence.
    pub says: String,
    /// What to do, in this order.
    pub steps: Vec<String>,
    /// One for each row.
    pub findings: Vec<Finding>,
}

/// Judges a machine.
pub fn report(machine: &Machine) -> Report {
    let findings = findings(machine);
    let bad = || {
        findings
            .iter()
            .filter(|finding| finding.verdict == Verdict::Bad)
    };
    let fatal: Vec<&Finding> = bad().filter(|finding| is_fatal(finding)).collect();
    let (verdict, says, steps) = if let Some(first) = fatal.first() {
        let steps = remedies(fatal.iter().copied());
        (Overall::No, format!("No: {}", first.says), steps)
    } else if bad().next().is_none() {
        (Overall::Ready, ready(machine), Vec::new())
    } else {
        let steps = remedies(bad());
        (Overall::NotYet, not_yet(machine, &steps), steps)
    };
    Report {
        verdict,
        says,
        steps,
        findings,
    }
}

/// Whether another machine or kernel is needed.
fn is_fatal(finding: &Finding) -> bool {
    finding.group == Group::Kernel || ["arch", "exception_level"].contains(&finding.id)
}

fn remedies<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<String> {
    findings
        .filter_map(|finding| finding.remedy.clone())
        .collect()
}

fn ready(machine: &Machine) -> String {
    let says = match machine.owner() {
        Some(Owner::Armvisor) => {
            "Yes: armvisor's module is loaded, and this user may open /dev/kvm"
        }
        _ => "Yes: use this machine's own /dev/kvm; the module is not needed",
    };
    says.to_owned()
}

fn not_yet(machine: &Machine, steps: &[String]) -> String {
    let yes = if machine.owner().is_some() {
        "Yes"
    } else if !is_level_known(machine) {
        "Perhaps (if Linux started at EL1)"
    } else if !is_tried(machine) {
        "Perhaps (the module was not tried with this kernel)"
    } else {
        "Yes"
    };
    match steps {
        [] => format!("{yes}, but not yet: see below"),
        [step] => format!("{yes}: {step}"),
        steps => format!("{yes}, after {} steps", steps.len()),
    }
}
