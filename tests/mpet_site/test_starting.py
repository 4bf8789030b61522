"""What every command waits for before it does anything."""

import os
import subprocess
import sys

from tests.paths import ROOT

SLOW_TO_IMPORT = {"sklearn", "scipy.stats", "pandas", "plotly"}


def test_a_command_starts_without_the_libraries_that_few_need(tmp_path):
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "mpet_site.settings", "MPET_STATE_DIR": str(tmp_path)}
    program = "import django, sys; django.setup(); print(*sys.modules)"
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    loaded = set(result.stdout.split())
    assert "predictor.core.methods" in loaded
    assert loaded & SLOW_TO_IMPORT == set()
