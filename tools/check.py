# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`make check`: formatting, lints, licences, sizes, figures in documents.

A check is a row: a name and a function that returns the complaints it has. All run; the exit status
is 1 if any complained. `tools/check.py NAME…` runs only those checks.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "lab/src"))
from armvisor_lab import paths  # noqa: E402

CACHE = paths.cache()

# Longest file and function that pass. Sizes above the soft bound are only printed.
FILE_LINES = (600, 800)
FUNCTION_LINES = (60, 100)

# Longest subject of a commit, for commits after this revision.
SUBJECT = 72
SUBJECTS_SINCE = "496f5f2"

GPL = "GPL-2.0"
PERMISSIVE = "Apache-2.0 OR BSD-3-Clause"
# Headers of Linux, as they are there.
CARRIED = "module/uapi/"
LICENCES = {
    CARRIED: "GPL-2.0 WITH Linux-syscall-note",
    "module/": GPL,
    "bounce/": GPL,
    "guests/": GPL,
    "silicon/costs/": GPL,
}
SOURCES = (".c", ".h", ".S", ".rs", ".py", ".sh", ".lds")
FORMATTED = ["lab", "tests", "tools"]
WORKERS = os.cpu_count() or 1

# Files without a complaint that checkpatch's cache remembers: those of some checkouts.
CLEAN_FILES = 5000

# Types of checkpatch's complaints to ignore, each with the reason: this code is not in the kernel's
# tree, or checkpatch does not know the style of the kernel's newest files.
CHECKPATCH_IGNORE = {
    "FILE_PATH_CHANGES": "there is no MAINTAINERS file here",
    "SPDX_LICENSE_TAG": "licence lines are checked above, for every language",
    "EMBEDDED_FILENAME": "a file's first comment may name the manual's section of that name",
    "LINUX_VERSION_CODE": "bounce/compat may ask; module/ must not, by a check of its own",
    "CONSTANT_CONVERSION": "code that also builds outside the kernel has no cpu_to_le*",
    "PREFER_KERNEL_TYPES": "the same",
    "VOLATILE": "bare-metal guests have no READ_ONCE",
    "AVOID_EXTERNS": "symbols of the assembler have no header",
    "EMBEDDED_FUNCTION_NAME": "the name of a test case, or a word, not of a function",
    "COMPLEX_MACRO": "tables are made by macros; what they make are rows",
    "MULTISTATEMENT_MACRO_USE_DO_WHILE": "the same",
    "LEADING_SPACE": "assembly in strings of several lines",
    "PREFER_DEFINED_ATTRIBUTE_MACRO": "guests and user-space tests have no linux/compiler.h",
    "USE_NEGATIVE_ERRNO": "user-space tests return errno as it is",
    "ENOSYS": "what KVM_RUN answers to an access that the hardware does not describe",
    "CONSTANT_COMPARISON": "bounds read lower <= value, in the order of numbers",
}


