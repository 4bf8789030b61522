"""Nobody looks for garbage among what is imported, neither at the start nor later; afterwards the collector works."""

import os
import subprocess
import sys

import pytest

from tests.paths import ROOT

SEEN = "import gc; print(gc.isenabled(), gc.get_freeze_count() > 100_000, gc.get_stats()[2]['collections'] < 3)"


@pytest.mark.parametrize(
    "start",
    [
        ["manage.py", "shell", "--no-imports", "--command", SEEN],
        ["-c", f"import mpet_site.wsgi; {SEEN}"],
    ],
    ids=["a command", "a server"],
)
def test_the_collector_rests_while_a_process_starts_and_works_afterwards(start, tmp_path):
    environment = os.environ | {"MPET_STATE_DIR": str(tmp_path)}
    result = subprocess.run(
        [sys.executable, *start], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert result.stdout.split() == ["True", "True", "True"], result.stderr[-2000:]
