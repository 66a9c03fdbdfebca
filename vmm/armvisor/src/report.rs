// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The report at the end of a run: one line for a person, one JSON object for a program.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Serialize;

use crate::control::Stat;
use crate::exits;
use crate::outcome::{End, ExitCode};

/// How long each step of a start took.
pub struct Phases {
    last: Instant,
    steps: Vec<Phase>,
}

/// A step of a VM's start.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Phase {
    /// What was done.
    pub name: &'static str,
    /// By the host's monotonic clock.
    pub seconds: f64,
}

impl Phases {
    /// Starts the clock of the first step.
    pub fn start() -> Self {
        Phases {
            last: Instant::now(),
            steps: Vec::new(),
        }
    }

    /// The step `name` ends now.
    pub fn done(&mut self, name: &'static str) {
        let now = Instant::now();
        let seconds = now.duration_since(self.last).as_secs_f64();
        log::debug!("{name}: {:.3} ms", seconds * 1e3);
        self.steps.push(Phase { name, seconds });
        self.last = now;
    }

    /// Forgets the steps after the first `count`: those of a VM that starts again.
    pub fn back_to(&mut self, count: usize) {
        self.steps.truncate(count);
        self.last = Instant::now();
    }

    /// The steps, in order.
    pub fn into_steps(self) -> Vec<Phase> {
        self.steps
    }
}

/// The report that `--json` prints.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Why the VM stopped.
    pub end: End,
    /// Exit code of the program.
    pub exit_code: u8,
    /// From the start of the program to the end of the VM, by the host's monotonic clock.
    pub wall_seconds: f64,
    /// Exits to the VMM of all vCPUs, by class.
    pub exits: BTreeMap<String, u64>,
    /// What KVM counted for all vCPUs, by class.
    pub kvm_exits: BTreeMap<String, u64>,
    /// The steps of the start, in order.
    pub phases: Vec<Phase>,
    /// The figures at the end.
    #[serde(flatten)]
    pub stat: Stat,
}

impl Report {
    /// The report of a VM that has ended; sums are over the vCPUs of `stat`.
    pub fn new(end: End, stat: Stat, phases: Vec<Phase>, wall_seconds: f64) -> Self {
        let exits = exits::sum(stat.vcpus.iter().map(|vcpu| &vcpu.exits));
        let kvm_exits = exits::sum(stat.vcpus.iter().map(|vcpu| &vcpu.kvm));
        let exit_code = end.exit_code();
        Report {
            end,
            exit_code,
            wall_seconds,
            exits,
            kvm_exits,
            phases,
            stat,
        }
    }

    /// Where changes of a disk were lost, that is no success.
    pub fn with_loss(mut self, lost: Option<ExitCode>) -> Self {
        if let Some(code) = lost.filter(|_| self.exit_code == ExitCode::Success as u8) {
            self.exit_code = code as u8;
        }
        self
    }

    /// One line: how it ended, how long it took, and where the exits went.
    pub fn line(&self) -> String {
        let counts: Vec<String> = self
            .exits
            .iter()
            .filter(|(_, count)| **count > 0)
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        format!(
            "{}; {:.2} s; exits: {}",
            self.end,
            self.wall_seconds,
            counts.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::VcpuStat;

    #[test]
    fn a_report_sums_the_vcpus() {
        let vcpu = |index, count| VcpuStat {
            index,
            exits: BTreeMap::from([("mmio_user_write".to_owned(), count)]),
            kvm: BTreeMap::from([("wfi".to_owned(), 1)]),
        };
        let stat = Stat {
            vcpus: vec![vcpu(0, 3), vcpu(1, 4)],
            ..Stat::default()
        };
        let mut phases = Phases::start();
        phases.done("memory");
        phases.done("load");
        phases.back_to(1);
        let report = Report::new(End::PowerOff, stat, phases.into_steps(), 1.5);
        assert_eq!(
            report.line(),
            "the guest powered off; 1.50 s; exits: mmio_user_write 7"
        );
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["end"]["reason"], "power_off");
        assert_eq!(
            (
                json["exit_code"].as_u64(),
                json["kvm_exits"]["wfi"].as_u64()
            ),
            (Some(0), Some(2))
        );
        assert_eq!(json["phases"][0]["name"], "memory");
        assert_eq!(json["phases"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn a_loss_is_no_success_and_hides_no_other_end() {
        for (end, lost, code) in [
            (End::PowerOff, None, 0),
            (End::PowerOff, Some(ExitCode::Host), 4),
            (End::Panic, Some(ExitCode::Host), 6),
        ] {
            let report = Report::new(end, Stat::default(), Vec::new(), 1.0);
            assert_eq!(report.with_loss(lost).exit_code, code);
        }
    }
}
