// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! `armvisor stat|pause|resume|stop|list`: asking running VMs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::{Reply, Request, Stat, State};
use crate::outcome::{ExitCode, Refusal};
use crate::rundir::RunDir;

/// A VM answers at once, or has a problem.
const PATIENCE: Duration = Duration::from_secs(10);
const MAX_REPLY: u64 = 1 << 20;

/// Asks a VM, and waits for its reply.
pub fn ask(run: &RunDir, name: &str, request: Request) -> Result<Reply, Refusal> {
    let mut stream = run.connect(name)?;
    ask_on(&mut stream, name, request)
}

fn ask_on(stream: &mut UnixStream, name: &str, request: Request) -> Result<Reply, Refusal> {
    let refuse = |problem: String| Refusal::host(format!("VM {name} does not answer: {problem}"));
    stream
        .set_read_timeout(Some(PATIENCE))
        .map_err(|error| refuse(error.to_string()))?;
    let mut line = serde_json::to_vec(&request).map_err(|error| refuse(error.to_string()))?;
    line.push(b'\n');
    stream
        .write_all(&line)
        .map_err(|error| refuse(error.to_string()))?;
    let mut reply = String::new();
    let mut reader = BufReader::new(stream).take(MAX_REPLY);
    reader
        .read_line(&mut reply)
        .map_err(|error| refuse(error.to_string()))?;
    let reply: Reply = serde_json::from_str(&reply).map_err(|error| refuse(error.to_string()))?;
    match &reply.error {
        Some(error) if !reply.ok => {
            let code = if reply.unheard {
                ExitCode::NoAnswer
            } else {
                ExitCode::Host
            };
            Err(Refusal::new(code, format!("VM {name}: {error}")))
        }
        _ => Ok(reply),
    }
}

/// Presses a VM's power button and waits until the VM is gone, which closes the connection. With no
/// time to wait it does not.
pub fn stop(run: &RunDir, name: &str, limit: Duration) -> Result<Reply, Refusal> {
    let mut stream = run.connect(name)?;
    let reply = ask_on(&mut stream, name, Request::PowerButton)?;
    if limit.is_zero() {
        return Ok(reply);
    }
    let failed = |error: io::Error| Refusal::host(format!("cannot wait for VM {name}: {error}"));
    stream.set_read_timeout(Some(limit)).map_err(failed)?;
    match stream.read(&mut [0]) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(Refusal::new(
            ExitCode::NoAnswer,
            format!(
                "VM {name} is still there {} s after its power button was pressed; whether its guest \
                 heeds the button is up to a program there, such as systemd-logind; power it off from \
                 within, or end it at once with 'armvisor stop --force {name}'",
                limit.as_secs()
            ),
        )),
        Err(error) if error.kind() != io::ErrorKind::ConnectionReset => Err(failed(error)),
        _ => Ok(reply),
    }
}

fn state(stat: &Stat) -> &'static str {
    match stat.state {
        State::Running => "running",
        State::Paused => "paused",
    }
}

/// A VM's figures for a person.
pub fn show_stat(stat: &Stat) -> String {
    let mut text = format!(
        "{}: {}{}, pid {}, up {:.1} s{}, {} vCPU(s), {} of memory\n",
        stat.name,
        state(stat),
        if stat.protected { ", protected" } else { "" },
        stat.pid,
        stat.uptime_seconds,
        match stat.resets {
            0 => String::new(),
            resets => format!(" with {resets} reset(s)"),
        },
        stat.vcpus.len(),
        stat.memory,
    );
    for vcpu in &stat.vcpus {
        row(&mut text, &format!("vcpu{}", vcpu.index), &vcpu.exits);
        row(&mut text, &format!("vcpu{} kvm", vcpu.index), &vcpu.kvm);
    }
    for device in &stat.devices {
        row(&mut text, &device.name, &device.counters);
    }
    row(&mut text, "kvm", &stat.kvm);
    text
}

/// One line of counters; those that are zero say nothing.
fn row(text: &mut String, title: &str, counters: &BTreeMap<String, u64>) {
    let counts: Vec<String> = counters
        .iter()
        .filter(|(_, count)| **count != 0)
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    if !counts.is_empty() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {title:<14} {}", counts.join(", "));
    }
}

/// The VMs that run, a line each. One that ends meanwhile is left out.
pub fn list(run: &RunDir) -> Result<Vec<Stat>, Refusal> {
    let names = run.list()?;
    Ok(names
        .iter()
        .filter_map(|name| {
            ask(run, name, Request::Stat)
                .ok()
                .and_then(|reply| reply.stat)
        })
        .collect())
}

