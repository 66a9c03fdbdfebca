// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The system that a VM boots: the kernel and the initrd that the user names, or those of the image.

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use armvisor_devices::block::Image;
use armvisor_devices::net::Stream;

use crate::boot::Boot;
use crate::cli::RunArgs;
use crate::image::{ImageOptions, Source};
use crate::kernel::{self, Initrd, Loaded};
use crate::memory::Memory;
use crate::outcome::Refusal;
use crate::reader::Reader;

/// A system in guest memory.
#[derive(Debug)]
pub struct System {
    /// The kernel's name, for messages.
    pub kernel: PathBuf,
    /// Where the kernel is.
    pub loaded: Loaded,
    /// Where the initrd is.
    pub initrd: Option<Initrd>,
    /// The image's own command line; None where the user named the kernel.
    pub words: Option<String>,
}

/// What a machine's devices are on that the process keeps over a reset.
pub struct Kept {
    /// `--image`, the first.
    pub image: Option<Arc<dyn Image>>,
    /// The seed for cloud-init, the last disk.
    pub seed: Option<File>,
    /// For each `--net` that is passt its stream.
    pub streams: Vec<Option<Arc<Mutex<Stream>>>>,
}

/// Opens `--image`, if there is one, for as long as the process lives.
pub fn open_image(args: &RunArgs) -> Result<Option<Source>, Refusal> {
    let Some(path) = &args.image else {
        return Ok(None);
    };
    let options = ImageOptions {
        path: path.clone(),
        format: args.image_format,
        backing: args.backing.clone(),
        ephemeral: args.ephemeral,
    };
    Source::open(&options).map(Some)
}

/// Checks the image before a machine uses it, and reads what it boots if that is not the user's kernel.
pub fn read_image(args: &RunArgs, source: &Source) -> Result<Option<Boot>, Refusal> {
    let reader = Reader::default();
    source.lock()?;
    if source.needs_check() {
        reader.check(source)?;
    }
    match args.kernel {
        Some(_) => Ok(None),
        None => reader.boot(source, args.memory.bytes).map(Some),
    }
}

impl System {
    /// Loads the system to the start of guest memory: `boot`, or what the user names.
    pub fn load(args: &RunArgs, boot: Option<Boot>, memory: &Memory) -> Result<Self, Refusal> {
        match (&args.kernel, boot) {
            (_, Some(boot)) => Self::load_boot(boot, memory),
            (Some(kernel), None) => {
                memory.will_fill(kernel::space(kernel, args.initrd.as_deref()));
                let loaded = kernel::load(kernel, &memory.guest)?;
                let initrd = match &args.initrd {
                    Some(path) => Some(kernel::load_initrd(path, &memory.guest, loaded.end)?),
                    None => None,
                };
                Ok(System {
                    kernel: kernel.clone(),
                    loaded,
                    initrd,
                    words: None,
                })
            }
            _ => Err(Refusal::usage("armvisor run", "lacks --image or --kernel")),
        }
    }

    fn load_boot(boot: Boot, memory: &Memory) -> Result<Self, Refusal> {
        let guest = &memory.guest;
        let (kernel, file) = boot.kernel.open("kernel")?;
        let loaded = kernel::load_open(&kernel, file, guest)?;
        let initrd = match boot.initrd {
            Some(initrd) => {
                let (name, file) = initrd.open("initrd")?;
                Some(kernel::load_initrd_open(&name, file, guest, loaded.end)?)
            }
            None => None,
        };
        Ok(System {
            kernel,
            loaded,
            initrd,
            words: Some(boot.words),
        })
    }
}
