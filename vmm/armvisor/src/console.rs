// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The host's side of the guest's console.
//!
//! Output: the UART writes to a [`Screen`], which collects lines, so that a terminal, pipe or file
//! gets one write per line. It delays a guest only when a slow reader is far behind, and even then
//! a kick of the vCPU's thread gets through: nothing here may keep a VM from being stopped.
//!
//! Input: the main loop passes typed bytes to [`Keyboard`], and [`Keyboard`]'s output to the UART.
//!
//! Locks: a Screen is inside its UART and has its own lock there, which no load from the UART
//! takes. The main loop only tries to take it.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use vmm_sys_util::timerfd::TimerFd;

use crate::open::{self, Problem, Wanted};
use crate::outcome::Refusal;
use crate::sys::tty::wait_writable;
use crate::uart::Sink;

/// What `--console` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Standard input and output.
    Stdio,
    /// Output to this file or terminal; there is no input.
    File(PathBuf),
    /// Output is thrown away; there is no input.
    None,
    /// Output to this file, of which the newest part is kept ([`Screen::keep`]); input is standard input. Of
    /// VMs that have a folder; nobody can type it.
    Log(PathBuf),
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" => Err("names no file; write stdio, none or a file's name".into()),
            "stdio" => Ok(Choice::Stdio),
            "none" => Ok(Choice::None),
            path => Ok(Choice::File(path.into())),
        }
    }
}

/// What a console can be written to. A disk would be overwritten.
const WRITABLE: Wanted = Wanted {
    accepts: |kind| kind.is_file() || kind.is_fifo() || kind.is_char_device(),
    name: "a file, a FIFO or a terminal",
};

impl Choice {
    /// Opens it for writing, so that no write waits where the host can do that; None for no console.
    pub fn open(&self) -> Result<Option<OwnedFd>, Refusal> {
        match self {
            Choice::None => Ok(None),
            Choice::Stdio => stdout()
                .map(Some)
                .map_err(|error| Refusal::host("console", error)),
            Choice::File(path) => open_file(path).map(Some),
            Choice::Log(path) => open_log(path)
                .map(Some)
                .map_err(|error| Refusal::open("console", path, &error)),
        }
    }

    /// Whether the guest reads standard input.
    pub fn has_input(&self) -> bool {
        matches!(self, Choice::Stdio | Choice::Log(_))
    }
}

fn open_log(path: &Path) -> io::Result<OwnedFd> {
    let mut how = File::options();
    let flags = libc::O_NOFOLLOW;
    let how = how
        .create(true)
        .append(true)
        .mode(0o600)
        .custom_flags(flags);
    Ok(how.open(path)?.into())
}

