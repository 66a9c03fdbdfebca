// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! passt: a network for a guest, made of an ordinary user's sockets (<https://passt.top>).
//!
//! passt gets one end of a socket pair (`--fd`) and ends when the other is closed, which the kernel does
//! however this process ends. It leaves its starter only after it has all its ports, so its exit code
//! and its words say at once what is wrong.
//!
//! A program that is started inherits blocked signals and loses descriptors. So passt is started by this
//! program anew (`serve`), which unblocks the signals, keeps the descriptor, and becomes passt. No
//! fork of a process that has a guest's memory is needed for that.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use armvisor_devices::net::{Peer, Stream};

use crate::cli::{NetTo, Publish, RunArgs};
use crate::outcome::{ExitCode, Refusal, printable};
use crate::sys::signal::unblock;
use crate::wait::{self, Outcome};

/// The command that makes this program passt. It is for nobody to type, so no help has it.
const COMMAND: &str = "start-passt";
/// The starter's exit code where there is no passt, as a shell has it.
const MISSING: u8 = 127;
/// passt is there in a moment, or has a problem.
const PATIENCE: Duration = Duration::from_secs(20);
/// A passt whose VM has just ended has its ports for a moment longer.
const LEAVING: Duration = Duration::from_secs(1);
/// Between two looks at a port.
const LOOK: Duration = Duration::from_millis(50);
/// An address that the guest asks for names. passt asks the host's first name server, which may be one
/// that only the host reaches.
const NAMES: &str = "169.254.1.1";
/// Of passt's words.
const LONGEST_TEXT: usize = 300;

/// A passt of one guest.
#[derive(Debug)]
struct Passt {
    /// This program.
    program: PathBuf,
    args: Vec<String>,
}

/// Starts what `--net passt` asks for; one entry for each `--net`.
pub fn start_all(args: &RunArgs) -> Result<Vec<Option<Arc<Mutex<Stream>>>>, Refusal> {
    let start = |to: &NetTo| match to {
        NetTo::Tap(_) => Ok(None),
        NetTo::Passt { host } => start(*host, &args.publish).map(Some),
    };
    args.net.iter().map(|net| start(&net.to)).collect()
}

fn start(host: bool, publish: &[Publish]) -> Result<Arc<Mutex<Stream>>, Refusal> {
    let limit = Instant::now() + LEAVING;
    let mut ports = publish.iter();
    ports.try_for_each(|publish| check_port(publish, limit))?;
    let passt = Arc::new(Passt {
        program: "/proc/self/exe".into(),
        args: arguments(host, publish),
    });
    let socket = passt.launch()?;
    let stream = Stream::new(passt, socket).map_err(|error| Refusal::host("passt", error))?;
    Ok(Arc::new(Mutex::new(stream)))
}

fn arguments(host: bool, publish: &[Publish]) -> Vec<String> {
    let mut args = vec!["--quiet".to_owned()];
    if !host {
        // Else the gateway's address is the host's loopback, with all that listens there.
        args.push("--no-map-gw".into());
    }
    args.extend(["--dns-forward".into(), NAMES.into()]);
    for (option, udp) in [("--tcp-ports", false), ("--udp-ports", true)] {
        let chosen: Vec<_> = publish.iter().filter(|one| one.udp == udp).collect();
        if chosen.is_empty() {
            // passt would otherwise forward the same ports of UDP as of TCP.
            args.extend([option.into(), "none".into()]);
        }
        for one in chosen {
            let ports = format!("{}:{}", one.port, one.guest);
            let spec = match one.address {
                Some(address) => format!("{address}/{ports}"),
                None => ports,
            };
            args.extend([option.into(), spec]);
        }
    }
    args
}

