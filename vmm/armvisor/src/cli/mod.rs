// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The command line: commands and options, the most frequent first. `run` has the options of a VM, `life`
//! those of VMs that have a folder, `devices` and `net` the syntax of disks, networks and sockets, `config` options from a file, `error` the messages about a wrong line.
//!
//! Refusals come before anything is opened, with exit code 2.

mod config;
mod devices;
mod error;
mod life;
mod net;
mod run;
mod seed;

use std::path::PathBuf;

use clap::builder::Resettable::Reset;
use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand};

use crate::outcome::EXIT_CODES_HELP;
use crate::rundir::RUN_DIR_HELP;
use crate::size::{self, Size};

pub use config::Words;
pub use devices::{DiskArg, VsockArg};
pub use error::refusal;
pub use life::{ConsoleArgs, LogsArgs, RmArgs, SshArgs, UpArgs};
pub use net::{NetArg, NetTo, Publish, check_nets};
pub use run::{OnReset, RunArgs, check_console, check_protected};
pub use seed::{SeedArgs, check_hostname, check_user};

/// A small virtual machine monitor for KVM on arm64.
#[derive(Debug, Parser)]
#[command(
    version = crate::VERSION,
    after_help = help(),
    propagate_version = true,
    disable_help_flag = true,
    disable_version_flag = true
)]
pub struct Cli {
    /// How much is logged.
    #[command(flatten)]
    pub verbosity: Verbosity,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What every command takes. Last in each command's help.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "General")]
pub struct Verbosity {
    /// Log more: -v armvisor's own choices, -vv also the guest's mistakes
    #[arg(short, long, action = ArgAction::Count, global = true)]
    pub verbose: u8,
    /// Log errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print this help
    #[arg(short, long, action = ArgAction::Help, global = true)]
    help: Option<bool>,
    /// Print the version
    #[arg(short = 'V', long, action = ArgAction::Version, global = true)]
    version: Option<bool>,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a VM
    #[command(after_help = run::help())]
    Run(Box<RunArgs>),
    /// Make a VM that stays, and start it in the background; or start one that there is
    #[command(after_help = life::UP_HELP)]
    Up(UpArgs),
    /// Log in to a VM of 'up' by SSH, or run a command there
    Ssh(SshArgs),
    /// List the VMs: those that run, and this user's that 'up' has made
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a VM's state, its exits by class, and where its time goes
    #[command(after_help = STAT_HELP)]
    Stat(StatArgs),
    /// Press a VM's power button and wait until the guest powers off, or end the VM at once
    Stop(StopArgs),
    /// Remove a VM of 'up', with its disk
    Rm(RmArgs),
    /// Connect the terminal to the console of a VM of 'up'
    Console(ConsoleArgs),
    /// Print what the guest of a VM of 'up' has written to its console: the newest MiB or two
    Logs(LogsArgs),
    /// Pause a VM's CPUs and devices until 'resume'
    Pause(VmArgs),
    /// Resume a paused VM
    Resume(VmArgs),
    /// Ask a guest to return memory to the host, or to take it back
    Balloon(BalloonArgs),
    /// Say whether VMs run on this machine, with armvisor's module or without, and what to do
    #[command(after_help = DOCTOR_HELP)]
    Doctor(DoctorArgs),
}

/// The names of the commands.
fn command_names() -> Vec<String> {
    let names = Cli::command();
    names
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect()
}

fn help() -> String {
    format!("{EXIT_CODES_HELP}\n\n{RUN_DIR_HELP}")
}

/// Options of a command that names a VM.
#[derive(Debug, Args)]
pub struct VmArgs {
    /// Name of the VM, as 'armvisor list' shows it; as root, USER/NAME for another user's VM
    pub vm: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

const STAT_HELP: &str = "\
Classes have the names of the ARMvisor paper's Table 7, with KVM's names beside them. T_native, T_cpu and so
on are the terms of its cost model, in seconds of all vCPUs. '-' is a value that this KVM does not count: KVM
itself counts few classes and no times. Under armvisor's module 'switch' is the number of entries times the
cost of one entry and exit, measured when the module was loaded. Fast traps are counted; their time is the
guest's.";

/// Options of `armvisor stat`.
#[derive(Debug, Args)]
pub struct StatArgs {
    /// The VM to show.
    #[command(flatten)]
    pub vm: VmArgs,
    /// Repeat until the VM ends, each time with the changes since the last; one line each if standard
    /// output is no terminal
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "1", value_parser = parse_seconds)]
    pub watch: Option<f64>,
    /// Only the changes since FILE, an earlier 'stat --json' of the same VM
    #[arg(long, value_name = "FILE")]
    pub since: Option<PathBuf>,
    /// First turn accounting of armvisor's module on or off: histograms of exits (column p99), times of fast
    /// traps, and the time that vCPUs wait for a CPU. Costs a few instructions per exit
    #[arg(long, value_name = "on|off")]
    pub accounting: Option<Switch>,
}

