// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The process that reads an image. Nothing of the image is read before its limits are set. Where one is
//! met, or where a library panics, the process ends; its parent says so.

use std::fs::File;
use std::io::{self, Read, Write};

use rustix::process::{
    Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit,
};
use rustix::thread::set_no_new_privs;

use super::{FILE_LIMIT, LONGEST_TEXT, Reply, Request, Task, UNLIMITED, own, path_of};
use crate::boot;
use crate::image::{Backing, Source, sentence};
use crate::outcome::ExitCode;
use crate::sys::close_inherited;
use crate::sys::signal::unblock;

/// More than an image with its backing files has.
const FILES: u64 = 256;

/// Carries out the request on standard input; returns the exit code.
pub fn serve() -> u8 {
    let code = |done: io::Result<()>, code: u8| done.err().map(|_| code);
    let Ok(request) = request() else {
        return ExitCode::Internal as u8;
    };
    code(confine(&request), UNLIMITED)
        .or_else(|| code(answer(&request), ExitCode::Internal as u8))
        .unwrap_or(ExitCode::Success as u8)
}

fn request() -> io::Result<Request> {
    let mut request = Vec::new();
    io::stdin().read_to_end(&mut request)?;
    Ok(serde_json::from_slice(&request)?)
}

fn answer(request: &Request) -> io::Result<()> {
    let mut reply = carry_out(request);
    if let Err(text) = &mut reply {
        *text = text.chars().take(LONGEST_TEXT / 4).collect();
    }
    io::stdout().write_all(&serde_json::to_vec(&reply)?)
}

fn confine(request: &Request) -> io::Result<()> {
    let (seconds, memory) = (request.seconds, request.memory);
    set_parent_process_death_signal(Some(Signal::KILL))?;
    unblock()?;
    set_no_new_privs(true)?;
    for (resource, soft, hard) in [
        (Resource::Cpu, seconds, seconds + 1),
        (Resource::As, memory, memory),
        // Memory files are in no address space.
        (Resource::Fsize, FILE_LIMIT, FILE_LIMIT),
        (Resource::Nofile, FILES, FILES),
        (Resource::Nproc, 0, 0),
        (Resource::Core, 0, 0),
    ] {
        // Nobody may raise what is lower already.
        let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let limit = Rlimit {
            current: Some(soft.min(most)),
            maximum: Some(hard.min(most)),
        };
        setrlimit(resource, limit)?;
    }
    close_inherited(&request.files())
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
                Ok(boot::Target::new(file, limit))
            };
            boot::search(image, open(kernel)?, open(initrd)?).map(Some)
        }
    }
}

fn source(request: &Request) -> io::Result<Source> {
    let open = |number: i32| File::open(own(number));
    let backing = request.backing.iter().map(|file| {
        Backing::new(
            path_of(&file.path),
            path_of(&file.given),
            open(file.number)?,
        )
    });
    Ok(Source {
        path: path_of(&request.path),
        real: path_of(&request.real),
        kind: request.kind,
        probed: true,
        file: open(request.file)?,
        backing: backing.collect::<io::Result<_>>()?,
        overlay: request.overlay.map(open).transpose()?,
    })
}
