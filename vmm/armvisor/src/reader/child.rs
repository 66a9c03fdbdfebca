// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The process that reads an image. Nothing of the image is read before its limits are set. Where one is
//! met, or where a library panics, the process ends; its parent says so.

use std::fs::File;
use std::io::{self, Read, Write};

use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};
use rustix::thread::set_no_new_privs;

use super::{LONGEST, LONGEST_TEXT, Reply, Request, Task, own};
use crate::boot;
use crate::image::{Backing, Source, sentence};
use crate::outcome::ExitCode;

/// More than an image with its backing files has.
const FILES: u64 = 256;

/// Carries out the request on standard input; returns the exit code.
pub fn serve() -> u8 {
    match answer() {
        Ok(()) => ExitCode::Success as u8,
        Err(_) => ExitCode::Internal as u8,
    }
}

fn answer() -> io::Result<()> {
    let mut request = Vec::new();
    io::stdin().take(LONGEST).read_to_end(&mut request)?;
    let request: Request = serde_json::from_slice(&request)?;
    confine(request.seconds, request.memory)?;
    let mut reply = carry_out(&request);
    if let Err(text) = &mut reply {
        *text = text.chars().take(LONGEST_TEXT / 4).collect();
    }
    io::stdout().write_all(&serde_json::to_vec(&reply)?)
}

fn confine(seconds: u64, memory: u64) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    set_no_new_privs(true)?;
    for (resource, soft, hard) in [
        (Resource::Cpu, seconds, seconds + 1),
        (Resource::As, memory, memory),
        (Resource::Nofile, FILES, FILES),
        (Resource::Nproc, 0, 0),
        (Resource::Core, 0, 0),
    ] {
        let limit = Rlimit {
            current: Some(soft),
            maximum: Some(hard),
        };
        setrlimit(resource, limit)?;
    }
    Ok(())
}

fn carry_out(request: &Request) -> Reply {
    let source = source(request).map_err(|error| format!("cannot be read: {error}"))?;
    match request.task {
        Task::Check => source.check().map(|()| None),
        Task::Boot { kernel, initrd } => {
            let image = source.contents();
            let image = image.map_err(|error| sentence(&error, &source.path))?;
            let open = |(number, limit)| -> Result<boot::Target, String> {
                let file = File::options().write(true).open(own(number));
                let file = file.map_err(|error| format!("cannot be unpacked: {error}"))?;
                Ok(boot::Target { file, limit })
            };
            boot::search(image, open(kernel)?, open(initrd)?).map(Some)
        }
    }
}

fn source(request: &Request) -> io::Result<Source> {
    let open = |number: i32| File::open(own(number));
    let backing = request
        .backing
        .iter()
        .map(|(path, number)| Backing::new(path.clone(), open(*number)?));
    Ok(Source {
        path: request.path.clone(),
        real: request.real.clone(),
        kind: request.kind,
        probed: true,
        file: open(request.file)?,
        backing: backing.collect::<io::Result<_>>()?,
        overlay: request.overlay.map(open).transpose()?,
    })
}
