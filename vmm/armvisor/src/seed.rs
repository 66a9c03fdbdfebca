// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! What cloud-init finds in the guest: a NoCloud seed, a FAT with the label CIDATA, made in memory.
//! cloud-init reads it at a boot whose instance ID it does not know.
//!
//! The ID depends on what is in the seed, so a VM that is started again with the same options is the
//! same instance, and one with other options is set up again.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use fatfs::{FatType, FileSystem, FormatVolumeOptions, FsOptions, format_volume};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

use crate::cli::{SeedArgs, check_hostname};
use crate::open::{self, REGULAR_FILE};
use crate::outcome::Refusal;
use crate::size::{KIB, MIB};

const USER_DATA_LIMIT: u64 = MIB;
const KEY_LIMIT: u64 = 64 * KIB;
const SIZE: u64 = 4 * MIB;
const LABEL: &[u8; 11] = b"CIDATA     ";
/// How user-data begins that cloud-init knows what to do with.
const FORMS: [&str; 8] = [
    "#cloud-config",
    "#cloud-boothook",
    "#part-handler",
    "#include",
    "#!",
    "## template:",
    "Content-Type:",
    "MIME-Version:",
];

/// The disk that the options describe, if they want one. Nobody can write it. `name` is the VM's, where
/// the user gave it one.
pub fn disk(args: &SeedArgs, name: Option<&str>) -> Result<Option<File>, Refusal> {
    if !args.cloud_init {
        return Ok(None);
    }
    let hostname = hostname(args, name)?;
    let user_data = match &args.user_data {
        Some(path) => own_user_data(path)?,
        None => user_data(args)?,
    };
    let meta_data = format!(
        "instance-id: armvisor-{:016x}\nlocal-hostname: {hostname}\n",
        hash(&[hostname, &user_data])
    );
    let disk = write(&[("meta-data", &meta_data), ("user-data", &user_data)]);
    disk.map(Some)
        .map_err(|error| Refusal::host("--cloud-init", error))
}

fn hostname<'a>(args: &'a SeedArgs, name: Option<&'a str>) -> Result<&'a str, Refusal> {
    match (&args.hostname, name) {
        (Some(hostname), _) => Ok(hostname),
        (None, None) => Ok("armvisor"),
        (None, Some(name)) => check_hostname(name).map(|()| name).map_err(|_| {
            let problem = "cannot be the guest's host name; add '--hostname NAME'";
            Refusal::usage(format!("--name {name}"), problem)
        }),
    }
}

fn user_data(args: &SeedArgs) -> Result<String, Refusal> {
    let mut keys = Vec::new();
    for path in &args.ssh_key {
        keys.extend(public_keys(path)?);
    }
    if keys.is_empty() {
        let problem = "has nobody who logs in; add '--ssh-key FILE' with a public key ('ssh-keygen' makes one), \
                       or '--user-data FILE'";
        return Err(Refusal::usage("--cloud-init", problem));
    }
    // JSON is YAML, and its quotes keep what is in a key apart from the rest.
    let config = match &args.user {
        None => serde_json::json!({ "ssh_authorized_keys": keys }),
        Some(user) => serde_json::json!({
            "users": [{
                "name": user,
                "sudo": "ALL=(ALL) NOPASSWD:ALL",
                "shell": "/bin/bash",
                "lock_passwd": true,
                "ssh_authorized_keys": keys,
            }],
        }),
    };
    Ok(format!("#cloud-config\n{config:#}\n"))
}

fn own_user_data(path: &Path) -> Result<String, Refusal> {
    let text = read("user-data", path, USER_DATA_LIMIT)?;
    if FORMS.iter().any(|form| text.starts_with(form)) {
        return Ok(text);
    }
    let problem = "begins as none of cloud-init's forms does, so the guest would ignore it; begin it with \
                   '#cloud-config' or '#!'";
    Err(Refusal::file("user-data", path, problem))
}

/// The keys in a file, one a line.
fn public_keys(path: &Path) -> Result<Vec<String>, Refusal> {
    let text = read("SSH key", path, KEY_LIMIT)?;
    let refuse = |problem| Err(Refusal::file("SSH key", path, problem));
    if text.contains("PRIVATE KEY") {
        return refuse("is the private key, which must not leave you; name the one with '.pub'");
    }
    let lines = text.lines().map(str::trim);
    let keys = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let keys: Vec<String> = keys.map(str::to_owned).collect();
    // Whatever its type, a key in base64 begins with the length of the type's name.
    let is_key = |line: &String| line.split_whitespace().any(|word| word.starts_with("AAAA"));
    match keys.iter().all(is_key) && !keys.is_empty() {
        true => Ok(keys),
        false => refuse("is no file of SSH public keys; name one with '.pub'"),
    }
}

fn read(what: &str, path: &Path, limit: u64) -> Result<String, Refusal> {
    let opened = open::open(path, File::options().read(true), REGULAR_FILE);
    let (file, _) = opened.map_err(|problem| problem.refusal(what, path))?;
    let mut text = String::new();
    match file.take(limit + 1).read_to_string(&mut text) {
        Ok(len) if len as u64 <= limit => Ok(text),
        Ok(_) => {
            let problem = format!("has more than {} KiB", limit / KIB);
            Err(Refusal::file(what, path, problem))
        }
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(Refusal::file(what, path, "is no text in UTF-8"))
        }
        Err(error) => Err(Refusal::open(what, path, &error)),
    }
}