/// Where the part of a log is that is not in it any more.
pub fn old_log(log: &Path) -> PathBuf {
    let mut name = log.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

/// Standard output. A terminal's or pipe's own open file would be set to not wait for all who share
/// it: open it anew instead, where that is possible.
fn stdout() -> io::Result<OwnedFd> {
    let stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let kind = stdout.metadata()?.file_type();
    if kind.is_fifo() || kind.is_char_device() {
        let path = format!("/proc/self/fd/{}", stdout.as_raw_fd());
        if let Ok(anew) = nonblocking().open(path) {
            return Ok(anew.into());
        }
    }
    Ok(stdout.into())
}

fn nonblocking() -> OpenOptions {
    let mut options = File::options();
    options
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    options
}

fn open_file(path: &Path) -> Result<OwnedFd, Refusal> {
    let refuse = |problem: Problem| problem.refusal("console", path);
    let fail = |error: io::Error| match error.raw_os_error() {
        Some(libc::ENXIO) => {
            let problem = "is a FIFO that nobody reads; start its reader first";
            Refusal::file("console", path, problem)
        }
        _ => Refusal::open("console", path, &error),
    };
    match path.metadata() {
        Ok(data) => open::check(&data, WRITABLE).map_err(refuse)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(fail(error)),
    }
    let file = nonblocking().create(true).open(path).map_err(fail)?;
    let data = file.metadata().map_err(fail)?;
    open::check(&data, WRITABLE).map_err(refuse)?;
    if data.is_file() {
        file.set_len(0).map_err(fail)?;
    }
    Ok(file.into())
}

/// Half a line is shown after this long.
const HALF_LINE: Duration = Duration::from_millis(20);
/// Written even without an end of line.
const LINE: usize = 1024;
/// A pipe that poll calls writable takes this much without blocking (PIPE_BUF).
const CHUNK: usize = 4096;
/// Bytes of a log before it begins anew.
const LOG: u64 = 1 << 20;
/// With this much unwritten the guest waits for the reader.
const BEHIND: usize = 64 << 10;

/// Where the guest's characters go.
pub struct Screen {
    out: Option<File>,
    bytes: Vec<u8>,
    timer: TimerFd,
    due: Option<Duration>,
    log: Option<PathBuf>,
}

impl Screen {
    /// `out` is None for a console that nobody sees.
    pub fn new(out: Option<OwnedFd>) -> io::Result<Self> {
        let timer = TimerFd::new().map_err(io::Error::from)?;
        let out = out.map(File::from);
        Ok(Screen {
            out,
            bytes: Vec::with_capacity(LINE),
            timer,
            due: None,
            log: None,
        })
    }

    /// For a console that goes to a log: what is older than a MiB moves aside, and what is older than that
    /// is forgotten, so that a guest cannot fill the host's disk.
    pub fn keep(mut self, choice: &Choice) -> Self {
        if let Choice::Log(path) = choice {
            self.log = Some(path.clone());
        }
        self
    }

    /// Begins the log anew where it is long, even if what it has cannot be kept: a disk that is full must not
    /// let it grow. The file stays, as readers and the next machine have it.
    fn turn(&self) -> io::Result<()> {
        let (Some(log), Some(out)) = (&self.log, &self.out) else {
            return Ok(());
        };
        if out.metadata()?.len() >= LOG {
            let kept = std::fs::copy(log, old_log(log));
            out.set_len(0)?;
            if let Err(error) = kept {
                log::warn!("console: an older part of its log is lost: {error}");
            }
        }
        Ok(())
    }

    /// Becomes readable when the main loop should call [`Screen::tick`].
    pub fn timer_fd(&self) -> RawFd {
        self.timer.as_raw_fd()
    }

    /// Asks for a tick after `delay`, or earlier if one is due earlier.
    pub fn tick_in(&mut self, delay: Duration) {
        if self.due.is_some_and(|due| due <= delay) {
            return;
        }
        match self.timer.reset(delay, None) {
            Ok(()) => self.due = Some(delay),
            Err(error) => log::error!("console: cannot set its timer: {error}"),
        }
    }

    /// The timer has fired: shows what is there.
    pub fn tick(&mut self) {
        if self.due.take().is_some() {
            // Readable, so this does not wait; the number of expirations does not matter.
            let _ = self.timer.wait();
        }
        self.show(0);
        if !self.bytes.is_empty() {
            self.tick_in(HALF_LINE);
        }
    }

    /// Writes out what is there, waiting up to `patience` milliseconds for a slow reader. Output that
    /// nobody can take is lost, as on a cable that is not plugged in.
    fn show(&mut self, patience: i32) {
        if self.out.is_none() {
            self.bytes.clear();
            return;
        }
        if let Err(error) = self.turn() {
            log::debug!("the console's log stays long: {error}");
        }
        let Some(out) = &mut self.out else { return };
        let mut done = 0;
        while done < self.bytes.len() && wait_writable(out.as_fd(), patience).unwrap_or(true) {
            let end = self.bytes.len().min(done + CHUNK);
            match out.write(&self.bytes[done..end]) {
                Ok(written) => done += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => break,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => {
                    log::debug!("console output is lost: {error}");
                    done = self.bytes.len();
                }
            }
        }
        self.bytes.drain(..done);
    }

    /// The VM is over: shows the rest, with patience, but not for ever.
    pub fn finish(&mut self) {
        for _ in 0..20 {
            self.show(100);
            if self.bytes.is_empty() {
                return;
            }
        }
    }
}

impl Sink for Screen {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() >= LINE || bytes.contains(&b'\n') {
            self.show(0);
        }
        if !self.bytes.is_empty() {
            self.tick_in(HALF_LINE);
        }
    }

    fn is_behind(&self) -> bool {
        self.bytes.len() >= BEHIND
    }

    fn catch_up(&mut self) {
        if self.is_behind() {
            self.show(1000);
        }
    }
}

