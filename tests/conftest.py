import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

# Tests run in parallel, one worker per core, so more threads of linear algebra would only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from django.conf import settings as django_settings
from django.contrib.auth import get_user_model
from django.core.servers.basehttp import WSGIRequestHandler
from django.db import connection
from hypothesis import settings

from tests.paths import ROOT
from tests.scheduling import ModulesTogether, place

MIGRATED = ROOT / "build" / "migrated"
SHARED_DATA = ROOT.parent / "shared" / "data"
# The live server sends headers and body separately. With Nagle's algorithm the body would wait 40 ms for the client to
# acknowledge the headers.
WSGIRequestHandler.disable_nagle_algorithm = True
ALONE = "alone"
OTHER_TOOLS = {"browser", "kit", "shared_data"}
DATABASE_ONLY = os.environ.get("MPET_TESTS_DATABASE_ONLY") == "1"  # set by tests/mpet_site/test_postgresql.py
STRICT = os.environ.get("MPET_TESTS_STRICT") == "1"  # set in CI: a missing browser or server fails the tests


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return one more than the number of cores, because many tests wait for servers, browsers and commands."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log) -> ModulesTogether:
    return ModulesTogether(config, log)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m "alone and ..."`, ignore modules without such tests: importing all would take as long as these tests."""
    if (
        config.option.markexpr.split()[:1] == [ALONE]
        and collection_path.suffix == ".py"
        and not says_alone(collection_path)
    ):
        return True
    return None


def says_alone(module: Path) -> bool:
    return f"mark.{ALONE}" in module.read_text()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the slowest tests first. With MPET_TESTS_DATABASE_ONLY=1, select only tests that use just the database."""
    items.sort(key=place)
    unseen = [item.nodeid for item in items if item.get_closest_marker(ALONE) and not says_alone(item.path)]
    if unseen:
        raise pytest.UsageError(f"`-m {ALONE}` would not find what is marked from another module: {unseen}")
    if not DATABASE_ONLY:
        return
    chosen = [
        item for item in items if uses_database(item) and not OTHER_TOOLS & {mark.name for mark in item.iter_markers()}
    ]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen


def uses_database(item: pytest.Item) -> bool:
    """Return whether the test uses the configured database, and not a separate SQLite file (`empty_database`)."""
    fixtures = set(getattr(item, "fixturenames", ()))
    if "empty_database" in fixtures:
        return False
    return bool({"db", "transactional_db"} & fixtures) or item.get_closest_marker("django_db") is not None


def skip_or_fail(reason: str) -> None:
    """Skip the test with the reason, or fail it with MPET_TESTS_STRICT=1, as in CI, where all tools are installed."""
    if STRICT:
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def shared_data() -> Path:
    """Return the folder of public datasets next to the checkout, or skip the test if it does not exist."""
    if not SHARED_DATA.is_dir():
        pytest.skip("no ../shared/data beside this checkout")
    return SHARED_DATA


@pytest.fixture(scope="session")
def empty_database() -> Path:
    """Return a migrated SQLite file. It is made once for each state of the migrations, because this takes seconds."""
    made_of = [*ROOT.glob("*/migrations/*.py"), *ROOT.glob("requirements*.txt"), ROOT / "mpet_site" / "settings.py"]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(made_of))).hexdigest()
    MIGRATED.mkdir(parents=True, exist_ok=True)
    path = MIGRATED / f"{digest}.sqlite3"
    with (MIGRATED / "lock").open("w") as lock:  # the other processes of this run wait for the file
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            for outdated in MIGRATED.glob("*.sqlite3"):
                outdated.unlink()
            with TemporaryDirectory(dir=MIGRATED) as folder:
                environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
                environment |= {"MPET_STATE_DIR": folder, "DJANGO_SETTINGS_MODULE": "mpet_site.settings"}
                command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
                subprocess.run(command, cwd=ROOT, env=environment, check=True)
                (Path(folder) / "mpet.sqlite3").replace(path)
    return path


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_modify_db_settings, django_db_keepdb: bool, request) -> bool:
    """Let pytest-django use a copy of `empty_database` as the SQLite test database of this process."""
    if connection.vendor != "sqlite":
        return django_db_keepdb
    path = Path(connection.settings_dict["TEST"]["NAME"])
    # The fixture is requested here, because `uses_database` looks for tests with this fixture in their arguments.
    shutil.copyfile(request.getfixturevalue("empty_database"), path)
    request.addfinalizer(lambda: [file.unlink() for file in path.parent.glob(f"{path.name}*")])
    return True


@pytest.fixture
def migrated_folder(empty_database, tmp_path) -> Path:
    """Return a state folder (MPET_STATE_DIR) with a migrated database."""
    shutil.copyfile(empty_database, tmp_path / "mpet.sqlite3")
    return tmp_path


@pytest.fixture(scope="session", autouse=True)
def _media_of_this_process() -> None:
    """Use one media folder per process, because the sweep of orphaned files would delete those of other processes."""
    django_settings.MEDIA_ROOT = django_settings.STATE_DIR / f"media-{os.getpid()}"


@pytest.fixture
def media(settings, tmp_path) -> Path:
    """Return an empty media folder, for tests that check its files. The other tests share one folder."""
    settings.MEDIA_ROOT = tmp_path / "media"
    return settings.MEDIA_ROOT


@pytest.fixture
def limit_rates(settings, tmp_path):
    """Return limit_rates(scope=rate, ...), which limits only these scopes. All counters start at zero."""
    settings.RATES_FILE = tmp_path / "rates.sqlite3"

    def limit(**rates: str | None) -> None:
        settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {"DEFAULT_THROTTLE_RATES": rates}

    return limit


@pytest.fixture
def alice():
    return get_user_model().objects.create_user("alice")


@pytest.fixture
def ada():
    """Return an account with a password, for tests that sign in."""
    from tests.pages import user  # noqa: PLC0415  needs Django to be set up

    return user("ada")


@pytest.fixture
def bob():
    return get_user_model().objects.create_user("bob")


# Deadlines are off, because times are not reliable on a machine with other load.
settings.register_profile("mpet", deadline=None)
settings.load_profile("mpet")
