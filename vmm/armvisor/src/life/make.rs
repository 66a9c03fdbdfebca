// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Makes a VM's folder from the options of `armvisor up`.

use std::fs::{self, File};
use std::io::{self, Seek};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command as Program, Stdio};

use armvisor_devices::net::random_mac;
use clap::Parser;

use super::folder::{Folder, Home, Saved};
use crate::cli::{Cli, Command, NetTo, RunArgs, SeedArgs, Verbosity, Words, check_user, refusal};
use crate::console::Choice;
use crate::image::{self, ImageOptions};
use crate::outcome::Refusal;
use crate::rundir::users;
use crate::seed;
use crate::sys::euid;

/// The account of a guest whose host's user has no name for one.
const USER: &str = "user";

/// Options as of `armvisor run`, where --image brings --cloud-init. Help that they ask for is printed, and
/// ends the program.
pub(super) fn parse(options: &[String]) -> Result<(RunArgs, Verbosity), Refusal> {
    parse_said(options, None)
}

/// The same for words some of which a file has `said`.
fn parse_said(options: &[String], said: Option<&Words>) -> Result<(RunArgs, Verbosity), Refusal> {
    let run = ["armvisor", "run"].into_iter();
    let is_image = |word: &String| word == "--image" || word.starts_with("--image=");
    let is_seed = |word: &String| word == "--cloud-init";
    let seeded = options.iter().any(is_image) && !options.iter().any(is_seed);
    let more = seeded.then_some("--cloud-init");
    let words = || {
        let options = options.iter().map(String::as_str);
        run.clone().chain(options).chain(more)
    };
    match Cli::try_parse_from(words()) {
        Ok(cli) => match cli.command {
            Command::Run(args) => Ok((*args, cli.verbosity)),
            _ => Err(Refusal::usage("armvisor up", "has an option too many")),
        },
        Err(error) => {
            let refusal = refusal(&error, words()).unwrap_or_else(|| error.exit());
            Err(refusal.at(said.and_then(|said| said.place(&error))))
        }
    }
}

/// Makes the folder of a new VM.
pub(super) fn make(home: &Home, name: &str, options: &[String]) -> Result<Folder, Refusal> {
    let options = Words::expand(options)?;
    let (args, _) = parse_said(&options.words, Some(&options))?;
    check(&args)?;
    let new = home.create(name)?;
    let folder = &new.folder;
    let here = std::env::current_dir().map_err(|error| folder.refuse(&error))?;
    let mut saved = Saved::new(here, options.words);
    for _ in 0..args.net.len().max(1) {
        let mac = random_mac().map_err(|error| Refusal::host(folder.subject(), error))?;
        saved.macs.push(mac);
    }
    if let (Some(path), false) = (&args.image, args.ephemeral) {
        let options = ImageOptions {
            path: path.clone(),
            format: args.image_format,
            backing: args.backing.clone(),
            ephemeral: true,
        };
        image::make_overlay(&options, &folder.file("disk.qcow2"))?;
        saved.overlay = true;
    }
    if args.seed.cloud_init {
        let user = args.seed.user.clone().unwrap_or_else(login_name);
        let key = make_key(folder)?;
        let seed = match &args.seed.user_data {
            Some(_) => args.seed.clone(),
            None => SeedArgs {
                ssh_key: [args.seed.ssh_key.as_slice(), &[key]].concat(),
                user: Some(user.clone()),
                ..args.seed.clone()
            },
        };
        make_seed(folder, &seed)?;
        saved.seed = true;
        saved.user = Some(user);
    }
    folder.save(&saved)?;
    new.keep()
}

/// Refuses what `up` decides itself.
fn check(args: &RunArgs) -> Result<(), Refusal> {
    let decided = [
        (
            args.name.is_some(),
            "--name",
            "the VM's name is the first word",
        ),
        (
            args.console != Choice::Stdio,
            "--console",
            "'armvisor console' and 'armvisor logs' have it",
        ),
        (args.json, "--json", "nobody waits for its report"),
    ];
    match decided.into_iter().find(|(given, ..)| *given) {
        Some((_, option, why)) => {
            let problem = format!("does not go with 'armvisor up': {why}; leave it out");
            Err(Refusal::usage(option, problem))
        }
        None => Ok(()),
    }
}

/// Whether a VM with these options has a passt, which can forward its SSH port.
pub(super) fn has_passt(args: &RunArgs) -> bool {
    let mut nets = args.net.iter();
    args.net.is_empty() || nets.any(|net| matches!(net.to, NetTo::Passt { .. }))
}

