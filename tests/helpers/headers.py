# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A folder that looks like a kernel's headers to module/compat/headers.sh."""

from pathlib import Path

OPTIONS = ("ARM64", "MODULES", "MMU_NOTIFIER", "EVENTFD", "CRYPTO_HASH")


def fake_headers(folder: Path, release: str = "6.12.9-arm64", without: str = "") -> Path:
    """Headers of a kernel of that release, configured without one of the options."""
    for path in ("include/generated", "include/config"):
        (folder / path).mkdir(parents=True)
    lines = [f"#define CONFIG_{name} 1\n" for name in OPTIONS if name != without]
    (folder / "include/generated/autoconf.h").write_text("".join(lines))
    (folder / "include/config/kernel.release").write_text(f"{release}\n")
    for name in ("Makefile", "Module.symvers"):
        (folder / name).touch()
    return folder
