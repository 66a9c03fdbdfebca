// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Reads this machine. Nothing is judged here.
//!
//! - Every read is bounded, and only regular files are opened: a FIFO is not waited for.
//! - What is missing or cannot be read is left out, or kept as an error; it stops nothing.
//! - No program is run and nothing is changed. The one device that is opened is /dev/kvm.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use rustix::process::{Resource, getgroups, getrlimit};
use rustix::system::uname;

use super::machine::*;
use crate::open::{Problem, REGULAR_FILE, Wanted, open};
use crate::rundir::users;
use crate::sys;

/// What of a file is kept.
#[derive(Clone, Copy, Debug)]
enum Keep {
    All,
    /// Lines with one of these words.
    Lines(&'static [&'static str]),
    /// The same, each line once: the lines of many CPUs are alike.
    Once(&'static [&'static str]),
}

const FILES: [(&str, Keep); 25] = [
    (CMDLINE, Keep::All),
    (VERSION, Keep::All),
    (MISC, Keep::All),
    (INTERRUPTS, Keep::Lines(&["arch_timer"])),
    (CPUINFO, Keep::Once(&["CPU implementer", "CPU part"])),
    (
        MEMINFO,
        Keep::Lines(&["MemTotal", "MemAvailable", "HugePages_", "Hugepagesize"]),
    ),
    (
        OS_RELEASE,
        Keep::Lines(&["ID=", "ID_LIKE=", "VERSION_ID=", "PRETTY_NAME="]),
    ),
    (PSCI_METHOD, Keep::All),
    (REALTIME, Keep::All),
    (LOCKDOWN, Keep::All),
    (SIG_ENFORCE, Keep::All),
    (SECURE_BOOT, Keep::All),
    (MELTDOWN, Keep::All),
    (THP, Keep::All),
    (THP_SHMEM, Keep::All),
    (MODULE_VERSION, Keep::All),
    (DMI[0], Keep::All),
    (DMI[1], Keep::All),
    (MODEL, Keep::All),
    (CONTAINER_FILES[0], Keep::All),
    (CONTAINER_FILES[1], Keep::Lines(&["engine="])),
    (CONTAINER_FILES[2], Keep::All),
    (CONTAINER_FILES[3], Keep::All),
    (MOUNTS, Keep::Lines(&[" / "])),
    (CGROUP, Keep::All),
];

/// Options of the kernel that some row asks for.
pub const OPTIONS: [&str; 14] = [
    "ARM64_VA_BITS",
    "ARM64_E0PD",
    "ARM64_PSEUDO_NMI",
    "CC_IS_CLANG",
    "CFI",
    "CFI_CLANG",
    "KVM",
    "MODULES",
    "MODULE_SIG_FORCE",
    "MODVERSIONS",
    "PREEMPT_RT",
    "RANDOMIZE_BASE",
    "TRIM_UNUSED_KSYMS",
    "UNMAP_KERNEL_AT_EL0",
];

/// Words of the lines of the kernel's log that some row asks for.
const LOGGED: [&str; 9] = [
    "Booting Linux on",
    "started at EL",
    "YP mode",
    "yp mode",
    "VHE mode",
    "page table isolation",
    "E0PD",
    "KASLR",
    "IRQ priority masking",
];

/// Programs that building a module takes.
const PROGRAMS: [&str; 5] = ["make", "gcc", "cc", "clang", "ld.lld"];

/// Bounds: of a file, of a configuration as it unpacks, of names in a folder, of the kernel's log, and
/// of control groups above this one.
const MAX_FILE: u64 = 4 << 20;
const MAX_CONFIG: u64 = 4 << 20;
const MAX_NAMES: usize = 256;
const MAX_LOG: usize = 16 << 20;
const MAX_LOG_LINES: usize = 64;
const MAX_DEPTH: usize = 16;
/// Of what is kept of a file.
const MAX_KEPT: usize = 64 << 10;

/// Reads below a root, which is `/` but in tests.
pub struct Reader {
    root: PathBuf,
}

