// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The options of the commands for VMs that have a folder: `up`, `ssh`, `console`, `logs`, `rm`.

use clap::Args;

use super::run::parse_name;

/// What `armvisor up --help` has behind the options.
pub(super) const UP_HELP: &str = "\
Examples:
  armvisor up web --image debian-13-genericcloud-arm64.qcow2 --memory 1G -p 8080:80
  armvisor ssh web
  armvisor stop web
  armvisor up web
  armvisor rm web

A new VM's options are those of 'armvisor run', but for --name, --console and --json. They are kept in the
VM's folder, which is $XDG_DATA_HOME/armvisor/NAME, else ~/.local/share/armvisor/NAME. What differs from
'run':
  - Changes of --image go to a disk in the folder; the image stays as it is, and must stay where it is
    (unless --ephemeral is given).
  - A guest with --image is set up by cloud-init, with a new SSH key for 'armvisor ssh'.
  - Without --net it has '--net passt', with a port of the host's loopback for SSH.
  - After a reset the VM starts again, unless '--on-reset exit' is given.";

/// Options of `armvisor up`.
#[derive(Debug, Args)]
pub struct UpArgs {
    /// Name of the VM
    #[arg(value_parser = parse_name)]
    pub name: String,
    /// For a new VM: options as of 'armvisor run'. Without any, the VM of that name is started again
    #[arg(
        value_name = "OPTION",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub options: Vec<String>,
}

/// Options of `armvisor ssh`.
#[derive(Debug, Args)]
pub struct SshArgs {
    /// Name of the VM
    #[arg(value_parser = parse_name)]
    pub name: String,
    /// How long to wait for the guest's SSH server
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub timeout: u32,
    /// A command for the guest; else its shell
    #[arg(
        value_name = "COMMAND",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub command: Vec<String>,
}

/// Options of `armvisor console`.
#[derive(Debug, Args)]
pub struct ConsoleArgs {
    /// Name of the VM
    #[arg(value_parser = parse_name)]
    pub name: String,
}

/// Options of `armvisor logs`.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// Name of the VM
    #[arg(value_parser = parse_name)]
    pub name: String,
    /// Go on with what the guest writes, until the VM ends
    #[arg(short, long)]
    pub follow: bool,
    /// Not the guest's console, but what armvisor itself said since the VM was started
    #[arg(long, conflicts_with = "follow")]
    pub vmm: bool,
}

/// Options of `armvisor rm`.
#[derive(Debug, Args)]
pub struct RmArgs {
    /// Name of the VM
    #[arg(value_parser = parse_name)]
    pub name: String,
    /// Also if the VM runs: end it at once
    #[arg(long)]
    pub force: bool,
}
