// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Rows about building the module and loading it.

use super::distro::{self, Product};
use super::machine::*;
use super::place::container_kind;
use super::rows::Answer;
use crate::VERSION as OWN;

/// What a version says of compatibility: `0.1.0` of `0.1.0~git20261129.223313.ef277299a`.
fn number(version: &str) -> &str {
    version.split(['~', '+']).next().unwrap_or(version)
}

fn by_clang(m: &Machine) -> bool {
    let named = m
        .text(VERSION)
        .is_some_and(|text| text.contains("clang version"));
    named || m.option("CC_IS_CLANG") == Some(true)
}

pub(super) fn headers(m: &Machine) -> Answer {
    let build = format!("/lib/modules/{}/build", m.release);
    if m.has(&build, "Makefile") {
        return Answer::ok(format!("the kernel's headers are in {build}"));
    }
    let answer = Answer::bad(format!(
        "there are no headers of kernel {} in {build}",
        m.release
    ));
    answer.do_this(match distro::product(m) {
        Some(Product::Wsl) => {
            "build this kernel's version from github.com/microsoft/WSL2-Linux-Kernel, which makes the headers; \
             no distribution packages them"
                .to_owned()
        }
        Some(Product::DockerDesktop) => {
            "run a distribution in a VM of its own, such as Lima's; this product's kernel has no headers"
                .to_owned()
        }
        Some(Product::Android) => {
            "build the phone's kernel from its maker's sources, which makes the headers".to_owned()
        }
        None => match distro::install_headers(m) {
            Some(command) => format!("install the headers with '{command}'"),
            None => format!("install the headers of kernel {}", m.release),
        },
    })
}

/// The oldest GCC that the module was built with (module/Makefile).
const OLDEST_GCC: u32 = 12;

/// The version in a compiler's file name, as in `aarch64-linux-gnu-gcc-12`.
fn version_in(name: &str) -> Option<u32> {
    name.rsplit('-').next()?.parse().ok()
}

pub(super) fn compiler(m: &Machine) -> Answer {
    let clang = by_clang(m);
    let found = |name: &str| m.programs.get(name);
    let (kernel, tools) = if clang {
        ("clang", "make, clang and lld")
    } else {
        ("gcc", "make and gcc")
    };
    let compiler = if clang {
        found("clang").filter(|_| found("ld.lld").is_some())
    } else {
        found("gcc").or_else(|| found("cc"))
    };
    let Some(compiler) = compiler.filter(|_| found("make").is_some()) else {
        let says = format!("{kernel} built the kernel, and {tools} are not all installed");
        return Answer::bad(says).do_this(match distro::install_compiler(m, clang) {
            Some(command) => format!("install {tools} with '{command}'"),
            None => format!("install {tools}"),
        });
    };
    let says = format!("{kernel} built the kernel, and the compiler here is {compiler}");
    if clang {
        return Answer::warn(says)
            .do_this("install the module with 'sudo KMAKE_FLAGS=LLVM=1 make install'");
    }
    match version_in(compiler) {
        Some(version) if version < OLDEST_GCC => {
            let says = format!("{says}; the module was built with gcc {OLDEST_GCC} and later");
            Answer::warn(says).do_this("install a newer gcc if 'make install' fails")
        }
        _ => Answer::ok(says),
    }
}

fn unconfigured(what: &str) -> Answer {
    Answer::unknown(format!("cannot tell {what}: no file has its configuration"))
}

pub(super) fn cfi(m: &Machine) -> Answer {
    match (m.option("CFI"), m.option("CFI_CLANG")) {
        (Some(true), _) | (_, Some(true)) => {
            Answer::ok("the kernel checks indirect calls (CFI), and the module's with them")
        }
        (None, None) => unconfigured("whether the kernel checks indirect calls (CFI)"),
        _ => Answer::ok("the kernel does not check indirect calls (CFI)"),
    }
}

pub(super) fn modversions(m: &Machine) -> Answer {
    let build = format!("/lib/modules/{}/build", m.release);
    match m.option("MODVERSIONS") {
        None => unconfigured("whether the kernel's symbols have versions"),
        Some(false) => Answer::ok("symbols have no versions"),
        Some(true) if m.has(&build, "Module.symvers") || !m.folders.contains_key(&build) => {
            Answer::ok("symbols have versions: the headers must be those of exactly this kernel")
        }
        Some(true) => Answer::bad(format!(
            "symbols have versions, and {build} lacks Module.symvers"
        ))
        .do_this("install the distribution's headers of exactly this kernel again"),
    }
}

