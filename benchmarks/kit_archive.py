"""The benchmark kit as the tarball that users unpack and build, and as one of programs that `make static` built, for
machines without a compiler: the same files, served by the same server, give the same bytes."""

import gzip
import hashlib
import io
import tarfile
from functools import lru_cache
from pathlib import Path

KIT = Path(__file__).resolve().parent / "kit"
TOP_FOLDER = "mpet-kit"
SERVER_FILE = "SERVER"  # where `make upload` sends results, by default
ARCHITECTURES = ("x86_64", "aarch64")  # as `uname -m` calls them
# What runs without the sources, by its path in the kit: scripts, and the version that results name.
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
NOT_SERVED = {"build", "results", "__pycache__", "TOKEN", SERVER_FILE}  # built here, or the operator's own
BUILT_SUFFIXES = {".o", ".a", ".so", ".d", ".pyc", ".gz"}


class NoKitError(LookupError):
    """The folder has no VERSION: this installation came without the kit."""


def kit_version(folder: Path = KIT) -> str:
    path = folder / "VERSION"
    if not path.is_file():
        raise NoKitError(f"no {path.name} in the kit's folder")
    return path.read_text().strip()


def kit_files(folder: Path = KIT) -> list[Path]:
    """What belongs to the kit, relative to its folder, sorted: no hidden files, nothing that was built, no token."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(
        path
        for path in paths
        if path.suffix not in BUILT_SUFFIXES
        and not any(part in NOT_SERVED or part.startswith(".") for part in path.parts)
    )


def kit_tarball(site: str = "", folder: Path = KIT) -> bytes:
    """The kit as it is served by `site`, the server's address, which it holds. Packed again when a file changed."""
    kit_version(folder)
    return _pack(site, tuple((path.as_posix(), _dated(folder / path)) for path in kit_files(folder)))


def built_architectures(folder: Path = KIT) -> list[str]:
    """Of which an operator ran `make static` in the kit's folder, whole and after the sources had this version."""
    return [name for name in ARCHITECTURES if _built_files(name, folder)]


def built_tarball(architecture: str, site: str = "", folder: Path = KIT) -> bytes:
    """The programs of `make static` for one architecture, with what measures and sends. NoKitError: there are none."""
    built = _built_files(architecture, folder)
    if not built:
        raise NoKitError(f"the kit was not built for {architecture}")
    members = {member: folder / path for path, member in RUN_FILES.items()}
    members |= {f"build/{path.name}": path for path in built}
    return _pack(site, tuple((member, _dated(path)) for member, path in members.items()))


def _built_files(architecture: str, folder: Path) -> list[Path]:
    """Empty where the stamp that `make static` writes last is not there, or names another version of the kit."""
    built = folder / "build" / "static" / architecture
    stamp = built / "VERSION"
    if architecture not in ARCHITECTURES or not stamp.is_file() or stamp.read_text().strip() != kit_version(folder):
        return []
    return sorted(path for path in (*built.glob("mpet-*"), *built.glob("libmpet_*.so")) if path.is_file())


def _dated(path: Path) -> tuple[Path, int]:
    return path, path.stat().st_mtime_ns


@lru_cache(maxsize=8)
def kit_sha256(tarball: bytes) -> str:
    """Of a tarball that is kept here, which is hashed once and not for every page that names it."""
    return hashlib.sha256(tarball).hexdigest()


@lru_cache(maxsize=8)
def _pack(site: str, files: tuple[tuple[str, tuple[Path, int]], ...]) -> bytes:
    """The members by name; packed again where the time of a file is another one."""
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
    """Owner, group and time do not depend on where the server was installed."""
    member = tarfile.TarInfo(f"{TOP_FOLDER}/{name}")
    member.size = len(content)
    member.mode = 0o755 if runs else 0o644
    archive.addfile(member, io.BytesIO(content))
