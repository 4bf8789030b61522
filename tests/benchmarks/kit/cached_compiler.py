#!/usr/bin/env python3
"""A caching g++ for the tests (CXX), because tests build the same programs of the kit in several folders.

Outputs are kept in build/compiled/ under a hash of the arguments, of the files that they name, and of every source and
header below the working directory, which is the kit. All other calls are passed to g++.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

COMPILER = "g++"
KEPT = Path(__file__).resolve().parents[3] / "build" / "compiled"
SOURCES = {".c", ".cpp", ".h", ".hpp"}
DAYS = 7


def key(arguments: list[str], compiler: str) -> str:
    """Return the hash of everything that the output depends on. The output's path is not part of it."""
    found = hashlib.sha256(f"{compiler} {Path(compiler).stat().st_mtime_ns}".encode())
    if any("native" in word for word in arguments):
        found.update(Path("/proc/cpuinfo").read_bytes().partition(b"\n\n")[0].partition(b"flags")[2])
    output = arguments.index("-o") + 1
    for place, word in enumerate(arguments):
        content = Path(word).read_bytes() if place != output and Path(word).is_file() else b""
        found.update(b"\0output" if place == output else b"\0file" + content if content else b"\0" + word.encode())
    folders = [path for path in Path().iterdir() if path.is_dir() and path.name not in {"build", "results"}]
    for folder in sorted(folders) + [Path(word) for word in arguments if Path(word).is_dir()]:  # such as for -isystem
        for path in sorted(folder.rglob("*")):
            if path.suffix in SOURCES and path.is_file():
                found.update(f"\0{path}\0".encode() + path.read_bytes())
    return found.hexdigest()


def main(arguments: list[str]) -> int:
    compiler = shutil.which(COMPILER)
    if compiler is None:
        return 127
    if "-o" not in arguments or not Path("include/mpet").is_dir():
        return subprocess.call([compiler, *arguments])
    output = Path(arguments[arguments.index("-o") + 1])
    kept = KEPT / key(arguments, compiler)
    if not kept.exists():
        status = subprocess.call([compiler, *arguments])
        if status == 0 and output.is_file():
            keep(output, kept)
        return status
    output.unlink(missing_ok=True)
    shutil.copy(kept, output)
    os.utime(kept)
    return 0


def keep(output: Path, kept: Path) -> None:
    """Store the output atomically, and delete outputs that were not used for DAYS days."""
    KEPT.mkdir(parents=True, exist_ok=True)
    for old in KEPT.iterdir():
        with suppress(FileNotFoundError):  # another compiler renames its unfinished output, or deletes the same file
            if old.stat().st_mtime < time.time() - DAYS * 86_400:
                old.unlink()
    with tempfile.NamedTemporaryFile(dir=KEPT, delete=False) as unfinished:
        shutil.copy(output, unfinished.name)
    Path(unfinished.name).replace(kept)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