/// The user's own name, where a guest can have it. Its root does not log in by SSH.
fn login_name() -> String {
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = users::name_in(&passwd, euid()).unwrap_or(USER);
    let good = name != "root" && check_user(name).is_ok();
    (if good { name } else { USER }).to_owned()
}

/// A new SSH key; returns the path of its public half.
fn make_key(folder: &Folder) -> Result<std::path::PathBuf, Refusal> {
    let made = Program::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C"])
        .arg(format!("armvisor-{}", folder.name))
        .arg("-f")
        .arg(folder.file("key"))
        .stdin(Stdio::null())
        .output();
    let problem = match made {
        Ok(done) if done.status.success() => return Ok(folder.file("key.pub")),
        Ok(done) => {
            let said = String::from_utf8_lossy(&done.stderr);
            format!("makes no key: {}", said.trim())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            "is not installed; install the package openssh-client ('sudo apt install openssh-client')"
                .into()
        }
        Err(error) => format!("cannot be started: {error}"),
    };
    Err(Refusal::host("ssh-keygen", problem))
}

fn make_seed(folder: &Folder, args: &SeedArgs) -> Result<(), Refusal> {
    let args = SeedArgs {
        cloud_init: true,
        ..args.clone()
    };
    let Some(seed) = seed::disk(&args, Some(&folder.name))? else {
        return Ok(());
    };
    let copied = copy(seed, &folder.file("seed.img"));
    copied.map_err(|error| folder.refuse(&error))
}

fn copy(mut from: File, to: &Path) -> io::Result<()> {
    let mut how = File::options();
    let mut to = how.create_new(true).write(true).mode(0o600).open(to)?;
    from.rewind()?;
    io::copy(&mut from, &mut to)?;
    to.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_new_vm_has_a_disk_a_key_and_a_seed() {
        let parent = tempfile::tempdir().unwrap();
        let image = parent.path().join("image");
        fs::write(&image, vec![0; 1 << 20]).unwrap();
        let home = Home::at(parent.path().join("vms"));
        let options = words(&format!("--image {} --user me", image.display()));
        let folder = make(&home, "web", &options).unwrap();
        let saved = folder.load().unwrap();
        assert_eq!(saved.options, options);
        assert!(saved.overlay && saved.seed && saved.macs.len() == 1);
        assert_eq!(saved.user.as_deref(), Some("me"));
        let seed = fs::read(folder.file("seed.img")).unwrap();
        let key = fs::read(folder.file("key.pub")).unwrap();
        let key = key.split(|byte| *byte == b' ').nth(1).unwrap();
        assert!(seed.windows(key.len()).any(|part| part == key));
        let disk = ImageOptions {
            path: folder.file("disk.qcow2"),
            backing: vec![image.clone()],
            ..ImageOptions::default()
        };
        let source = image::Source::open(&disk).unwrap();
        source.check().unwrap();
        let disk = source.disk().unwrap();
        let mut last = [1; 512];
        image::read_at(&*disk, &mut last, (1 << 20) - 512).unwrap();
        assert_eq!(last, [0; 512]);
        assert_eq!(fs::read(&image).unwrap(), vec![0; 1 << 20]);
    }

    #[test]
    fn a_vm_that_cannot_be_made_leaves_nothing() {
        let parent = tempfile::tempdir().unwrap();
        let home = Home::at(parent.path().join("vms"));
        for (line, sentence) in [
            ("--image /none", "image /none: no such file"),
            (
                "--kernel k --name x",
                "--name: does not go with 'armvisor up'",
            ),
            (
                "--kernel k --console none",
                "'armvisor console' and 'armvisor logs' have it",
            ),
            ("--kernel k --json", "--json: does not go with"),
            (
                "--kernal k",
                "--kernal: no such option of 'armvisor run'; did you mean",
            ),
            ("--memory 1G", "lacks --image FILE or --kernel IMAGE"),
            (
                "--kernel k --cloud-init --user-data /none",
                "user-data /none: no such file",
            ),
        ] {
            let said = make(&home, "web", &words(line)).unwrap_err().to_string();
            assert!(said.contains(sentence), "{line}: {said}");
            assert!(home.names().is_empty());
        }
        let kernel = make(
            &home,
            "kernel",
            &words("--kernel k --net tap=a --net tap=b"),
        );
        let saved = kernel.unwrap().load().unwrap();
        assert!(!saved.overlay && !saved.seed && saved.user.is_none());
        assert_eq!(saved.macs.len(), 2);
        assert_ne!(saved.macs[0], saved.macs[1]);
    }
}
