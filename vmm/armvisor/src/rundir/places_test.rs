// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The search for VMs in other users' directories. The user who runs the tests plays the other
//! user: this user is one who does not exist.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

use super::*;

/// Nobody's number.
const ME: u32 = 4_000_000_002;

struct World {
    root: tempfile::TempDir,
    other: u32,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("run/user")).unwrap();
        fs::create_dir_all(root.path().join("tmp")).unwrap();
        World {
            root,
            other: euid(),
        }
    }

    fn directory(&self, path: &str) -> PathBuf {
        let path = path.replace("UID", &self.other.to_string());
        let path = self.root.path().join(path);
        fs::create_dir_all(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
        path
    }

    fn places(&self, everybody: bool) -> Places {
        Places::below(self.root.path(), None, ME, everybody)
    }

    /// The VMs that are found, as USER/NAME.
    fn found(&self) -> Vec<String> {
        let mut found = Vec::new();
        let visit = |name: &str, user: &str, _| found.push(format!("{user}/{name}"));
        self.places(true).visit(visit).unwrap();
        found
    }

    fn refusal(&self, vm: &str) -> Refusal {
        self.places(true).connect(vm).unwrap_err()
    }
}

fn listen(directory: &Path, name: &str) -> UnixListener {
    let listener = UnixListener::bind(directory.join(format!("{name}.sock"))).unwrap();
    listener.set_nonblocking(true).unwrap();
    listener
}

#[test]
fn root_finds_the_vms_of_all_users_and_others_do_not() {
    let world = World::new();
    let _web = listen(&world.directory("run/user/UID/armvisor"), "web");
    let _db = listen(&world.directory("tmp/armvisor-UID"), "db");
    let user = users::name_of(world.other);
    assert_eq!(world.found(), [format!("{user}/web"), format!("{user}/db")]);
    let everybody = world.places(true);
    for vm in [
        "web",
        &format!("{user}/web"),
        &format!("{}/db", world.other),
    ] {
        everybody.connect(vm).unwrap();
    }
    let alone = world.places(false);
    let refusal = alone.connect("web").unwrap_err();
    assert_eq!(refusal.code, ExitCode::NoSuchVm);
    let refusal = alone.connect(&format!("{user}/web")).unwrap_err();
    assert!(refusal.to_string().ends_with("as that user, or as root"));
}

#[test]
fn who_finds_none_says_where_it_looked() {
    let world = World::new();
    let root = world.root.path().display();
    let refusal = world.refusal("web");
    assert_eq!(refusal.code, ExitCode::NoSuchVm);
    let looked = format!(
        "VM web: no VM of that name runs (looked in {root}/tmp/armvisor-{ME}, \
         {root}/run/user/{ME}/armvisor, {root}/run/user/*/armvisor and {root}/tmp/armvisor-*); \
         'armvisor list' shows those that do"
    );
    assert_eq!(refusal.to_string(), looked);
    let refusal = world.refusal("no such user/web");
    assert!(
        refusal
            .to_string()
            .contains("there is no user no such user")
    );
}

#[test]
fn two_of_a_name_are_told_apart() {
    let world = World::new();
    let _one = listen(&world.directory("run/user/UID/armvisor"), "web");
    let _other = listen(&world.directory("tmp/armvisor-UID"), "web");
    let refusal = world.refusal("web");
    assert_eq!(refusal.code, ExitCode::Usage);
    let user = users::name_of(world.other);
    let names = format!("write {user}/web or {user}/web");
    assert!(refusal.to_string().ends_with(&names), "{refusal}");
}

#[test]
fn no_link_leads_root_to_another_socket() {
    let world = World::new();
    let directory = world.directory("run/user/UID/armvisor");
    let elsewhere = world.directory("elsewhere");
    let victim = listen(&elsewhere, "docker");
    symlink(elsewhere.join("docker.sock"), directory.join("web.sock")).unwrap();
    symlink(
        &elsewhere,
        world
            .root
            .path()
            .join(format!("tmp/armvisor-{}", world.other)),
    )
    .unwrap();
    assert!(world.found().is_empty());
    assert_eq!(world.refusal("web").code, ExitCode::NoSuchVm);
    assert_eq!(world.refusal("docker").code, ExitCode::NoSuchVm);
    let connected = victim.accept();
    assert_eq!(connected.unwrap_err().kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn a_directory_of_another_owner_or_open_to_all_is_passed_over() {
    let world = World::new();
    let open = world.directory("run/user/UID/armvisor");
    let listeners = [listen(&open, "web")];
    fs::set_permissions(&open, Permissions::from_mode(0o770)).unwrap();
    assert!(world.found().is_empty());
    fs::set_permissions(&open, Permissions::from_mode(0o700)).unwrap();
    assert_eq!(world.found().len(), 1);
    let not_theirs = world.directory(&format!("tmp/armvisor-{}", ME - 1));
    let posing = listen(&not_theirs, "posing");
    assert_eq!(world.found().len(), 1);
    assert_eq!(world.refusal("posing").code, ExitCode::NoSuchVm);
    let connected = posing.accept();
    assert_eq!(connected.unwrap_err().kind(), io::ErrorKind::WouldBlock);
    drop(listeners);
}

#[test]
fn a_place_that_somebody_else_made_does_not_keep_a_user_from_the_first() {
    let world = World::new();
    let own = world.directory("run/user/UID/armvisor");
    let _web = listen(&own, "web");
    let tmp = world.directory("tmp/armvisor-UID");
    fs::set_permissions(&tmp, Permissions::from_mode(0o777)).unwrap();
    let xdg = world
        .root
        .path()
        .join("run/user")
        .join(world.other.to_string());
    fs::set_permissions(&xdg, Permissions::from_mode(0o700)).unwrap();
    let places = Places::below(world.root.path(), None, world.other, false);
    places.connect("web").unwrap();
    let mut found = Vec::new();
    places
        .visit(|name, _, _| found.push(name.to_owned()))
        .unwrap();
    assert_eq!(found, ["web"]);
}

#[test]
fn sockets_of_killed_vms_are_removed_by_their_user_only() {
    let world = World::new();
    let directory = world.directory("run/user/UID/armvisor");
    drop(listen(&directory, "dead"));
    assert!(world.found().is_empty());
    assert!(directory.join("dead.sock").exists());
    Places::from(RunDir::at(&directory))
        .visit(|_, _, _| ())
        .unwrap();
    assert!(!directory.join("dead.sock").exists());
}

#[test]
fn a_users_own_places_have_no_vm_of_others() {
    let world = World::new();
    let _web = listen(&world.directory("run/user/UID/armvisor"), "web");
    world.places(true).connect("web").unwrap();
    let own = world.places(true).own();
    assert_eq!(own.connect("web").unwrap_err().code, ExitCode::NoSuchVm);
    let other = users::name_of(world.other);
    assert!(own.connect(&format!("{other}/web")).is_err());
    own.visit(|name, _, _| panic!("{name}")).unwrap();
    assert!(!own.looked().contains('*') && own.looked().contains(&format!("run/user/{ME}")));
}
