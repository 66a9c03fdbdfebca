// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
use std::fs;
use std::io::Write;
use std::path::Path;

use super::super::read::Reader;
use super::super::{load, record};
use super::*;
use crate::open::tests::make_fifo;

fn write(root: &Path, path: &str, bytes: &[u8]) {
    let path = root.join(path.trim_start_matches('/'));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn release() -> String {
    rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned()
}

#[test]
fn an_empty_machine_is_read_and_judged() {
    let root = tempfile::tempdir().unwrap();
    let m = Reader::new(root.path()).machine();
    assert!(m.files.is_empty() && m.folders.is_empty() && m.programs.is_empty());
    assert!(m.kvm.is_none() && m.config.is_none());
    assert!(m.page_size >= 4096);
    text(&report(&m));
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let root = tempfile::tempdir().unwrap();
    let at = |path: &str| root.path().join(path.trim_start_matches('/'));
    for path in [CMDLINE, OS_RELEASE, "/dev/kvm", "/proc/config.gz", CGROUP] {
        fs::create_dir_all(at(path).parent().unwrap()).unwrap();
        make_fifo(&at(path));
    }
    fs::create_dir_all(at(MISC)).unwrap();
    let m = Reader::new(root.path()).machine();
    let failed = |path: &str| match &m.files[path] {
        Reading::Failed { error } => error.clone(),
        Reading::Text(text) => panic!("{text}"),
    };
    assert!(failed(CMDLINE).starts_with("is a FIFO"));
    assert!(failed(MISC).starts_with("is a directory"));
    let node = m.kvm.as_ref().unwrap();
    assert!(node.error.as_ref().unwrap().starts_with("is a FIFO"));
    assert_eq!(node.api_version, None);
    assert!(m.config.is_none());
    text(&report(&m));
}

#[test]
fn a_large_or_odd_file_is_bounded() {
    let root = tempfile::tempdir().unwrap();
    let line = "MemTotal: 1 kB\n".repeat(1 << 20);
    write(root.path(), MEMINFO, line.as_bytes());
    write(root.path(), CMDLINE, &[0xff; 1 << 20]);
    write(root.path(), VERSION, "é".repeat(1 << 20).as_bytes());
    let m = Reader::new(root.path()).machine();
    for path in [MEMINFO, CMDLINE, VERSION] {
        let len = m.text(path).unwrap().len();
        assert!(len > 1000 && len <= 64 << 10, "{path}: {len}");
    }
    text(&report(&m));
}

#[test]
fn alike_lines_are_kept_once() {
    let root = tempfile::tempdir().unwrap();
    let cpu = "processor : 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd08\n".repeat(300);
    write(root.path(), CPUINFO, cpu.as_bytes());
    let m = Reader::new(root.path()).machine();
    let kept = m.text(CPUINFO).unwrap();
    assert_eq!(kept, "CPU implementer\t: 0x41\nCPU part\t: 0xd08\n");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_configuration_is_found_in_its_places() {
    let text = b"# CONFIG_CFI is not set\nCONFIG_KVM=y\nCONFIG_ARM64_VA_BITS=48\nCONFIG_X=y\n";
    let boot = format!("/boot/config-{}", release());
    for (path, bytes) in [("/proc/config.gz", gzip(text)), (&boot, text.to_vec())] {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), path, &bytes);
        let m = Reader::new(root.path()).machine();
        let config = m.config.clone().unwrap();
        assert_eq!(config.from, path);
        assert_eq!(config.set.len(), 2, "{:?}", config.set);
        assert_eq!(
            (m.option("KVM"), m.option("CFI")),
            (Some(true), Some(false))
        );
    }
    let root = tempfile::tempdir().unwrap();
    // Not what they say they are: garbage, a cut file, one that unpacks to more than any has.
    for bytes in [
        &b"\x1f\x8b\x08garbage"[..],
        &gzip(text)[..20],
        &gzip(&vec![0; 64 << 20]),
    ] {
        write(root.path(), "/proc/config.gz", bytes);
        assert!(Reader::new(root.path()).machine().config.is_none());
    }
    write(root.path(), &boot, text);
    assert_eq!(
        Reader::new(root.path()).machine().config.unwrap().from,
        boot
    );
}

#[test]
fn control_groups_are_followed_to_the_root() {
    let root = tempfile::tempdir().unwrap();
    write(
        root.path(),
        CGROUP,
        b"0::/../a/b\n4:memory:/c\n5:cpu:/x\nodd\n",
    );
    write(root.path(), "/sys/fs/cgroup/a/memory.max", b"600000000\n");
    write(root.path(), "/sys/fs/cgroup/a/b/memory.max", b"max\n");
    write(
        root.path(),
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        b"700000000\n",
    );
    let m = Reader::new(root.path()).machine();
    assert_eq!(m.files.len(), 4, "{:?}", m.files.keys());
    assert!(ask("cgroup", &m).says.contains("572.2M of memory"));
}

#[test]
fn users_of_groups_are_found() {
    let root = tempfile::tempdir().unwrap();
    let me = crate::sys::euid();
    let passwd = format!("bad\nanna:x:{me}:1:::\n");
    write(root.path(), "/etc/passwd", passwd.as_bytes());
    write(
        root.path(),
        "/etc/group",
        b"kvm:x:77:root2,anna\nx:y\nother:x:78:bert\n",
    );
    let user = Reader::new(root.path()).machine().user;
    assert_eq!((user.kvm_group, user.listed), (Some(77), vec![77]));
}

#[test]
fn a_recorded_machine_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.json");
    let m = good();
    record(&m, &path).unwrap();
    assert_eq!(load(&path).unwrap(), m);
    let again = record(&m, &path).unwrap_err().to_string();
    assert!(again.contains("exists; name a new file"), "{again}");
    let nowhere = record(&m, &folder.path().join("none/m"))
        .unwrap_err()
        .to_string();
    assert!(nowhere.contains("no such folder"), "{nowhere}");
}

#[test]
fn a_hostile_record_is_refused_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.json");
    let deep = "[".repeat(1 << 20);
    let large = format!("{{\"source\":\"{}\"}}", "x".repeat(5 << 20));
    for text in ["", "{}", "null", "{\"source\":1}", &deep, &large, "\u{0}"] {
        fs::write(&path, text).unwrap();
        let refusal = load(&path).unwrap_err();
        assert_eq!(refusal.code, ExitCode::BadFile);
        assert!(
            refusal.to_string().contains("is not a recorded machine"),
            "{refusal}"
        );
    }
    fs::remove_file(&path).unwrap();
    make_fifo(&path);
    assert!(load(&path).unwrap_err().to_string().contains("is a FIFO"));
    let missing = load(&folder.path().join("none")).unwrap_err().to_string();
    assert!(missing.contains("no such file"), "{missing}");
}

#[test]
fn this_machine_is_read_as_it_is() {
    let m = Reader::new("/").machine();
    assert_eq!(m.release, release());
    assert_eq!(m.user.uid, crate::sys::euid());
    text(&report(&m));
}