/// What the user wants of armvisor rather than of the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Stop the VM.
    Quit,
    /// Print [`ESCAPE_HELP`].
    Help,
}

const ESCAPE: u8 = 0x01;
/// As much input as a terminal holds for a program that does not read.
const FULL: usize = 4096;

/// The keys for each [`Command`], as shown to the user.
pub const ESCAPE_HELP: &str =
    "Ctrl-A x stops the VM, Ctrl-A h shows this, Ctrl-A Ctrl-A types Ctrl-A";

/// Characters on their way to the guest.
#[derive(Default)]
pub struct Keyboard {
    queue: VecDeque<u8>,
    escaped: bool,
    /// Off where input comes from a file or pipe: its bytes are the guest's, all of them.
    escapes: bool,
}

impl Keyboard {
    /// With `escapes`, Ctrl-A starts a command for armvisor.
    pub fn new(escapes: bool) -> Self {
        Keyboard {
            escapes,
            ..Keyboard::default()
        }
    }

    /// Takes what was typed; a command that is among it ends the taking.
    pub fn typed(&mut self, bytes: &[u8]) -> Option<Command> {
        for byte in bytes {
            if !self.escapes {
                self.queue.push_back(*byte);
                continue;
            }
            match (std::mem::take(&mut self.escaped), *byte) {
                (false, ESCAPE) => self.escaped = true,
                (true, b'x' | b'X') => return Some(Command::Quit),
                (true, b'h' | b'H' | b'?') => return Some(Command::Help),
                // Any other key after the escape is typed as it is.
                (_, byte) => self.queue.push_back(byte),
            }
        }
        None
    }

    /// Gives the guest what it takes: `give` returns how many of the bytes it took.
    pub fn feed(&mut self, mut give: impl FnMut(&[u8]) -> usize) {
        loop {
            let (front, _) = self.queue.as_slices();
            if front.is_empty() {
                return;
            }
            match give(front) {
                0 => return,
                taken => drop(self.queue.drain(..taken.min(self.queue.len()))),
            }
        }
    }

    /// Whether the guest has taken all of the input.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Enough is waiting for the guest: take no more until it has read some.
    pub fn is_full(&self) -> bool {
        self.queue.len() >= FULL
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn pipe() -> (UnixStream, Screen) {
        let (reader, writer) = UnixStream::pair().unwrap();
        (reader, Screen::new(Some(writer.into())).unwrap())
    }

    fn read(reader: &mut UnixStream) -> Vec<u8> {
        let mut bytes = vec![0; 1 << 17];
        let got = reader.read(&mut bytes).unwrap();
        bytes.truncate(got);
        bytes
    }

    #[test]
    fn a_log_keeps_the_newest_and_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let log = Choice::Log(folder.path().join("log"));
        let Choice::Log(path) = &log else { panic!() };
        let mut screen = Screen::new(log.open().unwrap()).unwrap().keep(&log);
        let line = |number: usize| format!("{number:>1023}\n");
        for number in 0..3000 {
            screen.put(line(number).as_bytes());
        }
        screen.finish();
        let (new, old) = (
            std::fs::read(path).unwrap(),
            std::fs::read(old_log(path)).unwrap(),
        );
        assert_eq!(old.len() as u64, LOG);
        let both = [old, new].concat();
        assert!(both.len() as u64 <= 2 * LOG && both.ends_with(line(2999).as_bytes()));
        let first = 3000 - both.len() / 1024;
        assert!(both.starts_with(line(first).as_bytes()));
        // Opened again, it goes on.
        let mut again = Screen::new(log.open().unwrap()).unwrap().keep(&log);
        again.put(b"more\n");
        assert!(std::fs::read(path).unwrap().ends_with(b"2999\nmore\n"));
    }

    #[test]
    fn a_log_that_cannot_be_kept_does_not_grow() {
        let folder = tempfile::tempdir().unwrap();
        let log = Choice::Log(folder.path().join("log"));
        let Choice::Log(path) = &log else { panic!() };
        std::fs::create_dir(old_log(path)).unwrap();
        let mut screen = Screen::new(log.open().unwrap()).unwrap().keep(&log);
        for number in 0..1500 {
            screen.put(format!("{number:>1023}\n").as_bytes());
        }
        screen.finish();
        let log = std::fs::read(path).unwrap();
        assert!(log.len() as u64 <= LOG && log.ends_with(b" 1499\n"));
    }

