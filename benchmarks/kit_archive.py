"""The benchmark kit as a tarball: either its sources to build, or the programs that `make static` built, for machines
without a compiler. The same files on the same server give the same bytes."""

import gzip
import hashlib
import io
import tarfile
from functools import lru_cache
from pathlib import Path

from django.http import Http404

KIT = Path(__file__).resolve().parent / "kit"
TOP_FOLDER = "mpet-kit"
SERVER_FILE = "SERVER"  # contains the address to which `make upload` sends results by default
ARCHITECTURES = ("x86_64", "aarch64")  # as `uname -m` calls them
# Files of the kit that are packed with built programs: path in the kit -> path in the tarball.
RUN_FILES = {
    "VERSION": "VERSION",
    "static/measure.sh": "measure",
    "mpet-profile": "mpet-profile",
    "pack/join.sh": "pack/join.sh",
    **{f"stress-ng/{name}": f"stress-ng/{name}" for name in ("measure.sh", "stressors", "bridge.sh", "bridge")},
    **{
        f"upload/{name}": f"upload/{name}"
        for name in ("json.awk", "profile.sh", "results.sh", "sending.sh", "server.sh", "upload.sh")
    },
}
NOT_SERVED = {"build", "results", "__pycache__", "TOKEN", SERVER_FILE}  # build outputs and the operator's own files
BUILT_SUFFIXES = {".o", ".a", ".so", ".d", ".pyc", ".gz"}


class NoKitError(Http404):
    """This installation does not contain the kit (no VERSION file), or not for this architecture."""


def kit_version() -> str:
    path = KIT / "VERSION"
    if not path.is_file():
        raise NoKitError(f"no {path.name} in the kit's folder")
    return path.read_text().strip()


def kit_files() -> list[Path]:
    """Return the sorted paths of the kit's files, relative to its folder. Hidden files, build outputs and the
    operator's files, such as the token, are left out."""
    paths = (path.relative_to(KIT) for path in KIT.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(
        path
        for path in paths
        if path.suffix not in BUILT_SUFFIXES
        and not any(part in NOT_SERVED or part.startswith(".") for part in path.parts)
    )


def kit_tarball(site: str = "") -> bytes:
    """Return the tarball of the kit, which contains `site`, the server's address. It is cached, and packed again after
    a file has changed."""
    return _pack(site, tuple((path.as_posix(), _dated(KIT / path)) for path in kit_files()))


def built_architectures() -> list[str]:
    """Return the architectures for which an operator ran `make static` to its end with this version of the sources."""
    return [name for name in ARCHITECTURES if _built_files(name)]


def built_tarball(architecture: str, site: str) -> bytes:
    """Return the tarball of the programs that `make static` built for one architecture, with the scripts that measure
    and upload. Raises NoKitError if there are none."""
    built = _built_files(architecture)
    if not built:
        raise NoKitError(f"the kit was not built for {architecture}")
    members = {member: KIT / path for path, member in RUN_FILES.items()}
    members |= {f"build/{path.name}": path for path in built}
    return _pack(site, tuple((member, _dated(path)) for member, path in members.items()))


def _built_files(architecture: str) -> list[Path]:
    """Return the built programs. The list is empty if the stamp that `make static` writes last is missing or has
    another version."""
    built = KIT / "build" / "static" / architecture
    stamp = built / "VERSION"
    if architecture not in ARCHITECTURES or not stamp.is_file() or stamp.read_text().strip() != kit_version():
        return []
    return sorted(path for path in (*built.glob("mpet-*"), *built.glob("libmpet_*.so")) if path.is_file())


def _dated(path: Path) -> tuple[Path, int]:
    return path, path.stat().st_mtime_ns


@lru_cache(maxsize=8)
def kit_sha256(tarball: bytes) -> str:
    """Return the SHA-256 of a tarball, cached so that it is not computed for every request."""
    return hashlib.sha256(tarball).hexdigest()


@lru_cache(maxsize=8)
def _pack(site: str, files: tuple[tuple[str, tuple[Path, int]], ...]) -> bytes:
    """Return the packed members. The times of the files are part of the cache's key, so that a changed file is packed
    again."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", filename="", mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name, (source, _) in files:
            runs = bool(source.stat().st_mode & 0o100)
            add_member(archive, name, source.read_bytes(), runs=runs)
        if site:
            add_member(archive, SERVER_FILE, f"{site.rstrip('/')}\n".encode(), runs=False)
    return packed.getvalue()


def add_member(archive: tarfile.TarFile, name: str, content: bytes, *, runs: bool) -> None:
    """Add a member with fixed owner, group and time, so that the bytes do not depend on the server."""
    member = tarfile.TarInfo(f"{TOP_FOLDER}/{name}")
    member.size = len(content)
    member.mode = 0o755 if runs else 0o644
    archive.addfile(member, io.BytesIO(content))
