# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""arm64 kernel files: from the form that a distribution ships to the raw Image that QEMU loads.

Three forms are in use: the raw Image, the Image compressed with gzip, and the EFI "zboot" file, a
PE executable that carries a compressed Image and says so in its header (`zimg` at offset 4, then
payload offset and size, then the compression's name at offset 24).
"""

import lzma
import shutil
import struct
import subprocess
import zlib

from armvisor_lab.errors import LabError

_IMAGE_MAGIC = b"ARMd"
_IMAGE_MAGIC_AT = 56
_MAX_IMAGE = 512 << 20


def is_image(data: bytes) -> bool:
    """Whether `data` is a raw arm64 Image."""
    return data[_IMAGE_MAGIC_AT : _IMAGE_MAGIC_AT + 4] == _IMAGE_MAGIC


def raw_image(data: bytes, name: str) -> bytes:
    """The raw Image inside the kernel file `data`; `name` is for messages."""
    if data[4:8] == b"zimg":
        data = _zboot_payload(data, name)
    elif data[:2] == b"\x1f\x8b":
        data = _decompress("gzip", data, name)
    if not is_image(data):
        raise LabError(
            f"{name}: not an arm64 Linux kernel",
            "expected a raw Image, an Image.gz or an EFI zboot file",
        )
    return data


def _zboot_payload(data: bytes, name: str) -> bytes:
    if len(data) < 64:
        raise LabError(f"{name}: truncated within its header")
    offset, size = struct.unpack_from("<II", data, 8)
    kind = data[24:56].split(b"\0", 1)[0].decode("ascii", "replace")
    if size == 0 or offset + size > len(data):
        raise LabError(f"{name}: truncated, its payload ends beyond the file")
    return _decompress(kind, data[offset : offset + size], name)


def _decompress(kind: str, data: bytes, name: str) -> bytes:
    try:
        if kind == "gzip":
            return _gunzip(data)
        if kind in ("lzma", "xzkern", "xz"):
            return lzma.decompress(data)
        if kind in ("zstd", "zstd22"):
            return _unzstd(data, name)
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise LabError(f"{name}: its {kind} data is damaged: {error}") from error
    raise LabError(f"{name}: compressed with {kind!r}, which the lab does not know")


def _gunzip(data: bytes) -> bytes:
    # A kernel may be followed by padding or a signature, which gzip.decompress refuses.
    engine = zlib.decompressobj(wbits=31)
    image = engine.decompress(data, _MAX_IMAGE)
    if not engine.eof:
        raise EOFError("it ends early or is larger than any kernel")
    return image


def _unzstd(data: bytes, name: str) -> bytes:
    if not (zstd := shutil.which("zstd")):
        raise LabError(f"{name}: needs the program zstd", "run tools/setup")
    done = subprocess.run([zstd, "-dcq"], input=data, capture_output=True, check=False)
    if done.returncode != 0:
        raise OSError(done.stderr.decode(errors="replace").strip())
    return done.stdout
