// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! A machine as the doctor saw it: a snapshot that can be written down and judged elsewhere.
//!
//! It holds texts as they were read, so that a recorded machine also tests how they are understood.
//! Nothing in it is trusted: each accessor makes do with any text, and none panics.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The kernel's command line.
pub const CMDLINE: &str = "/proc/cmdline";
/// The compiler of the kernel is named here.
pub const VERSION: &str = "/proc/version";
/// Names and minor numbers of the devices of class misc, such as KVM's.
pub const MISC: &str = "/proc/misc";
/// Its lines about the timer tell the exception level.
pub const INTERRUPTS: &str = "/proc/interrupts";
/// Its lines name the cores.
pub const CPUINFO: &str = "/proc/cpuinfo";
/// Memory and huge pages.
pub const MEMINFO: &str = "/proc/meminfo";
/// The distribution.
pub const OS_RELEASE: &str = "/etc/os-release";
/// How the kernel calls the firmware: `hvc` or `smc`.
pub const PSCI_METHOD: &str = "/proc/device-tree/psci/method";
/// 1 on PREEMPT_RT.
pub const REALTIME: &str = "/sys/kernel/realtime";
/// Whether the kernel limits root, as in `none [integrity] confidentiality`.
pub const LOCKDOWN: &str = "/sys/kernel/security/lockdown";
/// Whether the kernel loads signed modules only.
pub const SIG_ENFORCE: &str = "/sys/module/module/parameters/sig_enforce";
/// Four bytes of attributes, and 1 for on.
pub const SECURE_BOOT: &str =
    "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
/// Whether the kernel's mappings leave the tables of programs.
pub const MELTDOWN: &str = "/sys/devices/system/cpu/vulnerabilities/meltdown";
/// Transparent huge pages.
pub const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
/// The same for shared memory, which guest memory is.
pub const THP_SHMEM: &str = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
/// The version of armvisor's module, where it is loaded.
pub const MODULE_VERSION: &str = "/sys/module/armvisor/version";
/// There where armvisor's module is loaded.
pub const MODULE: &str = "/sys/module/armvisor";
/// The driver of firmware events; its devices are links in it.
pub const SDEI_DRIVER: &str = "/sys/bus/platform/drivers/sdei";
/// The maker of the machine, and its name.
pub const DMI: [&str; 2] = [
    "/sys/class/dmi/id/sys_vendor",
    "/sys/class/dmi/id/product_name",
];
/// The machine's name where there is no DMI.
pub const MODEL: &str = "/proc/device-tree/model";
/// Files that only containers have.
pub const CONTAINER_FILES: [&str; 4] = [
    "/.dockerenv",
    "/run/.containerenv",
    "/run/systemd/container",
    "/run/host/container-manager",
];
/// Its line about the root file system.
pub const MOUNTS: &str = "/proc/mounts";
/// The control group of this process.
pub const CGROUP: &str = "/proc/self/cgroup";

/// What reading a file gave. A file that does not exist is not in the snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reading {
    /// Its text, perhaps only the lines that matter.
    Text(String),
    /// It is there and cannot be read.
    Failed {
        /// The system's words.
        error: String,
    },
}

/// Who runs the doctor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// The effective user.
    pub uid: u32,
    /// The groups of this process.
    #[serde(default)]
    pub groups: Vec<u32>,
    /// The groups that /etc/group has the user in: those of the next login.
    #[serde(default)]
    pub listed: Vec<u32>,
    /// The number of the group kvm, if there is one.
    #[serde(default)]
    pub kvm_group: Option<u32>,
}

/// A resource limit; None is unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// The soft limit.
    pub soft: Option<u64>,
    /// The hard limit.
    pub hard: Option<u64>,
}

/// /dev/kvm, which was opened if it is a character device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Type and permissions, as stat(2) has them.
    pub mode: u32,
    /// The owner.
    #[serde(default)]
    pub uid: u32,
    /// The group.
    #[serde(default)]
    pub gid: u32,
    /// What KVM_GET_API_VERSION returned.
    #[serde(default)]
    pub api_version: Option<i32>,
    /// Why it was not opened, or is not KVM.
    #[serde(default)]
    pub error: Option<String>,
}

/// Options of the kernel's configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The file it is from.
    pub from: String,
    /// Those of [`super::read::OPTIONS`] that are set, such as `ARM64_VA_BITS` to `48`.
    pub set: BTreeMap<String, String>,
}

