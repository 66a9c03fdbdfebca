// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! How distributions call their packages.

use super::machine::Machine;

/// Distributions that name their packages alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Debian,
    /// Debian's names, but keys of its own for Secure Boot.
    Ubuntu,
    /// Fedora, RHEL and its kin.
    RedHat,
    Amazon,
    Suse,
    Arch,
    Alpine,
}

/// Values of ID and ID_LIKE in os-release(5). The first match counts.
const FAMILIES: [(&str, Family); 16] = [
    ("amzn", Family::Amazon),
    ("ubuntu", Family::Ubuntu),
    ("debian", Family::Debian),
    ("raspbian", Family::Debian),
    ("fedora", Family::RedHat),
    ("rhel", Family::RedHat),
    ("centos", Family::RedHat),
    ("rocky", Family::RedHat),
    ("almalinux", Family::RedHat),
    ("ol", Family::RedHat),
    ("suse", Family::Suse),
    ("sles", Family::Suse),
    ("opensuse", Family::Suse),
    ("arch", Family::Arch),
    ("archarm", Family::Arch),
    ("alpine", Family::Alpine),
];

/// The family of this machine's distribution, by its own name or else by those that it is like.
pub(super) fn family(m: &Machine) -> Option<Family> {
    let of = |name: &str| {
        FAMILIES
            .iter()
            .find(|(id, _)| *id == name)
            .map(|(_, family)| *family)
    };
    let like = m.os("ID_LIKE").unwrap_or_default().split(' ');
    m.os("ID")
        .and_then(of)
        .or_else(|| like.into_iter().find_map(of))
}

/// Kernels that come with a product, whose headers nobody packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Product {
    Wsl,
    DockerDesktop,
    Android,
}

pub(super) fn product(m: &Machine) -> Option<Product> {
    const MARKS: [(&str, Product); 4] = [
        ("microsoft", Product::Wsl),
        ("linuxkit", Product::DockerDesktop),
        ("-android", Product::Android),
        ("-gki", Product::Android),
    ];
    let release = m.release.to_ascii_lowercase();
    MARKS
        .iter()
        .find(|(mark, _)| release.contains(mark))
        .map(|(_, product)| *product)
}

/// The command that installs the headers of the running kernel.
pub(super) fn install_headers(m: &Machine) -> Option<String> {
    let release = m.release.as_str();
    let flavour = release.rsplit('-').next().unwrap_or(release);
    Some(match family(m)? {
        Family::Debian | Family::Ubuntu => format!("sudo apt install linux-headers-{release}"),
        Family::RedHat => format!("sudo dnf install {}", red_hat_headers(release)),
        Family::Amazon => {
            // The kernels after that of the first release have their version in the name.
            let name = match m.kernel() {
                Some((6, 1)) | None => "kernel-devel".to_owned(),
                Some((5, _)) => "kernel-devel".to_owned(),
                Some((major, minor)) => format!("kernel{major}.{minor}-devel"),
            };
            format!("sudo dnf install {name}-{release}")
        }
        Family::Suse => format!("sudo zypper install kernel-{flavour}-devel"),
        Family::Arch if m.os("ID") == Some("archarm") => {
            "sudo pacman -S linux-aarch64-headers".to_owned()
        }
        Family::Arch => "sudo pacman -S linux-headers".to_owned(),
        Family::Alpine => format!("sudo apk add linux-{flavour}-dev"),
    })
}

/// A variant's name stands behind the release: `5.14.0-503.el9.aarch64+64k` is of kernel-64k.
fn red_hat_headers(release: &str) -> String {
    match release.split_once('+') {
        Some((base, variant)) => format!("kernel-{variant}-devel-{base}"),
        None => format!("kernel-devel-{release}"),
    }
}

/// The command that installs make and the compiler of the kernel.
pub(super) fn install_compiler(m: &Machine, clang: bool) -> Option<String> {
    let names = if clang { "make clang lld" } else { "make gcc" };
    Some(match family(m)? {
        Family::Debian | Family::Ubuntu => format!("sudo apt install {names}"),
        Family::RedHat | Family::Amazon => format!("sudo dnf install {names}"),
        Family::Suse => format!("sudo zypper install {names}"),
        Family::Arch => format!("sudo pacman -S {names}"),
        Family::Alpine => format!("sudo apk add {names} musl-dev"),
    })
}

/// How the firmware learns the key that signs the module.
pub(super) fn enrol_key(m: &Machine) -> &'static str {
    match family(m) {
        Some(Family::Ubuntu) => {
            "sign the module: install dkms, enrol its key with 'sudo update-secureboot-policy --enroll-key', restart, \
             and confirm the key on the console"
        }
        Some(Family::Debian | Family::RedHat | Family::Amazon | Family::Suse) => {
            "sign the module: install dkms, enrol its key with 'sudo mokutil --import /var/lib/dkms/mok.pub', restart, \
             and confirm the key on the console"
        }
        _ => {
            "sign the module with a key that the kernel or the firmware has (the kernel's \
             Documentation/admin-guide/module-signing.rst)"
        }
    }
}
