// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! `armvisor up`: makes a VM's folder if it is new, starts it, and waits until it runs.

use std::fs::File;
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::folder::{Folder, Home, Saved};
use super::make::{has_passt, make, parse};
use super::serve::COMMAND;
use crate::cli::{RunArgs, UpArgs};
use crate::control::{Request, client};
use crate::outcome::{ExitCode, Refusal};
use crate::rundir::Places;

/// An image's check and passt have limits of their own, which are lower.
const PATIENCE: Duration = Duration::from_secs(180);
/// Between two looks whether the VM runs.
const LOOK: Duration = Duration::from_millis(50);
/// Of what armvisor said before it ended.
const LONGEST: u64 = 64 << 10;

/// Carries out `armvisor up`; the exit code is that of a VM that did not start.
pub fn up(home: &Home, places: &Places, args: &UpArgs) -> Result<u8, Refusal> {
    let name = &args.name;
    let new = !args.options.is_empty();
    let folder = match new {
        true => make(home, name, &args.options)?,
        false => home.existing(name)?,
    };
    let _lock = folder.lock()?;
    let own = places.own();
    if super::runs(&folder, &own, super::PASSING)? {
        log::warn!("VM {name} runs already");
        return Ok(ExitCode::Success as u8);
    }
    let started = start(&folder, &own);
    if new && !matches!(started, Ok(code) if code == ExitCode::Success as u8) {
        // With other options it is another VM.
        folder.remove()?;
    }
    started
}

fn start(folder: &Folder, places: &Places) -> Result<u8, Refusal> {
    let failed = |error| folder.refuse(&error);
    let Some(input) = folder.take().map_err(failed)? else {
        let problem = "runs, or is about to end; try again";
        return Err(Refusal::host(folder.subject(), problem));
    };
    let mut saved = folder.load()?;
    let (args, _) = parse(&saved.options)?;
    saved.port = choose_port(&saved, &args)?;
    folder.save(&saved)?;
    if args.ephemeral {
        forget_host_key(folder).map_err(failed)?;
    }
    let mut how = File::options();
    let log = how.create(true).write(true).truncate(true).mode(0o600);
    let log = log.open(folder.file("armvisor.log")).map_err(failed)?;
    let child = Command::new("/proc/self/exe")
        .arg0("armvisor")
        .arg(COMMAND)
        .arg(&folder.path)
        .stdin(input)
        .stdout(Stdio::null())
        .stderr(log)
        .spawn();
    wait(child.map_err(failed)?, folder, places)
}

/// A port of the loopback for SSH: the last one, if that is free. It is none that the user publishes.
fn choose_port(saved: &Saved, args: &RunArgs) -> Result<Option<u16>, Refusal> {
    if saved.user.is_none() || !has_passt(args) {
        return Ok(None);
    }
    let published = |port| args.publish.iter().any(|it| it.port == port && !it.udp);
    let bind = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let free = |port: &u16| !published(*port) && bind(*port).is_ok();
    if let Some(port) = saved.port.filter(free) {
        return Ok(Some(port));
    }
    let failed = |error| Refusal::host("host", format!("has no port for SSH: {error}"));
    // Kept, so that the next one is another.
    let mut tried = Vec::new();
    loop {
        let listener = bind(0).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        if !published(port) {
            return Ok(Some(port));
        }
        tried.push(listener);
    }
}

/// A guest without a disk of its own makes its server's key anew at each start.
fn forget_host_key(folder: &Folder) -> io::Result<()> {
    match std::fs::remove_file(folder.file("known_hosts")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Waits until the VM answers, or has ended.
fn wait(mut child: Child, folder: &Folder, places: &Places) -> Result<u8, Refusal> {
    let limit = Instant::now() + PATIENCE;
    loop {
        let status = child.try_wait().map_err(|error| folder.refuse(&error))?;
        if let Some(status) = status {
            let mut said = Vec::new();
            let log = File::open(folder.file("armvisor.log"));
            if let Ok(log) = log {
                let _ = log.take(LONGEST).read_to_end(&mut said);
            }
            eprint!("{}", String::from_utf8_lossy(&said));
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            return Ok(code.unwrap_or(ExitCode::Internal as u8));
        }
        let reply = client::ask(places, &folder.name, Request::Stat);
        let stat = reply.ok().and_then(|reply| reply.stat);
        if stat.is_some_and(|stat| stat.pid == child.id()) {
            return Ok(ExitCode::Success as u8);
        }
        if Instant::now() >= limit {
            // Its folder may go.
            child.kill().map_err(|error| folder.refuse(&error))?;
            let problem = format!(
                "does not run after {} s; is the storage of its files there?",
                PATIENCE.as_secs()
            );
            return Err(Refusal::host(folder.subject(), problem));
        }
        std::thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_for_ssh_stays_if_it_is_free() {
        let choose = |saved: &Saved| choose_port(saved, &parse(&saved.options).unwrap().0);
        let options = ["--kernel".to_owned(), "k".to_owned()];
        let mut saved = Saved::new("/".into(), options.to_vec());
        assert_eq!(choose(&saved).unwrap(), None, "nobody logs in");
        saved.user = Some("me".into());
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        saved.port = Some(port);
        let other = choose(&saved).unwrap().unwrap();
        assert_ne!(other, port);
        drop(taken);
        assert_eq!(choose(&saved).unwrap(), Some(port));
        let publish = format!("192.0.2.1:{port}:80");
        saved
            .options
            .extend(["--net", "passt", "-p", &publish].map(str::to_owned));
        assert_ne!(choose(&saved).unwrap().unwrap(), port, "it is published");
        saved.options.truncate(2);
        saved.options.extend(["--net".into(), "tap=a".into()]);
        assert_eq!(choose(&saved).unwrap(), None);
    }

    #[test]
    fn a_guest_that_begins_anew_is_not_known() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::at(&parent.path().join("web")).unwrap();
        std::fs::create_dir(&folder.path).unwrap();
        forget_host_key(&folder).unwrap();
        std::fs::write(folder.file("known_hosts"), "x").unwrap();
        forget_host_key(&folder).unwrap();
        assert!(!folder.file("known_hosts").exists());
    }
}
