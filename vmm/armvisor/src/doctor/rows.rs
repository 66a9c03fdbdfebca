// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The questions, in the order in which people read them, and their answers.
//!
//! A remedy is an imperative that may follow "to mend this, ": no capital letter, no full stop, a command
//! to type in single quotes.

use serde::Serialize;

use super::machine::{Machine, Owner};
use super::{build, limits, place, preconditions, speed};

/// What an answer means for a VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// VMs run, with a limit or a cost that the user may want to know.
    Warn,
    /// VMs do not run before this is mended.
    Bad,
    /// This user, or any program, cannot tell.
    Unknown,
    /// The question does not matter on this machine.
    Skipped,
}

/// An answer to a row's question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What it means.
    pub verdict: Verdict,
    /// One sentence, without its full stop.
    pub says: String,
    /// What to do; for an unknown answer, how to find out.
    pub remedy: Option<String>,
}

impl Answer {
    /// As it should be.
    pub fn ok(says: impl Into<String>) -> Self {
        Answer {
            verdict: Verdict::Ok,
            says: says.into(),
            remedy: None,
        }
    }

    /// A limit or a cost.
    pub fn warn(says: impl Into<String>) -> Self {
        Answer {
            verdict: Verdict::Warn,
            ..Answer::ok(says)
        }
    }

    /// An obstacle.
    pub fn bad(says: impl Into<String>) -> Self {
        Answer {
            verdict: Verdict::Bad,
            ..Answer::ok(says)
        }
    }

    /// `says` begins with "cannot tell".
    pub fn unknown(says: impl Into<String>) -> Self {
        Answer {
            verdict: Verdict::Unknown,
            ..Answer::ok(says)
        }
    }

    /// The same with a remedy.
    pub fn do_this(self, remedy: impl Into<String>) -> Self {
        Answer {
            remedy: Some(remedy.into()),
            ..self
        }
    }
}

/// What a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// The machine itself.
    Machine,
    /// The module's preconditions.
    Kernel,
    /// Building and loading the module.
    Module,
    /// Whether this user may run VMs.
    Access,
    /// What VMs cost here.
    Speed,
    /// What limits VMs.
    Limits,
}

/// When a question matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// On any machine.
    Always,
    /// On arm64.
    Arm64,
    /// Where the kernel has no KVM of its own.
    ForModule,
    /// Where, besides, the module is not loaded yet.
    ToLoad,
}

/// A question.
pub struct Row {
    /// Its name for programs.
    pub id: &'static str,
    /// Its heading.
    pub group: Group,
    /// For people.
    pub question: &'static str,
    /// When it is asked.
    pub asked: Asked,
    /// The answer, from the snapshot alone.
    pub judge: fn(&Machine) -> Answer,
}

const fn row(
    id: &'static str,
    group: Group,
    asked: Asked,
    question: &'static str,
    judge: fn(&Machine) -> Answer,
) -> Row {
    Row {
        id,
        group,
        question,
        asked,
        judge,
    }
}

/// All questions.
#[rustfmt::skip]
pub const ROWS: [Row; 29] = {
    use Asked::*;
    use Group::{Access, Kernel, Limits, Module, Speed};
    [
        row("arch", Group::Machine, Always, "Is it an arm64 machine?", place::arch),
        row("kvm", Group::Machine, Arm64, "Is there a /dev/kvm, and whose?", place::kvm),
        row("exception_level", Group::Machine, Arm64, "Did Linux start at EL1 or EL2?", place::exception_level),
        row("container", Group::Machine, Arm64, "Is this a container?", place::container),
        row("config", Kernel, ToLoad, "Is the kernel's configuration readable?", preconditions::config),
        row("release", Kernel, ForModule, "Is the kernel new enough?", preconditions::release),
        row("asid", Kernel, ForModule, "Is the ASID in TTBR1?", preconditions::asid),
        row("page_size", Kernel, ForModule, "Has the kernel pages of 4 KiB?", preconditions::page_size),
        row("granule", Kernel, ForModule, "Does the CPU translate in 4 KiB granules?", preconditions::granule),
        row("address_bits", Kernel, ForModule, "Has the kernel addresses of 39, 48 or 52 bits?", preconditions::address_bits),
        row("realtime", Kernel, ForModule, "Is it a kernel without PREEMPT_RT?", preconditions::realtime),
        row("pseudo_nmi", Kernel, ForModule, "Can all interrupts be masked?", preconditions::pseudo_nmi),
        row("sdei", Kernel, ForModule, "Does the firmware leave the CPUs alone?", preconditions::sdei),
        row("cfi", Kernel, ToLoad, "Does the kernel check indirect calls?", build::cfi),
        row("headers", Module, ToLoad, "Are the kernel's headers installed?", build::headers),
        row("compiler", Module, ToLoad, "Is there a compiler?", build::compiler),
        row("modversions", Module, ToLoad, "Do symbols have versions?", build::modversions),
        row("symbols", Module, ToLoad, "Does the kernel export its symbols?", build::symbols),
        row("lockdown", Module, ToLoad, "Is the kernel locked down?", build::lockdown),
        row("signatures", Module, ToLoad, "Must modules be signed?", build::signatures),
        row("module", Module, ForModule, "Is armvisor's module installed and loaded?", build::module),
        row("permission", Access, Arm64, "May this user open /dev/kvm?", place::permission),
        row("entries", Speed, ForModule, "Do entries into guests flush the TLB?", speed::entries),
        row("huge_pages", Speed, Arm64, "Can guest memory have huge pages?", speed::huge_pages),
        row("hugetlb", Speed, Arm64, "Is there a pool of huge pages?", speed::hugetlb),
        row("memory", Limits, Arm64, "Is there memory for a VM?", limits::memory),
        row("open_files", Limits, Arm64, "How many files may be open?", limits::open_files),
        row("locked_memory", Limits, Arm64, "How much memory may be locked?", limits::locked_memory),
        row("cgroup", Limits, Arm64, "Does a control group limit VMs?", limits::cgroup),
    ]
};

/// A row and its answer.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Of the row.
    pub id: &'static str,
    /// Of the row.
    pub group: Group,
    /// Of the row.
    pub question: &'static str,
    /// Of the answer.
    pub verdict: Verdict,
    /// Of the answer.
    pub says: String,
    /// Of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// Asks everything.
pub fn findings(machine: &Machine) -> Vec<Finding> {
    ROWS.iter().map(|row| finding(row, machine)).collect()
}

fn finding(row: &Row, machine: &Machine) -> Finding {
    let answer = match needless(row.asked, machine) {
        Some(why) => Answer {
            verdict: Verdict::Skipped,
            ..Answer::ok(why)
        },
        None => (row.judge)(machine),
    };
    Finding {
        id: row.id,
        group: row.group,
        question: row.question,
        verdict: answer.verdict,
        says: answer.says,
        remedy: answer.remedy,
    }
}

/// Why a question does not matter here.
fn needless(asked: Asked, machine: &Machine) -> Option<&'static str> {
    let own = machine.owner() == Some(Owner::Kernel);
    match asked {
        Asked::Always => None,
        _ if !machine.is_arm64() => Some("asked on arm64 only"),
        Asked::ForModule | Asked::ToLoad if own => {
            Some("asked only where the kernel has no KVM of its own")
        }
        Asked::ToLoad if machine.is_loaded() => Some("the module is loaded"),
        Asked::ToLoad if place::container_kind(machine).is_some() => {
            Some("a container's host builds and loads the module")
        }
        _ => None,
    }
}
