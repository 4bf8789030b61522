"""docs/architecture.md names every file that a prediction, an upload and a ranking pass."""

import os
import subprocess
import sys

import pytest

from lab import walks
from tests.paths import ROOT

# In a process of its own: a tracer of this one (coverage) stays as it is, and the database of the tests too.
SCRIPT = """
from lab.walks import trace_walks
for name, trace in trace_walks().items():
    print(name, *trace.files)
"""
SMALL = """
from lab.walks import traced
from predictor.core import errors
with traced() as trace:
    errors.UnknownMethod("a", ("b",))
print(trace.files)
with traced(errors.UnknownMethod.__init__.__code__) as trace:
    errors.SettingsError("a", "b")
print(trace.files)
"""


def run(script: str) -> list[str]:
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "mpet_site.settings_test", "DATABASE_URL": ""}
    command = [sys.executable, "-c", script]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout.splitlines()


def test_files_of_called_functions_are_collected():
    assert run(SMALL) == ["{'predictor/core/errors.py': ['__init__']}", "{}"]


@pytest.mark.lab
def test_the_page_names_every_file_that_is_passed():
    page = walks.PAGE.read_text(encoding="utf-8")
    passed = {name: files for name, *files in map(str.split, run(SCRIPT))}
    assert set(passed) == {"prediction", "service", "method", "upload", "ranking"}
    method = set(passed["method"])
    for name in ("prediction", "method", "upload", "ranking"):
        expected = method if name == "method" else set(passed[name]) - method
        # Whoever moves a function from one file to another runs `make figures`.
        assert set(walks.files_in_page(page, name)) == expected, name


def test_tables_are_written_between_their_markers():
    begin, end = walks.markers("upload")
    page = f"Text.\n\n{begin}\nold\n{end}\n\nMore.\n"
    written = walks.with_walks(page, {"upload": walks.Trace({"lab/walks.py": ["note"]}), "method": walks.Trace()})
    assert f"| 1 | `lab/walks.py` | `note` | {walks.purpose_of('lab/walks.py')} |" in written
    assert written.startswith("Text.") and written.endswith("More.\n") and "old" not in written
    assert walks.files_in_page(written, "upload") == ["lab/walks.py"]