/// A switch's value on the command line.
///
/// `--help` lists the values with the option, which says what they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Switch {
    /// Turn it on.
    #[value(help = Reset)]
    On,
    /// Turn it off.
    #[value(help = Reset)]
    Off,
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("write a number of seconds from 0.1 to 86400".to_owned()),
    }
}

/// Options of `armvisor stop`.
#[derive(Debug, Args)]
pub struct StopArgs {
    /// The VM to stop.
    #[command(flatten)]
    pub vm: VmArgs,
    /// End the VM at once, like pulling the plug
    #[arg(long, conflicts_with = "timeout")]
    pub force: bool,
    /// How long to wait for the guest; 0: do not wait. A program of the guest, such as systemd-logind,
    /// decides what the button does
    #[arg(long, value_name = "SECONDS", default_value_t = 90)]
    pub timeout: u32,
}

/// Options of `armvisor balloon`.
#[derive(Debug, Args)]
pub struct BalloonArgs {
    /// The VM whose guest gives up memory.
    #[command(flatten)]
    pub vm: VmArgs,
    /// Memory that the guest is to give up in all, such as 128M; 0 for none
    #[arg(value_parser = size::parse_part)]
    pub size: Size,
}

const DOCTOR_HELP: &str = "\
It reads files and opens /dev/kvm. It runs no program, changes nothing, and needs neither root nor the
module. As root it can read the kernel's log, which tells more.

Exit codes:
  0    this user can run VMs now (or the machine is recorded)
  3    FILE cannot be used
  4    no VM runs here: the machine is not an arm64 one, or needs another kernel or other settings at boot
  11   not yet: take the steps that are named";

