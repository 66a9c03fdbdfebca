// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Reads what is in an image in a process of its own, with little time and memory.
//!
//! The tables, file systems and menus of a hostile image can send a reader in circles, or have it take
//! memory for a file that is not there. No budget in a library's caller bounds that, so the kernel does:
//! the process is this program anew, which limits itself before it reads the image (`child`). It gets
//! open files, none of them to be written but two memory files of a fixed size, and answers in JSON.
//! It may have been taken over by what it read, so its answer is hostile, too.

mod child;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use serde::{Deserialize, Serialize};

use crate::boot::{Boot, BootFile, Found, Part};
use crate::disk::Kind;
use crate::image::{Source, convert};
use crate::outcome::{ExitCode, Refusal};
use crate::size::MIB;
use crate::wait::{self, Outcome};

pub use child::serve;

/// The command that makes this program the reader. It is for nobody to type, so no help has it.
const COMMAND: &str = "read-image";
/// The exit code of a reader that cannot limit itself, so it has read nothing.
const UNLIMITED: u8 = 100;
/// Of a path in the image, of a sentence, and of the kernel's words, which has fewer than 2048.
const LONGEST_TEXT: usize = 4096;
/// Of a kernel, and of an initrd, which the reader has in memory.
const FILE_LIMIT: u64 = 512 * MIB;

/// Whether this process is a reader.
pub fn is_asked(command: Option<&OsStr>) -> bool {
    command.is_some_and(|word| word == COMMAND)
}

/// How to start readers, and what they may take.
#[derive(Clone, Debug)]
pub struct Reader {
    /// This program.
    pub program: PathBuf,
    /// CPU time in seconds.
    pub seconds: u64,
    /// Address space in bytes.
    pub memory: u64,
    /// How long it may take by the clock: storage that is not there takes no CPU time.
    pub patience: Duration,
}

impl Default for Reader {
    fn default() -> Self {
        Reader {
            program: "/proc/self/exe".into(),
            seconds: 20,
            memory: 512 * MIB,
            patience: Duration::from_secs(60),
        }
    }
}

/// What a reader is to do. Files are numbers of descriptors that it has inherited.
#[derive(Debug, Serialize, Deserialize)]
struct Request {
    task: Task,
    seconds: u64,
    memory: u64,
    /// Paths are bytes, which need not be text.
    path: Vec<u8>,
    real: Vec<u8>,
    kind: Kind,
    file: i32,
    backing: Vec<BackingFile>,
    overlay: Option<i32>,
}

#[derive(Debug, Serialize, Deserialize)]
struct BackingFile {
    path: Vec<u8>,
    given: Vec<u8>,
    number: i32,
}

impl Request {
    /// All the descriptors that the reader needs.
    fn files(&self) -> Vec<i32> {
        let task = match self.task {
            Task::Check => Vec::new(),
            Task::Boot { kernel, initrd } => vec![kernel.0, initrd.0],
        };
        let backing = self.backing.iter().map(|file| file.number);
        let all = task.into_iter().chain(backing).chain(self.overlay);
        all.chain([self.file]).collect()
    }
}

#[derive(Debug, Serialize, Deserialize)]
enum Task {
    /// Check the tables.
    Check,
    /// Find what boots, and unpack it to these files of these lengths.
    Boot {
        kernel: (i32, u64),
        initrd: (i32, u64),
    },
}

/// The answer, or the end of a sentence.
type Reply = Result<Option<Found>, String>;

impl Reader {
    /// Refuses an image whose tables are not in order.
    pub fn check(&self, source: &Source) -> Result<(), Refusal> {
        let instead = format!(
            "add '--ephemeral', which needs no check, or make a new image with {}",
            convert(&source.path)
        );
        let answer = self.ask(source, Task::Check, Vec::new(), "tables", &instead)?;
        answer
            .map(drop)
            .map_err(|problem| refuse(&source.path, &problem))
    }

    /// Reads what the image boots by default. `room` is the guest's memory, which an initrd must fit in.
    pub fn boot(&self, source: &Source, room: u64) -> Result<Boot, Refusal> {
        const INSTEAD: &str = "give the kernel with '--kernel' (and '--initrd', '--append')";
        let room = room.min(FILE_LIMIT);
        let host = |error: io::Error| Refusal::host("memory for the image's kernel", error);
        let kernel = memory_file("kernel", FILE_LIMIT).map_err(host)?;
        let initrd = memory_file("initrd", room).map_err(host)?;
        let (to_kernel, to_initrd) = (inherited(&kernel)?, inherited(&initrd)?);
        let task = Task::Boot {
            kernel: (to_kernel.as_raw_fd(), FILE_LIMIT),
            initrd: (to_initrd.as_raw_fd(), room),
        };
        let files = vec![to_kernel, to_initrd];
        let answer = self.ask(source, task, files, "boot entries", INSTEAD)?;
        let bad = || refuse(&source.path, "its reader gave no answer that makes sense");
        let found = answer
            .map_err(|problem| refuse(&source.path, &format!("{problem}; {INSTEAD}")))?
            .ok_or_else(bad)?;
        for file in [&kernel, &initrd] {
            fcntl_add_seals(file, SealFlags::WRITE).map_err(|error| host(error.into()))?;
        }
        let label = |part: Part, file, limit: u64| {
            let fits = part.len <= limit && part.name.len() <= LONGEST_TEXT;
            let mut name = source.path.as_os_str().to_owned();
            name.push(format!(":{}", part.name));
            fits.then(|| BootFile {
                name: name.into(),
                file,
                len: part.len,
            })
        };
        let has_initrd = found.initrd.is_some();
        let boot = Boot {
            kernel: label(found.kernel, kernel, FILE_LIMIT).ok_or_else(bad)?,
            initrd: found.initrd.and_then(|part| label(part, initrd, room)),
            words: found.words,
        };
        let sound = boot.initrd.is_some() == has_initrd
            && boot.words.len() <= LONGEST_TEXT
            && !boot.words.contains(char::is_control);
        sound.then_some(boot).ok_or_else(bad)
    }

