"""What every command, and what every server, waits for before it does anything."""

import os
import subprocess
import sys
from pathlib import Path

from tests.paths import ROOT

SLOW_TO_IMPORT = {"sklearn", "scipy.optimize", "scipy.stats", "pandas", "pyarrow", "plotly"}


def loaded_by(program: str, folder: Path) -> set[str]:
    """The modules that a process has after it."""
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "mpet_site.settings", "MPET_STATE_DIR": str(folder)}
    command = [sys.executable, "-c", f"{program}; import sys; print(*sys.modules)"]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return set(result.stdout.split())


def test_a_command_starts_without_the_libraries_that_few_need(tmp_path):
    """Django checks the addresses before most commands."""
    loaded = loaded_by("import django; django.setup(); import mpet_site.urls", tmp_path)
    assert {"predictor.core.methods", "predictor.api.scaling_models"} <= loaded
    assert loaded & SLOW_TO_IMPORT == set()


def test_a_server_has_pages_addresses_and_numerical_libraries_before_anybody_asks(tmp_path):
    program = (
        "import mpet_site.wsgi; from django.urls import get_resolver; "
        "from predictor.core.steps import threadpool_controller; "
        "print('addresses' * get_resolver()._populated, 'libraries' * threadpool_controller.cache_info().currsize)"
    )
    loaded = loaded_by(program, tmp_path)
    assert {
        "mpet_site.urls",
        "predictor.pages.home",
        "predictor.api.predictions",
        "predictor.scaling_models.registry",
    } <= loaded
    assert {"addresses", "libraries"} <= loaded
