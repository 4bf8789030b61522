"""Large snapshots as files: written once for each revision, then mapped into memory by every process, which share it.

A folder holds one snapshot: an array a file, the rest in values.json, null for each array. Folders and files are open
to the server's user alone, because a snapshot may hold private profiles. They can be deleted at any time.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from django.conf import settings

from mpet_site.state_folder import is_older_than
from predictor.core.growth import SplicedArray

VALUES_FILE = "values.json"
COPIED_BYTES = 2**20
UNFINISHED_S = 3600.0  # no process takes so long to write one
ARRAYS = (np.ndarray, SplicedArray)


def snapshot_folder(viewer: int | None, origins: tuple[str, ...], public: int, *rest: Any) -> Path:
    """Where a snapshot is kept: STATE_DIR/snapshots/<viewer and origins>,<public revision>,<the rest of its key>."""
    whose = f"{'public' if viewer is None else f'user-{viewer}'}+{'+'.join(origins)}"
    return Path(settings.STATE_DIR) / "snapshots" / f"{','.join(map(str, (whose, public, *rest)))}"


def write_values(folder: Path, values: Mapping[str, Any]) -> None:
    """All or nothing: the folder appears when it is complete. Where another process was faster, its folder stays."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        for name, value in values.items():
            if isinstance(value, ARRAYS):
                with open(unfinished / f"{name}.npy", "wb", opener=_owner_only) as file:
                    write_array(file, value)
        rest = {name: None if isinstance(value, ARRAYS) else value for name, value in values.items()}
        with open(unfinished / VALUES_FILE, "w", opener=_owner_only) as file:
            file.write(json.dumps(rest))  # json.dump writes each value by itself, which takes ten times as long
        if not folder.exists():
            unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def write_array(file: BinaryIO, array: np.ndarray | SplicedArray) -> None:
    """In NumPy's format. An array in pieces is written piece by piece."""
    if isinstance(array, np.ndarray):
        np.save(file, array, allow_pickle=False)
        return
    header = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False, "shape": array.shape}
    np.lib.format.write_array_header_1_0(file, header)
    for piece in array.pieces():
        if piece.nbytes < COPIED_BYTES or not copy_mapped(file, piece):
            file.write(np.ascontiguousarray(piece).data)


def copy_mapped(file: BinaryIO, piece: np.ndarray) -> bool:
    """Append what is mapped from a file by having the kernel copy it, in a third of the processor time of writing it.
    False, and nothing done, where it is of no file, or the kernel or the file system cannot."""
    mapped: Any = piece
    while isinstance(mapped.base, np.ndarray):
        mapped = mapped.base
    if not isinstance(mapped, np.memmap) or not piece.flags.c_contiguous or not hasattr(os, "copy_file_range"):
        return False
    file.flush()
    start = file.tell()
    offset = mapped.offset + piece.ctypes.data - mapped.ctypes.data
    try:
        with Path(str(mapped.filename)).open("rb") as source:
            _copy_range(source.fileno(), file.fileno(), piece.nbytes, offset)
    except OSError:
        file.seek(start)
        file.truncate()
        return False
    file.seek(start + piece.nbytes)
    return True


def _copy_range(source: int, target: int, count: int, offset: int) -> None:
    while count:
        copied = os.copy_file_range(source, target, count, offset)
        if not copied:
            raise OSError("the file is shorter than it was")
        count, offset = count - copied, offset + copied


def read_values(folder: Path) -> dict[str, Any] | None:
    """What was written, its arrays mapped and read-only; None where there is nothing, or no longer everything."""
    try:
        values: dict[str, Any] = json.loads((folder / VALUES_FILE).read_text())
        for name in [name for name, value in values.items() if value is None]:
            values[name] = np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False).view(np.ndarray)
    except (OSError, EOFError, ValueError):
        return None
    return values


def is_there(folder: Path) -> bool:
    return (folder / VALUES_FILE).exists()


def earlier_folders(folder: Path, oldest: tuple[int, int] = (0, 0)) -> list[Path]:
    """Those of `earlier_of` that are on disk."""
    return earlier_of(folder.parent.glob(f"{folder.name.split(',')[0]},*"), folder, oldest)


def earlier_of(folders: Iterable[Path], folder: Path, oldest: tuple[int, int] = (0, 0)) -> list[Path]:
    """Those of the same viewer, origins and layout whose revisions are between `oldest` and the folder's, the newest
    first."""
    whose, layout = folder.name.split(",")[0], folder.name.split(",")[-1]
    newest = revision_of(folder)
    others = [
        other
        for other in folders
        if other != folder
        and other.parent == folder.parent
        and (other.name.split(",")[0], other.name.split(",")[-1]) == (whose, layout)
        and all(low <= number <= high for low, number, high in zip(oldest, revision_of(other), newest, strict=True))
    ]
    return sorted(others, key=revision_of, reverse=True)


def revision_of(folder: Path) -> tuple[int, int]:
    _, public, own, *_ = folder.name.split(",")
    return int(public), int(own)


def is_of_user(folder: Path) -> bool:
    return folder.name.startswith("user-")


def newest_profile_of(folder: Path) -> str:
    """The uid of the newest profile in the folder's snapshot, which is part of its name."""
    return folder.name.split(",")[3]


def remove_others(kept: Path) -> None:
    """Delete the viewer's other folders, those of users that are of another public revision, and what a process left
    that was killed while it wrote. Who has one mapped keeps it; the public's others answer until theirs are made, too.
    """
    whose, public, _ = kept.name.split(",", 2)
    for folder in kept.parent.iterdir():
        parts = folder.name.split(",", 2)
        if len(parts) == 3:
            is_outdated = parts[0] == whose or (is_of_user(folder) and parts[1] != public)
        else:
            is_outdated = is_older_than(folder, UNFINISHED_S)
        if folder != kept and is_outdated:
            shutil.rmtree(folder, ignore_errors=True)


def remove_of_viewer(viewer: int) -> None:
    """Delete what is kept for a user."""
    for folder in (Path(settings.STATE_DIR) / "snapshots").glob(f"user-{viewer}+*"):
        shutil.rmtree(folder, ignore_errors=True)


def _owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