impl Reader {
    /// Of this machine with `/`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Reader { root: root.into() }
    }

    /// The snapshot.
    pub fn machine(&self) -> Machine {
        let system = uname();
        let text = |name: &std::ffi::CStr| name.to_string_lossy().into_owned();
        let release = text(system.release());
        let mut files = BTreeMap::new();
        for (path, keep) in FILES {
            self.keep(&mut files, path, keep);
        }
        for path in self.groups() {
            self.keep(&mut files, &path, Keep::All);
        }
        Machine {
            source: format!("recorded by armvisor {}", crate::VERSION),
            arch: text(system.machine()),
            version: text(system.version()),
            page_size: sys::page_size().map_or(0, |size| size as u64),
            address_bits: sys::host::address_bits(),
            user: self.user(),
            open_files: limit(Resource::Nofile),
            locked_memory: limit(Resource::Memlock),
            kvm: self.kvm(),
            config: self.config(&release),
            log: sys::host::kernel_log(MAX_LOG)
                .ok()
                .map(|log| log_lines(&log)),
            files,
            folders: self.folders(&release),
            programs: self.programs(&std::env::var_os("PATH").unwrap_or_default()),
            release,
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// The first bytes of a file, at most `limit`.
    fn bytes(&self, path: &str, limit: u64) -> Result<Vec<u8>, Problem> {
        let (file, _) = open(&self.at(path), File::options().read(true), REGULAR_FILE)?;
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn keep(&self, files: &mut BTreeMap<String, Reading>, path: &str, keep: Keep) {
        let reading = match self.bytes(path, MAX_FILE) {
            Ok(bytes) => Reading::Text(kept(&String::from_utf8_lossy(&bytes), keep)),
            Err(Problem::Io(error)) if is_absent(&error) => return,
            Err(Problem::Io(error)) => Reading::Failed {
                error: error.to_string(),
            },
            Err(Problem::Kind(error)) => Reading::Failed { error },
        };
        files.insert(path.to_owned(), reading);
    }

    /// The names in a folder, sorted.
    fn names(&self, path: &str) -> Option<Vec<String>> {
        let entries = std::fs::read_dir(self.at(path)).ok()?;
        let names = entries.filter_map(Result::ok).take(MAX_NAMES);
        let mut names: Vec<_> = names
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort_unstable();
        Some(names)
    }

    fn folders(&self, release: &str) -> BTreeMap<String, Vec<String>> {
        let modules = format!("/lib/modules/{release}");
        let paths = [
            MODULE.to_owned(),
            SDEI_DRIVER.to_owned(),
            format!("{modules}/build"),
            format!("{modules}/updates"),
            format!("{modules}/updates/dkms"),
            format!("{modules}/extra"),
        ];
        let found = paths.into_iter().filter_map(|path| {
            let names = self.names(&path)?;
            Some((path, names))
        });
        found.collect()
    }

    /// Limits of this process's control group and of those above it, in the versions 2 and 1.
    fn groups(&self) -> Vec<String> {
        let Ok(bytes) = self.bytes(CGROUP, MAX_FILE) else {
            return Vec::new();
        };
        let text = String::from_utf8_lossy(&bytes);
        let mut paths = Vec::new();
        for line in text.lines() {
            let mut parts = line.splitn(3, ':');
            let (_, controllers, path) = (parts.next(), parts.next(), parts.next());
            let Some((controllers, path)) = controllers.zip(path) else {
                continue;
            };
            let (root, names): (_, &[&str]) = match controllers {
                "" => ("/sys/fs/cgroup", &["memory.max", "cpu.max", "pids.max"]),
                "memory" => ("/sys/fs/cgroup/memory", &["memory.limit_in_bytes"]),
                _ => continue,
            };
            for folder in ancestors(root, path) {
                paths.extend(names.iter().map(|name| format!("{folder}/{name}")));
            }
        }
        paths
    }

    fn user(&self) -> User {
        let uid = sys::euid();
        let text = |path| match self.bytes(path, MAX_FILE) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(_) => String::new(),
        };
        let groups = getgroups().unwrap_or_default();
        let (passwd, list) = (text("/etc/passwd"), text("/etc/group"));
        let name = users::name_in(&passwd, uid);
        User {
            uid,
            groups: groups.into_iter().map(|group| group.as_raw()).collect(),
            listed: group_lines(&list)
                .filter(|(_, _, members)| members.clone().any(|member| Some(member) == name))
                .map(|(_, gid, _)| gid)
                .collect(),
            kvm_group: group_lines(&list)
                .find(|(group, ..)| *group == "kvm")
                .map(|(_, gid, _)| gid),
        }
    }

    fn kvm(&self) -> Option<Node> {
        const DEVICE: Wanted = Wanted {
            accepts: |kind| kind.is_char_device(),
            name: "a KVM device",
        };
        let path = self.at("/dev/kvm");
        let data = std::fs::metadata(&path).ok()?;
        let opened = open(&path, File::options().read(true).write(true), DEVICE);
        let version = match opened {
            Ok((file, _)) => sys::host::kvm_api_version(&file).map_err(|error| error.to_string()),
            Err(Problem::Io(error)) => Err(error.to_string()),
            Err(Problem::Kind(error)) => Err(error),
        };
        Some(Node {
            mode: data.mode(),
            uid: data.uid(),
            gid: data.gid(),
            api_version: version.as_ref().ok().copied(),
            error: version.err(),
        })
    }

    fn config(&self, release: &str) -> Option<Config> {
        let places = [
            "/proc/config.gz".to_owned(),
            format!("/boot/config-{release}"),
            format!("/lib/modules/{release}/config"),
            format!("/usr/lib/modules/{release}/config"),
            format!("/lib/modules/{release}/build/.config"),
        ];
        places.into_iter().find_map(|from| {
            let bytes = self.bytes(&from, MAX_FILE).ok()?;
            let set = options(&unpacked(bytes)?)?;
            Some(Config { from, set })
        })
    }

    fn programs(&self, path: &std::ffi::OsStr) -> BTreeMap<String, String> {
        let folders: Vec<PathBuf> = std::env::split_paths(path)
            .chain(["/usr/sbin".into(), "/sbin".into()])
            .take(MAX_NAMES)
            .collect();
        let find = |name: &str| {
            let mut places = folders.iter().map(|folder| folder.join(name));
            let found = places.find(|place| is_program(&self.at(&place.to_string_lossy())))?;
            let file = self.at(&found.to_string_lossy()).canonicalize().ok()?;
            Some((
                name.to_owned(),
                file.file_name()?.to_string_lossy().into_owned(),
            ))
        };
        PROGRAMS.iter().filter_map(|name| find(name)).collect()
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

fn limit(resource: Resource) -> Limit {
    let limit = getrlimit(resource);
    Limit {
        soft: limit.current,
        hard: limit.maximum,
    }
}

/// Name, number and members of each group.
fn group_lines(text: &str) -> impl Iterator<Item = (&str, u32, std::str::Split<'_, char>)> {
    text.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let gid = fields.nth(1)?.parse().ok()?;
        Some((name, gid, fields.next()?.split(',')))
    })
}

/// A control group's folder and those above it, the root's last.
fn ancestors(root: &str, path: &str) -> Vec<String> {
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != "..")
        .take(MAX_DEPTH)
        .collect();
    (0..=parts.len())
        .rev()
        .map(|depth| [&[root], &parts[..depth]].concat().join("/"))
        .collect()
}