pub fn show_list(stats: &[Stat]) -> String {
    let mut text = String::new();
    let mut line = |cells: [&str; 6]| {
        let [name, state, pid, cpus, memory, up] = cells;
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{name:<20} {state:<8} {pid:>8} {cpus:>5} {memory:>10} {up:>10}"
        );
    };
    if !stats.is_empty() {
        line(["NAME", "STATE", "PID", "CPUS", "MEMORY", "UP (S)"]);
    }
    for stat in stats {
        line([
            &stat.name,
            state(stat),
            &stat.pid.to_string(),
            &stat.vcpus.len().to_string(),
            &stat.memory,
            &format!("{:.1}", stat.uptime_seconds),
        ]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::VcpuStat;
    use crate::control::server::Server;

    #[test]
    fn a_person_sees_what_counts() {
        let exits = BTreeMap::from([("mmio_user_read".to_owned(), 7), ("signal".to_owned(), 0)]);
        let vcpus = vec![VcpuStat {
            index: 0,
            exits,
            ..VcpuStat::default()
        }];
        let stat = Stat {
            name: "vm".into(),
            memory_bytes: 512 << 20,
            memory: "512M".into(),
            vcpus,
            ..Stat::default()
        };
        let text = show_stat(&stat);
        assert!(text.starts_with("vm: running, pid 0, up 0.0 s, 1 vCPU(s), 512M of memory\n"));
        assert!(text.contains("vcpu0          mmio_user_read 7\n"), "{text}");
        assert!(!text.contains("signal"));
        let again = Stat {
            resets: 2,
            ..stat.clone()
        };
        assert!(show_stat(&again).contains("up 0.0 s with 2 reset(s), 1 vCPU(s)"));
        let protected = Stat {
            protected: true,
            ..stat.clone()
        };
        assert!(show_stat(&protected).starts_with("vm: running, protected, pid 0,"));
        let list = show_list(&[stat]);
        let lines: Vec<Vec<&str>> = list
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(lines[0][..5], ["NAME", "STATE", "PID", "CPUS", "MEMORY"]);
        assert_eq!(lines[1], ["vm", "running", "0", "1", "512M", "0.0"]);
        assert_eq!(show_list(&[]), "", "nothing under a heading helps nobody");
    }

    #[test]
    fn asking_gets_the_reply_or_the_error() {
        let parent = tempfile::tempdir().unwrap();
        let run = RunDir::at(parent.path().join("armvisor"));
        let mut server = Server::new(run.listen("vm").unwrap()).unwrap();
        let serve = std::thread::spawn(move || {
            let mut asked = 0;
            while asked < 3 {
                let answer = |request| {
                    asked += 1;
                    match request {
                        Request::Pause => Reply::done(),
                        Request::Resume => Reply::unheard("no driver"),
                        _ => Reply::error("cannot"),
                    }
                };
                server.serve(answer).unwrap();
            }
        });
        assert_eq!(ask(&run, "vm", Request::Pause).unwrap(), Reply::done());
        let refusal = ask(&run, "vm", Request::Stop).unwrap_err();
        assert_eq!(refusal.sentence, "VM vm: cannot");
        assert_eq!(refusal.code, ExitCode::Host);
        let refusal = ask(&run, "vm", Request::Resume).unwrap_err();
        assert_eq!(refusal.code, ExitCode::NoAnswer);
        serve.join().unwrap();
        assert!(list(&run).unwrap().is_empty());
    }

    #[test]
    fn a_graceful_stop_waits_for_the_end() {
        let parent = tempfile::tempdir().unwrap();
        let run = RunDir::at(parent.path().join("armvisor"));
        let mut server = Server::new(run.listen("vm").unwrap()).unwrap();
        let serve = std::thread::spawn(move || {
            let mut presses = 0;
            // The guest heeds the button when it is pressed for the third time.
            while presses < 3 {
                let answer = |request| {
                    assert_eq!(request, Request::PowerButton);
                    presses += 1;
                    Reply::done()
                };
                server.serve(answer).unwrap();
            }
        });
        stop(&run, "vm", Duration::ZERO).unwrap();
        let refusal = stop(&run, "vm", Duration::from_millis(50)).unwrap_err();
        assert_eq!(refusal.code, ExitCode::NoAnswer);
        assert!(refusal.sentence.contains("'armvisor stop --force vm'"));
        stop(&run, "vm", Duration::from_secs(60)).unwrap();
        serve.join().unwrap();
    }
}
