"""Wheel of the client `mpet`, built from the sources on this server. The same sources give the same bytes."""

from __future__ import annotations

import base64
import hashlib
import io
import tomllib
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.http import Http404

CLIENT = Path(__file__).resolve().parent / "client"
PACKAGE = "mpet"
EARLIEST = (1980, 1, 1, 0, 0, 0)  # earliest time of a member of a zip archive


class NoClientError(Http404):
    """This installation does not contain the client's sources."""


def wheel_name(folder: Path = CLIENT) -> str:
    """Return the wheel's file name, from which pip reads the version and the compatibility tags."""
    return f"{PACKAGE}-{_project(folder)['version']}-py3-none-any.whl"


def client_wheel(folder: Path = CLIENT) -> bytes:
    """Return the wheel. It is cached, and packed again after a source file has changed."""
    _project(folder)
    sources = sorted(path for path in (folder / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return _pack(folder, tuple((path, path.stat().st_mtime_ns) for path in sources))


def _project(folder: Path) -> dict[str, Any]:
    path = folder / "pyproject.toml"
    if not path.is_file():
        raise NoClientError(f"no {path.name} in the client's folder")
    project: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    return project


@lru_cache(maxsize=2)
def _pack(folder: Path, sources: tuple[tuple[Path, int], ...]) -> bytes:
    project = _project(folder)
    information = f"{PACKAGE}-{project['version']}.dist-info"
    members = {path.relative_to(folder / "src").as_posix(): path.read_bytes() for path, _ in sources}
    members[f"{information}/METADATA"] = _metadata(project, (folder / project["readme"]).read_text("utf-8")).encode()
    members[f"{information}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: mpet\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    scripts = "".join(f"{name} = {target}\n" for name, target in project["scripts"].items())
    members[f"{information}/entry_points.txt"] = f"[console_scripts]\n{scripts}".encode()
    record = "".join(f"{name},sha256={_digest(content)},{len(content)}\n" for name, content in members.items())
    members[f"{information}/RECORD"] = f"{record}{information}/RECORD,,\n".encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, EARLIEST), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _metadata(project: dict[str, Any], readme: str) -> str:
    """Return the core metadata (packaging.python.org/specifications/core-metadata)."""
    extras = project.get("optional-dependencies", {})
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {project['name']}",
        f"Version: {project['version']}",
        f"Summary: {project['description']}",
        f"License: {project['license']}",
        f"Requires-Python: {project['requires-python']}",
        *(f"Requires-Dist: {name}" for name in project["dependencies"]),
        *(f"Provides-Extra: {extra}" for extra in extras),
        *(f'Requires-Dist: {name} ; extra == "{extra}"' for extra, names in extras.items() for name in names),
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(lines) + f"\n\n{readme}"


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
