// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The options of `armvisor run`, the most frequent first, and combinations that are refused.

use std::path::{Path, PathBuf};

use armvisor_devices::net::how_to_make_a_tap;
use clap::Args;
use clap::builder::Resettable::Reset;

use super::devices::{DiskArg, VsockArg};
use super::net::{NetArg, Publish};
use super::seed::SeedArgs;
use crate::console::{Choice, ESCAPE_HELP};
use crate::disk::Kind;
use crate::layout;
use crate::memory::HugePages;
use crate::open::identity;
use crate::outcome::{EXIT_CODES_HELP, Refusal};
use crate::rundir::check_name;
use crate::size::{self, Size};

/// What follows when the guest asks for a reset.
///
/// `--help` lists the values with the option, which says what they do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum OnReset {
    /// End with the exit code of a reset or of a panic.
    #[default]
    #[value(help = Reset)]
    Exit,
    /// Start the VM again, in the same process.
    #[value(help = Reset)]
    Restart,
}

/// Options of `armvisor run`.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// Kernel: an arm64 Image, plain, gzipped or EFI zboot. With --image it may be left out
    #[arg(
        long,
        value_name = "IMAGE",
        required_unless_present = "image",
        help_heading = "Kernel"
    )]
    pub kernel: Option<PathBuf>,
    /// Initial RAM disk
    #[arg(
        long,
        value_name = "FILE",
        requires = "kernel",
        help_heading = "Kernel"
    )]
    pub initrd: Option<PathBuf>,
    /// Add to the kernel's command line, after armvisor's own words: 'panic=-1 reboot=panic_warm', which
    /// distinguishes a panic from a reset, and a console unless STRING names one. With 'panic=0' a guest
    /// that panicked stays as it is. At most 2047 bytes in all
    #[arg(
        long,
        value_name = "STRING",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true,
        help_heading = "Kernel"
    )]
    pub append: String,
    /// Memory, such as 512M or 2G
    #[arg(long, value_name = "SIZE", default_value = "512M", value_parser = size::parse_memory, help_heading = "Machine")]
    pub memory: Size,
    /// Number of CPUs, at most 123 and this KVM's limit; more than the host has is possible, but slow
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_cpus, allow_negative_numbers = true, help_heading = "Machine")]
    pub cpus: u32,
    /// The first disk, a system to boot: qcow2, raw, or with --ephemeral a VMDK of flat extents. Without
    /// --kernel, the kernel, initrd and command line are those of the image's own boot menu (GRUB, or Boot
    /// Loader Specification; on ext4 or FAT)
    #[arg(long, value_name = "FILE", help_heading = "Devices")]
    pub image: Option<PathBuf>,
    /// A raw disk image or a block device; repeatable. With ',ro' the guest cannot write it. An image that
    /// looks like another format (qcow2, VMDK, ISO, compressed, ...) is refused unless ',raw' is given
    #[arg(long, value_name = "PATH[,ro][,raw]", help_heading = "Devices")]
    pub disk: Vec<DiskArg>,
    /// Keep no change of --image: they go to a file in TMPDIR (else /var/tmp) that ends with the VM
    #[arg(long, requires = "image", help_heading = "Devices")]
    pub ephemeral: bool,
    /// A file that --image may read: its backing file, that one's own, or an extent of a VMDK; repeatable. No
    /// other file that an image names is opened
    #[arg(
        long,
        value_name = "FILE",
        requires = "image",
        help_heading = "Devices"
    )]
    pub backing: Vec<PathBuf>,
    /// The format of --image. Else its first bytes say it, and a write of the guest fails that would make a
    /// raw image look like another format
    #[arg(
        long,
        value_enum,
        value_name = "raw|qcow2|vmdk",
        requires = "image",
        help_heading = "Devices"
    )]
    pub image_format: Option<Kind>,
    /// A network device; repeatable. 'passt' needs no root: the guest has the host's address by DHCP, its
    /// name servers, and reaches what the host reaches; with 'host' also the host's own loopback, by the
    /// address of its gateway. 'tap' is the TAP device NAME. Without a MAC it gets a random one
    #[arg(
        long,
        value_name = "passt[,host][,mac=MAC]|tap=NAME[,mac=MAC]",
        help_heading = "Devices"
    )]
    pub net: Vec<NetArg>,
    /// Forward the host's PORT, of ADDRESS or else of all its addresses, to the guest's GUEST_PORT, through
    /// '--net passt'; repeatable, with each port once for TCP and once for UDP. An IPv6 address is in brackets
    #[arg(
        short = 'p',
        long,
        value_name = "[ADDRESS:]PORT:GUEST_PORT[/udp]",
        help_heading = "Devices"
    )]
    pub publish: Vec<Publish>,
    /// The guest's serial console: stdio, none, or a file to write it to
    #[arg(
        long,
        value_name = "stdio|FILE|none",
        default_value = "stdio",
        help_heading = "Devices"
    )]
    pub console: Choice,
    /// A socket device: the guest is CID N, the host side is the Unix socket PATH
    #[arg(long, value_name = "cid=N,uds=PATH", help_heading = "Devices")]
    pub vsock: Option<VsockArg>,
    /// The seed for cloud-init.
    #[command(flatten)]
    pub seed: SeedArgs,
    /// Name of the VM for 'armvisor list', 'stat', 'stop' and so on [default: vm-PID]
    #[arg(long, value_parser = parse_name, help_heading = "Life")]
    pub name: Option<String>,
    /// After a reset or a panic of the guest: end armvisor with exit code 5 or 6, or restart the VM, with
    /// kernel and initrd read again [default: exit; of 'armvisor up': restart]
    #[arg(long, value_enum, value_name = "exit|restart", help_heading = "Life")]
    pub on_reset: Option<OnReset>,
    /// Read further options from a TOML file: a key is an option's name without dashes, such as 'memory = "1G"',
    /// 'cloud-init = true' or 'publish = ["8080:80"]'. Names of files are as on the command line
    #[arg(long, value_name = "FILE", help_heading = "Life")]
    pub config: Option<PathBuf>,
    /// Print a report as one line of JSON when the VM ends
    #[arg(long, help_heading = "Life")]
    pub json: bool,
    /// Host pages behind guest memory: 4 KiB, 2 MiB where they are free, or from the hugetlb pool
    #[arg(long, value_enum, default_value_t, help_heading = "Host")]
    pub huge_pages: HugePages,
    /// Allow more guest memory than the host has
    #[arg(long, help_heading = "Host")]
    pub overcommit: bool,
    /// Give the guest a PMU with the events of the host's, so that perf works in the guest
    #[arg(long, help_heading = "Host")]
    pub pmu: bool,
    /// The KVM device
    #[arg(
        long,
        value_name = "PATH",
        default_value = "/dev/kvm",
        help_heading = "Host"
    )]
    pub device: PathBuf,
    /// Make a protected VM: this program and other processes can access only memory that the guest shares.
    /// On pKVM (a host kernel started with 'kvm-arm.mode=protected') this also holds for the host kernel;
    /// docs/protected.md has the limits. A guest whose kernel shares nothing has only its console
    #[arg(long, help_heading = "Protection")]
    pub protected: bool,
    /// Offer VIRTIO_F_ACCESS_PLATFORM, so that the guest kernel can use bounce buffers for its devices; a
    /// protected VM's devices always offer it
    #[arg(long, help_heading = "Protection")]
    pub access_platform: bool,
    /// Give the guest no random seeds, for runs that repeat instruction by instruction
    #[arg(long, hide = true)]
    pub no_randomness: bool,
}

