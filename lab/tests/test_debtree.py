# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""The tar of unpacked packages: files in Debian's places, and a database that dpkg reads."""

import subprocess
import tarfile

import pytest

from armvisor_lab.archive.debtree import Tree, Triggers, database_name, place
from armvisor_lab.archive.packages import Package
from armvisor_lab.errors import LabError

CONTROL = """\
Package: {name}
Version: 1.0
Architecture: arm64
Maintainer: None <none@example.org>
Description: a package
 for a test
"""


def make_deb(folder, name, control_files=(), more=""):
    root = folder / name
    (root / "DEBIAN").mkdir(parents=True)
    (root / "DEBIAN/control").write_text(CONTROL.format(name=name) + more)
    for file, text in control_files:
        (root / "DEBIAN" / file).write_text(text)
        (root / "DEBIAN" / file).chmod(0o755 if file.endswith("inst") else 0o644)
    for file in ("etc/own.conf", "usr/bin/own", "lib/own/data"):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(file)
    (root / "usr/bin/own").chmod(0o4755)
    deb = folder / f"{name}.deb"
    build = ["dpkg-deb", "--root-owner-group", "-Znone", "--build", str(root), str(deb)]
    subprocess.run(build, check=True, capture_output=True)
    return deb


def tree_of(tmp_path, monkeypatch, **deb):
    monkeypatch.setattr(Package, "deb", property(lambda self: tmp_path / self.file))
    made = make_deb(tmp_path, "own", **deb)
    tree = Tree(tmp_path / "tree.tar")
    tree.package(Package("own", "1.0", "arm64", made.name))
    tree.finish()
    return tarfile.open(tmp_path / "tree.tar")


def text(tar, name):
    return tar.extractfile(name).read().decode()


def test_files_have_roots_owner_and_their_modes(tmp_path, monkeypatch):
    with tree_of(tmp_path, monkeypatch) as tar:
        program = tar.getmember("usr/bin/own")
        assert (program.uid, program.gid, program.mode & 0o7777) == (0, 0, 0o4755)
        assert (program.uname, program.gname) == ("", "")


def test_what_belongs_behind_a_link_into_usr_is_there(tmp_path, monkeypatch):
    with tree_of(tmp_path, monkeypatch) as tar:
        assert text(tar, "usr/lib/own/data") == "lib/own/data"
        assert not [name for name in tar.getnames() if name.startswith("lib/")]


def test_dpkg_itself_reads_the_database(tmp_path, monkeypatch):
    control = (("conffiles", "/etc/own.conf\n"), ("postinst", "#!/bin/sh\n"))
    with tree_of(tmp_path, monkeypatch, control_files=control) as tar:
        tar.extractall(tmp_path / "root", filter="tar")
    query = ["dpkg-query", f"--admindir={tmp_path / 'root/var/lib/dpkg'}"]
    wanted = "${Package} ${Version} ${Status} ${Conffiles}"
    said = subprocess.run([*query, "-W", "-f", wanted], capture_output=True, text=True, check=True)
    # MD5 of "etc/own.conf".
    assert said.stdout.split() == [
        "own", "1.0", "install", "ok", "unpacked", "/etc/own.conf",
        "f1a1502dd6a12df669508266acfa4bb5",
    ]  # fmt: skip
    listed = subprocess.run([*query, "-L", "own"], capture_output=True, text=True, check=True)
    assert "/usr/bin/own" in listed.stdout.split()
    assert (tmp_path / "root/var/lib/dpkg/info/own.postinst").stat().st_mode & 0o777 == 0o755


def test_libraries_of_several_architectures_have_theirs_in_the_name():
    same = CONTROL.format(name="libown") + "Multi-Arch: same\n"
    assert database_name(same) == "libown:arm64"
    assert database_name(CONTROL.format(name="own") + "Multi-Arch: foreign\n") == "own"


def test_triggers_are_those_of_files_and_those_with_names():
    triggers = Triggers()
    triggers.add("one", "# none\ninterest-noawait /usr/lib/one\nactivate ldconfig\n")
    triggers.add("two:arm64", "interest ldconfig\ninterest-await update-it\n")
    assert triggers.files == ["/usr/lib/one one/noawait\n"]
    assert triggers.named == {"ldconfig": ["two:arm64\n"], "update-it": ["two:arm64\n"]}


@pytest.mark.parametrize(
    ("name", "where"),
    [("./", ""), ("./lib/x", "usr/lib/x"), ("./usr/lib/x", "usr/lib/x"), ("/bin/x", "usr/bin/x"),
     ("./lib", "lib"), ("./etc/x/", "etc/x"), ("./sbin/../x", "usr/sbin/../x")],
)  # fmt: skip
def test_place(name, where):
    assert place(name) == where


def test_a_damaged_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(Package, "deb", property(lambda self: tmp_path / self.file))
    (tmp_path / "bad.deb").write_bytes(b"not a package")
    tree = Tree(tmp_path / "tree.tar")
    with pytest.raises(LabError, match=r"bad\.deb"):
        tree.package(Package("bad", "1", "arm64", "bad.deb"))
