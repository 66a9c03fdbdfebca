// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! `armvisor stat|pause|resume|stop|list`: requests to running VMs.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use super::{Reply, Request, Stat, State};
use crate::outcome::{ExitCode, Refusal};
use crate::rundir::Places;

/// A VM answers at once, or has a problem.
const PATIENCE: Duration = Duration::from_secs(10);
const MAX_REPLY: usize = 1 << 20;

/// Asks a VM, and waits for its reply.
pub fn ask(places: &Places, name: &str, request: Request) -> Result<Reply, Refusal> {
    let mut stream = places.connect(name)?;
    ask_on(&mut stream, name, request)
}

fn ask_on(stream: &mut UnixStream, name: &str, request: Request) -> Result<Reply, Refusal> {
    let refuse = |error: &dyn Display| {
        let problem = format!("does not answer: {error}; look at its process");
        Refusal::host(format!("VM {name}"), problem)
    };
    let mut line = serde_json::to_vec(&request).map_err(|error| refuse(&error))?;
    line.push(b'\n');
    let reply = exchange(stream, &line, PATIENCE).map_err(|error| refuse(&error))?;
    let reply: Reply = serde_json::from_slice(&reply).map_err(|error| refuse(&error))?;
    match &reply.error {
        Some(error) if !reply.ok => {
            let code = if reply.unheard {
                ExitCode::NoAnswer
            } else {
                ExitCode::Host
            };
            Err(Refusal::new(code, format!("VM {name}"), error))
        }
        _ => Ok(reply),
    }
}