/// Options of `armvisor doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Only write what was read to FILE, a new file, for a report or for --machine. It has the kernel's
    /// command line and the user's numbers: read it before you publish it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["machine", "json"])]
    pub record: Option<PathBuf>,
    /// Judge the machine that was recorded in FILE, not this one
    #[arg(long, value_name = "FILE")]
    pub machine: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::Choice;
    use crate::memory::HugePages;

    fn run(args: &[&str]) -> Result<RunArgs, String> {
        let all: Vec<&str> = ["armvisor", "run", "--kernel", "k"]
            .iter()
            .chain(args)
            .copied()
            .collect();
        let said = |error| refusal(&error, all.iter().copied()).unwrap().to_string();
        match Cli::try_parse_from(&all).map_err(said)?.command {
            Command::Run(args) => Ok(*args),
            other => Err(format!("{other:?}")),
        }
    }

    fn disk(path: &str, how: &str) -> DiskArg {
        DiskArg {
            path: path.into(),
            read_only: how.contains("ro"),
            raw: how.contains("raw"),
        }
    }

    fn net(tap: &str, mac: Option<[u8; 6]>) -> NetArg {
        NetArg {
            to: NetTo::Tap(tap.into()),
            mac,
        }
    }

    #[test]
    fn defaults_need_no_configuration() {
        let args = run(&[]).unwrap();
        assert_eq!(
            (args.cpus, args.memory.bytes, args.console),
            (1, 512 << 20, Choice::Stdio)
        );
        assert_eq!(args.device, PathBuf::from("/dev/kvm"));
        assert_eq!(args.huge_pages, HugePages::Thp);
        assert_eq!(args.on_reset, None);
        assert!(args.disk.is_empty() && args.net.is_empty() && args.vsock.is_none());
        assert!(!args.pmu && run(&["--pmu"]).unwrap().pmu);
    }

    #[test]
    fn a_full_command_line_is_understood() {
        let args = run(&[
            "--disk",
            "a.img",
            "--disk",
            "b,c.img,ro",
            "--net",
            "tap=tap0,mac=52:54:00:ab:cd:ef",
            "--vsock",
            "cid=3,uds=/tmp/v",
            "--cpus",
            "4",
            "--memory",
            "2G",
            "--append",
            "-quiet x",
            "--huge-pages",
            "hugetlb",
            "--console",
            "none",
            "--name",
            "web-1",
            "--on-reset",
            "restart",
            "--json",
            "-vv",
        ])
        .unwrap();
        assert_eq!(args.disk, [disk("a.img", "rw"), disk("b,c.img", "ro")]);
        let mac = Some([0x52, 0x54, 0, 0xab, 0xcd, 0xef]);
        assert_eq!(args.net, [net("tap0", mac)]);
        assert_eq!(
            args.vsock,
            Some(VsockArg {
                cid: 3,
                uds: "/tmp/v".into()
            })
        );
        assert_eq!(
            (args.append.as_str(), args.huge_pages),
            ("-quiet x", HugePages::Hugetlb)
        );
        assert_eq!(args.on_reset, Some(OnReset::Restart));
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_way_to_write_it() {
        let cases: [(&[&str], &str); 28] = [
            (
                &["--cpus", "0"],
                "--cpus 0: a VM needs at least one CPU; write 1 or more",
            ),
            (&["--cpus", "100000"], "at most 123 CPUs"),
            (&["--cpus", "-1"], "from 1 to 123"),
            (
                &["--memory", "0"],
                "--memory 0: no VM runs without memory; give it at least 32M",
            ),
            (
                &["--memory", "512"],
                "--memory 512: is 512 bytes, for it has no unit; did you mean 512M?",
            ),
            (&["--memory", "16M"], "--memory 16M: is too small"),
            (&["--memory", "100000001"], "not a multiple of 2 MiB"),
            (
                &["--memory", "lots"],
                "--memory lots: is not a size; write a whole number with a unit",
            ),
            (
                &["--disk", ""],
                "--disk: names no file; write PATH[,ro][,raw]",
            ),
            (
                &["--disk", ",ro,raw"],
                "names no file; write PATH[,ro][,raw]",
            ),
            (
                &["--disk", "path=x,ro"],
                "has no 'path='; write 'x,ro' (a file of that name is './path=x,ro')",
            ),
            (
                &["--disk", "file=x"],
                "--disk file=x: has no 'file='; write 'x' (",
            ),
            (
                &["--net", "eth0"],
                "--net eth0: lacks a key; write tap=eth0, or passt",
            ),
            (&["--net", "user"], "--net user: is passt here; write passt"),
            (&["--net", "tap"], "lacks a key; write tap=tap"),
            (
                &["--net", "tap=x,y"],
                "'y' is not KEY=VALUE; write passt[,host][,mac=MAC] or tap=NAME[,mac=MAC]",
            ),
            (
                &["--net", "bridge=br0"],
                "has no 'bridge='; write passt[,host][,mac=MAC] or tap=NAME[,mac=MAC]",
            ),
            (
                &["--net", "mac=52:54:00:12:34:56"],
                "names no network; write passt[,host][,mac=MAC] or tap=NAME[,mac=MAC]",
            ),
            (&["--net", "tap=x,mac=52:54:00"], "is not a MAC"),
            (
                &["--net", "tap=x,mac=01:00:5e:00:00:01"],
                "first byte must be even",
            ),
            (
                &["--net", "tap=a-name-that-is-too-long"],
                "cannot be the name of a TAP",
            ),
            (
                &["--net", "tap=x,tap=y"],
                "has 'tap=' twice; write passt[,host][,mac=MAC] or tap=NAME[,mac=MAC]",
            ),
            (&["--vsock", "cid=2,uds=x"], "from 3 to"),
            (&["--vsock", "cid=3"], "lacks uds=; write cid=N,uds=PATH"),
            (&["--vsock", "uds=x"], "lacks cid=; write cid=N,uds=PATH"),
            (&["--vsock", "cid=3,uds="], "names no socket"),
            (
                &["--name", "../up"],
                "--name ../up: is not a name for a VM; write ",
            ),
            (&["--huge-pages", "big"], "write off, thp or hugetlb"),
        ];
        for (args, sentence) in cases {
            let error = run(args).unwrap_err();
            assert!(error.contains(sentence), "{args:?}: {error}");
        }
    }

    #[test]
    fn devices_may_be_several() {
        let args = run(&["--net", "tap=a", "--disk", "d,raw,ro", "--net", "tap=b"]).unwrap();
        assert_eq!(args.net, [net("a", None), net("b", None)]);
        assert_eq!(args.disk, [disk("d", "raw,ro")]);
        for words in ["e,ro,raw", "e,raw,ro,raw"] {
            assert_eq!(words.parse(), Ok(disk("e", "raw,ro")));
        }
    }

    #[test]
    fn a_protected_vm_cannot_have_everything() {
        let check = |words: &[&str]| check_protected(&run(words).unwrap());
        let cannot: [&[&str]; 3] = [&["--pmu"], &["--huge-pages", "hugetlb"], &["--overcommit"]];
        for words in cannot {
            assert!(check(words).is_ok(), "{words:?}");
            let refusal = check(&[words, &["--protected"]].concat()).unwrap_err();
            let option = words.join(" ");
            let refusal = refusal.to_string();
            let (start, end) = (format!("{option}: "), format!("leave {option} out"));
            assert!(
                refusal.starts_with(&start) && refusal.ends_with(&end),
                "{refusal}"
            );
        }
        let others = ["--protected", "--disk", "d", "--huge-pages", "thp"];
        assert!(check(&others).is_ok());
        assert!(!run(&["--protected"]).unwrap().access_platform);
        assert!(run(&["--access-platform"]).unwrap().access_platform);
    }

    #[test]
    fn a_balloon_has_a_vm_and_a_size() {
        let parse = |size: &str| Cli::try_parse_from(["armvisor", "balloon", "vm", size]);
        match parse("128M").unwrap().command {
            Command::Balloon(args) => {
                assert_eq!((&*args.vm.vm, args.size.bytes), ("vm", 128 << 20))
            }
            other => panic!("{other:?}"),
        }
        assert!(
            parse("128")
                .unwrap_err()
                .to_string()
                .contains("did you mean 128M?")
        );
    }

    #[test]
    fn a_stop_is_graceful_unless_forced() {
        let parse = |args: &[&str]| {
            let all = ["armvisor", "stop", "vm"].iter().chain(args);
            match Cli::try_parse_from(all).map(|cli| cli.command) {
                Ok(Command::Stop(args)) => Some((args.force, args.timeout)),
                _ => None,
            }
        };
        assert_eq!(parse(&[]), Some((false, 90)));
        assert_eq!(parse(&["--timeout", "0"]), Some((false, 0)));
        assert_eq!(parse(&["--force"]), Some((true, 90)));
        assert_eq!(parse(&["--force", "--timeout", "5"]), None);
        assert_eq!(parse(&["--timeout", "soon"]), None);
    }

    #[test]
    fn a_console_is_none_of_the_vms_other_files() {
        let folder = tempfile::tempdir().unwrap();
        let [disk, link] = ["disk", "link"].map(|name| folder.path().join(name));
        std::fs::write(&disk, "x").unwrap();
        std::fs::hard_link(&disk, &link).unwrap();
        let path = |path: &PathBuf| path.to_str().unwrap().to_owned();
        let (disk, link) = (path(&disk), path(&link));
        for option in ["--disk", "--initrd"] {
            let args = run(&[option, &disk, "--console", &link]).unwrap();
            let refusal = check_console(&args).unwrap_err().to_string();
            let same = format!("--console {link}: is the same file as {option} {disk}, and ");
            assert!(refusal.starts_with(&same), "{refusal}");
        }
        check_console(&run(&["--disk", &disk, "--console", "/none"]).unwrap()).unwrap();
        check_console(&run(&["--disk", "/none", "--console", "/none"]).unwrap()).unwrap();
    }

    /// Options and commands in the order in which the help has them.
    fn order(words: &[&str], starts: &str) -> Vec<String> {
        let help = Cli::try_parse_from(words).unwrap_err().to_string();
        help.lines()
            .filter_map(|line| line.trim_start().strip_prefix(starts))
            .map(|line| line.split([' ', ':']).next().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn the_help_has_first_what_is_used_most() {
        let options = order(&["armvisor", "run", "--help"], "--");
        let most = [
            "kernel", "initrd", "append", "memory", "cpus", "image", "disk",
        ];
        assert_eq!(options[..most.len()], most);
        let help = Cli::try_parse_from(["armvisor", "--help"])
            .unwrap_err()
            .to_string();
        let commands = [
            "run", "up", "ssh", "list", "stat", "stop", "rm", "console", "logs", "pause", "resume",
            "balloon", "doctor",
        ];
        let places: Vec<_> = commands
            .iter()
            .map(|name| help.find(&format!("\n  {name} ")).unwrap())
            .collect();
        assert!(places.is_sorted(), "{help}");
    }

    #[test]
    fn options_are_grouped_and_the_general_ones_come_last() {
        let help = Cli::try_parse_from(["armvisor", "run", "--help"])
            .unwrap_err()
            .to_string();
        let groups = [
            "Kernel:",
            "Machine:",
            "Devices:",
            "Cloud-init:",
            "Life:",
            "Host:",
            "Protection:",
            "General:",
        ];
        let places: Vec<_> = groups
            .iter()
            .map(|group| {
                help.find(&format!("\n{group}\n"))
                    .unwrap_or_else(|| panic!("{group}\n{help}"))
            })
            .collect();
        assert!(places.is_sorted(), "{help}");
    }

    #[test]
    fn what_follows_a_name_is_for_the_guest_or_the_new_vm() {
        let parse = |line: &str| Cli::try_parse_from(line.split(' ')).map(|cli| cli.command);
        match parse("armvisor up web --image i -p 80:80 -v").unwrap() {
            Command::Up(args) => {
                assert_eq!(args.name, "web");
                assert_eq!(args.options, ["--image", "i", "-p", "80:80", "-v"]);
            }
            other => panic!("{other:?}"),
        }
        match parse("armvisor ssh --timeout 9 web ls -l --color").unwrap() {
            Command::Ssh(args) => {
                assert_eq!((args.timeout, &*args.name), (9, "web"));
                assert_eq!(args.command, ["ls", "-l", "--color"]);
            }
            other => panic!("{other:?}"),
        }
        assert!(parse("armvisor up ../x").is_err());
    }

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
