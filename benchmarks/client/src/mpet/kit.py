"""The benchmark kit: unpacked once per version, and run."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, Optional

from mpet.config import cache_folder
from mpet.errors import KitFailed

TOP_FOLDER = "mpet-kit"
RESULTS_LINE = "Results: "
FAREWELL_LINE = "Upload them in the browser"  # not shown, because the client uploads them itself
MOST_KIT_BYTES = 64 << 20
LINES_SHOWN = 15
KIT_WORKLOAD = "shared_histogram"  # part of every complete run of the kit
PROFILER = "profiler/profiler.mk"
BUILT_KIT = "measure"  # script of a kit with programs that the server has built; such a kit has no Makefile
NOT_PROFILABLE = 4  # exit status of mpet-profile for a program that it cannot profile

Said = Callable[[str], Any]


def can_build() -> bool:
    """Return whether the kit can be built here. If not, the client uses programs that the server has built."""
    return shutil.which("make") is not None and shutil.which(os.environ.get("CXX") or "g++") is not None


def is_built(kit: Path) -> bool:
    return (kit / BUILT_KIT).is_file()


def unpack_kit(content: bytes) -> Path:
    """Unpack the kit into the user's cache and return its folder. The same bytes are unpacked once, so that programs
    built in the folder are kept."""
    home = cache_folder() / "kits" / hashlib.sha256(content).hexdigest()[:16]
    kit = home / TOP_FOLDER
    if kit.is_dir():
        return kit
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(dir=home.parent))
    except OSError as error:
        raise KitFailed(f"the kit cannot be unpacked: {error}; MPET_CACHE_DIR chooses another folder") from error
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
            for member in archive:
                _unpack_member(archive, member, unfinished)
        if not any((unfinished / TOP_FOLDER / name).is_file() for name in ("Makefile", BUILT_KIT)):
            raise KitFailed("the server's file is not a benchmark kit")
        try:
            unfinished.rename(home)
        except OSError:
            if not kit.is_dir():  # otherwise another process has unpacked it first
                raise
    except (tarfile.TarError, OSError, EOFError) as error:
        raise KitFailed(f"the kit cannot be unpacked: {error}") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return kit


def _unpack_member(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    """Unpack a plain file or a folder below the kit's top folder. Raise KitFailed for any other member."""
    parts = PurePosixPath(member.name).parts
    if not parts or parts[0] != TOP_FOLDER or ".." in parts or member.size > MOST_KIT_BYTES:
        raise KitFailed(f"the kit has a member {member.name!r}, which is unsafe or too large")
    path = folder.joinpath(*parts)
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        return
    source = archive.extractfile(member) if member.isfile() else None
    if source is None:
        raise KitFailed(f"the kit has a member {member.name!r} that is not a plain file")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        shutil.copyfileobj(source, file)
    path.chmod(0o755 if member.mode & 0o100 else 0o644)


@contextmanager
def build_lock(kit: Path, said: Said) -> Iterator[None]:
    """Wait until no other process builds programs in the kit's folder or runs its workloads."""
    import fcntl  # noqa: PLC0415 (not on Windows, where the other commands work)

    with (kit / "build.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            said("waiting until another mpet command that uses the kit has finished")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def measure(kit: Path, target: str, options: Mapping[str, str], said: Said) -> Path:
    """Run `make TARGET` in the kit, or its script if the kit is built already. Return the path of the results tarball.

    The lock is held until the end, because another selection of workloads would link the programs again.
    """
    command = ["make", "-C", str(kit), target, *(f"{name}={value}" for name, value in options.items())]
    if is_built(kit):
        words = [word for name, value in options.items() for word in (f"--{name.lower()}", value)]
        command = [str(kit / BUILT_KIT), "full" if target == "all" else target, *words]
    with build_lock(kit, said):
        lines = run_command(command, lambda line: None if line.startswith(FAREWELL_LINE) else said(line))
    named = [line[len(RESULTS_LINE) :] for line in lines if line.startswith(RESULTS_LINE)]
    if not named:
        raise KitFailed("the kit has not printed the path of its results")
    return kit / named[-1]


def profile(kit: Path, program: Sequence[str], output: Path, options: Sequence[str], said: Said) -> Path:
    """Measure an OpenMP program of the user with the kit's mpet-profile. Return the path of the results tarball."""
    if (kit / PROFILER).is_file():
        with build_lock(kit, said):
            run_command(["make", "-s", "-C", str(kit), f"-j{os.cpu_count() or 1}", "-f", PROFILER, "profiler"])
    run_command([str(kit / "mpet-profile"), "--output", str(output.resolve()), *options, *program], said)
    if not output.is_file():
        raise KitFailed("mpet-profile has written no results")
    return output


def run_command(command: Sequence[str], said: Optional[Said] = None) -> list[str]:
    """Run a command and return its output lines. Each line is passed to `said` when it appears. Raise KitFailed if the
    command fails, with the last lines if they were not said before."""
    environment = {name: value for name, value in os.environ.items() if name != "MPET_TOKEN"}
    lines: list[str] = []
    try:
        with subprocess.Popen(  # noqa: S603
            list(command),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment,
        ) as process:
            for line in process.stdout or ():
                lines.append(line.rstrip("\n"))
                if said is not None:
                    said(lines[-1])
    except FileNotFoundError as error:
        raise KitFailed(f"{command[0]} was not found; the kit needs make, g++, tar and gzip") from error
    if process.returncode:
        message = f"{Path(command[0]).name} ended with status {process.returncode}"
        if said is None:
            message = "\n  ".join([f"{message}:", *lines[-LINES_SHOWN:]])
        raise KitFailed(message, status=process.returncode)
    return lines
