// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! How a run ends, and the exit codes that say so. The codes are an interface: scripts test them, so
//! a code is added but never changed.

use std::fmt;
use std::io;
use std::path::Path;

use serde::Serialize;

/// Exit codes of `armvisor`, as `--help` lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    Success = 0,
    Internal = 1,
    Usage = 2,
    BadFile = 3,
    Host = 4,
    GuestReset = 5,
    GuestCrash = 6,
    GuestStuck = 7,
    Stopped = 8,
    NoSuchVm = 9,
    NoAnswer = 10,
}

/// What `armvisor --help` prints below the options.
pub const EXIT_CODES_HELP: &str = "\
Exit codes:
  0    the guest powered off (run); the command was carried out (others)
  1    a fault of armvisor itself
  2    wrong usage
  3    a kernel, initrd, disk or other file that cannot be used
  4    the host refuses: KVM, memory, TAP, locks, permissions
  5    the guest asked for a reset (see --on-reset)
  6    the guest's kernel panicked (see --append), or reported a crash
  7    KVM could not go on with the guest
  8    stopped by its user: armvisor stop --force, or Ctrl-A x on the console
  9    no such VM
  10   the guest does not do what it was asked for: no driver (balloon, stop), or too late (stop)
  129  killed by SIGHUP      130  killed by SIGINT      143  killed by SIGTERM";

/// Why a VM stopped running.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum End {
    /// PSCI SYSTEM_OFF.
    PowerOff,
    /// PSCI SYSTEM_RESET; `--on-reset` says what follows.
    Reset,
    /// PSCI SYSTEM_RESET2, which [`End::of_kernel`] makes a reset or a panic.
    WarmReset,
    /// The guest's kernel panicked; `--on-reset` says what follows.
    Panic,
    /// The guest told the hypervisor that it crashed.
    Crash { detail: String },
    /// KVM cannot go on; `detail` is the sentence for the user.
    Stuck { detail: String },
    /// `armvisor stop --force` or the console's escape key.
    Stopped { by: &'static str },
    /// A signal to armvisor.
    Signal { number: i32 },
    /// armvisor itself failed.
    Internal { detail: String },
}

impl End {
    /// What the end means with a kernel that resets warm after a panic, or with another one.
    pub fn of_kernel(self, panic_is_warm: bool) -> Self {
        match self {
            End::WarmReset if panic_is_warm => End::Panic,
            End::WarmReset => End::Reset,
            other => other,
        }
    }

    /// Whether the guest is to go on from its start.
    pub fn is_reset(&self) -> bool {
        matches!(self, End::Reset | End::Panic)
    }

    pub fn exit_code(&self) -> u8 {
        match self {
            End::PowerOff => ExitCode::Success as u8,
            End::Reset | End::WarmReset => ExitCode::GuestReset as u8,
            End::Panic | End::Crash { .. } => ExitCode::GuestCrash as u8,
            End::Stuck { .. } => ExitCode::GuestStuck as u8,
            End::Stopped { .. } => ExitCode::Stopped as u8,
            // What a shell reports for a program that the signal killed.
            End::Signal { number } => u8::try_from(128 + number).unwrap_or(u8::MAX),
            End::Internal { .. } => ExitCode::Internal as u8,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::PowerOff => write!(f, "the guest powered off"),
            End::Reset | End::WarmReset => write!(f, "the guest asked for a reset"),
            End::Panic => write!(f, "the guest's kernel panicked (its console says why)"),
            End::Crash { detail } => write!(f, "the guest crashed: {detail}"),
            End::Stuck { detail } => write!(f, "KVM cannot go on with the guest: {detail}"),
            End::Stopped { by } => write!(f, "stopped by {by}"),
            End::Signal { number } => write!(f, "killed by signal {number}"),
            End::Internal { detail } => write!(f, "armvisor failed: {detail}"),
        }
    }
}

/// An error for the user: the sentence, and the exit code that goes with it.
#[derive(Debug)]
pub struct Refusal {
    pub code: ExitCode,
    pub sentence: String,
}

impl Refusal {
    pub fn new(code: ExitCode, sentence: impl Into<String>) -> Self {
        Refusal {
            code,
            sentence: sentence.into(),
        }
    }

    pub fn host(sentence: impl Into<String>) -> Self {
        Refusal::new(ExitCode::Host, sentence)
    }

    pub fn usage(sentence: impl Into<String>) -> Self {
        Refusal::new(ExitCode::Usage, sentence)
    }

    /// The file at `path` (a "kernel", an "initrd", ...) is not what it should be.
    pub fn file(what: &str, path: &Path, problem: impl fmt::Display) -> Self {
        Refusal::new(
            ExitCode::BadFile,
            format!("{what} {}: {problem}", path.display()),
        )
    }

    /// The file at `path` cannot be opened or read.
    pub fn open(what: &str, path: &Path, error: &io::Error) -> Self {
        let problem = match error.kind() {
            io::ErrorKind::NotFound => "no such file".to_owned(),
            io::ErrorKind::PermissionDenied => {
                "permission denied; make it readable for you, or run as a user who may read it"
                    .to_owned()
            }
            io::ErrorKind::IsADirectory => "is a directory, not a file".to_owned(),
            _ => error.to_string(),
        };
        Refusal::file(what, path, problem)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for Refusal {}

/// The exit code for an error that reached `main`.
pub fn code_of(error: &anyhow::Error) -> ExitCode {
    error
        .downcast_ref::<Refusal>()
        .map_or(ExitCode::Internal, |refusal| refusal.code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_has_its_own_code() {
        let text = || String::new();
        let ends = [
            (End::PowerOff, 0),
            (End::Internal { detail: text() }, 1),
            (End::Reset, 5),
            (End::Panic, 6),
            (End::Crash { detail: text() }, 6),
            (End::Stuck { detail: text() }, 7),
            (End::Stopped { by: "x" }, 8),
            (
                End::Signal {
                    number: libc::SIGHUP,
                },
                129,
            ),
            (
                End::Signal {
                    number: libc::SIGINT,
                },
                130,
            ),
            (
                End::Signal {
                    number: libc::SIGTERM,
                },
                143,
            ),
        ];
        for (end, code) in ends {
            assert_eq!(end.exit_code(), code, "{end:?}");
        }
    }

    #[test]
    fn a_warm_reset_is_what_the_kernel_means_by_it() {
        assert_eq!(End::WarmReset.of_kernel(true), End::Panic);
        assert_eq!(End::WarmReset.of_kernel(false), End::Reset);
        assert_eq!(End::Reset.of_kernel(true), End::Reset);
        assert!(End::Panic.is_reset() && End::Reset.is_reset() && !End::PowerOff.is_reset());
    }

    #[test]
    fn a_refusal_keeps_its_code_under_context() {
        let error = anyhow::Error::from(Refusal::host("no")).context("while starting");
        assert_eq!(code_of(&error), ExitCode::Host);
        assert_eq!(code_of(&anyhow::anyhow!("bug")), ExitCode::Internal);
    }
}
