// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The `armvisor` program: reads the command line, does what it says, and turns the outcome into a
//! sentence and an exit code.
#![forbid(unsafe_code)]

use std::io::Write;
use std::process;
use std::time::Duration;

use anyhow::Result;
use armvisor::cli::{Cli, Command, RunArgs, Verbosity, VmArgs};
use armvisor::control::{Reply, Request, client, watch};
use armvisor::outcome::{ExitCode, code_of};
use armvisor::rundir::RunDir;
use clap::Parser;

fn main() -> process::ExitCode {
    let cli = Cli::parse();
    start_log(cli.verbosity);
    match carry_out(&cli) {
        Ok(code) => process::ExitCode::from(code),
        Err(error) => {
            eprintln!("armvisor: {error:#}");
            process::ExitCode::from(code_of(&error) as u8)
        }
    }
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
    let run = RunDir::of_user();
    let done = ExitCode::Success as u8;
    match &cli.command {
        Command::Run(args) => return run_vm(args, cli.verbosity),
        Command::Stat(args) => watch::stat(&run, args, &mut std::io::stdout())?,
        Command::Pause(args) => simple(&run, args, Request::Pause)?,
        Command::Resume(args) => simple(&run, args, Request::Resume)?,
        Command::Stop(args) if args.force => simple(&run, &args.vm, Request::Stop)?,
        Command::Stop(args) => {
            let limit = Duration::from_secs(args.timeout.into());
            show_reply(&args.vm, &client::stop(&run, &args.vm.vm, limit)?)?;
        }
        Command::Balloon(args) => {
            let request = Request::Balloon {
                bytes: args.size.bytes,
                unit: Some(args.size.unit),
            };
            simple(&run, &args.vm, request)?;
        }
        Command::List { json: as_json } => {
            let stats = client::list(&run)?;
            print(&if *as_json {
                json(&stats)?
            } else {
                client::show_list(&stats)
            })?;
        }
    }
    Ok(done)
}

fn simple(run: &RunDir, args: &VmArgs, request: Request) -> Result<()> {
    show_reply(args, &client::ask(run, &args.vm, request)?)
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
    let refusal = armvisor::outcome::Refusal::host(
        "armvisor runs VMs on arm64 machines only; this is the build for another one, which can \
         only talk to VMs",
    );
    Err(refusal.into())
}
