"""Python processes that tests start."""

import os
import subprocess
import sys
from pathlib import Path

from tests.paths import ROOT


def environment_of(folder: Path, **variables: str) -> dict[str, str]:
    """Return the environment of an installation on SQLite whose state folder is `folder`."""
    installed = {"DJANGO_SETTINGS_MODULE": "mpet_site.settings", "MPET_STATE_DIR": str(folder)}
    return {name: value for name, value in os.environ.items() if name != "DATABASE_URL"} | installed | variables


def output_of(
    *arguments: str, environment: dict[str, str] | None = None, folder: Path = ROOT, text: str | None = None
) -> str:
    """Run Python with these arguments, with `text` as its input, and return its standard output.

    Raises AssertionError if it fails.
    """
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, input=text, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