/// Refuses a port that cannot be had. passt itself is content with one of an address's two families, and
/// says little.
fn check_port(publish: &Publish, limit: Instant) -> Result<(), Refusal> {
    let addresses = match publish.address {
        Some(address) => vec![address],
        None => vec![Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()],
    };
    for address in addresses {
        let Err(error) = bind_until(limit, (address, publish.port), publish.udp) else {
            continue;
        };
        let problem = match error.kind() {
            io::ErrorKind::AddrInUse => format!(
                "wants port {} of the host, which another program has; choose another",
                publish.port
            ),
            io::ErrorKind::PermissionDenied => format!(
                "wants port {} of the host, which is for privileged users; choose one from 1024 on",
                publish.port
            ),
            io::ErrorKind::AddrNotAvailable if publish.address.is_some() => format!(
                "wants address {address}, which the host does not have; choose one of its own"
            ),
            // A host without IPv6.
            _ if publish.address.is_none() && address.is_ipv6() => continue,
            _ => format!("cannot have its port: {error}"),
        };
        let problem = format!("'{publish}' {problem}");
        return Err(Refusal::host("--publish", problem));
    }
    Ok(())
}

fn bind_until(limit: Instant, place: (IpAddr, u16), udp: bool) -> io::Result<()> {
    loop {
        match bind(place, udp) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < limit => {
                std::thread::sleep(LOOK);
            }
            done => return done,
        }
    }
}

fn bind(place: (IpAddr, u16), udp: bool) -> io::Result<()> {
    match udp {
        false => TcpListener::bind(place).map(drop),
        true => UdpSocket::bind(place).map(drop),
    }
}

impl Passt {
    /// Starts passt and waits until it serves.
    fn launch(&self) -> Result<UnixStream, Refusal> {
        let refuse = |problem: String| Refusal::host("passt", problem);
        let failed = |error: io::Error| refuse(format!("cannot be started: {error}"));
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let child = Command::new(&self.program)
            .arg0("armvisor")
            .arg(COMMAND)
            .args(&self.args)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let (said, status) = match wait::wait(child, PATIENCE).map_err(failed)? {
            Outcome::Ended(said, status) => (said, status),
            Outcome::Late => {
                let seconds = PATIENCE.as_secs();
                return Err(refuse(format!("does not serve after {seconds} s")));
            }
            Outcome::Signal(number) => {
                let problem = format!("signal {number} came while it was started");
                return Err(Refusal::new(ExitCode::of_signal(number), "passt", problem));
            }
        };
        let said = words(&said);
        match status.code() {
            Some(0) => {
                if !said.is_empty() {
                    log::info!("passt: {said}");
                }
                Ok(ours)
            }
            Some(code) if code == i32::from(MISSING) => Err(refuse(
                "is not installed; install the package passt ('sudo apt install passt')".into(),
            )),
            _ if said.is_empty() => Err(refuse(format!("has ended at once ({status})"))),
            _ => Err(refuse(format!("does not start: {said}"))),
        }
    }
}

impl Peer for Passt {
    fn name(&self) -> String {
        "passt".into()
    }

    fn start(&self) -> Result<UnixStream, String> {
        self.launch().map_err(|refusal| refusal.to_string())
    }
}

/// The end of what passt said, as it says last why it ends; not that there is no system log.
fn words(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    let lines = said.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.ends_with("to syslog"));
    let said = printable(&lines.collect::<Vec<_>>().join("; "), false);
    let skip = said.chars().count().saturating_sub(LONGEST_TEXT);
    said.chars().skip(skip).collect()
}

/// Whether this process is to become passt.
pub fn is_asked(command: Option<&OsStr>) -> bool {
    command.is_some_and(|word| word == COMMAND)
}

/// Becomes passt on the socket that is standard input, with what else the command line says. Returns the
/// exit code where that fails.
pub fn serve() -> u8 {
    let error = match become_passt() {
        Ok(never) => match never {},
        Err(error) if error.kind() == io::ErrorKind::NotFound => return MISSING,
        Err(error) => error,
    };
    println!("{error}");
    ExitCode::Internal as u8
}

