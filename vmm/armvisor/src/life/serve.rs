// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The process of a VM that has a folder: what it runs.

use std::ffi::OsStr;
use std::net::Ipv4Addr;
use std::path::Path;

use super::folder::{Folder, Saved};
use super::make::{has_passt, parse};
use crate::cli::{DiskArg, NetArg, NetTo, OnReset, Publish, RunArgs, Verbosity};
use crate::console::Choice;
use crate::disk::Kind;
use crate::outcome::Refusal;
use crate::sys::close_inherited;

/// The command that makes this program a VM that has a folder. It is for nobody to type, so no help has it.
pub(super) const COMMAND: &str = "serve-vm";
/// Where a guest's SSH server listens.
const SSH: u16 = 22;

/// Whether this process is to be a VM that has a folder.
pub fn is_asked(command: Option<&OsStr>) -> bool {
    command.is_some_and(|word| word == COMMAND)
}

/// What the VM in the folder at `path` is to run, in a session of its own.
pub fn arguments(path: &Path) -> Result<(RunArgs, Verbosity), Refusal> {
    let folder = Folder::at(path)
        .ok_or_else(|| Refusal::usage(path.display(), "is not the folder of a VM"))?;
    // It stays for long, and would keep what whoever typed 'up' has open.
    close_inherited(&[]).map_err(|error| folder.refuse(&error))?;
    // Fails where nobody but this process is in its session.
    let _ = rustix::process::setsid();
    let saved = folder.load()?;
    std::env::set_current_dir(&saved.directory).map_err(|error| {
        let folder = saved.directory.display();
        let problem = format!(
            "its options are of folder {folder}, which cannot be used: {error}; make that folder \
             again"
        );
        Refusal::host(format!("VM {}", path.display()), problem)
    })?;
    let (args, verbosity) = parse(&saved.options)?;
    Ok((complete(args, &folder, &saved), verbosity))
}

/// The user's options, and what the VM has of its own.
fn complete(mut args: RunArgs, folder: &Folder, saved: &Saved) -> RunArgs {
    args.name = Some(folder.name.clone());
    args.console = Choice::Log(folder.file("console.log"));
    args.on_reset = args.on_reset.or(Some(OnReset::Restart));
    if saved.overlay {
        args.backing.extend(args.image.take());
        args.image = Some(folder.file("disk.qcow2"));
        args.image_format = Some(Kind::Qcow2);
    }
    args.seed = Default::default();
    if saved.seed {
        args.disk.push(DiskArg {
            path: folder.file("seed.img"),
            read_only: true,
            raw: true,
        });
    }
    if let (Some(port), true) = (saved.port, has_passt(&args)) {
        args.publish.push(Publish {
            address: Some(Ipv4Addr::LOCALHOST.into()),
            port,
            guest: SSH,
            udp: false,
        });
    }
    if args.net.is_empty() {
        args.net.push(NetArg {
            to: NetTo::Passt { host: false },
            mac: None,
        });
    }
    for (net, mac) in args.net.iter_mut().zip(&saved.macs) {
        net.mac = net.mac.or(Some(*mac));
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(line: &str, change: impl FnOnce(&mut Saved)) -> RunArgs {
        let options: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let folder = Folder::at(Path::new("/vms/web")).unwrap();
        let mut saved = Saved::new("/".into(), options);
        saved.macs = vec![[2, 0, 0, 0, 0, 1]];
        change(&mut saved);
        complete(parse(&saved.options).unwrap().0, &folder, &saved)
    }

    #[test]
    fn a_vm_with_an_image_has_a_disk_a_seed_and_a_port() {
        let args = completed("--image i --backing b --cloud-init --user me", |saved| {
            saved.overlay = true;
            saved.seed = true;
            saved.port = Some(4022);
        });
        assert_eq!(args.name.as_deref(), Some("web"));
        assert_eq!(
            args.image.as_deref(),
            Some(Path::new("/vms/web/disk.qcow2"))
        );
        assert_eq!(args.backing, [Path::new("b"), Path::new("i")]);
        assert_eq!(args.disk[0].path, Path::new("/vms/web/seed.img"));
        assert!(args.disk[0].read_only && !args.seed.cloud_init);
        assert_eq!(args.publish[0].to_string(), "127.0.0.1:4022:22");
        let passt = NetArg {
            to: NetTo::Passt { host: false },
            mac: Some([2, 0, 0, 0, 0, 1]),
        };
        assert_eq!(args.net, [passt]);
        assert_eq!(args.on_reset, Some(OnReset::Restart));
    }

    #[test]
    fn what_the_user_says_stays() {
        let line = "--image i --ephemeral --net tap=a,mac=02:00:00:00:00:09 --on-reset exit";
        let args = completed(line, |saved| saved.port = Some(4022));
        assert_eq!(args.image.as_deref(), Some(Path::new("i")));
        assert!(args.publish.is_empty(), "a TAP forwards nothing");
        assert_eq!(args.net[0].mac, Some([2, 0, 0, 0, 0, 9]));
        assert_eq!(args.on_reset, Some(OnReset::Exit));
    }
}
