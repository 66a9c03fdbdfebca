# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Kernel images in all their forms, and modules with their dependencies."""

import gzip
import lzma
import shutil
import struct
import subprocess

import pytest

from armvisor_lab.archive import kimage
from armvisor_lab.archive.kernels import from_folder
from armvisor_lab.archive.kmodules import Modules, canonical, own_dependencies, plain
from armvisor_lab.errors import LabError

IMAGE = bytes(56) + b"ARMd" + bytes(4) + b"kernel text " * 1000


def zboot(kind: str, payload: bytes) -> bytes:
    header = b"MZ\0\0zimg" + struct.pack("<II", 64, len(payload)) + bytes(8)
    return header + kind.encode().ljust(32, b"\0") + bytes(8) + payload + b"trailing signature"


def test_a_raw_image_stays():
    assert kimage.raw_image(IMAGE, "k") is IMAGE


def test_gzip_with_something_behind_it():
    assert kimage.raw_image(gzip.compress(IMAGE) + b"\0" * 77, "k") == IMAGE


@pytest.mark.parametrize("kind", ["gzip", "lzma", "xzkern"])
def test_zboot(kind):
    payload = gzip.compress(IMAGE) if kind == "gzip" else lzma.compress(IMAGE)
    assert kimage.raw_image(zboot(kind, payload), "k") == IMAGE


@pytest.mark.skipif(not shutil.which("zstd"), reason="the program zstd is missing")
def test_zboot_with_zstd():
    packed = subprocess.run(["zstd", "-qc"], input=IMAGE, capture_output=True, check=True).stdout
    assert kimage.raw_image(zboot("zstd22", packed), "k") == IMAGE


# By name: gzip writes the time into what it packs, and all of pytest's workers need the same cases.
NO_KERNELS = {
    "empty": (b"", "not an arm64 Linux kernel"),
    "elf": (b"\x7fELF" + bytes(200), "not an arm64 Linux kernel"),
    "header-cut": (IMAGE[:56], "not an arm64 Linux kernel"),
    "gzip-of-text": (gzip.compress(b"no kernel" * 50), "not an arm64 Linux kernel"),
    "gzip-cut": (gzip.compress(IMAGE)[:-40], "damaged"),
    "zboot-gzip-bad": (zboot("gzip", b"no gzip data"), "damaged"),
    "zboot-lzma-bad": (zboot("lzma", b"no lzma data"), "damaged"),
    "zboot-unknown": (zboot("brotli", b"x"), "'brotli'"),
    "zboot-cut": (zboot("gzip", gzip.compress(IMAGE))[:80], "truncated"),
    "zboot-header-cut": (b"MZ\0\0zimg", "truncated"),
}


@pytest.mark.parametrize(("data", "says"), NO_KERNELS.values(), ids=NO_KERNELS.keys())
def test_what_is_no_kernel_is_refused(data, says):
    with pytest.raises(LabError, match=says):
        kimage.raw_image(data, "k")


@pytest.fixture
def modules(tmp_path):
    folder = tmp_path / "6.99-test"
    folder.mkdir()
    (folder / "modules.dep").write_text(
        "kernel/drivers/vhost/vhost_vsock.ko.xz: kernel/net/vmw_vsock/common.ko.xz "
        "kernel/drivers/vhost/vhost.ko.xz kernel/drivers/vhost/vhost_iotlb.ko.xz "
        "kernel/net/vmw_vsock/vsock.ko.xz\n"
        "kernel/net/vmw_vsock/common.ko.xz: kernel/net/vmw_vsock/vsock.ko.xz\n"
        "kernel/drivers/vhost/vhost.ko.xz: kernel/drivers/vhost/vhost_iotlb.ko.xz\n"
        "kernel/drivers/vhost/vhost_iotlb.ko.xz:\n"
        "kernel/net/vmw_vsock/vsock.ko.xz:\n"
        "kernel/drivers/net/tun-tap.ko.xz:\n"
    )
    (folder / "modules.builtin").write_text("kernel/drivers/virtio/virtio.ko\n")
    return Modules(folder)


def test_dependencies_come_first_and_once(modules):
    order = [canonical(path.name) for path in modules.load_order(["vhost_vsock", "vhost"])]
    assert sorted(order) == ["common", "vhost", "vhost_iotlb", "vhost_vsock", "vsock"]
    assert order.index("vsock") < order.index("common") < order.index("vhost_vsock")
    assert order.index("vhost_iotlb") < order.index("vhost") < order.index("vhost_vsock")


def test_names_are_the_kernels(modules):
    assert modules.load_order(["tun-tap"]) == modules.load_order(["tun_tap"]) != []


def test_what_is_built_in_needs_no_loading(modules):
    assert modules.load_order(["virtio"]) == []


def test_an_unknown_module_is_refused_with_the_kernel_s_name(modules):
    with pytest.raises(LabError, match=r"6\.99-test has no module 'nosuch'"):
        modules.load_order(["nosuch"])


def test_a_folder_without_depmod_is_refused(tmp_path):
    with pytest.raises(LabError, match="depmod"):
        Modules(tmp_path)


def test_modules_are_decompressed(tmp_path):
    (tmp_path / "a.ko.xz").write_bytes(lzma.compress(b"\x7fELF module"))
    (tmp_path / "b.ko").write_bytes(b"\x7fELF module")
    assert plain(tmp_path / "a.ko.xz") == plain(tmp_path / "b.ko") == b"\x7fELF module"


@pytest.mark.parametrize(
    ("info", "needs"),
    [(b"\0depends=\0", []), (b"\0depends=tun,vhost-net\0", ["tun", "vhost-net"]), (b"\0", [])],
)
def test_what_a_module_file_needs(info, needs):
    assert own_dependencies(b"\x7fELF" + info) == needs


def test_a_module_file_that_is_none_is_refused():
    with pytest.raises(LabError, match="ELF"):
        own_dependencies(b"hello")


def test_a_kernel_folder_without_its_parts_is_refused(tmp_path):
    with pytest.raises(LabError, match="holds no Image"):
        from_folder(tmp_path)