/// The snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Where the snapshot is from, for people.
    pub source: String,
    /// `uname -m`.
    pub arch: String,
    /// `uname -r`.
    pub release: String,
    /// `uname -v`.
    pub version: String,
    /// Bytes.
    pub page_size: u64,
    /// Address bits of a program, which on arm64 are those of the kernel's half.
    #[serde(default)]
    pub address_bits: Option<u32>,
    /// Who asks.
    pub user: User,
    /// RLIMIT_NOFILE.
    #[serde(default)]
    pub open_files: Limit,
    /// RLIMIT_MEMLOCK.
    #[serde(default)]
    pub locked_memory: Limit,
    /// /dev/kvm; None where there is none.
    #[serde(default)]
    pub kvm: Option<Node>,
    /// None where no file has it.
    #[serde(default)]
    pub config: Option<Config>,
    /// Lines of the kernel's log; None where this user may not read it.
    #[serde(default)]
    pub log: Option<Vec<String>>,
    /// Texts by path.
    #[serde(default)]
    pub files: BTreeMap<String, Reading>,
    /// Names in folders, by path.
    #[serde(default)]
    pub folders: BTreeMap<String, Vec<String>>,
    /// Programs found: the name, and the name of the file behind it.
    #[serde(default)]
    pub programs: BTreeMap<String, String>,
}

/// Whose /dev/kvm there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The kernel's own KVM, on EL2.
    Kernel,
    /// armvisor's module.
    Armvisor,
}

impl Machine {
    /// The text of a file.
    pub fn text(&self, path: &str) -> Option<&str> {
        match self.files.get(path)? {
            Reading::Text(text) => Some(text),
            Reading::Failed { .. } => None,
        }
    }

    /// The text without blanks and NULs at its ends; None if nothing is left.
    pub fn word(&self, path: &str) -> Option<&str> {
        let word = self.text(path)?.trim_matches(['\0', ' ', '\n', '\t']);
        (!word.is_empty()).then_some(word)
    }

    /// Whether the folder has this name.
    pub fn has(&self, folder: &str, name: &str) -> bool {
        self.folders
            .get(folder)
            .is_some_and(|names| names.iter().any(|found| found == name))
    }

    /// Whether an option of the kernel is on; None where its configuration is unknown.
    pub fn option(&self, name: &str) -> Option<bool> {
        let config = self.config.as_ref()?;
        Some(matches!(
            config.set.get(name).map(String::as_str),
            Some("y" | "m")
        ))
    }

