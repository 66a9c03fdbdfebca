# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`lab packages` and `lab kernel`."""

import argparse
from typing import Any

from armvisor_lab.archive import debugkernel, kernels
from armvisor_lab.archive.apt import SUITES
from armvisor_lab.archive.packages import Packages, fetched
from armvisor_lab.cli.board import kernel_role, say


def add(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add the commands to the command line's grammar."""
    packages = commands.add_parser("packages", help="Debian arm64 packages in the cache")
    actions = packages.add_subparsers(metavar="ACTION", required=True, parser_class=type(packages))
    get = actions.add_parser("get", help="fetch a package and print its path")
    get.add_argument("name", help="as for apt: NAME, NAME=VERSION, NAME:ARCHITECTURE")
    get.add_argument("--suite", choices=SUITES, default="trixie", help="default %(default)s")
    get.add_argument("--deps", action="store_true", help="also its dependencies")
    get.add_argument("--unpack", action="store_true", help="print the unpacked folder instead")
    get.set_defaults(run=_get)
    files = actions.add_parser("files", help="list the cached packages, with versions")
    files.set_defaults(run=_files)
    update = actions.add_parser(
        "update", help="forget recorded versions; the next use fetches current ones"
    )
    update.set_defaults(run=_update)

    kernel = commands.add_parser("kernel", help="stock Debian arm64 kernels")
    actions = kernel.add_subparsers(metavar="ACTION", required=True, parser_class=type(kernel))
    path = actions.add_parser("path", help="print the path of a kernel's part, fetching it")
    path.add_argument(
        "kernel", type=kernel_role, metavar="KERNEL", help=", ".join(kernels.SUITE_OF)
    )
    path.add_argument("--flavour", choices=kernels.FLAVOURS, default="cloud")
    path.add_argument(
        "--what",
        choices=("image", "vmlinuz", "modules", "headers", "config", "release", "version"),
        default="image",
        help="image: raw Image (default); vmlinuz: as shipped; headers: folder for make -C; "
        "release: as uname says; version: the package's",
    )
    path.set_defaults(run=_path)
    names = actions.add_parser("list", help="names of kernels, and the version recorded for each")
    names.set_defaults(run=_list)
    debug = actions.add_parser("debug", help="build a kernel with checkers; prints its folder")
    debug.add_argument("kernel", choices=debugkernel.ROLES, nargs="?", default=kernels.DEFAULT)
    kinds = debug.add_mutually_exclusive_group()
    kinds.add_argument(
        "--guest", dest="kind", action="store_const", const="guest", default="board",
        help="with the drivers of a guest's devices",
    )  # fmt: skip
    kinds.add_argument(
        "--self-test", dest="kind", action="store_const", const="self-test",
        help="a guest's kernel that runs the kernel's self-tests when it boots",
    )  # fmt: skip
    kinds.add_argument(
        "--phone", dest="kind", action="store_const", const="phone",
        help="a host's kernel with 39-bit addresses and a shadow call stack, without checkers",
    )  # fmt: skip
    kinds.add_argument(
        "--distribution", dest="kind", action="store_const", const="distribution",
        help="a host's kernel with what Ubuntu, Fedora and RHEL turn on and Debian does not",
    )  # fmt: skip
    debug.set_defaults(run=_debug)


def _get(options: argparse.Namespace) -> int:
    packages = Packages(options.suite, say)
    name = options.name
    found = packages.closure(name) if options.deps else [packages.get(name)]
    for package in found:
        print(package.unpacked() if options.unpack else package.deb)
    return 0


def _files(_options: argparse.Namespace) -> int:
    for suite, packages in fetched().items():
        for package in packages:
            print(f"{suite:16} {package.name} {package.version} {package.architecture}")
    return 0


def _update(_options: argparse.Namespace) -> int:
    for suite in SUITES:
        Packages(suite, say).update()
    return 0


def _path(options: argparse.Namespace) -> int:
    if options.what == "headers":
        print(kernels.headers(options.kernel, options.flavour, say))
    else:
        kernel = kernels.get(options.kernel, options.flavour, say)
        print(getattr(kernel, options.what))
    return 0


def _list(_options: argparse.Namespace) -> int:
    for role, suite in kernels.SUITE_OF.items():
        print(f"{role:10} {suite:17} {kernels.recorded(role) or 'not fetched yet'}")
    return 0


def _debug(options: argparse.Namespace) -> int:
    print(debugkernel.get(options.kernel, say, options.kind))
    return 0