def run(*command: str, cwd: Path = TOP, **env: str) -> list[str]:
    """A command's output lines if it failed, else none."""
    try:
        done = subprocess.run(
            command, cwd=cwd, env=os.environ | env, text=True, errors="replace",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except FileNotFoundError:
        return [f"{command[0]} is not installed: run 'make setup'"]
    if done.returncode == 0:
        return []
    return done.stdout.splitlines() or [f"{command[0]} ended with status {done.returncode}"]


def tracked(*suffixes: str) -> list[Path]:
    """Files with those endings, tracked by git or not ignored, relative to the top."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=TOP, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    paths = sorted(Path(name) for name in listed.split("\0") if name.endswith(suffixes))
    return [path for path in paths if (TOP / path).is_file()]


def rust_format() -> list[str]:
    return run("tools/cargo", "fmt", "--all", "--check")


def rust_lints() -> list[str]:
    lint = ("clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings")
    return run("tools/cargo", *lint) + run("tools/cargo", *lint, ARMVISOR_TARGET="host")


def python_lints() -> list[str]:
    ruff = str(Path(sys.executable).parent / "ruff")
    config = "--config=lab/pyproject.toml"
    return run(ruff, "format", config, "--quiet", "--diff", *FORMATTED) + run(
        ruff, "check", config, *FORMATTED
    )


def python_types() -> list[str]:
    """What mypy says of the lab and of the tools; lab/pyproject.toml says how strict it is."""
    mypy = str(Path(sys.executable).parent / "mypy")
    config = ("--config-file=lab/pyproject.toml", f"--cache-dir={TOP / 'build/mypy'}")
    tools = [str(path) for path in tracked(".py") if path.parts[0] == "tools"]
    return run(mypy, *config, "--no-error-summary", "lab/src", *tools)


def shell_lints() -> list[str]:
    scripts = [
        str(path)
        for path in tracked("")
        if (TOP / path).read_bytes()[:32].startswith((b"#!/usr/bin/env bash", b"#!/bin/sh"))
    ]
    # With what they source, tools/cache.sh.
    return run("shellcheck", "-x", *scripts)


def own(*suffixes: str) -> list[Path]:
    """As tracked(), without what is carried from elsewhere."""
    return [path for path in tracked(*suffixes) if not str(path).startswith(CARRIED)]


def licences() -> list[str]:
    """Every source's first two lines name the licence of its folder."""
    wrong = []
    for path in tracked(*SOURCES):
        wanted = next((v for k, v in LICENCES.items() if str(path).startswith(k)), PERMISSIVE)
        with (TOP / path).open(errors="replace") as file:
            head = file.readline() + file.readline()
        if f"SPDX-License-Identifier: {wanted}" not in head:
            wrong.append(f"{path}: its first lines must have 'SPDX-License-Identifier: {wanted}'")
    return wrong


def checkpatch_script() -> Path:
    """The path of checkpatch.pl from Debian's kernel source, which is fetched at the first use."""
    home = CACHE / "checkpatch"
    script = home / "scripts" / "checkpatch.pl"
    if script.exists():
        return script
    found = subprocess.run(
        ["bin/lab", "packages", "get", "linux-source-6.1", "--suite", "bookworm"],
        cwd=TOP, check=True, stdout=subprocess.PIPE, text=True,
    ).stdout.split()[-1]  # fmt: skip
    wanted = {f"scripts/{n}" for n in ("checkpatch.pl", "spelling.txt", "const_structs.checkpatch")}
    unpack = ["dpkg-deb", "--fsys-tarfile", found]
    with subprocess.Popen(unpack, stdout=subprocess.PIPE) as deb:
        with tarfile.open(fileobj=deb.stdout, mode="r|") as outer:
            source = next(m for m in outer if m.name.endswith(".tar.xz"))
            with tarfile.open(fileobj=outer.extractfile(source), mode="r|xz") as inner:
                for member in inner:
                    name = member.name.partition("/")[2]
                    if name in wanted:
                        target = home / name
                        target.parent.mkdir(parents=True, exist_ok=True)
                        content = inner.extractfile(member)
                        assert content, f"{member.name} is no file"
                        target.write_bytes(content.read())
                        wanted.remove(name)
                    if not wanted:
                        break
        deb.kill()
    script.chmod(0o755)
    return script


def module_layers() -> list[str]:
    """Folders of the modules include only what they may: module/layers.toml, and bounce/core."""
    sys.path.insert(0, str(TOP / "tools"))
    import layers

    return layers.complaints() + layers.bounce_complaints()


def staleness() -> list[str]:
    """The table of staleness tokens in module/vm/vm.h names the fields that exist."""
    return run(sys.executable, "tools/stale.py")


VERSIONS = re.compile(r"\b(?:LINUX_VERSION_\w+|KERNEL_VERSION|RHEL_RELEASE_\w+)\b|linux/version\.h")
FEATURE_TEST = re.compile(r"^#ifdef AV_TEST_(\w+)$", re.M)


def kernel_versions() -> list[str]:
    """The module asks what a kernel has, never its version, and has no idle or missing question."""
    wrong = []
    sources = {p: (TOP / p).read_text() for p in own(".c", ".h", ".S") if p.parts[0] == "module"}
    for path, text in sources.items():
        for number, line in enumerate(text.splitlines(), 1):
            if found := VERSIONS.search(line):
                wrong.append(f"{path}:{number}: {found[0]}: see module/compat/feature_tests.h")
    asked = set(FEATURE_TEST.findall((TOP / "module/compat/feature_tests.h").read_text()))
    used = {name for text in sources.values() for name in re.findall(r"\bAV_HAS_([A-Z]\w*)", text)}
    wrong += [
        f"module/compat/feature_tests.h: no code uses {name}" for name in sorted(asked - used)
    ]
    wrong += [f"module/compat/feature_tests.h: no test of {name}" for name in sorted(used - asked)]
    return wrong


def clean_marks(script: Path, options: list[str], sources: list[str]) -> dict[str, Path]:
    """For each source, the file that is there if checkpatch has found nothing in it before.

    Its name is of all that a verdict depends on: checkpatch, its options, the source.
    """
    rules = hashlib.sha256(repr(options).encode())
    for path in sorted(script.parent.iterdir()):
        rules.update(hashlib.sha256(path.read_bytes()).digest())
    marks = {}
    for name in sources:
        content = hashlib.sha256((TOP / name).read_bytes()).hexdigest()
        key = hashlib.sha256(f"{rules.hexdigest()} {content} {name}".encode()).hexdigest()
        marks[name] = CACHE / "checkpatch/clean" / key
    return marks


def mark_clean(marks: list[Path]) -> None:
    """Remember these, and forget those that no check asked for the longest."""
    folder = CACHE / "checkpatch/clean"
    folder.mkdir(parents=True, exist_ok=True)
    for mark in marks:
        mark.touch()
    # Another checkout may do the same.
    with contextlib.suppress(FileNotFoundError):
        known = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)
        for old in known[:-CLEAN_FILES]:
            old.unlink()