    /// Starts a reader and waits for its reply. `files` are those of the task, besides the image's.
    fn ask(
        &self,
        source: &Source,
        task: Task,
        mut files: Vec<OwnedFd>,
        what: &str,
        instead: &str,
    ) -> Result<Reply, Refusal> {
        let request = self.request(source, task, &mut files)?;
        let outcome = self.run(&request).map_err(|error| {
            let problem = format!("cannot start the reader of images: {error}; is /proc there?");
            Refusal::host("host", problem)
        })?;
        let subject = || format!("image {}", source.path.display());
        let (reply, status) = match outcome {
            Outcome::Ended(reply, status) => (reply, status),
            Outcome::Late => {
                let problem = format!(
                    "reading it took longer than {} s; is its storage there?",
                    self.patience.as_secs()
                );
                return Err(Refusal::host(subject(), problem));
            }
            Outcome::Signal(number) => {
                let problem = format!("signal {number} came while it was read");
                return Err(Refusal::new(
                    ExitCode::of_signal(number),
                    subject(),
                    problem,
                ));
            }
        };
        if !status.success() {
            if status.code() == Some(UNLIMITED.into()) {
                let problem = "the process that is to read it cannot limit itself on this host, so it \
                               was not read";
                return Err(Refusal::host(subject(), problem));
            }
            let problem = self.cause(status, what);
            return Err(refuse(&source.path, &format!("{problem}; {instead}")));
        }
        serde_json::from_slice(&reply)
            .ok()
            .filter(|reply: &Reply| !matches!(reply, Err(text) if text.len() > LONGEST_TEXT))
            .ok_or_else(|| refuse(&source.path, "its reader gave no answer that makes sense"))
    }

    /// The request, and in `files` what its numbers stand for.
    fn request(
        &self,
        source: &Source,
        task: Task,
        files: &mut Vec<OwnedFd>,
    ) -> Result<Request, Refusal> {
        let mut pass = |file: &File| -> Result<i32, Refusal> {
            let read_only =
                read_only(file).map_err(|error| Refusal::open("image", &source.path, &error))?;
            let passed = inherited(&read_only)?;
            let number = passed.as_raw_fd();
            files.push(passed);
            Ok(number)
        };
        let mut backing = Vec::new();
        for file in &source.backing {
            backing.push(BackingFile {
                path: bytes_of(&file.path),
                given: bytes_of(&file.given),
                number: pass(&file.file)?,
            });
        }
        Ok(Request {
            task,
            seconds: self.seconds,
            memory: self.memory,
            path: bytes_of(&source.path),
            real: bytes_of(&source.real),
            kind: source.kind,
            file: pass(&source.file)?,
            backing,
            overlay: source.overlay.as_ref().map(&mut pass).transpose()?,
        })
    }

    fn run(&self, request: &Request) -> io::Result<Outcome> {
        // A file, so that a reader that does not read does not hold us up.
        let input = File::from(memfd_create("request", MemfdFlags::CLOEXEC)?);
        let request = serde_json::to_vec(request).map_err(io::Error::other)?;
        input.write_all_at(&request, 0)?;
        let child = Command::new(&self.program)
            .arg0("armvisor")
            .arg(COMMAND)
            .env_clear()
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        wait::wait(child, self.patience)
    }

    /// Why a reader died.
    fn cause(&self, status: ExitStatus, what: &str) -> String {
        match status.signal() {
            Some(libc::SIGKILL) => "the process that reads it was killed".into(),
            Some(libc::SIGXCPU) => {
                format!(
                    "its {what} take too long to read ({} s of CPU)",
                    self.seconds
                )
            }
            _ => format!(
                "its {what} are damaged, or take more than {} MiB of memory to read",
                self.memory / MIB
            ),
        }
    }
}

fn bytes_of(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_owned()
}

fn path_of(bytes: &[u8]) -> PathBuf {
    OsString::from_vec(bytes.to_owned()).into()
}

fn refuse(path: &Path, problem: &str) -> Refusal {
    Refusal::file("image", path, problem)
}

/// A file in memory whose size stays as it is. What nobody writes takes no memory.
fn memory_file(name: &str, size: u64) -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = File::from(memfd_create(name, flags)?);
    file.set_len(size)?;
    fcntl_add_seals(&file, SealFlags::GROW | SealFlags::SHRINK)?;
    Ok(file)
}

/// The file once more, to be read only.
fn read_only(file: &File) -> io::Result<File> {
    File::open(own(file.as_raw_fd()))
}

/// This process's name of an open file.
fn own(number: i32) -> String {
    format!("/proc/self/fd/{number}")
}

/// A descriptor that a child has, too.
fn inherited(file: &File) -> Result<OwnedFd, Refusal> {
    rustix::io::dup(file).map_err(|error| Refusal::host("host", error))
}