fn kept(text: &str, keep: Keep) -> String {
    let (words, once) = match keep {
        Keep::All => return bounded(text).to_owned(),
        Keep::Lines(words) => (words, false),
        Keep::Once(words) => (words, true),
    };
    let mut seen = BTreeSet::new();
    let mut out = String::new();
    for line in text.lines() {
        let wanted = words.iter().any(|word| line.contains(word));
        if wanted && (!once || seen.insert(line)) && out.len() + line.len() < MAX_KEPT {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

fn bounded(text: &str) -> &str {
    let end = (0..=MAX_KEPT.min(text.len()))
        .rev()
        .find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

/// A configuration's text, which may be packed by gzip. None for what is neither.
fn unpacked(bytes: Vec<u8>) -> Option<String> {
    if !crate::kernel::compressed::is_gzip(&bytes) {
        return String::from_utf8(bytes).ok();
    }
    let mut text = String::new();
    let mut decoder = GzDecoder::new(&bytes[..]).take(MAX_CONFIG);
    decoder.read_to_string(&mut text).ok()?;
    Some(text)
}

/// The options that are asked for and set. None if the text is no configuration.
fn options(text: &str) -> Option<BTreeMap<String, String>> {
    let pairs = || {
        let lines = text.lines();
        lines.filter_map(|line| line.strip_prefix("CONFIG_")?.split_once('='))
    };
    pairs().next()?;
    let wanted = pairs().filter(|(name, _)| OPTIONS.contains(name));
    Some(
        wanted
            .map(|(name, value)| (name.to_owned(), bounded(value).to_owned()))
            .collect(),
    )
}

/// Whether a line of the kernel's log is kept.
pub(super) fn is_kept(line: &str) -> bool {
    LOGGED.iter().any(|words| line.contains(words))
}

/// The lines of the kernel's log that some row asks for, without their level.
fn log_lines(log: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(log);
    let lines = text.lines().filter(|line| is_kept(line));
    lines
        .take(MAX_LOG_LINES)
        .map(|line| {
            let words = line.split_once('>').map_or(line, |(_, rest)| rest);
            bounded(words).to_owned()
        })
        .collect()
}