def kernel_style() -> list[str]:
    """What checkpatch says of the C sources; of those in which it found nothing before, nothing."""
    folders = ("module/", "bounce/", "guests/", "lab/plugins/", "silicon/")
    sources = [str(p) for p in own(".c", ".h", ".S") if str(p).startswith(folders)]
    script = checkpatch_script()
    options = ["--no-tree", "--no-summary", "--terse", "--max-line-length=100", "--show-types"]
    options.append(f"--ignore={','.join(CHECKPATCH_IGNORE)}")
    marks = clean_marks(script, options, sources)
    unknown = [name for name in sources if not marks[name].exists()]
    parts = [names for n in range(WORKERS) if (names := unknown[n::WORKERS])]
    with ThreadPoolExecutor(WORKERS) as pool:
        told = pool.map(lambda names: run("perl", str(script), *options, "-f", *names), parts)
        complaints = sorted(line for lines in told for line in lines)
    guilty = {line.partition(":")[0] for line in complaints}
    # A line of no source is checkpatch's own trouble, of which any source may be the cause.
    good = set(sources) - guilty if guilty <= set(sources) else set(sources) - set(unknown)
    # A source that has changed meanwhile was perhaps not what checkpatch read.
    now = clean_marks(script, options, sorted(good))
    mark_clean([mark for name, mark in now.items() if mark == marks[name]])
    return complaints


def sizes() -> list[str]:
    """Files and functions above the hard bounds; prints those above the soft bounds."""
    import lizard

    paths = own(*SOURCES)
    rows = [(len((TOP / p).read_bytes().splitlines()), f"{p}", FILE_LINES) for p in paths]
    for info in lizard.analyze_files(
        [str(TOP / p) for p in paths if p.suffix in (".c", ".rs", ".py")]
    ):
        name = Path(info.filename).relative_to(TOP)
        rows += [(f.length, f"{name}: {f.name}()", FUNCTION_LINES) for f in info.function_list]
    over = sorted((row for row in rows if row[0] > row[2][0]), reverse=True)
    for lines, what, (soft, _hard) in over:
        print(f"   {lines:5} lines (over {soft}): {what}")
    print(f"   {sum(row[0] for row in rows if row[2] is FILE_LINES)} lines in {len(paths)} sources")
    return [
        f"{what}: {lines} lines, at most {hard}" for lines, what, (_, hard) in over if lines > hard
    ]


def figures_in_documents() -> list[str]:
    """Tables of figures in documents that differ from the records in docs/."""
    return run("bin/lab", "docs", "--check")


def commit_subjects() -> list[str]:
    """Commit subjects that are too long, since the first revision to which the bound applies."""
    span = f"{SUBJECTS_SINCE}..HEAD"
    if run("git", "cat-file", "-e", f"{SUBJECTS_SINCE}^{{commit}}"):
        span = "-1"  # a shallow clone
    listed = subprocess.run(
        ["git", "log", "--no-merges", "--format=%h %s", span],
        cwd=TOP, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    subjects = [line.partition(" ") for line in listed.splitlines()]
    return [
        f"{commit}: its subject has {len(subject)} characters, at most {SUBJECT}: {subject}"
        for commit, _, subject in subjects
        if len(subject) > SUBJECT
    ]


def mutants() -> list[str]:
    """Each mutant of `make test-mutants` has its place in the sources."""
    return run(sys.executable, "tools/mutants.py", "--check")


CHECKS: dict[str, Callable[[], list[str]]] = {
    "rust-format": rust_format,
    "rust-lints": rust_lints,
    "python-lints": python_lints,
    "python-types": python_types,
    "shell-lints": shell_lints,
    "kernel-style": kernel_style,
    "kernel-versions": kernel_versions,
    "layers": module_layers,
    "staleness": staleness,
    "licences": licences,
    "sizes": sizes,
    "figures": figures_in_documents,
    "subjects": commit_subjects,
    "mutants": mutants,
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Check formatting, lints, licences and sizes.")
    parser.add_argument("name", nargs="*", help=f"which: {', '.join(CHECKS)} (all)")
    names = parser.parse_args().name
    if unknown := set(names) - set(CHECKS):
        parser.error(f"no check called {', '.join(sorted(unknown))}; see --help")
    wanted = {name: check for name, check in CHECKS.items() if not names or name in names}
    failed = []
    start = time.monotonic()
    with ThreadPoolExecutor(WORKERS) as pool:
        jobs = {name: pool.submit(check) for name, check in wanted.items()}
        for name, job in jobs.items():
            complaints = job.result()
            state = f"{len(complaints)} lines of complaint" if complaints else "ok"
            print(f"{name:15} {state}  (at {time.monotonic() - start:.0f} s)", flush=True)
            for line in complaints:
                print(f"   {line}")
            failed += [name] * bool(complaints)
    if failed:
        print(f"\nnot clean: {', '.join(failed)} ('make fmt' mends formatting)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
