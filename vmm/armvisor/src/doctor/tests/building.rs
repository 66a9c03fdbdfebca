// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
use super::super::distro;
use super::*;

const BUILD: &str = "/lib/modules/6.12.9-arm64/build";

const BUILDING: &[Case] = &[
    ("headers", |_| {}, Fine, BUILD),
    (
        "headers",
        |m| {
            m.folders.remove(BUILD);
        },
        Bad,
        "sudo apt install linux-headers-6.12.9-arm64",
    ),
    ("headers", |m| names(m, BUILD, &[]), Bad, ""),
    (
        "headers",
        |m| m.release = "6.12-linuxkit".into(),
        Bad,
        "in a VM of its own",
    ),
    (
        "headers",
        |m| m.release = "6.6-microsoft-standard-WSL2".into(),
        Bad,
        "microsoft/WSL2-Linux-Kernel",
    ),
    (
        "headers",
        |m| m.release = "6.1.9-android14-gki".into(),
        Bad,
        "phone",
    ),
    (
        "headers",
        |m| {
            m.folders.clear();
            m.files.remove(OS_RELEASE);
        },
        Bad,
        "headers of kernel 6.12.9-arm64",
    ),
    ("compiler", |_| {}, Fine, "gcc"),
    (
        "compiler",
        |m| {
            m.programs.remove("make");
        },
        Bad,
        "install make and gcc with 'sudo apt",
    ),
    (
        "compiler",
        |m| {
            m.programs
                .insert("gcc".into(), "aarch64-linux-gnu-gcc-11".into());
        },
        Warn,
        "gcc 12 and later",
    ),
    (
        "compiler",
        |m| {
            m.programs
                .insert("gcc".into(), "aarch64-linux-gnu-gcc-14".into());
        },
        Fine,
        "",
    ),
    (
        "compiler",
        |m| set(m, "CC_IS_CLANG", "y"),
        Bad,
        "make, clang and lld",
    ),
    (
        "compiler",
        |m| {
            put(m, VERSION, "(Debian clang version 19)");
            for name in ["clang", "ld.lld"] {
                m.programs.insert(name.into(), name.into());
            }
        },
        Warn,
        "KMAKE_FLAGS=LLVM=1",
    ),
    ("cfi", |_| {}, Fine, ""),
    ("cfi", |m| set(m, "CFI", "y"), Fine, "CFI"),
    ("cfi", |m| set(m, "CFI_CLANG", "y"), Fine, "CFI"),
    ("cfi", |m| m.config = None, Unknown, ""),
    ("modversions", |_| {}, Fine, "exactly this kernel"),
    (
        "modversions",
        |m| names(m, BUILD, &["Makefile"]),
        Bad,
        "Module.symvers",
    ),
    (
        "modversions",
        |m| set(m, "MODVERSIONS", "n"),
        Fine,
        "no versions",
    ),
    ("modversions", |m| m.config = None, Unknown, ""),
    ("symbols", |_| {}, Fine, ""),
    (
        "symbols",
        |m| set(m, "TRIM_UNUSED_KSYMS", "y"),
        Bad,
        "TRIM_UNUSED_KSYMS",
    ),
    (
        "symbols",
        |m| set(m, "MODULES", "n"),
        Bad,
        "loads no modules",
    ),
    ("symbols", |m| m.config = None, Unknown, ""),
    ("lockdown", |_| {}, Fine, ""),
    (
        "lockdown",
        |m| {
            m.files.remove(LOCKDOWN);
        },
        Fine,
        "no lockdown",
    ),
    (
        "lockdown",
        |m| put(m, LOCKDOWN, "none [integrity] confidentiality"),
        Warn,
        "integrity",
    ),
    (
        "lockdown",
        |m| put(m, LOCKDOWN, "garbage"),
        Unknown,
        "sudo cat",
    ),
    ("signatures", |_| {}, Fine, ""),
    (
        "signatures",
        |m| put(m, LOCKDOWN, "none [integrity]"),
        Bad,
        "mokutil --import",
    ),
    (
        "signatures",
        |m| put(m, SIG_ENFORCE, "Y\n"),
        Bad,
        "sig_enforce",
    ),
    (
        "signatures",
        |m| set(m, "MODULE_SIG_FORCE", "y"),
        Bad,
        "MODULE_SIG_FORCE",
    ),
    (
        "signatures",
        |m| put(m, SECURE_BOOT, "\u{6}\0\0\0\u{1}"),
        Fine,
        "Secure Boot is on",
    ),
    (
        "signatures",
        |m| put(m, SECURE_BOOT, "\u{6}\0\0\0\0"),
        Fine,
        "no signature",
    ),
    (
        "module",
        |_| {},
        Bad,
        "load the module with 'sudo modprobe armvisor'",
    ),
    (
        "module",
        |m| {
            m.folders.remove("/lib/modules/6.12.9-arm64/updates");
        },
        Bad,
        "make install",
    ),
    (
        "module",
        |m| put(m, "/.dockerenv", ""),
        Bad,
        "container's host",
    ),
    ("module", |m| names(m, MODULE, &[]), Fine, "is loaded"),
    (
        "module",
        |m| {
            names(m, MODULE, &[]);
            put(m, MODULE_VERSION, "0.0.1\n");
        },
        Warn,
        "0.0.1",
    ),
    (
        "module",
        |m| {
            names(m, MODULE, &[]);
            put(
                m,
                MODULE_VERSION,
                concat!(env!("CARGO_PKG_VERSION"), "~git1.abc\n"),
            );
        },
        Fine,
        "~git1.abc is loaded",
    ),
];