    #[test]
    fn lines_are_shown_whole_and_halves_after_a_tick() {
        let (mut reader, mut screen) = pipe();
        for byte in b"one\ntwo" {
            screen.put(&[*byte]);
        }
        assert_eq!(read(&mut reader), b"one\n");
        assert_eq!(screen.due, Some(HALF_LINE));
        screen.tick();
        assert_eq!(
            (read(&mut reader).as_slice(), screen.due),
            (b"two".as_slice(), None)
        );
    }

    #[test]
    fn a_slow_reader_loses_nothing_and_a_missing_one_holds_nobody_up() {
        let (mut reader, mut screen) = pipe();
        let text: Vec<u8> = (0..1_000_000_u32).map(|at| at as u8).collect();
        screen.put(&text);
        screen.catch_up();
        assert!(!screen.bytes.is_empty(), "a socket holds less than that");
        let mut got = read(&mut reader);
        while got.len() < text.len() {
            screen.tick();
            got.extend(read(&mut reader));
        }
        assert!(got == text);
        drop(reader);
        screen.put(b"gone\n");
        assert!(screen.bytes.is_empty());
    }

    #[test]
    fn no_console_keeps_nothing() {
        let mut screen = Screen::new(None).unwrap();
        screen.put(&vec![b'x'; 10 * LINE]);
        assert!(screen.bytes.is_empty());
    }

    #[test]
    fn an_earlier_tick_stands() {
        let mut screen = Screen::new(None).unwrap();
        screen.tick_in(Duration::from_secs(5));
        screen.tick_in(Duration::from_secs(1));
        screen.tick_in(Duration::from_secs(9));
        assert_eq!(screen.due, Some(Duration::from_secs(1)));
    }

    #[test]
    fn the_escape_key_is_for_armvisor() {
        let mut keyboard = Keyboard::new(true);
        assert_eq!(keyboard.typed(b"ab\x01\x01c\x01"), None);
        assert_eq!(keyboard.typed(b"q\x01h"), Some(Command::Help));
        assert_eq!(keyboard.typed(b"\x01x"), Some(Command::Quit));
        let mut got = Vec::new();
        keyboard.feed(|bytes| {
            got.extend_from_slice(bytes);
            bytes.len()
        });
        assert_eq!(got, b"ab\x01cq");
        assert!(keyboard.is_empty());
    }

    #[test]
    fn files_have_no_escapes_and_a_full_guest_is_fed_later() {
        let mut keyboard = Keyboard::default();
        assert_eq!(keyboard.typed(b"\x01x"), None);
        keyboard.feed(|_| 0);
        assert!(!keyboard.is_full());
        keyboard.typed(&[b'x'; FULL]);
        assert!(keyboard.is_full());
        keyboard.feed(|bytes| bytes.len().min(1));
        assert!(keyboard.is_empty());
    }

    #[test]
    fn a_console_is_a_file_a_fifo_with_a_reader_or_a_terminal() {
        let folder = tempfile::tempdir().unwrap();
        let said = |path: &Path| match Choice::File(path.to_owned()).open() {
            Ok(_) => "open".to_owned(),
            Err(refusal) => refusal.to_string(),
        };
        let file = folder.path().join("file");
        assert_eq!(said(&file), "open");
        std::fs::write(&file, "of an earlier run").unwrap();
        assert_eq!(said(&file), "open");
        assert_eq!(std::fs::read(&file).unwrap(), b"");
        let fifo = folder.path().join("fifo");
        crate::open::tests::make_fifo(&fifo);
        assert!(said(&fifo).ends_with("is a FIFO that nobody reads; start its reader first"));
        let reader = File::options()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(&fifo)
            .unwrap();
        assert_eq!(said(&fifo), "open");
        drop(reader);
        assert_eq!(said(Path::new("/dev/null")), "open");
        let folder = said(folder.path());
        assert!(folder.ends_with("is a directory, not a file, a FIFO or a terminal"));
    }

    #[test]
    fn choices_parse() {
        assert_eq!("stdio".parse(), Ok(Choice::Stdio));
        assert_eq!("none".parse(), Ok(Choice::None));
        assert_eq!("/tmp/log".parse(), Ok(Choice::File("/tmp/log".into())));
        assert!("".parse::<Choice>().is_err());
    }
}
