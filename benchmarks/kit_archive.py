"""The benchmark kit as the tarball that users unpack and build: the same sources, served by the same server, give the
same bytes."""

import gzip
import io
import tarfile
from functools import lru_cache
from pathlib import Path

KIT = Path(__file__).resolve().parent / "kit"
TOP_FOLDER = "mpet-kit"
SERVER_FILE = "SERVER"  # where `make upload` sends results, by default
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
    paths = kit_files(folder)
    return _pack(site, folder, tuple((path, (folder / path).stat().st_mtime_ns) for path in paths))


@lru_cache(maxsize=4)
def _pack(site: str, folder: Path, files: tuple[tuple[Path, int], ...]) -> bytes:
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", filename="", mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for path, _ in files:
            source = folder / path
            add_member(archive, path.as_posix(), source.read_bytes(), runs=bool(source.stat().st_mode & 0o100))
        if site:
            add_member(archive, SERVER_FILE, f"{site.rstrip('/')}\n".encode(), runs=False)
    return packed.getvalue()


def add_member(archive: tarfile.TarFile, name: str, content: bytes, *, runs: bool) -> None:
    """Owner, group and time do not depend on where the server was installed."""
    member = tarfile.TarInfo(f"{TOP_FOLDER}/{name}")
    member.size = len(content)
    member.mode = 0o755 if runs else 0o644
    archive.addfile(member, io.BytesIO(content))