/// What follows the options in the help.
pub(super) fn help() -> String {
    let tap = how_to_make_a_tap("tap0");
    format!(
        "\
Examples:
  armvisor run --image debian-13-genericcloud-arm64.qcow2 --memory 1G --cpus 2
  armvisor run --kernel /boot/vmlinuz --initrd initrd --memory 1G --cpus 2 --disk disk.img
  armvisor run --image debian.qcow2 --net passt -p 127.0.0.1:2222:22 -p 8080:80

To make a TAP for '--net tap=tap0', once after each start of the host (give the guest 192.168.77.2):
  {}

On a terminal: {ESCAPE_HELP}.

{EXIT_CODES_HELP}",
        tap.replace("; ", "\n  ")
    )
}

pub(super) fn parse_name(text: &str) -> Result<String, String> {
    check_name(text).map(|()| text.to_owned())
}

fn parse_cpus(text: &str) -> Result<u32, String> {
    let most = layout::MAX_CPUS;
    match text.parse::<u32>() {
        Ok(0) => Err("a VM needs at least one CPU; write 1 or more".into()),
        Ok(cpus) if cpus <= most => Ok(cpus),
        Ok(_) => Err(format!("a VM has at most {most} CPUs; write fewer")),
        Err(_) => Err(format!("is not a number; write one from 1 to {most}")),
    }
}

/// The console's file is cut off when it is opened: it must be none of the VM's others.
pub fn check_console(args: &RunArgs) -> Result<(), Refusal> {
    let Choice::File(console) = &args.console else {
        return Ok(());
    };
    let identity_of = |path: &Path| path.metadata().ok().map(|data| identity(&data));
    let disks = args.disk.iter().map(|disk| ("--disk", &disk.path));
    let files = [
        ("--kernel", args.kernel.as_ref()),
        ("--image", args.image.as_ref()),
        ("--initrd", args.initrd.as_ref()),
    ];
    let files = files
        .into_iter()
        .filter_map(|(option, path)| Some((option, path?)));
    let backing = args.backing.iter().map(|path| ("--backing", path));
    for (option, path) in files.chain(disks).chain(backing) {
        let one = identity_of(console);
        if one.is_some() && one == identity_of(path) {
            let problem = format!(
                "is the same file as {option} {}, and the console would overwrite it; name another",
                path.display()
            );
            return Err(Refusal::usage(
                format!("--console {}", console.display()),
                problem,
            ));
        }
    }
    Ok(())
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
        Some((_, option, why)) => Err(Refusal::usage(
            option,
            format!("does not go with --protected: {why}; leave {option} out"),
        )),
        None => Ok(()),
    }
}
