"""What every command, and what every server, waits for before it does anything."""

from pathlib import Path

from tests.processes import environment_of, output_of

SLOW_TO_IMPORT = {"sklearn", "scipy.optimize", "scipy.stats", "pandas", "pyarrow", "plotly"}


STATE = """
import sys
from mpet_site.web import periodic_tasks
print(*sys.modules, "chores" * (periodic_tasks._running.stop is not None))
"""


def loaded_by(program: str, folder: Path) -> set[str]:
    """The modules that a process has after it, and "chores" if it runs the periodic tasks."""
    return set(output_of("-c", program + STATE, environment=environment_of(folder)).split())


def test_a_command_starts_without_the_libraries_that_few_need(tmp_path):
    """Django checks the addresses before most commands."""
    loaded = loaded_by("import django; django.setup(); import mpet_site.urls", tmp_path)
    assert {"predictor.core.methods", "predictor.api.scaling_models"} <= loaded
    assert loaded & (SLOW_TO_IMPORT | {"chores"}) == set()


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
    assert {"addresses", "libraries", "chores"} <= loaded
