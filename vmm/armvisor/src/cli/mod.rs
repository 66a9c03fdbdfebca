// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The command line. `devices` is how disks, networks and sockets are written.
//!
//! What it refuses, it refuses before anything is opened, with exit code 2.

mod devices;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::console::{Choice, ESCAPE_HELP};
use crate::layout;
use crate::memory::HugePages;
use crate::outcome::{EXIT_CODES_HELP, Refusal};
use crate::rundir::{RUN_DIR_HELP, check_name};
use crate::size::{self, Size};

pub use devices::{DiskArg, NetArg, VsockArg, check_nets};

/// A small virtual machine monitor for KVM on arm64.
#[derive(Debug, Parser)]
#[command(version, after_help = help(), propagate_version = true)]
pub struct Cli {
    #[command(flatten)]
    pub verbosity: Verbosity,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Clone, Copy, Debug, Args)]
pub struct Verbosity {
    /// Say more: -v what is chosen, -vv what the guest does wrong
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    pub verbose: u8,
    /// Say nothing but errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a VM
    #[command(after_help = run_help())]
    Run(Box<RunArgs>),
    /// Show a VM's state, its exits by class, and where its time goes
    #[command(after_help = STAT_HELP)]
    Stat(StatArgs),
    /// Stop a VM's CPUs and devices until 'resume'
    Pause(VmArgs),
    /// Let a paused VM go on
    Resume(VmArgs),
    /// Press a VM's power button and wait until its guest has powered off, or end it at once
    Stop(StopArgs),
    /// Ask a VM's guest to give memory back to the host, or to take it again
    Balloon(BalloonArgs),
    /// List the VMs that run
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

fn help() -> String {
    format!("{EXIT_CODES_HELP}\n\n{RUN_DIR_HELP}")
}

fn run_help() -> String {
    format!("On a terminal: {ESCAPE_HELP}.\n\n{EXIT_CODES_HELP}")
}

#[derive(Debug, Args)]
pub struct VmArgs {
    /// The VM's name, as 'armvisor list' shows it
    pub vm: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

const STAT_HELP: &str = "\
Classes have the names of the ARMvisor paper's Table 7, and KVM's beside them; T_native, T_cpu and so on are
the terms of its cost model, in seconds of all vCPUs. What this KVM does not count is '-': KVM itself counts
few classes and no times. Under armvisor's module 'switch' is the number of ways into the guest and back,
times what one took when the module was loaded; fast traps are counted, and their time is the guest's.";

#[derive(Debug, Args)]
pub struct StatArgs {
    #[command(flatten)]
    pub vm: VmArgs,
    /// Again and again, each time what came since the time before; a line each if standard output is no
    /// terminal. Until the VM ends
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "1", value_parser = parse_seconds)]
    pub watch: Option<f64>,
    /// Only what came since FILE, an earlier 'stat --json' of the same VM
    #[arg(long, value_name = "FILE")]
    pub since: Option<PathBuf>,
    /// First have armvisor's module keep histograms of exits (the column p99), the times of fast traps and
    /// the time that vCPUs wait for a CPU, or not any more; it costs a few instructions an exit
    #[arg(long, value_name = "on|off")]
    pub accounting: Option<Switch>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Switch {
    On,
    Off,
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("write a number of seconds from 0.1 to 86400".into()),
    }
}

#[derive(Debug, Args)]
pub struct StopArgs {
    #[command(flatten)]
    pub vm: VmArgs,
    /// End the VM at once, as pulling the plug does
    #[arg(long, conflicts_with = "timeout")]
    pub force: bool,
    /// How long to wait for the guest, whose programs (such as systemd-logind) decide what the button
    /// does; 0 not to wait
    #[arg(long, value_name = "SECONDS", default_value_t = 90)]
    pub timeout: u32,
}

#[derive(Debug, Args)]
pub struct BalloonArgs {
    #[command(flatten)]
    pub vm: VmArgs,
    /// How much of its memory the guest is to do without, in all, such as 128M; 0 for none
    #[arg(value_parser = size::parse)]
    pub size: Size,
}

/// What follows when the guest asks for a reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum OnReset {
    #[default]
    Exit,
    Restart,
}

