"""Large snapshots as files: written once per revision, then mapped into memory and shared by all processes.

A folder contains one snapshot: one file per array, and values.json with all other values, and null for each array. Only
the server's user may read folders and files, because a snapshot may contain private profiles. They can be deleted at
any time. The names of folders are the keys of `cache.py`.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from predictor.core.growth import SplicedArray

VALUES_FILE = "values.json"
ARRAYS = (np.ndarray, SplicedArray)


def write_values(folder: Path, values: Mapping[str, Any]) -> None:
    """Write the values to the folder, which only appears when it is complete. If another process was faster, its folder
    stays."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        for name, value in values.items():
            if isinstance(value, ARRAYS):
                with open(unfinished / f"{name}.npy", "wb", opener=_owner_only) as file:
                    write_array(file, value)
        others = {name: None if isinstance(value, ARRAYS) else value for name, value in values.items()}
        with open(unfinished / VALUES_FILE, "w", opener=_owner_only) as file:
            file.write(json.dumps(others))  # json.dump takes ten times as long, as it writes each value by itself
        if not folder.exists():
            unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def write_array(file: BinaryIO, array: np.ndarray | SplicedArray) -> None:
    """Write the array in NumPy's format. A SplicedArray is written piece by piece."""
    if isinstance(array, np.ndarray):
        np.save(file, array, allow_pickle=False)
        return
    header = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False, "shape": array.shape}
    np.lib.format.write_array_header_1_0(file, header)
    for piece in array.pieces():
        file.write(np.ascontiguousarray(piece).data)


def read_values(folder: Path) -> dict[str, Any] | None:
    """Return the written values, with read-only mapped arrays; None if the folder is missing or incomplete."""
    try:
        values: dict[str, Any] = json.loads((folder / VALUES_FILE).read_text())
        for name in [name for name, value in values.items() if value is None]:
            values[name] = np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False).view(np.ndarray)
    except (OSError, EOFError, ValueError):
        return None
    return values


def is_there(folder: Path) -> bool:
    return (folder / VALUES_FILE).exists()


def _owner_only(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
