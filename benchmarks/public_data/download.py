"""Downloads of public data: an archive, resumed after an interruption, or some files of a public Git repository.

The files of a repository are fetched without its history and without the contents of its other files.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx

MOST_ARCHIVE_BYTES = 8 * 2**30
TIMEOUT_S = 60.0
CLONE_TIMEOUT_S = 3600


class DownloadError(Exception):
    """A download that failed. The message is the reason."""


def download(url: str, to: Path, progress: Callable[[int], Any]) -> None:
    """Download `url` to the file `to`, unless that file exists. Bytes that have arrived are kept in `to`.part. The next
    attempt continues there if the server supports it, and else starts again. `progress` is called first with the number
    of bytes that are present, then with the number of bytes that have just arrived. Raise DownloadError if the download
    fails."""
    if to.exists():
        return
    part = to.with_name(f"{to.name}.part")
    present = part.stat().st_size if part.exists() else 0
    headers = {"Range": f"bytes={present}-"} if present else {}
    try:
        with httpx.stream("GET", url, headers=headers, follow_redirects=True, timeout=TIMEOUT_S) as response:
            if response.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                part.unlink()
                raise DownloadError(f"{url}: has changed since the last attempt; try again")
            response.raise_for_status()
            continues = response.status_code == HTTPStatus.PARTIAL_CONTENT
            _write(response, part, present if continues else 0, progress)
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        raise DownloadError(f"{url}: {str(error) or type(error).__name__}") from error
    part.rename(to)


def _write(response: httpx.Response, part: Path, present: int, progress: Callable[[int], Any]) -> None:
    size = present
    progress(present)
    with part.open("ab" if present else "wb") as file:
        for piece in response.iter_bytes():
            size += len(piece)
            if size > MOST_ARCHIVE_BYTES:
                raise DownloadError(f"{response.url}: is larger than {MOST_ARCHIVE_BYTES} bytes")
            file.write(piece)
            progress(len(piece))


def sparse_clone(url: str, patterns: Sequence[str], to: Path) -> None:
    """Check out the files of the newest commit that match the patterns (as in .gitignore) in the folder `to`.

    A server that supports filters, such as GitHub, sends the names of all files but only the contents of the matching
    ones. If an earlier call has filled the folder, only changes are fetched. Raise DownloadError if git fails.
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
