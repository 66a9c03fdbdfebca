// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! `armvisor stat`: shows a VM once, or repeatedly.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::cli::{StatArgs, Switch};
use crate::control::client::{ask, heading};
use crate::control::{Request, Stat};
use crate::cost::{self, Cost};
use crate::open::{REGULAR_FILE, open};
use crate::outcome::{ExitCode, Refusal, printable};
use crate::rundir::Places;

/// More than a VM ever says of itself.
const MAX_FILE: u64 = 1 << 24;
/// Home, and clear what is below.
const CLEAR: &str = "\x1b[H\x1b[J";

/// What `--json` prints: the statistics, and what they mean.
#[derive(Serialize)]
struct Json<'a> {
    #[serde(flatten)]
    stat: &'a Stat,
    cost: &'a Cost,
}

/// How it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Json,
    Table,
    /// A table in place of the one before.
    Screen,
    Line,
}

/// Carries `armvisor stat` out, and writes to `out`.
pub fn stat(places: &Places, args: &StatArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let name = &args.vm.vm;
    let since = args.since.as_deref().map(read).transpose()?;
    if let Some(switch) = args.accounting {
        let on = switch == Switch::On;
        ask(places, name, Request::Accounting { on })?;
    }
    let form = form(args, io::stdout().is_terminal());
    let mut now = look(places, name)?;
    if let Some((since, path)) = since.as_ref().zip(args.since.as_deref()) {
        check_same(since, &now, path)?;
    }
    let mut before = since;
    loop {
        if !show(out, form, &now, before.as_ref())? {
            return Ok(());
        }
        let Some(seconds) = args.watch else {
            return Ok(());
        };
        std::thread::sleep(Duration::from_secs_f64(seconds));
        let next = match look(places, name) {
            Err(refusal) if refusal.code == ExitCode::NoSuchVm => return Ok(()),
            other => other?,
        };
        // After a reset, or for another VM of that name: compare with its own start.
        before = is_same(&now, &next).then_some(now);
        now = next;
    }
}

fn form(args: &StatArgs, terminal: bool) -> Form {
    match (args.vm.json, args.watch, terminal) {
        (true, ..) => Form::Json,
        (_, None, _) => Form::Table,
        (_, _, true) => Form::Screen,
        _ => Form::Line,
    }
}

fn look(places: &Places, name: &str) -> Result<Stat, Refusal> {
    Ok(ask(places, name, Request::Stat)?.stat.unwrap_or_default())
}

/// False when nobody reads on.
fn show(out: &mut impl Write, form: Form, now: &Stat, before: Option<&Stat>) -> io::Result<bool> {
    let cost = Cost::new(now, before);
    let text = match form {
        Form::Json => {
            let json = Json {
                stat: now,
                cost: &cost,
            };
            serde_json::to_string(&json)? + "\n"
        }
        Form::Table => printable(&(heading(now) + &cost::text(&cost)), true),
        Form::Screen => CLEAR.to_owned() + &printable(&(heading(now) + &cost::text(&cost)), true),
        Form::Line => printable(&cost::line(&cost), true),
    };
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        other => other.map(|()| true),
    }
}

/// The statistics in `path`.
fn read(path: &Path) -> Result<Stat, Refusal> {
    let (file, _) = open(path, File::options().read(true), REGULAR_FILE)
        .map_err(|problem| problem.refusal("--since", path))?;
    let mut text = String::new();
    file.take(MAX_FILE)
        .read_to_string(&mut text)
        .map_err(|error| Refusal::file("--since", path, error.to_string()))?;
    // The last one of several, as --watch prints them.
    let last = text.trim_end().lines().next_back().unwrap_or_default();
    serde_json::from_str(last).map_err(|_| {
        Refusal::file(
            "--since",
            path,
            "is not what 'armvisor stat VM --json' prints",
        )
    })
}

/// Does what is counted in the one go on in the other?
fn is_same(before: &Stat, now: &Stat) -> bool {
    before.name == now.name
        && before.pid == now.pid
        && before.resets == now.resets
        && before.uptime_seconds <= now.uptime_seconds
}

