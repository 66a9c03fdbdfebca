// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The `armvisor` program: parses the command line, executes the command, and turns the outcome
//! into a sentence and an exit code.
#![forbid(unsafe_code)]

use std::io::{IsTerminal, Write};
use std::process;
use std::time::Duration;

use anyhow::Result;
use armvisor::cli::{Cli, Command, RunArgs, Verbosity, VmArgs, Words, refusal};
use armvisor::control::{Reply, Request, client};
use armvisor::doctor;
use armvisor::life::{self, folder::Home};
use armvisor::outcome::{ExitCode, Refusal, printable, refusal_of};
use armvisor::passt;
use armvisor::reader;
use armvisor::rundir::Places;
use armvisor::watch;
use clap::Parser;

fn main() -> process::ExitCode {
    // The panic has printed its message; the code is that of any other internal error.
    let code = std::panic::catch_unwind(|| {
        let command = std::env::args_os().nth(1);
        if reader::is_asked(command.as_deref()) {
            return reader::serve();
        }
        if passt::is_asked(command.as_deref()) {
            return passt::serve();
        }
        if life::serve::is_asked(command.as_deref()) {
            return serve_vm().unwrap_or_else(|error| refuse(&refusal_of(error)));
        }
        let cli = match parse() {
            Ok(cli) => cli,
            Err(refusal) => return refuse(&refusal),
        };
        start_log(cli.verbosity);
        carry_out(&cli).unwrap_or_else(|error| refuse(&refusal_of(error)))
    });
    process::ExitCode::from(code.unwrap_or(ExitCode::Internal as u8))
}

fn refuse(refusal: &Refusal) -> u8 {
    eprintln!("armvisor: {refusal}");
    refusal.code as u8
}

/// The command line. Help and version are printed, and end the program.
fn parse() -> Result<Cli, Refusal> {
    let given: Vec<_> = std::env::args_os().collect();
    let words = given
        .iter()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.collect();
    let mut commands = words.iter().filter(|word| !word.starts_with('-'));
    let said = match commands.next().map(String::as_str) {
        // A configuration's words are text; other words need not be.
        Some("run") if words.iter().any(|word| word.starts_with("--config")) => {
            Some(Words::expand(&words)?)
        }
        _ => None,
    };
    let parsed = match &said {
        Some(said) => Cli::try_parse_from(
            ["armvisor"]
                .into_iter()
                .chain(said.words.iter().map(String::as_str)),
        ),
        None => Cli::try_parse_from(given),
    };
    parsed.map_err(
        |error| match refusal(&error, words.iter().map(String::as_str)) {
            Some(refusal) => refusal.at(said.as_ref().and_then(|said| said.place(&error))),
            None => error.exit(),
        },
    )
}

fn start_log(verbosity: Verbosity) {
    let level = match (verbosity.quiet, verbosity.verbose) {
        (true, _) => log::LevelFilter::Error,
        (_, 0) => log::LevelFilter::Warn,
        (_, 1) => log::LevelFilter::Info,
        _ => log::LevelFilter::Debug,
    };
    env_logger::Builder::new()
        .filter_level(level)
        .parse_env("ARMVISOR_LOG")
        .format(|out, record| {
            let level = record.level().as_str().to_lowercase();
            // \r: the terminal may be raw.
            writeln!(out, "armvisor: {level}: {}\r", record.args())
        })
        .init();
}

fn carry_out(cli: &Cli) -> Result<u8> {
    let places = Places::of_user();
    let places_of = |args: &VmArgs| life::places_of(&args.vm, &places);
    let done = ExitCode::Success as u8;
    match &cli.command {
        Command::Run(args) => return run_vm(args, cli.verbosity),
        Command::Stat(args) => {
            watch::stat(&places_of(&args.vm), args, &mut std::io::stdout())?;
        }
        Command::Pause(args) => simple(&places_of(args), args, Request::Pause)?,
        Command::Resume(args) => simple(&places_of(args), args, Request::Resume)?,
        Command::Stop(args) if args.force => simple(&places_of(&args.vm), &args.vm, Request::Stop)?,
        Command::Stop(args) => {
            let limit = Duration::from_secs(args.timeout.into());
            let reply = client::stop(&places_of(&args.vm), &args.vm.vm, limit)?;
            show_reply(&args.vm, &reply)?;
        }
        Command::Balloon(args) => {
            let request = Request::Balloon {
                bytes: args.size.bytes,
                unit: Some(args.size.unit),
            };
            simple(&places_of(&args.vm), &args.vm, request)?;
        }
        Command::Doctor(args) => {
            let Some(report) = doctor::doctor(args)? else {
                return Ok(done);
            };
            print(&if args.json {
                json(&report)?
            } else {
                doctor::text(&report)
            })?;
            return Ok(report.exit_code() as u8);
        }
        Command::Up(args) => return Ok(life::up::up(&Home::of_user()?, &places, args)?),
        Command::Ssh(args) => match life::ssh::ssh(&Home::of_user()?, args)? {},
        Command::Console(args) => life::console::console(&Home::of_user()?, &args.name)?,
        Command::Logs(args) => life::console::logs(&Home::of_user()?, args)?,
        Command::Rm(args) => life::rm(&Home::of_user()?, &places, &args.name, args.force)?,
        Command::List { json: as_json } => {
            let mut stats = client::list(&places)?;
            if let Ok(home) = Home::of_user() {
                stats.extend(life::stopped(&home, &places));
            }
            print(&if *as_json {
                json(&stats)?
            } else {
                let terminal = std::io::stdout().is_terminal();
                printable(&client::show_list(&stats, &places, terminal), true)
            })?;
        }
    }
    Ok(done)
}

/// Is the VM in a folder.
fn serve_vm() -> Result<u8> {
    let folder = std::env::args_os().nth(2).unwrap_or_default();
    let (args, verbosity) = life::serve::arguments(folder.as_ref())?;
    start_log(verbosity);
    run_vm(&args, verbosity)
}

fn simple(places: &Places, args: &VmArgs, request: Request) -> Result<()> {
    show_reply(args, &client::ask(places, &args.vm, request)?)
}

fn show_reply(args: &VmArgs, reply: &Reply) -> Result<()> {
    if args.json {
        print(&json(reply)?)?;
    }
    Ok(())
}

fn json(value: &impl serde::Serialize) -> Result<String> {
    Ok(serde_json::to_string(value)? + "\n")
}

/// Standard output may be a pipe whose reader has gone; that is no fault of ours.
fn print(text: &str) -> Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

#[cfg(target_arch = "aarch64")]
fn run_vm(args: &RunArgs, verbosity: Verbosity) -> Result<u8> {
    use armvisor::outcome::End;

    let report = armvisor::vm::run(args)?;
    if args.json {
        print(&json(&report)?)?;
    }
    match report.end {
        End::PowerOff if verbosity.verbose == 0 => {}
        _ if verbosity.quiet => {}
        _ => eprintln!("armvisor: {}", report.line()),
    }
    Ok(report.exit_code)
}

#[cfg(not(target_arch = "aarch64"))]
fn run_vm(_: &RunArgs, _: Verbosity) -> Result<u8> {
    let problem = "runs VMs on arm64 machines only, and this is the build for another; use it for the \
         other commands";
    let refusal = Refusal::host("armvisor run", problem);
    Err(refusal.into())
}
