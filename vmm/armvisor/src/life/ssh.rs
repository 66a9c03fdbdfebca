// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! `armvisor ssh`: becomes ssh, once the guest's server answers.

use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::folder::{Folder, Home};
use crate::cli::SshArgs;
use crate::outcome::{ExitCode, Refusal};

/// Between two tries.
const LOOK: Duration = Duration::from_millis(300);
/// A server says at once what it is. passt takes a connection for a guest that does not listen yet.
const PATIENCE: Duration = Duration::from_secs(5);
/// How every server begins (RFC 4253, 4.2).
const GREETING: &[u8; 4] = b"SSH-";

/// Logs in to the VM; returns only if that fails.
pub fn ssh(home: &Home, args: &SshArgs) -> Result<std::convert::Infallible, Refusal> {
    let folder = home.existing(&args.name)?;
    let saved = folder.load()?;
    let Some(user) = saved.user else {
        let problem =
            "has no SSH key of armvisor's, as it was made without --image and --cloud-init";
        return Err(Refusal::host(folder.subject(), problem));
    };
    let Some(port) = saved.port else {
        let problem =
            "has no port for SSH, as it was made without '--net passt'; log in by its own network";
        return Err(Refusal::host(folder.subject(), problem));
    };
    wait(&folder, port, Duration::from_secs(args.timeout.into()))?;
    let error = Command::new("ssh")
        .args(words(&folder, port, &user, &args.command))
        .exec();
    let problem = match error.kind() {
        io::ErrorKind::NotFound => {
            "is not installed; install the package openssh-client ('sudo apt install openssh-client')"
                .to_owned()
        }
        _ => format!("cannot be started: {error}"),
    };
    Err(Refusal::host("ssh", problem))
}

/// What ssh is told. It looks for options of its own behind a host, too, unless they have ended before.
fn words(folder: &Folder, port: u16, user: &str, command: &[String]) -> Vec<String> {
    let mut words = options(folder, port);
    words.extend(["--".into(), format!("{user}@127.0.0.1")]);
    words.extend_from_slice(command);
    words
}

/// The guest is known by the key of its server, which is new with the VM. The user's own configuration
/// and agent have nothing to do with it.
fn options(folder: &Folder, port: u16) -> Vec<String> {
    let mut words = vec!["-F".into(), "none".into(), "-p".into(), port.to_string()];
    let key = quoted(&folder.file("key"));
    let hosts = quoted(&folder.file("known_hosts"));
    for option in [
        format!("IdentityFile={key}"),
        "IdentitiesOnly=yes".into(),
        format!("UserKnownHostsFile={hosts}"),
        "StrictHostKeyChecking=accept-new".into(),
        format!("HostKeyAlias=armvisor-{}", folder.name),
        "LogLevel=ERROR".into(),
    ] {
        words.extend(["-o".into(), option]);
    }
    words
}

/// A path as ssh_config(5) wants it: blanks are in quotes, and a per cent sign is not the start of a token.
fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display().to_string().replace('%', "%%"))
}

/// Waits for the guest's server.
fn wait(folder: &Folder, port: u16, limit: Duration) -> Result<(), Refusal> {
    let end = Instant::now() + limit;
    let name = &folder.name;
    loop {
        let vm = folder.running().map_err(|error| folder.refuse(&error))?;
        if vm.is_none() {
            let problem = format!("does not run; start it with 'armvisor up {name}'");
            return Err(Refusal::new(ExitCode::NoSuchVm, folder.subject(), problem));
        }
        match greets(port) {
            Ok(true) => return Ok(()),
            Ok(false) => log::debug!("something else answers on port {port}"),
            Err(error) => log::debug!("port {port}: {error}"),
        }
        if Instant::now() >= end {
            let problem = format!(
                "no SSH server answers in it after {} s; 'armvisor logs {name}' shows its console",
                limit.as_secs()
            );
            return Err(Refusal::new(ExitCode::NoAnswer, folder.subject(), problem));
        }
        std::thread::sleep(LOOK);
    }
}

fn greets(port: u16) -> io::Result<bool> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut said = [0; GREETING.len()];
    stream.read_exact(&mut said)?;
    Ok(said == *GREETING)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_server_is_one_that_greets() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let serve = move |greeting: &'static [u8]| {
            let listener = listener.try_clone().unwrap();
            std::thread::spawn(move || listener.accept().unwrap().0.write_all(greeting).unwrap())
        };
        for (greeting, expected) in [
            (&b"SSH-2.0-x\r\n"[..], Some(true)),
            (b"HTTP/1.1", Some(false)),
            (b"SS", None),
        ] {
            let server = serve(greeting);
            assert_eq!(greets(port).ok(), expected);
            server.join().unwrap();
        }
    }

    #[test]
    fn paths_are_quoted_for_ssh() {
        let folder = Folder::at(Path::new("/a b/100%/web")).unwrap();
        let words = options(&folder, 4022).join(" ");
        assert!(words.starts_with("-F none -p 4022 -o IdentityFile=\"/a b/100%%/web/key\" -o "));
        assert!(words.contains("HostKeyAlias=armvisor-web"));
    }

    #[test]
    fn the_words_of_a_command_are_no_options_of_ssh() {
        let folder = Folder::at(Path::new("/vms/web")).unwrap();
        let command = ["-l".to_owned(), "x".to_owned()];
        let words = words(&folder, 4022, "me", &command);
        assert!(words.ends_with(&["--", "me@127.0.0.1", "-l", "x"].map(str::to_owned)));
    }
}