fn check_same(before: &Stat, now: &Stat, path: &Path) -> Result<(), Refusal> {
    if is_same(before, now) {
        return Ok(());
    }
    let problem = if before.name == now.name && before.pid == now.pid {
        format!(
            "VM {} has started again since and counts from its start; leave --since out",
            now.name
        )
    } else {
        format!(
            "is of VM {} with pid {}, and this is VM {} with pid {}; leave --since out",
            before.name, before.pid, now.name, now.pid
        )
    };
    Err(Refusal::file("--since", path, problem))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};
    use crate::control::Reply;
    use crate::control::server::Server;
    use crate::rundir::RunDir;

    fn args(words: &[&str]) -> Result<StatArgs, String> {
        let all = ["armvisor", "stat"].iter().chain(words);
        match Cli::try_parse_from(all)
            .map_err(|error| error.to_string())?
            .command
        {
            Command::Stat(args) => Ok(args),
            other => Err(format!("{other:?}")),
        }
    }

    fn of_vm(uptime_seconds: f64) -> Stat {
        Stat {
            name: "vm".into(),
            pid: 7,
            uptime_seconds,
            ..Stat::default()
        }
    }

    #[test]
    fn the_form_follows_the_options_and_the_terminal() {
        let form_of = |words: &[&str], terminal| form(&args(words).unwrap(), terminal);
        assert_eq!(form_of(&["vm"], true), Form::Table);
        assert_eq!(form_of(&["vm", "--watch"], true), Form::Screen);
        assert_eq!(form_of(&["--watch", "vm"], false), Form::Line);
        assert_eq!(form_of(&["vm", "--watch=0.5", "--json"], true), Form::Json);
    }

    #[test]
    fn bad_options_are_refused() {
        for words in [
            &["vm", "--watch=0"][..],
            &["vm", "--watch=-1"],
            &["vm", "--watch=NaN"],
            &["vm", "--watch=x"],
            &["vm", "--accounting", "perhaps"],
            &["--watch"],
        ] {
            assert!(args(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn an_earlier_look_is_of_the_same_vm() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("before");
        let sentence = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read(&path).unwrap_err().to_string()
        };
        for text in ["", "{", "[]", "null", "7", "\u{0}"] {
            assert!(sentence(text).contains("is not what 'armvisor stat VM --json' prints"));
        }
        let refusal = read(&folder.path().join("none")).unwrap_err();
        assert_eq!(refusal.code, ExitCode::BadFile);
        let line = serde_json::to_string(&of_vm(1.0)).unwrap();
        std::fs::write(&path, format!("{line}\n{}\n", line.replace("1.0", "2.0"))).unwrap();
        let before = read(&path).unwrap();
        assert_eq!(before.uptime_seconds, 2.0);
        assert!(check_same(&before, &of_vm(3.0), &path).is_ok());
        let refusal = check_same(&before, &of_vm(1.0), &path).unwrap_err();
        assert!(
            refusal.to_string().contains("has started again since"),
            "{refusal}"
        );
        let other = Stat {
            pid: 8,
            ..of_vm(3.0)
        };
        let refusal = check_same(&before, &other, &path).unwrap_err();
        assert!(refusal.to_string().contains("with pid 7"), "{refusal}");
        assert_eq!(refusal.code, ExitCode::BadFile);
    }

    #[test]
    fn watching_ends_with_the_vm() {
        let parent = tempfile::tempdir().unwrap();
        let run = RunDir::at(parent.path().join("armvisor"));
        let mut server = Server::new(run.listen("vm").unwrap()).unwrap();
        let serve = std::thread::spawn(move || {
            let mut asked = Vec::new();
            while asked.len() < 4 {
                let answer = |request| {
                    asked.push(request);
                    Reply::stat(of_vm(asked.len() as f64))
                };
                server.serve(answer).unwrap();
            }
            asked
        });
        let mut out = Vec::new();
        let run = Places::from(run);
        let args = args(&["vm", "--watch=0.1", "--json", "--accounting", "on"]).unwrap();
        stat(&run, &args, &mut out).unwrap();
        let asked = serve.join().unwrap();
        assert_eq!(asked[0], Request::Accounting { on: true });
        assert_eq!(asked[1..], [Request::Stat; 3]);
        let lines: Vec<serde_json::Value> = String::from_utf8(out)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let seconds: Vec<_> = lines
            .iter()
            .map(|line| line["cost"]["seconds"].as_f64())
            .collect();
        assert_eq!(seconds, [Some(2.0), Some(1.0), Some(1.0)]);
        assert_eq!(lines[2]["uptime_seconds"], 4.0);
    }
}
