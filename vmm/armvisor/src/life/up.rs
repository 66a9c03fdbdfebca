// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! `armvisor up`: makes a VM's folder if it is new, starts it, and waits until it runs.

use std::fs::File;
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::folder::{Folder, Home, Saved};
use super::make::{has_passt, make, parse};
use super::serve::COMMAND;
use crate::cli::UpArgs;
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
    if !new && places.connect(name).is_ok() {
        log::info!("VM {name} runs already");
        return Ok(ExitCode::Success as u8);
    }
    let started = start(&folder, places);
    if new && !matches!(started, Ok(code) if code == ExitCode::Success as u8) {
        // With other options it is another VM.
        folder.remove()?;
    }
    started
}

fn start(folder: &Folder, places: &Places) -> Result<u8, Refusal> {
    let failed = |error| folder.refuse(&error);
    let mut saved = folder.load()?;
    saved.port = choose_port(&saved)?;
    folder.save(&saved)?;
    let input = input(folder).map_err(failed)?;
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

/// A port of the loopback for SSH: the last one, if that is free.
fn choose_port(saved: &Saved) -> Result<Option<u16>, Refusal> {
    let (args, _) = parse(&saved.options)?;
    if saved.user.is_none() || !has_passt(&args) {
        return Ok(None);
    }
    let bind = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let free = match saved.port.map(bind) {
        Some(Ok(listener)) => Ok(listener),
        _ => bind(0),
    };
    free.and_then(|listener| listener.local_addr())
        .map(|address| Some(address.port()))
        .map_err(|error| Refusal::host("host", format!("has no port for SSH: {error}")))
}

/// The FIFO from which the guest's console reads. The VM has both ends, so it never ends.
fn input(folder: &Folder) -> io::Result<File> {
    let path = folder.file("console.in");
    match path.symlink_metadata() {
        Ok(data) if data.file_type().is_fifo() => {}
        Ok(_) => return Err(io::Error::other("console.in is not a FIFO")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        }
        Err(error) => return Err(error),
    }
    File::options().read(true).write(true).open(&path)
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
        let options = ["--kernel".to_owned(), "k".to_owned()];
        let mut saved = Saved::new("/".into(), options.to_vec());
        assert_eq!(choose_port(&saved).unwrap(), None, "nobody logs in");
        saved.user = Some("me".into());
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        saved.port = Some(port);
        let other = choose_port(&saved).unwrap().unwrap();
        assert_ne!(other, port);
        drop(taken);
        assert_eq!(choose_port(&saved).unwrap(), Some(port));
        saved.options.extend(["--net".into(), "tap=a".into()]);
        assert_eq!(choose_port(&saved).unwrap(), None);
    }

    #[test]
    fn the_consoles_input_has_a_reader_and_no_end() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::at(&parent.path().join("web")).unwrap();
        std::fs::create_dir(&folder.path).unwrap();
        let first = input(&folder).unwrap();
        drop(first);
        let mut again = input(&folder).unwrap();
        std::fs::write(folder.file("console.in"), "x").unwrap();
        let mut byte = [0];
        again.read_exact(&mut byte).unwrap();
        std::fs::remove_file(folder.file("console.in")).unwrap();
        std::fs::write(folder.file("console.in"), "").unwrap();
        assert!(input(&folder).is_err());
    }
}