/// FNV-1a, which no version of a library changes.
fn hash(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn write(files: &[(&str, &str)]) -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut disk = File::from(memfd_create("cloud-init", flags)?);
    disk.set_len(SIZE)?;
    let options = FormatVolumeOptions::new().volume_label(*LABEL);
    format_volume(&mut disk, options.fat_type(FatType::Fat12))?;
    let system = FileSystem::new(&mut disk, FsOptions::new())?;
    for (name, text) in files {
        let mut file = system.root_dir().create_file(name)?;
        file.write_all(text.as_bytes())?;
    }
    system.unmount()?;
    fcntl_add_seals(
        &disk,
        SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK,
    )?;
    Ok(disk)
}

#[cfg(test)]
mod tests {
    use std::io::Seek;
    use std::path::PathBuf;

    use super::*;
    use crate::outcome::ExitCode;

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 me@\"here\": [x]";

    /// A seed's files, and its label.
    fn files(disk: &File) -> (String, String, String) {
        let mut bytes = Vec::new();
        let mut disk = disk.try_clone().unwrap();
        disk.rewind().unwrap();
        disk.read_to_end(&mut bytes).unwrap();
        let system = FileSystem::new(io::Cursor::new(bytes), FsOptions::new()).unwrap();
        let text = |name| {
            let mut text = String::new();
            let mut file = system.root_dir().open_file(name).unwrap();
            file.read_to_string(&mut text).unwrap();
            text
        };
        let label = system.read_volume_label_from_root_dir().unwrap().unwrap();
        (text("meta-data"), text("user-data"), label)
    }

    fn saved(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    fn args(key: &Path) -> SeedArgs {
        SeedArgs {
            cloud_init: true,
            ssh_key: vec![key.to_owned()],
            ..SeedArgs::default()
        }
    }

    #[test]
    fn no_seed_is_made_unless_it_is_wanted() {
        assert!(disk(&SeedArgs::default(), None).unwrap().is_none());
    }

    #[test]
    fn a_seed_has_the_keys_the_account_and_the_name() {
        let (_folder, path) = saved(&format!("# mine\n{KEY}\n\n{KEY}2\n"));
        let mut args = args(&path);
        let seed = disk(&args, None).unwrap().unwrap();
        let (meta, user, label) = files(&seed);
        assert_eq!(label, "CIDATA");
        assert!(
            meta.starts_with("instance-id: armvisor-")
                && meta.ends_with("\nlocal-hostname: armvisor\n")
        );
        let config: serde_json::Value =
            serde_json::from_str(user.strip_prefix("#cloud-config\n").unwrap()).unwrap();
        assert_eq!(config["ssh_authorized_keys"][1], format!("{KEY}2"));
        // The same again is the same instance; another name or account is another.
        let again = disk(&args, None).unwrap().unwrap();
        assert_eq!(files(&again).0, meta);
        let named = files(&disk(&args, Some("web-1")).unwrap().unwrap()).0;
        assert!(named.ends_with("\nlocal-hostname: web-1\n") && named[..40] != meta[..40]);
        args.user = Some("me".into());
        args.hostname = Some("a.b".into());
        let (other, user, _) = files(&disk(&args, Some("web-1")).unwrap().unwrap());
        assert!(other.ends_with("\nlocal-hostname: a.b\n"));
        assert!(user.contains("\"name\": \"me\"") && user.contains("\"lock_passwd\": true"));
        assert!((&seed).write(b"x").is_err());
    }

    #[test]
    fn user_data_of_the_users_own_is_passed_on() {
        let text = format!(
            "#cloud-config\nwrite_files: []\n{}",
            "# x\n".repeat(200_000)
        );
        let (_folder, path) = saved(&text);
        let args = SeedArgs {
            cloud_init: true,
            user_data: Some(path),
            ..SeedArgs::default()
        };
        assert!(files(&disk(&args, None).unwrap().unwrap()).1 == text);
    }

    #[test]
    fn what_the_guest_could_not_use_is_refused() {
        let said = |text: &str| {
            let (_folder, path) = saved(text);
            let key = disk(&args(&path), None).unwrap_err();
            let args = SeedArgs {
                cloud_init: true,
                user_data: Some(path),
                ..SeedArgs::default()
            };
            let data = disk(&args, None).unwrap_err();
            assert_eq!(
                (key.code, data.code),
                (ExitCode::BadFile, ExitCode::BadFile)
            );
            format!("{key}\n{data}")
        };
        assert!(said("-----BEGIN OPENSSH PRIVATE KEY-----\n").contains("is the private key"));
        assert!(said("hello\n").contains("is no file of SSH public keys"));
        assert!(said("").contains("begins as none of cloud-init's forms"));
        let long = said(&"#".repeat((1 << 20) + 1));
        assert!(long.contains("has more than 64 KiB") && long.contains("has more than 1024 KiB"));
        let nobody = SeedArgs {
            cloud_init: true,
            ..SeedArgs::default()
        };
        let nobody = disk(&nobody, None).unwrap_err().to_string();
        assert!(nobody.starts_with("--cloud-init: has nobody who logs in; add '--ssh-key FILE'"));
        let (_folder, path) = saved(KEY);
        let name = disk(&args(&path), Some("web_1")).unwrap_err().to_string();
        assert_eq!(
            name,
            "--name web_1: cannot be the guest's host name; add '--hostname NAME'"
        );
    }
}
