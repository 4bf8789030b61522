"""Files and folders that a killed process left."""

import time
from pathlib import Path


def is_older_than(path: Path, seconds: float) -> bool:
    """Whether the file was written, or something put into or out of the folder, longer ago than that. Where it is gone,
    because another process was faster, it is not."""
    try:
        return time.time() - path.stat().st_mtime > seconds
    except FileNotFoundError:
        return False