fn become_passt() -> io::Result<Infallible> {
    unblock()?;
    // Not one of the standard files, which passt gives up.
    let socket = rustix::io::dup(io::stdin())?;
    Err(Command::new("passt")
        .arg("--fd")
        .arg(socket.as_raw_fd().to_string())
        .args(std::env::args_os().skip(2))
        .stdin(Stdio::null())
        .stderr(io::stdout().as_fd().try_clone_to_owned()?)
        .exec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports(texts: &[&str]) -> Vec<Publish> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn passt_forwards_what_is_published_and_nothing_else() {
        let none = arguments(false, &[]).join(" ");
        assert_eq!(
            none,
            "--quiet --no-map-gw --dns-forward 169.254.1.1 --tcp-ports none --udp-ports none"
        );
        let some = ports(&["127.0.0.1:8080:80", "[::1]:53:5353/udp", "22:2222"]);
        assert_eq!(
            arguments(true, &some).join(" "),
            "--quiet --dns-forward 169.254.1.1 --tcp-ports 127.0.0.1/8080:80 --tcp-ports 22:2222 \
             --udp-ports ::1/53:5353"
        );
    }

    #[test]
    fn a_port_in_use_is_refused() {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("0.0.0.0:0").unwrap();
        let (tcp, udp) = (
            tcp.local_addr().unwrap().port(),
            udp.local_addr().unwrap().port(),
        );
        for text in [
            format!("{tcp}:80"),
            format!("127.0.0.1:{tcp}:80"),
            format!("{udp}:80/udp"),
        ] {
            let refusal = check_port(&text.parse().unwrap(), Instant::now()).unwrap_err();
            let said = refusal.to_string();
            assert!(
                said.starts_with(&format!("--publish: '{text}' wants port ")),
                "{said}"
            );
        }
        let other = "192.0.2.77:8080:80".parse().unwrap();
        let refusal = check_port(&other, Instant::now()).unwrap_err();
        let said = refusal.to_string();
        assert!(said.contains("wants address 192.0.2.77, which"), "{said}");
    }

    #[test]
    fn a_port_that_is_about_to_be_free_is_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let publish = format!("127.0.0.1:{port}:80").parse().unwrap();
        let leaving = std::thread::spawn(move || {
            std::thread::sleep(2 * LOOK);
            drop(listener);
        });
        check_port(&publish, Instant::now() + 100 * LOOK).unwrap();
        leaving.join().unwrap();
    }

    /// A passt whose program is the shell, which ignores the command's name.
    fn shell(folder: &tempfile::TempDir, script: &str) -> Passt {
        use std::os::unix::fs::PermissionsExt;
        let program = folder.path().join("program");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
        Passt {
            program,
            args: Vec::new(),
        }
    }

    #[test]
    fn a_passt_that_does_not_start_says_why() {
        let folder = tempfile::tempdir().unwrap();
        for (script, sentence) in [
            (
                "exit 127",
                "passt: is not installed; install the package passt",
            ),
            ("exit 1", "passt: has ended at once (exit status: 1)"),
            (
                "echo; echo 'Failed to send 47 bytes to syslog'; printf 'no\\033[2J way\\n'; exit 1",
                "passt: does not start: no\\u{1b}[2J way",
            ),
            ("kill -9 $$", "passt: has ended at once (signal: 9"),
        ] {
            let said = shell(&folder, script).launch().unwrap_err().to_string();
            assert!(said.starts_with(sentence), "{said}");
        }
        let mut none = shell(&folder, "");
        none.program = folder.path().join("none");
        let said = none.launch().unwrap_err().to_string();
        assert!(
            said.starts_with("passt: cannot be started: No such file"),
            "{said}"
        );
    }

    #[test]
    fn passt_has_the_socket_after_its_starter_has_gone() {
        use std::io::Read;
        let folder = tempfile::tempdir().unwrap();
        let mut stream = shell(
            &folder,
            "exec 3<&0; (sleep 0.1; echo hello >&3) >/dev/null & exit 0",
        )
        .launch()
        .unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        assert_eq!(said, "hello\n");
        let long = words("x".repeat(1000).as_bytes());
        assert_eq!(long.len(), LONGEST_TEXT);
    }
}
