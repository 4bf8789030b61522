"""An archive from the network, taken up again where the last attempt ended."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx

MOST_ARCHIVE_BYTES = 8 * 2**30
TIMEOUT_S = 60.0


class DownloadError(Exception):
    """What stands in the way of a download."""


def download(url: str, to: Path, progress: Callable[[int], Any]) -> None:
    """Fetch `url` into the file `to`, unless it is there. What has arrived waits in `to`.part: a server that can
    continue gives the rest, another one all of it. `progress` is called with the bytes that just arrived."""
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