#[test]
fn building_and_loading() {
    check(BUILDING);
}

/// os-release, release of the kernel, command.
const HEADERS: &[(&str, &str, &str)] = &[
    (
        "ID=debian",
        "6.1.0-arm64",
        "sudo apt install linux-headers-6.1.0-arm64",
    ),
    (
        "ID=ubuntu\nID_LIKE=debian",
        "6.8.0-1-aws",
        "sudo apt install linux-headers-6.8.0-1-aws",
    ),
    (
        "ID=linuxmint\nID_LIKE=\"ubuntu debian\"",
        "6.8.0-1",
        "sudo apt install linux-headers-6.8.0-1",
    ),
    (
        "ID=fedora",
        "7.0.4-200.fc44.aarch64",
        "sudo dnf install kernel-devel-7.0.4-200.fc44.aarch64",
    ),
    (
        "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"",
        "6.12.0-1.el10.aarch64+64k",
        "sudo dnf install kernel-64k-devel-6.12.0-1.el10.aarch64",
    ),
    (
        "ID=\"amzn\"\nID_LIKE=fedora",
        "6.1.1-1.amzn2023.aarch64",
        "sudo dnf install kernel-devel-6.1.1-1.amzn2023.aarch64",
    ),
    (
        "ID=\"amzn\"",
        "6.12.1-1.amzn2023.aarch64",
        "sudo dnf install kernel6.12-devel-6.12.1-1.amzn2023.aarch64",
    ),
    (
        "ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"",
        "6.4.0-1-64kb",
        "sudo zypper install kernel-64kb-devel",
    ),
    ("ID=arch", "6.12.1-arch1-1", "sudo pacman -S linux-headers"),
    (
        "ID=archarm\nID_LIKE=arch",
        "6.12.1-1-aarch64-ARCH",
        "sudo pacman -S linux-aarch64-headers",
    ),
    ("ID=alpine", "6.12.13-0-virt", "sudo apk add linux-virt-dev"),
    ("ID=other", "6.1", ""),
    ("", "6.1", ""),
];

#[test]
fn each_distribution_has_its_words() {
    let headers = |os: &str, release: &str| {
        let mut m = good();
        put(&mut m, OS_RELEASE, os);
        m.release = release.into();
        distro::install_headers(&m).unwrap_or_default()
    };
    for (os, release, command) in HEADERS {
        assert_eq!(headers(os, release), *command, "{os}");
    }
    let compiler = |os: &str| {
        let mut m = good();
        put(&mut m, OS_RELEASE, os);
        [false, true].map(|clang| distro::install_compiler(&m, clang).unwrap_or_default())
    };
    assert_eq!(
        compiler("ID=sles"),
        ["make gcc", "make clang lld"].map(|names| format!("sudo zypper install {names}"))
    );
    assert!(compiler("ID=alpine")[0].ends_with("musl-dev"));
    assert_eq!(compiler("ID=none"), ["", ""]);
}
