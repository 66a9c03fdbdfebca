// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Writes the manual pages of `armvisor` and its completions for shells, from the definition of its
//! command line:
//!
//! ```text
//! armvisor-manual FOLDER
//! ```
//!
//! makes FOLDER/man1/armvisor*.1 and FOLDER/completions/{bash,zsh,fish}.
#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use armvisor::cli::Cli;
use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate};
use clap_mangen::Man;

const NAME: &str = "armvisor";
const SHELLS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash"),
    (Shell::Zsh, "zsh"),
    (Shell::Fish, "fish"),
];

fn main() -> Result<()> {
    let mut words = std::env::args_os().skip(1);
    let (Some(folder), None) = (words.next(), words.next()) else {
        bail!("write 'armvisor-manual FOLDER'");
    };
    write(Path::new(&folder))
}

fn write(folder: &Path) -> Result<()> {
    let (pages, completions) = (folder.join("man1"), folder.join("completions"));
    for made in [&pages, &completions] {
        fs::create_dir_all(made).with_context(|| made.display().to_string())?;
    }
    // 'armvisor help run' is also a page.
    let mut command = Cli::command().name(NAME).disable_help_subcommand(true);
    command.build();
    write_pages(&pages, &command, NAME)?;
    for (shell, name) in SHELLS {
        let mut text = Vec::new();
        generate(shell, &mut command, NAME, &mut text);
        fs::write(completions.join(name), text)?;
    }
    Ok(())
}

/// The page of a command and those of its subcommands: `armvisor-run.1` is of `armvisor run`.
fn write_pages(folder: &Path, command: &Command, name: &str) -> Result<()> {
    let mut page = Vec::new();
    let title = command.clone().display_name(name.to_owned());
    // Without a date, which would be that of the build.
    Man::new(title)
        .manual("User Commands")
        .source(format!(
            "armvisor {}",
            command.get_version().unwrap_or_default()
        ))
        .render(&mut page)?;
    fs::write(folder.join(format!("{name}.1")), page)?;
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        write_pages(folder, sub, &format!("{name}-{}", sub.get_name()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_all_its_options() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).unwrap();
        let overview = fs::read_to_string(folder.path().join("man1/armvisor.1")).unwrap();
        for sub in Cli::command().get_subcommands() {
            let entry = format!("armvisor\\-{}(1)", sub.get_name());
            assert!(overview.contains(&entry), "no {entry}");
            let file = format!("man1/armvisor-{}.1", sub.get_name());
            let page = fs::read_to_string(folder.path().join(file)).unwrap();
            for option in sub.get_arguments().filter(|each| !each.is_hide_set()) {
                let Some(long) = option.get_long() else {
                    continue;
                };
                let long = format!("\\-\\-{}", long.replace('-', "\\-"));
                assert!(page.contains(&long), "{}: no {long}", sub.get_name());
            }
        }
    }

    #[test]
    fn every_shell_completes_the_commands() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).unwrap();
        for (_, name) in SHELLS {
            let text = fs::read_to_string(folder.path().join("completions").join(name)).unwrap();
            for word in ["balloon", "doctor", "huge-pages", "on-reset"] {
                assert!(text.contains(word), "{name}: no {word}");
            }
        }
    }

    #[test]
    fn what_is_written_is_the_same_each_time() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        for folder in &folders {
            write(folder.path()).unwrap();
        }
        let [one, other] = folders.map(|folder| {
            ["man1/armvisor.1", "man1/armvisor-run.1", "completions/zsh"]
                .map(|file| fs::read(folder.path().join(file)).unwrap())
        });
        assert!(one == other);
    }
}
