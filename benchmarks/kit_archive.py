"""The benchmark kit as the tarball that users unpack and build: the same sources give the same bytes."""

import gzip
import io
import tarfile
from pathlib import Path

KIT = Path(__file__).resolve().parent / "kit"
TOP_FOLDER = "mpet-kit"
BUILT_NAMES = {"build", "results", "__pycache__"}
BUILT_SUFFIXES = {".o", ".a", ".so", ".d", ".pyc", ".gz"}


class NoKitError(LookupError):
    """The folder has no VERSION: this installation came without the kit."""


def kit_version(folder: Path = KIT) -> str:
    path = folder / "VERSION"
    if not path.is_file():
        raise NoKitError(f"no {path.name} in the kit's folder")
    return path.read_text().strip()


def kit_files(folder: Path = KIT) -> list[Path]:
    """What belongs to the kit, relative to its folder, sorted: no hidden files and nothing that was built."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(
        path
        for path in paths
        if path.suffix not in BUILT_SUFFIXES
        and not any(part in BUILT_NAMES or part.startswith(".") for part in path.parts)
    )


def kit_tarball(folder: Path = KIT) -> bytes:
    kit_version(folder)
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", filename="", mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for path in kit_files(folder):
            add_member(archive, folder, path)
    return packed.getvalue()


def add_member(archive: tarfile.TarFile, folder: Path, path: Path) -> None:
    """Owner, group and time do not depend on where the server was installed."""
    source = folder / path
    content = source.read_bytes()
    member = tarfile.TarInfo(f"{TOP_FOLDER}/{path.as_posix()}")
    member.size = len(content)
    member.mode = 0o755 if source.stat().st_mode & 0o100 else 0o644
    archive.addfile(member, io.BytesIO(content))
