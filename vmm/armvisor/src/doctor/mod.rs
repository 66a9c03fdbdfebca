// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! `armvisor doctor`: what this machine has, what it lacks, and what to do.
//!
//! `read` makes a [`Machine`], a snapshot. Each row of [`rows::ROWS`] asks one question of it, and
//! `verdict` sums the answers up. Rows and verdict read the snapshot alone, so that a machine which was
//! recorded (`--record`) is judged anywhere (`--machine`).

mod build;
mod distro;
mod limits;
pub mod machine;
mod place;
pub mod preconditions;
pub mod read;
pub mod rows;
mod show;
mod speed;
pub mod verdict;

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use crate::cli::DoctorArgs;
use crate::open::{REGULAR_FILE, open};
use crate::outcome::{ExitCode, Refusal};

pub use machine::Machine;
pub use show::text;
pub use verdict::{Report, report};

/// More than a snapshot ever has.
const MAX_FILE: u64 = 4 << 20;

/// Carries `armvisor doctor` out. The report, or nothing where the machine is only recorded.
pub fn doctor(args: &DoctorArgs) -> anyhow::Result<Option<Report>> {
    let machine = match &args.machine {
        Some(path) => load(path)?,
        None => read::Reader::new("/").machine(),
    };
    if let Some(path) = &args.record {
        record(&machine, path)?;
        return Ok(None);
    }
    Ok(Some(report(&machine)))
}

/// A recorded machine.
pub fn load(path: &Path) -> Result<Machine, Refusal> {
    let opened = open(path, File::options().read(true), REGULAR_FILE);
    let (file, _) = opened.map_err(|problem| problem.refusal("--machine", path))?;
    let mut text = Vec::new();
    file.take(MAX_FILE)
        .read_to_end(&mut text)
        .map_err(|error| Refusal::open("--machine", path, &error))?;
    serde_json::from_slice(&text).map_err(|error| {
        let problem = format!(
            "is not a recorded machine: {error}; record one with 'armvisor doctor --record FILE'"
        );
        Refusal::file("--machine", path, problem)
    })
}

/// Writes a machine to a new file.
fn record(machine: &Machine, path: &Path) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(machine)? + "\n";
    let mut options = File::options();
    let opened = options.write(true).create_new(true).open(path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Refusal::file("--record", path, "exists; name a new file").into()
        }
        std::io::ErrorKind::NotFound => {
            Refusal::file("--record", path, "no such folder; make it first").into()
        }
        _ => anyhow::Error::from(Refusal::open("--record", path, &error)),
    })
}

impl Report {
    /// One of [`ExitCode`].
    pub fn exit_code(&self) -> ExitCode {
        self.verdict.exit_code()
    }
}

#[cfg(test)]
mod tests;