    /// The last value of a parameter on the kernel's command line; empty for one without a value.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let words = self.text(CMDLINE)?.split_ascii_whitespace();
        let mut values = words.filter_map(|word| {
            let rest = word.strip_prefix(name)?;
            if rest.is_empty() {
                Some(rest)
            } else {
                rest.strip_prefix('=')
            }
        });
        values.next_back()
    }

    /// Whether a parameter of the command line is on, as the kernel's kstrtobool() reads it.
    pub fn switched_on(&self, name: &str) -> bool {
        let value = self.parameter(name).unwrap_or_default();
        let lower = value.to_ascii_lowercase();
        lower.starts_with(['1', 'y', 't']) || lower.starts_with("on")
    }

    /// The first line of the kernel's log with these words.
    pub fn logged(&self, words: &str) -> Option<&str> {
        let lines = self.log.as_ref()?.iter();
        lines.map(String::as_str).find(|line| line.contains(words))
    }

    /// Whether the log goes back to the start of the kernel, so that a missing line says something.
    pub fn logged_from_start(&self) -> bool {
        self.logged("Booting Linux on").is_some()
    }

    /// Major and minor number of the kernel's release.
    pub fn kernel(&self) -> Option<(u32, u32)> {
        let mut numbers = self.release.split(|c: char| !c.is_ascii_digit());
        let mut next = || numbers.next()?.parse().ok();
        Some((next()?, next()?))
    }

    /// Whether the kernel is an arm64 one.
    pub fn is_arm64(&self) -> bool {
        self.arch == "aarch64"
    }

    /// The minor number of a misc device.
    pub fn misc(&self, name: &str) -> Option<&str> {
        let lines = self.text(MISC)?.lines();
        let mut pairs = lines.filter_map(|line| line.trim().split_once(' '));
        pairs
            .find(|(_, found)| *found == name)
            .map(|(minor, _)| minor)
    }

    /// Whether armvisor's module is loaded.
    pub fn is_loaded(&self) -> bool {
        self.folders.contains_key(MODULE)
    }

    /// Whose device the kernel calls kvm, whether or not this process sees a node of it. The module calls
    /// its device armvisor where the kernel has one of its own.
    pub fn owner(&self) -> Option<Owner> {
        let answers = self
            .kvm
            .as_ref()
            .is_some_and(|node| node.api_version.is_some());
        if self.misc("kvm").is_none() && !answers {
            None
        } else if self.is_loaded() && self.misc("armvisor").is_none() {
            Some(Owner::Armvisor)
        } else {
            Some(Owner::Kernel)
        }
    }

    /// What /etc/os-release says of `key`, without quotes.
    pub fn os(&self, key: &str) -> Option<&str> {
        let lines = self.text(OS_RELEASE)?.lines();
        let mut pairs = lines.filter_map(|line| line.trim().split_once('='));
        let (_, value) = pairs.find(|(found, _)| *found == key)?;
        Some(value.trim_matches(['"', '\'']))
    }

    /// A value of /proc/meminfo, in bytes.
    pub fn memory(&self, key: &str) -> Option<u64> {
        let lines = self.text(MEMINFO)?.lines();
        let mut values = lines.filter_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        let value = values.next()?.split_ascii_whitespace().next()?;
        value.parse::<u64>().ok()?.checked_mul(1024)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(path: &str, text: &str) -> Machine {
        let files = [(path.to_owned(), Reading::Text(text.to_owned()))];
        Machine {
            files: files.into(),
            ..Default::default()
        }
    }

    #[test]
    fn the_last_parameter_counts_and_a_longer_name_is_another() {
        let m = machine(CMDLINE, "a=1 ab=2 a=3 quiet nokaslr=\n");
        assert_eq!(m.parameter("a"), Some("3"));
        assert_eq!(m.parameter("quiet"), Some(""));
        assert_eq!(m.parameter("nokaslr"), Some(""));
        assert_eq!(m.parameter("q"), None);
        assert_eq!(Machine::default().parameter("a"), None);
        for (text, on) in [
            ("k=1", true),
            ("k=on", true),
            ("k=Yes", true),
            ("k=off", false),
        ] {
            assert_eq!(machine(CMDLINE, text).switched_on("k"), on, "{text}");
        }
        assert!(!machine(CMDLINE, "k").switched_on("k"));
    }

    #[test]
    fn a_release_has_two_numbers_or_is_unknown() {
        let kernel = |release: &str| {
            let release = release.to_owned();
            Machine {
                release,
                ..Default::default()
            }
            .kernel()
        };
        assert_eq!(kernel("6.12.9-cloud-arm64"), Some((6, 12)));
        assert_eq!(kernel("7.0-rc1"), Some((7, 0)));
        assert_eq!(kernel("6.6+"), Some((6, 6)));
        for odd in ["", "6", "six.one", "99999999999.1", "6.-1"] {
            assert_eq!(kernel(odd), None, "{odd}");
        }
    }

    #[test]
    fn the_device_is_the_modules_only_if_the_kernel_has_none() {
        let loaded = [(MODULE.to_owned(), vec![])];
        let with = |misc: &str, loaded_too: bool| {
            let mut m = machine(MISC, misc);
            if loaded_too {
                m.folders = loaded.clone().into();
            }
            m.owner()
        };
        assert_eq!(with("232 kvm\n", false), Some(Owner::Kernel));
        assert_eq!(with("232 kvm\n", true), Some(Owner::Armvisor));
        assert_eq!(with(" 58 armvisor\n232 kvm\n", true), Some(Owner::Kernel));
        assert_eq!(with("130 watchdog\n", true), None);
        let mut m = Machine {
            kvm: Some(Node::default()),
            ..Default::default()
        };
        assert_eq!(m.owner(), None, "a node that nothing answers");
        m.kvm = Some(Node {
            api_version: Some(12),
            ..Default::default()
        });
        assert_eq!(m.owner(), Some(Owner::Kernel), "no /proc/misc");
    }

    #[test]
    fn texts_of_any_kind_are_read() {
        let m = machine(
            OS_RELEASE,
            "NAME=\"Debian\"\nID=debian\n=\nX\nID_LIKE='a b'\n",
        );
        assert_eq!(m.os("ID"), Some("debian"));
        assert_eq!(m.os("ID_LIKE"), Some("a b"));
        assert_eq!(m.os("X"), None);
        let m = machine(
            MEMINFO,
            "MemTotal:  2 kB\nBad: x\nHuge: 99999999999999999999 kB\nTop: 18446744073709551615\n",
        );
        assert_eq!(m.memory("MemTotal"), Some(2048));
        for key in ["Bad", "Huge", "Top", "None", "Mem"] {
            assert_eq!(m.memory(key), None, "{key}");
        }
        assert_eq!(machine(PSCI_METHOD, "hvc\0").word(PSCI_METHOD), Some("hvc"));
        assert_eq!(machine(PSCI_METHOD, "\0\n").word(PSCI_METHOD), None);
    }
}
