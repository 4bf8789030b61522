"""Which code computes: what other code computed may differ."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

COMPUTING_PACKAGES = ("predictor/core", "profiles")  # what runs on workers


def code_digest(packages: Sequence[str] = ()) -> str:
    """SHA-256 of the modules in these packages, by default those that compute, as this process would import them."""
    root = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for path in sorted(path for package in packages or COMPUTING_PACKAGES for path in (root / package).rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