/// Says one line and reads one, within `limit` in all: what listens there may be anything, for root
/// asks the VMs of all users.
fn exchange(stream: &mut UnixStream, line: &[u8], limit: Duration) -> io::Result<Vec<u8>> {
    let end = Instant::now() + limit;
    stream.set_write_timeout(Some(limit))?;
    stream.write_all(line)?;
    let mut reply = Vec::new();
    let mut bytes = [0; 4096];
    while !reply.ends_with(b"\n") {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut bytes) {
            Ok(0) => break,
            Ok(got) if reply.len() + got <= MAX_REPLY => reply.extend_from_slice(&bytes[..got]),
            Ok(_) => return Err(io::Error::other("its reply does not end")),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(reply)
}

/// Presses a VM's power button and waits until the VM is gone, which closes the connection. With no
/// time to wait it does not.
pub fn stop(places: &Places, name: &str, limit: Duration) -> Result<Reply, Refusal> {
    let mut stream = places.connect(name)?;
    let reply = ask_on(&mut stream, name, Request::PowerButton)?;
    if limit.is_zero() {
        return Ok(reply);
    }
    let subject = format!("VM {name}");
    let failed = |error: io::Error| Refusal::host(&subject, format!("cannot wait for it: {error}"));
    stream.set_read_timeout(Some(limit)).map_err(failed)?;
    match stream.read(&mut [0]) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(Refusal::new(
            ExitCode::NoAnswer,
            &subject,
            format!(
                "still runs {} s after its power button was pressed, which a program in the guest must \
                 heed, such as systemd-logind; power it off from within, or end it at once with \
                 'armvisor stop --force {name}'",
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
        State::Stopped => "stopped",
    }
}

/// A VM's state for a person, and what its devices count.
pub fn heading(stat: &Stat) -> String {
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
    }
    for device in &stat.devices {
        row(&mut text, &device.name, &device.counters);
    }
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

/// The VMs that run, by name. One that ends meanwhile, or does not answer, is left out.
pub fn list(places: &Places) -> Result<Vec<Stat>, Refusal> {
    let mut stats = Vec::new();
    places.visit(|name, user, mut stream| {
        match ask_on(&mut stream, name, Request::Stat) {
            Ok(reply) => stats.extend(reply.stat.map(|stat| Stat {
                // Its name here, not the one that it reports.
                name: name.to_owned(),
                user: Some(user.to_owned()),
                ..stat
            })),
            Err(refusal) => log::info!("{refusal}"),
        }
    })?;
    stats.sort_by(|one, other| (&one.name, &one.user).cmp(&(&other.name, &other.user)));
    Ok(stats)
}

/// A line each. Where there is none a person is told where was looked; a program gets nothing.
pub fn show_list(stats: &[Stat], places: &Places, terminal: bool) -> String {
    if stats.is_empty() {
        return if terminal {
            format!("no VM runs (looked in {})\n", places.looked())
        } else {
            String::new()
        };
    }
    let mut text = String::new();
    let mut line = |cells: [&str; 7]| {
        let [name, state, pid, cpus, memory, up, user] = cells;
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{name:<20} {state:<8} {pid:>8} {cpus:>5} {memory:>10} {up:>10}  {user}"
        );
    };
    line(["NAME", "STATE", "PID", "CPUS", "MEMORY", "UP (S)", "USER"]);
    for stat in stats {
        if stat.state == State::Stopped {
            line([&stat.name, state(stat), "-", "-", "-", "-", "-"]);
            continue;
        }
        line([
            &stat.name,
            state(stat),
            &stat.pid.to_string(),
            &stat.vcpus.len().to_string(),
            &stat.memory,
            &format!("{:.1}", stat.uptime_seconds),
            stat.user.as_deref().unwrap_or("-"),
        ]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::VcpuStat;
    use crate::control::server::Server;
    use crate::rundir::RunDir;

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
        let text = heading(&stat);
        assert!(text.starts_with("vm: running, pid 0, up 0.0 s, 1 vCPU(s), 512M of memory\n"));
        assert!(text.contains("vcpu0          mmio_user_read 7\n"), "{text}");
        assert!(!text.contains("signal"));
        let again = Stat {
            resets: 2,
            ..stat.clone()
        };
        assert!(heading(&again).contains("up 0.0 s with 2 reset(s), 1 vCPU(s)"));
        let protected = Stat {
            protected: true,
            ..stat.clone()
        };
        assert!(heading(&protected).starts_with("vm: running, protected, pid 0,"));
        let parent = tempfile::tempdir().unwrap();
        let places = Places::from(RunDir::at(parent.path()));
        let list = show_list(&[stat], &places, false);
        let lines: Vec<Vec<&str>> = list
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(lines[0][..5], ["NAME", "STATE", "PID", "CPUS", "MEMORY"]);
        assert_eq!(lines[1], ["vm", "running", "0", "1", "512M", "0.0", "-"]);
        assert_eq!(show_list(&[], &places, false), "");
        let told = format!("no VM runs (looked in {})\n", parent.path().display());
        assert_eq!(show_list(&[], &places, true), told);
    }

    #[test]
    fn asking_gets_the_reply_or_the_error() {
        let parent = tempfile::tempdir().unwrap();
        let run = RunDir::at(parent.path().join("armvisor"));
        let mut server = Server::new(run.listen("vm").unwrap()).unwrap();
        let run = Places::from(run);
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
        assert_eq!(refusal.to_string(), "VM vm: cannot");
        assert_eq!(refusal.code, ExitCode::Host);
        let refusal = ask(&run, "vm", Request::Resume).unwrap_err();
        assert_eq!(refusal.code, ExitCode::NoAnswer);
        serve.join().unwrap();
        assert!(list(&run).unwrap().is_empty());
    }

    #[test]
    fn who_answers_slowly_without_end_or_too_much_is_given_up() {
        let (mut near, far) = UnixStream::pair().unwrap();
        let drip = std::thread::spawn(move || {
            let mut far = far;
            while far.write_all(b"x").is_ok() {}
        });
        let endless = exchange(&mut near, b"\n", Duration::from_secs(300)).unwrap_err();
        assert!(endless.to_string().contains("does not end"), "{endless}");
        drop(near);
        drip.join().unwrap();
        let (mut near, mut far) = UnixStream::pair().unwrap();
        far.write_all(b"half").unwrap();
        exchange(&mut near, b"\n", Duration::from_millis(10)).unwrap_err();
    }

    #[test]
    fn what_a_vm_says_of_itself_does_not_reach_the_terminal_as_it_is() {
        let parent = tempfile::tempdir().unwrap();
        let run = RunDir::at(parent.path().join("armvisor"));
        let mut server = Server::new(run.listen("vm").unwrap()).unwrap();
        let places = Places::from(run);
        let serve = std::thread::spawn(move || {
            let mut asked = false;
            while !asked {
                let answer = |_| {
                    asked = true;
                    Reply::stat(Stat {
                        name: "\x1b[2Jother".into(),
                        memory: "\x1b]0;x\x07".into(),
                        ..Stat::default()
                    })
                };
                server.serve(answer).unwrap();
            }
        });
        let stats = list(&places).unwrap();
        serve.join().unwrap();
        assert_eq!(stats[0].name, "vm");
        let shown = crate::outcome::printable(&show_list(&stats, &places, true), true);
        assert!(
            !shown.contains('\x1b') && shown.lines().count() == 2,
            "{shown}"
        );
    }

    #[test]
    fn a_graceful_stop_waits_for_the_end() {
        let parent = tempfile::tempdir().unwrap();
        let run = RunDir::at(parent.path().join("armvisor"));
        let mut server = Server::new(run.listen("vm").unwrap()).unwrap();
        let run = Places::from(run);
        let serve = std::thread::spawn(move || {
            let mut presses = 0;
            // The guest reacts to the third press of the button.
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
        assert!(refusal.to_string().contains("'armvisor stop --force vm'"));
        stop(&run, "vm", Duration::from_secs(60)).unwrap();
        serve.join().unwrap();
    }
}
