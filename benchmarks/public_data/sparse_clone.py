"""Some files of a public repository, without its history and without the contents of all others."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks.public_data.download import DownloadError

CLONE_TIMEOUT_S = 3600


def sparse_clone(url: str, patterns: Sequence[str], to: Path) -> None:
    """Check out, in the folder `to`, the files of the newest commit that match the patterns (as of .gitignore).

    The server sends the names of all files, and the contents of these alone, where it allows filters, as GitHub does.
    A folder of an earlier call is brought up to date, and fetches what has changed. Raises DownloadError.
    """
    if not (to / ".git").is_dir():
        to.mkdir(parents=True, exist_ok=True)
        _git(to, "init", "--quiet")
        _git(to, "remote", "add", "origin", url)
    for name, value in (("url", url), ("promisor", "true"), ("partialclonefilter", "blob:none")):
        _git(to, "config", f"remote.origin.{name}", value)
    _git(to, "sparse-checkout", "set", "--no-cone", *patterns)
    _git(to, "fetch", "--quiet", "--depth", "1", "--filter=blob:none", "origin", "HEAD")
    _git(to, "checkout", "--quiet", "--force", "FETCH_HEAD")


def _git(folder: Path, *arguments: str) -> None:
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, timeout=CLONE_TIMEOUT_S, check=False)  # noqa: S603
    except FileNotFoundError as error:
        raise DownloadError("git is not installed; without --slim it is not needed") from error
    except subprocess.TimeoutExpired as error:
        raise DownloadError(f"git {arguments[0]} took longer than {CLONE_TIMEOUT_S} s") from error
    if done.returncode:
        raise DownloadError(f"git {arguments[0]}: {done.stderr.decode(errors='replace').strip()[-500:]}")
