// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The outcomes of a run, their messages, and the exit codes. The codes are an interface: scripts
//! test them, so a code is added but never changed.
//!
//! Every refusal is one line: `SUBJECT: what is wrong; what to do`. The subject is what the user
//! named (an option, a file, a VM) or the host. The second part has no capital letter and no full
//! stop; the third may be missing if there is nothing to do. A command to type is in single quotes.

use std::fmt;
use std::io;
use std::path::Path;

use serde::Serialize;

/// Exit codes of `armvisor`, as `--help` lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    /// The guest powered off, or the command was carried out.
    Success = 0,
    /// A fault of armvisor itself.
    Internal = 1,
    /// The command line is wrong.
    Usage = 2,
    /// A kernel, initrd, disk or other file cannot be used.
    BadFile = 3,
    /// The host refuses: KVM, memory, a TAP, a lock, permissions.
    Host = 4,
    /// The guest asked for a reset.
    GuestReset = 5,
    /// The guest's kernel panicked, or reported a crash.
    GuestCrash = 6,
    /// KVM could not go on with the guest.
    GuestStuck = 7,
    /// The user stopped the VM.
    Stopped = 8,
    /// No VM of that name runs.
    NoSuchVm = 9,
    /// The guest did not do as it was asked.
    NoAnswer = 10,
    /// No VM runs on this machine before the doctor's steps are taken.
    NotYet = 11,
    /// SIGHUP came before the VM ran.
    Hangup = 129,
    /// SIGINT did.
    Interrupted = 130,
    /// SIGTERM did.
    Terminated = 143,
}

impl ExitCode {
    /// That of a program that the signal ends.
    pub fn of_signal(number: i32) -> Self {
        match number {
            libc::SIGHUP => ExitCode::Hangup,
            libc::SIGINT => ExitCode::Interrupted,
            _ => ExitCode::Terminated,
        }
    }
}

