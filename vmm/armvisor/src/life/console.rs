// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! `armvisor console` and `armvisor logs`: the console of a VM that has a folder. Its output is a log, its
//! input a FIFO whose reader is the VM; so a FIFO without one tells that the VM has ended.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};

use super::folder::{Folder, Home};
use super::tail::{Plain, Tail};
use crate::cli::LogsArgs;
use crate::console::{Command, Keyboard, old_log};
use crate::outcome::{ExitCode, Refusal};
use crate::sys::signal::EndSignals;
use crate::terminal::Raw;

/// Of what the guest has written, on entering its console.
const BACK: u64 = 2048;
/// Keys at a time, which a FIFO takes whole or not at all (PIPE_BUF).
const KEYS: usize = 1024;

const LEAVE_HELP: &str =
    "Ctrl-A x leaves the console, Ctrl-A h shows this, Ctrl-A Ctrl-A types Ctrl-A";

/// Whether somebody waits for input or output, or for the VM's end.
struct Ready {
    input: bool,
    signal: bool,
    ended: bool,
}

/// Connects the terminal to the guest's console, until the user leaves it or the VM ends.
pub fn console(home: &Home, name: &str) -> Result<(), Refusal> {
    let folder = home.existing(name)?;
    let failed = |error: io::Error| folder.refuse(&error);
    let Some(fifo) = folder.running().map_err(failed)? else {
        let problem = format!("does not run; start it with 'armvisor up {name}'");
        return Err(Refusal::new(ExitCode::NoSuchVm, folder.subject(), problem));
    };
    let mut tail = Tail::open(&folder.file("console.log"), BACK).map_err(failed)?;
    let signals = EndSignals::new().map_err(failed)?;
    let raw = Raw::enter().map_err(failed)?;
    if raw.is_some() {
        eprintln!("armvisor: {LEAVE_HELP}\r");
    }
    let done = attend(&mut tail, fifo, signals, raw.is_some());
    drop(raw);
    done.map_err(failed)
}

fn attend(tail: &mut Tail, mut fifo: File, mut signals: EndSignals, keys: bool) -> io::Result<()> {
    let mut keyboard = Keyboard::new(keys);
    let mut stdin = Some(File::from(io::stdin().as_fd().try_clone_to_owned()?));
    let mut out = io::stdout().lock();
    loop {
        tail.heed();
        tail.copy(&mut out)?;
        let ready = wait(
            tail,
            &fifo,
            stdin.as_ref().filter(|_| !keyboard.is_full()),
            &signals,
        )?;
        if ready.signal && signals.take()?.is_some() {
            return Ok(());
        }
        if ready.ended {
            tail.copy(&mut out)?;
            eprintln!("\r\narmvisor: the VM has ended\r");
            return Ok(());
        }
        if let (true, Some(input)) = (ready.input, &mut stdin) {
            let mut bytes = [0; KEYS];
            match input.read(&mut bytes) {
                Ok(0) => stdin = None,
                Ok(got) => match keyboard.typed(&bytes[..got]) {
                    Some(Command::Quit) => return Ok(()),
                    Some(Command::Help) => eprintln!("\r\narmvisor: {LEAVE_HELP}\r"),
                    None => {}
                },
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        // What a guest does not read is lost, as on a cable.
        keyboard.feed(|bytes| {
            let _ = fifo.write(bytes);
            bytes.len()
        });
        if stdin.is_none() && !keys {
            return Ok(());
        }
    }
}

fn wait(tail: &Tail, fifo: &File, stdin: Option<&File>, signals: &EndSignals) -> io::Result<Ready> {
    let signals = signals.as_fd();
    let mut polled = vec![
        PollFd::from_borrowed_fd(tail.changes(), PollFlags::IN),
        PollFd::new(fifo, PollFlags::empty()),
        PollFd::from_borrowed_fd(signals, PollFlags::IN),
    ];
    polled.extend(stdin.map(|stdin| PollFd::new(stdin, PollFlags::IN)));
    match poll(&mut polled, None) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let came = |index: usize| polled.get(index).is_some_and(|it| !it.revents().is_empty());
    Ok(Ready {
        ended: came(1),
        signal: came(2),
        input: came(3),
    })
}

/// Prints what the guest has written to its console, or what armvisor has said of the VM.
pub fn logs(home: &Home, args: &LogsArgs) -> Result<(), Refusal> {
    let folder = home.existing(&args.name)?;
    let out = io::stdout().lock();
    let printed = match out.is_terminal() {
        true => print(&folder, args, &mut Plain(out)),
        false => print(&folder, args, &mut { out }),
    };
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(folder.refuse(&error)),
        _ => Ok(()),
    }
}

fn print(folder: &Folder, args: &LogsArgs, out: &mut impl Write) -> io::Result<()> {
    let log = folder.file(if args.vmm {
        "armvisor.log"
    } else {
        "console.log"
    });
    let open = |path| match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    };
    if let (false, Some(mut old)) = (args.vmm, open(old_log(&log))?) {
        io::copy(&mut old, out)?;
    }
    if open(log.clone())?.is_none() {
        return out.flush();
    }
    let mut tail = Tail::open(&log, u64::MAX)?;
    let fifo = if args.follow { folder.running()? } else { None };
    tail.copy(out)?;
    let Some(fifo) = fifo else { return Ok(()) };
    loop {
        let mut polled = [
            PollFd::from_borrowed_fd(tail.changes(), PollFlags::IN),
            PollFd::new(&fifo, PollFlags::empty()),
        ];
        match poll(&mut polled, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ended = !polled[1].revents().is_empty();
        tail.heed();
        tail.copy(out)?;
        if ended {
            return Ok(());
        }
    }
}
