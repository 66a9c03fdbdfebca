// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Waits for a program that was started: not for ever, and not past a signal that ends this one.
//!
//! The signals are blocked by now and are the main loop's to take, which does not run yet. So they are
//! looked for here, and left for it.

use std::io::{self, Read};
use std::process::{Child, ChildStdout, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::sys::signal::pending;

/// Bytes of a reply that are read.
const LONGEST: u64 = 64 << 10;

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(100);
/// A process whose pipe has ended is about to end.
const SOON: Duration = Duration::from_millis(1);
/// For a killed process to end. One that the host's storage holds does not end before that answers.
const KILLED: Duration = Duration::from_secs(1);

/// How a program ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// By itself, with this reply.
    Ended(Vec<u8>, ExitStatus),
    /// It took too long.
    Late,
    /// A signal of this number ends the program.
    Signal(i32),
}

/// Waits for the child's reply and its end for as long as `patience`.
pub(crate) fn wait(mut child: Child, patience: Duration) -> io::Result<Outcome> {
    let limit = Instant::now() + patience;
    let outcome = attend(&mut child, limit);
    if !matches!(outcome, Ok(Outcome::Ended(..))) {
        let limit = Instant::now() + KILLED;
        child.kill()?;
        while child.try_wait()?.is_none() && Instant::now() < limit {
            std::thread::sleep(SOON);
        }
    }
    outcome
}

fn attend(child: &mut Child, limit: Instant) -> io::Result<Outcome> {
    let mut pipe = child.stdout.take();
    let mut reply = Vec::new();
    loop {
        let status = match &mut pipe {
            Some(open) => {
                if !more(open, &mut reply)? {
                    pipe = None;
                }
                None
            }
            None => child.try_wait()?,
        };
        // One that the same signal ended has not said why.
        if let Some(number) = pending()? {
            return Ok(Outcome::Signal(number));
        }
        if let Some(status) = status {
            return Ok(Outcome::Ended(reply, status));
        }
        if Instant::now() >= limit {
            return Ok(Outcome::Late);
        }
        if pipe.is_none() {
            std::thread::sleep(SOON);
        }
    }
}

/// Adds what comes next to the reply; false at its end.
fn more(pipe: &mut ChildStdout, reply: &mut Vec<u8>) -> io::Result<bool> {
    let look = Timespec::try_from(LOOK).map_err(io::Error::other)?;
    let mut polled = [PollFd::new(pipe, PollFlags::IN)];
    match poll(&mut polled, Some(&look)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(true),
        done => done?,
    };
    let mut piece = [0; 4096];
    match pipe.read(&mut piece) {
        Ok(got) => {
            reply.extend_from_slice(&piece[..got]);
            Ok(got != 0 && (reply.len() as u64) < LONGEST)
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
        Err(error) => Err(error),
    }
}