/// What `armvisor --help` prints below the options.
pub const EXIT_CODES_HELP: &str = "\
Exit codes:
  0    success: the guest powered off (run), or the command was carried out (others)
  1    a fault of armvisor itself
  2    the command line is wrong
  3    a kernel, initrd, disk or other file cannot be used
  4    the host refuses: KVM, memory, a TAP, a lock, permissions
  5    the guest asked for a reset (see --on-reset)
  6    the guest's kernel panicked, or reported a crash
  7    KVM could not go on with the guest
  8    its user stopped the VM: 'armvisor stop --force', or Ctrl-A x on the console
  9    no such VM runs
  10   the guest did not do what it was asked: no driver (balloon, stop), or not in time (stop)
  11   no VM runs here before the steps that 'armvisor doctor' names; 4 if none helps with this kernel
  129  SIGHUP ended armvisor      130  SIGINT did      143  SIGTERM did";

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
    Crash {
        /// What the guest or KVM said of it.
        detail: String,
    },
    /// KVM cannot go on.
    Stuck {
        /// Why, as a sentence for the user.
        detail: String,
    },
    /// `armvisor stop --force` or the console's escape key.
    Stopped {
        /// The command or the key, as a noun.
        by: &'static str,
    },
    /// A signal to armvisor.
    Signal {
        /// Its number, as signal(7) has it.
        number: i32,
    },
    /// armvisor itself failed.
    Internal {
        /// What failed, as a sentence for the user.
        detail: String,
    },
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

    /// One of [`ExitCode`], or 128 plus the number of the signal.
    pub fn exit_code(&self) -> u8 {
        match self {
            End::PowerOff => ExitCode::Success as u8,
            End::Reset | End::WarmReset => ExitCode::GuestReset as u8,
            End::Panic | End::Crash { .. } => ExitCode::GuestCrash as u8,
            End::Stuck { .. } => ExitCode::GuestStuck as u8,
            End::Stopped { .. } => ExitCode::Stopped as u8,
            // The status that a shell reports for a program killed by the signal.
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

/// An error for the user, in the form that the top of this file says, and its exit code.
#[derive(Debug)]
pub struct Refusal {
    /// Exit code of the program.
    pub code: ExitCode,
    subject: String,
    problem: String,
}

impl Refusal {
    /// `problem` is what is wrong and, behind a semicolon, what to do.
    pub fn new(code: ExitCode, subject: impl fmt::Display, problem: impl fmt::Display) -> Self {
        Refusal {
            code,
            subject: subject.to_string(),
            problem: problem.to_string(),
        }
    }

    /// The host refuses `subject`.
    pub fn host(subject: impl fmt::Display, problem: impl fmt::Display) -> Self {
        Refusal::new(ExitCode::Host, subject, problem)
    }

    /// The command line is wrong.
    pub fn usage(subject: impl fmt::Display, problem: impl fmt::Display) -> Self {
        Refusal::new(ExitCode::Usage, subject, problem)
    }

    /// The same, said of a place in a file.
    pub fn at(mut self, place: Option<&str>) -> Self {
        if let Some(place) = place {
            self.subject = format!("{place}: {}", self.subject);
        }
        self
    }

    /// The file at `path` (a "kernel", an "initrd", ...) is not what it should be.
    pub fn file(what: &str, path: &Path, problem: impl fmt::Display) -> Self {
        let subject = format!("{what} {}", path.display());
        Refusal::new(ExitCode::BadFile, subject, problem)
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
        let line = format!("{}: {}", self.subject, self.problem);
        f.write_str(&printable(&line, false))
    }
}

/// Text that no terminal takes for commands: control characters are shown as Rust writes them, but for
/// the ends of `lines`. A file's name or another VM may bring any.
pub fn printable(text: &str, lines: bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() && !(lines && c == '\n') {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

impl std::error::Error for Refusal {}

/// An error that reached `main`, as a refusal. One of the system's that nobody gave a better sentence
/// is the host's refusal; any other is a fault of ours.
pub fn refusal_of(error: anyhow::Error) -> Refusal {
    match error.downcast::<Refusal>() {
        Ok(refusal) => refusal,
        Err(error) => {
            let of_host = error.chain().any(|cause| cause.is::<io::Error>());
            let problem = format!("{error:#}");
            if of_host {
                Refusal::host("host", problem)
            } else {
                let problem = format!("{problem}; this is a fault of armvisor, please report it");
                Refusal::new(ExitCode::Internal, "internal", problem)
            }
        }
    }
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
    fn every_error_becomes_a_refusal_with_a_subject() {
        let error = anyhow::Error::from(Refusal::usage("--cpus 0", "no")).context("while starting");
        let refusal = refusal_of(error);
        assert_eq!(refusal.code, ExitCode::Usage);
        assert_eq!(refusal.to_string(), "--cpus 0: no");
        let refusal = refusal_of(io::Error::from_raw_os_error(libc::EMFILE).into());
        assert_eq!(refusal.code, ExitCode::Host);
        assert!(refusal.to_string().starts_with("host: Too many open files"));
        let refusal = refusal_of(anyhow::anyhow!("bug"));
        assert_eq!(refusal.code, ExitCode::Internal);
        assert!(refusal.to_string().starts_with("internal: bug; "));
    }

    #[test]
    fn a_refusal_is_one_line_that_no_terminal_obeys() {
        let refusal = Refusal::file("disk", Path::new("/a\n\x1b[2J\u{9b}é"), "is empty");
        let shown = "disk /a\\n\\u{1b}[2J\\u{9b}é: is empty";
        assert_eq!(refusal.to_string(), shown);
        assert_eq!(printable("a\nb\t\r", true), "a\nb\\t\\r");
    }

    #[test]
    fn the_help_has_every_exit_code() {
        for code in 0..=ExitCode::NotYet as u8 {
            let line = format!("\n  {code} ");
            assert!(EXIT_CODES_HELP.contains(&line), "{code}");
        }
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
            let code = End::Signal { number: signal }.exit_code();
            assert!(EXIT_CODES_HELP.contains(&code.to_string()), "{signal}");
            assert_eq!(ExitCode::of_signal(signal) as u8, code);
        }
    }
}