pub(super) fn symbols(m: &Machine) -> Answer {
    if m.option("MODULES") == Some(false) {
        return Answer::bad("this kernel loads no modules (CONFIG_MODULES is off)")
            .do_this("boot a kernel that loads modules");
    }
    match m.option("TRIM_UNUSED_KSYMS") {
        None => unconfigured("whether the kernel exports all its symbols"),
        Some(false) => Answer::ok("the kernel exports all its symbols"),
        Some(true) => {
            let says =
                "this kernel exports only what its own modules use (CONFIG_TRIM_UNUSED_KSYMS)";
            Answer::bad(says)
                .do_this("boot a kernel that was built without CONFIG_TRIM_UNUSED_KSYMS")
        }
    }
}

/// The mode in brackets of `none [integrity] confidentiality`.
pub(super) fn selected(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(mode, _)| mode)
}

pub(super) fn lockdown(m: &Machine) -> Answer {
    match (m.files.get(LOCKDOWN), m.text(LOCKDOWN).and_then(selected)) {
        (None, _) => Answer::ok("the kernel has no lockdown"),
        (_, Some("none")) => Answer::ok("the kernel is not locked down"),
        (_, Some(mode)) => Answer::warn(format!(
            "the kernel is locked down ({mode}): it loads signed modules only"
        )),
        (_, None) => Answer::unknown("cannot tell whether the kernel is locked down")
            .do_this(format!("run 'sudo cat {LOCKDOWN}'")),
    }
}

/// Why the kernel takes signed modules only.
fn signed_only(m: &Machine) -> Option<&'static str> {
    let locked = m.text(LOCKDOWN).and_then(selected);
    if matches!(locked, Some(mode) if mode != "none") {
        Some("the kernel is locked down")
    } else if m.word(SIG_ENFORCE) == Some("Y") {
        Some("module.sig_enforce is on")
    } else if m.option("MODULE_SIG_FORCE") == Some(true) {
        Some("it was built with CONFIG_MODULE_SIG_FORCE")
    } else {
        None
    }
}

pub(super) fn signatures(m: &Machine) -> Answer {
    let secure_boot = m
        .text(SECURE_BOOT)
        .is_some_and(|value| value.ends_with('\u{1}'));
    match (signed_only(m), secure_boot) {
        (Some(why), _) => {
            let boot = if secure_boot {
                " (Secure Boot is on)"
            } else {
                ""
            };
            Answer::bad(format!(
                "the kernel loads signed modules only, because {why}{boot}"
            ))
            .do_this(distro::enrol_key(m))
        }
        (None, true) => Answer::ok("Secure Boot is on, and unsigned modules load all the same"),
        (None, false) => Answer::ok("modules need no signature"),
    }
}

fn is_installed(m: &Machine) -> bool {
    let modules = format!("/lib/modules/{}", m.release);
    let folders = ["updates", "updates/dkms", "extra"].map(|name| format!("{modules}/{name}"));
    let mut names = folders
        .iter()
        .filter_map(|folder| m.folders.get(folder))
        .flatten();
    names.any(|name| name == "armvisor.ko" || name.starts_with("armvisor.ko."))
}

pub(super) fn module(m: &Machine) -> Answer {
    if m.is_loaded() {
        return match m.word(MODULE_VERSION) {
            Some(version) if number(version) != number(OWN) => {
                let says = format!("the module is version {version}, and this program is {OWN}");
                Answer::warn(says).do_this("install both of one version")
            }
            version => Answer::ok(format!(
                "armvisor's module {} is loaded",
                version.unwrap_or(OWN)
            )),
        };
    }
    if container_kind(m).is_some() {
        return Answer::bad("armvisor's module is not loaded, and a container cannot load it")
            .do_this("install and load the module on the container's host, and start the container with '--device /dev/kvm'");
    }
    if is_installed(m) {
        return Answer::bad("armvisor's module is installed and not loaded")
            .do_this("load the module with 'sudo modprobe armvisor'");
    }
    Answer::bad("armvisor's module is not installed").do_this(
        "install the module with 'sudo make install', and load it with 'sudo modprobe armvisor'",
    )
}