#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// Kernel: an arm64 Image, plain, gzipped or EFI zboot
    #[arg(long, value_name = "IMAGE")]
    pub kernel: PathBuf,
    /// Initial RAM disk
    #[arg(long, value_name = "FILE")]
    pub initrd: Option<PathBuf>,
    /// Added to the kernel's command line, which takes 2047 bytes in all. Its own 'console=' or
    /// 'earlycon' replaces the default. 'panic=-1 reboot=panic_warm' comes before it, by which a panic
    /// of a Linux kernel is known; with 'panic=0' here such a guest stays as it is
    #[arg(
        long,
        value_name = "STRING",
        default_value = "",
        allow_hyphen_values = true
    )]
    pub append: String,
    /// Number of CPUs, at most 123 and what this KVM can; more than the host has is possible but slow
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_cpus, allow_negative_numbers = true)]
    pub cpus: u32,
    /// Memory, such as 512M or 2G
    #[arg(long, value_name = "SIZE", default_value = "512M", value_parser = parse_memory)]
    pub memory: Size,
    /// Let the guest have more memory than the host has
    #[arg(long)]
    pub overcommit: bool,
    /// Make it a protected VM: this program and other processes can access only the memory that the
    /// guest shares; on pKVM (a host's kernel started with 'kvm-arm.mode=protected') the host's kernel, too
    /// (docs/protected.md has the limits of that). A guest whose kernel shares nothing has no devices but
    /// its console
    #[arg(long)]
    pub protected: bool,
    /// Offer devices with VIRTIO_F_ACCESS_PLATFORM, by which a guest's kernel can put memory of its choice
    /// between itself and them (bounce buffers); a protected VM's are so
    #[arg(long)]
    pub access_platform: bool,
    /// Give the guest a PMU, so that perf counts in it; what it counts are the host's events
    #[arg(long)]
    pub pmu: bool,
    /// A raw disk image or a block device, or several; with ',ro' the guest cannot write it. What looks like
    /// another format (qcow2, VMDK, ISO, compressed, ...) is refused unless ',raw' says that it is raw
    #[arg(long, value_name = "PATH[,ro][,raw]")]
    pub disk: Vec<DiskArg>,
    /// A network device on the TAP device NAME, or several; without a MAC it gets a random one
    #[arg(long, value_name = "tap=NAME[,mac=MAC]")]
    pub net: Vec<NetArg>,
    /// A socket device: the guest is CID N, the host side is Unix socket PATH
    #[arg(long, value_name = "cid=N,uds=PATH")]
    pub vsock: Option<VsockArg>,
    /// What a reset that the guest asks for does, or a panic: ends armvisor with exit code 5 or 6, or
    /// starts the VM again as at first, kernel and initrd read anew
    #[arg(long, value_enum, default_value_t, value_name = "exit|restart")]
    pub on_reset: OnReset,
    /// What the host backs guest memory with
    #[arg(long, value_enum, default_value_t)]
    pub huge_pages: HugePages,
    /// The KVM device
    #[arg(long, value_name = "PATH", default_value = "/dev/kvm")]
    pub device: PathBuf,
    /// The guest's console: stdio, none, or a file to write it to
    #[arg(long, value_name = "stdio|FILE|none", default_value = "stdio")]
    pub console: Choice,
    /// The VM's name for 'armvisor stat' and its like [default: vm-PID]
    #[arg(long, value_parser = parse_name)]
    pub name: Option<String>,
    /// Print a report as one line of JSON when the VM ends
    #[arg(long)]
    pub json: bool,
    /// Give the guest no random seeds, for runs that repeat instruction by instruction
    #[arg(long, hide = true)]
    pub no_randomness: bool,
}

fn parse_memory(text: &str) -> Result<Size, String> {
    size::parse_memory(text).map_err(|error| error.to_string())
}

fn parse_name(text: &str) -> Result<String, String> {
    check_name(text).map(|()| text.to_owned())
}

fn parse_cpus(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(0) => Err("a VM needs at least one CPU".into()),
        Ok(cpus) if cpus <= layout::MAX_CPUS => Ok(cpus),
        Ok(_) => Err(format!("a VM has at most {} CPUs", layout::MAX_CPUS)),
        Err(_) => Err(format!("write a number from 1 to {}", layout::MAX_CPUS)),
    }
}

/// What a protected VM cannot have.
pub fn check_protected(args: &RunArgs) -> Result<(), Refusal> {
    let hugetlb = args.huge_pages == HugePages::Hugetlb;
    let cannot = [
        (args.pmu, "--pmu", "KVM gives such a VM no PMU"),
        (
            hugetlb,
            "--huge-pages hugetlb",
            "KVM takes no pages of that pool for such a VM",
        ),
        (
            args.overcommit,
            "--overcommit",
            "its memory stays in the host's until it ends",
        ),
    ];
    match cannot.iter().find(|(given, ..)| args.protected && *given) {
        Some((_, option, why)) => Err(Refusal::usage(format!(
            "--protected and {option}: {why}; leave {option} out"
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(args: &[&str]) -> Result<RunArgs, String> {
        let all = ["armvisor", "run", "--kernel", "k"].iter().chain(args);
        match Cli::try_parse_from(all)
            .map_err(|error| error.to_string())?
            .command
        {
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
            tap: tap.into(),
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
        assert_eq!(args.on_reset, OnReset::Exit);
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
        assert_eq!(args.on_reset, OnReset::Restart);
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_way_to_write_it() {
        let cases: [(&[&str], &str); 20] = [
            (&["--cpus", "0"], "at least one CPU"),
            (&["--cpus", "100000"], "at most 123 CPUs"),
            (&["--cpus", "-1"], "from 1 to 123"),
            (&["--memory", "0"], "no memory cannot run"),
            (&["--memory", "16M"], "too small"),
            (&["--memory", "100000001"], "not a multiple of 2 MiB"),
            (&["--memory", "lots"], "whole number with a unit"),
            (&["--disk", ""], "names no file"),
            (&["--disk", ",ro,raw"], "names no file"),
            (&["--net", "eth0"], "not key=value"),
            (&["--net", "mac=52:54:00:12:34:56"], "names no TAP"),
            (&["--net", "tap=x,mac=52:54:00"], "is no MAC"),
            (
                &["--net", "tap=x,mac=01:00:5e:00:00:01"],
                "first byte must be even",
            ),
            (
                &["--net", "tap=a-name-that-is-too-long"],
                "cannot be the name of a TAP",
            ),
            (&["--net", "tap=x,tap=y"], "does not know"),
            (&["--vsock", "cid=2,uds=x"], "from 3 to"),
            (&["--vsock", "cid=3"], "lacks a part"),
            (&["--vsock", "cid=3,uds="], "does not know"),
            (&["--name", "../up"], "letters, digits"),
            (&["--huge-pages", "big"], "hugetlb"),
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
            assert!(
                refusal.sentence.ends_with(&format!("leave {option} out")),
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
            parse("much")
                .unwrap_err()
                .to_string()
                .contains("whole number")
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
    fn the_definition_is_sound() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
